"""N-grams found in an automaton are the ones it was made of."""

from __future__ import annotations

import dataclasses
import doctest

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from file_models import any_weights, flat, kneser, refused, sentences, vocabulary
from tacit.ngram import grams as module
from tacit.ngram.automaton import Topology, from_trie, log_probs
from tacit.ngram.grams import grams, history, name, words


def literal(bodies: list[list[int]], order: int, size: int) -> dict[int, list[tuple[int, ...]]]:
    """Every n-gram of the text by order, sorted; every word is a unigram."""
    found: dict[int, set[tuple[int, ...]]] = {n: set() for n in range(1, order + 1)}
    found[1] = {(w,) for w in range(size)}
    for body in bodies:
        s = (0, *body, 1)
        for n in range(2, order + 1):
            found[n] |= {s[i : i + n] for i in range(len(s) - n + 1)}
    return {n: sorted(g) for n, g in found.items()}


@given(st.integers(0, 9999), st.integers(1, 5))
def test_the_ngrams_of_the_text(seed: int, order: int) -> None:
    bodies = sentences(seed, 12, 9)
    model = kneser(seed, 9, order, 12)
    found = grams(model.topology)
    want = literal(bodies, order, 9)
    shape = model.topology
    for n in range(1, found.trie.order + 1):
        rows = [tuple(row) for row in words(found.trie, n).tolist()]
        assert rows == want[n]
        for row, arc, state in zip(rows, found.arcs[n].tolist(), found.states[n].tolist(), strict=True):
            assert (arc < 0) == (row == (0,))
            if arc >= 0:
                assert shape.labels[arc] == row[-1] and tuple(history(shape, shape.owners[arc])) == row[:-1]
            assert (state >= 0) == any(longer[:-1] == row for longer in want.get(n + 1, []))
            if state >= 0:
                assert tuple(history(shape, state)) == row
    assert all(not want[n] for n in range(found.trie.order + 1, order + 1))
    again = from_trie(found.trie)
    for field in ("starts", "labels", "targets", "backoff", "initial"):
        assert np.array_equal(getattr(again, field), getattr(shape, field))


@given(st.integers(0, 9999))
def test_other_ids_are_the_same_model(seed: int) -> None:
    model = any_weights(seed, 12, 4, 15)
    ids = np.concatenate([[0, 1], 2 + np.random.default_rng(seed).permutation(10)])
    found = grams(model.topology, ids)
    shape = from_trie(found.trie)
    arcs, states = np.concatenate(found.arcs[1:])[1:], np.concatenate(found.states[1:])
    backoff = np.concatenate([[0.0], model.log_backoff[states[states >= 0]]])
    other = dataclasses.replace(model, topology=shape, log_p=model.log_p[arcs], log_backoff=backoff)
    tokens, offsets = flat(sentences(seed + 1, 8, 12))
    ask = tokens != 0
    first = log_probs(model, model.topology.states_along(tokens, offsets)[ask], tokens[ask])
    second = log_probs(other, shape.states_along(ids[tokens], offsets)[ask], ids[tokens][ask])
    np.testing.assert_allclose(first, second, rtol=1e-13)


def test_states_have_names() -> None:
    shape = kneser(1).topology
    two = int(np.flatnonzero(shape.depth == 2)[0])
    ids = history(shape, two)
    spelt = " ".join(vocabulary(20).words[i] for i in ids)
    assert name(shape, two, vocabulary(20)) == f"state {two} (after '{spelt}')"
    assert name(shape, 0) == "state 0 (no history)" and history(shape, shape.initial) == [0]


def without(shape: Topology, arc: int) -> dict[str, np.ndarray]:
    return {
        "starts": shape.starts - (shape.starts > arc),
        "labels": np.delete(shape.labels, arc),
        "targets": np.delete(shape.targets, arc),
    }


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda s: {"backoff": np.where(np.arange(len(s)) == 3, -1, s.backoff)}, "2 roots"),
        (lambda s: {"initial": int(np.argmax(s.depth))}, "starts sentences"),
        (
            lambda s: {"targets": np.where(np.arange(len(s.targets)) == 5, s.initial, s.targets)},
            "starts sentences",
        ),
        (lambda s: {"targets": np.where(s.targets == np.argmax(s.depth), 0, s.targets)}, "one word shorter"),
        (
            lambda s: {"targets": np.where((s.owners == 2) & (s.targets > 0), 0, s.targets)},
            "not an n-gram model",
        ),
        (lambda s: without(s, 18), "every word needs a unigram"),  # word 19 is in no longer n-gram
    ],
)
def test_what_is_no_ngram_model_is_refused(change, told: str) -> None:
    shape = kneser(1).topology
    refused(lambda: grams(dataclasses.replace(shape, **change(shape))), told)


@pytest.mark.parametrize("end", [True, False])
def test_an_incomplete_topology_is_refused(end: bool) -> None:
    """An arc is missing that a history of two words needs: the end of a sentence, or a word."""
    shape = kneser(1).topology
    needed = shape.below[(shape.depth[shape.owners] == 2) & ((shape.labels == 1) == end)]
    arc, label = int(needed[0]), int(shape.labels[needed[0]])
    holed = dataclasses.replace(shape, **without(shape, arc))
    refused(lambda: grams(holed), f"its arc for word {label} is missing at its backoff state")


def test_examples() -> None:
    assert doctest.testmod(module).failed == 0
