"""A small n-gram model of each locale's ten sentences."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from locale_sentences import sentences
from tacit.ngram import kneser_ney
from tacit.ngram.automaton import Automaton, from_kneser_ney
from tacit.ngram.compact import writer
from tacit.text.locale import find
from tacit.text.tokens import tokenize
from tacit.text.vocabulary import SPECIALS, Vocabulary


def model_of(code: str) -> tuple[Vocabulary, Automaton]:
    """A Kneser-Ney model of order 3 over the words of the sentences."""
    lines = [tokenize(line, find(code)) for line in sentences(code)]
    words = Vocabulary((*SPECIALS, *dict.fromkeys(word for line in lines for word in line)))
    ids = [words.encode(line) for line in lines]
    fitted = kneser_ney.fit(np.concatenate(ids), np.cumsum([0, *map(len, ids)]), len(words), order=3)
    return words, from_kneser_ney(fitted)


def write(folder: Path, code: str) -> Path:
    """The model as a compact file."""
    path = folder / f"{code}.tacit"
    writer.write(path, *model_of(code), name=code, locale=code)
    return path
