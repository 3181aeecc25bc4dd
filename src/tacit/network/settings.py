"""Prepares the configuration that clients get, and refuses settings that do not work over a network."""

from __future__ import annotations

import dataclasses

import numpy as np

from tacit.base.errors import TacitError
from tacit.base.settings import dump
from tacit.federated.arrivals import BufferConfig
from tacit.runs.config import Config
from tacit.text.prepare import CLIENTS
from tacit.text.vocabulary import Vocabulary


def config_text(config: Config) -> str:
    """Returns the configuration that clients get: everything except paths on the server and the privacy budget."""
    text = dataclasses.replace(config.text, corpus=CLIENTS, words="", fingerprint="")
    privacy = dataclasses.replace(config.privacy, plan="", epsilon=0.0)
    return dump(dataclasses.replace(config, text=text, privacy=privacy))


def words_array(words: Vocabulary) -> np.ndarray:
    """Returns the words of a model as bytes, one word a line."""
    return np.frombuffer("\n".join(words.words).encode(), np.uint8)


def check_config(config: Config) -> None:
    """Refuses settings that clients on a network cannot follow."""
    refused = {
        "training.mode": config.training.mode != "federated",
        "text.pieces": bool(config.text.pieces),
        "text.protocol": config.text.protocol != "plain",
        "sampling.scheme": config.sampling.scheme != "uniform",
        "sampling.dropout": bool(config.sampling.dropout),
        "availability.model": config.availability.model != "always",
        "client.stragglers": bool(config.client.stragglers),
        "buffer.time": config.buffer.time != BufferConfig().time,
        "buffer.spread": bool(config.buffer.spread),
        "attack.kind": config.attack.kind != "none",
        # a client adds no noise of its own: the server would get its message as it is
        "privacy.mechanism": config.privacy.mechanism == "local",
        "client.batching": config.client.batching != "sentences",
    }
    for key, is_refused in refused.items():
        if is_refused:
            table, _, name = key.partition(".")
            value = getattr(getattr(config, table), name)
            raise TacitError(
                f"{key} = {value!r} works in the simulator only; choose another value or remove it"
            )
