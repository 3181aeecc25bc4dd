"""The fuzz suite itself: a few trials of every category in memory, and every command is started by some category."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import jax
import numpy as np
import pytest
from fuzz import box as boxes
from fuzz import federations, page, processes, schedule, worker
from fuzz.categories import find, kills, names
from fuzz.commands import PLAIN, commands_of_the_program
from fuzz.material import CHAT, SWEEP, Material
from fuzz.trial import Fault, Record, drawing

import file_models
from commands import TINY, stub, write_corpus
from tacit import runs
from tacit.lm.network8 import writer as network8
from tacit.models import ModelConfig, language_model
from tacit.ngram.compact import writer as compact
from tacit.ngram.formats import arpa
from tacit.privacy import plan_file
from tacit.privacy.plan_file import Plan
from tacit.runs.config import resolve
from tacit.text import pieces

IN_MEMORY = [name for name in names() if not find(name).processes]
FEW = {"checkpoints": 2, "run_directories": 3, "arguments": 5, "messages": 2}  # the slower ones


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> Material:
    """The files that `make fuzz` lets the commands make, made here without training."""
    made = Material(tmp_path_factory.mktemp("material"))
    write_corpus(made.messages, messages=24)
    write_corpus(made.other, messages=24)
    with pytest.MonkeyPatch.context() as patch:
        stub(patch)
        settings = [*TINY, f"text.corpus={made.messages}", "training.rounds=1"]
        runs.train(resolve("fedavg", settings), made.run)
    made.ngram.mkdir()
    model, words = file_models.kneser(3), file_models.vocabulary(20)
    compact.write(made.compact, words, model, name="a model")
    arpa.write(made.arpa, words, model)
    (made.ngram / "summary.json").write_text('{"models": {}, "supplement_corpus": "typists"}\n', "utf-8")
    (made.run / "summary.json").write_text(_summary(), "utf-8")
    config = ModelConfig(hidden=8, embedding=8)
    shapes = jax.eval_shape(language_model(config, 20).init, jax.random.key(1))
    network8.write(
        made.network8, words, config, jax.tree.map(lambda x: np.full(x.shape, 0.1), shapes), name="test"
    )
    made.counts.mkdir()
    counts = {w: 5.0 + i for i, w in enumerate(file_models.WORDS[:8])}
    (made.counts / "counts.tsv").write_text("".join(f"{w}\t{n}\n" for w, n in counts.items()), "utf-8")
    made.pieces.mkdir()
    (made.pieces / "pieces.model").write_bytes(pieces.train(counts, 20).proto)
    made.sweep.write_text(SWEEP, "utf-8")
    made.chat.write_text(CHAT, "utf-8")
    federations.make(made)
    plan = Plan(
        "gaussian", "poisson", 1e-6, 2, 100, 3, 0.03, 1.1, 4.0, None, 4.0, (3.0, 4.0), 0.4, 0.5, "none"
    )
    plan_file.write(made.plan, plan)
    made.results.mkdir()
    shutil.copy("results/quadratic.json", made.results / "quadratic.quick.json")
    return made


def _summary() -> str:
    figures = {"perplexity": 9.0, "top1": 0.1, "top3": 0.2, "sll": -3.0, "oov": 0.1, "people": 2, "ci95": {}}
    return json.dumps({"test": figures, "seen": None, "best_round": 1, "chosen_by": "perplexity"}) + "\n"


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[boxes.Box]:
    made, before = boxes.make(tmp_path / "box"), dict(os.environ)
    monkeypatch.chdir(made.work)
    previous = signal.signal(signal.SIGALRM, worker._alarm)
    yield made
    signal.signal(signal.SIGALRM, previous)
    os.environ.clear()
    os.environ.update(before)


@pytest.mark.parametrize("name", IN_MEMORY)
def test_trials_of_every_category_in_memory(name: str, box: boxes.Box, material: Material) -> None:
    if name in ("javascript", "tabs") and not shutil.which("node"):
        pytest.skip("node is not installed; `make test` installs it where it may (apt-get install nodejs)")
    category = find(name)
    for number in range(FEW.get(name, 10)):
        boxes.empty(box)
        record = worker.made(category, name, number, 0, box, material, most_mb=10_000)
        # A busy machine may be slower than a trial's limit; every other fault is one of the product or of the trial
        assert record.ending in ("ok", "refused", "hang"), record
    processes.end_helpers()


def test_every_command_is_started_by_a_category() -> None:
    """A new command needs a line in fuzz/commands.py; then the categories of whole processes start it."""
    assert set(commands_of_the_program()) == set(PLAIN)
    whole = find("processes")
    assert isinstance(whole.trials, int) and whole.trials >= 10 * len(PLAIN)


def test_every_writing_command_is_killed() -> None:
    """`demo` takes too long: it trains twice, distils and personalises by the functions of commands that are killed."""
    writing = {name for name, plain in PLAIN.items() if plain.writes} - {"demo"}
    assert writing <= {scenario.command for scenario in kills.SCENARIOS.values()}


def test_a_whole_run_is_as_large_as_the_page_says() -> None:
    sizes = [find(name).trials for name in names()]
    assert sum(size for size in sizes if isinstance(size, int)) >= 20_000 and len(sizes) >= 12


def test_a_trial_is_determined_by_category_number_and_seed() -> None:
    assert drawing("arpa", 3, 0).random() == drawing("arpa", 3, 0).random()
    others = [drawing("arpa", 3, 1), drawing("arpa", 4, 0), drawing("api", 3, 0)]
    assert drawing("arpa", 3, 0).random() not in [draw.random() for draw in others]


def test_canaries_tell(box: boxes.Box) -> None:
    result = box.work / "result"
    with boxes.untouched(box, (result,)):
        result.write_text("mine")
        (box.home / "cache").write_text("allowed")
    for spoil in (
        lambda: (box.outside / "page.html").write_text("<p>somebody's pagf\n"),
        lambda: (box.outside / "docs" / "results" / "drawing.svg").unlink(),
        lambda: (box.work / "beside").write_text("x"),
        lambda: (box.home / ".bashrc").chmod(0o600),
        lambda: ((box.outside / "link").unlink(), (box.outside / "link").symlink_to("page.html")),
    ):
        with pytest.raises(Fault, match="foreign"), boxes.untouched(box, (result,)):
            spoil()


def test_a_mixture_of_old_and_new_is_told(tmp_path: Path) -> None:
    """Of a file whose bytes never repeat, such as summary.json, only its old self is known."""
    old = {"a": b"1", "b": b"1", "same": b"0", "summary.json": b"1"}
    new = {"a": b"2", "b": b"2", "same": b"0", "summary.json": b"2"}

    def left(**changes: bytes) -> bool:
        for name, content in {**new, "summary.json": b"3", **changes}.items():
            (tmp_path / name).write_bytes(content)
        (tmp_path / ".a.part").write_bytes(b"not looked at")
        return kills.check_whole("a command", tmp_path, old, new)

    assert left() and not left(**old)
    for mixture in ({"a": b"1"}, {"b": b""}, {"summary.json": b"1"}, {"extra": b"2"}):
        with pytest.raises(Fault, match="mixed"):
            left(**mixture)


def test_the_page_shows_the_figures_of_the_results(tmp_path: Path) -> None:
    text = page.PAGE.read_text("utf-8")
    if page.RESULTS.is_file():
        assert page.filled(text, json.loads(page.RESULTS.read_text("utf-8"))) == text, "run `make fuzz`"
    row = {"what": "x", "trials": 3, "processes": 1, "ok": 1, "refused": 1, "failed": {"hang": 1}}
    row |= {"again": 0, "cpu_s": 1.0, "longest_s": 0.5, "peak_mb": 100, "commands": {"train": 1}}
    (tmp_path / "page.md").write_text("<!-- trials:begin --><!-- trials:end -->")
    figures = {"seed": 5, "seconds": 61, "prepared_s": 3, "whole": True, "categories": {"arpa": row}}
    page.publish(figures, tmp_path / "page.md", tmp_path / "fuzz.json")
    shown = (tmp_path / "page.md").read_text("utf-8")
    assert (
        "| arpa | x | 3 | 1 | 1 | 1 | 1 hang |" in shown and "with seed 5" in shown and "`train` 1" in shown
    )


def test_slices_hold_every_trial_once() -> None:
    wanted = {"a": list(range(1000)), "b": [7], "c": list(range(40))}
    parts = schedule.slices(wanted)
    for name, numbers in wanted.items():
        assert [n for part in parts if part.category == name for n in part.numbers] == numbers
    assert np.argmax([part.category == "b" for part in parts]) < len(parts) - 1
    assert Record("a", 1, "ok").processes == 0


def test_a_hang_is_tried_again_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the second ending counts; the record says that it is the second."""
    made: list[tuple[int, list[int]]] = []

    def once(parts: list[schedule.Slice], seed: int, jobs: int, end: float, folder: Path) -> schedule.Run:
        made.append((jobs, [n for part in parts for n in part.numbers]))
        ending = {1: "hang", 3: "hang" if len(made) == 1 else "refused", 4: "crash"}
        numbers = made[-1][1]
        return schedule.Run([Record("arpa", n, ending.get(n, "ok")) for n in numbers], {"arpa": 2.0})

    monkeypatch.setattr(schedule, "_made", once)
    run = schedule.run({"arpa": [1, 2, 3, 4]}, 0, 2, 0.0, tmp_path)
    assert made == [(2, [1, 2, 3, 4]), (1, [1, 3])] and run.cpu_s == {"arpa": 4.0}
    assert [(r.number, r.ending, r.again) for r in run.records] == [
        (1, "hang", True), (2, "ok", False), (3, "refused", True), (4, "crash", False)
    ]  # fmt: skip
