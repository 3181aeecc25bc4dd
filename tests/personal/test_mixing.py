"""Mixtures and the word cache against their formulas, word by word."""

from __future__ import annotations

import doctest
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import talkers
from talkers import BOS, MODEL, PARAMS, V

import reference
from tacit.personal import mixing, split, trial
from tacit.personal.mixing import KAPPA, Mix, cache_probabilities, mixture, remember
from tacit.personal.strategies import Strategy

pytestmark = pytest.mark.usefixtures("compiled")


def cache_by_hand(typed: list[np.ndarray], before: int, half_life: float) -> np.ndarray:
    """λ c(v, w)/c(v) + (1 − λ) c(w)/c with counts that fade, from sentences."""
    pairs = [(int(a), int(b)) for s in typed for a, b in pairwise(s)]
    usual, after = np.zeros(V), np.zeros(V)
    for age, (v, w) in enumerate(reversed(pairs)):
        usual[w] += 0.5 ** (age / half_life)
        after[w] += (v == before) * 0.5 ** (age / half_life)
    seen = after.sum()
    trust = seen / (seen + KAPPA)
    return trust * after / max(seen, 1e-30) + (1 - trust) * usual / usual.sum()


def test_the_cache_by_hand():
    text = talkers.talkers(4, people=3)
    memory = remember(text, half_life=30)
    for k in range(3):
        own = jax.tree.map(lambda a, k=k: jnp.asarray(a[k]), memory)
        found = jax.jit(cache_probabilities, static_argnums=2)(own, jnp.arange(V), V)
        for before in range(V):
            expected = cache_by_hand(talkers.messages(text, k), before, 30)
            np.testing.assert_allclose(found[before], expected, atol=1e-5)
        np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-5)


def test_a_long_memory_keeps_the_latest_words(monkeypatch):
    text = talkers.talkers(4, people=2)
    monkeypatch.setattr(mixing, "MOST", 10)
    memory = remember(text)
    last = np.concatenate([s[1:] for s in talkers.messages(text, 1)])[-10:]
    np.testing.assert_array_equal(memory.word[1][memory.weight[1] > 0], last)


def test_mixtures_by_hand():
    """Of two models and the cache; a mixture that leaves all to one of them is that one."""
    text = talkers.talkers(4, people=1)
    typed = talkers.messages(text, 0)
    other = reference.shaken(PARAMS, 9, 0.7)
    mixes = (Mix(1.0, 0.0), Mix(0.0, 0.0), Mix(0.5, 0.2))
    memory = jax.tree.map(lambda a: jnp.asarray(a[0]), remember(text))
    inputs = np.array([[BOS, 5, 7, 3]])
    found = jax.jit(mixture(MODEL, mixes))(PARAMS, other, memory, inputs)  # [mixes, 1, time, V]
    _, common = reference.sentence_logits(PARAMS, inputs[0], reference.gru_common, "gru")
    _, own = reference.sentence_logits(other, inputs[0], reference.gru_common, "gru")
    cached = np.array([cache_by_hand(typed, int(v), mixing.HALF_LIFE) for v in inputs[0]])
    common, own = reference.softmax_rows(common), reference.softmax_rows(own)
    np.testing.assert_allclose(np.exp(found[0, 0]), own, atol=1e-5)
    np.testing.assert_allclose(np.exp(found[1, 0]), common, atol=1e-5)
    np.testing.assert_allclose(np.exp(found[2, 0]), 0.3 * common + 0.5 * own + 0.2 * cached, atol=1e-5)


def test_one_tuning_serves_all_mixtures():
    """A mixture with itself alone is the plain strategy; one that is all global changes nothing."""
    users = split.split(talkers.talkers(1))
    ready = trial.prepare(MODEL, PARAMS, users, trial.Tuning(90, 2, 0, "sentences"))
    plain = Strategy(3, (0.4,))
    mixed = [Strategy(3, (0.4,), "all", mix) for mix in (Mix(0.999999), Mix(0.0), Mix(0.6, 0.3))]
    found = trial.evaluate(ready, [plain, *mixed])
    np.testing.assert_array_equal(found[plain].won, found[mixed[0]].won)
    np.testing.assert_allclose(found[plain].nll_after, found[mixed[0]].nll_after, rtol=1e-4)
    assert not found[mixed[1]].won.any() and not found[mixed[1]].lost.any()
    np.testing.assert_allclose(found[mixed[1]].nll_after, found[plain].nll_before, rtol=1e-4)
    bound = found[plain].nll_before - np.log(0.1) * found[plain].predictions
    assert (found[mixed[2]].nll_after <= bound).all()  # what the global model's share promises


def test_examples():
    assert doctest.testmod(mixing).failed == 0
