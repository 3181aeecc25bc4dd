"""A run directory belongs to one process at a time."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from commands import TINY, Commands, Processes, sets, tree, write_corpus
from tacit import runs
from tacit.base.errors import TacitError
from tacit.base.locks import held
from tacit.runs import directory
from tacit.runs.config import resolve


def test_a_second_process_is_told_and_changes_nothing(
    tmp_path: Path, process: Processes, tacit: Commands
) -> None:
    corpus, out = write_corpus(tmp_path / "messages.jsonl"), tmp_path / "run"
    common = ["train", "fedavg", "--corpus", corpus, "--rounds", 2000, *sets(*TINY), "--out", out]
    running = process.start(*common)
    try:
        until = time.monotonic() + 300
        while not (out / "metrics.jsonl").is_file() and time.monotonic() < until:
            time.sleep(0.01)
        os.kill(running.pid, signal.SIGSTOP)  # so that nothing but the second can change the directory
        before = tree(out)
        result = tacit(*common, "--resume")
        assert result.code == 2 and result.err.count("\n") == 1
        assert f"{out}: another process is using it" in result.err
        assert tree(out) == before
    finally:
        running.kill()
        running.communicate()
    tacit("train", "fedavg", "--out", out).refused("already holds a run")  # held no more
    with held(out):
        pass


@pytest.mark.parametrize("resume", [False, True])
def test_of_two_that_begin_at_once_one_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, resume: bool
) -> None:
    """The other one comes between the first look and the directory being made."""
    corpus, out = write_corpus(tmp_path / "messages.jsonl"), tmp_path / "run"
    config = resolve("fedavg", [*TINY, f"text.corpus={corpus}", "training.rounds=1"])
    real = directory.place

    def late(place: Path) -> None:
        monkeypatch.setattr(directory, "place", real)
        runs.train(config, place)
        real(place)

    monkeypatch.setattr(directory, "place", late)
    with pytest.raises(TacitError, match="already holds a run"):
        runs.train(config, out, resume)
    assert len((out / "metrics.jsonl").read_text().splitlines()) == 1


def test_the_directory_is_let_go_when_training_fails(tmp_path: Path) -> None:
    corpus, out = write_corpus(tmp_path / "messages.jsonl"), tmp_path / "run"
    wild = ["client.lr=1e30", "client.clip=0", "training.rounds=2"]
    with pytest.raises(TacitError, match="not finite"):
        runs.train(resolve("fedavg", [*TINY, f"text.corpus={corpus}", *wild]), out)
    with held(out):
        pass


def test_it_leaves_neither_a_file_nor_an_open_one(tmp_path: Path) -> None:
    open_files = Path("/proc/self/fd")
    before = len(list(open_files.iterdir())) if open_files.is_dir() else 0
    with held(tmp_path), pytest.raises(TacitError, match="another process is using it"), held(tmp_path):
        pass
    assert not list(tmp_path.iterdir())
    assert not before or len(list(open_files.iterdir())) == before
