"""Counted unigrams in an n-gram model: every state still sums to one, and says what the formula says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.base.errors import TacitError
from tacit.distillation.large_vocabulary import spread_case, with_unigrams
from tacit.ngram import automaton, kneser_ney
from tacit.ngram.automaton import Automaton, Topology, distribution
from tacit.ngram.validity import check
from tacit.text.vocabulary import EOS, SPECIALS, UNK, Vocabulary

WORDS = Vocabulary((*SPECIALS, "the", "cat", "sat", "on", "mat"))
V = len(WORDS)


def model_of(seed: int, order: int, sentences: int = 12) -> Automaton:
    """Words 2 to V − 1 with a little order in them; some words may never occur."""
    draw = np.random.default_rng(seed)
    bodies = [
        np.minimum(UNK + draw.geometric(0.4, int(draw.integers(0, 6))) - 1, V - 1) for _ in range(sentences)
    ]
    tokens = np.concatenate([[0, *body, 1] for body in bodies])
    offsets = np.cumsum([0, *(len(body) + 2 for body in bodies)])
    return automaton.from_kneser_ney(kneser_ney.fit(tokens, offsets, V, order))


def root_of(model: Automaton) -> dict[int, float]:
    """The root's own distribution, arc by arc."""
    return dict(enumerate(distribution(model, int(np.flatnonzero(model.topology.backoff < 0)[0]))))


counted = st.dictionaries(
    st.sampled_from(["the", "cat", "sat", "mat", "dog", "ran", "far"]), st.floats(1e-3, 1e6), min_size=1
)


@settings(max_examples=60)
@given(seed=st.integers(0, 9999), order=st.integers(1, 4), counts=counted, weight=st.sampled_from([0.3, 1.0]))
def test_every_state_sums_to_one_and_the_root_is_the_mixture(
    seed: int, order: int, counts: dict[str, float], weight: float
) -> None:
    model = model_of(seed, order)
    larger, words = with_unigrams(model, WORDS, counts, weight)
    new = sorted(set(counts) - set(WORDS.words), key=lambda word: (-counts[word], word))
    assert words.words == WORDS.words + tuple(new)
    shape = larger.topology
    assert shape.vocabulary == len(words) and len(shape) == len(model.topology)
    for state in range(len(shape)):
        assert distribution(larger, state).sum() == pytest.approx(1, abs=1e-9)
    assert not check(larger).problems

    old, found = root_of(model), root_of(larger)
    floor = min(counts.values()) / 2
    u = {i: counts.get(words.words[i], floor) for i in range(UNK + 1, len(words))}
    mass = 1 - old[EOS] - old[UNK]
    for i in u:
        mixed = weight * u[i] / sum(u.values()) + (1 - weight) * old.get(i, 0.0) / mass
        assert found[i] == pytest.approx(mass * mixed, rel=1e-9)
    assert found[EOS] == pytest.approx(old[EOS]) and found[UNK] == pytest.approx(old[UNK])


@settings(max_examples=30)
@given(seed=st.integers(0, 9999), order=st.integers(2, 4), counts=counted)
def test_higher_arcs_stay_and_new_words_lead_back_to_the_root(
    seed: int, order: int, counts: dict[str, float]
) -> None:
    model = model_of(seed, order)
    larger, words = with_unigrams(model, WORDS, counts)
    before, after = model.topology, larger.topology
    root = int(np.flatnonzero(after.backoff < 0)[0])
    assert (np.diff(after.keys) > 0).all()  # arcs are still found by binary search
    for q in range(len(after)):
        mine, was = (slice(t.starts[q], t.starts[q + 1]) for t in (after, before))
        if q == root:
            assert after.labels[mine].tolist() == [*before.labels[was], *range(V, len(words))]
            assert (after.targets[mine][before.starts[q + 1] - before.starts[q] :] == root).all()
            continue
        np.testing.assert_array_equal(after.labels[mine], before.labels[was])
        np.testing.assert_array_equal(after.targets[mine], before.targets[was])
        np.testing.assert_array_equal(larger.log_p[mine], model.log_p[was])
    np.testing.assert_array_equal(after.backoff, before.backoff)
    assert after.initial == before.initial


def test_replacing_by_the_models_own_unigrams_changes_nothing() -> None:
    model = model_of(3, order=3)
    own = root_of(model)
    same, words = with_unigrams(model, WORDS, {WORDS.words[i]: own[i] for i in range(UNK + 1, V)})
    assert words == WORDS
    np.testing.assert_allclose(same.log_p, model.log_p, atol=1e-12)
    np.testing.assert_allclose(same.log_backoff, model.log_backoff, atol=1e-9)


def test_what_is_left_for_unknown_words_can_be_said() -> None:
    larger, words = with_unigrams(model_of(5, 2), WORDS, {"dog": 3.0, "the": 1.0}, unknown=0.01)
    found = root_of(larger)
    assert found[UNK] == pytest.approx(0.01) and sum(found.values()) == pytest.approx(1, abs=1e-12)
    assert found[words.index["dog"]] == pytest.approx(3 * found[words.index["the"]])
    with pytest.raises(TacitError, match="leaves nothing for words"):
        with_unigrams(model_of(5, 2), WORDS, {"dog": 3.0}, unknown=0.99)


def test_counts_are_spread_over_case_variants_before_they_enter() -> None:
    cased = Vocabulary((*SPECIALS, "new", "New", "York", "york", "ok"))
    variants = {"new": {"new": 0.9, "New": 0.1}, "york": {"York": 0.75, "york": 0.25}}
    counts = {"new": 20.0, "york": 8.0, "boston": 4.0, "ok": 2.0}
    larger, words = with_unigrams(model_of(1, 2), cased, counts, variants=variants)
    found = root_of(larger)
    expected = {"new": 18, "New": 2, "York": 6, "york": 2, "ok": 2, "boston": 4}
    assert words.words[3:] == ("new", "New", "York", "york", "ok", "boston")
    mass = sum(found[i] for i in range(UNK + 1, len(words)))
    for word, n in expected.items():
        assert found[words.index[word]] / mass == pytest.approx(n / 34)


@pytest.mark.parametrize(
    ("variants", "why"),
    [
        ({"york": {"York": 0.5}}, "add up to one"),
        ({"york": {"York": 1.5, "york": -0.5}}, "add up to one"),
        ({"york": {"Yorkshire": 1.0}}, "'Yorkshire' is not a case variant of 'york'"),
    ],
)
def test_bad_case_variants(variants: dict[str, dict[str, float]], why: str) -> None:
    with pytest.raises(TacitError, match=why):
        spread_case({"york": 1.0}, variants)


def test_what_cannot_be_mixed_is_refused() -> None:
    model = model_of(0, 2)
    for arguments, why in (
        ((Vocabulary(SPECIALS), {"a": 1.0}), "the vocabulary has 3 words, the automaton 8"),
        ((WORDS, {"a": 0.0}), "no word has a count above 0"),
        ((WORDS, {"a": 1.0}, 0.0), "must be above 0 and at most 1"),
        ((WORDS, {"a": 1.0}, 1.5), "must be above 0 and at most 1"),
    ):
        with pytest.raises(TacitError, match=why):
            with_unigrams(model, *arguments)  # type: ignore[arg-type]
    two_roots = Topology(V, np.array([0, 1, 2]), np.array([3, 3]), np.array([0, 1]), np.array([-1, -1]), 0)
    with pytest.raises(TacitError, match="2 roots"):
        with_unigrams(Automaton(two_roots, np.zeros(2), np.zeros(2)), WORDS, {"a": 1.0})


def test_a_topology_that_is_not_backoff_complete_is_refused_with_the_state() -> None:
    holes = Topology(V, np.array([0, 1, 2]), np.array([3, 4]), np.array([1, 0]), np.array([-1, 0]), 0)
    with pytest.raises(TacitError, match=r"after 'the'.: not backoff-complete"):
        with_unigrams(Automaton(holes, np.log([1.0, 0.5]), np.zeros(2)), WORDS, {"a": 1.0})


def test_two_hundred_thousand_words() -> None:
    model = model_of(0, 3, sentences=50)
    counts = {f"w{i}": 1.0 / (i + 1) for i in range(200_000)}
    larger, words = with_unigrams(model, WORDS, counts)
    assert len(words) == V + 200_000
    sums = np.bincount(larger.topology.owners, np.exp(larger.log_p), minlength=len(larger.topology))
    assert sums[0] == pytest.approx(1, abs=1e-9)
    for state in range(0, len(larger.topology), 7):
        assert distribution(larger, state).sum() == pytest.approx(1, abs=1e-9)
