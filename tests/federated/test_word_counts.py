"""A start from counts against counting by hand."""

from __future__ import annotations

import math
from collections import Counter

import jax
import numpy as np

from commands import TINY
from tacit import runs
from tacit.federated.word_counts import log_frequencies, with_bias, word_counts
from tacit.models import language_model
from tacit.models.base import ModelConfig
from tacit.runs.config import resolve
from tacit.runs.training import make_trainer
from tacit.text.packed import pack


def test_counts_and_bias_by_hand():
    people = [
        [np.array([0, 4, 3, 4, 1]), np.array([0, 2, 1])],  # 0 is <s>, 1 is </s>
        [np.array([0, 4, 1])],
    ]
    counts = word_counts(pack(people, ["ana", "ben"]), 6)
    assert counts.tolist() == [0, 3, 1, 1, 3, 0]
    bias = log_frequencies(counts)
    assert bias[4] == np.float32(math.log((3 + 1) / (8 + 6))) and bias[5] == np.float32(math.log(1 / 14))
    assert abs(np.exp(bias.astype(np.float64)).sum() - 1) < 1e-6


def test_only_the_bias_is_another():
    model = language_model(ModelConfig(embedding=3, hidden=3), 6)
    key, bias = jax.random.key(1), np.arange(6, dtype=np.float32)
    plain, started = model.init(key), with_bias(model.init, bias)(key)
    np.testing.assert_array_equal(started["output_bias"], bias)
    for name in plain.keys() - {"output_bias"}:
        jax.tree.map(np.testing.assert_array_equal, plain[name], started[name])


def test_a_run_counts_its_clients_and_nobody_else():
    """Words of held-out people are not counted."""
    config = resolve("fedavg", [*TINY, "model.bias=counts", "typists.users=12", "typists.messages=8"])
    ready = runs.prepare(config)
    model = language_model(config.model, len(ready.vocabulary))
    state = make_trainer(config, model, ready).init(jax.random.key(0))
    text = ready.clients.gather(np.arange(len(ready.clients)))
    seen = Counter(text.tokens.tolist())
    total = sum(n for word, n in seen.items() if word != 0) + len(ready.vocabulary)
    expected = [
        math.log(((0 if word == 0 else seen[word]) + 1) / total) for word in range(len(ready.vocabulary))
    ]
    np.testing.assert_allclose(state.params["output_bias"], expected, rtol=1e-6)
