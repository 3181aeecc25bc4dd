"""The run directory: what is in it, and what is left of a run that diverged."""

from __future__ import annotations

import json
import re
import shutil
import struct
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from commands import (
    ROUNDS,
    TINY,
    Commands,
    Trained,
    configured,
    leftovers,
    lines,
    sets,
    stub,
    tree,
    write_corpus,
)
from tacit import runs
from tacit.base.errors import TacitError
from tacit.federated.algorithm import ServerState
from tacit.runs import directory, training
from tacit.runs.checkpoints import load_tree, save_tree
from tacit.scoring.scores import Scores
from tacit.text.packed import pack


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus") / "messages.jsonl")


def test_a_run_directory_holds_what_it_says(trained: Trained) -> None:
    assert set(tree(trained.path)) == {
        "config.toml",
        "vocabulary.txt",
        "metrics.jsonl",
        "timings.jsonl",
        "checkpoints/last.safetensors",
        "checkpoints/best.safetensors",
        "summary.json",
    }
    found, given = runs.read_config(trained.path), configured(trained.corpus)
    assert re.fullmatch("[0-9a-f]{16}", found.text.fingerprint)
    assert directory.with_fingerprint(found, "") == given


def test_a_checkpoint_from_before_they_said_their_words_is_read(tmp_path: Path, trained: Trained) -> None:
    old = shutil.copytree(trained.path, tmp_path / "run")
    params = runs.load(trained.path).params
    facts = load_tree(old / directory.BEST, params)[1]
    save_tree(old / directory.BEST, params, {k: v for k, v in facts.items() if k != "words"})
    assert runs.load(old).vocabulary == runs.load(trained.path).vocabulary


def test_what_a_run_has_learned_is_read_without_the_rule_that_taught_it(
    tmp_path: Path, tacit: Commands, trained: Trained
) -> None:
    theirs = shutil.copytree(trained.path, tmp_path / "run")
    config = (theirs / "config.toml").read_text("utf-8")
    (theirs / "config.toml").write_text(config.replace('rule = "mean"', 'rule = "theirs"'))
    assert tacit.json("evaluate", theirs, "--trust") == tacit.json("evaluate", trained.path)
    command = ["train", "fedavg", "--out", theirs, "--resume", *sets("aggregation.rule=theirs")]
    tacit(*command).refused("aggregation.rule = 'theirs' is not known")


def test_metrics_are_one_line_a_round_and_timings_are_apart(trained: Trained) -> None:
    metrics, timings = lines(trained.path / "metrics.jsonl"), lines(trained.path / "timings.jsonl")
    assert [m["round"] for m in metrics] == [t["round"] for t in timings] == list(range(1, ROUNDS + 1))
    for record in metrics:
        assert {"loss", "clients", "valid_perplexity", "valid_top1", "valid_top3", "valid_sll"} <= set(record)
        assert not any("second" in key or "time" in key for key in record)
        assert all(np.isfinite(v) for v in record.values())
    assert all(t["seconds"] > 0 for t in timings)


def test_evaluation_may_be_rarer_than_rounds_but_the_last_is_always_judged(
    tmp_path: Path, corpus: Path, compiled: Path
) -> None:
    runs.train(configured(corpus, "training.evaluate_every=2"), tmp_path / "run")
    judged = [m["round"] for m in lines(tmp_path / "run/metrics.jsonl") if "valid_perplexity" in m]
    assert judged == [2, 3]


def test_checkpoints_may_be_rarer_than_rounds_but_the_last_is_always_kept(
    tmp_path: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub(monkeypatch)
    runs.train(configured(corpus, "training.checkpoint_every=2"), tmp_path / "run")
    model = runs.load(tmp_path / "run").model
    state = ServerState(model.init(jax.random.key(0)), {"count": np.int32(0)})
    assert load_tree(tmp_path / "run" / directory.LAST, state)[1]["round"] == "3"


def test_a_central_run_has_no_clients_and_sends_nothing(
    tmp_path: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub(monkeypatch)
    found = runs.train(configured(corpus, "training.mode=central"), tmp_path / "run")
    assert found["clients"] == 0 and found["bytes_per_client_and_round"] is None


@pytest.mark.parametrize("metric", ["perplexity", "top1", "top3", "sll", "sll_without_oov"])
def test_the_best_round_is_best_by_the_chosen_metric(
    tmp_path: Path, corpus: Path, compiled: Path, monkeypatch: pytest.MonkeyPatch, metric: str
) -> None:
    measured = {
        "perplexity": [9.0, 7.0, 8.0, 7.0],
        "top1": [0.3, 0.1, 0.3, 0.2],
        "top3": [0.1, 0.2, 0.4, 0.4],
        "sll": [-4.0, -5.0, -3.5, -3.0],
        "sll_without_oov": [-3.0, -2.0, -2.5, -2.0],
    }
    best = {"perplexity": 2, "top1": 1, "top3": 3, "sll": 4, "sll_without_oov": 2}  # the first of equals
    expected = best[metric]
    answers = iter([{"oov": 0.0} | {k: v[t] for k, v in measured.items()} for t in range(4)])
    monkeypatch.setattr(training, "overall", lambda scores: next(answers))
    found = runs.train(configured(corpus, f"training.best={metric}", "training.rounds=4"), tmp_path / "run")
    assert found["best_round"] == expected and found["chosen_by"] == f"valid_{metric}"


def test_the_best_checkpoint_is_the_model_of_the_best_round(trained: Trained) -> None:
    summary = json.loads((trained.path / "summary.json").read_text())
    metrics = lines(trained.path / "metrics.jsonl")
    best = min(metrics, key=lambda m: m["valid_perplexity"])
    assert summary["best_round"] == best["round"] < ROUNDS, "choose a seed whose last round is not its best"
    assert summary["valid"]["perplexity"] == best["valid_perplexity"]


@pytest.mark.parametrize(("noise", "mode"), [(0.0, "federated"), (0.01, "federated"), (0.01, "central")])
def test_epsilon_is_never_a_number_and_says_why(
    tmp_path: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch, noise: float, mode: str
) -> None:
    stub(monkeypatch)
    config = configured(corpus, f"aggregation.noise={noise}", f"training.mode={mode}")
    runs.train(config, tmp_path / "run")
    found = json.loads((tmp_path / "run/summary.json").read_text())
    used = noise > 0 and mode == "federated"  # nobody sends anything to a server that has the text
    assert found["epsilon"] is None
    assert ("not differential privacy" in found["epsilon_reason"]) == used
    assert ("no privacy mechanism" in found["epsilon_reason"]) == (not used)


def test_a_summary_counts_what_is_sent(trained: Trained) -> None:
    summary = json.loads((trained.path / "summary.json").read_text())
    run = runs.load(trained.path)
    count = sum(np.asarray(leaf).size for leaf in jax.tree.leaves(run.params))
    assert summary["parameters"] == count
    assert summary["bytes_per_client_and_round"] == {"down": 4 * count, "up": 4 * count + 4}  # and the weight
    assert summary["vocabulary"] == len(run.vocabulary) == 20
    assert summary["clients"] == 10 and summary["test"]["people"] == 1
    assert summary["test"]["ci95"]["perplexity"] is None  # one person has no interval


def test_a_sample_of_a_text_keeps_each_sentence_with_its_person() -> None:
    text = pack([[np.array([0, 10 * c + i, 1]) for i in range(4)] for c in range(5)], list("abcde"))
    some = runs.sample(text, 7, seed=1)
    assert len(some.offsets) == 8 and some.names == text.names
    owners = np.repeat(np.arange(5), some.sizes)
    assert (some.tokens[some.offsets[:-1] + 1] // 10 == owners).all()
    assert runs.sample(text, 20, seed=1) is text
    assert not np.array_equal(some.tokens, runs.sample(text, 7, seed=2).tokens)


def test_tensorboard_files_hold_every_figure(tmp_path: Path, corpus: Path, tacit: Commands) -> None:
    from tensorboardX.proto.event_pb2 import Event

    out = tmp_path / "run"
    command = [
        "train",
        "fedavg",
        "--corpus",
        corpus,
        "--rounds",
        ROUNDS,
        "--out",
        out,
        *sets(*TINY),
        "--tensorboard",
    ]
    tacit.ok(*command)
    seen: dict[str, dict[int, float]] = {}
    (file,) = (out / "tensorboard").iterdir()
    data, at = file.read_bytes(), 0
    while at < len(data):  # a record: its length, a checksum, the event, a checksum
        (length,) = struct.unpack("<Q", data[at : at + 8])
        event = Event.FromString(data[at + 12 : at + 12 + length])
        for value in event.summary.value:
            seen.setdefault(value.tag, {})[event.step] = value.simple_value
        at += 16 + length
    for record in lines(out / "metrics.jsonl"):
        for name, value in record.items():
            if name != "round":
                assert seen[name.replace("valid_", "valid/")][record["round"]] == pytest.approx(value)
    assert "round" not in seen


# Diverging.


@pytest.mark.parametrize("mode", ["federated", "central"])
def test_nan_stops_a_run_and_keeps_the_last_good_checkpoint(
    tmp_path: Path, corpus: Path, tacit: Commands, mode: str
) -> None:
    """Two good rounds, then a rate no model survives."""
    wild = ["client.clip=0", "central.clip=0", "central.optimiser=sgd"]
    keys = sets(*TINY, *wild, f"training.mode={mode}")
    out = tmp_path / "run"
    command = ["train", "fedavg", "--corpus", corpus, "--out", out]
    fine = [*keys, *sets("client.lr=0.1", "central.lr=0.1")]
    tacit.ok(*command, *fine, "--rounds", 2)
    before = tree(out)
    # resume refuses another rate, so the run's own record of it is changed
    text = (out / "config.toml").read_text().replace("lr = 0.1", "lr = 1e30")
    (out / "config.toml").write_text(text)
    rate = sets("client.lr=1e30", "central.lr=1e30")
    line = tacit(*command, *keys, *rate, "--rounds", 4, "--resume").refused("round 3", "not finite", "lr")
    assert "last good checkpoint is kept" in line
    after = tree(out)
    for name in ("checkpoints/last.safetensors", "checkpoints/best.safetensors", "metrics.jsonl"):
        assert after[name] == before[name]
    assert not leftovers(out)
    assert runs.load(out).params is not None
    tacit.ok("predict", out, "are you")


def test_a_perplexity_past_all_numbers_stops_a_run_too(
    tmp_path: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch, tacit: Commands
) -> None:
    """Parameters may be finite and the model far gone; numpy's own warning must not be a second line."""
    stub(monkeypatch)
    good = training.scorer

    def scorer(model: Any, spelling: Any = None) -> Any:
        def score(params: Any, text: Any) -> Scores:
            far = float(np.asarray(params["output_bias"])[0]) > 1.2
            return Scores(*(np.full(len(text.offsets) - 1, v) for v in (1e6 if far else 1.0, 0, 5, 0, 1, 2)))

        return score

    assert good is not scorer
    monkeypatch.setattr(training, "scorer", scorer)
    out = tmp_path / "run"
    said = tacit("train", "fedavg", "--corpus", corpus, "--rounds", 5, "--out", out, *sets(*TINY))
    said.refused("round 3", "validation perplexity is not finite")
    assert [m["round"] for m in lines(out / "metrics.jsonl")] == [1, 2]
    assert runs.load(out).params is not None


def test_callbacks_hear_of_the_end_of_a_failed_run(
    tmp_path: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub(monkeypatch)
    told: list[object] = []

    def fail(record: dict[str, Any]) -> None:
        told.append(record["round"])
        raise TacitError("enough")

    callback = runs.Callback(lambda *a: told.append("begin"), fail, lambda: told.append("end"))
    with pytest.raises(TacitError, match="enough"):
        runs.train(configured(corpus), tmp_path / "run", callbacks=(callback,))
    assert told == ["begin", 1, "end"]
