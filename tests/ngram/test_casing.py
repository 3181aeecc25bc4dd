"""Capitals: Viterbi against all paths, p̃ against the formula, and the rules of sentence starts by hand."""

from __future__ import annotations

import dataclasses
import doctest
from itertools import product

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.base.errors import TacitError
from tacit.distillation import capitals
from tacit.distillation.approximate import approximate, count
from tacit.distillation.large_vocabulary import spread_case
from tacit.distillation.sampling import Sentences, weighted
from tacit.distillation.topology import from_corpus
from tacit.ngram import casing, kneser_ney
from tacit.ngram.automaton import distribution, from_kneser_ney, from_trie
from tacit.ngram.trie import of_words
from tacit.ngram.validity import check
from tacit.text import vocabulary
from tacit.text.vocabulary import BOS, EOS, UNK, Vocabulary

seeds = st.integers(0, 100_000)
FORMS = [
    "us",
    "Us",
    "US",
    "may",
    "May",
    "new",
    "New",
    "york",
    "York",
    "in",
    "In",
    ".",
    "?",
    ",",
    "i",
    "I",
    "x",
]


def uncased_words(sentences: list[list[str]], size: int = 0) -> Vocabulary:
    counts: dict[str, int] = {}
    for word in (w.lower() for s in sentences for w in s):
        counts[word] = counts.get(word, 0) + 1
    return vocabulary.build(counts, size)


def random_caser(seed: int, order: int = 3) -> tuple[casing.Caser, np.random.Generator]:
    """A caser from chaos: every form may stand anywhere, so that variants are told by what precedes alone."""
    draw = np.random.default_rng(seed)
    likes = draw.dirichlet(np.full(len(FORMS), 0.4), len(FORMS))
    text = []
    for _ in range(40):
        at = [int(draw.integers(len(FORMS)))]
        for _ in range(int(draw.integers(0, 7))):
            at.append(int(draw.choice(len(FORMS), p=likes[at[-1]])))
        text.append([FORMS[i] for i in at])
    return casing.fit(text, uncased_words(text), order), draw


def random_text(caser: casing.Caser, draw: np.random.Generator, count: int = 6) -> Sentences:
    """Uncased sentences of any words, an unknown one among them; one has no word at all."""
    size = len(caser.cased.uncased)
    rows = [[BOS, *draw.integers(UNK, size, draw.integers(1, 7)).tolist(), EOS] for _ in range(count)]
    rows.insert(2, [BOS, EOS])
    return Sentences(np.array([w for r in rows for w in r]), np.cumsum([0, *map(len, rows)]))


def p_cap(caser: casing.Caser, before: list[int]) -> np.ndarray:
    """p_cap(· | history), [cased words], reading the history word by word."""
    shape, state = caser.model.topology, caser.model.topology.initial
    for word in before:
        state = int(shape.targets[shape.reading(np.array([state]), np.array([word]))[1][0]])
    return distribution(caser.model, state)


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(1, 3))
def test_the_best_path_is_the_best_of_all_paths(seed: int, order: int) -> None:
    caser, draw = random_caser(seed, order)
    text = random_text(caser, draw)
    found = casing.best_variants(caser, text.tokens, text.offsets)
    assert (caser.cased.lower[found] == text.tokens).all()

    def score(words: list[int]) -> float:
        return sum(np.log(p_cap(caser, words[:i])[words[i]]) for i in range(len(words)))

    for a, b in zip(text.offsets, text.offsets[1:], strict=False):
        choices = [np.flatnonzero(caser.cased.lower == u).tolist() for u in text.tokens[a + 1 : b]]
        best = max(score(list(path)) for path in product(*choices)) if b - a < 7 else None
        if best is not None:
            assert score(found[a + 1 : b].tolist()) == pytest.approx(best, abs=1e-9)


def starts_by_hand(words: list[str]) -> list[bool]:
    """Whether a word at each place would start a sentence; `words` begin with `<s>`."""
    found = [False]
    for i in range(1, len(words)):
        before = words[1:i]
        no_word_yet = not any(w[0].isalpha() or w == "<unk>" for w in before)
        found.append(no_word_yet or words[i - 1] in (".", "?"))
    return found


@settings(max_examples=40, deadline=None)
@given(seeds, st.sampled_from([0.0, 0.25, 1.0]))
def test_spreading_is_the_formula_and_keeps_the_sums(seed: int, style: float) -> None:
    caser, draw = random_caser(seed)
    caser = dataclasses.replace(caser, style=style)
    cased, text = caser.cased, random_text(caser, draw)
    way = capitals.recast(caser)
    rewritten = Sentences(way.rewrite(text), text.offsets)
    inside = casing.best_variants(caser, text.tokens, text.offsets)
    positions = draw.permutation(np.flatnonzero(text.tokens != BOS))
    p = np.pad(draw.dirichlet(np.ones(len(cased.uncased) - 1), len(positions)), ((0, 0), (1, 0)))
    found = np.asarray(way.spread(rewritten, positions, p))

    capital = {i: cased.words.index.get(w[0].upper() + w[1:], i) for i, w in enumerate(cased.words.words)}
    for row, position in enumerate(positions.tolist()):
        first = int(text.offsets[np.searchsorted(text.offsets, position, side="right") - 1])
        told = p_cap(caser, inside[first + 1 : position].tolist())
        starts = starts_by_hand([cased.uncased.words[i] for i in text.tokens[first : position + 1]])[-1]
        expected = np.zeros(len(cased.words))
        for v in range(1, len(cased.words)):
            u = cased.lower[v]
            share = p[row, u] * told[v] / told[cased.lower == u].sum()
            expected[v] += share * (1 - style * starts)
            expected[capital[v]] += share * style * starts
        np.testing.assert_allclose(found[row], expected, rtol=1e-5, atol=1e-12)
        for u in range(len(cased.uncased)):  # p̃ summed over variants is what the source said
            assert found[row, cased.lower == u].sum() == pytest.approx(p[row, u], abs=1e-7)

    same = way.context(rewritten)
    again = way.context(
        Sentences(rewritten.tokens.copy(), text.offsets)
    )  # sentences it has not rewritten itself
    assert (same == again).all()
    assert (way.rewrite(text) == rewritten.tokens).all()


@settings(max_examples=4, deadline=None)
@given(seeds)
def test_a_device_spreads_the_same(seed: int) -> None:
    caser, draw = random_caser(seed)
    text = random_text(caser, draw)
    way = capitals.recast(caser)
    rewritten = Sentences(way.rewrite(text), text.offsets)
    positions = np.flatnonzero(text.tokens != BOS)
    p = np.pad(draw.dirichlet(np.ones(len(caser.cased.uncased) - 1), len(positions)), ((0, 0), (1, 0)))
    on_device = way.spread(rewritten, positions, jnp.asarray(np.pad(p, ((0, 3), (0, 0))), jnp.float32))
    np.testing.assert_allclose(on_device[: len(p)], way.spread(rewritten, positions, p), rtol=1e-5, atol=1e-9)
    assert not np.asarray(on_device[len(p) :]).any()


STYLE = [
    ["The", "cat", "saw", "Ana", "."],
    ["Ana", "may", "see", "the", "cat", "in", "May", "."],
    ["In", "May", "cats", "sleep", ".", "Cats", "like", "the", "sun", "."],
    ["NASA", "saw", "cats", "in", "May", "."],
    ['"', "The", "cat", "may", "see", "!", '"', "she", "said", "."],
    ["Perhaps", "she", "said", "the", "sun", "."],
]


def test_a_capital_due_to_the_place_alone_is_not_learnt() -> None:
    caser = casing.fit(STYLE, uncased_words(STYLE), min_count=1)
    words = caser.cased.words
    assert caser.style == 1.0  # the, in, cats and the after a quote; Ana has her own capital
    inside = distribution(caser.model, caser.model.topology.initial)
    assert inside[words.index["the"]] > 3 * inside[words.index["The"]]
    assert inside[words.index["Ana"]] > 0.01 and "ana" not in words.index
    assert inside[words.index["NASA"]] > 0.01 and "nasa" not in words.index  # seen at a start only: as found
    got = casing.restore(
        caser, [["the", "cat", "may", "sleep", "in", "may", "."], ['"', "in", "may", "?", '"', "she"]]
    )
    assert " ".join(got[0]) == "The cat may sleep in May ." and " ".join(got[1]) == '" In May ? " she'


def test_style_is_followed_or_not() -> None:
    plain = [
        ["the", "cat", "saw", "Ana"],
        ["ana", "saw", "the", "cat"],
        ["We", "saw", "it"],
        ["so", "we", "saw", "the"],
    ]
    caser = casing.fit(plain, uncased_words(plain), min_count=1)
    assert caser.style == pytest.approx(1 / 2)  # We, against the; ana and so are nowhere else
    text = [["the", "zebra", "saw", "ana"], ["zebra"]]
    assert casing.restore(caser, text) == [["The", "zebra", "saw", "Ana"], ["Zebra"]]  # a half: given
    tokens, offsets = np.array([BOS, caser.cased.uncased.index["we"], EOS]), np.array([0, 3])
    written = casing.with_starts(caser, tokens, casing.best_variants(caser, tokens, offsets))
    assert caser.cased.words.words[written[1]] == "We"  # and so in text that is drawn
    assert casing.restore(dataclasses.replace(caser, style=0.4), text) == [
        ["the", "zebra", "saw", "Ana"],
        ["zebra"],
    ]


def test_runs_of_marks_end_a_sentence_and_dots_do_not() -> None:
    words = ["<s>", "yes", "!?", "no", "...", "so", "??", "ok", ".", "a"]
    starts = np.flatnonzero(casing.sentence_starts(casing.kinds(words)))
    assert [words[i] for i in starts] == ["yes", "no", "ok", "a"]


def test_variants() -> None:
    text = [["Tom", "saw", "TOM"], ["we", "saw", "Tom"], ["a", "tom", "cat"], ["a", "Rare", "cat"]]
    words = vocabulary.build(dict.fromkeys(("tom", "saw", "we", "a", "rare", "unseen"), 1), 0)
    cased = casing.fit(text, words).cased
    assert cased.words.words[:3] == words.words[:3] and cased.lower[:3].tolist() == [BOS, EOS, UNK]
    by_word = {
        u: [cased.words.words[i] for i in np.flatnonzero(cased.lower == k)] for u, k in words.index.items()
    }
    assert by_word["tom"] == ["Tom"]  # tom and TOM were seen once
    assert by_word["rare"] == ["Rare"] and by_word["unseen"] == ["unseen"] and by_word["a"] == ["a"]
    tokens, offsets = casing.encode(cased, [["TOM", "saw", "cats", "<unk>", "</s>"], []])
    index = cased.words.index
    assert tokens.tolist() == [BOS, index["Tom"], index["saw"], UNK, UNK, UNK, EOS, BOS, EOS]
    assert offsets.tolist() == [0, 7, 9]


def test_accuracy_counts_words_with_letters() -> None:
    assert casing.accuracy(
        [["I", ",", "Tom"], ["so", "1"]], [["i", ";", "Tom"], ["so", "2"]]
    ) == pytest.approx(2 / 3)


def test_shares_of_uncased_counts() -> None:
    caser = casing.fit(STYLE, uncased_words(STYLE), min_count=1)
    shares = capitals.shares(caser)
    assert set(shares["may"]) == {"may", "May"} and shares["cat"] == {"cat": 1.0}
    assert all(sum(of.values()) == pytest.approx(1) for of in shares.values())
    spread = spread_case({"may": 8.0, "cat": 2.0}, shares)
    assert spread["cat"] == 2.0 and spread["may"] + spread["May"] == pytest.approx(8.0)


def test_a_cased_model_from_an_uncased_source() -> None:
    """On single words alone, counts are the literal sum of p̃; on all n-grams, the text's own model is met again."""
    text = STYLE * 3
    words = uncased_words(text)
    caser = casing.fit(text, words, min_count=1)
    size = len(caser.cased.words)
    uncased = Sentences(
        *casing.encode(
            casing.Cased(words, words, np.arange(len(words))), [[w.lower() for w in s] for s in text]
        )
    )
    source = weighted(from_kneser_ney(kneser_ney.fit(uncased.tokens, uncased.offsets, len(words), 3)))
    way = capitals.recast(caser)

    unigrams = from_trie(of_words([], size))
    drawn = source.sample(1, 0, 30)
    (found,) = count(source, [unigrams], drawn, recast=way)
    mine = Sentences(way.rewrite(drawn), drawn.offsets)
    every = np.arange(len(drawn.tokens))
    expected = np.zeros(size)
    for block in source.blocks(drawn, np.where(drawn.tokens == BOS, -1, every)):
        expected += np.asarray(way.spread(mine, block.positions, block.p)).sum(axis=0)
    np.testing.assert_allclose(found.arcs, expected[1:], rtol=1e-5, atol=1e-9)

    cased = Sentences(*casing.encode(caser.cased, text))
    model = approximate(source, from_corpus(cased, size, 3).topology, 300, recast=way)
    assert not check(model).problems
    index = caser.cased.words.index
    start = distribution(model, model.topology.initial)
    assert start[index["The"]] > 3 * start[index["the"]]
    after_in = model.topology.targets[model.topology.reading(np.array([0]), np.array([index["in"]]))[1][0]]
    assert (
        distribution(model, int(after_in))[index["May"]]
        > 5 * distribution(model, int(after_in))[index["may"]]
    )


def test_bad_input() -> None:
    words = uncased_words(STYLE)
    with pytest.raises(TacitError, match="no words"):
        casing.fit([[], []], words)
    with pytest.raises(TacitError, match="order is 4"):
        casing.fit(STYLE, words, order=4)
    with pytest.raises(TacitError, match="the vocabulary contains 'Ana'"):
        casing.fit(STYLE, vocabulary.build({"Ana": 1}, 0))


def test_examples() -> None:
    for module in (casing, capitals):
        assert doctest.testmod(module).failed == 0
