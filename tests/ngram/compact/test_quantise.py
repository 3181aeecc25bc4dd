"""Weights of one byte: how far they are from the weights they stand for, and what that costs."""

from __future__ import annotations

import doctest
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from file_models import flat, kneser, saved, sentences, vocabulary
from tacit.ngram import validity
from tacit.ngram.automaton import Automaton, log_probs
from tacit.ngram.compact import quantise
from tacit.ngram.compact.search import best
from tacit.text.vocabulary import by_bytes


def uneven(seed: int) -> Automaton:
    """A model in which no two weights are equal, with sums of one."""
    model = kneser(seed, 2000, 4, 20_000)
    shape, draw = model.topology, np.random.default_rng(seed)
    noisy = model.log_p + draw.normal(0, 0.1, len(model.log_p)) - 0.05
    noisy[: shape.starts[1]] -= np.log(np.exp(noisy[: shape.starts[1]]).sum())
    own, rest = validity.shares(Automaton(shape, noisy, model.log_backoff))
    own = np.where(own < 1, own, 0.0)
    log_backoff = np.zeros(len(shape))
    for d in range(1, 4):
        here = np.flatnonzero(shape.depth == d)
        back = shape.backoff[here]
        rest[here] += np.exp(log_backoff[back]) * rest[back] * (d > 1)
        noisy[np.isin(shape.owners, here[own[here] == 0])] -= 0.7
        own[here] = validity.shares(Automaton(shape, noisy, log_backoff))[0][here]
        log_backoff[here] = np.log((1 - own[here]) / rest[here])
    validity.require(Automaton(shape, noisy, log_backoff))
    return Automaton(shape, noisy, log_backoff)


def test_rounding_costs_little(tmp_path: Path) -> None:
    """Perplexity within 0.5 %, every sum within 2 %, most far closer; codes rise with probability."""
    v, model = vocabulary(2000), uneven(7)
    assert len(model.log_p) > 60_000
    small = saved(tmp_path, model, v)
    rounded = small.to_automaton()[1]
    tokens, offsets = flat(sentences(8, 2000, 2000))
    ids, ask = by_bytes(v).ids, tokens != 0
    exact = log_probs(model, model.topology.states_along(tokens, offsets)[ask], tokens[ask])
    close = log_probs(rounded, rounded.topology.states_along(ids[tokens], offsets)[ask], ids[tokens][ask])
    assert abs(np.exp(exact.mean() - close.mean()) - 1) < 0.005
    off = np.abs(validity.sums(rounded) - 1)
    assert off[0] < 1e-7 and off.max() < 0.02 and np.quantile(off, 0.99) < 0.006
    for level in small.levels:
        used = level.table[1 : int(level.p.max()) + 1]
        assert (np.diff(used) > 0).all() and len(used) > 200 and level.table[0] == -np.inf
    assert (tmp_path / "m.tng").stat().st_size < 4.3 * len(model.log_p) + 8 * 2000 + 12 * 1024


def test_backoff_weights_undo_what_rounding_does() -> None:
    """With the backoff weights as they were, sums would be off several times as far."""
    model = uneven(7)
    shape, codes = model.topology, quantise.quantise(model)
    p = np.array(codes.p_tables)[shape.depth[shape.owners], codes.p].astype(np.float64)
    phi = np.array([np.zeros(256), *codes.backoff_tables])[shape.depth, codes.backoff]
    without = np.abs(validity.sums(Automaton(shape, p, model.log_backoff)) - 1)
    off = np.abs(validity.sums(Automaton(shape, p, phi)) - 1)
    assert off.mean() < 0.4 * without.mean() and off.max() < without.max()
    even = np.linspace(model.log_p.min(), 0, 256)  # bins of one width
    width = even[1] - even[0]
    assert np.abs(p - model.log_p).mean() < 0.6 * width / 4


@given(st.integers(0, 9999), st.integers(2, 255), st.integers(1, 4000))
def test_bins_hold_what_they_stand_for(seed: int, most: int, count: int) -> None:
    draw = np.random.default_rng(seed)
    values = draw.choice(
        [draw.normal(-5, 3, count), draw.uniform(-40, 0, count), np.round(draw.normal(0, 2, count))]
    )
    table, code = quantise._bins(values, draw.random(count) + 0.01, most)
    assert len(table) <= most and (np.diff(table) > 0).all() and set(code.tolist()) == set(range(len(table)))
    stands = table[code].astype(np.float64)
    order = np.argsort(values, kind="stable")
    assert (np.diff(stands[order]) >= 0).all()  # ascending: no two bins overlap
    for c in range(len(table)):
        inside = values[code == c]
        assert inside.min() - 1e-4 <= table[c] <= inside.max() + 1e-4


def test_a_sum_changes_a_backoff_weight_by_no_more_than_a_factor_of_two() -> None:
    now, before = np.array([3.0, 0.1, 1.2, 5.0]), np.array([1.0, 1.0, 1.0, 0.0])
    assert quantise._ratio(now, before).tolist() == [2.0, 0.5, 1.2, 1.0]


def test_weights_without_measure(tmp_path: Path) -> None:
    """A word without probability, one with next to none, a history that leaves nothing: all are told apart."""
    model = kneser(1)
    log_p, log_backoff = model.log_p.copy(), model.log_backoff.copy()
    log_p[6], log_p[7], log_backoff[2] = -np.inf, -230.0, -np.inf
    small = saved(tmp_path, Automaton(model.topology, log_p, log_backoff), vocabulary(20))
    ids = by_bytes(vocabulary(20)).ids
    assert small.log_prob((), int(ids[7])) == -np.inf and small.log_prob((), int(ids[8])) == pytest.approx(
        -50, abs=0.1
    )
    assert len(best(small, (), 60)) == 16 and int(ids[7]) not in dict(best(small, (), 60))


def test_examples() -> None:
    assert doctest.testmod(quantise).failed == 0
