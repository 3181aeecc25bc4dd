"""The rule of recall against a loop over words, in numpy and in JAX."""

from __future__ import annotations

import doctest

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tacit.scoring import recall

V = 9


def suggestions(scores: np.ndarray, allowed: np.ndarray) -> list[int]:
    """Words that may be suggested, best first, ties by lower id."""
    return sorted((w for w in range(3, V) if allowed[w]), key=lambda w: (-scores[w], w))


@pytest.mark.parametrize("xp", [np, jnp])
def test_ranks_are_places_in_the_sorted_suggestions(xp) -> None:
    draw = np.random.default_rng(0)
    scores = draw.integers(0, 4, (200, V)).astype(np.float32)  # many ties
    allowed = np.ones(V, bool)
    allowed[4] = False
    targets = draw.integers(3, V, 200)
    wanted = scores[np.arange(200), targets][:, None]
    ranks = np.asarray(
        recall.rank(xp.asarray(scores), xp.asarray(wanted), xp.asarray(targets), xp.asarray(allowed))
    )
    for row, target, rank in zip(scores, targets.tolist(), ranks.tolist(), strict=True):
        if allowed[target]:
            assert suggestions(row, allowed).index(target) == rank


def test_a_rank_among_the_best_is_the_rank_among_all() -> None:
    draw = np.random.default_rng(1)
    scores = draw.integers(0, 4, (200, V)).astype(np.float32)
    targets = draw.integers(3, V, 200)
    best = np.array([suggestions(row, np.ones(V, bool))[:3] for row in scores])
    full = recall.rank(scores, scores[np.arange(200), targets][:, None], targets)
    assert np.array_equal(recall.rank_among(best, targets), np.minimum(full, 3))


def test_what_counts_as_a_word_and_as_a_hit() -> None:
    targets = np.array([-1, 0, 1, 2, 3, 4])  # padding, <s>, </s>, <unk>, two words
    assert recall.is_word(targets).tolist() == [False, False, False, True, True, True]
    word, known = recall.is_word(targets), recall.is_known(targets)
    nll = np.array([0.0, 0.0, 1.0, 2.0, np.inf, 4.0])
    rank = np.array([0, 0, 0, 0, 2, 3])
    cells = recall.cells(nll, rank, word, targets == 2, known)
    assert [np.asarray(c, float).sum() for c in (cells[1], *cells[2:])] == [2.0, 3, 1, 0, 1]  # no inf · 0


def test_it_can_be_traced() -> None:
    scores = np.array([[0.0, 0.0, 0.0, 1.0, 2.0]])
    traced = jax.jit(lambda s: recall.rank(s, s[:, 3:4], jnp.array([3])))(scores)
    assert traced.tolist() == [1]


def test_examples() -> None:
    assert doctest.testmod(recall).failed == 0
