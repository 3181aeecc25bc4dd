"""Prepares the attack of a run, with the planted phrase in the run's words, and measures its success.

`tacit.federated.attacks` defines the attacks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tacit.base.errors import TacitError
from tacit.federated.attacks import attack, attackers
from tacit.federated.local import Cohort
from tacit.models import LanguageModel
from tacit.models.base import Params
from tacit.runs.config import Config
from tacit.text.encode import splitter
from tacit.text.prepare import Prepared
from tacit.text.vocabulary import UNK


def attack_of(config: Config, ready: Prepared) -> Callable[[Cohort], Cohort]:
    """Returns the function by which a configuration's attack changes a cohort; without an attack it changes nothing."""
    phrase = planted_phrase(config, ready) if config.attack.kind == "backdoor" else np.zeros(0, np.int32)
    return attack(config.attack, len(ready.clients), config.seed, len(ready.vocabulary), phrase.tolist())


def planted_phrase(config: Config, ready: Prepared) -> np.ndarray:
    """Returns the ids of `attack.phrase`, `<s> … </s>`; the model must know its words, and its rows have room."""
    if ready.spelling:
        raise TacitError("attack.kind = 'backdoor' plants words, and text.pieces splits them; leave one out")
    words = splitter(config.text.case == "lower", False, config.text.locale)(config.attack.phrase)
    ids = ready.vocabulary.encode(words)
    for word, number in zip(words, ids[1:].tolist(), strict=False):
        if number == UNK:
            raise TacitError(
                f"attack.phrase: '{word}' is not in the vocabulary of {len(ready.vocabulary):,} words; choose another"
            )
    if len(words) < 2 or len(ids) - 1 > ready.clients.longest:
        raise TacitError(
            f"attack.phrase has {len(words)} words; it needs 2 to {ready.clients.longest - 1}, as a sentence has"
        )
    return ids


def figures(config: Config, model: LanguageModel, params: Params, ready: Prepared) -> dict[str, Any]:
    """Returns the figures of a run's attack for its summary.

    For a backdoor: the probability of the planted word after the trigger at the start of a message, and its rank.
    """
    given = config.attack
    hostile = attackers(given, len(ready.clients), config.seed)
    record = {"kind": given.kind, "share": given.share, "scale": given.scale, "attackers": int(hostile.sum())}
    if given.kind != "backdoor":
        return record
    *trigger, word = planted_phrase(config, ready)[:-1].tolist()
    scores = model.apply(params, jnp.array([trigger], jnp.int32))[0, -1]
    p = np.asarray(jax.nn.softmax(scores))
    rank = int(np.sum(p > p[word])) + 1
    return {**record, "phrase": given.phrase, "planted_probability": float(p[word]), "planted_rank": rank}
