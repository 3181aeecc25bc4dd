"""Words counted by their pieces: against every sentence of a tiny alphabet, and with few sentences."""

from __future__ import annotations

import doctest
from collections.abc import Iterator
from functools import cache
from itertools import permutations

import numpy as np
import pytest

import toys
from tacit.distillation import word_counts
from tacit.distillation.approximate_pieces import PieceText, count_pieces, words_from_pieces
from tacit.distillation.compose import compose
from tacit.distillation.lexicon import of_segments
from tacit.distillation.sampling import ProbabilityBlock, SampledModel, Sentences
from tacit.ngram.automaton import Topology
from tacit.ngram.validity import check
from tacit.text.vocabulary import BOS, EOS, UNK

A, B_, C_ = 3, 4, 5  # pieces: a continues a word, b and c end one
PIECES, LONGEST = 6, 4
LAST = np.array([True, True, True, False, True, True])
# ab, aab, b; c and aac, and what `</s>` cuts off, are words outside. Ids of words are places in this list.
SPELT = [(), (EOS,), (UNK,), (A, B_), (A, A, B_), (B_,), (A, C_)]
SHARES = list(permutations((0.5, 0.25, 0.125, 0.125)))


@cache
def following(before: tuple[int, ...], seed: int) -> dict[int, float]:
    """p(x | all pieces before): any function of them all, in eighths."""
    if len(before) == LONGEST:
        return {EOS: 1.0}
    place = np.random.default_rng([seed, *before]).integers(len(SHARES))
    return dict(zip((EOS, A, B_, C_), SHARES[place], strict=True))


def every_sentence(seed: int, before: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], float]]:
    """All sentences without `<s>`, with their probabilities."""
    for piece, p in following(before, seed).items():
        if piece == EOS:
            yield (*before, EOS), p
            continue
        for sentence, rest in every_sentence(seed, (*before, piece)):
            yield sentence, p * rest


def source(seed: int) -> SampledModel:
    def blocks(text: Sentences, groups: np.ndarray) -> Iterator[ProbabilityBlock]:
        at = np.argsort(groups, kind="stable")
        at = at[groups[at] >= 0]
        p = np.zeros((len(at), PIECES))
        for row, position in enumerate(at):
            start = text.offsets[np.searchsorted(text.offsets, position, side="right") - 1]
            for piece, share in following(tuple(text.tokens[start + 1 : position].tolist()), seed).items():
                p[row, piece] = share
        yield ProbabilityBlock(at, p)

    def sample(seed: int, first: int, count: int) -> Sentences:
        raise AssertionError("sentences are given")

    return SampledModel(PIECES, sample, blocks)


def text_of(seed: int, sentences: list[tuple[int, ...]]) -> PieceText:
    tokens = np.array([t for s in sentences for t in (BOS, *s)])
    offsets = np.cumsum([0, *(1 + len(s) for s in sentences)])
    return PieceText(source(seed), Sentences(tokens, offsets), of_segments(SPELT, PIECES), LAST)


def spelling(before: tuple[int, ...], pieces: tuple[int, ...], seed: int) -> float:
    """p of these pieces after those."""
    p = 1.0
    for piece in pieces:
        p *= following(before, seed).get(piece, 0.0)
        before = (*before, piece)
    return p


def by_enumeration(shape: Topology, seed: int, scale: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """C(y, q), C(φ, q) and visits of q, from every beginning of a word and every word after it."""
    arcs, phi, n = np.zeros(len(shape.labels)), np.zeros(len(shape)), np.zeros(len(shape))

    def go(before: tuple[int, ...], weight: float, state: int) -> None:
        p = np.array([spelling(before, pieces, seed) if pieces else 0.0 for pieces in SPELT])
        p[UNK] = 1 - p.sum()
        for q in toys.path(shape, state):
            n[q] += weight
        for word in range(1, len(SPELT)):
            for q in toys.path(shape, state):
                if word in toys.has(shape, q):
                    arcs[toys.has(shape, q)[word]] += weight * p[word]
                    break
                phi[q] += weight * p[word]
        for pieces in words_after(before):
            word = SPELT.index(pieces) if pieces in SPELT else UNK
            where = next(q for q in toys.path(shape, state) if word in toys.has(shape, q))
            go(
                before + pieces,
                weight * spelling(before, pieces, seed),
                int(shape.targets[toys.has(shape, where)[word]]),
            )

    def words_after(before: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Any pieces up to the end of a word, as far as a sentence has room."""
        room = range(LONGEST - len(before))
        return [(A,) * i + (end,) for i in room for end in (B_, C_)]

    go((), scale, shape.initial)
    return arcs, phi, n


@pytest.mark.parametrize(("seed", "order"), [(0, 2), (1, 3), (2, 3)])
def test_all_sentences_give_the_counts_of_the_definition(seed: int, order: int) -> None:
    """Each sentence as often as it is likely: every beginning of a word is drawn, and the ratios are exact."""
    shape = toys.kneser(seed, count=12, vocabulary=len(SPELT), order=order).topology
    scale = 8**LONGEST
    sentences = [s for s, p in every_sentence(seed) for _ in range(round(scale * p))]
    assert len(sentences) == scale
    text = text_of(seed, sentences)
    composed = compose(text.lexicon, shape)
    found = word_counts.to_words(composed, count_pieces(text, composed))
    arcs, phi, n = by_enumeration(shape, seed, scale)
    np.testing.assert_allclose(found.arcs, arcs, rtol=0, atol=1e-7 * scale)
    np.testing.assert_allclose(found.phi, phi, rtol=0, atol=1e-7 * scale)

    model = words_from_pieces(text, shape)
    assert not check(model).problems
    ends = ~np.isin(np.arange(len(shape)), shape.backoff) & (
        n > 0
    )  # nothing backs off to it: weights are shares
    mine = ends[shape.owners] & (arcs > 0)
    assert mine.sum() > 5
    np.testing.assert_allclose(np.exp(model.log_p[mine]), (arcs / n.clip(1)[shape.owners])[mine], rtol=1e-6)


def test_a_word_whose_pieces_were_not_drawn_has_its_share() -> None:
    """Two sentences: after `b`, ab and aab are counted although no a was drawn there."""
    seed = 4
    shape = toys.kneser(3, count=200, vocabulary=len(SPELT), order=2).topology
    text = text_of(seed, [(B_, B_, EOS), (A, B_, EOS)])
    composed = compose(text.lexicon, shape)
    found = word_counts.to_words(composed, count_pieces(text, composed))
    after_b = int(shape.targets[shape.arc(np.array([0]), np.array([5]))[0]])  # twice, in one sentence
    first = sum(following(before, seed)[A] for before in [(B_,), (B_, B_)])
    drawn = following((A,), seed)  # a was drawn elsewhere; aa was not, and only aab begins with it
    for word, share in [(3, drawn[B_]), (6, drawn[C_]), (4, drawn[A])]:
        arc = shape.arc(np.array([after_b]), np.array([word]))[0]
        assert arc >= 0 and found.arcs[arc] == pytest.approx(first * share)
    visited = shape.owners == after_b
    assert found.arcs[visited].sum() + found.phi[after_b] == pytest.approx(2, abs=0.5)
    model = words_from_pieces(text, shape)
    assert not check(model).problems and model.log_p[visited].min() > -10


def test_doctests() -> None:
    assert doctest.testmod(word_counts).failed == 0
