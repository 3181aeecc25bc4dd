"""Cross-fitting: each half of the people chooses strategy and margin for the other half.

So a person's text has no part in the choice under which that person is reported. If a half has too few people,
everybody chooses for everybody.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from tacit.base.progress import Progress, no_progress
from tacit.personal import gate, strategies, sums, trial
from tacit.personal.strategies import Strategy
from tacit.personal.trial import Trial


class CrossFit(NamedTuple):
    """What each half chose, and what the gate did to the other."""

    chosen: list[Strategy]  # by each half
    by_halves: bool  # whether halves chose for one another; False: everybody for everybody
    halves: np.ndarray  # [users]
    margins: list[float]
    gate_totals: list[np.ndarray]  # totals of gate reports under each half's choice
    places: list[int]  # of the margin each half chose
    everybody: tuple[np.ndarray, int]  # totals and margin of everybody's choice: what to deploy
    accepted: np.ndarray  # [users] bool


def cross_fit(
    ready: Trial,
    totals: Mapping[Strategy, sums.DeviceReport],
    margin: float | None,
    seed: int,
    progress: Progress = no_progress,
) -> CrossFit:
    """Lets each half choose a strategy, and a margin unless one is given, and applies them to the other half."""
    ids = ready.users.ids
    halves = sums.half_of(ids, seed)
    by_halves = min(int((halves == h).sum()) for h in (0, 1)) >= strategies.LEAST_USERS
    chosen = [strategies.choose(totals, h if by_halves else None) for h in (0, 1)]
    looks = trial.look(ready, list(dict.fromkeys(chosen)), progress)
    margins = sorted({*gate.MARGINS, *([] if margin is None else [margin])})

    def place(gate_total: np.ndarray, half: int | None) -> int:
        return margins.index(margin) if margin is not None else gate.choose(gate_total, half)

    by_strategy = {s: gate.total(*looks[s], margins, seed) for s in looks}
    gate_totals = [by_strategy[s] for s in chosen]
    places = [place(gate_totals[h], h if by_halves else None) for h in (0, 1)]
    every = by_strategy.get(strategies.choose(totals), gate_totals[0])
    accepted = np.zeros(len(ids), bool)
    for h in (0, 1):
        passed = gate.level(looks[chosen[h]][0], margins) > places[h]
        accepted |= passed & (halves == 1 - h)
    everybody = (every, place(every, None))
    return CrossFit(chosen, by_halves, halves, margins, gate_totals, places, everybody, accepted)
