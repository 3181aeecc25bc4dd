"""Custom rules and optimisers: mistakes in their files, their settings, and runs that remember them."""

from __future__ import annotations

import inspect
import os
import re
import tomllib
from pathlib import Path

import jax
import pytest

from tacit import runs
from tacit.base import settings
from tacit.base.errors import Diverged, TacitError
from tacit.experiments import runner
from tacit.experiments.entry import find
from tacit.experiments.kinds.text import config_of
from tacit.experiments.runner import Place
from tacit.federated import client_optimisers, plugins
from tacit.federated.aggregation import Aggregation, AggregationConfig, rules
from tacit.federated.plugin_checks import check_rule
from tacit.federated.server import OPTIMISERS, server_optimiser
from tacit.runs.config import from_tables, resolve

RAISING = """
from tacit.federated.aggregation import Aggregation

class Silent(BaseException): pass

class Odd(Exception):
    def __str__(self): raise ValueError("no text")

def raising():
    def message(params, update, weight):
        {message}
        return update, weight

    def combine(params, total):
        {combine}
        return params

    {factory}
    return Aggregation(message, combine)

{file}
RULES = {{"raising": raising}}
"""
KIND = plugins.Kind("RULES", "aggregation.rule", Aggregation, rules)
CUT = """
from tacit.federated.aggregation import Aggregation
from tacit.federated.aggregation.mean import mean

said = []

def cut(length, sharp, how):
    said.append((length, sharp, how))
    return mean()

RULES = {"cut": lambda length=1.0, sharp=False, how="all", kept=said: cut(length, sharp, how)}
"""


@pytest.mark.parametrize(
    ("name", "content", "named"),
    [
        ("none.py", None, "none.py does not exist or is no .py file"),
        ("text.txt", "RULES = {}", "text.txt does not exist or is no .py file"),
        ("empty.py", "", "empty.py declares none of RULES, OPTIMISERS, CLIENT_OPTIMISERS"),
        ("leaves.py", "import sys; sys.exit(3)", "leaves.py: SystemExit: 3"),
        ("list.py", "RULES = [1]", "RULES must be a dict of functions by name"),
        ("number.py", "OPTIMISERS = {3: print}", "OPTIMISERS must be a dict of functions by name"),
        ("thing.py", "RULES = {'normalized': 3}", "RULES must be a dict of functions by name"),
        (
            "taken.py",
            "RULES = {'mean': lambda: 1}",
            "taken.py: 'mean' of RULES is also a name in Tacit",
        ),
        ("bare.py", "RULES = {'normalized': lambda: 1}", "normalized' .bare.py.: returns int, expected Agg"),
        (
            "wants.py",
            "RULES = {'normalized': lambda c: c}",
            "normalized' .wants.py.: its parameter 'c' needs a default.*of .aggregation. go without: rule, noise",
        ),
        ("named.py", "RULES = {'normalized': lambda *, c: c}", "its parameter 'c' needs a default"),
        ("placed.py", "RULES = {'normalized': lambda c=1, /: c}", "its parameter 'c' needs a default"),
        (
            "takes.py",
            "RULES = {'normalized': lambda noise=1.0: 1}",
            "'noise' has the name of a key of .aggreg",
        ),
        ("dict.py", "RULES = {'normalized': dict}", "dict.py.: its parameters cannot be read: ValueError"),
        (
            "notes.py",
            "def f(c: 'Nowhere' = 1): pass\nRULES = {'normalized': f}",
            "notes.py.: its parameters cannot be read: NameError: name 'Nowhere' is not defined",
        ),
        (
            "beyond.py",
            "from typing import Annotated\nfrom tacit.base.settings import Range\n"
            "def f(c: Annotated[int, Range(1)] = 0): pass\nRULES = {'normalized': f}",
            "aggregation.c = 0 must be at least 1",
        ),
        (
            "raises.py",
            "RULES = {'normalized': lambda: 1 / 0}",
            "normalized' .raises.py.: ZeroDivision",
        ),
        (
            "none.py",
            "RULES = {'normalized': lambda: None}",
            "returns NoneType, expected Aggregation",
        ),
        ("torn.py", "def f(", "torn.py: SyntaxError"),
        (
            "other.py",
            "RULES = {'normalised': lambda: 1}",
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


@pytest.mark.parametrize("place", ["file", "factory", "message", "combine"])
@pytest.mark.parametrize("raised", ["SystemExit(3)", "Silent()", "Odd()", "GeneratorExit()", "MemoryError()"])
def test_whatever_a_rule_raises_is_its_error(tmp_path, monkeypatch, place, raised):
    lines = {
        p: f"raise {raised}" if p == place else "pass" for p in ("file", "factory", "message", "combine")
    }
    (tmp_path / "raising.py").write_text(RAISING.format(**lines))
    monkeypatch.setenv("TACIT_RULES", str(tmp_path / "raising.py"))
    with pytest.raises(TacitError, match=rf"(raising.py|'raising').*{raised.partition('(')[0]}"):
        rule = plugins.make(KIND, AggregationConfig("raising"))
        check_rule("raising", rule, {"w": jax.ShapeDtypeStruct((2,), "float32")})


@pytest.fixture
def with_settings(tmp_path, monkeypatch):
    (tmp_path / "cut.py").write_text(CUT)
    (tmp_path / "lion.py").write_text(
        "import optax\nOPTIMISERS = {'lion': lambda lr, decay=0.0: optax.lion(lr, weight_decay=decay)}\n"
    )
    monkeypatch.setenv("TACIT_RULES", os.pathsep.join(str(tmp_path / f) for f in ("cut.py", "lion.py")))


@pytest.mark.usefixtures("with_settings")
def test_a_rule_is_given_its_own_settings():
    factory = plugins.known(KIND)["cut"].factory
    said = inspect.signature(factory).parameters["kept"].default
    plain = resolve("fedavg", ["aggregation.rule=cut"])
    given = ["aggregation.length=2", "aggregation.how=some", "aggregation.sharp=true"]
    config = resolve("fedavg", ["aggregation.rule=cut", *given])
    assert said == [(1.0, False, "all"), (2.0, True, "some")]
    assert plain.aggregation.settings == {"length": 1.0, "sharp": False, "how": "all"}  # defaults, too
    assert config.aggregation.settings == {"length": 2.0, "sharp": True, "how": "some"}
    assert from_tables(tomllib.loads(settings.dump(config))) == config


@pytest.mark.usefixtures("with_settings")
@pytest.mark.parametrize(
    ("given", "named"),
    [
        (
            ["aggregation.rule=cut", "aggregation.lenght=2"],
            "aggregation.lenght: .*'cut' .cut.py. has no such .*'length'",
        ),
        (["aggregation.rule=cut", "aggregation.length=long"], "aggregation.length = 'long' must be a number"),
        (
            ["aggregation.rule=cut", "aggregation.kept=1"],
            "aggregation.kept: .* has no such setting: its default is not a number",
        ),
        (
            ["aggregation.length=2"],
            "aggregation.length: aggregation.rule = 'mean' has no such setting .* = 'cut' has.; it is one of",
        ),
        (["aggregation.length=[2]"], "aggregation.length = .2. must be a number, a string"),
        (["aggregation.length=inf"], "aggregation.length = inf must be finite$"),
        (["aggregation.länge=1"], "aggregation.länge: a setting's name has only the letters a to z"),
        (["server.optimiser=loin"], "server.optimiser = 'loin' is not known .*'lion'"),
        (["server.optimiser=lion", "server.dacay=1"], "server.dacay: .*'decay'"),
        (
            ["server.decay=1"],
            "server.decay: server.optimiser = 'sgd' has no such setting .server.optimiser = 'lion' has.",
        ),
    ],
)
def test_settings_that_nothing_reads(given, named):
    with pytest.raises(TacitError, match=named):
        resolve("fedavg", given)


SMALL = ["typists.users=12", "typists.messages=8", "text.vocabulary=80", "sampling.clients=4"]
TINY = [*SMALL, "model.embedding=8", "model.hidden=8", "training.rounds=1"]


@pytest.mark.usefixtures("with_settings")
def test_another_rule_of_the_same_name_does_not_resume_a_run(tmp_path):
    cut = ["aggregation.rule=cut"]
    runs.train(resolve("fedavg", [*TINY, *cut]), tmp_path / "run")
    runs.train(resolve("fedavg", [*TINY, *cut, "aggregation.length=1"]), tmp_path / "run", resume=True)
    with pytest.raises(TacitError, match=r"begun with aggregation.length = 1.0, now 2.0"):
        runs.train(resolve("fedavg", [*TINY, *cut, "aggregation.length=2"]), tmp_path / "run", resume=True)
    (tmp_path / "cut.py").write_text(CUT + "# changed\n")
    with pytest.raises(TacitError, match="the code of your custom aggregation rule has changed"):
        runs.train(resolve("fedavg", [*TINY, *cut]), tmp_path / "run", resume=True)


HALF = """
import optax, jax.numpy as jnp
OPTIMISERS = {"half": lambda lr: optax.lion(lr, mu_dtype=jnp.bfloat16)}
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
        "import optax\nOPTIMISERS = {'lost': lambda: optax.scale(float('nan'))}\n"
    )
    monkeypatch.setenv("TACIT_RULES", str(tmp_path / "nan.py"))
    with pytest.raises(Diverged, match="round 1: training gave numbers that are not finite") as told:
        runs.train(resolve("fedavg", [*TINY, "server.optimiser=lost"]), tmp_path / "run")
    assert "checkpoint" not in str(told.value)


NARROW = """
from __future__ import annotations
from typing import Annotated, Literal
from tacit.base.settings import Range
from tacit.federated.aggregation import Aggregation
from tacit.federated.aggregation.mean import mean

def narrow(share: Annotated[float, Range(0, 1)] = 0, how: Literal["a", "b"] = "a", many: float = 2) -> Aggregation:
    return mean()

RULES = {"narrow": narrow}
"""


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ("share=2", "aggregation.share = 2.0 must be between 0 and 1"),
        ("how=c", "aggregation.how = 'c' is not known; it is one of: a, b"),
        ("many=x", "aggregation.many = 'x' must be a number"),
    ],
)
def test_annotations_narrow_a_setting(tmp_path, monkeypatch, given, named):
    (tmp_path / "narrow.py").write_text(NARROW)
    monkeypatch.setenv("TACIT_RULES", str(tmp_path / "narrow.py"))
    plain = resolve("fedavg", ["aggregation.rule=narrow"]).aggregation.settings
    assert plain == {"share": 0.0, "how": "a", "many": 2.0} and isinstance(plain["many"], float)
    with pytest.raises(TacitError, match=named):
        resolve("fedavg", ["aggregation.rule=narrow", f"aggregation.{given}"])


def test_the_docs_list_every_setting_of_every_part():
    rows, table = {}, ""
    for row in Path("docs/federated.md").read_text("utf-8").splitlines():
        if re.search(r"^\|.*`(rule|optimiser) = ", row):
            table = "".join(re.findall(r"^\| `\[([a-z]+)\]`", row)) or table
            for name in re.findall(r'"([a-z-]+)"', row):
                rows[table, name] = row.rpartition(" | ")[2]
    parts = {"aggregation": rules(), "client": client_optimisers.OPTIMISERS, "server": OPTIMISERS}
    for table, factories in parts.items():
        for name, factory in factories.items():
            declared = [p for p in inspect.signature(factory).parameters if p != "lr"]
            assert all(f"`{setting}`" in rows[table, name] for setting in declared), (table, name)
    assert set(rows) == {(table, name) for table, factories in parts.items() for name in factories}


def test_an_edited_file_is_read_again_in_the_same_process(tmp_path, monkeypatch):
    """As in a notebook; the hash must be of the code that trains."""
    file = tmp_path / "step.py"
    monkeypatch.setenv("TACIT_RULES", str(file))
    hashes, steps = set(), []
    for rate in (1, 2):  # of the same length, in the same second
        file.write_text(f"import optax\nOPTIMISERS = {{'step': lambda: optax.sgd({rate}.0)}}\n")
        config = resolve("fedavg", ["server.optimiser=step"]).server
        optimiser = server_optimiser(config)
        steps.append(float(optimiser.update(1.0, optimiser.init(0.0))[0]))
        hashes.add(config.code)
    assert steps == [-1, -2] and len(hashes) == 2


def test_a_file_with_dataclasses_and_an_optimiser_that_counts_in_python(tmp_path, monkeypatch):
    """Its module can be found while it is read; a state of plain numbers is one of arrays in a checkpoint."""
    (tmp_path / "count.py").write_text(
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\n"
        "import jax, optax\n"
        "@dataclass\nclass Rate:\n    value: float = 1.0\n"
        "step = lambda g, s, w=None: (jax.tree.map(lambda x: -Rate().value * x, g), s + 1)\n"
        "OPTIMISERS = {'count': lambda: optax.GradientTransformation(lambda w: 0, step)}\n"
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
label = "length {aggregation.length}"
aggregation.length = [1, 2]

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
    assert [config_of(r.settings, 0, Place(None, tmp_path)).aggregation.settings["length"] for r in rows] == [
        1,
        2,
    ]
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
        TacitError, match=r"experiment 'mine', row 'length long': aggregation.length = 'long'"
    ):
        runner.run(find(str(tmp_path / "mine.toml")), tmp_path / "out")


def test_text_is_given_as_it_is(tmp_path, monkeypatch):
    (tmp_path / "cut.py").write_text(CUT)
    monkeypatch.setenv("TACIT_RULES", str(tmp_path / "cut.py"))
    wanted = {"preset": "fedavg", "aggregation.rule": "cut", "aggregation.how": "größer 😀"}
    assert config_of(wanted, 0, Place(None, tmp_path)).aggregation.settings["how"] == "größer 😀"
