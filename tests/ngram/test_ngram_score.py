"""The n-gram's scores against a slow loop over whole distributions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toys
from tacit.distillation.pruning import prune, with_backoffs
from tacit.ngram import kneser_ney
from tacit.ngram.automaton import from_kneser_ney
from tacit.ngram.score import score
from tacit.scoring.scores import overall
from tacit.text.packed import Packed
from tacit.text.vocabulary import EOS, UNK
from toys import V, random_text, text_of


def slowly(model: kneser_ney.KneserNey, text: Packed) -> dict[str, list[float]]:
    """Sentence by sentence, word by word, from the whole distribution each time."""
    found: dict[str, list[float]] = {k: [] for k in ("nll", "nll_oov", "words", "oov", "top1", "top3")}
    for start, end in zip(text.offsets, text.offsets[1:], strict=False):
        ids = text.tokens[start:end].tolist()
        sums = dict.fromkeys(found, 0.0)
        for i in range(1, len(ids)):
            p = kneser_ney.distribution(model, ids[:i])
            assert np.isclose(p.sum(), 1)
            sums["nll"] -= np.log(p[ids[i]])
            if ids[i] == EOS:
                continue
            sums["words"] += 1
            if ids[i] == UNK:
                sums["oov"] += 1
                sums["nll_oov"] -= np.log(p[UNK])
                continue
            # how many words (no special) are likelier, or as likely with a lower id
            ahead = [w for w in range(UNK + 1, V) if (-round(p[w], 12), w) < (-round(p[ids[i]], 12), ids[i])]
            sums["top1"] += len(ahead) < 1
            sums["top3"] += len(ahead) < 3
        for name, value in sums.items():
            found[name].append(value)
    return found


@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), order=st.integers(1, 5))
def test_scores_are_those_of_the_slow_loop(seed: int, order: int) -> None:
    train, test = random_text(seed, 40), random_text(seed + 1, 12)
    model = kneser_ney.fit(train.tokens, train.offsets, V, order)
    found, expected = score(model, test), slowly(model, test)
    for name, values in expected.items():
        np.testing.assert_allclose(getattr(found, name), values, rtol=1e-9, atol=1e-12, err_msg=name)


def test_a_worked_case() -> None:
    """Everybody says 3 4; a 5 in the third place, an unknown word and an end are told apart."""
    train = text_of([[3, 4]] * 5)
    model = kneser_ney.fit(train.tokens, train.offsets, V, 3)
    found = score(model, text_of([[3, 4], [UNK], [4, 3]]))
    assert found.words.tolist() == [2, 1, 2] and found.oov.tolist() == [0, 1, 0]
    assert found.top1.tolist()[:2] == [2, 0] and found.top3.tolist()[:2] == [2, 0]
    assert found.nll_oov[1] < found.nll[1] and found.nll_oov[0] == 0
    metrics = overall(found)
    assert metrics["tokens"] == 8 and metrics["oov"] == pytest.approx(1 / 5)
    assert metrics["perplexity"] == pytest.approx(np.exp(found.nll.sum() / 8))


@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), order=st.integers(1, 4), part=st.floats(0.2, 1))
def test_an_automaton_is_scored_as_by_the_slow_loop(seed: int, order: int, part: float) -> None:
    """A pruned model, its weights shaken: an arc may be less likely than what it hides."""
    train, test = random_text(seed, 40), random_text(seed + 1, 12)
    whole = from_kneser_ney(kneser_ney.fit(train.tokens, train.offsets, V, order))
    arcs = len(whole.topology.labels)
    small = prune(whole, max(V - 1, int(part * arcs)))
    shaken = small.log_p + np.random.default_rng(seed).normal(0, 0.5, len(small.log_p)) - 1.0
    root = slice(0, V - 1)
    shaken[root] -= np.log(np.exp(shaken[root]).sum())
    model = with_backoffs(small.topology, np.minimum(shaken, small.log_p))
    found = score(model, test)
    shape = model.topology
    nll, top1, top3 = [], [], []
    for start, end in zip(test.offsets, test.offsets[1:], strict=False):
        state, sums = shape.initial, [0.0, 0.0, 0.0]
        for word in test.tokens[start + 1 : end].tolist():
            p = toys.dense(model, state)
            sums[0] -= np.log(p[word])
            if word > UNK:
                rank = sum((p[w], -w) > (p[word], -word) for w in range(UNK + 1, V))
                sums[1] += rank < 1
                sums[2] += rank < 3
            where = next(q for q in toys.path(shape, state) if word in toys.has(shape, q))
            state = int(shape.targets[toys.has(shape, where)[word]])
        for values, value in zip((nll, top1, top3), sums, strict=True):
            values.append(value)
    np.testing.assert_allclose(found.nll, nll, rtol=1e-9)
    np.testing.assert_array_equal(found.top1, top1)
    np.testing.assert_array_equal(found.top3, top3)


def test_a_kneser_ney_model_and_its_automaton_score_alike() -> None:
    train, test = random_text(3, 60), random_text(4, 30)
    model = kneser_ney.fit(train.tokens, train.offsets, V, 3)
    for a, b in zip(
        vars(score(model, test)).values(), vars(score(from_kneser_ney(model), test)).values(), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
