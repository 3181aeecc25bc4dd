"""A run killed at any moment ends with the same bytes; nothing else is gone on with."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from commands import (
    TINY,
    Commands,
    Processes,
    Trained,
    configured,
    lasting,
    leftovers,
    lines,
    sets,
    stub,
    tree,
    write_corpus,
)
from tacit import runs
from tacit.base.errors import TacitError
from tacit.runs.checkpoints import load_tree, save_tree


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus") / "messages.jsonl")


class Killed(BaseException):
    """Like kill -9: nobody catches it and nobody tidies up."""


@pytest.mark.parametrize("every", [1, 2])
def test_killed_at_any_write_it_ends_with_the_same_bytes(
    tmp_path: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch, every: int
) -> None:
    """Every fsync and every rename of a run is once the last thing it does, with the file whole or torn."""
    stub(monkeypatch)
    monkeypatch.setattr(os, "fsync", lambda file: None)  # a killed process, not a power cut
    config = configured(corpus, f"training.checkpoint_every={every}", "training.rounds=4")
    runs.train(config, tmp_path / "whole")
    expected = lasting(tmp_path / "whole")
    assert 1 < json.loads(expected["summary.json"])["best_round"] < 4
    replace = Path.replace

    def dying(at: int, torn: bool) -> bool:
        """Let the run die at its at-th step; False if it ends before."""
        left = at

        def die(*_: object) -> bool:
            nonlocal left
            left -= 1
            return left == 0

        def dying_fsync(file: int) -> None:
            if stat.S_ISREG(os.fstat(file).st_mode) and die():
                if torn:
                    os.ftruncate(file, max(0, os.fstat(file).st_size - 5))
                raise Killed

        def dying_replace(path: Path, target: Path) -> Path:
            if die():
                raise Killed
            return replace(path, target)

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", dying_fsync)
            patch.setattr(Path, "replace", dying_replace)
            try:
                runs.train(config, tmp_path / "run", resume=True)
            except Killed:
                return True
        return False

    moments = 0
    for torn in (False, True):
        at = 1
        while True:
            shutil.rmtree(tmp_path / "run", ignore_errors=True)
            if not dying(at, torn):
                break
            dying(2 + at % 5, torn)  # and again, while it goes on
            runs.train(config, tmp_path / "run", resume=True)
            assert lasting(tmp_path / "run") == expected, (at, torn)
            assert not leftovers(tmp_path / "run")
            assert [t["round"] for t in lines(tmp_path / "run/timings.jsonl")] == [1, 2, 3, 4]
            at += 1
        moments += at - 1
    assert moments > 2 * 4 * 5  # all of them were visited


@pytest.mark.parametrize("preset", ["fedadam", "gboard-server"])
def test_killed_processes_end_with_the_same_bytes(
    tmp_path: Path, corpus: Path, process: Processes, tacit: Commands, preset: str
) -> None:
    """kill -9 of a real process, at moments of chance, again and again."""
    rounds, seed = 60, random.randrange(10**6)
    draw = random.Random(seed)
    # the vocabulary and the model of the preset are too large for a test
    shape = [*TINY, "model.kind=gru", "model.tied=true", "central.steps=50"]
    common = ["train", preset, "--corpus", corpus, "--rounds", rounds, *sets(*shape)]
    tacit.ok(*common, "--out", tmp_path / "whole")
    out, stopped = tmp_path / "run", []
    for _ in range(2 if preset == "fedadam" else 1):
        running = process.start(*common, "--out", out, "--resume")
        before = (out / "metrics.jsonl").stat().st_size if (out / "metrics.jsonl").exists() else 0
        until = time.monotonic() + 300
        while time.monotonic() < until and running.poll() is None:
            if (out / "metrics.jsonl").exists() and (out / "metrics.jsonl").stat().st_size != before:
                break
            time.sleep(0.002)
        time.sleep(draw.uniform(0, 0.25))
        running.send_signal(signal.SIGKILL)
        running.communicate()
        stopped.append((out / "metrics.jsonl").read_bytes().count(b"\n"))
        assert running.returncode in (-signal.SIGKILL, 0), (seed, running.returncode)
    result = process(*common, "--out", out, "--resume")
    assert result.code == 0 and result.err == "", (seed, result)
    assert lasting(out) == lasting(tmp_path / "whole"), (seed, stopped)
    assert not leftovers(out) and (out / "report.html").is_file()
    if stopped[0] == rounds:
        pytest.skip("this machine finished the run before it could be killed")


def test_resume_of_a_finished_run_changes_nothing(tmp_path: Path, trained: Trained) -> None:
    shutil.copytree(trained.path, tmp_path / "run")
    runs.train(runs.read_config(trained.path), tmp_path / "run", resume=True)
    assert tree(tmp_path / "run") == tree(trained.path)


def test_a_longer_run_goes_on_as_if_it_had_been_long_from_the_start(tmp_path: Path, trained: Trained) -> None:
    longer = configured(trained.corpus, "training.rounds=5")
    shutil.copytree(trained.path, tmp_path / "run")
    runs.train(longer, tmp_path / "run", resume=True)
    runs.train(longer, tmp_path / "straight")
    assert lasting(tmp_path / "run") == lasting(tmp_path / "straight")


@pytest.mark.parametrize(
    ("more", "key"),
    [
        (["client.lr=0.5"], "client.lr = 4.0, now 0.5"),
        (["seed=1"], "seed = 0, now 1"),
        (["text.vocabulary=21"], "text.vocabulary = 20, now 21"),
        (["training.rounds=2"], "training.rounds = 3, now 2"),
        (["training.rounds=5", "client.schedule=linear"], "training.rounds = 3, now 5|client.schedule"),
    ],
)
def test_other_settings_are_refused_with_the_key(
    tmp_path: Path, trained: Trained, more: list[str], key: str
) -> None:
    shutil.copytree(trained.path, tmp_path / "run")
    with pytest.raises(TacitError, match=key):
        runs.train(configured(trained.corpus, *more), tmp_path / "run", resume=True)
    assert tree(tmp_path / "run") == tree(trained.path)


@pytest.mark.parametrize("whose", ["client", "server"])
def test_a_longer_run_is_refused_where_the_rate_depends_on_the_length(
    tmp_path: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch, whose: str
) -> None:
    stub(monkeypatch)
    runs.train(configured(corpus, f"{whose}.schedule=cosine"), tmp_path / "run")
    with pytest.raises(
        TacitError, match=r"its learning rates are scheduled over 3 rounds, so it cannot have more"
    ):
        runs.train(
            configured(corpus, f"{whose}.schedule=cosine", "training.rounds=4"), tmp_path / "run", resume=True
        )
    idle = ["central.schedule=cosine"]  # a federation does not read it
    runs.train(configured(corpus, *idle), tmp_path / "other")
    runs.train(configured(corpus, *idle, "training.rounds=4"), tmp_path / "other", resume=True)


def test_a_longer_run_is_refused_where_its_last_round_was_evaluated_out_of_turn(
    tmp_path: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub(monkeypatch)
    runs.train(configured(corpus, "training.evaluate_every=2"), tmp_path / "run")
    longer = configured(corpus, "training.evaluate_every=2", "training.rounds=5")
    with pytest.raises(TacitError, match=r"its last round, 3, is not a multiple of training.evaluate_every"):
        runs.train(longer, tmp_path / "run", resume=True)


def test_a_longer_run_that_is_stopped_does_not_look_finished(
    tmp_path: Path, trained: Trained, tacit: Commands
) -> None:
    shutil.copytree(trained.path, tmp_path / "run")

    def stop(record: dict[str, Any]) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        longer = configured(trained.corpus, "training.rounds=5")
        runs.train(longer, tmp_path / "run", resume=True, callbacks=(runs.Callback(round=stop),))
    assert not (tmp_path / "run/summary.json").exists() and not (tmp_path / "run/report.html").exists()
    told = tacit("compare", tmp_path / "run")
    assert told.code == 2 and "has not ended" in told.err


@pytest.mark.parametrize("instead", ["nothing", "a folder", "a run killed before its first checkpoint"])
def test_a_lost_checkpoint_is_told_and_the_rounds_are_not_made_again(
    tmp_path: Path, trained: Trained, instead: str
) -> None:
    run = tmp_path / "run"
    shutil.copytree(trained.path, run)
    (run / "checkpoints/last.safetensors").unlink()
    if instead == "a folder":
        (run / "checkpoints/last.safetensors").mkdir()
    if instead == "a run killed before its first checkpoint":  # which goes on
        (run / "summary.json").unlink()
        log = run / "metrics.jsonl"
        log.write_text(log.read_text().splitlines(keepends=True)[0])
        runs.train(runs.read_config(trained.path), run, resume=True)
        assert lasting(run) == lasting(trained.path)
        return
    before = tree(run)
    with pytest.raises(TacitError, match=r"last\.safetensors"):
        runs.train(runs.read_config(trained.path), run, resume=True)
    assert tree(run) == before


def test_a_best_model_of_another_round_is_told(tmp_path: Path, trained: Trained) -> None:
    run, best = tmp_path / "run", tmp_path / "run/checkpoints/best.safetensors"
    shutil.copytree(trained.path, run)
    params, facts = load_tree(best, runs.load(run).params)
    save_tree(best, params, {**facts, "round": str(int(facts["round"]) - 1)})
    with pytest.raises(TacitError, match=r"best\.safetensors is of round \d, but the best round is \d"):
        runs.train(runs.read_config(trained.path), run, resume=True)
    best.unlink()
    with pytest.raises(TacitError, match=r"best\.safetensors"):
        runs.train(runs.read_config(trained.path), run, resume=True)


def test_a_run_is_not_written_over(tmp_path: Path, trained: Trained) -> None:
    shutil.copytree(trained.path, tmp_path / "run")
    with pytest.raises(TacitError, match=r"already holds a run; resume it with --resume"):
        runs.train(runs.read_config(trained.path), tmp_path / "run")
    assert tree(tmp_path / "run") == tree(trained.path)


@pytest.mark.parametrize("resume", [False, True])
def test_a_directory_with_something_else_is_refused(tmp_path: Path, corpus: Path, resume: bool) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.tex").write_text("years of work")
    (tmp_path / "file").write_text("more work")
    for name in ("mine", "file"):
        with pytest.raises(
            TacitError, match=f"{name} exists and is not a run directory; choose another --out"
        ):
            runs.train(configured(corpus), tmp_path / name, resume)
    assert tree(tmp_path) == {"file": b"more work", "mine/thesis.tex": b"years of work"}


def test_a_lost_log_is_told_and_not_guessed(tmp_path: Path, trained: Trained) -> None:
    shutil.copytree(trained.path, tmp_path / "run")
    log = tmp_path / "run/metrics.jsonl"
    log.write_text("".join(log.read_text().splitlines(keepends=True)[1:]))
    with pytest.raises(TacitError, match=r"metrics\.jsonl: its lines are not rounds 1 to 3"):
        runs.train(runs.read_config(trained.path), tmp_path / "run", resume=True)
