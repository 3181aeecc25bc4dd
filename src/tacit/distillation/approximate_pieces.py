"""NN2WFA_P and Algorithm 1 for a network over word-pieces (paper 4, sections 6 and 7.2).

From a piece network and the topology of a cased n-gram model A_W:

    T^u_W   the topology without capitals: n-grams that differ in capitals alone become one
    T^u_P   the same over pieces, M ∘ T^u_W
    A^u_P   SampleApprox of the network on it, of which only the counts are needed
    A^u_W   the counts mapped back to T^u_W, and the weights nearest to them
    A_W     CapSampleApprox of A^u_W, an automaton now the source, on the topology of A_W

Without a caser everything is uncased and A^u_W is the result. A_Pe is on the supplemental corpus's topology; A_Pi on
an inferred one; A_Pm interpolates both; A_Pr is on its topology. The paper infers n-grams from a word network's
sentences; without one, those of the piece network are read as words. One set of sentences of pieces serves all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.base.arrays import Bools, Ints
from tacit.base.errors import TacitError
from tacit.base.progress import Progress, no_progress, stage
from tacit.distillation.approximate import Models, approximate, at_least_one
from tacit.distillation.capitals import recast
from tacit.distillation.compose import Composed, compose, walk
from tacit.distillation.lexicon import PieceLexicon, lexicon, read_words
from tacit.distillation.minimise import minimise
from tacit.distillation.sampling import SampledModel, Sentences, draw, weighted
from tacit.distillation.soft_counts import SoftTally, added, grouped, reported, visits
from tacit.distillation.topology import MAX_NGRAMS, merge
from tacit.distillation.word_counts import PieceSums, endings, to_words
from tacit.ngram.automaton import Automaton, Topology, from_trie
from tacit.ngram.casing import Caser
from tacit.ngram.grams import grams
from tacit.ngram.trie import Trie
from tacit.text.pieces import Pieces
from tacit.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class PieceText:
    """Sentences of pieces drawn from a network, with what is needed to read words in them."""

    source: SampledModel
    sentences: Sentences
    lexicon: PieceLexicon
    ends: Bools  # [pieces] whether a word is over after each


def lowercase(topology: Topology, lower: Ints, uncased: int) -> Topology:
    """Merges n-grams that differ only in capitals (ConvertToLowercaseTopology); `lower` is u(y), [labels].

    >>> from tacit.ngram.trie import of_words
    >>> cased = from_trie(of_words([np.array([[0, 3], [0, 4], [4, 5]])], vocabulary=6))  # 3 and 4 are one word
    >>> merged = lowercase(cased, np.array([0, 1, 2, 3, 3, 4]), uncased=5)
    >>> merged.starts.tolist(), merged.labels.tolist()
    ([0, 4, 5, 6], [1, 2, 3, 4, 3, 4])
    """
    trie = grams(topology).trie
    keys, suffix = (
        [np.zeros(1, np.int64), np.arange(uncased)],
        [np.zeros(1, np.int64), np.zeros(uncased, np.int64)],
    )
    rows = lower  # of each row of a level, in the uncased trie
    for n in range(2, trie.order + 1):
        before, word = np.divmod(trie.keys[n], trie.vocabulary)
        unique, first, place = np.unique(
            rows[before] * uncased + lower[word], return_index=True, return_inverse=True
        )
        keys.append(unique)
        suffix.append(rows[trie.suffix[n]][first])
        rows = place
    return from_trie(Trie(uncased, tuple(keys), tuple(suffix)))


def piece_text(
    source: SampledModel,
    pieces: Pieces,
    words: Vocabulary,
    sentences: int,
    seed: int = 0,
    progress: Progress = no_progress,
) -> PieceText:
    """Draws sentences from a piece network; `words` are the uncased words of its n-gram models."""
    if source.vocabulary != len(pieces):
        raise TacitError(
            f"the model has {source.vocabulary} labels and the inventory {len(pieces)} pieces; use the model's own"
        )
    return PieceText(
        source, draw(source, seed, at_least_one(sentences), progress), lexicon(pieces, words), pieces.ends
    )


def drawn_words(text: PieceText) -> Sentences:
    """Returns the drawn sentences as words, `<unk>` for those outside the lexicon."""
    return Sentences(*read_words(text.lexicon, *text.sentences, text.ends))


def count_pieces(text: PieceText, composed: Composed, progress: Progress = no_progress) -> PieceSums:
    """Sums the network's probabilities on B = M ∘ A."""
    way = walk(composed, text.sentences.tokens, text.sentences.offsets, text.ends)
    tally = SoftTally(composed.topology, way.states, whole=True)
    groups = grouped([tally], way.history)
    known, unknown = np.zeros(len(composed.words)), np.zeros(len(composed.words))
    for block in reported(text.source.blocks(text.sentences, groups), groups, progress):
        tally.add(block)
        history = way.history[block.positions]
        ends, lost = endings(composed, way.states[block.positions], block.p)
        known += added(history, ends, len(known))
        unknown += added(history, lost, len(unknown))
    return PieceSums(tally.total, visits(composed.topology, way.states), known, unknown)


def words_from_pieces(text: PieceText, topology: Topology, progress: Progress = no_progress) -> Automaton:
    """Returns A^u_W: the model over uncased words, on an uncased topology, that is nearest to a piece network."""
    composed = compose(text.lexicon, topology)
    return minimise(topology, to_words(composed, count_pieces(text, composed, progress))).model


def approximate_pieces(
    text: PieceText,
    topology: Topology,
    seed: int = 0,
    caser: Caser | None = None,
    progress: Progress = no_progress,
) -> Automaton:
    """Returns the model on this topology that is nearest to a piece network (NN2WFA_P); with a caser it is cased."""
    if caser is None:
        return words_from_pieces(text, topology, progress)
    cased = caser.cased
    if topology.vocabulary != len(cased.words):
        raise TacitError(
            f"the topology has {topology.vocabulary} labels and there are {len(cased.words)} cased words; "
            "make it with the caser's vocabulary"
        )
    uncased = words_from_pieces(
        text, lowercase(topology, cased.lower, len(cased.uncased)), stage(progress, 0, 1 / 2)
    )
    sentences = len(text.sentences.offsets) - 1
    return approximate(weighted(uncased), topology, sentences, seed, stage(progress, 1 / 2, 1), recast(caser))


def algorithm_1_pieces(
    text: PieceText,
    supplement: Topology,
    inferred: Topology,
    seed: int = 0,
    max_ngrams: int = MAX_NGRAMS,
    weight: float = 0.5,
    caser: Caser | None = None,
    progress: Progress = no_progress,
) -> Models:
    """Returns A_Pe, A_Pi, A_Pm, A_Pr of a piece network; `inferred` is the topology of A_Pi."""
    external = approximate_pieces(text, supplement, seed, caser, stage(progress, 0, 1 / 3))
    from_inferred = approximate_pieces(text, inferred, seed, caser, stage(progress, 1 / 3, 2 / 3))
    merged = merge(external, from_inferred, weight, max_ngrams)
    refined = approximate_pieces(text, merged.topology, seed, caser, stage(progress, 2 / 3, 1))
    return Models(external, from_inferred, merged, refined)
