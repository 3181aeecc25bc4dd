"""The nearest weights against a general optimiser, and what must hold of them."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import softmax

import toys
from tacit.base.errors import TacitError
from tacit.distillation import minimise as module
from tacit.distillation.minimise import minimise
from tacit.distillation.soft_counts import Counts
from tacit.ngram.automaton import Automaton, Topology, distribution

seeds = st.integers(0, 100_000)


def counted(
    seed: int, shape: Topology, positions: int = 30, sharp: float = 0.5, least: float = 0.0
) -> Counts:
    """Counts of positions in random states with random probabilities (0 where below `least`), by the definition."""
    draw = np.random.default_rng(seed)
    states = draw.integers(0, len(shape), positions)
    p = np.pad(draw.dirichlet(np.full(shape.vocabulary - 1, sharp), positions), ((0, 0), (1, 0)))
    p = toys.readable(shape, states, p)
    p = np.where(p >= np.minimum(least, p.max(axis=1, keepdims=True)), p, 0)
    return Counts(*toys.literal_counts(shape, states, p / p.sum(axis=1, keepdims=True)))


def likelihood(counts: Counts, model: Automaton) -> float:
    """Σ C log w: what the source's words get under a model, up to what no model can change."""
    some, open_ = counts.arcs > 0, counts.phi > 1e-12
    return float(counts.arcs[some] @ model.log_p[some] + counts.phi[open_] @ model.log_backoff[open_])


def height(shape: Topology, counts: Counts, state: int, y: np.ndarray) -> float:
    """The objective of one state, from the notes; y is over its labels, then φ."""
    labels = list(toys.has(shape, state))
    c = np.append(counts.arcs[list(toys.has(shape, state).values())], counts.phi[state])
    if shape.backoff[state] < 0:
        c = c[:-1]
    total = float(np.sum(np.where(c > 0, c * np.log(np.maximum(y, 1e-300)), 0)))
    for h in np.flatnonzero(shape.backoff == state).tolist():
        if counts.phi[h] > 1e-12:
            left = sum(v for v, x in zip(y, [*labels, -1], strict=False) if x not in toys.has(shape, h))
            total -= counts.phi[h] * np.log(max(left, 1e-300))
    return total


def brute(shape: Topology, counts: Counts, state: int) -> float:
    """The best that a general optimiser finds, from several starts."""
    size = len(toys.has(shape, state)) + (shape.backoff[state] >= 0)
    starts = [np.zeros(size), *np.random.default_rng(0).normal(0, 2, (4, size))]
    found = [minimize(lambda z: -height(shape, counts, state, softmax(z)), z, method="BFGS") for z in starts]
    return max(-f.fun for f in found)


def share(model: Automaton, state: int) -> np.ndarray:
    """y of a state: its arcs' weights and what it leaves to φ."""
    shape = model.topology
    own = np.exp(model.log_p[shape.starts[state] : shape.starts[state + 1]])
    return own if shape.backoff[state] < 0 else np.append(own, max(0.0, 1 - own.sum()))


@settings(max_examples=15)
@given(seeds)
def test_no_optimiser_finds_better_weights(seed: int) -> None:
    shape = toys.topology(seed, vocabulary=6, states=8)
    counts = counted(seed, shape, sharp=2.0)
    model = minimise(shape, counts).model
    for state in range(len(shape)):
        if counts.visits[state]:
            ours = height(shape, counts, state, share(model, state))
            assert ours >= brute(shape, counts, state) - 1e-4


@settings(max_examples=80)
@given(seeds, st.integers(1, 2), st.booleans(), st.sampled_from([0.0, 0.2, 1.0]))
def test_every_state_sums_to_one_and_the_objective_only_rises(
    seed: int, roots: int, fixed: bool, least: float
) -> None:
    shape = toys.topology(seed, vocabulary=7, states=12, roots=roots)
    counts = counted(seed, shape, positions=15, least=least)
    model, objective = minimise(shape, counts, fixed)
    for state in range(len(shape)):
        assert abs(distribution(model, state).sum() - 1) < 1e-9
    assert (np.diff(objective) >= 0).all()
    if fixed:
        assert len(objective) == 1
        exact = minimise(shape, counts)
        assert exact.objective[0] == objective[0]
        assert likelihood(counts, exact.model) >= likelihood(counts, model) - 1e-9
    # the objective is what the source's words get, as far as the weights say
    assert objective[-1] == pytest.approx(likelihood(counts, model), rel=1e-6, abs=1e-6)


def test_the_exact_weights_are_nearer_than_those_of_fixed_backoffs() -> None:
    source = toys.kneser(3, count=60, vocabulary=9)
    counts = counted(1, source.topology, positions=400)
    near, far = (minimise(source.topology, counts, fixed).model for fixed in (False, True))
    assert likelihood(counts, near) > likelihood(counts, far) + 0.1


def test_a_state_without_visits_repeats_its_backoff_state() -> None:
    model = toys.kneser(3, count=30, vocabulary=8)
    shape = model.topology
    used = np.flatnonzero(shape.depth <= 1)[:4]
    draw = np.random.default_rng(0)
    p = np.pad(draw.dirichlet(np.ones(7), 50), ((0, 0), (1, 0)))
    counts = Counts(*toys.literal_counts(shape, draw.choice(used, 50), p))
    found = minimise(shape, counts).model
    blank = np.flatnonzero(counts.visits == 0)
    assert len(blank) > 5
    for q in blank.tolist():
        np.testing.assert_allclose(
            distribution(found, q), distribution(found, int(shape.backoff[q])), rtol=1e-9
        )
    nothing = Counts(np.zeros(len(shape.labels)), np.zeros(len(shape)), np.zeros(len(shape)))
    np.testing.assert_allclose(distribution(minimise(shape, nothing).model, len(shape) - 1)[1:], 1 / 7)


def test_a_state_with_all_labels_has_nothing_behind_its_failure_arc() -> None:
    shape = Topology(
        4,
        np.array([0, 3, 6]),
        np.array([1, 2, 3, 1, 2, 3]),
        np.array([-1, 1, 1, -1, 0, 0]),
        np.array([-1, 0]),
        0,
    )
    counts = Counts(
        np.array([1.0, 1, 2, 3, 4, 5]), np.array([0.0, 1e-7]), np.array([0.0, 0.0])
    )  # φ by rounding
    found = minimise(shape, counts).model
    np.testing.assert_allclose(distribution(found, 1)[1:], [0.25, 1 / 3, 5 / 12], rtol=1e-12)
    assert np.isfinite(found.log_backoff).all()


def test_a_source_that_fits_the_topology_comes_back() -> None:
    """Counts of the automaton's own probabilities are best matched by the automaton itself."""
    source = toys.kneser(5, count=40, vocabulary=8)
    shape = source.topology
    states = np.repeat(np.arange(len(shape)), 3)
    counts = Counts(*toys.literal_counts(shape, states, np.stack([toys.dense(source, q) for q in states])))
    found = minimise(shape, counts).model
    for q in range(len(shape)):
        np.testing.assert_allclose(distribution(found, q), toys.dense(source, q), atol=2e-4)


def test_bad_input_is_told_in_one_line() -> None:
    shape = toys.topology(0)
    counts = counted(0, shape)
    with pytest.raises(TacitError, match="do not belong to a topology"):
        minimise(shape, counts._replace(phi=counts.phi[1:]))
    holes = Topology(4, np.array([0, 2, 3]), np.array([1, 2, 3]), np.array([-1, 0, 0]), np.array([-1, 0]), 0)
    with pytest.raises(TacitError, match="state 1 has an arc for label 3, its backoff state 0 has none"):
        minimise(holes, Counts(np.ones(3), np.zeros(2), np.ones(2)))


def test_examples_in_the_docstrings() -> None:
    assert doctest.testmod(module).failed == 0
