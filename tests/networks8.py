"""Small networks of every kind, in the 8-bit file."""

from __future__ import annotations

from pathlib import Path

import jax
import numpy as np

from tacit.lm.network8 import writer
from tacit.models import ModelConfig, language_model
from tacit.text.vocabulary import SPECIALS, Vocabulary

WORDS = ("to", "be", "bee", "Bee", "été", "or", "not", "don't", "🙂", "zoo", "日本", "日", "a", "ab", "b")
KINDS = {
    "gru": ModelConfig(hidden=16, embedding=16),
    "gru printed, 2 layers": ModelConfig(hidden=12, embedding=12, variant="printed", layers=2),
    "gru untied, residual": ModelConfig(hidden=10, embedding=16, tied=False, layers=2, residual=True),
    "lstm": ModelConfig(kind="lstm", hidden=20, embedding=12),
    "lstm own forget gate": ModelConfig(kind="lstm", hidden=20, embedding=12, coupled=False),
    "lstm groups": ModelConfig(kind="lstm", hidden=20, embedding=10, coupled=False, groups=5, layers=2),
}


def vocabulary(size: int) -> Vocabulary:
    return Vocabulary((*SPECIALS, *WORDS, *(f"w{i * 7919 % 100_003}" for i in range(size)))[:size])


def network(config: ModelConfig, size: int = 40) -> tuple[Vocabulary, dict]:
    """Weights of all sizes; biases and gains are not 0 and 1."""
    draw = np.random.default_rng(1)
    shapes = jax.eval_shape(language_model(config, size).init, jax.random.key(1))
    return vocabulary(size), jax.tree.map(lambda x: draw.normal(0.1, 0.4, x.shape).astype(np.float32), shapes)


def saved(path: Path, config: ModelConfig, size: int = 40, **facts: object) -> Path:
    words, params = network(config, size)
    writer.write(path, words, config, params, name="test", **facts)  # type: ignore[arg-type]
    return path
