"""The keyboard LSTM against step-by-step formulas and the sizes papers 4 and 5 print."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reference
from tacit.base.errors import TacitError
from tacit.models import ARCHITECTURES, ModelConfig, architecture, count_parameters, language_model

V = 30
SENTENCES = [[0, 5, 7, 3, 29], [0, 2, 2, 11, 4]]


def build(**options):
    config = ModelConfig(**({"kind": "lstm", "embedding": 4, "hidden": 6} | options))
    model = language_model(config, V)
    return config, model, reference.shaken(jax.eval_shape(model.init, jax.random.key(0)), 1)


def by_hand(config, params, sentence):
    def layer(w, xs):
        return reference.lstm_layer(w, xs, config.coupled, config.groups, config.layer_norm)

    return reference.sentence_logits(params, sentence, layer, "lstm", config.residual)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"coupled": False},
        {"layer_norm": True},
        {"groups": 2},
        {"coupled": False, "groups": 2, "layer_norm": True, "layers": 2, "residual": True},
        {"layer_norm": True, "layers": 2, "residual": True, "precision": "float32"},
    ],
    ids=str,
)
def test_features_and_logits_follow_the_formulas(options):
    config, model, params = build(**options)
    run = jax.jit(lambda p, t: (model.features(p, t, None), model.apply(p, t)))
    features, logits = run(params, jnp.array(SENTENCES))
    assert features.shape == (2, 5, config.embedding)  # projected back to the embedding's size
    for i, sentence in enumerate(SENTENCES):
        x, scores = by_hand(config, params, sentence)
        np.testing.assert_allclose(features[i], x, rtol=2e-4, atol=2e-5)
        np.testing.assert_allclose(logits[i], scores, rtol=2e-4, atol=2e-5)


def test_a_packed_row_gives_each_sentence_what_it_gets_alone():
    config, model, params = build(layer_norm=True, layers=2, residual=True, coupled=False, groups=2)
    sentences = [[0, 5, 7], [0], [0, 4, 4, 8, 9], [0, 3]]
    row = jnp.array([[word for sentence in sentences for word in sentence]])
    together = np.asarray(jax.jit(model.features, static_argnums=2)(params, row, None))[0]
    at = 0
    for sentence in sentences:
        alone, _ = by_hand(config, params, sentence)
        np.testing.assert_allclose(together[at : at + len(sentence)], alone, rtol=2e-4, atol=2e-5)
        at += len(sentence)


def parameters(config: ModelConfig, vocabulary: int) -> int:
    model = language_model(config, vocabulary)
    return count_parameters(jax.eval_shape(model.init, jax.random.key(0)))


@pytest.mark.parametrize(
    ("name", "vocabulary", "layers", "hidden", "embedding", "in_embedding", "in_total"),
    [  # paper 4, Table 2, in millions
        ("W30K", 30_312, 1, 670, 96, 2.91, 3.40),
        ("P4K-S", 4_000, 1, 670, 96, 0.38, 0.85),
        ("P4K-L", 4_000, 2, 1080, 140, 0.56, 2.70),
        ("P4K-G", 4_000, 2, 1080, 280, 1.12, 2.71),
        ("P16K-S", 16_000, 1, 670, 96, 1.54, 2.00),
        ("P16K-L", 16_000, 1, 670, 160, 2.56, 3.33),
        ("P30K", 30_312, 1, 670, 96, 2.91, 3.40),
    ],
)
def test_sizes_of_paper_4_table_2(name, vocabulary, layers, hidden, embedding, in_embedding, in_total):
    config = architecture(name)
    assert (config.layers, config.hidden, config.embedding) == (layers, hidden, embedding)
    assert vocabulary * config.embedding / 1e6 == pytest.approx(in_embedding, abs=0.01)
    assert parameters(config, vocabulary) / 1e6 == pytest.approx(in_total, abs=0.01)
    assert config.layer_norm and config.residual and config.tied
    if name == "P4K-G":
        assert config.groups == 5
    else:
        e, h = embedding, hidden
        assert parameters(config, vocabulary) == vocabulary * (e + 1) + layers * (
            6 * h * e + 3 * h + h * e + 8 * h
        )


def test_gboard_is_one_point_four_million():
    assert parameters(architecture("gboard"), 10_000) / 1e6 == pytest.approx(1.4, abs=0.05)


def test_groups_keep_one_kth_of_the_gate_weights():
    whole = ModelConfig(kind="lstm", embedding=20, hidden=40)
    cut = ModelConfig(kind="lstm", embedding=20, hidden=40, groups=5)
    weights = 2 * 20 * 3 * 40
    assert parameters(whole, V) - parameters(cut, V) == weights - weights // 5


def test_an_unknown_architecture_is_named_with_its_neighbour():
    with pytest.raises(TacitError, match=r"P4K-X.*did you mean 'P4K-"):
        architecture("P4K-X")
    assert "gboard" in ARCHITECTURES
