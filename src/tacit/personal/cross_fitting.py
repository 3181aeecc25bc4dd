"""Lets each half of the people choose strategy and margin for the other half: cross-fitting.

So a person's text has no part in the choices under which that person is reported. If a half has too few people,
everybody chooses for everybody. Only sums over people are used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tacit.personal import gate, strategies, sums
from tacit.personal.strategies import Strategy

# (strategies, margins) → the sum of everybody's reports to the gate, for each strategy
GateTotals = Callable[[Sequence[Strategy], Sequence[float]], Mapping[Strategy, np.ndarray]]


class CrossFit(NamedTuple):
    """Holds what each half chose, and the effect of the gate on the other half."""

    chosen: list[Strategy]  # by each half
    by_halves: bool  # whether halves chose for one another; False: everybody for everybody
    margins: list[float]
    gate_totals: list[np.ndarray]  # totals of gate reports under each half's choice
    places: list[int]  # of the margin each half chose
    everybody: tuple[np.ndarray, int]  # totals and margin of everybody's choice: what to deploy

    @property
    def accepted(self) -> int:
        """How many people get a personal model, by the sums."""
        return int(gate.effect_sums(gate.reported(self.gate_totals, self.places))["accepted"])


def cross_fit(
    totals: Mapping[Strategy, sums.DeviceReport],
    in_halves: Sequence[int],
    margin: float | None,
    gate_totals: GateTotals,
) -> CrossFit:
    """Lets each half choose a strategy, and a margin unless one is given, and applies them to the other half.

    `in_halves` are the numbers of people in the halves.
    """
    by_halves = min(in_halves) >= strategies.LEAST_USERS
    chosen = [strategies.choose(totals, h if by_halves else None) for h in (0, 1)]
    margins = sorted({*gate.MARGINS, *([] if margin is None else [margin])})
    by_strategy = gate_totals(list(dict.fromkeys(chosen)), margins)

    def place(gate_total: np.ndarray, half: int | None) -> int:
        return margins.index(margin) if margin is not None else gate.choose(gate_total, half)

    gate_sums = [by_strategy[s] for s in chosen]
    places = [place(gate_sums[h], h if by_halves else None) for h in (0, 1)]
    every = by_strategy.get(strategies.choose(totals), gate_sums[0])
    everybody = (every, place(every, None))
    return CrossFit(chosen, by_halves, margins, gate_sums, places, everybody)


def who_is_accepted(
    gated: CrossFit,
    looks: Mapping[Strategy, tuple[sums.Outcome, sums.Outcome]],
    halves: np.ndarray,
    condition: gate.Condition = gate.ANYBODY,
) -> np.ndarray:
    """Returns who gets a personal model, [users] bool, which each device decides for itself; `halves` [users]."""
    accepted = np.zeros(len(halves), bool)
    for h in (0, 1):
        passed = gate.level(looks[gated.chosen[h]][0], gated.margins, condition) > gated.places[h]
        accepted |= passed & (halves == 1 - h)
    return accepted
