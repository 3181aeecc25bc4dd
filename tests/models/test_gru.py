"""The GRU language model against step-by-step formulas."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reference
from tacit.models import ModelConfig, base, count_parameters, language_model
from tacit.models.base import drop

V, D = 30, 8
LAYERS = {"common": reference.gru_common, "printed": reference.gru_printed}


def build(seed: int = 0, **options):
    config = ModelConfig(**({"embedding": D, "hidden": D} | options))
    model = language_model(config, V)
    return model, reference.shaken(jax.eval_shape(model.init, jax.random.key(0)), seed)


def both(model, params, tokens):
    return jax.jit(lambda p, t: (model.features(p, t, None), model.apply(p, t)))(params, tokens)


@pytest.mark.parametrize("variant", ["common", "printed"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"tied": False, "hidden": 5},
        {"tied": False, "hidden": 5, "layers": 2},
        {"layers": 2, "residual": True},
    ],
    ids=str,
)
def test_features_and_logits_follow_the_formulas(variant, options):
    model, params = build(variant=variant, **options)
    sentences = [[0, 5, 7, 3, 29], [0, 2, 2, 11, 4]]
    features, logits = both(model, params, jnp.array(sentences))
    for i, sentence in enumerate(sentences):
        x, scores = reference.sentence_logits(
            params, sentence, LAYERS[variant], "gru", residual=options.get("residual", False)
        )
        np.testing.assert_allclose(features[i], x, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(logits[i], scores, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("variant", ["common", "printed"])
def test_a_packed_row_gives_each_sentence_what_it_gets_alone(variant):
    model, params = build(variant=variant, layers=2)
    sentences = [[0, 5, 7], [0], [0, 4, 4, 8, 9], [0, 3]]
    row = jnp.array([[word for sentence in sentences for word in sentence]])
    together = np.asarray(jax.jit(model.features, static_argnums=2)(params, row, None))[0]
    at = 0
    for sentence in sentences:
        alone, _ = reference.sentence_logits(params, sentence, LAYERS[variant], "gru")
        np.testing.assert_allclose(together[at : at + len(sentence)], alone, rtol=1e-4, atol=1e-5)
        at += len(sentence)


def test_the_published_gru_has_as_many_parameters_as_a_count_by_hand():
    # tied, V words, D = 300: embedding, output bias, and 3 gates of (input + recurrent + two biases)
    for size in (300, 650):
        model = language_model(ModelConfig(embedding=size, hidden=size), 10_001)
        found = count_parameters(jax.eval_shape(model.init, jax.random.key(0)))
        assert found == 10_001 * size + 10_001 + 3 * (2 * size * size + 2 * size)
    printed = language_model(ModelConfig(embedding=4, hidden=6, tied=False, variant="printed"), V)
    found = count_parameters(jax.eval_shape(printed.init, jax.random.key(0)))
    assert found == V * 4 + V + 6 * V + 3 * (4 + 6) * 6


def test_initial_weights_are_small_bounded_and_all_float32():
    model = language_model(ModelConfig(embedding=D, hidden=16, tied=False), V)
    init = jax.jit(model.init)
    params = init(jax.random.key(3))
    assert {leaf.dtype for leaf in jax.tree.leaves(params)} == {jnp.dtype("float32")}
    assert 0.09 < np.abs(params["embedding"]).max() <= 0.1
    assert 0.2 < np.abs(params["gru0"]["recurrent"]).max() <= 0.25  # 1/√16
    different = init(jax.random.key(4))
    assert not np.array_equal(params["embedding"], different["embedding"])


def test_bfloat16_products_stay_close_and_do_differ():
    model, params = build()
    coarse, _ = build(precision="bfloat16")
    tokens = jnp.array([[0, 5, 7, 3, 29]])
    fine, rough = jax.jit(lambda p, t: (model.apply(p, t), coarse.apply(p, t)))(params, tokens)
    assert rough.dtype == jnp.float32
    difference = np.abs(fine - rough).max()
    assert 0 < difference < 0.03 * np.abs(fine).max()


def test_dropout_is_off_without_a_key_and_unbiased_with_one():
    model, params = build()
    dropping, _ = build(dropout=0.4)
    tokens = jnp.array([[0, 5, 7, 3, 29]])
    plain, off = jax.jit(lambda p, t: (model.apply(p, t), dropping.apply(p, t)))(params, tokens)
    np.testing.assert_array_equal(plain, off)
    with_key = jax.jit(dropping.apply)
    a, b = (with_key(params, tokens, jax.random.key(k)) for k in (0, 1))
    assert not np.allclose(a, b)
    np.testing.assert_array_equal(a, with_key(params, tokens, jax.random.key(0)))
    x = jnp.full(100_000, 2.0)
    dropped = np.asarray(drop(x, 0.4, jax.random.key(7), 0))
    assert set(np.unique(dropped)) == {np.float32(0), np.float32(2.0 / 0.6)}
    assert abs(dropped.mean() - 2.0) < 0.03  # four standard errors are 0.021
    other = np.asarray(drop(x, 0.4, jax.random.key(7), 1))
    assert 0.4 < np.mean((other > 0) == (dropped > 0)) < 0.62  # places in a model drop independently


def test_every_place_of_a_deep_model_drops_on_its_own(monkeypatch):
    seen = []
    monkeypatch.setattr(base, "drop", lambda x, rate, key, index: seen.append(index) or x)
    model, params = build(layers=3, dropout=0.4)
    model.features(params, jnp.array([[0, 5]]), jax.random.key(0))
    assert len(seen) == len(set(seen)) == 4
