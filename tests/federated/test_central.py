"""The central baseline: its batches, and its steps against optax by hand."""

from __future__ import annotations

from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import worlds

from tacit.base.errors import TacitError
from tacit.federated.central import CentralConfig, batches, central
from tacit.federated.objective import next_word_loss
from tacit.models import ModelConfig, language_model

V = 12
TEXT = worlds.sentences(4, 5, V, most=5, longest=5)
SENTENCES = len(TEXT.offsets) - 1
MODEL = language_model(ModelConfig(embedding=4, hidden=4), V)
LOSS = jax.jit(next_word_loss(MODEL))


def read_back(inputs, targets) -> Counter:
    found = []
    for x, y in zip(inputs.ravel().tolist(), targets.ravel().tolist(), strict=True):
        if y >= 0:
            found = [*found, (0,)] if x == 0 else found
            found[-1] = (*found[-1], y)
    return Counter(found)


def everything() -> Counter:
    return Counter(
        tuple(TEXT.tokens[a:b].tolist()) for a, b in zip(TEXT.offsets[:-1], TEXT.offsets[1:], strict=True)
    )


def test_a_pass_visits_each_sentence_once_and_each_pass_in_a_new_order():
    config = CentralConfig(batch=4)
    first, second = (batches(TEXT, config, seed=0, t=t) for t in (0, 1))
    assert len(first.inputs) == -(-SENTENCES // 4)
    assert read_back(*first) == read_back(*second) == everything()
    assert read_back(first.inputs[0], first.targets[0]) != read_back(second.inputs[0], second.targets[0])


def test_rounds_of_a_few_steps_go_through_the_text_one_after_another():
    per_pass = -(-SENTENCES // 4)
    config = CentralConfig(batch=4, steps=2)
    seen = Counter()
    for t in range(per_pass):  # two passes, a round may straddle them
        rows = batches(TEXT, config, seed=0, t=t)
        assert len(rows.inputs) == 2
        seen += read_back(*rows)
    assert seen == everything() + everything()


@pytest.mark.parametrize(
    ("config", "rule"),
    [
        (CentralConfig(optimiser="sgd", lr=0.5, batch=8, clip=0.0, schedule="linear"), optax.sgd(0.5)),
        (
            CentralConfig(lr=0.01, batch=8, clip=0.2),
            optax.chain(optax.clip_by_global_norm(0.2), optax.adam(0.01)),
        ),
    ],
    ids=["sgd", "adam"],
)
def test_two_rounds_by_hand(config, rule):
    trainer = central(MODEL.init, LOSS, TEXT, config, seed=0, rounds=3)
    state = trainer.init(jax.random.key(0))
    gradient = jax.jit(jax.value_and_grad(lambda p, b: LOSS(p, b, None)[0]))
    w, kept = state.params, rule.init(state.params)
    for t, factor in enumerate([1.0, 0.505] if config.schedule == "linear" else [1.0, 1.0]):
        state, facts = trainer.round(state, t)
        rows = batches(TEXT, config, seed=0, t=t)
        losses, counts = [], []
        for i in range(len(rows.inputs)):
            value, g = gradient(w, jax.tree.map(lambda a, i=i: jnp.asarray(a[i]), rows))
            losses.append(float(value))
            counts.append(int((rows.targets[i] >= 0).sum()))
            step, kept = rule.update(g, kept, w)
            w = jax.tree.map(lambda p, s, f=factor: p + f * s, w, step)
        for a, b in zip(jax.tree.leaves(state.params), jax.tree.leaves(w), strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)
        assert facts["words"] == sum(counts) and facts["steps"] == len(counts)
        assert facts["loss"] == pytest.approx(np.average(losses, weights=counts), rel=1e-4)
        assert facts["lr"] == pytest.approx(config.lr * factor)


def test_every_step_of_every_round_has_a_key_of_its_own_and_rates_warm_up():
    def loss(w, batch, key):
        return w * jax.random.uniform(key), jnp.int32(1)

    config = CentralConfig(optimiser="sgd", lr=1.0, batch=8, steps=2, clip=0.0, warmup=2)
    trainer = central(lambda key: jnp.float32(0), loss, TEXT, config, seed=3, rounds=2)
    state, w, drawn = trainer.init(jax.random.key(0)), 0.0, set()
    for t, factor in enumerate([0.5, 1.0]):
        state, facts = trainer.round(state, t)
        keys = [jax.random.fold_in(jax.random.fold_in(jax.random.key(3), t), i) for i in range(2)]
        draws = [float(jax.random.uniform(key)) for key in keys]
        w, drawn = w - factor * sum(draws), drawn | set(draws)
        assert float(state.params) == pytest.approx(w, rel=1e-5) and facts["lr"] == factor
    assert len(drawn) == 4


def test_numbers_that_are_not_finite_stop_the_run():
    config = CentralConfig(optimiser="sgd", lr=1e38, batch=8, clip=0.0)
    trainer = central(MODEL.init, LOSS, TEXT, config, seed=0, rounds=3)
    with pytest.raises(TacitError, match=r"round 1: .*lower central\.lr"):
        trainer.round(trainer.init(jax.random.key(0)), 0)
