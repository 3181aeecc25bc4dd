"""Counts over a network are those of the simulator; a run counts its words, and its bias, before the first round."""

from __future__ import annotations

import dataclasses
import json
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_exchange import SMALL, Direct, Recorded

from tacit.base.errors import TacitError
from tacit.counts import whitelist
from tacit.counts.private import Privacy
from tacit.counts.unigrams import counting
from tacit.federated.sampling import SamplingConfig
from tacit.federated.word_counts import log_frequencies, word_counts
from tacit.network import beginning, training
from tacit.network.counting import CountSettings, Whitelist, count, find_whitelist
from tacit.network.office import Office, Terms
from tacit.network.person import Device, person_text
from tacit.network.tasks.count import network_round
from tacit.network.training import networked
from tacit.network.work import Parcel, Refusal
from tacit.privacy import ledger
from tacit.runs.config import Config, resolve
from tacit.text.corpus import from_messages
from tacit.text.encode import everybody
from tacit.text.packed import join
from tacit.text.tokens import tokenize
from tacit.text.typists import Typists, TypistsConfig
from tacit.text.vocabulary import SPECIALS, Vocabulary

PEOPLE = 3
LIST = whitelist.of_words(["the", "to", "you", "?", "i", "zebra", "my", "see", "at", "was", "is", "and"])
FREE = [*SMALL, "text.vocabulary=12"]


@pytest.fixture(scope="module")
def texts() -> list[list[str]]:
    typists = Typists(TypistsConfig(users=PEOPLE, messages=12))
    return [[message.text for message in typists.messages(k)] for k in range(PEOPLE)]


@pytest.fixture(scope="module")
def devices(texts: list[list[str]]) -> list[Device]:
    return [Device(from_messages(f"p{k}", {"me": own})) for k, own in enumerate(texts)]


def settings(*keys: str) -> Config:
    return networked(resolve("fedavg", [*FREE, *keys]))


def by_hand(texts: Sequence[Sequence[str]], limit: float, words: Vocabulary = LIST) -> dict[str, float]:
    """Each person's words in all but the latest tenth of the messages, clipped to λ, added."""
    total: Counter[str] = Counter()
    for own in texts:
        counted = Counter(
            word for text in own[: len(own) - round(0.1 * len(own))] for word in tokenize(text.lower())
        )
        kept = {word: n for word, n in counted.items() if word in words.words[len(SPECIALS) :]}
        share = min(1.0, limit / max(1, sum(kept.values())))
        total.update({word: n * share for word, n in kept.items()})
    return dict(total)


def office(devices: Sequence[Device], config: Config, damage: Any = None) -> Office:
    return Office(Direct(devices, damage), config, LIST, len(devices), Terms(), Counter())


@pytest.mark.parametrize("limit", [10.0, math.inf])
def test_the_sum_is_that_of_a_count_by_hand(
    devices: list[Device], texts: list[list[str]], limit: float
) -> None:
    said = network_round(office(devices, settings()), [limit])(0)
    found = {word: n for word, n in zip(LIST.words, said.counts[0], strict=True) if n}
    assert found == pytest.approx(by_hand(texts, limit), rel=1e-6)
    assert said.clients == PEOPLE and said.dropped == 0


def test_the_sum_is_that_of_the_simulator(devices: list[Device]) -> None:
    config = settings()
    own = [person_text(everybody(device.messages, True), config, LIST).training for device in devices]
    simulated = counting(join(own), len(LIST), [7.0], SamplingConfig(clients=PEOPLE), 0)(0)
    said = network_round(office(devices, config), [7.0])(0)
    np.testing.assert_allclose(said.counts, simulated.counts, rtol=1e-6)


@pytest.fixture(scope="module")
def answers(devices: list[Device]) -> dict[int, Parcel]:
    """What every client counts at λ = 5."""
    kept: dict[int, Parcel] = {}
    network_round(office(devices, settings(), lambda n, a: kept.setdefault(n, a)), [5.0])(0)
    return dict(sorted(kept.items()))


@pytest.mark.parametrize(
    ("reason", "change"),
    [
        ("norm", lambda a: a * np.float32(1.1)),
        ("report", lambda a: -a),
        ("report", lambda a: a + np.float32(0.01) * (np.arange(a.shape[1]) == 1)),
        ("shape", lambda a: a[:, :-1]),
        ("dtype", lambda a: a.astype(np.float64)),
        ("not finite", lambda a: a * np.float32(np.nan)),
    ],
)
def test_a_count_above_its_bound_is_refused(answers: dict[int, Parcel], reason: str, change: Any) -> None:
    """The rest is counted."""

    def spoil(number: int, answer: Parcel) -> Parcel:
        counts = answer.arrays["counts"]
        return answer._replace(arrays={"counts": change(counts)}) if number == 1 else answer

    desk = Office(Recorded(answers, spoil), settings(), LIST, PEOPLE, Terms(), Counter())
    found = network_round(desk, [5.0])(0)
    expected = answers[0].arrays["counts"] + answers[2].arrays["counts"]
    np.testing.assert_allclose(found.counts, expected, rtol=1e-6)
    assert desk.refused == {reason: 1} and found.dropped == 1


def test_a_client_refuses_limits_that_are_none(devices: list[Device]) -> None:
    desk = office(devices, settings())
    for limits in (np.array([0.0]), np.array([np.nan]), np.zeros(0), np.ones(17), np.ones(1, np.float32)):
        task = desk.tasks("count", 0, {"limits": limits}, [0])[0]
        with pytest.raises(Refusal, match="limits"):
            desk.courier.clients[0](task)  # type: ignore[attr-defined]


def test_the_directory_is_that_of_tacit_count(
    devices: list[Device], texts: list[list[str]], tmp_path: Path
) -> None:
    arguments = (Direct(devices), lambda: 5, Terms(), CountSettings(1000.0, 2), Whitelist(LIST, None))
    count(settings(), tmp_path / "counts", *arguments)
    lines = [line.split("\t") for line in (tmp_path / "counts/counts.tsv").read_text("utf-8").splitlines()]
    expected = by_hand(texts, 1000)
    assert {word: int(n) for word, n in lines} == {word: 2 * n for word, n in expected.items()}
    assert [int(n) for _, n in lines] == sorted((int(n) for _, n in lines), reverse=True)
    summary = json.loads((tmp_path / "counts/summary.json").read_text("utf-8"))
    assert summary["clients"] == 5 and summary["reported"] == PEOPLE and summary["epsilon"] is None
    (release,) = ledger.read(tmp_path / "counts/ledger.jsonl")
    assert release.mechanism == "none" and "clipped (to 1,000" in release.reason
    assert "zebra" not in (tmp_path / "counts/report.html").read_text("utf-8")


def test_a_private_count_has_noise_and_its_release(devices: list[Device], tmp_path: Path) -> None:
    asked = CountSettings(50.0, 2, Privacy(1e5))
    found = count(
        settings(), tmp_path / "counts", Direct(devices), lambda: 3, Terms(), asked, Whitelist(LIST, None)
    )
    (release,) = ledger.read(tmp_path / "counts/ledger.jsonl")
    assert release.mechanism == "laplace" and release.clip == 100.0 and not release.reason
    assert found.summary["epsilon"] == 1e5 and {frozenset(line) for line in found.lines} == {
        frozenset({"round", "clients", "dropped"})
    }


def test_without_clients_or_words_it_is_one_line(devices: list[Device], tmp_path: Path) -> None:
    def asked(who: Sequence[Device], words: Vocabulary) -> None:
        count(
            settings(),
            tmp_path / "c",
            Direct(who),
            lambda: 3,
            Terms(deadline=0),
            CountSettings(),
            Whitelist(words, None),
        )

    with pytest.raises(TacitError, match="no client counted"):
        asked([], LIST)
    with pytest.raises(TacitError, match="no client typed a word"):
        asked(devices, whitelist.of_words(["xylophone"]))
    empty = tmp_path / "empty.txt"
    empty.write_text("\n\n", "utf-8")
    with pytest.raises(TacitError, match="this whitelist is empty"):
        find_whitelist(settings(), str(empty))
    assert not (tmp_path / "c").exists()


def test_the_default_whitelist_knows_english() -> None:
    found = find_whitelist(settings(), "50")
    assert {"the", "i", "to", "you", "my"} <= set(found.words.words) and len(found.words) == 53
    assert found.supplement == "100 other typists"


@pytest.fixture
def small_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """The words of new typists take a second; a few of them do."""
    monkeypatch.setattr(beginning, "find_whitelist", lambda config: Whitelist(LIST, "typists"))


def test_a_run_without_words_counts_them(
    devices: list[Device], texts: list[list[str]], tmp_path: Path, small_list: None
) -> None:
    """The vocabulary is the commonest words by the clipped sum; the bias starts from all that clients have of it."""
    config = settings("model.bias=counts", "training.rounds=1", "client.lr=0.0", "text.vocabulary=8")
    out, courier = tmp_path / "run", Direct(devices)
    training.train(config, out, courier, lambda: PEOPLE, Terms())
    words = beginning.begin(office(devices, config), out).words
    expected = by_hand(texts, 1000)
    assert words.words[3:] == tuple(sorted(expected, key=lambda word: (-expected[word], word))[:5])
    own = [person_text(everybody(device.messages, True), config, words).training for device in devices]
    frequencies = word_counts(join(own), len(words))
    lines = (out / beginning.FREQUENCIES).read_text("utf-8").splitlines()
    assert [int(line.split("\t")[1]) for line in lines] == frequencies.tolist()
    kept = beginning.begin(office([], config), out)  # nobody is asked again
    assert kept.frequencies is not None and kept.frequencies.tolist() == frequencies.tolist()
    assert [(r.what, r.mechanism) for r in ledger.read(out / ledger.NAME)] == [
        ("counts", "none"),
        ("bias from counts", "none"),
    ]
    from safetensors.numpy import load_file

    bias = load_file(out / "checkpoints/last.safetensors")["params/output_bias"]
    np.testing.assert_allclose(bias, log_frequencies(frequencies), atol=1e-5)
    assert json.loads((out / "summary.json").read_text("utf-8"))["epsilon"] is None


def test_capitals_need_a_list(tmp_path: Path) -> None:
    config = settings()
    config = dataclasses.replace(config, text=dataclasses.replace(config.text, case="keep"))
    with pytest.raises(TacitError, match="count words without capitals"):
        training.check(config, tmp_path / "run", False)


def test_a_run_under_masks_counts_nothing() -> None:
    config = settings()
    config = dataclasses.replace(config, privacy=dataclasses.replace(config.privacy, secure=True))
    with pytest.raises(TacitError, match="counts of words travel without masks"):
        beginning.check(config)
