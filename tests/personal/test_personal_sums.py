"""What the server sees against the rows it never sees."""

from __future__ import annotations

import doctest
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.federated.aggregation.sums import is_plain_sum
from tacit.personal import strategies, sums
from tacit.personal.strategies import Strategy
from tacit.personal.sums import Outcome


def outcomes(seed: int, people: int) -> Outcome:
    """People of all kinds, also with one word, with exact hundredths, with fine-tuning that diverged."""
    draw = np.random.default_rng(seed)
    words = np.where(draw.random(people) < 0.3, 50, draw.integers(1, 600, people))
    before = draw.binomial(words, draw.uniform(0, 0.6, people))
    lost = draw.binomial(before, draw.uniform(0, 0.5, people))
    won = draw.binomial(words - before, draw.uniform(0, 0.4, people))
    finite = draw.random(people) < 0.9
    nll = draw.uniform(1, 6, (2, people)) * words
    return Outcome(
        draw.permutation(10 * people)[:people],
        draw.integers(50, 6000, people),
        words,
        words + draw.integers(1, 50, people),
        before,
        np.where(finite, lost, 0),
        np.where(finite, won, 0),
        nll[0],
        np.where(finite, nll[1], nll[0]),
        finite,
    )


def deltas(rows: Outcome) -> np.ndarray:
    return (rows.won - rows.lost) / rows.words


@given(st.integers(0, 10_000), st.integers(1, 60))
def test_totals_are_those_of_the_rows(seed, people):
    """A simulation may keep the rows: every figure read from totals is theirs."""
    rows = outcomes(seed, people)
    said = sums.total(rows, seed)
    d, base = deltas(rows), rows.before / rows.words
    found = sums.overall(said)
    assert found["users"] == people
    assert found["baseline"] == pytest.approx(base.mean(), abs=1e-6)
    assert found["delta_mean"] == pytest.approx(d.mean(), abs=1e-6)
    assert found["delta_sd"] == pytest.approx(d.std(), abs=2e-3)
    exact = 100 * (rows.won - rows.lost)  # hundredths, in whole numbers
    assert found["gain_share"] == np.mean(exact >= 2 * rows.words)
    assert found["loss_share"] == np.mean(exact <= -2 * rows.words)
    assert found["worse_share"] == np.mean(d < 0)
    assert found["diverged_share"] == np.mean(~rows.finite)
    tokens = rows.predictions.sum()
    assert found["perplexity_before"] == pytest.approx(np.exp(rows.nll_before.sum() / tokens), rel=1e-3)
    assert found["perplexity_after"] == pytest.approx(np.exp(rows.nll_after.sum() / tokens), rel=1e-3)
    place = np.clip(exact // rows.words, -sums.HUNDREDTHS - 1, sums.HUNDREDTHS) + sums.HUNDREDTHS + 1
    np.testing.assert_array_equal(sums.histogram(said), np.bincount(place, minlength=42))
    slices = sums.slices(said)
    edges = [0, *sums.TOKEN_EDGES, 10**9]
    some = [(rows.tokens >= a) & (rows.tokens < b) for a, b in pairwise(edges)]
    expected = [(s.sum(), d[s].mean()) for s in some if s.any()]
    assert [s["users"] for s in slices["tokens"]] == [n for n, _ in expected]
    assert [s["delta_mean"] for s in slices["tokens"]] == pytest.approx([m for _, m in expected], abs=1e-6)
    assert sum(s["users"] for s in slices["baseline"]) == people


@given(st.integers(0, 10_000), st.integers(2, 40))
def test_the_order_of_people_changes_no_bit(seed, people):
    rows = outcomes(seed, people)
    order = np.random.default_rng(seed + 1).permutation(people)
    shuffled = Outcome(*(field[order] for field in rows))
    for a, b in zip(sums.total(rows, 3), sums.total(shuffled, 3), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_message_is_one_entry_of_each_table():
    """Nothing but addition makes the total, and one device fills one bin and one group."""
    rows = outcomes(0, 30)
    said = sums.device_report(rows, 4, 7)
    assert is_plain_sum(said) and all(part.dtype == np.int64 for part in said)
    assert said.bins.sum() == 1 and said.bins.max() == 1
    for table in (said.by_tokens, said.by_baseline):
        assert (table.any(axis=2)).sum() == 1
    group = int(sums.group_of(rows.ids[4:5], 7)[0])
    assert said.by_tokens[group].any()
    groups = sums.group_of(np.arange(5000), 0)
    assert groups.min() == 0 and groups.max() == sums.GROUPS - 1
    assert np.bincount(groups).min() > 50  # everybody draws for themselves, about alike


def test_what_one_device_says_is_bounded():
    """A model that went wrong but is finite cannot drown the others' perplexity, nor overflow."""
    rows = outcomes(1, 3)
    rows.nll_after[:] = [1e36, 10.0, 3e38]
    said = sums.total(rows, 0)
    assert sums.overall(said)["perplexity_after"] <= np.exp(sums.WORST) * 1.001


@given(st.integers(0, 10_000), st.integers(1, 60))
def test_whoever_is_alone_in_a_cell_is_counted(seed, people):
    rows = outcomes(seed, people)
    said, every = sums.total(rows, seed), [sums.device_report(rows, k, seed) for k in range(people)]
    own = [
        sum(bool((table == getattr(one, name))[getattr(one, name) != 0].all()) for one in every)
        for name, table in (("by_tokens", said.by_tokens), ("by_baseline", said.by_baseline))
    ]
    assert sums.alone(said) == max(own)


def test_jackknife_is_that_of_the_groups():
    """Against a loop that leaves one group out at a time, from the rows."""
    rows = outcomes(5, 200)
    table = sums.total(rows, 0).by_tokens.sum(axis=1)
    groups, d = sums.group_of(rows.ids, 0), deltas(rows)
    there = np.unique(groups)
    without = np.array([d[groups != g].mean() for g in there])
    spread = np.sqrt((len(there) - 1) / len(there) * ((without - without.mean()) ** 2).sum())
    assert sums.figures(table)["ci95"] == pytest.approx(1.96 * spread, rel=1e-3)
    # and near to the ordinary interval of a mean
    assert sums.figures(table)["ci95"] == pytest.approx(1.96 * d.std() / np.sqrt(200), rel=0.3)
    assert np.isnan(sums.figures(table[:1])["ci95"])


def grid_of(people: int = 400):
    """Two rates: the high one is good for much text and bad for little."""
    rows = outcomes(2, people)
    words = np.full(people, 1000)
    much = rows.tokens >= 2000

    def with_change(change: np.ndarray) -> Outcome:
        return rows._replace(
            words=words,
            before=np.full(people, 300),
            lost=np.maximum(-change, 0),
            won=np.maximum(change, 0),
            finite=np.ones(people, bool),
        )

    low, high = Strategy(5, (0.1,)), Strategy(5, (1.0,))
    changes = {low: np.full(people, 20), high: np.where(much, 60, -40)}
    said = {s: sums.total(with_change(c), 0) for s, c in changes.items()}
    return rows, changes, said, low, high


def test_a_rate_by_text_is_read_from_slices():
    rows, changes, said, low, high = grid_of()
    chosen = strategies.by_text(said)
    assert chosen.rates == (0.1, 0.1, 0.1, 0.1, 1.0, 1.0)
    assert strategies.choose(said) == chosen  # better than either rate
    rates = strategies.rates_for(chosen, rows.tokens)
    np.testing.assert_array_equal(rates, np.where(rows.tokens >= 2000, 1.0, 0.1))
    expected = np.where(rows.tokens >= 2000, changes[high], changes[low]).mean() / 1000
    assert sums.overall(strategies.assembled(chosen, said))["delta_mean"] == pytest.approx(expected, abs=1e-5)
    assert sums.overall(said[low])["delta_mean"] == pytest.approx(0.02, abs=1e-5)


def test_each_half_is_told_what_the_other_chose():
    rows, changes, said, low, high = grid_of()
    halves = sums.half_of(rows.ids, 0)
    found = strategies.cross_fitted(said, [low, high])  # half 0 chose low, so half 1 gets it
    expected = np.where(halves == 1, changes[low], changes[high]).mean() / 1000
    assert found["delta_mean"] == pytest.approx(expected, abs=1e-5) and found["users"] == 400
    one = strategies.choose({low: said[low], high: said[high]}, half=1)
    assert one.rates == (0.1, 0.1, 0.1, 0.1, 1.0, 1.0)
    # what half 1 does cannot change what half 0 chooses
    other = said[low]._replace(by_tokens=said[low].by_tokens.copy())
    other.by_tokens[1::2] *= -3
    assert strategies.choose({low: other, high: said[high]}, half=0) == strategies.choose(said, half=0)


def test_names_and_examples():
    assert Strategy(5, (0.1, 1.0)).name == "B 5, L by text"
    assert [s.name for s in strategies.grid((5, 10), (0.1,))] == ["B 5, L 0.1", "B 10, L 0.1"]
    assert strategies.by_text({Strategy(5, (0.1,)): sums.empty_report()}) is None
    assert doctest.testmod(strategies).failed == 0 == doctest.testmod(sums).failed
