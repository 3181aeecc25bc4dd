"""Probabilities above one are found, wherever they come from, and legal weights are left alone."""

from __future__ import annotations

import doctest

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from file_models import any_weights
from tacit.ngram import above_one as module
from tacit.ngram.above_one import TOLERANCE, above_one
from tacit.ngram.automaton import Automaton, distributions


@given(st.integers(0, 9999), st.integers(2, 4), st.floats(0, 3), st.floats(0, 0.3))
def test_as_every_probability_tells_it(seed: int, order: int, far: float, share: float) -> None:
    """Against the plain way: all probabilities of all states."""
    model, draw = any_weights(seed, 8, order, 8), np.random.default_rng(seed)
    shape = model.topology
    moved = (shape.backoff >= 0) & (draw.random(len(shape)) < share)
    model = Automaton(shape, model.log_p, model.log_backoff + far * moved * draw.normal(size=len(shape)))
    with np.errstate(divide="ignore"):
        highest = np.log(distributions(model, np.arange(len(shape))).max(1))  # [states]
    told = above_one(model)
    assert (told is None) == bool((highest <= TOLERANCE).all())
    if told:
        assert abs(highest[told[0]] - told[1]) < 1e-9


def test_what_is_no_number_is_told() -> None:
    model = any_weights(1, 8, 3, 8)
    for value in (np.nan, np.inf):
        log_p = model.log_p.copy()
        log_p[3] = value
        assert above_one(Automaton(model.topology, log_p, model.log_backoff)) is not None
    log_backoff = model.log_backoff.copy()
    log_backoff[1:] = np.inf
    assert above_one(Automaton(model.topology, model.log_p, log_backoff)) is not None


def test_examples() -> None:
    assert doctest.testmod(module).failed == 0
