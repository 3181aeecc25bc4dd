"""CONTRIBUTING.md promises that a new aggregation rule is one file of about 20 lines: do exactly that."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import optax
import pytest

import tacit.federated.aggregation as room
from tacit import runs
from tacit.base.files import read_lines
from tacit.experiments.entry import find
from tacit.experiments.kinds.text import config_of
from tacit.experiments.runner import Place
from tacit.federated import algorithm as algorithms
from tacit.federated import rounds
from tacit.federated.aggregation import AggregationConfig, aggregation, rules, total
from tacit.federated.algorithm import Algorithm
from tacit.federated.client_config import ClientConfig
from tacit.federated.local import Cohort
from tacit.federated.sampling import SamplingConfig
from tacit.federated.server import ServerConfig, server_optimiser
from tacit.runs.config import resolve

CODE, FEDNOVA, LION = re.findall(
    r"```python\n(.*?)```", Path("CONTRIBUTING.md").read_text("utf-8"), re.DOTALL
)


@pytest.fixture
def with_rule(tmp_path, monkeypatch):
    (tmp_path / "normalised.py").write_text(CODE)
    monkeypatch.setenv("TACIT_RULES", str(tmp_path / "normalised.py"))


@pytest.fixture
def with_lion(tmp_path, monkeypatch):
    (tmp_path / "lion.py").write_text(LION)
    monkeypatch.setenv("TACIT_RULES", str(tmp_path / "lion.py"))


def test_the_example_is_about_twenty_lines():
    assert len([line for line in CODE.splitlines() if line.strip()]) <= 20


def test_in_the_package_it_is_found_by_itself(tmp_path, monkeypatch):
    (tmp_path / "normalised.py").write_text(CODE)
    monkeypatch.setattr(room, "__path__", [*room.__path__, str(tmp_path)])
    assert "normalised" in rules()
    sys.modules.pop("tacit.federated.aggregation.normalised", None)


@pytest.mark.usefixtures("with_lion")
def test_a_run_with_a_custom_optimiser_resumes_where_it_was(tmp_path):
    small = ["typists.users=12", "typists.messages=8", "text.vocabulary=80", "sampling.clients=4"]
    model = ["model.embedding=8", "model.hidden=8", "server.optimiser=lion", "server.lr=0.01"]
    config = resolve("fedavg", [*small, *model, "server.decay=0.5", "server.beta1=0.8", "training.rounds=3"])

    class Killed(Exception):
        """As a run is: in the middle."""

    def kill(record):
        if record["round"] == 2:
            raise Killed

    runs.train(config, tmp_path / "whole")
    with pytest.raises(Killed):
        runs.train(config, tmp_path / "parts", callbacks=(runs.Callback(round=kill),))
    runs.train(config, tmp_path / "parts", resume=True)
    whole, parts = (runs.load(tmp_path / name).params for name in ("whole", "parts"))
    assert jax.tree.all(jax.tree.map(lambda a, b: (a == b).all(), whole, parts))


@pytest.mark.usefixtures("with_lion")
def test_the_optimiser_is_optax_with_its_settings():
    config = ServerConfig("lion", lr=0.1, settings={"beta1": 0.8, "decay": 0.5})
    ours, theirs = server_optimiser(config), optax.lion(0.1, 0.8, 0.99, weight_decay=0.5)
    w, g = {"w": np.array([1.0, -2.0], np.float32)}, {"w": np.array([0.3, 0.1], np.float32)}
    a, b = (o.update(g, o.init(w), w)[0]["w"] for o in (ours, theirs))
    np.testing.assert_array_equal(a, b)
    np.testing.assert_allclose(a, [-0.1 * (1 + 0.5), -0.1 * (1 - 1.0)], atol=1e-7)  # sign, and decay of w


@pytest.mark.usefixtures("with_rule")
def test_the_example_does_what_it_says():
    rule = aggregation(AggregationConfig(rule="normalised"))
    updates = np.array([[3.0, 0.0], [0.0, 1.0]], np.float32)
    messages = jax.vmap(rule.message, (None, 0, 0))(
        {"w": np.zeros(2)}, {"w": updates}, np.ones(2, np.float32)
    )
    step = rule.combine({"w": np.zeros(2)}, total(messages))["w"]
    np.testing.assert_allclose(step, [-1.0, -1.0], rtol=1e-6)  # mean direction (½, ½) at mean norm 2


@pytest.mark.usefixtures("with_rule")
def test_a_run_trains_with_it(tmp_path):
    small = ["typists.users=12", "typists.messages=8", "text.vocabulary=80", "sampling.clients=4"]
    model = ["model.embedding=8", "model.hidden=8", "training.rounds=3"]
    config = resolve("fedavg", [*small, *model, "aggregation.rule=normalised"])
    summary = runs.train(config, tmp_path / "run")
    losses = [line["loss"] for line in read_lines(tmp_path / "run" / "metrics.jsonl")]
    assert losses[-1] < losses[0]
    assert summary["test"]["perplexity"] < 80


@pytest.mark.parametrize("executor", ["map", "vmap", "slow"])
def test_fednova_counts_steps(executor):
    """One step of rate 1 on ½(w − x)² goes to x; the clients make 1, 2 and 3 of them, the later ones in vain."""
    made: dict[str, Any] = {}
    exec(CODE.split("def ")[0] + FEDNOVA, made)
    steps, weight = np.array([1, 2, 3], np.int32), np.array([2.0, 1.0, 1.0], np.float32)
    x = np.repeat(np.array([[1.0, 0.0], [0.0, 4.0], [6.0, 6.0]], np.float32)[:, None], 3, axis=1)
    everybody = np.ones(3, bool)
    batches = (x, np.ones((3, 3, 1), np.int32))
    people = Cohort(np.arange(3, dtype=np.int32), batches, steps, weight, np.ones(3, np.float32), everybody)

    def bowl(w, batch, key):
        return 0.5 * ((w["w"] - batch[0]) ** 2).sum(), np.int32(1)

    algorithm = Algorithm(ClientConfig(lr=1.0), AggregationConfig(), ServerConfig(), SamplingConfig())
    rule = made["fednova"]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(algorithms, "chosen_rule", lambda config, scheme: rule)
        trainer = rounds.federation(
            lambda key: {"w": np.zeros(2, np.float32)}, bowl, algorithm, lambda t: people, 0, 1, executor
        )
        state, _ = trainer.round(trainer.init(jax.random.key(0)), 0)
    share, moved = weight / weight.sum(), x[:, 0]
    expected = (share * steps).sum() * (share[:, None] * moved / steps[:, None]).sum(0)
    np.testing.assert_allclose(state.params["w"], expected, rtol=1e-6)


def test_the_sweep_is_one(tmp_path):
    (sweep,) = re.findall(r"```toml\n(.*?)```", Path("CONTRIBUTING.md").read_text("utf-8"), re.DOTALL)
    (tmp_path / "rates.toml").write_text(sweep)
    entry = find(str(tmp_path / "rates.toml"))
    rates = [config_of(row.settings, 3, Place(None, tmp_path)).server.lr for row in entry.rows]
    assert rates == [0.01, 0.05, 0.1] and entry.kind == "text" and entry.seeds == 3
