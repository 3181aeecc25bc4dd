"""Schedules against their formulas."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.federated.schedules import rate


def test_constant_linear_cosine_and_inverse_by_formula():
    rounds = 11
    for t in range(rounds):
        assert rate("constant", 0, t, rounds) == 1
        assert rate("linear", 0, t, rounds) == pytest.approx(1 - 0.99 * t / 10)
        assert rate("cosine", 0, t, rounds) == pytest.approx(
            0.01 + 0.99 * (1 + math.cos(math.pi * t / 10)) / 2
        )
        assert rate("inverse", 0, t, 100) == pytest.approx(10 / (10 + t))  # η_t ∝ 1/(γ + t), paper 5, 5.4
    assert rate("inverse", 0, 1, 5) == pytest.approx(1 / 2)  # γ is 1 at least
    assert rate("linear", 0, 10, 11) == pytest.approx(0.01) == rate("cosine", 0, 10, 11)


@pytest.mark.parametrize("schedule", ["constant", "linear", "cosine", "inverse"])
def test_warmup_rises_to_one_and_hands_over(schedule):
    rises = [rate(schedule, 4, t, 20) for t in range(5)]
    assert rises == pytest.approx([0.25, 0.5, 0.75, 1.0, 1.0])
    if schedule in ("linear", "cosine"):
        assert rate(schedule, 4, 19, 20) == pytest.approx(0.01)  # the last round, with or without a warm-up


@given(
    st.sampled_from(["constant", "linear", "cosine", "inverse"]),
    st.integers(0, 30),
    st.integers(0, 60),
    st.integers(1, 40),
)
def test_a_factor_is_always_in_zero_to_one_and_never_rises_again(schedule, warmup, t, rounds):
    now, later = rate(schedule, warmup, t, rounds), rate(schedule, warmup, t + 1, rounds)
    assert 0 < now <= 1
    if t >= warmup:
        assert later <= now
