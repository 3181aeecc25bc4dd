"""Rules and optimisers of one's own: what is wrong with their files, their settings, and runs that remember them."""

from __future__ import annotations

import inspect
import os
import tomllib

import jax
import pytest

from tacit import runs
from tacit.base import settings
from tacit.base.errors import Diverged, TacitError
from tacit.experiments import runner
from tacit.experiments.entry import find
from tacit.experiments.kinds.text import config_of
from tacit.experiments.runner import Place
from tacit.federated import plugins
from tacit.federated.server import server_optimiser
from tacit.runs.config import from_tables, resolve

CUT = """
from tacit.federated.aggregation import Aggregation
from tacit.federated.aggregation.mean import mean

said = []

def cut(length, sharp, how):
    said.append((length, sharp, how))
    return mean()

RULES = {"cut": lambda config, length=1.0, sharp=False, how="all", kept=said: cut(length, sharp, how)}
"""


@pytest.mark.parametrize(
    ("name", "content", "named"),
    [
        ("none.py", None, "none.py is not there or no .py file"),
        ("text.txt", "RULES = {}", "text.txt is not there or no .py file"),
        ("empty.py", "", "empty.py declares no RULES and no OPTIMISERS"),
        ("leaves.py", "import sys; sys.exit(3)", "leaves.py: SystemExit: 3"),
        ("list.py", "RULES = [1]", "RULES must be a dict of functions by name"),
        ("number.py", "OPTIMISERS = {3: print}", "OPTIMISERS must be a dict of functions by name"),
        ("thing.py", "RULES = {'normalized': 3}", "RULES must be a dict of functions by name"),
        (
            "taken.py",
            "RULES = {'mean': lambda config: 1}",
            "taken.py: 'mean' of RULES is a name in Tacit, too",
        ),
        ("bare.py", "RULES = {'normalized': lambda: 1}", "normalized' .bare.py.: it must be a function"),
        (
            "wants.py",
            "RULES = {'normalized': lambda config, c: c}",
            "it must be a function .config, setting=def",
        ),
        ("named.py", "RULES = {'normalized': lambda config, *, c: c}", "it must be a function"),
        ("placed.py", "RULES = {'normalized': lambda config, c=1, /: c}", "it must be a function"),
        ("forgets.py", "RULES = {'normalized': lambda c=1: c}", "its first without a default"),
        ("dict.py", "RULES = {'normalized': dict}", "dict.py.: it must be a function"),
        (
            "raises.py",
            "RULES = {'normalized': lambda config: 1 / 0}",
            "normalized' .raises.py.: ZeroDivision",
        ),
        (
            "none.py",
            "RULES = {'normalized': lambda config: None}",
            "makes NoneType, and Aggregation is wanted",
        ),
        ("torn.py", "def f(", "torn.py: SyntaxError"),
        (
            "other.py",
            "RULES = {'normalised': lambda config: 1}",
            "aggregation.rule = 'normalized' is not known .*'normalised'",
        ),
    ],
)
def test_a_file_that_holds_no_such_rule(tmp_path, monkeypatch, name, content, named):
    if content is not None:
        (tmp_path / name).write_text(content)
    monkeypatch.setenv("TACIT_RULES", str(tmp_path / name))
    with pytest.raises(TacitError, match=named):
        resolve("fedavg", ["aggregation.rule=normalized"])


@pytest.fixture
def with_settings(tmp_path, monkeypatch):
    (tmp_path / "cut.py").write_text(CUT)
    (tmp_path / "lion.py").write_text(
        "import optax\nOPTIMISERS = {'lion': lambda config, decay=0.0: optax.lion(config.lr, weight_decay=decay)}\n"
    )
    monkeypatch.setenv("TACIT_RULES", os.pathsep.join(str(tmp_path / f) for f in ("cut.py", "lion.py")))


@pytest.mark.usefixtures("with_settings")
def test_a_rule_is_given_its_own_settings():
    function = plugins.find("RULES", {}, "aggregation.rule", "cut").function
    said = inspect.signature(function).parameters["kept"].default
    plain = resolve("fedavg", ["aggregation.rule=cut"])
    given = ["aggregation.own.length=2", "aggregation.own.how=some", "aggregation.own.sharp=true"]
    config = resolve("fedavg", ["aggregation.rule=cut", *given])
    assert said == [(1.0, False, "all"), (2.0, True, "some")]
    assert dict(plain.aggregation.own) == {"length": 1.0, "sharp": False, "how": "all"}  # defaults, too
    assert dict(config.aggregation.own) == {"length": 2.0, "sharp": True, "how": "some"}
    assert from_tables(tomllib.loads(settings.dump(config))) == config


@pytest.mark.usefixtures("with_settings")
@pytest.mark.parametrize(
    ("given", "named"),
    [
        (
            ["aggregation.rule=cut", "aggregation.own.lenght=2"],
            "own.lenght: .*'cut' .cut.py. has no such .*'length'",
        ),
        (["aggregation.rule=cut", "aggregation.own.length=long"], "own.length = 'long' must be a number"),
        (
            ["aggregation.rule=cut", "aggregation.own.kept=1"],
            "own.kept: .* has .* for a default, and settings are",
        ),
        (
            ["aggregation.own.length=2"],
            "own.length: aggregation.rule = 'mean' has no such setting; it has none",
        ),
        (["aggregation.own=2"], "'aggregation.own' must be a table"),
        (["aggregation.own.length=[2]"], "own.length = .2. must be a number, a text"),
        (["aggregation.own.length=inf"], "own.length = inf must be finite$"),
        (["aggregation.own.länge=1"], "own.länge: a setting's name is letters a to z"),
        (["server.optimiser=loin"], "server.optimiser = 'loin' is not known .*'lion'"),
        (["server.optimiser=lion", "server.own.dacay=1"], "server.own.dacay: .*'decay'"),
        (
            ["server.own.decay=1"],
            "server.own.decay: server.optimiser = 'sgd' has no such setting; it has none",
        ),
        (["server.beta1=0.5"], "server.beta1 would do nothing"),
    ],
)
def test_settings_that_nothing_reads(given, named):
    with pytest.raises(TacitError, match=named):
        resolve("fedavg", given)


SMALL = ["typists.users=12", "typists.messages=8", "text.vocabulary=80", "sampling.clients=4"]
TINY = [*SMALL, "model.embedding=8", "model.hidden=8", "training.rounds=1"]


@pytest.mark.usefixtures("with_settings")
def test_another_rule_of_the_same_name_does_not_go_on_with_a_run(tmp_path):
    cut = ["aggregation.rule=cut"]
    runs.train(resolve("fedavg", [*TINY, *cut]), tmp_path / "run")
    runs.train(resolve("fedavg", [*TINY, *cut, "aggregation.own.length=1"]), tmp_path / "run", resume=True)
    with pytest.raises(TacitError, match=r"begun with aggregation.own.length = 1.0, now 2.0"):
        runs.train(
            resolve("fedavg", [*TINY, *cut, "aggregation.own.length=2"]), tmp_path / "run", resume=True
        )
    (tmp_path / "cut.py").write_text(CUT + "# changed\n")
    with pytest.raises(TacitError, match="the file of the aggregation part of your own has changed"):
        runs.train(resolve("fedavg", [*TINY, *cut]), tmp_path / "run", resume=True)


HALF = """
import optax, jax.numpy as jnp
OPTIMISERS = {"half": lambda config: optax.lion(config.lr, mu_dtype=jnp.bfloat16)}
"""


@pytest.mark.parametrize(
    ("code", "chosen", "named"),
    [
        (
            CUT.replace("return mean()", "return mean()._replace(combine=lambda w, m: {})"),
            "aggregation.rule=cut",
            "aggregation.rule = 'cut': combine leaves out",
        ),
        (HALF, "server.optimiser=half", "server.optimiser = 'half': its state holds bfloat16"),
    ],
)
def test_what_does_not_fit_leaves_nothing_behind(tmp_path, monkeypatch, code, chosen, named):
    (tmp_path / "mine.py").write_text(code)
    monkeypatch.setenv("TACIT_RULES", str(tmp_path / "mine.py"))
    with pytest.raises(TacitError, match=named):
        runs.train(resolve("fedavg", [*TINY, chosen]), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_of_the_first_round_no_checkpoint_is_promised(tmp_path, monkeypatch):
    (tmp_path / "nan.py").write_text(
        "import optax\nOPTIMISERS = {'lost': lambda config: optax.scale(float('nan'))}\n"
    )
    monkeypatch.setenv("TACIT_RULES", str(tmp_path / "nan.py"))
    with pytest.raises(Diverged, match="round 1: training gave numbers that are not finite") as told:
        runs.train(resolve("fedavg", [*TINY, "server.optimiser=lost"]), tmp_path / "run")
    assert "checkpoint" not in str(told.value)


def test_one_part_may_read_keys_that_only_others_of_ours_do(tmp_path, monkeypatch):
    (tmp_path / "cut.py").write_text(
        CUT + "import optax\nOPTIMISERS = {'look': lambda config: optax.sgd(1.0)}\n"
    )
    monkeypatch.setenv("TACIT_RULES", str(tmp_path / "cut.py"))
    keys = ["aggregation.uniform=true", "server.nesterov=true", "server.beta1=0.5"]
    resolve("fedavg", ["aggregation.rule=cut", "server.optimiser=look", *keys])
    for key in keys:
        with pytest.raises(TacitError, match="would do nothing"):
            resolve("fedatt", [key])


def test_an_edited_file_is_read_again_in_the_same_process(tmp_path, monkeypatch):
    """As in a notebook; the mark must be of the code that trains."""
    file = tmp_path / "step.py"
    monkeypatch.setenv("TACIT_RULES", str(file))
    marks, steps = set(), []
    for rate in (1, 2):  # of the same length, in the same second
        file.write_text(f"import optax\nOPTIMISERS = {{'step': lambda config: optax.sgd({rate}.0)}}\n")
        config = resolve("fedavg", ["server.optimiser=step"]).server
        optimiser = server_optimiser(config)
        steps.append(float(optimiser.update(1.0, optimiser.init(0.0))[0]))
        marks.add(config.code)
    assert steps == [-1, -2] and len(marks) == 2


def test_a_file_with_dataclasses_and_an_optimiser_that_counts_in_python(tmp_path, monkeypatch):
    """Its module can be found while it is read; a state of plain numbers is one of arrays in a checkpoint."""
    (tmp_path / "count.py").write_text(
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\n"
        "import jax, optax\n"
        "@dataclass\nclass Rate:\n    value: float = 1.0\n"
        "step = lambda g, s, w=None: (jax.tree.map(lambda x: -Rate().value * x, g), s + 1)\n"
        "OPTIMISERS = {'count': lambda config: optax.GradientTransformation(lambda w: 0, step)}\n"
    )
    monkeypatch.setenv("TACIT_RULES", str(tmp_path / "count.py"))
    given = [*TINY, "server.optimiser=count"]
    runs.train(resolve("fedavg", given), tmp_path / "run")
    runs.train(resolve("fedavg", [*given, "training.rounds=2"]), tmp_path / "run", resume=True)
    runs.train(resolve("fedavg", [*TINY, "training.rounds=2"]), tmp_path / "plain")
    ours, plain = (runs.load(tmp_path / name).params for name in ("run", "plain"))
    assert jax.tree.all(jax.tree.map(lambda a, b: (a == b).all(), ours, plain))


SWEEP = """
[settings]
preset = "fedavg"
aggregation.rule = "cut"
typists = {users = 12, messages = 8}
text.vocabulary = 80
sampling.clients = 4
model = {embedding = 8, hidden = 8}
training.rounds = 1

[[grid]]
label = "length {aggregation.own.length}"
aggregation.own.length = [1, 2]

[[metrics]]
name = "perplexity"
label = "perplexity"
form = "{:.1f}"
"""


@pytest.mark.usefixtures("with_settings")
def test_a_sweep_over_a_rules_own_setting(tmp_path):
    (tmp_path / "mine.toml").write_text(SWEEP)
    rows = find(str(tmp_path / "mine.toml")).rows
    assert [row.label for row in rows] == ["length 1", "length 2"]
    assert [
        dict(config_of(r.settings, 0, Place(None, tmp_path)).aggregation.own)["length"] for r in rows
    ] == [1, 2]
    (tmp_path / "cut.py").write_text(CUT + "# changed\n")
    changed = find(str(tmp_path / "mine.toml")).rows
    assert [row.settings for row in rows] == [row.settings for row in changed]
    assert all(a.hash("text") != b.hash("text") for a, b in zip(rows, changed, strict=True))  # measured again


def test_a_row_of_an_edited_preset_is_another(tmp_path, monkeypatch):
    preset = tmp_path / "mine-too.toml"
    (tmp_path / "mine.toml").write_text(SWEEP.replace('"fedavg"', f'"{preset.as_posix()}"'))
    hashes = set()
    for rate in (1, 2, 2):
        preset.write_text(f"[client]\nlr = {rate}\n")
        hashes.add(find(str(tmp_path / "mine.toml")).rows[0].hash("text"))
    assert len(hashes) == 2


@pytest.mark.usefixtures("with_settings")
def test_what_is_wrong_with_the_last_row_is_told_before_the_first_is_trained(tmp_path):
    (tmp_path / "mine.toml").write_text(SWEEP.replace("[1, 2]", '[1, "long"]'))
    with pytest.raises(
        TacitError, match=r"experiment 'mine', row 'length long': aggregation.own.length = 'long'"
    ):
        runner.run(find(str(tmp_path / "mine.toml")), tmp_path / "out")


def test_text_is_given_as_it_is(tmp_path, monkeypatch):
    (tmp_path / "cut.py").write_text(CUT)
    monkeypatch.setenv("TACIT_RULES", str(tmp_path / "cut.py"))
    wanted = {"preset": "fedavg", "aggregation.rule": "cut", "aggregation.own.how": "größer 😀"}
    assert dict(config_of(wanted, 0, Place(None, tmp_path)).aggregation.own)["how"] == "größer 😀"
