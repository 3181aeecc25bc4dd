"""A model read word by word gives what it gives for whole sentences."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reference
from tacit.models import ModelConfig, language_model

V = 12
MODELS = {
    "gru": ModelConfig(embedding=6, hidden=6, layers=2, residual=True, dropout=0.3),
    "printed": ModelConfig(embedding=6, hidden=5, tied=False, variant="printed"),
    "cifg": ModelConfig(kind="lstm", embedding=6, hidden=10, layer_norm=True, layers=2, residual=True),
    "groups": ModelConfig(kind="lstm", embedding=6, hidden=9, coupled=False, groups=3, layer_norm=True),
}


@pytest.mark.parametrize("name", MODELS)
def test_steps_give_the_features_of_whole_sentences(name):
    model = language_model(MODELS[name], V)
    params = reference.shaken(jax.eval_shape(model.init, jax.random.key(0)), 3)
    tokens = np.random.default_rng(0).integers(1, V, (3, 9))
    tokens[:, 0] = 0
    tokens[1, 4] = 0  # a new sentence in the middle
    whole = jax.jit(lambda p, t: model.features(p, t, None))(params, jnp.asarray(tokens))
    step = jax.jit(model.step)
    state = None
    for i in range(tokens.shape[1]):
        state, found = step(params, state, jnp.asarray(tokens[:, i]))
        np.testing.assert_allclose(found, whole[:, i], rtol=1e-5, atol=1e-5)


def test_the_state_matters_until_a_sentence_starts():
    model = language_model(MODELS["cifg"], V)
    params = reference.shaken(jax.eval_shape(model.init, jax.random.key(0)), 3)
    one, _ = model.step(params, None, jnp.array([0]))
    two, _ = model.step(params, one, jnp.array([5]))
    word, start = jnp.array([7]), jnp.array([0])
    assert not np.allclose(model.step(params, one, word)[1], model.step(params, two, word)[1], atol=1e-3)
    np.testing.assert_array_equal(model.step(params, one, start)[1], model.step(params, two, start)[1])
