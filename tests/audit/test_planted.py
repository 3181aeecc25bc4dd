"""Planted phrases: where they lie in the text, and what a model that knows some of them shows."""

from __future__ import annotations

import numpy as np
from tests.audit.bigrams import bigrams

from tacit.audit.planted import Planting, as_text, extracted, phrases, plant, remembered
from tacit.federated.evaluation import scorer
from tacit.text.packed import pack


def test_phrases_are_added_to_as_many_clients_as_often() -> None:
    rng = np.random.default_rng(0)
    text = pack([[np.array([0, 3, 1])] * (c + 1) for c in range(8)], [str(c) for c in range(8)])
    secret = np.stack([phrases(2, 50, rng), phrases(2, 50, rng)])
    plantings = [Planting(1, 3), Planting(4, 2)]
    planted = plant(text, secret, plantings, rng)
    sentences = [tuple(t) for t in np.split(planted.tokens, planted.offsets[1:-1])]
    owner = np.repeat(np.arange(8), planted.sizes)
    for planting, several in zip(plantings, secret, strict=True):
        for phrase in several:
            holders = owner[[s == (0, *phrase, 1) for s in sentences]]
            assert (
                sorted(np.unique(holders, return_counts=True)[1].tolist())
                == [planting.copies] * planting.users
            )
    for c in range(8):  # everybody keeps what they had, first
        mine = [s for s, o in zip(sentences, owner, strict=True) if o == c]
        assert mine[: c + 1] == [(0, 3, 1)] * (c + 1)


def test_a_model_that_knows_a_phrase_shows_it_and_no_other() -> None:
    """A model of bigrams that knows one phrase: first place and extracted; another phrase has neither."""
    rng = np.random.default_rng(1)
    model, secret = bigrams(40), np.array([[[5, 9, 30, 12, 21]], [[7, 11, 4, 33, 18]]])
    table = np.zeros((40, 40), np.float32)
    for before, word in zip([0, 5, 9, 30, 12, 21], [5, 9, 30, 12, 21, 1], strict=True):
        table[before, word] = 9.0
    params = {"output_bias": np.zeros(40, np.float32), "table": table}
    plantings = [Planting(1, 1), Planting(2, 1)]
    seen, unseen = remembered(model, scorer(model), params, secret, plantings, phrases(300, 40, rng))
    assert (seen.exposure, seen.extracted) == (np.log2(300), 1.0)
    assert unseen.exposure < 6 and unseen.extracted == 0.0
    half = secret[0].copy()
    half[0, -1] = 22  # all but its last word: no extraction
    assert extracted(model, params, np.concatenate([secret[0], half])).tolist() == [True, False]
    by_hand = 6 * (np.log(np.exp(9.0) + 39) - 9)  # every step has one likely word and 39 others
    assert np.isclose(scorer(model)(params, as_text(secret[0])).nll[0], by_hand, rtol=1e-4)
