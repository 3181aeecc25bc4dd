"""Protects sums over people before they leave: noise on every cell, and suppression of small cells.

A person's report for one strategy is a 1 in a histogram and its figures in one row by tokens and one row by accuracy
before. Each figure has a bound (`_BOUNDS`, in which words and log-likelihood are clipped), so in units of the bounds a
report has an L2 norm of at most √(1 + 11 + 11), and a report to the gate √6. With R tables in all, normal noise of
multiplier σ(ε, δ) √R on each gives ε at δ for everything that one person sends.

50 groups of people would hold little but noise, so there are two, the halves that choose for each other. The cells of
the histogram by tokens and by accuracy are added up first. After the noise, figures are clamped to possible values, and
rows of fewer than `min_people` people are set to 0. Both steps use only noised sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tacit.base.errors import TacitError
from tacit.personal import gate, sums
from tacit.personal.sums import NLL_UNIT, UNIT, DeviceReport, Outcome
from tacit.privacy.accounting import check_delta, library
from tacit.privacy.laplace import Source, Traced, normal
from tacit.privacy.ledger import Release

WORDS = 1000  # predictions of a person that count, at most
NATS = 12  # log-likelihood per prediction that counts, at most
_NLL = NATS * WORDS * NLL_UNIT
_BOUNDS = np.array([1, UNIT, UNIT, UNIT, 1, 1, 1, 1, WORDS, _NLL, _NLL])  # of sums.FIGURES
_GATE_BOUNDS = np.array([1, UNIT, UNIT, 1, 1, 1])  # of gate.FIGURES
_SIGNED = 2  # the figure that may be negative, in both: the change
_PREDICTIONS, _LOSSES = 8, (9, 10)
GATE_TABLES = 2  # one for what each half chose


class Protection(NamedTuple):
    """Holds the settings that protect the sums."""

    epsilon: float | None = None  # None: no noise
    delta: float = 1e-6
    min_people: int = 0  # rows of fewer people are suppressed


NONE = Protection()
PLAIN = Release("personalisation", "none", reason="sums over people were released without noise")


class Guard(NamedTuple):
    """Holds the two sums over people, protected, and their line in the ledger."""

    total: Callable[[Outcome, int], DeviceReport]
    gate_total: Callable[[Outcome, Outcome, Sequence[float], int], np.ndarray]
    release: Callable[[], Release]
    suppressed: Callable[[], int]  # rows
    is_bounded: bool  # whether each report is clipped to the bounds before it is added
    protect_total: Callable[[DeviceReport], DeviceReport]  # of sums that were made elsewhere
    protect_gate_total: Callable[[np.ndarray], np.ndarray]


def check(protection: Protection) -> None:
    """Refuses settings out of range."""
    if protection.epsilon is not None and not 0 < protection.epsilon <= 1e6:
        raise TacitError(f"--epsilon {protection.epsilon:g} must be above 0 and at most 1e+06")
    check_delta(protection.delta)
    if protection.min_people < 0:
        raise TacitError(f"--min-people {protection.min_people} must be at least 0")


def guard(
    protection: Protection,
    tables: int,
    source: Source | None = None,
    condition: gate.Condition = gate.ANYBODY,
) -> Guard:
    """Returns the protected sums of `tables` strategies and the gate; without protection they are the plain ones."""
    gate_sum = gate.total if condition == gate.ANYBODY else partial(gate.total, condition=condition)
    if protection.epsilon is None:
        if not protection.min_people:
            same: Callable[[Any], Any] = lambda table: table  # noqa: E731
            return Guard(sums.total, gate_sum, lambda: PLAIN, lambda: 0, False, same, same)
        sigma = 0.0
    else:
        exact = library("dp_accounting.gaussian_mechanism").get_sigma_gaussian
        sigma = float(exact(protection.epsilon, protection.delta))
    multiplier = sigma * math.sqrt(tables + GATE_TABLES)
    traced, rows = Traced(source), [0]

    def noised(table: np.ndarray, std: float) -> np.ndarray:
        if not std:
            return table.astype(np.float64)
        noise = normal(table.size, std, traced)
        return table + noise.reshape(table.shape)

    def protect(table: np.ndarray, bounds: np.ndarray, norm: float) -> np.ndarray:
        """Table [groups, cells, figures]: noise on the two halves, then clamped, small rows suppressed."""
        halves = np.stack([table[0::2].sum(axis=0), table[1::2].sum(axis=0)])
        kept = _possible(noised(halves / bounds, multiplier * norm) * bounds, bounds)
        small = kept[..., 0] < protection.min_people
        rows[0] += int(np.sum(small & (kept[..., 0] > 0)))
        kept[small] = 0
        out = np.zeros_like(table)
        out[:2] = kept
        return out

    def total(of: Outcome, seed: int) -> DeviceReport:
        every = range(len(of.ids))
        return protect_total(
            sums.add((bounded(sums.device_report(of, k, seed)) for k in every), sums.empty_report())
        )

    def protect_total(plain: DeviceReport) -> DeviceReport:
        norm = math.sqrt(1 + 2 * len(_BOUNDS))
        changes = np.rint(np.maximum(noised(plain.bins.sum(axis=(1, 2)), multiplier * norm), 0))
        changes[changes < protection.min_people] = 0
        bins = np.zeros_like(plain.bins)
        bins[:, 0, 0] = changes
        return DeviceReport(
            bins, protect(plain.by_tokens, _BOUNDS, norm), protect(plain.by_baseline, _BOUNDS, norm)
        )

    def gate_total(look: Outcome, last: Outcome, margins: Sequence[float], seed: int) -> np.ndarray:
        return protect_gate_total(gate_sum(look, last, margins, seed))

    def protect_gate_total(plain: np.ndarray) -> np.ndarray:
        return protect(plain, _GATE_BOUNDS, math.sqrt(len(_GATE_BOUNDS)))

    def release() -> Release:
        if not sigma:
            return PLAIN
        # the clip is in units of the joint bound
        return Release(
            *("personalisation", "gaussian"),
            noise_multiplier=sigma,
            clip=1.0,
            noise_digest=traced.digest,
        )

    return Guard(total, gate_total, release, lambda: rows[0], True, protect_total, protect_gate_total)


def bounded(report: DeviceReport) -> DeviceReport:
    """Clips a person's report to the bounds; its perplexity stays, if no prediction is worse than 12 nats."""
    for table in (report.by_tokens, report.by_baseline):
        row = table.reshape(-1, table.shape[-1])[table[..., 0].argmax()]  # a view: the one row that is not 0
        words = int(row[_PREDICTIONS])
        for i in (*_LOSSES, _PREDICTIONS):
            row[i] = row[i] * min(words, WORDS) // max(1, words)
        for i in _LOSSES:
            row[i] = min(int(row[i]), NATS * NLL_UNIT * int(row[_PREDICTIONS]))
    return report


def _possible(table: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Clamps noised figures [halves, cells, figures] to what so many people can have; returns whole numbers."""
    people = np.maximum(np.rint(table[..., :1]), 0)
    least = np.zeros(len(bounds))
    least[_SIGNED] = -bounds[_SIGNED]
    kept = np.clip(np.rint(table), people * least, people * bounds)
    kept[..., :1] = people
    if len(bounds) == len(_BOUNDS):
        most = NATS * NLL_UNIT * kept[..., _PREDICTIONS : _PREDICTIONS + 1]
        kept[..., list(_LOSSES)] = np.minimum(kept[..., list(_LOSSES)], most)
    return kept.astype(np.int64)
