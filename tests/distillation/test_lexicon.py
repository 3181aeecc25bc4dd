"""The lexicon against the paper's figure, against reading words one by one, and against OpenFst (pynini)."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.base.errors import TacitError
from tacit.distillation import lexicon
from tacit.distillation.lexicon import NOTHING, PieceLexicon, of_segments, read_words
from tacit.text import pieces, vocabulary
from tacit.text.vocabulary import BOS, EOS, UNK

INNER, LAST = [3, 4, 5], [6, 7, 8]  # pieces without and with the marker
P = 9

segments = st.lists(
    st.tuples(st.lists(st.sampled_from(INNER), max_size=3), st.sampled_from(LAST)).map(
        lambda s: (*s[0], s[1])
    ),
    min_size=1,
    max_size=12,
    unique=True,
)


def with_specials(words: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    return [(), (EOS,), (UNK,), *words]


def read(m: PieceLexicon, tokens: list[int]) -> tuple[int, list[int]]:
    """The state after these pieces and the words written, arc by arc; state −1 where there is no arc."""
    state, written = 0, []
    for piece in tokens:
        for arc in range(m.starts[state], m.starts[state + 1]):
            if m.labels[arc] == piece:
                break
        else:
            return -1, written
        written += [int(m.outputs[arc])] if m.outputs[arc] != NOTHING else []
        state = int(m.targets[arc])
    return state, written


def test_figure_4_b() -> None:
    m = of_segments([[], [EOS], [], [3, 4], [3, 5]], pieces=6)  # ab, ac of a, b, c
    arcs = zip(m.owners.tolist(), m.labels.tolist(), m.outputs.tolist(), m.targets.tolist(), strict=True)
    assert list(arcs) == [(0, EOS, EOS, -1), (0, 3, NOTHING, 1), (1, 4, 3, 0), (1, 5, 4, 0)]


@settings(max_examples=100, deadline=None)
@given(segments)
def test_every_word_is_written_once_with_its_last_piece(words: list[tuple[int, ...]]) -> None:
    spelt = with_specials(words)
    m = of_segments(spelt, P)
    written = m.outputs[m.outputs != NOTHING].tolist()
    assert sorted(written) == list(range(1, len(spelt)))  # one state and one piece for every word
    for y, word in enumerate(spelt):
        if word:
            assert read(m, list(word)) == (-1 if y == EOS else 0, [y])
            assert m.labels[m.emits[y]] == word[-1] and m.outputs[m.emits[y]] == y
            assert read(m, list(word[:-1])) == (m.owners[m.emits[y]], [])
            path = m.paths[m.path_starts[y] : m.path_starts[y + 1]]
            assert m.labels[path].tolist() == list(word) and m.owners[path[0]] == 0
    assert m.emits[0] == NOTHING
    assert len(np.unique(m.keys)) == len(m.keys) and (np.diff(m.keys) > 0).all()  # deterministic, sorted
    assert m.arc(np.array([0, 0, -1]), np.array([EOS, 0, EOS])).tolist() == [0, -1, -1]
    many = [w for w in words for _ in range(2)]
    assert read(m, [p for w in many for p in w]) == (0, [3 + words.index(w) for w in many])


@settings(max_examples=15, deadline=None)
@given(segments)
def test_openfst_finds_the_same_machine(words: list[tuple[int, ...]]) -> None:
    """Equal to the closure of all (pieces, word) pairs, and as small as OpenFst makes it."""
    fst = pytest.importorskip("pynini")

    def machine(arcs: list[tuple[int, int, int, int]], states: int, final: list[int]) -> object:
        found = fst.Fst()
        found.add_states(states)
        found.set_start(0)
        for source, piece, word, target in arcs:
            found.add_arc(source, fst.Arc(piece, word, fst.Weight.one(found.weight_type()), target))
        for state in final:
            found.set_final(state)
        return found

    m = of_segments(with_specials(words), P)
    body = m.labels > EOS  # `</s>` is no part of the closure
    columns = (m.owners, m.labels, np.where(m.outputs == NOTHING, 0, m.outputs), m.targets)
    arcs = list(zip(*(c[body].tolist() for c in columns), strict=True))
    ours = machine(arcs, len(m), [0])

    pairs, states = [], 1  # one branch a word, back to the start: the closure of the union, as it is said
    for y, word in enumerate([(UNK,), *words], start=UNK):
        here = 0
        for i, piece in enumerate(word):
            last = i == len(word) - 1
            pairs.append((here, piece, y if last else 0, 0 if last else states))
            here, states = states, states + (not last)
    judge = machine(pairs, states, [0])
    mapper = fst.EncodeMapper("standard", encode_labels=True)
    small = fst.determinize(judge.copy().encode(mapper)).minimize()
    assert fst.equivalent(fst.determinize(ours.copy().encode(mapper)), small)
    assert small.num_states() == len(m)


@settings(max_examples=30, deadline=None)
@given(segments, st.integers(0, 1000))
def test_sentences_of_pieces_are_read_as_words(words: list[tuple[int, ...]], seed: int) -> None:
    """Any pieces at all, against a look-up of each word's spelling."""
    spelt = with_specials(words)
    last = np.array([True] * 3 + [False] * 3 + [True] * 3)
    draw = np.random.default_rng(seed)
    rows, expected = [], []
    for _ in range(6):
        body: list[int] = []
        for _ in range(int(draw.integers(0, 5))):
            body += spelt[draw.integers(2, len(spelt))]
            body += draw.integers(2, 9, draw.integers(0, 3)).tolist()
        rows.append([BOS, *body, EOS])
        said, begun = [BOS], []
        for piece in body:
            begun.append(piece)
            if last[piece]:
                said.append(spelt.index(tuple(begun)) if tuple(begun) in spelt else UNK)
                begun = []
        expected += [*said, *([UNK] if begun else []), EOS]
    tokens, offsets = np.array([t for row in rows for t in row]), np.cumsum([0, *map(len, rows)])
    found, bounds = read_words(of_segments(spelt, 9), tokens, offsets, last)
    assert found.tolist() == expected
    assert found[bounds[:-1]].tolist() == [BOS] * 6 and found[bounds[1:] - 1].tolist() == [EOS] * 6


def test_words_without_pieces_are_left_out() -> None:
    inventory = pieces.train({"low": 5, "lower": 4, "lowest": 3, "newest": 6, "wide": 2}, 18)
    words = vocabulary.build({"lowest": 3, "wide": 2, "x-ray": 1}, 0)
    m = lexicon.lexicon(inventory, words)
    assert (m.emits >= 0).tolist() == [False, True, True, True, True, False]  # no x in the inventory
    for word in ("lowest", "wide"):
        assert read(m, list(inventory.segment([word])[0])) == (0, [words.index[word]])


def test_bad_input() -> None:
    with pytest.raises(TacitError, match="marker at the end"):
        of_segments([[3], [3, 4]], 6)  # one begins the other
    with pytest.raises(TacitError, match="marker at the end"):
        of_segments([[3, 4], [3, 4]], 6)  # twice the same
    with pytest.raises(TacitError, match="none can be spelt"):
        of_segments([[], []], 6)


def test_examples() -> None:
    assert doctest.testmod(lexicon).failed == 0
