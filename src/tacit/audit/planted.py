"""Planted phrases: does the trained model remember what few people typed? (Carlini et al. 2019, *The secret sharer*)

A phrase is five words drawn at random, so no model knows it unless somebody typed it. It is put into the text of a few
clients, several times each, and the configuration of the run is trained on that text. Then two questions are asked:

- **Exposure**: among R other random phrases, at which place does the model put the planted one? log₂R − log₂ place:
  0 to 2 is what chance gives, log₂R (13.3 for R = 10,000) is the first place.
- **Extraction**: given its first two words, does the model's first suggestion continue with the other three?
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from tacit.federated.evaluation import Scorer
from tacit.models import LanguageModel
from tacit.models.base import Params
from tacit.text.flat import ends
from tacit.text.packed import Packed, pack
from tacit.text.vocabulary import BOS, EOS, UNK

WORDS = 5
PREFIX = 2
REFERENCES = 10_000


class Planting(NamedTuple):
    """How often a phrase was typed."""

    users: int
    copies: int  # by each


class Remembered(NamedTuple):
    """What the model knows of the phrases of one planting, over several phrases."""

    planting: Planting
    exposure: float  # mean
    extracted: float  # share of phrases


def phrases(count: int, vocabulary: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Returns random phrases, [count, WORDS] ids of words."""
    return rng.integers(UNK + 1, vocabulary, (count, WORDS))


def plant(
    text: Packed, secret: NDArray[np.int64], plantings: Sequence[Planting], rng: np.random.Generator
) -> Packed:
    """Returns the text with phrases added: `secret` [plantings, phrases, WORDS]; users are drawn for each phrase."""
    added: list[list[NDArray[np.int32]]] = [[] for _ in range(len(text))]
    for planting, several in zip(plantings, secret, strict=True):
        for phrase in several:
            sentence = np.array([BOS, *phrase, EOS], np.int32)
            for user in rng.choice(len(text), planting.users, replace=False):
                added[user] += [sentence] * planting.copies
    extra = pack(added, text.names)
    both = Packed(
        np.concatenate([text.tokens, extra.tokens]),
        np.concatenate([text.offsets, text.offsets[-1] + extra.offsets[1:]]),
        text.owners,
        text.names,
    )
    order = [
        np.concatenate(
            [
                np.arange(text.owners[c], text.owners[c + 1]),
                text.owners[-1] + np.arange(extra.owners[c], extra.owners[c + 1]),
            ]
        )
        for c in range(len(text))
    ]
    return both.take(np.concatenate(order), ends(text.sizes + extra.sizes), text.names)


def as_text(several: NDArray[np.int64]) -> Packed:
    """Returns phrases [count, WORDS] as a text of one client."""
    return pack([[np.array([BOS, *phrase, EOS], np.int32) for phrase in several]], ["phrases"])


def remembered(
    model: LanguageModel,
    score: Scorer,
    params: Params,
    secret: NDArray[np.int64],
    plantings: Sequence[Planting],
    references: NDArray[np.int64],
) -> list[Remembered]:
    """Returns what a model knows of the phrases of each planting."""
    others = np.sort(score(params, as_text(references)).nll)
    known = []
    for planting, several in zip(plantings, secret, strict=True):
        place = 1 + np.searchsorted(others, score(params, as_text(several)).nll)
        exposure = np.log2(len(others)) - np.log2(np.minimum(place, len(others)))
        known.append(
            Remembered(planting, float(exposure.mean()), float(extracted(model, params, several).mean()))
        )
    return known


def extracted(model: LanguageModel, params: Params, several: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Returns for each phrase whether the first suggestions after its first two words are the other three.

    A wrong suggestion ends it, so each is asked after the phrase's own words.
    """
    inputs = np.concatenate([np.full((len(several), 1), BOS), several[:, :-1]], axis=1)
    logits = np.asarray(model.apply(params, jnp.asarray(inputs, jnp.int32)))
    first = logits[..., UNK + 1 :].argmax(-1) + UNK + 1  # suggestions are words
    return np.asarray((first == several)[:, PREFIX:].all(axis=1))


def fitting(plantings: Sequence[Planting], clients: int) -> list[Planting]:
    """Returns the plantings that so many clients can hold."""
    return [p for p in plantings if p.users <= max(1, clients // 4)]
