"""CapSampleApprox: a cased n-gram model from a source without capitals (paper 4, section 5).

This is SampleApprox, but sentences are cased before they are read, and the probability that the source gives an uncased
word is divided among its variants:

    p̃(y | ȳ_i) = p_nn(u(y) | u(ȳ_i)) · r(y | ȳ_i),     r(y | ·) = p_cap(y | ·) / Σ_{y′: u(y′) = u(y)} p_cap(y′ | ·)

A table of r is made once. If neither y nor another variant of its word has an arc at a state of p_cap, all of them
get their probability from the backoff state, and the weight of φ cancels: r(y | q) = r(y | backoff(q)). So r is an
automaton without weights on φ, with arcs for all variants of a word wherever p_cap has one for any. Most words have one
variant, so the rows of r differ from that of the root in few cells.

At the start of a sentence the variants v are drawn as inside one, and then capitalised with probability
s, the corpus's style: r_start(y) = (1 − s) r(y) + s Σ_{v: capital(v) = y} r(v).
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from tacit.base.arrays import Floats, Ints
from tacit.distillation.approximate import Recast
from tacit.distillation.sampling import Sentences
from tacit.distillation.soft_counts import added, paths
from tacit.ngram.automaton import Topology, log_probs
from tacit.ngram.casing import Caser, best_variants, starting, with_starts
from tacit.text.flat import cells
from tacit.text.packed import bucket


class Ratios(NamedTuple):
    """r(y | q) on the states of p_cap: a label without an arc at a state has the ratio of its backoff state."""

    topology: Topology  # over cased words; its arcs lead nowhere
    inside: Floats  # [arcs]
    start: Floats  # [arcs] at the start of a sentence


def ratios(caser: Caser) -> Ratios:
    """Returns the table of r, from p_cap."""
    cased, shape = caser.cased, caser.model.topology
    many = np.diff(cased.starts)  # [uncased words] variants of each
    word = cased.lower[shape.labels]
    # one variant: the root's 1 is right everywhere
    varies = (many[word] > 1) | (shape.backoff[shape.owners] < 0)
    groups = np.unique(shape.owners[varies] * len(cased.uncased) + word[varies])
    state, word = np.divmod(groups, len(cased.uncased))
    group = np.repeat(np.arange(len(groups)), many[word])
    label = cased.variants[cells(cased.starts[word], many[word])]
    order = np.lexsort((label, state[group]))
    group, label = group[order], label[order]
    p = np.exp(log_probs(caser.model, state[group], label))
    inside = p / added(group, p, len(groups))[group]
    table = Topology(
        vocabulary=len(cased.words),
        starts=np.searchsorted(state[group], np.arange(len(shape) + 1)),
        labels=label,
        targets=np.full(len(label), -1),
        backoff=shape.backoff,
        initial=shape.initial,
    )
    raised = table.arc(state[group], cased.capital[label])  # a variant of the same word, so the arc exists
    start = (1 - caser.style) * inside + caser.style * added(raised, inside, len(inside))
    return Ratios(table, inside, start)


def recast(caser: Caser) -> Recast:
    """Returns the mapping to cased words: with it and a cased topology `approximate` is CapSampleApprox."""
    table, cased = ratios(caser), caser.cased
    path = paths(table.topology)  # root first
    root = int(np.flatnonzero(table.topology.backoff < 0)[0])
    arcs = slice(table.topology.starts[root], table.topology.starts[root + 1])
    base = np.zeros((2, len(cased.words)), np.float32)  # r at the root, inside and at starts
    base[:, table.topology.labels[arcs]] = table.inside[arcs], table.start[arcs]
    weights = np.stack([table.inside, table.start]).astype(np.float32)  # [2, arcs]
    known: dict[str, NDArray] = {}  # of the last sentences: the tokens, and what r depends on before each

    def rewrite(text: Sentences) -> Ints:
        inside = best_variants(caser, text.tokens, text.offsets)
        states = caser.model.topology.states_along(inside, text.offsets)
        known["tokens"] = with_starts(caser, text.tokens, inside)
        known["context"] = np.where(states < 0, -1, 2 * states + starting(cased.kinds[text.tokens]))
        return known["tokens"]

    def context(text: Sentences) -> Ints:
        if text.tokens is not known.get("tokens"):
            rewrite(Sentences(cased.lower[text.tokens], text.offsets))
        return known["context"]

    def spread(text: Sentences, positions: Ints, p: Array | Floats) -> Array | Floats:
        which, place = np.unique(context(text)[positions], return_inverse=True)
        state, start = np.divmod(which, 2)
        place = np.pad(place, (0, p.shape[0] - len(place)))  # rows beyond are 0
        differ = []  # per length of history, the longest last: cells whose ratio is not the root's
        for at in path[state].T[1:]:
            on = np.flatnonzero(at >= 0)
            nth, arc = table.topology.arcs_of(at[on])
            row = on[nth]
            differ.append((row, table.topology.labels[arc], weights[start[row], arc]))
        if isinstance(p, np.ndarray):
            rows = base[start]
            for row, label, value in differ:
                rows[row, label] = value
            return p[:, cased.lower] * rows[place]
        room = bucket(len(which))
        ratio = jnp.asarray(base)[jnp.asarray(np.pad(start, (0, room - len(start))))]
        for row, label, value in differ:
            ratio = _set(ratio, *(_padded(cell, room) for cell in (row, label, value)))
        return _shared(p, ratio, jnp.asarray(place), jnp.asarray(cased.lower))

    return Recast(len(cased.words), rewrite, spread, context)


def shares(caser: Caser) -> dict[str, dict[str, float]]:
    """Returns each uncased word's share of uses by variant, in any context; for uncased counts."""
    table, cased = ratios(caser), caser.cased
    root = int(np.flatnonzero(table.topology.backoff < 0)[0])
    shares_of: dict[str, dict[str, float]] = {}
    for arc in range(table.topology.starts[root], table.topology.starts[root + 1]):
        label = int(table.topology.labels[arc])
        of = shares_of.setdefault(cased.uncased.words[cased.lower[label]], {})
        of[cased.words.words[label]] = float(table.inside[arc])
    return shares_of


def _padded(cell: NDArray, beyond: int) -> Array:
    """Pads to few lengths, so that few programs are compiled; the padding falls outside the rows."""
    fill = beyond if cell.dtype == np.int64 else 0
    return jnp.asarray(np.pad(cell, (0, bucket(len(cell)) - len(cell)), constant_values=fill))


@partial(jax.jit, donate_argnums=0)
def _set(ratio: Array, row: Array, label: Array, value: Array) -> Array:
    return ratio.at[row, label].set(value, mode="drop")


@jax.jit
def _shared(p: Array, ratio: Array, place: Array, lower: Array) -> Array:
    return p[:, lower] * ratio[place]
