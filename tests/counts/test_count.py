"""`tacit count` as a person would use it: the directory it leaves, and one line for whatever is wrong."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

import pytest

from commands import WORDS, Commands, sets, tree, write_corpus
from html_pages import Parsed
from tacit.counts.counted import CountOptions, counted_words
from tacit.privacy.ledger import read
from tacit.runs.config import resolve
from tacit.runs.data import prepare
from tacit.runs.format import dump
from tacit.text.vocabulary import UNK

FEW = sets("typists.users=30", "typists.messages=8")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of twelve people (ten to count), a whitelist that lacks one of its words, and a supplement."""
    here = tmp_path_factory.mktemp("count")
    write_corpus(here / "messages.jsonl")
    (here / "words.txt").write_text("".join(f"{w}\n" for w in [*WORDS, "zebra"] if w != "late"), "utf-8")
    (here / "supplement.txt").write_text(
        "are you coming home\nsee them there soon\nthanks for that\n" * 3, "utf-8"
    )
    return here


def arguments(files: Path, out: Path, *more: object) -> list[object]:
    return ["count", "fedavg", "--corpus", files / "messages.jsonl", "--out", out, *more]


def test_the_directory_holds_what_the_clients_typed(tmp_path: Path, tacit: Commands, files: Path) -> None:
    out = tmp_path / "out"
    told = tacit.ok(
        *arguments(files, out, "--whitelist", files / "words.txt", "--supplement", files / "supplement.txt"),
        *("--lambda", "1,inf", "--rounds", 6, "--cohort", 10, "--capacity", 12),
    )
    assert str(out / "report.html") in told and "published: OOV rate" in told
    assert sorted(tree(out)) == [
        "convergence.jsonl",
        "counts.tsv",
        "ledger.jsonl",
        "report.html",
        "summary.json",
    ]

    summary = json.loads((out / "summary.json").read_text("utf-8"))
    assert (summary["clients"], summary["cohort"], summary["rounds"]) == (10, 10, 6)
    assert (summary["whitelist"], summary["seen"], summary["capacity"]) == (20, 19, 12)
    assert summary["epsilon"] is None and "no noise" in summary["epsilon_reason"]
    assert "not clipped" in summary["epsilon_reason"]  # the server has the sums of λ = ∞, too
    assert "(not for λ = ∞)" in (out / "report.html").read_text("utf-8")
    assert list(summary["table1"]) == ["1", "baseline", "inf"]
    assert summary["table1"]["inf"]["kept"] == 1 and summary["table1"]["1"]["kept"] == pytest.approx(
        1 / 33, rel=0.1
    )

    # everybody is asked in all six rounds: six times what they typed, but for the word that is not on the list
    config = resolve("fedavg", [f"text.corpus={files / 'messages.jsonl'}", "text.vocabulary=0"])
    ready = prepare(config)
    typed = Counter(ready.vocabulary.words[i] for i in ready.clients.tokens.tolist() if i > UNK)  # type: ignore
    assert typed["late"] > 0
    lines = [line.split("\t") for line in (out / "counts.tsv").read_text("utf-8").splitlines()]
    found = {word: int(n) / summary["scale"] for word, n in lines}
    assert set(found) == set(typed) - {"late"} and "zebra" not in found
    assert [int(n) for _, n in lines] == sorted((int(n) for _, n in lines), reverse=True)
    assert summary["lambda"] == "1"  # all type as much, so λ makes no difference: the smallest
    assert sum(found.values()) == pytest.approx(6 * 10, rel=0.01)  # each client weighs one a round

    rounds = [json.loads(line) for line in (out / "convergence.jsonl").read_text("utf-8").splitlines()]
    assert [r["round"] for r in rounds] == [1, 2, 3, 4, 5, 6] and [r["new"] for r in rounds] == [
        19,
        0,
        0,
        0,
        0,
        0,
    ]
    assert ["z" in r for r in rounds] == [False, True, False, True, False, True]
    assert rounds[2]["rounds_between_new"] == 3 and set(rounds[5]["z"]) == {"1", "inf"}

    page = (out / "report.html").read_text("utf-8")
    parsed = Parsed(page)
    assert parsed.tags.count("figure") == 3 and not [a for a in parsed.loads if not a.startswith("#")]
    text = " ".join(parsed.text)
    assert (
        "live A/B test on Gboard users" in text
        and "−1.33 ± 0.75 %" in text
        and "no differential privacy" in text
    )


def test_true_counts_are_whole_and_in_their_own_units(tmp_path: Path, tacit: Commands, files: Path) -> None:
    out = tmp_path / "out"
    found = tacit.json(
        *arguments(
            files, out, "--whitelist", files / "words.txt", "--lambda", "inf", "--rounds", 2, "--cohort", 10
        )
    )
    assert isinstance(found, dict) and found["scale"] == 1 and found["lambda"] == "inf"
    assert found["table1"]["inf"]["top1"] is None and "baseline" not in found["table1"]  # there is no n-gram
    counts = dict(line.split("\t") for line in (out / "counts.tsv").read_text("utf-8").splitlines())
    assert all(int(n) % 2 == 0 for n in counts.values()) and sum(map(int, counts.values())) > 500


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path, tacit: Commands) -> None:
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        tacit.ok(
            "count", "fedavg", *FEW, "--rounds", 4, "--cohort", 5, "--seed", seed, "--out", tmp_path / name
        )
    assert tree(tmp_path / "a") == tree(tmp_path / "b") != tree(tmp_path / "c")
    summary = json.loads((tmp_path / "a" / "summary.json").read_text("utf-8"))
    assert summary["supplement"] == "100 other typists" and summary["cohort"] == 5
    assert set(summary["table1"]) == {"baseline", "1", "1000", "5000", "inf"}


def test_a_run_directory_says_whose_words(tmp_path: Path, tacit: Commands, files: Path) -> None:
    corpus, run = files / "messages.jsonl", tmp_path / "run"
    config = resolve("fedavg", [f"text.corpus={corpus}", "sampling.clients=3", "training.rounds=4"])
    run.mkdir()
    (run / "config.toml").write_text(dump(config), "utf-8")
    found = tacit.json("count", run, "--whitelist", files / "words.txt")
    assert isinstance(found, dict)
    assert (found["corpus"], found["cohort"], found["rounds"]) == (str(corpus), 3, 4)
    assert (run / "count" / "counts.tsv").is_file()


def test_a_number_takes_the_commonest_words_of_the_supplement(files: Path) -> None:
    config = resolve("fedavg", [f"text.corpus={files / 'messages.jsonl'}"])
    options = CountOptions((math.inf,), "3", str(files / "supplement.txt"), rounds=2, cohort=4)
    found = counted_words(config, options)
    assert found.summary["whitelist"] == 3
    assert {word for word, _ in found.counts} == {
        "are",
        "coming",
        "for",
    }  # all occur as often: by the alphabet


def test_words_are_counted_by_the_rules_of_a_locale(tmp_path: Path, tacit: Commands) -> None:
    """IŞIK is ışık in Turkish, and two words are one after l' in French."""
    with (tmp_path / "text.jsonl").open("w", encoding="utf-8") as file:
        for user in range(4):
            file.write(json.dumps({"user": f"u{user}", "text": "IŞIK l'eau"}) + "\n")
    some = ["count", "fedavg", "--corpus", tmp_path / "text.jsonl", "--rounds", 1, "--lambda", "inf"]
    some += sets("text.vocabulary=0", "text.held_out_users=0.25")
    for code, words in (("tr", ["ışık", "l'eau"]), ("fr", ["eau", "işik", "l'"])):
        tacit.ok(*some, "--locale", code, "--out", tmp_path / code)
        counted = (tmp_path / code / "counts.tsv").read_text("utf-8").splitlines()
        assert sorted(line.split("\t")[0] for line in counted) == sorted(words)


def test_without_a_supplement_the_configurations_words_are_counted(
    tmp_path: Path, tacit: Commands, files: Path
) -> None:
    """They are the clients' own, which a simulation alone can know, unless the configuration names a list."""
    out = tmp_path / "out"
    rounds = ("--rounds", 2, "--cohort", 10)
    some = arguments(files, out, *rounds, "--lambda", "inf", "--set", "text.vocabulary=8")
    told = tacit.ok(*some)
    assert "no --supplement: the whitelist is the 5 words of the clients' own text\n" in told
    summary = json.loads((out / "summary.json").read_text("utf-8"))
    assert (summary["whitelist"], summary["whitelist_from"]) == (5, "the clients' own text")
    assert summary["supplement"] is None and summary["epsilon"] is None
    config = resolve("fedavg", [f"text.corpus={files / 'messages.jsonl'}", "text.vocabulary=8"])
    counted = [line.split("\t")[0] for line in (out / "counts.tsv").read_text("utf-8").splitlines()]
    assert sorted(counted) == sorted(prepare(config).vocabulary.words[3:])
    assert all(
        "the whitelist is made of the clients' own text, and" in r.reason for r in read(out / "ledger.jsonl")
    )
    assert (
        "the whitelist is made of the clients' own text"
        in tacit.json("privacy", "show", out)["epsilon_reason"]
    )

    words = tmp_path / "words.txt"
    words.write_text("home\nlate\nzebra\n", "utf-8")
    listed = ("--set", f"text.words={words}", "--set", "text.vocabulary=0")
    named = arguments(files, tmp_path / "named", *rounds, *listed)
    assert "the whitelist is the 3 words of text.words\n" in tacit.ok(*named, "--lambda", "inf")
    found = tacit.json(*named, "--epsilon", 1000)
    assert isinstance(found, dict)
    assert found["epsilon"] == 1000 and found["whitelist_from"] == "text.words"


def test_bad_input_is_one_line_and_leaves_nothing(tmp_path: Path, tacit: Commands, files: Path) -> None:
    out, words = tmp_path / "out", ["--whitelist", files / "words.txt"]
    (tmp_path / "spaces.txt").write_text("new york\n", "utf-8")
    (tmp_path / "empty.txt").write_text("\n", "utf-8")
    (tmp_path / "foreign.txt").write_text("zebra\n", "utf-8")
    for more, named in (
        (["--lambda", "0", *words], "above 0"),
        (["--lambda", "1,-5", *words], "above 0"),
        (["--lambda", "nan", *words], "above 0"),
        (["--lambda", "1,x", *words], "1,1000,5000,inf"),
        (["--whitelist", tmp_path / "empty.txt"], "is empty"),
        (["--whitelist", "0", "--supplement", files / "supplement.txt"], "is empty"),
        (["--whitelist", "999", "--supplement", files / "supplement.txt"], "only 11 different words"),
        (["--whitelist", tmp_path / "spaces.txt"], "line 1: 'new york' is not one word"),
        (["--whitelist", tmp_path / "none.txt"], "No such file"),
        (["--whitelist", tmp_path / "foreign.txt"], "no client typed a word of the whitelist"),
        (["--epsilon", "1"], "--epsilon needs a whitelist that is not taken from"),
        (["--whitelist", "5"], "give --whitelist FILE, or --supplement"),
        (["--supplement", files / "messages.jsonl"], "the clients' own text"),
        (["--supplement", "nowhere.txt"], "no such file"),
        (["--cohort", "11", *words], "--cohort 11 is more than the 10 clients"),
        (["--cohort", "0", *words], "--cohort"),
        (["--rounds", "0", *words], "--rounds"),
        (["--set", "sampling.scheme=II", *words], "'uniform'"),
    ):
        tacit(*arguments(files, out, "--rounds", 2, *more)).refused(named)
        assert not out.exists(), more
    tacit("count", "nothing-of-that-name").refused("no preset")
    tacit("count", tmp_path).refused("is not a run directory")


def test_an_existing_directory_is_refused_before_anything_is_read(tmp_path: Path, tacit: Commands) -> None:
    (tmp_path / "mine.txt").write_text("keep me", "utf-8")
    tacit("count", "fedavg", "--corpus", "nowhere.txt", "--out", tmp_path).refused(
        "not left by `tacit count`"
    )
    assert tree(tmp_path) == {"mine.txt": b"keep me"}
    tacit("count", "fedavg", "--out", tmp_path / "mine.txt" / "below").refused("cannot write")
