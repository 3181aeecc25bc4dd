"""Measures against a loop over sentences and words in numpy."""

from __future__ import annotations

from types import SimpleNamespace

import jax
import numpy as np
import pytest
import worlds

import reference
from tacit.federated import evaluation
from tacit.federated.evaluation import scorer
from tacit.models import ModelConfig, language_model
from tacit.scoring.scores import Scores, Sums, by_person, distribution, intervals, overall
from tacit.text.packed import batch_rows, pack

V, D = 12, 4
BOS, EOS, UNK = 0, 1, 2
FIELDS = ("nll", "nll_oov", "words", "oov", "top1", "top3")


@pytest.fixture(scope="module")
def world() -> SimpleNamespace:
    model = language_model(ModelConfig(embedding=D, hidden=D), V)
    params = reference.shaken(jax.eval_shape(model.init, jax.random.key(0)), 2, 1.0)
    text = worlds.sentences(1, 25, V, most=6, longest=5)  # more than one batch on each of two devices
    assert len(text.offsets) - 1 > 2 * 32
    score = scorer(model)
    return SimpleNamespace(model=model, params=params, text=text, score=score, scores=score(params, text))


def one_sentence(params, tokens) -> dict[str, float]:
    """Everything by its definition, word after word."""
    _, logits = reference.sentence_logits(params, tokens[:-1], reference.gru_common, "gru")
    found = dict.fromkeys(FIELDS, 0.0)
    for row, target in zip(logits, tokens[1:], strict=True):
        nll = -np.log(reference.softmax_rows(row)[target])
        found["nll"] += nll
        if target == EOS:
            continue
        suggestions = sorted((w for w in range(V) if w not in (BOS, EOS, UNK)), key=lambda w: (-row[w], w))
        found["words"] += 1
        found["oov"] += target == UNK
        found["nll_oov"] += nll * (target == UNK)
        found["top1"] += target in suggestions[:1]
        found["top3"] += target in suggestions[:3]
    return found


def text_sentences(text):
    return [text.tokens[a:b] for a, b in zip(text.offsets[:-1], text.offsets[1:], strict=True)]


def test_every_sentence_by_a_slow_loop(world):
    slow = [one_sentence(world.params, s) for s in text_sentences(world.text)]
    for name in FIELDS:
        np.testing.assert_allclose(
            getattr(world.scores, name), [s[name] for s in slow], rtol=1e-4, atol=1e-4, err_msg=name
        )
    assert 0 < world.scores.oov.sum() < world.scores.words.sum()
    assert 0 < world.scores.top1.sum() < world.scores.top3.sum() < world.scores.words.sum()


def test_overall_figures_by_definition(world):
    slow = [one_sentence(world.params, s) for s in text_sentences(world.text)]
    total = {name: sum(s[name] for s in slow) for name in FIELDS}
    found = overall(world.scores)
    count = len(slow)
    assert found["perplexity"] == pytest.approx(np.exp(total["nll"] / (total["words"] + count)), rel=1e-4)
    assert found["top1"] == pytest.approx(total["top1"] / total["words"])
    assert found["top3"] == pytest.approx(total["top3"] / total["words"])
    assert found["oov"] == pytest.approx(total["oov"] / total["words"])
    assert found["sll"] == pytest.approx(-total["nll"] / count, rel=1e-4)
    assert found["sll_without_oov"] == pytest.approx(-(total["nll"] - total["nll_oov"]) / count, rel=1e-4)
    assert (found["words"], found["sentences"]) == (total["words"], count)
    assert found["tokens"] == total["words"] + count


def test_ties_go_to_the_lower_id_and_specials_are_never_suggested(world):
    zero = jax.tree.map(np.zeros_like, world.params)  # every word scores the same
    text = pack([[np.array([0, w, 1])] for w in range(2, V)], [str(w) for w in range(2, V)])
    scores = world.score(zero, text)
    assert scores.top1.tolist() == [w == 3 for w in range(2, V)]
    assert scores.top3.tolist() == [w in (3, 4, 5) for w in range(2, V)]
    np.testing.assert_allclose(scores.nll, 2 * np.log(V), rtol=1e-6)
    eager = dict(zero, output_bias=np.array([9, 9, 9] + [0] * (V - 3), np.float32))
    loud = world.score(eager, text)  # specials score highest: they take no place
    assert loud.top1.tolist() == scores.top1.tolist()
    assert loud.oov.tolist() == [w == UNK for w in range(2, V)]


def test_no_sentence_of_a_long_tailed_text_makes_the_others_wait(world, monkeypatch):
    """Batches of like work: at least half of the cells of the scoring program hold a word."""
    lengths = np.random.default_rng(0).lognormal(2.5, 0.6, 500).astype(int).clip(1, 60)
    text = pack([[np.array([0, *[5] * n, 1]) for n in lengths]], ["a"])
    seen = []

    def watch(*arguments):
        seen.append(batch_rows(*arguments))
        return seen[-1]

    monkeypatch.setattr(evaluation, "batch_rows", watch)
    scores = world.score(world.params, text)
    np.testing.assert_array_equal(scores.words, lengths)
    assert np.mean(seen[0][0].targets >= 0) > 0.5


def test_no_text_at_all_gives_no_scores(world):
    nothing = world.score(world.params, pack([[], []], ["a", "b"]))
    assert all(len(getattr(nothing, name)) == 0 for name in FIELDS)


def test_sums_of_a_person_are_the_sums_of_their_sentences(world):
    text = pack([[np.array([0, 3, 1])], [], [np.array([0, 4, 5, 1]), np.array([0, 2, 1])]], ["a", "b", "c"])
    scores = world.score(world.params, text)
    people = by_person(scores, text)
    assert people.sentences.tolist() == [1, 2]  # b wrote nothing
    assert people.words.tolist() == [1, 3]
    np.testing.assert_allclose(people.nll, [scores.nll[0], scores.nll[1] + scores.nll[2]])
    whole = by_person(world.scores, world.text)
    np.testing.assert_allclose(whole.nll.sum(), world.scores.nll.sum())
    np.testing.assert_array_equal(whole.sentences, world.text.sizes)


def test_the_jackknife_leaves_out_one_person_at_a_time(world):
    people = by_person(world.scores, world.text)
    n = len(people.sentences)
    found = intervals(people)
    for name in ("perplexity", "top1", "top3", "sll"):
        theta = []
        for i in range(n):
            keep = [j for j in range(n) if j != i]
            nll, words, sentences = (
                people.nll[keep].sum(),
                people.words[keep].sum(),
                people.sentences[keep].sum(),
            )
            theta.append(
                {
                    "perplexity": np.exp(nll / (words + sentences)),
                    "top1": people.top1[keep].sum() / words,
                    "top3": people.top3[keep].sum() / words,
                    "sll": -nll / sentences,
                }[name]
            )
        variance = (n - 1) / n * sum((x - np.mean(theta)) ** 2 for x in theta)
        assert found[name] == pytest.approx(1.96 * np.sqrt(variance), rel=1e-6)
    assert np.isnan(intervals(by_person(*one_person(world)))["top1"])


def one_person(world):
    text = pack([[np.array([0, 3, 1])]], ["a"])
    return world.score(world.params, text), text


def test_the_jackknife_covers_a_mean_as_often_as_it_says():
    """On 400 made-up populations with a known rate the 95 % interval holds it about 95 times in 100."""
    draw, held = np.random.default_rng(0), 0
    for _ in range(400):
        words = draw.integers(20, 60, 40).astype(float)
        top1 = draw.binomial(words.astype(int), draw.beta(6, 24, 40)).astype(float)
        zero = np.zeros(40)
        people = Sums(zero, zero, words, zero, top1, top1, np.ones(40))
        centre = top1.sum() / words.sum()
        held += abs(centre - 0.2) <= intervals(people, ("top1",))["top1"]
    assert 0.90 < held / 400 < 0.985


def test_percentiles_over_people():
    one = np.ones(11)
    people = Sums(one, one, 10 * one, one, np.arange(11.0), one, one)
    assert distribution(people, ("top1",)) == {"top1": {"p10": 0.1, "p50": 0.5, "p90": pytest.approx(0.9)}}


def test_scores_group_by_anything():
    scores = Scores(*(np.arange(4.0) for _ in FIELDS))
    sums = scores.sums(np.array([0, 2, 0, 2]), 4)
    assert sums.nll.tolist() == [2, 0, 4, 0] and sums.sentences.tolist() == [2, 0, 2, 0]
