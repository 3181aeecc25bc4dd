"""Sentences packed several to a row train a model as one sentence to a row does."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from tacit.federated.objective import next_word_loss
from tacit.models import ModelConfig, language_model
from tacit.text.packed import Rows, batch_rows, pack

LENGTHS = (1, 9, 4, 6, 2, 8, 3)
_draw = np.random.default_rng(3)
SENTENCES = [np.array([0, *_draw.integers(2, 30, n), 1], np.int32) for n in LENGTHS]


def padded() -> Rows:
    """The obvious batch: every sentence in its own row, the rest empty."""
    inputs = np.zeros((len(SENTENCES), 20), np.int32)
    targets = np.full((len(SENTENCES), 20), -1, np.int32)
    for row, sentence in enumerate(SENTENCES):
        inputs[row, : len(sentence) - 1], targets[row, : len(sentence) - 1] = sentence[:-1], sentence[1:]
    return Rows(inputs, targets)


@pytest.mark.parametrize(
    "config",
    [
        ModelConfig("gru", 8, 8),
        ModelConfig("gru", 8, 8, variant="printed", layers=2, tied=False),
        ModelConfig("lstm", 8, 12, layers=2, layer_norm=True, residual=True),
    ],
    ids=["gru", "printed", "cifg"],
)
def test_packing_and_padding_are_the_same_training(config):
    text = pack([SENTENCES], ["ana"])
    packed, _ = batch_rows(text, np.arange(len(SENTENCES))[None], time=12)
    packed = jax.tree.map(lambda a: a[0], packed)
    assert packed.inputs.shape[0] < len(SENTENCES)  # or nothing was packed
    model = language_model(config, 30)
    params = model.init(jax.random.key(0))
    step = jax.jit(jax.value_and_grad(lambda p, rows: next_word_loss(model)(p, rows, None), has_aux=True))
    (loss, words), gradient = step(params, packed)
    (expected, count), wanted = step(params, padded())
    assert int(words) == int(count) == sum(LENGTHS) + len(LENGTHS)
    assert float(loss) == pytest.approx(float(expected), rel=1e-6)
    for found, right in zip(jax.tree.leaves(gradient), jax.tree.leaves(wanted), strict=True):
        scale = float(np.abs(right).max())
        assert scale > 1e-7  # or the comparison says nothing
        np.testing.assert_allclose(found, right, atol=1e-6 + 1e-5 * scale)
