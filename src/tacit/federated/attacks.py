"""Hostile clients in the simulator, to try rules and checks with: the table [attack] of a configuration.

    sign-flip    the client sends −c Δ instead of its update Δ
    scaled       it sends c Δ
    nan          it sends numbers that are not finite
    label-flip   it trains on wrong targets: of V words, word V − 1 − y instead of word y
    backdoor     every second row of its batches holds nothing but a planted phrase, again and again

c is `attack.scale`. It also multiplies what label-flip and backdoor send, as an attacker does who wants to outweigh the
others. A share of the population attacks, the same people in every round. They report honest losses and weights, and
their moments, if any travel, are those of their training.

Attacks change a cohort's batches or set `Cohort.factor`; programs of runs without an attack are as if this module did
not exist. An attacker multiplies before anything that the client's side would do for protection, so a clip of the
update counts as enforced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tacit.base.errors import TacitError
from tacit.base.randomness import stream, uniform
from tacit.base.settings import number
from tacit.federated.local import Cohort
from tacit.text.packed import Rows
from tacit.text.vocabulary import BOS

_ATTACK = stream("attackers")


@dataclass(frozen=True)
class AttackConfig:
    """Which clients attack, and how: the table [attack] of a configuration."""

    kind: Literal["none", "sign-flip", "scaled", "label-flip", "backdoor", "nan"] = "none"
    share: float = number(0.2, 0, 1)  # of the population
    scale: float = number(1.0, 0)  # factor on an attacker's update
    phrase: str = ""  # backdoor: the trigger and, as its last word, the planted word


def check(config: AttackConfig) -> None:
    """Refuses keys that contradict one another or would do nothing.

    >>> check(AttackConfig(kind="scaled"))
    Traceback (most recent call last):
    tacit.base.errors.TacitError: attack.kind = 'scaled' with attack.scale = 1 changes nothing; set attack.scale
    """
    usual, kind = AttackConfig(), config.kind
    if kind == "scaled" and config.scale == 1:
        raise TacitError("attack.kind = 'scaled' with attack.scale = 1 changes nothing; set attack.scale")
    if kind == "backdoor" and len(config.phrase.split()) < 2:
        raise TacitError(
            "attack.kind = 'backdoor' needs attack.phrase, a trigger and the planted word after it, for example "
            "'see you at the bank'"
        )
    idle = {
        "attack.share": (config.share != usual.share and kind == "none", "an attack.kind"),
        "attack.scale": (config.scale != 1 and kind in ("none", "nan"), "another attack.kind"),
        "attack.phrase": (config.phrase != "" and kind != "backdoor", "attack.kind = 'backdoor'"),
    }
    for key, (useless, needs) in idle.items():
        if useless:
            raise TacitError(f"{key} would do nothing here: it needs {needs}; remove it or set that")


def attackers(config: AttackConfig, population: int, seed: int) -> np.ndarray:
    """Returns who attacks, [population] bool: exactly the share, drawn by the seed.

    >>> int(attackers(AttackConfig("nan", share=0.2), 50, seed=3).sum())
    10
    """
    hostile = np.zeros(population, bool)
    drawn = np.argsort(uniform(seed, _ATTACK, np.arange(population)), kind="stable")
    hostile[drawn[: round(config.share * population)]] = True
    return hostile


def attack(
    config: AttackConfig, population: int, seed: int, vocabulary: int, phrase: Sequence[int] = ()
) -> Callable[[Cohort], Cohort]:
    """Returns what an attack makes of a cohort of text; `phrase` are the ids `<s> … </s>` of a backdoor's phrase."""
    if config.kind == "none":
        return lambda cohort: cohort
    hostile = attackers(config, population, seed)
    factor = {"sign-flip": -config.scale, "nan": np.nan}.get(config.kind, config.scale)

    def attacked(cohort: Cohort) -> Cohort:
        who = hostile[np.asarray(cohort.ids)]  # [clients] bool
        batches = cohort.batches
        if config.kind == "label-flip":
            batches = _flipped(batches, who, vocabulary)
        if config.kind == "backdoor":
            real = who[:, None] & (np.arange(batches.targets.shape[1]) < np.asarray(cohort.steps)[:, None])
            batches = _planted(batches, real, np.asarray(phrase))
        return cohort._replace(batches=batches, factor=np.where(who, factor, 1.0).astype(np.float32))

    return attacked


def _flipped(batches: Rows, who: np.ndarray, vocabulary: int) -> Rows:
    targets = np.asarray(batches.targets)
    theirs = who[:, None, None, None] & (targets >= 0)  # [clients, steps, rows, time]
    return batches._replace(targets=np.where(theirs, vocabulary - 1 - targets, targets))


def _planted(batches: Rows, steps: np.ndarray, phrase: np.ndarray) -> Rows:
    """Returns batches with the phrase in rows 0, 2, … of these steps ([clients, steps] bool), as often as it fits."""
    time, cells = batches.targets.shape[-1], len(phrase) - 1
    if cells > time:
        raise TacitError(
            f"attack.phrase takes {cells} cells and a row of a batch has {time}; shorten it, or set text.max_words"
        )
    inputs, targets = np.full(time, BOS, np.int32), np.full(time, -1, np.int32)
    full = time // cells * cells
    inputs[:full], targets[:full] = (np.tile(part, time // cells) for part in (phrase[:-1], phrase[1:]))
    rows = steps[:, :, None, None] & (np.arange(batches.targets.shape[2]) % 2 == 0)[:, None]
    return Rows(np.where(rows, inputs, batches.inputs), np.where(rows, targets, batches.targets))
