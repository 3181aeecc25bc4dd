"""Asks AOSP's own engine what it makes of Tacit's dictionaries, and what it suggests on a run's held-out words.

JUDGE is a program with the engine of LatinIME in it, and these calls:

    JUDGE dump FILE.dict               every word the engine reads, its f and its bigrams, a JSON object a line
    JUDGE ask FILE.dict K < contexts   the K words it predicts after each context, words before, `<s>` for the beginning

Each DIR is a result of `tacit distill RUN`; NAME appears in the table. Of each:

- What the engine reads is compared with what was written, word for word: the text of words.combined, and the list
  computed anew from model.arpa, with every bigram rounded as the format rounds.
- The engine predicts every held-out word of the run. A context is what a keyboard gives: up to three words of the
  sentence; after . ? ! the beginning of a sentence; nothing after another mark.

    python benchmarks/aosp.py JUDGE runs/demo "of the supplement and the network=runs/keyboard" > aosp.json
    python tools/measured.py add-dictionary aosp.json
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from first_words import first_words

from tacit import runs
from tacit.base.arrays import Bools, Ints
from tacit.ngram.formats import arpa
from tacit.ngram.formats.aosp import binary, combined, word_list
from tacit.ngram.formats.aosp.word_list import WordList
from tacit.scoring.jackknife import half_width
from tacit.text.vocabulary import BOS, EOS, UNK

BEGIN = "<s>"
Entry = tuple[int, bool, dict[str, int]]  # f, possibly offensive, bigrams


def engine_reads(judge: str, file: Path) -> dict[str, Entry]:
    """Returns every word that the engine finds in a dictionary."""
    lines = subprocess.run([judge, "dump", str(file)], check=True, capture_output=True, text=True).stdout
    found: dict[str, Entry] = {}
    for line in lines.splitlines():
        word = json.loads(line)
        assert word["word"] not in found, f"{file}: the engine reads {word['word']} twice"
        found[word["word"]] = (word["f"], word.get("possibly_offensive", False), dict(word["ngrams"]))
    return found


def expected(words: WordList) -> dict[str, Entry]:
    """Returns what the engine should read of a word list; bigrams rounded as `dicttool` rounds them."""
    u = words.f[words.followers]
    stored = binary.read_back(u, binary.steps(u, words.follower_f)).tolist()
    followers = [words.words[i] for i in words.followers.tolist()]
    found: dict[str, Entry] = {}
    for i, word in enumerate((*words.words, BEGIN)):
        here = slice(int(words.begins[i]), int(words.begins[i + 1]))
        bigrams = dict(zip(followers[here], stored[here], strict=True))
        if word == BEGIN:
            if bigrams:
                found[word] = (0, False, bigrams)
        else:
            found[word] = (int(words.f[i]), bool(words.offensive[i]), bigrams)
    return found


def compared(judge: str, folder: Path) -> dict[str, int]:
    """Compares what the engine reads with what was written; stops at the first difference."""
    read = engine_reads(judge, folder / "words.dict")
    vocabulary, model = arpa.read(folder / "model.arpa")
    written = expected(word_list.listed(folder, vocabulary, model).words)
    listed = expected(combined.read(folder / "words.combined").words)  # has no sentence starts
    _same(read, written, "model.arpa")
    _same({word: entry for word, entry in read.items() if word != BEGIN}, listed, "words.combined")
    starts = len(read[BEGIN][2]) if BEGIN in read else 0
    return {
        "words": len(read) - (BEGIN in read),
        "bigrams": sum(len(entry[2]) for entry in read.values()) - starts,
        "sentence_starts": starts,
        "different": 0,
    }


def _same(read: dict[str, Entry], written: dict[str, Entry], where: str) -> None:
    for word in read.keys() | written.keys():
        if read.get(word) != written.get(word):
            raise SystemExit(f"{word!r}: the engine reads {read.get(word)}, {where} says {written.get(word)}")


def context(before: Sequence[str]) -> str:
    """Returns the words that a keyboard gives the engine, oldest first.

    >>> context(["see", "you"]), context(["no", ",", "i"]), context(["hi", "!"]), context(["no", ","])
    ('<s> see you', 'i', '<s>', '')
    """
    words: list[str] = []
    for token in reversed(before):
        if len(words) == 3:
            return " ".join(words)
        if not _typed_as_word(token):
            return " ".join([BEGIN, *words] if token[-1] in ".?!" else words)
        words.insert(0, token)
    return " ".join([BEGIN, *words] if len(words) < 3 else words)


def _typed_as_word(token: str) -> bool:
    return any(unicodedata.category(c)[0] in "LN" or unicodedata.category(c) == "So" for c in token)


def asked(judge: str, file: Path, contexts: Iterable[str], k: int = 3) -> list[dict[str, Any]]:
    """Returns the engine's predictions for each context."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as lines:
        lines.writelines(f"{text}\n" for text in contexts)
        lines.seek(0)
        done = subprocess.run(
            [judge, "ask", str(file), str(k)], check=True, stdin=lines, capture_output=True, text=True
        )
    return [json.loads(line) for line in done.stdout.splitlines()]


def measured(judge: str, run: runs.Run, file: Path) -> dict[str, Any]:
    """Returns recall of the engine's predictions over every held-out word of a run, as `tacit evaluate` counts it."""
    prepared, words = run.prepare(), run.vocabulary.words
    contexts, wanted, starts, people = [], [], [], []
    for owner, ids in _messages(prepared.test):
        assert ids[0] == BOS and ids[-1] == EOS
        for i in range(1, len(ids) - 1):
            contexts.append(context([words[w] for w in ids[1:i]]))
            wanted.append(words[ids[i]] if ids[i] != UNK else "")
            starts.append(i == 1)
            people.append(owner)
    answers = asked(judge, file, contexts)
    assert len(answers) == len(contexts)
    hits = np.array(
        [
            [[w] == [word for word, _ in a["found"][:1]], w in [word for word, _ in a["found"]]]
            for a, w in zip(answers, wanted, strict=True)
        ]
    )  # [places, 2]
    at_start, us = np.array(starts), [a["us"] for a in answers]
    return {
        "places": len(contexts),
        "starts": int(at_start.sum()),
        "silent": float(np.mean([not a["found"] for a in answers])),
        "top1": float(hits[:, 0].mean()),
        "top3": float(hits[:, 1].mean()),
        "start_top1": float(hits[at_start, 0].mean()),
        "start_top3": float(hits[at_start, 1].mean()),
        "start_top3_ci95": _interval(hits[at_start, 1], np.array(people)[at_start]),
        "start_words": [word for word, _ in asked(judge, file, [BEGIN])[0]["found"]],
        "us": {f"p{q}": round(float(np.percentile(us, q)), 1) for q in (50, 99)},
    }


def _messages(text: Any) -> Iterator[tuple[int, list[int]]]:
    """Yields the person and the ids of every message, with the marks at both ends."""
    owner = np.repeat(np.arange(len(text.owners) - 1), np.diff(text.owners)).tolist()
    for person, begin, end in zip(owner, text.offsets[:-1].tolist(), text.offsets[1:].tolist(), strict=True):
        yield person, text.tokens[begin:end].tolist()


def _interval(hits: Bools, people: Ints) -> float:
    """Returns half the width of the 95 % interval of a share, by leaving out one person at a time."""
    all_of, right = np.bincount(people), np.bincount(people, hits)
    some = all_of > 0
    return half_width((hits.sum() - right[some]) / (len(hits) - all_of[some]))


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("judge", metavar="JUDGE")
    given.add_argument("run", metavar="RUN", type=Path)
    given.add_argument("directories", metavar="NAME=DIR|NAME=FILE.dict", nargs="+")
    options = given.parse_args()
    run, rows = runs.load(options.run), []
    for named in options.directories:
        name, _, path = named.rpartition("=")
        row: dict[str, Any] = {"what": name}
        file = Path(path)
        if file.is_dir():
            summary = json.loads((file / "summary.json").read_text("utf-8"))
            sizes = {what: summary["bytes"][what] for what in ("words.dict", "words.combined")}
            row |= {"read": compared(options.judge, file), "bytes": sizes}
            row |= {what: summary[what] for what in ("topology", "client_counts", "ngrams")}
            row["n-gram"] = {what: summary["models"]["n-gram"][what] for what in ("top1", "top3")}
            file = file / "words.dict"
        rows.append(row | {"engine": measured(options.judge, run, file)})
    prepared = run.prepare()
    first = first_words(run.vocabulary.words, prepared.clients, prepared.test)
    command = "python benchmarks/aosp.py JUDGE RUN NAME=DIR …"
    print(json.dumps({"command": command, "rows": rows, "first_words": first}, indent=1))


if __name__ == "__main__":
    main()
