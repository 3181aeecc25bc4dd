"""N-grams counted on the clients: against reading every message by hand, and mixed into a network's counts."""

from __future__ import annotations

import doctest

import numpy as np
import pytest

import toys
from tacit.distillation import client_counts
from tacit.distillation.client_counts import SHARE, mixed
from tacit.distillation.minimise import minimise
from tacit.distillation.soft_counts import Counts
from tacit.ngram.validity import check
from tacit.text.packed import pack


@pytest.mark.parametrize("limit", [1.0, 12.0, 1e6])
def test_the_sum_is_that_of_clipped_clients(limit: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Client by client and word by word; the text of a few clients is read at a time."""
    monkeypatch.setattr(client_counts, "_AT_ONCE", 2)
    shape = toys.kneser(1, vocabulary=7, order=3).topology
    text = [toys.sentences(seed, count, 7) for seed, count in enumerate([1, 6, 0, 3, 2])]
    people = [[s.tokens[i:j] for i, j in zip(s.offsets, s.offsets[1:], strict=False)] for s in text]
    arcs, phi = np.zeros(len(shape.labels)), np.zeros(len(shape))
    for person in people:
        weight = limit / max(limit, sum(len(message) - 1 for message in person))
        for message in person:
            state = shape.initial
            for word in message[1:].tolist():
                way = toys.path(shape, state)
                where = next(q for q in way if word in toys.has(shape, q))
                phi[way[: way.index(where)]] += weight
                arcs[toys.has(shape, where)[word]] += weight
                state = int(shape.targets[toys.has(shape, where)[word]])
    found = client_counts.client_counts(shape, pack(people, list("abcde")), limit)
    np.testing.assert_allclose(found.arcs, arcs)
    np.testing.assert_allclose(found.phi, phi)
    assert found.arcs.sum() <= 4 * limit + 1e-9  # four have typed


def test_mixing_adds_half_as_much() -> None:
    shape = toys.kneser(2, vocabulary=7, order=2).topology
    draw = np.random.default_rng(0)
    network, typed = (
        Counts(*(draw.random(n) for n in (len(shape.labels), len(shape), len(shape)))) for _ in "ab"
    )
    both = mixed(shape, network, typed)
    scale = (both.arcs - network.arcs) / typed.arcs
    assert scale == pytest.approx(np.full(len(scale), scale[0])) and both.phi == pytest.approx(
        network.phi + scale[0] * typed.phi
    )
    assert scale[0] * typed.arcs.sum() == pytest.approx(SHARE * network.arcs.sum())
    assert not check(minimise(shape, both).model).problems
    nobody = Counts(*(np.zeros(len(one)) for one in network))
    assert mixed(shape, network, nobody).arcs.tolist() == network.arcs.tolist()
    rare = int(shape.backoff.argmax())  # a state above the root that no sampled sentence visits
    unseen = network._replace(
        arcs=np.where(shape.owners == rare, 0.0, network.arcs),
        phi=np.where(np.arange(len(shape)) == rare, 0.0, network.phi),
    )
    both = mixed(shape, unseen, typed)
    assert both.phi[rare] == 0 and not both.arcs[shape.owners == rare].any()
    assert both.arcs[shape.owners != rare].min() > 0


def test_doctests() -> None:
    assert doctest.testmod(client_counts).failed == 0
