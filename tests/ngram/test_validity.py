"""What a language model must hold: against brute force, and one damage at a time."""

from __future__ import annotations

import dataclasses
import doctest
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from file_models import any_weights, kneser, refused, vocabulary
from tacit.ngram import validity
from tacit.ngram.automaton import Automaton, Topology, distribution
from tacit.ngram.grams import history
from tacit.ngram.validity import check, complete, require, sums


@given(st.integers(0, 9999), st.integers(1, 4), st.booleans())
def test_sums_are_those_of_whole_distributions(seed: int, order: int, spoilt: bool) -> None:
    model = any_weights(seed, 11, order, 12)
    if spoilt:  # sums are told, whatever they are
        noise = np.random.default_rng(seed).normal(0, 0.3, len(model.log_p))
        model = dataclasses.replace(model, log_p=model.log_p + noise)
    want = [distribution(model, q).sum() for q in range(len(model.topology))]
    np.testing.assert_allclose(sums(model), want, rtol=1e-11)
    facts = check(model)
    assert (not facts.problems) != spoilt
    assert facts.off == pytest.approx(np.abs(np.array(want) - 1).max(), abs=1e-10)


def test_a_state_that_leaves_next_to_nothing_is_summed_exactly() -> None:
    """Root: </s> ½, 3 words; a state takes all but a word of p = 1e-12: 1 − Σ would be rounding alone."""
    tiny = 1e-12
    shape = Topology(5, np.array([0, 4, 7]), np.array([1, 2, 3, 4, 1, 2, 3]), np.array([-1, 0, 0, 0, -1, 0, 0]),
                     np.array([-1, 0]), 1)  # fmt: skip
    root = [0.5, 0.3, 0.2 - tiny, tiny]
    model = Automaton(shape, np.log([*root, 0.25, 0.25, 0.25]), np.array([0.0, np.log(0.25 / tiny)]))
    assert check(model).problems == () and check(model).off < 1e-12


@given(st.integers(0, 9999))
def test_a_topology_is_made_complete(seed: int) -> None:
    """Arcs that longer histories need are taken away; they come back where they were."""
    whole = kneser(seed, 9, 4, 12).topology
    draw = np.random.default_rng(seed)
    needed = np.unique(whole.below[whole.below >= 0])
    gone = np.zeros(len(whole.labels), np.bool_)
    gone[needed[draw.random(len(needed)) < 0.4]] = True
    kept = np.cumsum(np.concatenate([[0], ~gone]))
    holed = dataclasses.replace(
        whole, starts=kept[whole.starts], labels=whole.labels[~gone], targets=whole.targets[~gone]
    )
    lacking = (holed.below < 0) & (holed.backoff[holed.owners] >= 0)
    assert any(p.what == "not backoff-complete" for p in check(holed).problems) == bool(lacking.any())
    again = complete(holed)
    assert check(again).problems == () or [p.what for p in check(again).problems] == ["not reachable"]
    # what no longer history has an arc for cannot be known; all that is there is as it was
    at = np.searchsorted(whole.keys, again.keys)
    assert np.array_equal(whole.keys[at], again.keys) and np.array_equal(whole.targets[at], again.targets)
    restored = set(again.keys.tolist()) - set(holed.keys.tolist())
    top = whole.keys[gone & (whole.depth[whole.owners] == whole.depth.max() - 1)]
    assert set(top.tolist()) <= restored


def test_a_complete_topology_is_left_alone() -> None:
    shape = kneser(3).topology
    again = complete(shape)
    for field in ("starts", "labels", "targets", "backoff", "initial"):
        assert np.array_equal(getattr(again, field), getattr(shape, field))


def damaged(shape: Topology, **change: np.ndarray | int) -> Topology:
    return dataclasses.replace(shape, **change)


def at(array: np.ndarray, place: int, value: int) -> np.ndarray:
    array = array.copy()
    array[place] = value
    return array


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda s: {"targets": at(s.targets, 4, len(s))}, r"state 0: arc to a state that does not exist"),
        (lambda s: {"targets": at(s.targets, 4, -1)}, "other than </s> has no target"),
        (lambda s: {"targets": at(s.targets, 0, 2)}, "or </s> has one"),
        (lambda s: {"labels": at(s.labels, 4, 4)}, "state 0: arcs not in ascending order"),
        (lambda s: {"labels": at(s.labels, 0, 0)}, "label outside the vocabulary, or <s>"),
        (lambda s: {"labels": at(s.labels, 18, 20)}, "label outside the vocabulary"),
        (lambda s: {"backoff": at(s.backoff, 3, len(s))}, "state 3: backoff state does not exist"),
        (lambda s: {"backoff": at(s.backoff, 0, 2)}, "form a cycle"),
        (lambda s: {"initial": -1}, "sentences start at a state that does not exist"),
        (lambda s: {"starts": s.starts[:-1]}, "differ in length"),
        (lambda s: {"starts": at(s.starts, 2, s.starts[1] - 1)}, "not sorted by state"),
        (
            lambda s: {"targets": np.where(s.targets == np.argmax(s.depth), 0, s.targets)},
            r"state \d+ \(.*\): not reachable",
        ),
    ],
)
def test_each_damage_is_told(change, told: str) -> None:
    shape = kneser(1).topology
    assert check(shape).problems == ()
    refused(lambda: require(damaged(shape, **change(shape))), told)


def test_errors_name_the_history_in_words() -> None:
    model, v = any_weights(1), vocabulary(20)
    require(model, v)
    q = int(np.flatnonzero(model.topology.depth == 2)[3])
    words = " ".join(v.words[i] for i in history(model.topology, q))
    off = dataclasses.replace(model, log_backoff=at(model.log_backoff, q, model.log_backoff[q] + 0.1))
    refused(lambda: require(off, v), f"state {q} .after '{words}'.: probabilities do not sum to one .off by")
    bare = dataclasses.replace(model, log_p=model.log_p[:-1])
    refused(lambda: require(bare), "number of weights does not match")
    nothing = dataclasses.replace(
        model, log_p=np.where(np.arange(len(model.log_p)) == 4, np.nan, model.log_p)
    )
    refused(lambda: require(nothing), "state 0 .no history.: probabilities do not sum to one")


def test_what_cannot_be_completed_is_told() -> None:
    shape = kneser(1).topology
    refused(lambda: complete(damaged(shape, backoff=at(shape.backoff, 3, -1))), "one root")
    refused(lambda: complete(damaged(shape, labels=at(shape.labels, 4, 4))), "state 0: arcs not in ascending")


def test_it_is_quick() -> None:
    """350K arcs in well under a second of this thread's time, so that a million take about one."""
    model = kneser(2, 4000, 3, 60_000)
    assert len(model.log_p) > 100_000
    began = time.thread_time()
    require(model)
    assert time.thread_time() - began < 1e-5 * len(model.log_p)


def test_examples() -> None:
    assert doctest.testmod(validity).failed == 0
