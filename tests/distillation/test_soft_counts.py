"""Soft counts in bulk against the definition, position by position and label by label."""

from __future__ import annotations

import doctest

import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import toys
from tacit.distillation import soft_counts
from tacit.distillation.sampling import ProbabilityBlock, Sentences
from tacit.distillation.soft_counts import SoftTally, grouped
from tacit.ngram.automaton import Topology
from tacit.text.vocabulary import BOS

seeds = st.integers(0, 100_000)


def read(shape: Topology, seed: int, count: int = 6) -> tuple[Sentences, np.ndarray]:
    """Sentences that the automaton can read, and p over its labels at every token, [tokens, V]."""
    draw = np.random.default_rng(seed)
    rows = [toys.walk(shape, draw) for _ in range(count)]
    text = Sentences(np.array([w for r in rows for w in r]), np.cumsum([0, *map(len, rows)]))
    p = draw.dirichlet(np.full(shape.vocabulary - 1, 0.5), len(text.tokens))
    return text, np.pad(p, ((0, 0), (1, 0)))


def blocks(groups: np.ndarray, p: np.ndarray, size: int, merge: bool, device: bool) -> list[ProbabilityBlock]:
    """Blocks as a source gives them: by group; merged, one row for all positions of a group in a block."""
    order = np.argsort(groups, kind="stable")
    order = order[groups[order] >= 0]
    found = []
    for at in range(0, len(order), size):
        some = order[at : at + size]
        rows = p[some]
        if merge:
            first = np.unique(groups[some], return_index=True)[1]
            some, rows = some[first], np.add.reduceat(rows, first)
        if device:
            rows = jnp.asarray(np.pad(rows, ((0, 3), (0, 0))), jnp.float32)
        found.append(ProbabilityBlock(some, rows))
    return found


@settings(max_examples=60)
@given(seeds, st.integers(1, 3), st.integers(1, 40), st.booleans())
def test_counts_are_those_of_the_definition(seed: int, roots: int, size: int, merge: bool) -> None:
    shape = toys.topology(seed, vocabulary=6, states=10, roots=roots)
    text, p = read(shape, seed)
    states = shape.states_along(text.tokens, text.offsets)
    tally = SoftTally(shape, states)
    groups = grouped([tally])
    assert ((groups < 0) == (text.tokens == BOS)).all()
    if not merge:
        groups = np.where(groups < 0, -1, groups * len(groups) + np.arange(len(groups)))
    if roots > 1 and merge:  # rows of several positions must be made readable one by one: make them so here
        p[states >= 0] = toys.readable(shape, states[states >= 0], p[states >= 0])
    for block in blocks(groups, p, size, merge, device=False):
        tally.add(block)
    real = states >= 0
    expected = toys.literal_counts(shape, states[real], toys.readable(shape, states[real], p[real]))
    for name, found, wanted in zip(soft_counts.Counts._fields, tally.counts(), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9, err_msg=name)


@given(seeds, st.integers(1, 40))
def test_counted_whole_what_no_root_can_read_leaves_for_good(seed: int, size: int) -> None:
    """It is φ's at every state but the root, and nobody's there."""
    shape = toys.topology(seed, vocabulary=6, states=10, roots=3)
    text, p = read(shape, seed)
    states = shape.states_along(text.tokens, text.offsets)
    tally, real = SoftTally(shape, states, whole=True), states >= 0
    for block in blocks(grouped([tally]), p, size, merge=True, device=False):
        tally.add(block)
    expected = toys.literal_counts(shape, states[real], p[real])
    for name, found, wanted in zip(soft_counts.Counts._fields, tally.counts(), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9, err_msg=name)


@settings(max_examples=5)  # each compiles anew
@given(seeds, st.sampled_from([1, 3]))
def test_a_device_counts_the_same(seed: int, roots: int) -> None:
    shapes = [toys.topology(seed + i, vocabulary=6, states=10, roots=roots) for i in range(2)]
    shapes = shapes if roots == 1 else shapes[:1]  # with one root, the other can read the same sentences
    text, p = read(shapes[0], seed)
    tallies = [SoftTally(s, s.states_along(text.tokens, text.offsets)) for s in shapes]
    kept, soft_counts._on_host = soft_counts._on_host, lambda rows: rows  # as where the device is no CPU
    try:
        for block in blocks(grouped(tallies[:1]), p, 16, merge=False, device=True):
            assert not isinstance(block.p, np.ndarray)
            for tally in tallies:
                tally.add(block)
    finally:
        soft_counts._on_host = kept
    for tally in tallies:
        real, shape = tally.states >= 0, tally.topology
        expected = toys.literal_counts(
            shape, tally.states[real], toys.readable(shape, tally.states[real], p[real])
        )
        for found, wanted in zip(tally.counts(), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=2e-5)


@given(seeds)
def test_one_pass_counts_for_several_topologies(seed: int) -> None:
    shapes = [toys.topology(seed + i, vocabulary=6, states=6 + 3 * i) for i in range(3)]
    text, p = read(shapes[0], seed)  # one root has all labels, so every one of them can read it
    tallies = [SoftTally(s, s.states_along(text.tokens, text.offsets)) for s in shapes]
    context = np.arange(len(text.tokens)) % 2
    groups = grouped(tallies, context)
    for group in np.unique(groups[groups >= 0]).tolist():
        mine = groups == group
        assert all(len(set(t.states[mine].tolist())) == 1 for t in tallies) and len(set(context[mine])) == 1
    for block in blocks(groups, p, 25, merge=True, device=False):
        for tally in tallies:
            tally.add(block)
    for shape, tally in zip(shapes, tallies, strict=True):
        real = tally.states >= 0
        expected = toys.literal_counts(shape, tally.states[real], p[real])
        for found, wanted in zip(tally.counts(), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


def test_examples_in_the_docstrings() -> None:
    assert doctest.testmod(soft_counts).failed == 0
