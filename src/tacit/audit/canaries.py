"""One-shot empirical ε: can an attacker who sees every released model tell who took part?

A thousand made-up clients, the canaries, each have a random direction of their own as update, as long as the clip
allows. A coin decides for each whether it takes part. The run's mechanism makes its rounds (`mechanism`), and the
attacker, who knows the directions, scores each canary by how far the released models moved along its direction
(Andrew et al. 2024, *One-shot empirical privacy estimation for federated learning*). `guessing` turns the scores into a
lower bound on ε that holds at the stated confidence.

The bound cannot exceed the ε that the ledger claims, unless the mechanism does something else than it claims. It may
be far below: guesses can only refute.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tacit.audit import mechanism
from tacit.audit.guessing import lower_bound
from tacit.federated.algorithm import Algorithm
from tacit.privacy.ledger import Release


class Guessed(NamedTuple):
    """What the attacker found out."""

    epsilon: float  # lower bound
    confidence: float
    canaries: int
    guesses: int
    right: int
    rounds: int
    releases: list[Release]  # of the trial, from which the claimed ε is computed


def guessed(
    algorithm: Algorithm,
    population: int,
    rounds: int,
    seed: int,
    canaries: int = 1000,
    confidence: float = 0.999,
) -> Guessed:
    """Plays the game once with the mechanism of an algorithm."""
    canaries = min(canaries, population)
    simple = mechanism.simplified(algorithm)
    clip = simple.privacy.clip or 1.0
    directions = mechanism.directions(canaries, seed)
    coins = np.random.default_rng([seed, 1]).random(canaries) < 0.5
    trial = mechanism.run(simple, np.float32(clip) * directions, coins, population, rounds, seed)
    scores = directions.astype(np.float64) @ trial.changes.sum(axis=0)
    delta = simple.privacy.delta if simple.privacy.private else 0.0
    shown = lower_bound(scores, coins, delta, confidence)
    return Guessed(shown.epsilon, confidence, canaries, shown.guesses, shown.right, rounds, trial.releases)
