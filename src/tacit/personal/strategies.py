"""Defines strategies of personalisation, and chooses one from other people's totals.

A strategy (paper 3, section 3.3) is the part that is tuned, batches of B sentences at rate L, and what the personal
model is mixed with. The grid over B and L is Table 1. `by text` gives each person a rate by their amount of text, as
Figure 3 suggests. The best rate of each slice is read off the grid's totals, so it costs no training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tacit.personal.mixing import ALONE, Mix
from tacit.personal.sums import (
    FIGURES,
    TOKEN_EDGES,
    DeviceReport,
    Figures,
    empty_report,
    figures,
    of_half,
    overall,
)

LEAST_USERS = 5  # people of the choosing half that a slice needs for its own rate


@dataclass(frozen=True)
class Strategy:
    """Describes one way to personalise."""

    batch: int  # B
    rates: tuple[float, ...]  # L: one for everybody, or one for each slice of tokens
    part: str = "all"  # see tacit.personal.model_parts
    mix: Mix = ALONE

    @property
    def name(self) -> str:
        """The strategy in a few words.

        >>> Strategy(5, (0.1,), "bias", Mix(0.75)).name
        'bias, B 5, L 0.1, 75% personal'
        """
        rate = f"L {self.rates[0]:g}" if len(self.rates) == 1 else "L by text"
        words = [f"B {self.batch}", rate]
        if self.part != "all":
            words.insert(0, self.part)
        if self.mix != ALONE:
            words.append(f"{self.mix.personal:.0%} personal")
            if self.mix.cache:
                words.append(f"{self.mix.cache:.0%} cache")
        return ", ".join(words)


Totals = Mapping[Strategy, DeviceReport]


def grid(batches: Sequence[int], rates: Sequence[float]) -> list[Strategy]:
    """Returns the grid of Table 1: every B with every L."""
    return [Strategy(b, (rate,)) for b in batches for rate in rates]


def slice_of(tokens: np.ndarray) -> np.ndarray:
    """Returns the slice of tokens that each person belongs to, [users]."""
    return np.searchsorted(TOKEN_EDGES, tokens, side="right")


def rates_for(strategy: Strategy, tokens: np.ndarray) -> np.ndarray:
    """Returns everybody's learning rate, [users]."""
    if len(strategy.rates) == 1:
        return np.full(len(tokens), strategy.rates[0])
    return np.asarray(strategy.rates)[slice_of(tokens)]


def _plain(totals: Totals) -> dict[Strategy, DeviceReport]:
    """Returns the totals of the grid: all of the model, one rate, no mixture."""
    return {
        s: report for s, report in totals.items() if len(s.rates) == 1 and s.part == "all" and s.mix == ALONE
    }


def by_text(totals: Totals, half: int | None = None) -> Strategy | None:
    """Returns the best rate for each slice of tokens by these totals, at the batch size of the best setting.

    A slice with too few people takes the best rate of all. None where one rate is best for everybody.
    """
    plain = _plain(totals)
    best = max(plain, key=lambda s: overall(plain[s], half)["delta_mean"])
    others = [s for s in plain if s.batch == best.batch]
    rates = []
    for i in range(len(TOKEN_EDGES) + 1):
        in_slice = {s: figures(of_half(plain[s].by_tokens[:, i], half)) for s in others}
        enough = in_slice[best]["users"] >= LEAST_USERS
        rates.append(
            max(others, key=lambda s: in_slice[s]["delta_mean"]).rates[0] if enough else best.rates[0]
        )
    return Strategy(best.batch, tuple(rates)) if len(set(rates)) > 1 else None


def assembled(strategy: Strategy, totals: Totals) -> DeviceReport:
    """Assembles the totals of a strategy by text from the grid's slices of tokens; by_baseline stays empty."""
    report = empty_report()
    for i, rate in enumerate(strategy.rates):
        source = totals[replace(strategy, rates=(rate,))]
        report.by_tokens[:, i] = source.by_tokens[:, i]
        report.bins[:, i] = source.bins[:, i]
    return report


def choose(totals: Totals, half: int | None = None) -> Strategy:
    """Returns the strategy with the highest mean change, a rate by text among them; the first of equals."""
    gains = {s: overall(report, half)["delta_mean"] for s, report in totals.items()}
    best = max(gains, key=lambda s: gains[s])
    adaptive = by_text(totals, half)
    if adaptive and overall(assembled(adaptive, totals), half)["delta_mean"] > gains[best]:
        return adaptive
    return best


def cross_fitted(totals: Totals, choices: Sequence[Strategy]) -> Figures:
    """Returns figures of both halves: half 1 under half 0's choice (choices[0]), and the reverse."""
    table = np.zeros((len(empty_report().by_tokens), len(FIGURES)), np.int64)
    for chooser, strategy in enumerate(choices):
        report = totals[strategy] if strategy in totals else assembled(strategy, totals)
        table[1 - chooser :: 2] = report.by_tokens.sum(axis=1)[1 - chooser :: 2]
    return figures(table)
