"""`import tacit`: quick, complete, and everything on docs/api.md is there and the other way round."""

from __future__ import annotations

import ast
import inspect
import json
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import tacit as front
from commands import TINY, Commands, Trained, lasting, lines, stub, tree, write_corpus
from tacit import runs
from tacit.base.errors import TacitError
from tacit.base.table import Table
from tacit.runs import callbacks
from tacit.text.corpus import SplitCorpus
from tacit.text.overview import CorpusView

PAGE = Path("docs/api.md").read_text("utf-8")
SMALL = dict(assignment.split("=") for assignment in TINY)
SMALL = {key: int(value) for key, value in SMALL.items()}


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiled: Path) -> Path:
    monkeypatch.setenv("JAX_NUM_CPU_DEVICES", "2")  # JAX has started
    monkeypatch.chdir(tmp_path)
    return write_corpus(tmp_path / "messages.jsonl")


def python(code: str, *arguments: object) -> Any:
    """What code prints as JSON, in a process of its own."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def test_import_is_quick_and_loads_nothing() -> None:
    code = """import sys, time, json
start = time.perf_counter()
import tacit
dir(tacit), tacit.__version__
print(json.dumps([time.perf_counter() - start, sorted(sys.modules)]))"""
    seconds, loaded = min((python(code) for _ in range(3)), key=lambda found: found[0])
    assert seconds < 0.3
    assert not {"jax", "numpy", "rich", "matplotlib", "optax", "scipy"} & set(loaded)
    assert [name for name in loaded if name.startswith("tacit")] == ["tacit"]


def test_a_corpus_loads_no_jax() -> None:
    code = """import json, sys, tacit
tacit.corpus("typists", users=3, messages=4).describe()
print(json.dumps(sorted(sys.modules)))"""
    assert "jax" not in python(code)


def test_plots_leave_the_backend_of_the_notebook_alone(trained: Trained) -> None:
    code = """import json, sys, tacit
run = tacit.Run(sys.argv[1])
run.plot()._repr_png_()
run.report()
print(json.dumps(sorted(sys.modules)))"""
    assert "matplotlib.pyplot" not in python(code, trained.path)
    (trained.path / "report.html").unlink()


def test_names_are_those_of_the_type_checker() -> None:
    """mypy and tab completion read the imports under TYPE_CHECKING; they must be what a name gives."""
    source = ast.parse(Path(front.__file__).read_text("utf-8"))
    (block,) = [node for node in source.body if isinstance(node, ast.If)]
    seen = {
        name.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }
    assert seen == front._MODULES
    assert sorted(front.__all__) == sorted([*seen, "__version__"]) and len(front.__all__) <= 12
    assert set(front.__all__) <= set(dir(front))
    with pytest.raises(AttributeError, match="has no attribute 'trian'"):
        front.trian  # noqa: B018


def public(kind: type) -> list[str]:
    return [name for name in dir(kind) if not name.startswith("_")]


def documented() -> dict[str, Any]:
    """Every public thing by the name that the page gives it."""
    names = {
        f"tacit.{name}": getattr(front, name) for name in front.__all__ if name not in ("open", "__version__")
    }
    names |= {f"run.{name}": getattr(runs.Run, name) for name in public(runs.Run)}
    names |= {f"people.{name}": getattr(CorpusView, name) for name in public(CorpusView)}
    return names | {"table.rows": Table.rows}


@pytest.mark.parametrize("name", sorted(documented()))
def test_a_public_name_is_on_the_page_and_has_an_example(name: str) -> None:
    assert re.search(rf"\b{re.escape(name)}\b", PAGE), f"docs/api.md does not name {name}"
    doc = inspect.getdoc(documented()[name])
    assert doc and ("Example:" in doc or ">>>" in doc), f"{name} has no docstring with an example"


def test_the_page_names_nothing_that_is_not_there() -> None:
    known = {"tacit.open", "tacit.__version__", *documented()}
    for owner in ("tacit", "run", "people", "table"):
        for name in re.findall(rf"(?<![\w/.-]){owner}\.([A-Za-z_]+)", PAGE):
            assert f"{owner}.{name}" in known, f"docs/api.md: {owner}.{name}"


@pytest.mark.parametrize("name", ["train", "compare", "corpus", "presets"])
def test_signatures_on_the_page_are_those_of_the_code(name: str) -> None:
    text = re.search(rf"`tacit\.{name}\((.*?)\)`", PAGE)
    assert text is not None
    given = inspect.signature(getattr(front, name)).parameters.values()
    bare = inspect.Signature([p.replace(annotation=inspect.Parameter.empty) for p in given])
    assert f"({text[1]})" == str(bare).replace("'", '"')


def test_train_is_what_the_command_does(
    corpus: Path, tacit: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub(monkeypatch)
    run = front.train("fedatt", corpus=corpus, rounds=4, seed=5, out="mine", progress=False, **SMALL)
    assignments = [f"--set={assignment}" for assignment in TINY]
    tacit.ok(
        "train", "fedatt", "--corpus", corpus, "--rounds", 4, "--seed", 5, "--out", "theirs", *assignments
    )
    assert lasting(Path("mine")) == lasting(Path("theirs"))
    assert run.path == Path("mine") and run.finished and (run.path / "report.html").is_file()
    default = front.train("fedatt", corpus=corpus, rounds=1, progress=False, **SMALL)
    assert default.path == Path("runs/fedatt")


def test_train_resumes_and_returns_what_is_finished(
    corpus: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    stub(monkeypatch)
    again = partial(front.train, "fedavg", corpus=corpus, progress=False, **SMALL)
    again(rounds=6, out="whole")

    def interrupt(record: dict[str, Any]) -> None:
        if record["round"] == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        again(rounds=4, out="parts", callbacks=[front.Callback(round=interrupt)])
    assert not front.Run("parts").finished and "2 of 4 rounds, not finished" in repr(front.Run("parts"))
    heard: list[int] = []
    follow = front.Callback(round=lambda record: heard.append(record["round"]))
    again(rounds=4, out="parts", callbacks=[follow])
    assert heard == [3, 4]
    before = {path: path.stat().st_mtime_ns for path in Path("parts").rglob("*")}
    run = again(rounds=4, out="parts", callbacks=[follow])
    assert heard == [3, 4] and before == {path: path.stat().st_mtime_ns for path in Path("parts").rglob("*")}
    assert run.summary["name"] == "fedavg"
    with pytest.raises(TacitError, match=r"parts was begun with client.lr = .*, now 0.125"):
        again(rounds=4, out="parts", **{"client.lr": 0.125})
    with pytest.raises(TacitError, match=r"training.rounds = 4, now 3"):
        again(rounds=3, out="parts")
    again(rounds=6, out="parts", callbacks=[follow])
    assert heard == [3, 4, 5, 6] and lasting(Path("parts")) == lasting(Path("whole"))
    assert capfd.readouterr().out == ""
    again(rounds=7, out="parts", progress=True)
    assert "round    7/7" in capfd.readouterr().out


def test_train_takes_a_configuration(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stub(monkeypatch)
    first = front.train("fedatt", corpus=corpus, rounds=2, out="first", progress=False, **SMALL)
    other = front.train(first.config, seed=9, out="other", progress=False, **{"client.lr": np.float64(0.25)})
    assert (other.config.seed, other.config.client.lr, other.config.training.rounds) == (9, 0.25, 2)
    assert other.config.aggregation == first.config.aggregation
    Path("mine.toml").write_text("[training]\nrounds = 1\n", "utf-8")
    assert front.train(Path("mine.toml"), corpus=corpus, progress=False, **SMALL).path == Path("runs/mine")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"client.lrr": 1.0}, "client.lrr: client.optimiser = 'sgd' has no such setting; did you mean 'lr'?"),
        ({"clients.lr": 1.0}, "unknown table 'clients' in the configuration; did you mean 'client'?"),
        ({"client.lr": None}, "client.lr = None must be a number, a string, true or false"),
        ({"client.lr": float("inf")}, "client.lr"),
        ({"client.lr": "fast"}, "client.lr = 'fast' must be a number"),
        ({"rounds": 0}, "training.rounds = 0"),
        ({"rounds": 2, "training.rounds": 2}, "training.rounds is given twice"),
        ({"corpus": "nowhere.jsonl"}, "nowhere.jsonl"),
        ({"out": "a" * 300}, f"cannot write {'a' * 300}: File name too long"),
        ({"preset": "fedat"}, "no preset 'fedat'; did you mean 'fedatt'?"),
    ],
)
def test_bad_arguments_are_one_line(corpus: Path, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(TacitError) as refused:
        front.train(**{"preset": "fedavg", "out": "run", "progress": False, **arguments})
    assert message in str(refused.value) and "\n" not in str(refused.value)
    assert not Path("run").exists()


def test_train_takes_a_rule_and_an_optimiser_as_objects(corpus: Path) -> None:
    """A mean written here is the built-in mean, and plain SGD of optax is the built-in server optimiser."""
    import jax
    import optax

    def my_mean(scale=1.0):
        def message(params, update, weight):
            return jax.tree.map(lambda u: weight * u, update), weight

        def combine(params, total):
            return jax.tree.map(lambda u: -scale * u / total[1], total[0])

        return front.Aggregation(message, combine)

    def my_sgd(lr):
        return optax.sgd(lr)

    train = partial(front.train, "fedavg", corpus=corpus, rounds=2, progress=False, **SMALL)
    plain = train(out="plain", **{"server.optimiser": "sgd", "server.lr": 1.0})
    mine = train(out="mine", rule=my_mean, optimiser=my_sgd, **{"server.lr": 1.0})
    assert (mine.config.aggregation.rule, mine.config.server.optimiser) == ("my_mean", "my_sgd")
    for a, b in zip(jax.tree.leaves(plain.params), jax.tree.leaves(mine.params), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)
    halved = train(out="halved", rule=my_mean, **{"aggregation.scale": 0.5})
    assert not np.allclose(halved.params["embedding"], plain.params["embedding"])
    with pytest.raises(TacitError, match="scale"):
        train(out="mine", rule=my_mean, optimiser=my_sgd, **{"server.lr": 1.0, "aggregation.scale": 0.5})


def test_a_run_gives_its_figures(trained: Trained, tacit: Commands) -> None:
    run = front.Run(str(trained.path))
    records = lines(trained.path / "metrics.jsonl")
    assert run.metrics.rows == records and run.metrics["round"] == [1, 2, 3]
    assert run.summary == json.loads((trained.path / "summary.json").read_text("utf-8"))
    figures = run.evaluate()
    assert figures["perplexity"] == pytest.approx(run.summary["test"]["perplexity"], rel=1e-6)
    assert run.evaluate(trained.corpus)["text"].endswith("held out")
    assert "finished" in repr(run) and "3 of 3 rounds" in repr(run)
    assert run.prepare().vocabulary == run.vocabulary
    figure = run.plot()
    assert isinstance(figure, Figure)
    perplexity, recall = figure.axes
    assert list(perplexity.lines[0].get_ydata()) == [record["valid_perplexity"] for record in records]
    for line, key in zip(recall.lines, ("valid_top1", "valid_top3"), strict=True):
        assert list(line.get_ydata()) == [record[key] for record in records]
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_metrics_are_a_table_for_pandas_and_for_people(tmp_path: Path, trained: Trained) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(front.Run(trained.path).metrics)
    assert list(frame["round"]) == [1, 2, 3] and frame["valid_perplexity"].dtype == float
    ragged = Table({"round": [1, 2], "<b>": [0.123456, None]})
    assert repr(ragged) == "round     <b>\n    1  0.1235\n    2"
    html = ragged._repr_html_()
    assert "<th>&lt;b&gt;</th>" in html and "<td>0.1235</td>" in html and html.count("<tr>") == 3
    assert pandas.DataFrame(ragged)["<b>"].isna().tolist() == [False, True]
    long = Table({"round": list(range(500))})
    assert len(repr(long).splitlines()) == 22 and "…" in repr(long) and "499" in repr(long)


def test_compare_is_a_table_of_test_figures(trained: Trained, tmp_path: Path) -> None:
    run = front.Run(trained.path)
    table = front.compare(run, str(trained.path))
    test = run.summary["test"]
    for figure in ("perplexity", "top1", "top3", "sll"):
        assert table[figure] == [test[figure]] * 2 and table[f"{figure}_ci95"] == [test["ci95"][figure]] * 2
    assert table["run"] == [str(trained.path)] * 2 and front.compare(run)["run"] == [trained.path.name]
    assert table["people"] == [test["people"]] * 2 and table["best_round"] == [run.summary["best_round"]] * 2
    with pytest.raises(TacitError, match="at least one run"):
        front.compare()
    with pytest.raises(TacitError, match="not a run directory"):
        front.compare(tmp_path)


def test_a_corpus_is_its_people_and_messages(
    tmp_path: Path, tacit: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_corpus(tmp_path / "messages.jsonl", people=4, messages=3)
    people = front.corpus(path)
    assert len(people) == 4 and [person.name for person in people] == ["u00", "u01", "u02", "u03"]
    texts = [record["text"] for record in lines(path)]
    assert [message.text for person in people for message in person.messages] == texts
    assert (
        people["u02"].messages[1].text
        == people[2].messages[1].text
        == people[-2].messages[1].text
        == texts[7]
    )
    assert repr(people) == f"{path}: 4 people, 12 messages" and repr(people[1]) == "Person('u01', 3 messages)"
    with pytest.raises(IndexError):
        people[4]
    with pytest.raises(TacitError, match="nobody is called 'eve'"):
        people["eve"]
    table = people.describe()
    shown = tacit.ok("data", "describe", path)
    for figure, value in zip(table["figure"], table[str(path)], strict=True):
        assert re.search(rf"{re.escape(figure)} +{re.escape(value)}", shown)
    assert len(front.corpus("typists", users=7, messages=3)) == 7
    with pytest.raises(TacitError, match=r"typists\.user.*did you mean 'users'"):
        front.corpus("typists", user=7)
    with pytest.raises(TacitError, match="users is a setting of the built-in typists"):
        front.corpus(path, users=7)
    monkeypatch.setenv("TACIT_DATA", str(tmp_path / "none"))
    with pytest.raises(TacitError, match="tacit data get ptb"):
        front.corpus("ptb")


def test_a_split_corpus_has_one_voice_in_each_part(tmp_path: Path) -> None:
    for part, text in (("train", "a b\nc\n"), ("valid", "d\n"), ("test", "e\n")):
        (tmp_path / f"{part}.txt").write_text(text, "utf-8")
    people = front.corpus(tmp_path)
    assert [(p.name, [m.text for m in p.messages]) for p in people] == [
        ("train", ["a b", "c"]), ("valid", ["d"]), ("test", ["e"])
    ]  # fmt: skip
    assert people[1].name == "valid" and people["test"].messages[0].text == "e"
    assert list(people.describe()) == ["figure", "train", "valid", "test"]
    assert SplitCorpus._fields == ("train", "valid", "test")


def test_presets_have_a_line_each(tacit: Commands) -> None:
    shown = tacit.ok("presets")
    found = front.presets()
    assert "fedatt" in found and len(found) > 5
    for name, line in found.items():
        assert re.search(rf"^{re.escape(name)} +{re.escape(line)}", shown, re.MULTILINE)


def test_a_notebook_sees_a_bar(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """IPython's display is stood in for: one output, replaced after each round."""
    module = pytest.importorskip("IPython.display")
    shown: list[str] = []

    class Handle:
        def update(self, content: str) -> None:
            shown.append(content)

    def display(content: str, display_id: bool) -> Handle:
        shown.append(content)
        return Handle()

    monkeypatch.setattr(module, "HTML", str)
    monkeypatch.setattr(module, "display", display)
    monkeypatch.setattr(callbacks.console, "is_jupyter", True)
    stub(monkeypatch)
    front.train("fedavg", corpus=corpus, rounds=2, out="<run>", name="<b>", **SMALL)
    assert len(shown) == 3 and "0/2" in shown[0] and "2/2" in shown[2]
    assert "&lt;b&gt;" in shown[0] and "<b>" not in shown[0] and "perplexity" in shown[2]
    assert tree(Path("<run>"))
