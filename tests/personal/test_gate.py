"""The gate: who passes, what is said of it, and a margin chosen by others."""

from __future__ import annotations

import doctest
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from test_personal_sums import deltas, outcomes

from tacit.base.errors import TacitError
from tacit.personal import gate
from tacit.personal.sums import Outcome, half_of

MARGINS = (0.0, 0.01, 0.03)


def parts(seed: int, people: int) -> tuple[Outcome, Outcome]:
    """A second and a last part of the same people."""
    look, last = outcomes(seed, people), outcomes(seed + 1, people)
    return look, last._replace(ids=look.ids, finite=look.finite)


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_exact_binomial_test(lost, won):
    found = float(gate.mcnemar(np.array([lost]), np.array([won]))[0])
    n = lost + won
    exact = sum(math.comb(n, k) for k in range(lost, n + 1)) / 2**n
    assert found == pytest.approx(exact, rel=1e-4, abs=1e-12)
    if n:
        assert found == pytest.approx(binomtest(lost, n, 0.5, alternative="greater").pvalue, rel=1e-4)


def test_mcnemar_of_many_words():
    lost, won = np.array([2100, 1950, 2600, 10]), np.array([2000, 2000, 2400, 4000])
    exact = [
        binomtest(int(b), int(b + c), alternative="greater").pvalue for b, c in zip(lost, won, strict=True)
    ]
    np.testing.assert_allclose(gate.mcnemar(lost, won), exact, rtol=2e-2)


@given(st.integers(0, 5000), st.integers(1, 50))
def test_every_margin_at_once_is_each_margin_by_itself(seed, people):
    """From totals by margins passed, against accepting people one by one at one margin."""
    look, last = parts(seed, people)
    said = gate.total(look, last, MARGINS, seed)
    harmed = np.array(
        [
            w >= 300 and b + c > 0 and binomtest(int(b), int(b + c), alternative="greater").pvalue <= 0.05
            for w, b, c in zip(last.words, last.lost, last.won, strict=True)
        ]
    )
    change = (look.won - look.lost) / look.words
    for place, margin in enumerate(MARGINS):
        accepted = look.finite & (change > 0) & (change >= margin - 1e-12)
        found = gate.effect_figures(gate.effect(said, place))
        assert found["accepted_share"] == pytest.approx(accepted.mean())
        assert found["delta_mean"] == pytest.approx(np.where(accepted, deltas(last), 0).mean(), abs=1e-6)
        assert found["delta_mean_without"] == pytest.approx(deltas(last).mean(), abs=1e-6)
        assert found["worse_share"] == pytest.approx((accepted & (deltas(last) < 0)).mean())
        assert found["worse_share_without"] == pytest.approx((deltas(last) < 0).mean())
        tested = max(1, (last.words >= 300).sum())
        assert found["significantly_worse_share"] == pytest.approx((accepted & harmed).sum() / tested)
        assert found["significantly_worse_share_without"] == pytest.approx(harmed.sum() / tested)


def test_the_gate_never_sees_the_last_part():
    """`level` decides, and takes the second part alone; any other last part leaves who passed as it was."""
    look, last = parts(1, 40)
    said = gate.total(look, last, MARGINS, 0)
    other = gate.total(look, outcomes(99, 40)._replace(ids=look.ids), MARGINS, 0)
    np.testing.assert_array_equal(said[..., 0], other[..., 0])
    assert (said[..., 2] != other[..., 2]).any()


def test_the_order_of_people_changes_no_bit():
    look, last = parts(3, 30)
    order = np.random.default_rng(0).permutation(30)
    shuffled = [Outcome(*(field[order] for field in part)) for part in (look, last)]
    np.testing.assert_array_equal(gate.total(look, last, MARGINS, 1), gate.total(*shuffled, MARGINS, 1))


def planted(people: int = 600, harm: float = 0.0) -> tuple[Outcome, Outcome]:
    """Second parts that tell, with noise, how the last comes out; a share `harm` is badly hurt."""
    draw = np.random.default_rng(7)
    rows = outcomes(0, people)
    truth = np.where(draw.random(people) < harm, -0.06, 0.03)

    def part(words: int) -> Outcome:
        change = np.round((truth + draw.normal(0, 0.02, people)) * words).astype(int)
        return rows._replace(
            ids=np.arange(people),
            words=np.full(people, words),
            before=np.full(people, words // 3),
            lost=20 + np.maximum(-change, 0),
            won=20 + np.maximum(change, 0),
            finite=np.ones(people, bool),
        )

    return part(250), part(400)


def test_a_margin_is_chosen_by_harm_first_then_by_gain():
    look, last = planted(harm=0.3)
    said = gate.total(look, last, gate.MARGINS, 0)
    place = gate.choose(said)
    found = [gate.effect_figures(gate.effect(said, p)) for p in range(len(gate.MARGINS))]
    assert found[0]["significantly_worse_share_without"] > 0.2
    assert found[place]["significantly_worse_share"] <= gate.HARM
    safe = [f["delta_mean"] for f in found if f["significantly_worse_share"] <= gate.HARM]
    assert found[place]["delta_mean"] >= gate.ENOUGH * max(safe) > 0
    assert all(f["delta_mean"] < gate.ENOUGH * max(safe) for f in found[place + 1 :])
    # of few people, one who is hurt does not decide
    one = gate.total(
        *(Outcome(*(field[:20] for field in part)) for part in planted(harm=0.0)), gate.MARGINS, 0
    )
    place = gate.choose(one)
    one[0, -1, 5] += 1
    assert gate.choose(one) == place
    # everybody is hurt whatever the margin: the least harm is taken
    hurt = said.copy()
    hurt[:, 1:, 5] = hurt[:, 1:, 4]
    assert gate.choose(hurt) == len(gate.MARGINS) - 1


def test_of_margins_that_harm_alike_the_largest_is_taken():
    said = gate.empty_report(gate.MARGINS)
    said[:, -1] = [10, 0, 0, 0, 10, 10]  # everybody passes every margin, and everybody is hurt
    assert gate.choose(said) == len(gate.MARGINS) - 1


def test_where_every_margin_loses_the_one_that_loses_least_is_taken():
    said = gate.empty_report(gate.MARGINS)
    said[:, :, 0], said[:, :, 2] = 10, -1000  # ten people at each level, all of them a little worse
    assert gate.choose(said) == len(gate.MARGINS) - 1


def test_the_test_is_asked_of_three_hundred_words():
    few = outcomes(0, 2)._replace(words=np.array([299, 300]), lost=np.array([9, 9]), won=np.array([0, 0]))
    assert gate.significantly_worse(few).tolist() == [False, True]


def test_each_half_is_gated_by_the_other():
    look, last = planted(harm=0.1)
    said = [gate.total(look, last, MARGINS, 0), gate.total(look, last, MARGINS, 0)]
    found = gate.effect_figures(gate.reported(said, [2, 0]))  # half 0 chose 0.03: half 1 is gated by it
    halves = half_of(look.ids, 0)
    change = deltas(look)
    accepted = np.where(halves == 1, change >= 0.03 - 1e-12, change > 0)
    assert found["accepted_share"] == pytest.approx(accepted.mean())
    assert found["delta_mean"] == pytest.approx(np.where(accepted, deltas(last), 0).mean(), abs=1e-6)


@given(st.integers(0, 5000), st.integers(1, 50), st.integers(0, 3000), st.floats(0.01, 1))
def test_who_does_not_meet_the_condition_keeps_the_global_model(seed, people, least, most):
    """Against accepting people one by one; without the gate nothing changes."""
    look, last = parts(seed, people)
    condition = gate.Condition(least, most)
    found = gate.effect_figures(gate.effect(gate.total(look, last, MARGINS, seed, condition), 1))
    change = deltas(look)
    accepted = look.finite & (change > 0) & (change >= MARGINS[1] - 1e-12)
    for k in range(people):
        accepted[k] &= look.tokens[k] >= least and look.before[k] / look.words[k] <= most + 1e-12
    assert found["accepted_share"] == pytest.approx(accepted.mean())
    assert found["delta_mean"] == pytest.approx(np.where(accepted, deltas(last), 0).mean(), abs=1e-6)
    assert found["delta_mean_without"] == pytest.approx(deltas(last).mean(), abs=1e-6)


@pytest.mark.parametrize("condition", [(-1, 1.0), (0, 0.0), (0, 1.01), (0, math.nan)])
def test_a_condition_is_a_number_of_tokens_and_an_accuracy(condition):
    with pytest.raises(TacitError, match="--gate-"):
        gate.check_condition(gate.Condition(*condition))


def test_who_diverged_is_rejected():
    look, last = parts(8, 30)
    look = look._replace(finite=np.zeros(30, bool), won=look.words, lost=np.zeros(30, int))
    assert not gate.level(look, MARGINS).any()
    found = gate.effect_figures(gate.effect(gate.total(look, last, MARGINS, 0), 0))
    assert found["accepted_share"] == 0 == found["delta_mean"]


@pytest.mark.parametrize("margin", [-0.01, 1.01, math.nan, math.inf])
def test_a_margin_lies_between_0_and_1(margin):
    with pytest.raises(TacitError, match="between 0 and 1"):
        gate.check_margin(margin)


def test_examples():
    assert doctest.testmod(gate).failed == 0
