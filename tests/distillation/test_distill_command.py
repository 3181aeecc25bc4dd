"""`tacit distill` as a person would use it: the same bytes again, and one line for what is wrong."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from distilled_runs import (
    FILES,
    ROWS,
    SENTENCES,
    Make,
    facts,
    rows,
    unlearnt,
)

from commands import Commands, Trained, file_size_limit, leftovers, tree, write_corpus
from tacit import runs
from tacit.runs import directory


def test_a_second_time_the_same_bytes(distilled: Make, tacit: Commands, run: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(run, tmp_path / "run")
    first, before = tree(distilled()), tree(run)
    arguments = ("distill", copy, "--sentences", SENTENCES, "--date", "2026-01-31")
    told = tacit.ok(*arguments)
    assert str(copy / "ngram") in told and all(name in told for name in ROWS) and "n-grams" in told
    again = tree(copy / "ngram")
    for found in (first, again):
        found["summary.json"] = re.sub(rb'"latency_us": \{[^}]*\}', b"", found["summary.json"])
    assert first == again and {k: v for k, v in tree(copy).items() if not k.startswith("ngram")} == before
    printed = tacit.json(*arguments, "--seed", 1)  # over the old ones
    assert printed == facts(copy / "ngram")
    other = tree(copy / "ngram")
    assert sorted(other) == FILES and other["model.arpa"] != again["model.arpa"]


@pytest.fixture(scope="session")
def other_run(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """Clients who are no typists: there is text of theirs, and none beside it."""
    here = tmp_path_factory.mktemp("other")
    corpus = write_corpus(here / "messages.jsonl")
    named = 'name="my, own: run"'  # what the header of a word list cannot hold
    return Trained(unlearnt(here / "run", named, f"text.corpus={corpus}", "text.vocabulary=0"), corpus)


def test_clients_with_text_of_their_own(tacit: Commands, other_run: Trained, tmp_path: Path) -> None:
    """No supplement comes by itself; the network's own n-grams need none, and are taken without it."""
    ours = other_run
    out = tmp_path / "out"
    some = ("distill", ours.path, "--sentences", 50, "--out", out)
    for which in "emr":
        named = f"n-grams of topology {which} come from a corpus that is not the clients'"
        tacit(*some, "--topology", which).refused(named, "--supplement")
    tacit(*some, "--cased").refused("capitals come from", "--supplement CORPUS")
    tacit(*some, "--topology", "i", "--cased").refused("capitals come from", "--supplement CORPUS")
    tacit(*some, "--supplement", ours.corpus).refused("is the clients' own text", "another corpus")
    again = tmp_path / "again.jsonl"
    again.symlink_to(ours.corpus)
    tacit(*some, "--supplement", again).refused("is the clients' own text")
    assert not out.exists()
    told = "no --supplement: the n-grams are those of the network's own sentences (--topology i)"
    assert told in tacit.ok(*some, "--date", "2026-01-31")
    without = tree(out)
    assert told not in tacit.ok(*some, "--topology", "i", "--date", "2026-01-31")
    assert {k: v for k, v in tree(out).items() if k != "summary.json"} == {
        k: v for k, v in without.items() if k != "summary.json"
    }
    found = facts(out)
    assert found["supplement"] is None and found["topology"] == "i"
    assert "Kneser-Ney, supplement" not in found["models"] and found["name"] == "my, own: run"
    assert ",description=Tacit my own run," in (out / "words.combined").read_text("utf-8")
    (tmp_path / "cased.txt").write_text("See you There soon .\nI am late .\n" * 3, "utf-8")
    shutil.rmtree(out)
    found = tacit.json(*some, "--supplement", tmp_path / "cased.txt", "--cased")
    assert isinstance(found, dict) and found["supplement"] == str(tmp_path / "cased.txt")
    assert ("There",) in rows(out) and ("I",) in rows(out) and ("i",) not in rows(out)


def test_bad_input_is_one_line_and_leaves_nothing(tacit: Commands, run: Path, tmp_path: Path) -> None:
    empty, lower, out = tmp_path / "empty.txt", tmp_path / "lower.txt", tmp_path / "out"
    empty.write_text("\n", "utf-8")
    lower.write_text("see you there .\nwe are late .\n", "utf-8")
    (tmp_path / "words.tsv").write_text("new york\t3\n", "utf-8")
    (tmp_path / "special.tsv").write_text("</s>\t3\n", "utf-8")
    (tmp_path / "none.tsv").write_text("home\t0\n", "utf-8")
    (tmp_path / "mouth.tsv").write_text("home\t3\n=d\t4\na,b\t4\n", "utf-8")
    (tmp_path / "no.combined").write_text("dictionary=main:en\n word=a,f=300\n", "utf-8")
    (tmp_path / "endless.tsv").write_text("home\tinf\n", "utf-8")
    (tmp_path / "line.tsv").write_text("home\n", "utf-8")
    for more, named in (
        (["--topology", "x"], ["--topology x", "e, i, m, r"]),
        (["--date", "31.1.2026"], ["--date 31.1.2026", "2026-01-31"]),
        (["--date", "2026-02-30"], ["--date 2026-02-30"]),
        (["--order", "0"], ["--order"]),
        (["--order", "6"], ["--order"]),
        (["--sentences", "0"], ["--sentences"]),
        (["--seed", "-1"], ["--seed"]),
        (["--seed", "4294967296"], ["--seed"]),
        (["--max-ngrams", "100"], ["--max-ngrams 100", "149 single words"]),
        (["--supplement", empty], ["empty.txt", "no text"]),
        (["--supplement", tmp_path / "nowhere.txt"], ["nowhere.txt", "no such file"]),
        (["--supplement", "tatoeba"], ["'tatoeba'", "'tatoeba-"]),
        (["--supplement", lower, "--cased"], ["lower.txt has no capitals", "proper capitals"]),
        (["--unigrams", tmp_path / "nowhere.tsv"], ["nowhere.tsv", "cannot read these counts"]),
        (["--unigrams", tmp_path / "line.tsv"], ["line.tsv, line 1"]),
        (["--unigrams", tmp_path / "words.tsv", "--skip"], ["'new york' is not one word"]),
        (["--unigrams", tmp_path / "special.tsv"], ["'</s>' is not one word"]),
        (["--unigrams", tmp_path / "none.tsv"], ["no word has a count above 0"]),
        (["--unigrams", tmp_path / "endless.tsv"], ["'home' has the count inf"]),
        (["--unigrams", tmp_path / "mouth.tsv"], ["'a,b'", "--skip"]),
        (["--merge", tmp_path / "no.combined"], ["no.combined, line 2: f is '300'"]),
        (["--merge", tmp_path / "nowhere"], ["nowhere"]),
        (["--block", empty], ["empty.txt", "is empty"]),
        (["--block", tmp_path / "words.tsv"], ["words.tsv, line 1"]),
        (["--unigram-weight", "0.5"], ["--unigram-weight needs --unigrams"]),
        (
            ["--unigrams", tmp_path / "none.tsv", "--unigram-weight", "0"],
            ["--unigram-weight 0 must be above 0"],
        ),
        (["--client-counts", "0"], ["--client-counts 0", "above 0"]),
        (["--client-counts", "inf"], ["--client-counts inf", "above 0"]),
        (["--client-counts", "9", "--topology", "m"], ["--client-counts", "--topology m"]),
        (["--client-counts", "9", "--cased"], ["--client-counts", "--cased"]),
        (["--locale", "en,GB"], ["locale is 'en,GB'"]),
        (["--locale", ""], ["locale is ''"]),
    ):
        tacit("distill", run, "--sentences", 20, "--out", out, *more).refused(*named)
        assert not out.exists(), more
    tacit("distill", tmp_path, "--out", out).refused("is not a run directory")
    tacit("distill", tmp_path / "nowhere", "--out", out).refused("is not a run directory")
    assert not out.exists()
    tacit.ok(
        "distill", run, "--sentences", 20, "--out", out, "--skip", "--unigrams", tmp_path / "mouth.tsv",
        "--topology", "i",
    )  # fmt: skip
    listed = (out / "words.combined").read_text("utf-8")
    assert ("a,b",) in rows(out) and " word=home," in listed and " word==d," in listed and "a,b" not in listed


def test_a_run_with_capitals_of_its_own_takes_no_others(
    tacit: Commands, other_run: Trained, tmp_path: Path
) -> None:
    copy = shutil.copytree(other_run.path, tmp_path / "run")
    words = (copy / "vocabulary.txt").read_text("utf-8")
    (copy / "vocabulary.txt").write_text(words.replace("\nhome\n", "\nHome\n"), "utf-8")
    directory.save(copy, directory.BEST, runs.load(other_run.path).params, 1, None)
    (tmp_path / "cased.txt").write_text("See you .\n", "utf-8")
    tacit("distill", copy, "--cased", "--supplement", tmp_path / "cased.txt").refused("'Home'", "text.case")
    assert not (copy / "ngram").exists()


def test_places_that_cannot_be_written(tacit: Commands, run: Path, distilled: Make, tmp_path: Path) -> None:
    """What is in the way is told before anything is drawn; a disk that fills up leaves what was there before."""
    (tmp_path / "file").write_text("mine", "utf-8")
    some = ("distill", run, "--sentences", SENTENCES, "--topology", "e", "--date", "2026-01-31")
    for out in (tmp_path / "file", tmp_path / "file" / "below", tmp_path / "file" / "far" / "below"):
        tacit(*some, "--out", out).refused("file", "choose another --out")
    before = tree(run)
    tacit(*some, "--out", run).refused("not left by `tacit distill`", "choose another --out")
    assert tree(run) == before
    (tmp_path / "count").mkdir()
    (tmp_path / "count" / "summary.json").write_text("{}", "utf-8")
    tacit(*some, "--out", tmp_path / "count").refused("not left by", "choose another --out")
    assert tree(tmp_path / "count") == {"summary.json": b"{}"}

    limit = facts(distilled("--topology", "e"))["bytes"]["model.arpa"] - 1
    old = shutil.copytree(distilled("--topology", "i"), tmp_path / "old")
    kept = tree(old)
    for out in (tmp_path / "new", old):
        with file_size_limit(limit):
            tacit(*some, "--out", out).refused("cannot write", "model.arpa", "free some space")
    assert not (tmp_path / "new").exists() and tree(old) == kept
    assert not leftovers(tmp_path) and not [p for p in old.iterdir() if p.is_dir()]
