"""What each kind measures, against formulas and small cases worked by hand."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest

from tacit.experiments.entry import find
from tacit.experiments.kinds import (
    bound,
    characters,
    convex,
    counts,
    images,
    keyboards,
    quadratic,
    spam,
    text,
)
from tacit.experiments.results import cell
from tacit.experiments.runner import Place
from tacit.experiments.synthetic import CLASSES, FEATURES, synthetic
from tacit.ngram import kneser_ney
from tacit.runs.config import from_tables
from tacit.text.prepare import prepare
from tacit.text.tokens import tokenize


@pytest.mark.parametrize(("steps", "lr"), [(1, 0.05), (5, 0.1)])
def test_the_two_clients_end_where_their_pulls_cancel(steps, lr, tmp_path):
    found = quadratic.measure({"steps": steps, "lr": lr, "rounds": 80}, 0, Place(None, tmp_path)).values
    w = 0.0
    for _ in range(80):  # the same, written out
        ends = []
        for steep, centre in ((1, 1), (2, 5)):
            v = w
            for _ in range(steps):
                v -= lr * 2 * steep * (v - centre)
            ends.append(v)
        w = sum(ends) / 2
    assert found["w"] == pytest.approx(w, abs=1e-4)
    assert found["formula"] == pytest.approx(w, abs=1e-4)
    assert found["bias"] == pytest.approx(abs(w - 11 / 3), abs=1e-4)


def test_the_constants_of_the_bound_are_bounds():
    """Curvature at most 1, gradients at most 2 long, at many random models and points of length 1."""
    devices = bound.unit(synthetic(1, 1, 3, 0, most=60))
    x = np.c_[devices.points.x, np.ones(len(devices.points.x))].astype(float)
    np.testing.assert_allclose(np.linalg.norm(x[:, :-1], axis=1), 1, rtol=1e-5)
    draw = np.random.default_rng(0)
    for _ in range(20):
        w = draw.normal(0, draw.uniform(0.1, 5), (FEATURES + 1, CLASSES))
        logits = x @ w
        p = np.exp(logits - logits.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        error = p.copy()
        error[np.arange(len(x)), devices.points.y] -= 1
        gradients = np.linalg.norm(x, axis=1) * np.linalg.norm(error, axis=1)  # of x ⊗ error
        assert gradients.max() <= 2 + 1e-9
        widest = max(np.linalg.eigvalsh(np.diag(q) - np.outer(q, q))[-1] for q in p[:50])
        assert widest * 2 <= 1 + 1e-9  # times ‖(x, 1)‖² = 2


def test_scores_of_spam():
    p, y = np.array([0.9, 0.8, 0.4, 0.3, 0.7]), np.array([1, 1, 1, 0, 0])
    found = spam.scores(p, y)
    assert found["precision"] == found["recall"] == found["f1"] == pytest.approx(2 / 3)
    assert found["accuracy"] == 0.6
    assert found["logloss"] == pytest.approx(-np.mean(np.log([0.9, 0.8, 0.4, 0.7, 0.3])))
    assert spam.scores(np.array([0.1]), np.array([0]))["f1"] == 0.0


def test_spam_features_come_from_training_messages_only():
    sets = spam.sets_of(None, True, 0, 40)
    assert sets.train.x.shape == (480, 40) and sets.test.x.shape == (120, 40)
    assert set(np.unique(sets.train.x)) == {0.0, 1.0}
    assert sets.train.x.sum(0).min() > 0  # every word was seen in training


def test_a_spam_run_that_diverges_has_no_figures(tmp_path):
    quick = find("spam").quickly().rows[0].settings
    found = spam.measure({**quick, "lr": 1e38}, 0, Place(None, tmp_path))
    assert set(found.values.values()) == {None} and {"f1", "best_f1"} < set(found.values)
    cell(found, 1.0)  # and can be kept


def test_tokens_are_counted_with_and_without_ends(tmp_path):
    path = tmp_path / "train.txt"
    path.write_text(" a b c \n\n d <unk> \n", "utf-8")
    assert counts.tokens(path, ends=False) == 5 and counts.tokens(path, ends=True) == 8


def test_the_two_splits_of_digits_differ(tmp_path):
    quick = {**find("mnist-cnn-computation").quickly().rows[0].settings, "model": "logistic", "rounds": 1}
    found = [
        images.measure({**quick, "split": split}, 0, Place(None, tmp_path)) for split in ("iid", "non-iid")
    ]
    assert [len(f.curves["accuracy"][0]) for f in found] == [2, 2]
    assert found[0].values["best"] > found[1].values["best"] > 0.1


def test_a_loss_that_is_reached_stops_the_run(tmp_path):
    settings = {
        "set": "synthetic(0,0)", "devices": 4, "most": 60, "active": 4, "steps": 5, "batch": 10, "lr": 0.5,
        "rounds": 20, "target": 2.2, "stop": True,
    }  # fmt: skip
    found = convex.measure(settings, 0, Place(None, tmp_path))
    x, y = found.curves["loss"]
    assert y[0] == pytest.approx(np.log(10), rel=1e-5)  # from zero weights
    assert found.values["rounds"] == x[-1] < 20 and y[-1] <= 2.2 < y[-2]


def test_characters_survive_the_way_through_tokens(tmp_path):
    speech = "Who's there?\nNay -- answer me; stand: 1,000!"
    assert "".join(tokenize(characters.apart(speech))) == speech.replace(" ", "␣").replace("\n", "⏎")
    source = tmp_path / "roles.jsonl"
    lines = [{"user": "a/X", "text": "To be"}, {"user": "a/X", "text": "or"}, {"user": "a/Y", "text": "no"}]
    source.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    kept = characters.written(source, tmp_path / "out.jsonl", least=2).read_text("utf-8").splitlines()
    assert [json.loads(line)["text"] for line in kept] == ["T o ␣ b e", "o r"]


def test_typists_are_written_once_for_all_rows(tmp_path):
    settings = {"typists.users": 3, "typists.messages": 2}
    first = keyboards.typists_file(settings, tmp_path)
    written = first.read_bytes()
    first.write_bytes(written[:-1])
    assert keyboards.typists_file(settings, tmp_path).read_bytes() == written[:-1]
    assert len({json.loads(line)["user"] for line in written.decode().splitlines()}) == 3


def test_an_n_gram_has_a_level_among_the_curves(tmp_path):
    """On the validation text that networks are looked at with; one suggestion after another judges it."""
    settings = {
        "typists.users": 12,
        "typists.messages": 8,
        "text.corpus": "typists",
        "text.vocabulary": 60,
        "training.evaluate_sentences": 10_000,
        "ngram": 2,
    }
    found = keyboards.measure(settings, 0, Place(tmp_path, tmp_path / "row"))
    source = keyboards.typists_file(settings, tmp_path)
    config = from_tables({"text": {"corpus": str(source), "vocabulary": 60}})
    ready = prepare(config.text, config.partition, config.typists, 0)
    model = kneser_ney.fit(ready.clients.tokens, ready.clients.offsets, len(ready.vocabulary), 2)
    right = words = 0
    for begin, end in pairwise(ready.valid.offsets.tolist()):
        sentence = ready.valid.tokens[begin:end].tolist()
        for k in range(1, len(sentence) - 1):  # not the end: a keyboard suggests words
            p = kneser_ney.distribution(model, sentence[:k])
            right += sentence[k] == 3 + int(np.argmax(p[3:]))
            words += 1
    assert 0 < right < words
    assert found.curves["top1"] == ([0], [pytest.approx(right / words, abs=1e-12)])
    perplexity = found.curves["perplexity"][1][0]
    assert perplexity == found.values["valid"] != found.values["perplexity"]


def test_the_first_evaluated_round_at_a_target():
    lines = [
        {"round": r, "valid_perplexity": p, "valid_top1": t} for r, p, t in ((5, 300, 0.1), (10, 90, 0.6))
    ]
    assert text.reached(lines, {"target": 100}) == 10
    assert text.reached(lines, {"target_top1": 0.7}) is None
