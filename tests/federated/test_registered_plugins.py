"""Custom rules and optimisers as objects: registered in a process, hashed by their code."""

from __future__ import annotations

import linecache
import os
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import optax
import pytest

from tacit import runs
from tacit.base.errors import TacitError
from tacit.federated import plugins, trees
from tacit.federated.aggregation import Aggregation
from tacit.federated.aggregation.mean import mean
from tacit.federated.code_hash import object_hash
from tacit.federated.server import ServerConfig, server_optimiser
from tacit.runs.config import resolve

SMALL = ["typists.users=12", "typists.messages=8", "text.vocabulary=80", "sampling.clients=4"]
TINY = [*SMALL, "model.embedding=8", "model.hidden=8", "training.rounds=1"]


def doubled(strength: float = 2.0) -> Aggregation:
    plain = mean()
    return plain._replace(combine=lambda w, m: trees.scale(strength, plain.combine(w, m)))


def test_a_registered_rule_trains_as_one_of_a_file(tmp_path):
    """Twice the mean at rate 1 is the mean at rate 2; its setting and its hash are written down."""
    name = plugins.register_rule(doubled)
    assert name == "doubled"
    config = resolve("fedavg", [*TINY, f"aggregation.rule={name}"])
    assert config.aggregation.settings == {"strength": 2.0} and config.aggregation.code
    runs.train(config, tmp_path / "run")
    runs.train(resolve("fedavg", [*TINY, "server.lr=2"]), tmp_path / "plain")
    ours, plain = (runs.load(tmp_path / out).params for out in ("run", "plain"))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6), ours, plain)

    changed = resolve("fedavg", [*TINY, "aggregation.rule=doubled", "aggregation.strength=3"])
    with pytest.raises(TacitError, match=r"begun with aggregation.strength = 2.0, now 3.0"):
        runs.train(changed, tmp_path / "run", resume=True)
    plugins.register_rule(lambda strength=2.0: mean(), "doubled")  # the cell was edited and run again
    with pytest.raises(TacitError, match="the code of your custom aggregation rule has changed"):
        runs.train(resolve("fedavg", [*TINY, "aggregation.rule=doubled"]), tmp_path / "run", resume=True)


def test_an_optimiser_and_finished_parts_can_be_registered():
    def halved(lr, share=0.5):
        return optax.sgd(share * lr)

    def step(config):
        optimiser = server_optimiser(config)
        return float(optimiser.update(1.0, optimiser.init(0.0))[0])

    name = plugins.register_optimiser(halved)
    assert step(ServerConfig(name, lr=3.0)) == -1.5
    assert step(ServerConfig(name, lr=3.0, settings={"share": 1.0})) == -3.0
    assert plugins.register_optimiser(optax.sgd(0.25), "fixed") == "fixed"
    assert step(ServerConfig("fixed")) == -0.25
    assert plugins.register_rule(doubled(3.0)) == "mean"  # by the function that made its message
    with pytest.raises(TacitError, match="'mean' is also a name in Tacit; register it under another name"):
        resolve("fedavg")
    assert resolve("fedavg").aggregation.rule == "mean"  # a refused name is forgotten
    plugins.register_rule(doubled(3.0), "tripled")


def test_what_is_registered_is_checked_when_it_is_named():
    plugins.register_rule(3, "three")  # type: ignore[arg-type]
    with pytest.raises(TacitError, match=r"three' .registered in Python.: returns int, expected Aggregation"):
        resolve("fedavg", ["aggregation.rule=three"])
    plugins.register_rule(doubled)
    with pytest.raises(TacitError, match=r"aggregation.strenght: .*'doubled' .registered .*'strength'"):
        resolve("fedavg", ["aggregation.rule=doubled", "aggregation.strenght=1"])


def notebook(source: str, number: int):
    """A cell as IPython runs it: its source is known to linecache under the cell's own name."""
    file, cell = f"<ipython-input-{number}>", {"__name__": "__main__"}
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    exec(compile(source, file, "exec"), cell)
    return cell


@pytest.mark.parametrize("known", [True, False], ids=["source", "bytecode"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def rule(a=1.0):\n    return a + 1", "def rule(a=1.0):\n    return a + 2"),
        ("def rule(a=1.0):\n    return a", "def rule(a=2.0):\n    return a"),
        (
            "def f(x):\n    return x + 1\ndef rule(): return f(2)",
            "def f(x):\n    return x - 1\ndef rule(): return f(2)",
        ),
        ("C = 1\ndef rule(): return C", "C = 2\ndef rule(): return C"),
        (
            "def make(a):\n    return lambda: a\nrule = make(1)",
            "def make(a):\n    return lambda: a\nrule = make(2)",
        ),
        (
            "def rule():\n    def inner(x):\n        return x * 2\n    return inner",
            "def rule():\n    def inner(x):\n        return x * 3\n    return inner",
        ),
    ],
    ids=["body", "default", "helper", "constant", "closure", "inner"],
)
def test_the_hash_of_a_notebooks_rule_changes_with_what_it_does(before, after, known):
    rules = []
    for number, source in enumerate((before, before, after)):
        cell = notebook(source, number) if known else {"__name__": "__main__"}
        if not known:
            exec(source, cell)
        rules.append(object_hash(cell["rule"]))
    assert rules[0] == rules[1] != rules[2]


def test_the_hash_is_the_same_in_another_process():
    code = "import test_registered_plugins as t; from tacit.federated.code_hash import object_hash as h; "
    told = subprocess.run(
        [sys.executable, "-c", code + "print(h(t.doubled), h(t.doubled(3.0)), h(t.optax.adam(0.1)))"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.split() == [object_hash(x) for x in (doubled, doubled(3.0), optax.adam(0.1))]
