"""ε against published check values, and against accountants written here another way.

The second RDP accountant integrates the Rényi divergence numerically; the second PLD accountant puts the privacy loss
into bins and convolves it by one Fourier transform.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import norm

from tacit.base.errors import TacitError
from tacit.privacy import accounting
from tacit.privacy.accounting import Parts, assumption, bin_width, curve, pld, rdp, sorted_parts, spent, zcdp
from tacit.privacy.ledger import Release

SETTINGS = [  # z, q, rounds, δ
    *itertools.product((0.8, 1.5), (0.002, 0.02), (10, 300), (1e-5, 1e-8)),
    (1.0, 0.01, 500, 1e-5),
    (1.0, 0.1, 100, 1e-4),
    (4.0, 0.3, 200, 1e-6),
    (0.6, 0.01, 50, 1e-6),
]
# ε of these settings by the accountant of Gopi et al. (2021), which shares no code with dp-accounting: prv-accountant
# 0.2.0 with eps_error = 0.005, so true to 0.0052
PRV = [
    *(0.1525, 0.8404, 0.4431, 1.3964, 1.5706, 3.2512, 3.7874, 5.8501),
    *(0.0178, 0.0483, 0.0850, 0.1374, 0.2477, 0.5285, 1.0565, 1.5320),
    *(1.3260, 5.9666, 5.4375, 4.2524),
]


def rounds(count: int, z: float = 1.0, q: float = 0.01, **fields: object) -> list[Release]:
    sampling = "poisson" if q < 1 else "fixed"
    return [Release("round", "gaussian", t, z, sampling, q, clip=0.5, **fields) for t in range(1, count + 1)]


# Published check values.


@pytest.mark.parametrize(
    ("q", "count", "delta", "by_rdp", "by_pld"),
    [(0.01, 500, 1e-5, 1.6529, 1.3261), (0.1, 100, 1e-4, 6.8216, 5.9659)],
)
def test_poisson_sampling_has_the_published_epsilon(
    q: float, count: int, delta: float, by_rdp: float, by_pld: float
) -> None:
    found = spent(rounds(count, 1.0, q), delta)
    assert found.epsilon_rdp == pytest.approx(by_rdp, abs=1e-3)
    assert found.epsilon_pld == pytest.approx(by_pld, abs=1e-3)
    assert found.epsilon == found.epsilon_pld and found.zcdp is None and found.reason == ""
    assert "Poisson" in found.assumption and f"{q:g}" in found.assumption


@pytest.mark.parametrize(("count", "delta", "epsilon"), [(500, 1e-5, 354.9), (100, 1e-4, 90.9)])
def test_without_amplification_epsilon_is_the_published_one(count: int, delta: float, epsilon: float) -> None:
    found = spent(rounds(count, 1.0, 1.0), delta)
    assert found.epsilon_rdp == pytest.approx(epsilon, abs=0.06)
    assert found.zcdp == count / 2
    assert found.epsilon == found.epsilon_pld < found.epsilon_rdp
    assert "nothing is gained from sampling" in found.assumption


def test_zcdp_of_a_keyboard_in_production() -> None:
    """ρ = 0.81 at δ = 1e-10 is published as ε = 8.9."""
    parts = Parts(gaussian=2 * 0.81)
    assert zcdp(parts) == pytest.approx(0.81)
    assert rdp(parts, 1e-10) == pytest.approx(8.92, abs=5e-3)


# A second accountant.


def renyi(z: float, q: float, count: int, delta: float) -> float:
    """ε by RDP: E[(P/Q)^α] of the sampled Gaussian P against Q by the trapezoid rule, at many orders."""
    orders = np.concatenate([np.arange(1.1, 11, 0.1), np.arange(11, 130)])[:, None]
    x = np.arange(-14 * z, orders.max() + 14 * z, z / 20)
    ratio = np.logaddexp(np.log1p(-q), np.log(q) + (2 * x - 1) / (2 * z**2))
    log = orders * ratio + norm.logpdf(x, scale=z)
    top = log.max(axis=1, keepdims=True)
    moment = np.log(np.exp(log - top).sum(axis=1) * z / 20) + top[:, 0]
    a = orders[:, 0]
    return float(np.min(count * moment / (a - 1) + np.log1p(-1 / a) - np.log(delta * a) / (a - 1)))


def losses(z: float, q: float, count: int, delta: float, width: float, size: int = 2**16) -> float:
    """ε by the privacy loss in bins, both ways (a client is added or removed), T-fold by the Fourier transform."""
    x = np.linspace(-14 * z, 14 * z + 1, 200_001)
    middle = (x[1:] + x[:-1]) / 2
    loss = np.logaddexp(np.log1p(-q), np.log(q) + (2 * middle - 1) / (2 * z**2))
    base = np.diff(norm.cdf(x, scale=z))
    mixed = (1 - q) * base + q * np.diff(norm.cdf(x, loc=1, scale=z))
    worst = 0.0
    for values, mass in ((loss, mixed), (-loss, base)):
        binned = np.zeros(size)
        np.add.at(binned, np.rint(values / width).astype(int) % size, mass)
        summed = np.fft.irfft(np.fft.rfft(binned) ** count, size)
        at = np.arange(size)
        at = np.where(at < size // 2, at, at - size) * width
        low, high = 0.0, 60.0
        for _ in range(40):
            epsilon = (low + high) / 2
            above = at > epsilon
            excess = float(np.sum(summed[above] * -np.expm1(epsilon - at[above])))
            low, high = (epsilon, high) if excess > delta else (low, epsilon)
        worst = max(worst, high)
    return worst


@pytest.mark.parametrize(
    ("z", "q", "count", "delta", "prv"), [(*s, p) for s, p in zip(SETTINGS, PRV, strict=True)]
)
def test_other_accountants_agree(z: float, q: float, count: int, delta: float, prv: float) -> None:
    parts = Parts(sampled=((z, q, count),))
    by_rdp, by_pld = rdp(parts, delta), pld(parts, delta, bin_width(parts, delta))
    assert by_rdp == pytest.approx(renyi(z, q, count, delta), rel=1e-3)
    assert by_pld <= by_rdp
    second = losses(z, q, count, delta, width=by_rdp / 4000)
    assert by_pld == pytest.approx(second, rel=1e-2)
    assert by_pld == pytest.approx(prv, rel=5e-3)


@pytest.mark.parametrize("sigma", [0.3, 1.0, 5.0])
def test_gaussian_noise_alone_is_exact(sigma: float) -> None:
    """δ(ε) = Φ(1/2σ − εσ) − e^ε Φ(−1/2σ − εσ), for 25 releases of 5σ."""
    epsilon = pld(sorted_parts(rounds(25, 5 * sigma, 1.0)), 1e-6)
    a, b = 1 / (2 * sigma), epsilon * sigma
    exact = norm.cdf(a - b) - math.exp(epsilon + norm.logcdf(-a - b))
    assert exact == pytest.approx(1e-6, rel=1e-6)


def test_laplace_noise_adds_up() -> None:
    counts = [Release("counts", "laplace", noise_multiplier=2.0, clip=10.0)]
    found = spent(counts, 1e-9)
    assert found.epsilon == pytest.approx(0.5, rel=1e-3) and found.zcdp == 0.125
    assert spent(counts * 3, 1e-9).epsilon == pytest.approx(1.5, rel=1e-3)


# Different releases together.


def test_different_releases_compose() -> None:
    """More than each alone, and no more than the sum with δ shared out."""
    counts = Release("counts", "laplace", noise_multiplier=1.0, clip=10.0)
    bias = Release("bias from counts", "gaussian", noise_multiplier=5.0, clip=1.0)
    made = rounds(50, 1.0, 0.02)
    alone = [spent(part, 1e-6 / 3).epsilon for part in ([counts], [bias], made)]
    together = spent([counts, bias, *made], 1e-6).epsilon
    assert max(alone) < together < sum(alone)


def test_all_rounds_of_a_matrix_are_one_release() -> None:
    def made(count: int) -> list[Release]:
        return [
            Release("round", "matrix", t, 6.0, "separated", 1.0, 0.5, 10, 100, sensitivity=3.0)
            for t in range(1, count + 1)
        ]

    one = spent([Release("round", "gaussian", 1, 2.0, clip=0.5)], 1e-6)
    assert spent(made(200), 1e-6).epsilon == one.epsilon
    again = [*made(200), *made(200)[150:]]  # the last fifty rounds twice
    assert spent(again, 1e-6).zcdp == 2 * one.zcdp
    assert "at most 10 rounds, at least 100 apart" in spent(made(2), 1e-6).assumption


def test_a_bound_on_participations_counts() -> None:
    loud = Release("round", "gaussian", 3, 1.0, "separated", clip=0.5, participations=2)
    quiet = [Release("round", "gaussian", t, 2.0, "separated", clip=0.5, participations=2) for t in (1, 2)]
    assert sorted_parts([*quiet, loud]).gaussian == 1 + 1 / 4


def test_local_noise_is_not_amplified() -> None:
    local = [Release("round", "local", t, 3.0, "poisson", 0.01, clip=0.5) for t in (1, 2)]
    assert sorted_parts(local) == Parts(gaussian=2 / 9)
    assert "own noise" in assumption(local)


def test_a_threshold_takes_its_share_of_delta() -> None:
    words = Release("vocabulary", "gaussian", noise_multiplier=4.0, clip=8.0, delta=5e-7)
    noise = Release("vocabulary", "gaussian", noise_multiplier=4.0, clip=8.0)
    assert spent([words], 1e-6).epsilon == spent([noise], 5e-7).epsilon
    assert "5e-07" in spent([words], 4e-7).reason and spent([words], 4e-7).epsilon is None


def test_a_release_without_epsilon_makes_it_null() -> None:
    found = spent([*rounds(3), Release("vocabulary", "none", reason="everybody's text")], 1e-6)
    assert found.epsilon is found.epsilon_rdp is found.epsilon_pld is found.zcdp is None
    assert found.reason == "vocabulary: everybody's text"


@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-6, math.nan, math.inf])
def test_a_delta_that_is_no_probability_is_refused(delta: float) -> None:
    with pytest.raises(TacitError, match="δ ="):
        spent(rounds(1), delta)


def test_noise_too_small_for_an_epsilon() -> None:
    assert "too small" in spent(rounds(10, 1e-160, 1.0), 1e-6).reason
    assert spent(rounds(10, 1e-8, 0.5), 1e-6).epsilon_pld is None  # by RDP alone
    assert spent(rounds(1, 1e-6, 1.0), 1e-6).epsilon > 1e11


def test_the_curve_bounds_every_round_and_ends_at_epsilon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accounting, "_CURVE", 4)
    made = rounds(20, 1.0, 0.02)
    points = curve(made, 1e-6)
    assert [t for t, _ in points] == list(range(1, 21))
    values = [value for _, value in points]
    assert values == sorted(values) and values[-1] == spent(made, 1e-6).epsilon
    assert values[6] >= 0.99 * spent(made[:7], 1e-6).epsilon
    repeated = curve([*made[:3], *made[1:3]], 1e-6)
    assert [t for t, _ in repeated] == [1, 2, 3] and repeated[2][1] > points[2][1]
    assert curve([], 1e-6) == []
    monkeypatch.setattr(accounting, "_POINTS", 8)
    assert [t for t, _ in curve(made, 1e-6)] == [3, 6, 9, 12, 15, 18, 20]


@pytest.mark.parametrize(
    "release",
    [
        Release("round", "gaussian", 1, 1e-300, "fixed", 0.1, clip=0.5),
        Release("round", "gaussian", 1, 1e-300, "fixed", 0.1, clip=0.5, participations=2),
        Release("round", "matrix", 1, 1e-300, "separated", clip=1.0, participations=2, sensitivity=1e300),
    ],
)
def test_noise_next_to_nothing_has_no_epsilon(release: Release) -> None:
    """Its cost is larger than any float."""
    found = spent([release], 1e-6)
    assert found.epsilon is None and found.reason == "the noise is too small for a finite ε"
