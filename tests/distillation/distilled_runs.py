"""Runs that are distilled, and distilled models read by their text alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands import TINY, stub
from tacit import runs
from tacit.runs.config import resolve

FILES = [
    "model.arpa",
    "model.fst.txt",
    "model.syms",
    "model.tacit",
    "summary.json",
    "words.combined",
    "words.dict",
]
ROWS = ["Kneser-Ney, collected text", "Kneser-Ney, supplement", "compact file", "n-gram", "network"]
PEOPLE = ("typists.users=20", "typists.messages=8", "typists.quantity_skew=0", "text.vocabulary=150")
SENTENCES = 200
CONTEXTS = ("", "are you", "I am so", "see you", "xyzzy", "the the the")
Make = Callable[..., Path]
Gram = tuple[str, ...]


def unlearnt(out: Path, *settings: str) -> Path:
    """A run whose network has learnt nothing, which takes no time."""
    with pytest.MonkeyPatch.context() as patch:
        stub(patch)
        runs.train(resolve("fedavg", [*TINY, *settings, "training.rounds=1"]), out)
    return out


def facts(out: Path) -> dict[str, Any]:
    return json.loads((out / "summary.json").read_text("utf-8"))


def rows(out: Path) -> dict[Gram, tuple[float, str]]:
    """The n-grams of an ARPA file by its text alone: log10 p, and the backoff weight as it is written."""
    found = {}
    for line in (out / "model.arpa").read_text("utf-8").splitlines():
        if line and not line.startswith(("\\", "ngram ")):
            p, words, *backoff = line.split("\t")
            found[tuple(words.split(" "))] = float(p), "".join(backoff)
    return found


def grams_of(sentences: list[list[str]], words: tuple[str, ...]) -> set[Gram]:
    """Every n-gram of one to three words in sentences, and every word: what an unpruned model is made of."""
    found = {(word,) for word in words}
    for sentence in sentences:
        whole = ["<s>", *sentence, "</s>"]
        found |= {tuple(whole[i : i + n]) for n in (1, 2, 3) for i in range(len(whole) - n + 1)}
    return found


def sentences_of(tokens: np.ndarray, offsets: np.ndarray, words: tuple[str, ...]) -> list[list[str]]:
    return [[words[i] for i in tokens[a + 1 : b - 1]] for a, b in pairwise(offsets.tolist())]


def at_start(run: runs.Run) -> dict[str, float]:
    """What a network says first in a message, `<s>` excepted."""
    logits = np.asarray(run.model.apply(run.params, np.zeros((1, 1), np.int32)), np.float64)[0, 0, 1:]
    p = np.exp(logits - logits.max())
    return dict(zip(run.vocabulary.words[1:], p / p.sum(), strict=True))
