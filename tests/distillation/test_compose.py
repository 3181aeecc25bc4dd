"""B = M ∘ A: the paper's figure, its conditions read literally, equal probabilities, and models over words."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_lexicon import read, segments, with_specials

import toys
from tacit.base.errors import TacitError
from tacit.distillation import approximate_pieces, compose
from tacit.distillation.approximate_pieces import PieceText, lowercase, words_from_pieces
from tacit.distillation.compose import Composed
from tacit.distillation.lexicon import NOTHING, PieceLexicon, of_segments
from tacit.distillation.sampling import Sentences, weighted
from tacit.ngram.automaton import Automaton, Topology, distribution, from_trie
from tacit.ngram.grams import grams, words
from tacit.ngram.trie import of_words
from tacit.ngram.validity import check
from tacit.text.vocabulary import BOS, EOS, UNK

seeds = st.integers(0, 100_000)
ENDS = np.array([True] * 3 + [False] * 3 + [True] * 3)  # of the pieces of test_lexicon
FAILURE = "φ"


def named(b: Composed) -> set[tuple[object, object, object]]:
    """Every arc of B as (pair, piece, pair), failure arcs too."""
    pair = list(zip(b.first.tolist(), b.second.tolist(), strict=True))
    shape = b.topology
    arcs = {
        (pair[q], int(x), None if t < 0 else pair[t])
        for q, x, t in zip(shape.owners.tolist(), shape.labels, shape.targets.tolist(), strict=True)
    }
    return arcs | {
        (pair[q], FAILURE, pair[back]) for q, back in enumerate(shape.backoff.tolist()) if back >= 0
    }


def literal(m: PieceLexicon, a: Topology) -> set[tuple[object, object, object]]:
    """The paper's construction, pair by pair from all (0, q), with its two conditions and its backoff arcs."""
    arcs_of = {q: range(int(m.starts[q]), int(m.starts[q + 1])) for q in range(len(m))}

    def can_write(state: int) -> set[int]:  # R[state]; words are never empty, so the tree is left at once
        if state == 0:
            return set()
        found = set()
        for arc in arcs_of[state]:
            said = int(m.outputs[arc])
            found |= {said} if said != NOTHING else can_write(int(m.targets[arc]))
        return found

    found, todo, seen = set(), [(0, q) for q in range(len(a))], set()
    while todo:
        here = todo.pop()
        if here in seen:
            continue
        seen.add(here)
        q1, q2 = here
        for arc in arcs_of[q1]:
            said, piece, target = int(m.outputs[arc]), int(m.labels[arc]), int(m.targets[arc])
            if said in toys.has(a, q2):  # condition 1
                after = int(a.targets[toys.has(a, q2)[said]])
                found.add((here, piece, None if after < 0 else (target, after)))
            elif said == NOTHING and can_write(target) & set(toys.has(a, q2)):  # condition 2
                found.add((here, piece, (target, q2)))
                todo.append((target, q2))
        if a.backoff[q2] >= 0:
            found.add((here, FAILURE, (q1, int(a.backoff[q2]))))
    return found


def test_figure_4() -> None:
    ab, ac, a, b, c = 3, 4, 3, 4, 5
    # (a): 0 reads ab or backs off to 2, which reads ab and ac; 1 and 3 are final. Final here: has an arc for `</s>`.
    words_automaton = Topology(
        vocabulary=5,
        starts=np.array([0, 1, 2, 4, 5]),
        labels=np.array([ab, EOS, ab, ac, EOS]),
        targets=np.array([1, -1, 1, 3, -1]),
        backoff=np.array([2, -1, -1, -1]),
        initial=0,
    )
    m = of_segments([(), (EOS,), (), (a, b), (a, c)], 6)
    found = compose.compose(m, words_automaton)
    finals = {((0, 1), EOS, None), ((0, 3), EOS, None)}
    assert named(found) - finals == {
        ((0, 0), FAILURE, (0, 2)),
        ((0, 0), a, (1, 0)),
        ((0, 2), a, (1, 2)),
        ((1, 0), FAILURE, (1, 2)),
        ((1, 0), b, (0, 1)),
        ((1, 2), b, (0, 1)),
        ((1, 2), c, (0, 3)),
    }
    assert finals <= named(found)
    start = found.topology.initial
    assert (found.first[start], found.second[start]) == (0, 0)
    written = [found.topology.labels[arc] for arc in found.emits]
    assert written == [b, EOS, b, c, EOS]  # w_q[y] = w_{(q_y, q)}[x_y]


@settings(max_examples=100, deadline=None)
@given(seeds, segments, st.integers(1, 3), st.booleans())
def test_arcs_are_those_of_the_papers_conditions(
    seed: int, spelt: list[tuple[int, ...]], roots: int, gap: bool
) -> None:
    spelt = with_specials(spelt)
    if gap:  # a word that cannot be spelt
        spelt[-1] = ()
    m = of_segments(spelt, 9)
    a = toys.topology(seed, vocabulary=len(spelt), states=8, roots=roots)
    found = compose.compose(m, a)
    assert named(found) == literal(m, a)
    facts = check(found.topology)
    assert not [
        p for p in facts.problems if p.what != "not reachable"
    ]  # backoff-complete above all; A itself may have
    for arc, label in enumerate(a.labels.tolist()):  # such states
        at = found.emits[arc]
        if not spelt[label]:
            assert at == -1
            continue
        owner = found.topology.owners[at]
        assert found.second[owner] == a.owners[arc] and found.first[owner] == m.owners[m.emits[label]]
        assert found.topology.labels[at] == spelt[label][-1]


def pushed(b: Composed, m: PieceLexicon, a: Automaton) -> Automaton:
    """B with A's weights: a piece weighs what the words that go on with it weigh, of those possible before it.

    With S(q1, q2) = Σ_{y that q1 begins} p(y | q2), w[x] = S(d_{q1}[x], q2) / S(q1, q2), and for φ
    w_{q2}[φ] S(q1, q2′) / S(q1, q2).
    """
    begins: dict[int, set[int]] = {q: set() for q in range(len(m))}
    below: dict[int, set[int]] = {}  # words through each arc of M
    for y in range(m.words):
        for arc in m.paths[m.path_starts[y] : m.path_starts[y + 1]].tolist():
            begins[int(m.owners[arc])].add(y)
            below.setdefault(arc, set()).add(y)
    p = np.array([distribution(a, q) for q in range(len(a.topology))])

    def mass(some: set[int], q: int) -> float:
        return float(p[q, sorted(some)].sum())

    shape = b.topology
    log_p = []
    for state, piece in zip(shape.owners.tolist(), shape.labels.tolist(), strict=True):
        q1, q2 = int(b.first[state]), int(b.second[state])
        arc = int(m.arc(np.array([q1]), np.array([piece]))[0])
        log_p.append(np.log(mass(below[arc], q2) / mass(begins[q1], q2)))
    log_backoff = np.zeros(len(shape))
    for state, (q1, q2) in enumerate(zip(b.first.tolist(), b.second.tolist(), strict=True)):
        back = int(a.topology.backoff[q2])
        if back >= 0:
            ratio = mass(begins[q1], back) / mass(begins[q1], q2)
            log_backoff[state] = a.log_backoff[q2] + np.log(ratio)
    return Automaton(shape, np.array(log_p), log_backoff)


def spell(text: Sentences, spelt: list[tuple[int, ...]]) -> Sentences:
    tokens, offsets = [], [0]
    for i, j in zip(text.offsets, text.offsets[1:], strict=False):
        tokens += [BOS, *(piece for word in text.tokens[i + 1 : j].tolist() for piece in spelt[word])]
        offsets.append(len(tokens))
    return Sentences(np.array(tokens), np.array(offsets))


def log_p(model: Automaton, text: Sentences) -> np.ndarray:
    """log p of each sentence, token by token."""
    found = []
    for i, j in zip(text.offsets, text.offsets[1:], strict=False):
        state, total = model.topology.initial, 0.0
        for token in text.tokens[i + 1 : j].tolist():
            total += np.log(distribution(model, state)[token])
            state = int(
                model.topology.targets[model.topology.reading(np.array([state]), np.array([token]))[1][0]]
            )
        found.append(total)
    return np.array(found)


@settings(max_examples=30, deadline=None)
@given(seeds, segments)
def test_sentences_have_the_same_probability_in_pieces(seed: int, spelt: list[tuple[int, ...]]) -> None:
    spelt = with_specials(spelt)
    a = toys.kneser(seed, vocabulary=len(spelt))
    m = of_segments(spelt, 9)
    b = compose.compose(m, a.topology)
    model = pushed(b, m, a)
    for q1 in range(len(m)):  # every state sums to one, so φ is what it must be
        at = np.flatnonzero(b.first == q1)
        assert [distribution(model, q).sum() for q in at] == pytest.approx([1.0] * len(at), abs=1e-9)
    text = toys.sentences(seed + 1, 8, len(spelt))
    np.testing.assert_allclose(log_p(model, spell(text, spelt)), log_p(a, text), rtol=0, atol=1e-9)


def slow_walk(b: Composed, m: PieceLexicon, tokens: list[int]) -> tuple[list[int], list[int]]:
    """The state of B and of A at every token of one sentence, by M and A themselves."""
    pair = {(int(q1), int(q2)): i for i, (q1, q2) in enumerate(zip(b.first, b.second, strict=True))}
    a, states, before = b.words, [-1], [-1]
    begun: list[int] = []
    history = a.initial
    for piece in tokens[1:]:
        inside, _ = read(m, begun)
        known = [pair[inside, q] for q in toys.path(a, history) if (inside, q) in pair] if inside >= 0 else []
        states.append(known[0] if known else -1)
        before.append(history)
        begun.append(piece)
        if ENDS[piece]:
            _, said = read(m, begun)
            word = said[0] if said else UNK
            where = next(q for q in toys.path(a, history) if word in toys.has(a, q))
            history = int(a.targets[toys.has(a, where)[word]])
            begun = []
    return states, before


@settings(max_examples=60, deadline=None)
@given(seeds, segments)
def test_walking(seed: int, spelt: list[tuple[int, ...]]) -> None:
    """Any pieces at all: words of A, words that only begin like one, and words cut off by `</s>`."""
    spelt = with_specials(spelt)
    m = of_segments(spelt, 9)
    b = compose.compose(m, toys.kneser(seed, vocabulary=len(spelt)).topology)
    draw = np.random.default_rng(seed)
    rows = []
    for _ in range(8):
        body: list[int] = []
        for _ in range(int(draw.integers(0, 5))):
            body += (
                list(spelt[draw.integers(2, len(spelt))])
                if draw.random() < 0.6
                else draw.integers(2, 9, 2).tolist()
            )
        rows.append([BOS, *body, EOS])
    tokens, offsets = np.array([t for r in rows for t in r]), np.cumsum([0, *map(len, rows)])
    found = compose.walk(b, tokens, offsets, ENDS)
    for i, row in enumerate(rows):
        states, history = slow_walk(b, m, row)
        mine = slice(offsets[i], offsets[i + 1])
        assert found.states[mine].tolist() == states
        assert found.history[mine].tolist() == history


def distance(p: Automaton, q: Automaton) -> float:
    """The largest difference of a probability at any state of one topology."""
    return max(float(np.abs(distribution(p, s) - distribution(q, s)).max()) for s in range(len(p.topology)))


def test_a_piece_model_made_of_a_word_model_gives_it_back() -> None:
    """B with A's weights is a source over pieces; approximated on A's topology it is A, nearer the more is drawn."""
    spelt = with_specials([(3, 6), (3, 4, 7), (3, 4, 8), (7,), (4, 6)])
    a = toys.kneser(5, vocabulary=len(spelt), order=2)
    m = of_segments(spelt, 9)
    source = weighted(pushed(compose.compose(m, a.topology), m, a), longest=300)
    off = []
    for sentences in (100, 20_000):
        text = PieceText(source, source.sample(0, 0, sentences), m, ENDS)
        found = words_from_pieces(text, a.topology)
        assert not check(found).problems
        off.append(distance(found, a))
    assert off[1] < 0.012 and off[1] < off[0] / 3


def test_words_outside_are_unknown_words() -> None:
    """The source knows more words than the lexicon: what they weigh is `<unk>`'s, after every history."""
    spelt = with_specials([(3, 6), (3, 4, 7), (7,), (3, 4, 8), (4, 6)])
    a = toys.kneser(7, count=60, vocabulary=len(spelt), order=2)
    m = of_segments(spelt, 9)
    source = weighted(pushed(compose.compose(m, a.topology), m, a), longest=300)
    fewer = of_segments(spelt[:-2], 9)  # the last two are unknown now, one of them begins like a word
    seen = np.array([0, 1, 2, 3, 4, 5, UNK, UNK])
    pairs = np.unique(seen[words(grams(a.topology).trie, 2)], axis=0)
    shape = from_trie(of_words([pairs], vocabulary=6))
    found = words_from_pieces(PieceText(source, source.sample(0, 0, 20_000), fewer, ENDS), shape)
    for word in (BOS, 3, 4, 5):
        state = shape.initial if word == BOS else shape.targets[shape.arc(np.array([0]), np.array([word]))[0]]
        here = (
            a.topology.initial
            if word == BOS
            else a.topology.targets[a.topology.arc(np.array([0]), np.array([word]))[0]]
        )
        expected = np.bincount(seen, distribution(a, int(here)), minlength=6)
        got = distribution(found, int(state))
        assert got.sum() == pytest.approx(1)
        np.testing.assert_allclose(got, expected, atol=0.015)


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(2, 3))
def test_lowercase_topology(seed: int, order: int) -> None:
    """The n-grams with capitals taken off are the n-grams of the uncased topology."""
    shape = toys.kneser(seed, vocabulary=9, order=order).topology
    lower = np.array([0, 1, 2, 3, 3, 4, 5, 5, 5])
    found = grams(lowercase(shape, lower, 6)).trie
    trie = grams(shape).trie
    for n in range(2, order + 1):
        expected = {tuple(row) for row in lower[words(trie, n)].tolist()}
        assert {tuple(row) for row in words(found, n).tolist()} == expected
    assert not check(lowercase(shape, lower, 6)).problems


def test_bad_input() -> None:
    m = of_segments(with_specials([(3, 6)]), 9)
    with pytest.raises(TacitError, match="lexicon has 4 words and the topology 6"):
        compose.compose(m, toys.topology(0, vocabulary=6))
    broken = Topology(4, np.array([0, 1, 2]), np.array([3, 1]), np.array([0, -1]), np.array([1, -1]), 0)
    with pytest.raises(TacitError, match="state 0 has a word that its backoff state 1 lacks"):
        compose.compose(m, broken)
    closed = Topology(4, np.array([0, 2]), np.array([1, 3]), np.array([-1, 0]), np.array([-1]), 0)
    with pytest.raises(TacitError, match="no arc for <unk>"):
        compose.walk(compose.compose(m, closed), np.array([BOS, 7, EOS]), np.array([0, 3]), ENDS)


def test_examples() -> None:
    for module in (compose, approximate_pieces):
        assert doctest.testmod(module).failed == 0
