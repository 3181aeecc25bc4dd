"""Approximates a neural model by an n-gram model: SampleApprox and Algorithm 1 (paper 4, sections 4 and 7.2).

SampleApprox draws sentences from the model, counts on a topology, and finds the nearest weights. Algorithm 1 does so on
several topologies and gives four models:

    A_e  on the topology of a supplemental corpus's model
    A_i  on a topology inferred from the neural model's own sentences
    A_m  A_e and A_i interpolated
    A_r  on the topology of A_m

One set of sentences serves all of them, and A_e and A_i are counted in one pass over the probabilities.

The source and the automaton may have different labels: the network learns from text without capitals, the keyboard's
model has them (CapSampleApprox, section 5). A `Recast` stands between the two. It rewrites drawn sentences in the
automaton's labels, word by word, and spreads a block's probabilities over these labels. For capitals,

    p̃(y | ȳ_i) = p_nn(u(y) | u(ȳ_i)) · p_cap(y | ȳ_i) / Σ_{y′: u(y′) = u(y)} p_cap(y′ | ȳ_i)

is `p[:, u] * ratio` with u [cased labels] the uncased label of each and ratio [rows, cased labels]; the ratio of
most words does not depend on the context, so it is one row and a few cells that differ. Blocks of a network are
device arrays, and such a product stays on the device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jax import Array

from tacit.base.arrays import Floats, Ints
from tacit.base.errors import TacitError
from tacit.base.progress import Progress, no_progress, stage
from tacit.distillation.minimise import minimise
from tacit.distillation.sampling import ProbabilityBlock, SampledModel, Sentences, draw
from tacit.distillation.soft_counts import Counts, SoftTally, grouped, reported
from tacit.distillation.topology import COMMON_WORDS, MAX_NGRAMS, from_corpus, merge
from tacit.ngram.automaton import Automaton, Topology


class Recast(NamedTuple):
    """A mapping from a source's labels to an automaton's.

    `rewrite(text)`: the tokens of drawn sentences in the automaton's labels, [total], one for each token.
    `spread(text, positions, p)`: from rows over the source's labels to rows over the automaton's, with unchanged
    sums; `text` is the rewritten one, `positions` as in a block, and there may be rows of 0 beyond them.
    `context(text)`: numbers [total]; positions with the same number get the same `spread`. None: all differ.
    """

    vocabulary: int
    rewrite: Callable[[Sentences], Ints]
    spread: Callable[[Sentences, Ints, Array | Floats], Array | Floats]
    context: Callable[[Sentences], Ints] | None = None


class Models(NamedTuple):
    """The four models of Algorithm 1."""

    external: Automaton  # A_e
    inferred: Automaton  # A_i
    merged: Automaton  # A_m
    refined: Automaton  # A_r


def approximate(
    source: SampledModel,
    topology: Topology,
    sentences: int,
    seed: int = 0,
    progress: Progress = no_progress,
    recast: Recast | None = None,
    fixed: bool = False,
) -> Automaton:
    """Returns the model on this topology that is nearest to the source (SampleApprox), from drawn sentences.

    `fixed` takes the cheaper minimisation.

    >>> from tacit.ngram import automaton, kneser_ney
    >>> from tacit.distillation.sampling import weighted
    >>> pairs = automaton.from_kneser_ney(kneser_ney.fit([0, 3, 4, 1, 0, 3, 1], [0, 4, 7], vocabulary=5, order=2))
    >>> again = approximate(weighted(pairs), pairs.topology, sentences=50)
    >>> bool(np.allclose(automaton.distribution(again, 1), automaton.distribution(pairs, 1), atol=1e-6))
    True
    """
    text = draw(source, seed, at_least_one(sentences), stage(progress, 0, 1 / 2))
    counts = count(source, [topology], text, stage(progress, 1 / 2, 1), recast)
    return minimise(topology, counts[0], fixed).model


def algorithm_1(
    source: SampledModel,
    supplement: Automaton,
    sentences: int,
    seed: int = 0,
    order: int = 3,
    max_ngrams: int = MAX_NGRAMS,
    common: int = COMMON_WORDS,
    weight: float = 0.5,
    progress: Progress = no_progress,
    recast: Recast | None = None,
    mix: Callable[[Topology, Counts], Counts] | None = None,
) -> Models:
    """Returns A_e, A_i, A_m and A_r of a neural model over words.

    `supplement` is the model of a supplemental corpus (`topology.from_corpus`); `weight` is A_e's share of A_m;
    the other arguments bound the inferred and the merged topology as they bound the supplement's. `mix` changes the
    counts of A_r before its weights are found.
    """
    labels = recast.vocabulary if recast else source.vocabulary
    if supplement.topology.vocabulary != labels:
        raise TacitError(
            f"the supplemental model has {supplement.topology.vocabulary} labels, the neural model gives {labels}; "
            "make both with one vocabulary"
        )
    text = draw(source, seed, at_least_one(sentences), stage(progress, 0, 1 / 3))
    recast_text = Sentences(recast.rewrite(text), text.offsets) if recast else text
    shapes = [supplement.topology, from_corpus(recast_text, labels, order, max_ngrams, common).topology]
    counts = count(source, shapes, text, stage(progress, 1 / 3, 2 / 3), recast)
    external, inferred = (minimise(s, c).model for s, c in zip(shapes, counts, strict=True))
    merged = merge(external, inferred, weight, max_ngrams, recast_text)
    (again,) = count(source, [merged.topology], text, stage(progress, 2 / 3, 1), recast)
    again = mix(merged.topology, again) if mix else again
    return Models(external, inferred, merged, minimise(merged.topology, again).model)


def count(
    source: SampledModel,
    topologies: Sequence[Topology],
    text: Sentences,
    progress: Progress = no_progress,
    recast: Recast | None = None,
) -> list[Counts]:
    """Counts on several topologies in one pass over the source's probabilities on a text."""
    recast_text = Sentences(recast.rewrite(text), text.offsets) if recast else text
    tallies = [SoftTally(s, s.states_along(recast_text.tokens, recast_text.offsets)) for s in topologies]
    context = None
    if recast:
        context = (
            np.arange(len(recast_text.tokens)) if recast.context is None else recast.context(recast_text)
        )
    groups = grouped(tallies, context)
    for positions, p in reported(source.blocks(text, groups), groups, progress):
        block = ProbabilityBlock(positions, recast.spread(recast_text, positions, p) if recast else p)
        for tally in tallies:
            tally.add(block)
    return [tally.counts() for tally in tallies]


def at_least_one(sentences: int) -> int:
    """Returns the number of sentences; refuses a number below one."""
    if sentences < 1:
        raise TacitError(f"sentences is {sentences}; draw at least one to approximate a model")
    return sentences
