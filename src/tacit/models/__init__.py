"""Models as pure functions: `init(key) -> params`, `apply(params, inputs) -> logits`.

Models are independent of training and data. A language model also exposes its two halves, the features of every
position and the logits from features, so that a loss can compute the large vocabulary product in its own way.
"""

from __future__ import annotations

import dataclasses

from tacit.base.errors import TacitError, nearest
from tacit.models.base import LanguageModel, ModelConfig, count_parameters
from tacit.models.gru import gru
from tacit.models.lstm import lstm

# Paper 4, Table 2 (layers, hidden units, embedding), and Gboard's model of paper 5, section 6.1.
_CIFG = ModelConfig(kind="lstm", layer_norm=True, residual=True, embedding=96, hidden=670)
ARCHITECTURES: dict[str, ModelConfig] = {
    "gboard": ModelConfig(kind="lstm", embedding=96, hidden=670),
    "W30K": _CIFG,
    "P4K-S": _CIFG,
    "P4K-L": dataclasses.replace(_CIFG, layers=2, hidden=1080, embedding=140),
    "P4K-G": dataclasses.replace(_CIFG, layers=2, hidden=1080, embedding=280, coupled=False, groups=5),
    "P16K-S": _CIFG,
    "P16K-L": dataclasses.replace(_CIFG, embedding=160),
    "P30K": _CIFG,
    "gru-small": ModelConfig(embedding=300, hidden=300),
    "gru-medium": ModelConfig(embedding=650, hidden=650),
    "gru-large": ModelConfig(embedding=1500, hidden=1500),
}


def architecture(name: str) -> ModelConfig:
    """Returns the configuration of a published model by name.

    >>> architecture("W30K").hidden
    670
    """
    if name not in ARCHITECTURES:
        raise TacitError(f"no architecture '{name}'{nearest(name, ARCHITECTURES)}")
    return ARCHITECTURES[name]


def check(config: ModelConfig) -> None:
    """Raises a `TacitError` for settings that contradict each other."""
    if config.kind == "gru" and config.tied and config.hidden != config.embedding:
        raise TacitError(
            f"model.tied needs model.hidden = model.embedding for a GRU, not {config.hidden} and "
            f"{config.embedding}; make them equal or set model.tied=false"
        )
    for key, given, belongs in (
        ("variant", config.variant != "common", "gru"),
        ("tied", not config.tied, "gru"),  # the LSTM projects to its embedding
        ("groups", config.groups > 1, "lstm"),
        ("layer_norm", config.layer_norm, "lstm"),
        ("coupled", not config.coupled, "lstm"),
    ):
        if given and config.kind != belongs:
            value = str(getattr(config, key)).lower()
            raise TacitError(
                f"model.{key} = {value} is for model.kind = '{belongs}', not '{config.kind}'; remove it"
            )
    if config.embedding % config.groups or config.hidden % config.groups:
        raise TacitError(f"model.groups = {config.groups} must divide model.embedding and model.hidden")


def language_model(config: ModelConfig, vocabulary: int) -> LanguageModel:
    """Returns the model of a configuration, for a vocabulary of that many words.

    >>> import jax
    >>> model = language_model(architecture("gboard"), 10_000)
    >>> round(count_parameters(jax.eval_shape(model.init, jax.random.key(0))) / 1e6, 1)
    1.4
    """
    check(config)
    return {"gru": gru, "lstm": lstm}[config.kind](config, vocabulary)


__all__ = [
    "ARCHITECTURES",
    "LanguageModel",
    "ModelConfig",
    "architecture",
    "count_parameters",
    "language_model",
]
