"""Correlated noise: the streaming form against the dense matrix, the sensitivity against every pattern of rounds."""

from __future__ import annotations

import itertools

import jax.numpy as jnp
import numpy as np
import pytest

from tacit.base.errors import TacitError
from tacit.privacy.correlated import next_noise, no_noise_yet
from tacit.privacy.strategy import participations, read_strategy, sensitivities

BANDED, BUFFERED = "1, 0.5, 0.375, 0.1", "decay 0.95, 0.4 scale 0.3, 0.25"


def dense(text: str, rounds: int) -> np.ndarray:
    """C, entry by entry."""
    c = np.zeros((rounds, rounds))
    for i, j in itertools.product(range(rounds), range(rounds)):
        age = i - j
        if text == BANDED:
            c[i, j] = [1, 0.5, 0.375, 0.1][age] if 0 <= age < 4 else 0
        elif age >= 0:
            c[i, j] = 1 if age == 0 else 0.3 * 0.95 ** (age - 1) + 0.25 * 0.4 ** (age - 1)
    return c


@pytest.mark.parametrize("text", [BANDED, BUFFERED])
def test_the_stream_is_the_dense_inverse(text):
    rounds, strategy = 12, read_strategy(text)
    z = np.random.default_rng(1).normal(size=(rounds, 3, 2))
    expected = np.linalg.solve(dense(text, rounds), z.reshape(rounds, -1)).reshape(z.shape)
    past, found = no_noise_yet(strategy, jnp.zeros((3, 2))), []
    for t in range(rounds):
        w, past = next_noise(strategy, past, jnp.float32(z[t]))
        found.append(w)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(strategy.first_column(rounds), dense(text, rounds)[:, 0], rtol=1e-12)


def test_one_band_is_independent_noise():
    strategy = read_strategy("1")
    past = no_noise_yet(strategy, jnp.zeros(4))
    w, past = next_noise(strategy, past, jnp.arange(4.0))
    assert w.tolist() == [0, 1, 2, 3]
    assert past.shape == (0, 4)
    assert sensitivities(strategy, 10, 3)[-1] == pytest.approx(2)  # √4: rounds 1, 4, 7, 10


@pytest.mark.parametrize("text", [BANDED, BUFFERED])
@pytest.mark.parametrize("separation", [1, 2, 3, 5])
def test_the_sensitivity_is_the_worst_of_all_patterns(text, separation):
    rounds, c = 8, dense(text, 8)
    worst = 0.0
    for pattern in itertools.product([0, 1], repeat=rounds):
        taken = np.flatnonzero(pattern)
        if len(taken) and np.all(np.diff(taken) >= separation):
            worst = max(worst, np.linalg.norm(c[:, taken].sum(axis=1)))
            assert len(taken) <= participations(rounds, separation)
    found = sensitivities(read_strategy(text), rounds, separation)
    assert found[-1] == pytest.approx(worst)
    # what a client sends may point anywhere and differ from round to round: never more than the bound
    draw = np.random.default_rng(separation)
    for _ in range(500):
        first = draw.integers(0, separation)
        sent = np.zeros((rounds, 3))
        taken = np.arange(first, rounds, separation + draw.integers(0, 2))
        sent[taken] = draw.normal(size=(len(taken), 3)) + draw.normal(0, 3, 3)
        sent[taken] /= np.linalg.norm(sent[taken], axis=1, keepdims=True)
        changed = np.linalg.norm(c @ sent, axis=1)
        assert np.all(np.sqrt(np.cumsum(changed**2)) <= found + 1e-9)


@pytest.mark.parametrize(
    "text",
    [
        *("", "1, x", "1, nan", "2, 1", "1, 0.5, 0.6", "1, -0.1", "decay 0.9", "decay 0.9 scale 0.2, 0.1"),
        *("decay 1.5 scale 0.1", "decay 0.9 scale 1.1", "decay 0.9 scale -0.1", "decay 0.9 scale inf"),
    ],
)
def test_a_matrix_of_unknown_sensitivity_is_refused(text):
    with pytest.raises(TacitError, match="coefficients"):
        read_strategy(text)
