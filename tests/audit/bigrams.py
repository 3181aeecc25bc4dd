"""A language model that sees one word: it compiles at once, and what it knows can be written down."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from tacit.models import ModelConfig
from tacit.models.base import LanguageModel


def bigrams(vocabulary: int) -> LanguageModel:
    """The logits of the next word are the row of the word in `table`, plus `output_bias`."""

    def init(key: jax.Array) -> dict[str, jax.Array]:
        table = 0.1 * jax.random.normal(key, (vocabulary, vocabulary))
        return {"output_bias": jnp.zeros(vocabulary), "table": table}

    return LanguageModel(
        ModelConfig(),
        init,
        lambda params, tokens, key: params["table"][tokens],
        lambda params: (jnp.eye(vocabulary), params["output_bias"]),
        lambda params, state, tokens: (state, params["table"][tokens]),
    )
