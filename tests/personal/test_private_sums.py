"""Protected sums over people: what one person can change, the size of the noise, small rows, and figures from them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from tacit.base.errors import TacitError
from tacit.personal import gate, private, strategies, sums
from tacit.personal.private import Protection, guard
from tacit.personal.strategies import Strategy
from tacit.personal.sums import Outcome

MARGINS = (0.0, 0.01, 0.05)


def people(count: int, seed: int = 0, most_words: int = 5000) -> Outcome:
    """People with any figures that a device can have, extreme ones among them."""
    draw = np.random.default_rng(seed)
    words = draw.integers(1, most_words, count)
    before = draw.integers(0, words + 1)
    lost = draw.integers(0, before + 1)
    won = draw.integers(0, words - before + 1)
    predictions = words + draw.integers(0, 200, count)
    nll = draw.choice([0.1, 5.0, 1e6], count) * predictions
    tokens = draw.integers(0, 6000, count)
    finite = draw.random(count) < 0.9
    return Outcome(np.arange(count), tokens, words, predictions, before, lost, won, nll, nll * 0.9, finite)


def seeded(seed: int) -> private.Source:
    return np.random.default_rng(seed).bytes


def test_one_person_changes_no_more_than_the_bound() -> None:
    """What the last of ten people changes, without noise, in units of each figure's bound: √23, and √6 for the gate."""
    unit, nll = 2**20, 12 * 1000 * 2**10
    bounds = np.array([1, unit, unit, unit, 1, 1, 1, 1, 1000, nll, nll])
    plain = guard(Protection(min_people=1), 1)
    worst = 0.0
    for seed in range(60):
        extreme, usual = people(10, seed, most_words=20_000), people(10, seed, most_words=800)
        ten = Outcome(*(np.append(few[:9], last[9:]) for few, last in zip(usual, extreme, strict=True)))
        nine = Outcome(*(field[:9] for field in ten))
        change = [a.astype(float) - b for a, b in zip(plain.total(ten, 0), plain.total(nine, 0), strict=True)]
        squares = [np.sum((table / bounds) ** 2) for table in change[1:]]
        worst = max(worst, float(np.sum(change[0] ** 2) + sum(squares)))
        gates = [plain.gate_total(of, of, MARGINS, 0) for of in (ten, nine)]
        passed = (gates[0] - gates[1]) / np.array([1, unit, unit, 1, 1, 1])
        assert np.sum(passed**2) <= 6
    assert 5 < worst <= 23


def test_the_noise_has_its_size() -> None:
    of, tables = people(150), 4
    exact = guard(Protection(min_people=1), tables).total(of, 0)
    epsilon = 22.0

    def excess(s: float) -> float:  # δ(ε) = Φ(1/2s − εs) − e^ε Φ(−1/2s − εs), which is to be 1e-6
        a, b = 1 / (2 * s), epsilon * s
        return norm.cdf(a - b) - math.exp(epsilon + norm.logcdf(-a - b)) - 1e-6

    sigma = brentq(excess, 0.1, 1.0)
    off = []
    for seed in range(40):
        said = guard(Protection(epsilon), tables, seeded(seed)).total(of, 0)
        large = exact.by_tokens[:2, :, 0] > 15  # far from 0, where it would be clamped
        off += (said.by_tokens[:2, :, 0] - exact.by_tokens[:2, :, 0])[large].tolist()
    expected = sigma * math.sqrt(tables + 2) * math.sqrt(23)
    assert len(off) > 100 and np.std(off) == pytest.approx(expected, rel=0.15)


def test_small_rows_are_suppressed() -> None:
    of = people(60, 3)
    plain, kept = sums.total(of, 1), guard(Protection(min_people=8), 1)
    said = kept.total(of, 1)
    suppressed = 0
    for before, after in ((plain.by_tokens, said.by_tokens), (plain.by_baseline, said.by_baseline)):
        for half in (0, 1):
            together = before[half::2, :, 0].sum(axis=0)
            assert after[half, :, 0].tolist() == [n if n >= 8 else 0 for n in together.tolist()]
            suppressed += int(np.sum((together > 0) & (together < 8)))
        assert not after[2:].any()
    assert kept.suppressed() == suppressed > 0
    assert kept.release() == private.PLAIN
    changes = sums.histogram(plain)
    assert sums.histogram(said).tolist() == [n if n >= 8 else 0 for n in changes.tolist()]


def test_figures_of_very_noisy_sums_are_figures() -> None:
    """Twenty people at ε = 0.1: nothing to learn, but every figure is one that people can have."""
    of = people(20, 5)
    noisy = guard(Protection(0.1), 2, seeded(7))
    totals = {Strategy(5, (rate,)): noisy.total(of, 0) for rate in (0.1, 1.0)}
    assert strategies.choose(totals).batch == 5
    for said in totals.values():
        for row in (sums.overall(said), *sums.slices(said)["tokens"], *sums.slices(said)["baseline"]):
            for share in ("baseline", "gain_share", "loss_share", "worse_share"):
                assert 0 <= row[share] <= 1
            assert -1 <= row["delta_mean"] <= 1 and 1 <= row["perplexity_after"] <= math.exp(12.01)
    passed = noisy.gate_total(of, of, MARGINS, 0)
    assert 0 <= gate.effect_figures(gate.effect(passed, gate.choose(passed)))["accepted_share"] <= 1
    assert noisy.release().noise_digest


def test_without_protection_nothing_changes() -> None:
    plain = guard(private.NONE, 3)
    assert plain.total is sums.total and plain.gate_total is gate.total
    assert plain.release() == private.PLAIN and plain.suppressed() == 0


@pytest.mark.parametrize(
    "protection", [Protection(-1.0), Protection(math.inf), Protection(1.0, 1.0), Protection(min_people=-1)]
)
def test_what_protects_nobody_is_refused(protection: Protection) -> None:
    with pytest.raises(TacitError, match="must be"):
        private.check(protection)
