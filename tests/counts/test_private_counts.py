"""Private counts: the noise by its distribution, the threshold by its promise, and the directory with its ledger."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from commands import WORDS, Commands, write_corpus
from tacit.counts import private
from tacit.counts.private import Privacy
from tacit.federated.sampling import SamplingConfig, choose
from tacit.privacy.accounting import spent
from tacit.privacy.laplace import laplace, normal
from tacit.privacy.ledger import inherited, no_epsilon, read
from tacit.text.packed import pack
from tacit.text.vocabulary import SPECIALS, Vocabulary


def seeded(seed: int) -> private.Source:
    """Bytes of a generator with a seed: for tests only."""
    return np.random.default_rng(seed).bytes


def test_noise_has_its_distribution() -> None:
    many = 200_000
    drawn = laplace(many, 3.0, seeded(1))
    assert stats.kstest(drawn, stats.laplace(scale=3.0).cdf).pvalue > 1e-3
    assert np.abs(drawn).mean() == pytest.approx(3.0, rel=0.01)
    drawn = normal(many, 2.0, seeded(2))
    assert stats.kstest(drawn, stats.norm(scale=2.0).cdf).pvalue > 1e-3
    assert drawn.std() == pytest.approx(2.0, rel=0.01)
    assert np.isfinite(laplace(9, 1.0, lambda n: b"\xff" * n)).all()
    assert np.isfinite(normal(9, 1.0, lambda n: b"\x00" * n)).all()
    assert not np.array_equal(laplace(5, 1.0), laplace(5, 1.0))  # from the system


def test_noise_over_a_whitelist_covers_what_a_client_can_change() -> None:
    counts = np.array([0.0, 0, 0, 40, 7, 0])
    for mechanism, law, multiplier in (
        ("laplace", stats.laplace, 1 / 0.5),
        ("gaussian", stats.norm, private.gaussian_sigma(0.5, 1e-6)),
    ):
        found = private.over_whitelist(counts, 10.0, 3, Privacy(0.5, 1e-6, mechanism), seeded(5))
        words = [int.from_bytes(seeded(5)(48)[i : i + 8], "little") for i in range(0, 48, 8)]
        tails = [(a * 2**52 + (b >> 12) + 1) / 2**117 for a, b in zip(words[::2], words[1::2], strict=True)]
        signs = np.array([1 if b >> 11 & 1 else -1 for b in words[1::2]])
        noise = signs * law.isf(tails) * multiplier * 30
        assert found.counts[3:].tolist() == np.maximum(np.rint(counts[3:] + noise), 0).tolist()
        assert found.counts[:3].tolist() == [0, 0, 0]
        release = found.release
        assert (release.clip, release.noise_multiplier) == (30, multiplier) and found.scale == 30 * multiplier
        assert spent([release], 1e-6).epsilon == pytest.approx(0.5, rel=1e-3)


def test_the_rounds_of_a_client_are_counted() -> None:
    sampling, sizes = SamplingConfig(clients=3), np.ones(8)
    times = Counter(int(i) for t in range(7) for i in choose(sampling, sizes, 4, t).ids)
    assert private.most_rounds(sampling, sizes, 4, 7) == max(times.values()) > 1


def test_the_published_noise_and_threshold_of_an_open_vocabulary() -> None:
    sigma, threshold = private.open_noise(1.0, 1e-6, 64)
    assert sigma == pytest.approx(34.9, abs=0.05) and threshold == pytest.approx(198.5, abs=0.05)


def test_words_of_one_client_stay_below_the_threshold() -> None:
    """k words that nobody else has: any of them is released in δ/2 of the cases, here 10 %."""
    k, times = 5, 4000
    sigma, threshold = private.open_noise(2.0, 0.2, k)
    noised = 1 + np.random.default_rng(0).normal(0, sigma, (times, k))
    assert np.mean((noised >= threshold).any(axis=1)) == pytest.approx(0.1, abs=0.02)


def test_each_client_sends_its_commonest_words_once() -> None:
    words = Vocabulary((*SPECIALS, "pear", "fig", "apple", "kiwi"))
    typed = [[3, 3, 3, 4, 5, 6], [6, 5, 4, 3], [2, 6], []]
    text = pack([[np.array([0, *one, 1])] for one in typed], list("abcd"))
    for most in (1, 2, 4):
        expected: Counter[str] = Counter()
        for one in typed:
            mine = Counter(words.words[i] for i in one if i > 2)
            expected.update(sorted(mine, key=lambda word: (-mine[word], word))[:most])
        found = private.clients_with(text, words, most)
        assert {words.words[i]: n for i, n in enumerate(found.tolist()) if n} == expected


def test_only_words_above_the_threshold_are_released() -> None:
    words = Vocabulary((*SPECIALS, "common", "rare", "nobody"))
    text = pack([[np.array([0, 3, 1])]] * 300 + [[np.array([0, 4, 1])]], [str(i) for i in range(301)])
    found = private.open_words(text, words, Privacy(1.0, 1e-6, words=1), seeded(3))
    assert found.counts[3] == pytest.approx(300, abs=6 * found.scale)
    assert found.counts[[0, 1, 2, 4, 5]].tolist() == [0] * 5
    assert spent([found.release], 1e-6).epsilon == pytest.approx(1.0, rel=1e-3)


# The command.


@pytest.fixture
def given(tmp_path: Path) -> list[object]:
    write_corpus(tmp_path / "messages.jsonl")
    (tmp_path / "words.txt").write_text("".join(f"{w}\n" for w in [*WORDS, "zebra"]), "utf-8")
    return ["count", "fedavg", "--corpus", tmp_path / "messages.jsonl", "--out", tmp_path / "out"]


def test_a_private_count_and_its_ledger(tmp_path: Path, tacit: Commands, given: list[object]) -> None:
    out = tmp_path / "out"
    private_ = [*given, "--whitelist", tmp_path / "words.txt", "--rounds", 2, "--cohort", 10, "--epsilon", 1]
    summary = tacit.json(*private_)
    assert (summary["epsilon"], summary["delta"], summary["mechanism"]) == (1, 0, "laplace")
    assert (summary["lambda"], summary["rounds_of_a_client"], summary["noise_scale"]) == ("100", 2, 200)
    lines = [json.loads(line) for line in (out / "convergence.jsonl").read_text().splitlines()]
    assert [set(line) for line in lines] == [{"round", "clients", "dropped"}] * 2
    assert (
        "Figure 3" not in (out / "report.html").read_text()
        and "ε = 1 at δ = 0" in (out / "report.html").read_text()
    )
    assert tacit.json("privacy", "show", out)["epsilon"] == pytest.approx(1, rel=1e-3)

    assert "count as well: 1" in tacit.ok(*private_)  # a second count of the same people
    assert tacit.json("privacy", "show", out)["epsilon"] == pytest.approx(2, rel=1e-3)
    assert len(inherited(out / "counts.tsv")) == 2

    plain = [*given, "--whitelist", tmp_path / "words.txt", "--rounds", 1, "--lambda", "1"]
    tacit.ok(*plain)  # without noise: all of it has no ε
    assert len(read(out / "ledger.jsonl")) == 3 and "no noise" in no_epsilon(inherited(out / "counts.tsv"))
    (out / "ledger.jsonl").unlink()  # as an earlier Tacit left it
    assert "without noise" in no_epsilon(inherited(out / "counts.tsv"))


def test_open_words(tmp_path: Path, tacit: Commands, given: list[object]) -> None:
    told = tacit.ok(*given, "--epsilon", 100, "--delta", "1e-4", "--open", 20)
    assert "words of 10 clients" in told and "gaussian" in told
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    words = [line.split("\t")[0] for line in (tmp_path / "out" / "counts.tsv").read_text().splitlines()]
    assert len(words) == summary["seen"] > 0 and set(words) <= set(WORDS)
    assert tacit.json("privacy", "show", tmp_path / "out")["delta"] == 1e-4
    assert tacit.json("privacy", "show", tmp_path / "out")["epsilon"] == pytest.approx(100, rel=1e-2)


@pytest.mark.parametrize(
    ("more", "named"),
    [
        (["--epsilon", "-1"], "--epsilon -1"),
        (["--epsilon", "inf"], "--epsilon inf"),
        (["--epsilon", "1", "--lambda", "1,2"], "exactly one --lambda, and a finite one"),
        (["--epsilon", "1", "--lambda", "inf"], "exactly one --lambda, and a finite one"),
        (["--epsilon", "1", "--delta", "1", "--mechanism", "gaussian"], "δ = 1"),
        (["--epsilon", "1", "--delta", "1e-6"], "--delta does nothing"),
        (["--epsilon", "1", "--mechanism", "magic"], "magic"),
        (["--epsilon", "1", "--open", "5", "--mechanism", "laplace"], "gaussian"),
        (["--epsilon", "1", "--open", "5", "--lambda", "3"], "--lambda does nothing"),
        (["--epsilon", "1", "--open", "5", "--rounds", "3"], "leave out"),
        (["--open", "5"], "needs --epsilon"),
        (["--delta", "1e-6"], "needs --epsilon"),
        (["--mechanism", "gaussian"], "needs --epsilon"),
    ],
)
def test_what_gives_no_epsilon_is_refused(
    tmp_path: Path, tacit: Commands, given: list[object], more: list[str], named: str
) -> None:
    tacit(*given, *more).refused(named)
    assert not (tmp_path / "out").exists()


def test_a_large_epsilon_gives_the_true_counts() -> None:
    counts = np.array([0.0, 0, 0, 5, 2])
    found = private.over_whitelist(counts, 1.0, 1, Privacy(1e6))
    assert np.abs(found.counts - counts).max() < 1e-3 and math.isclose(found.scale, 1e-6)
