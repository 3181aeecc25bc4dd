"""The lower bound on ε from guesses, against mechanisms whose ε is known."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.audit.guessing import chance, lower_bound


def test_chance_is_the_binomial_tail() -> None:
    """By adding up every outcome of twelve tosses."""
    from math import comb

    p = np.exp(0.7) / (1 + np.exp(0.7))
    by_hand = sum(comb(12, i) * p**i * (1 - p) ** (12 - i) for i in range(9, 13))
    assert chance(9, 12, 0.7, 12, 0.0) == pytest.approx(by_hand)
    assert chance(9, 12, 0.7, 12, 1e-3) > by_hand


def test_randomised_response_is_not_overestimated() -> None:
    """Each canary's coin is told truly with probability e^ε/(1 + e^ε): exactly ε, and guesses cannot show more."""
    rng, epsilon, k = np.random.default_rng(5), 1.0, 2000
    truth = rng.random(k) < 0.5
    shown = []
    for _ in range(20):
        told = np.where(rng.random(k) < np.exp(epsilon) / (1 + np.exp(epsilon)), truth, ~truth)
        shown.append(lower_bound(told + 1e-9 * rng.random(k), truth, 0.0).epsilon)
    assert max(shown) <= epsilon
    assert np.median(shown) > 0.6  # and the bound is not idle


def test_no_protection_shows_a_large_epsilon_and_no_signal_shows_none() -> None:
    rng = np.random.default_rng(6)
    truth = rng.permutation(np.arange(1000) < 500)
    assert lower_bound(truth + 0.01 * rng.normal(size=1000), truth, 1e-6).epsilon > 4
    assert lower_bound(rng.normal(size=1000), truth, 1e-6).epsilon == 0
