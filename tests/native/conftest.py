"""The C reader, built once, and the models that its tests ask."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from reader_c import COMPILER, Typed, loaded

from tacit.ngram import kneser_ney
from tacit.ngram.automaton import from_kneser_ney
from tacit.ngram.compact import writer
from tacit.text.tokens import tokenize
from tacit.text.typists import Typists, TypistsConfig
from tacit.text.vocabulary import SPECIALS, Vocabulary


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    if COMPILER is None:
        pytest.skip("no C compiler here: install gcc or clang, or set CC")
    return loaded(tmp_path_factory.mktemp("libtacit"))


@pytest.fixture(scope="session")
def typed(tmp_path_factory: pytest.TempPathFactory) -> Typed:
    path = tmp_path_factory.mktemp("typed") / "model.tacit"
    people = Typists(TypistsConfig(users=90, messages=60, quantity_skew=0.0))
    messages = [tokenize(m.text) for k in range(90) for m in people.messages(k)]
    half = len(messages) * 2 // 3
    words = Vocabulary((*SPECIALS, *dict.fromkeys(w for m in messages[:half] for w in m)))
    ids = [words.encode(m) for m in messages[:half]]
    fitted = kneser_ney.fit(np.concatenate(ids), np.cumsum([0, *map(len, ids)]), len(words), order=3)
    writer.write(path, words, from_kneser_ney(fitted), name="typists", hidden=["the", "Sunday"])
    contexts = [m[:i] for m in messages[half:] for i in range(len(m) + 1)]
    draw = np.random.default_rng(0)
    return Typed(path, [contexts[i] for i in draw.permutation(len(contexts))[:10_000]])
