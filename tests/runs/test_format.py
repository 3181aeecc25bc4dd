"""A run that an earlier Tacit made is refused with one clear line by every command that reads it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from commands import Commands, Trained, configured
from tacit import runs
from tacit.base.errors import TacitError
from tacit.runs import directory
from tacit.runs.config import resolve

OLD = Path(__file__).parent / "data" / "config-997e251.toml"  # as that commit wrote it


@pytest.fixture
def old_run(tmp_path: Path, trained: Trained) -> Path:
    run = shutil.copytree(trained.path, tmp_path / "old")
    shutil.copy(OLD, run / "config.toml")
    return run


def test_a_run_says_its_format(trained: Trained) -> None:
    text = (trained.path / "config.toml").read_text("utf-8")
    assert text.splitlines()[0] == "format = 2"
    assert runs.read_config(trained.path) == directory.with_fingerprint(
        configured(trained.corpus), runs.read_config(trained.path).text.fingerprint
    )


@pytest.mark.parametrize(
    "command",
    [
        ["evaluate", "RUN"],
        ["predict", "RUN", "are you"],
        ["compare", "RUN"],
        ["count", "RUN"],
        ["distill", "RUN"],
        ["personalize", "RUN"],
        ["export", "RUN"],
        ["train", "fedatt", "--out", "RUN", "--resume"],
        ["train", "RUN/config.toml", "--out", "RUN", "--resume"],
        ["train", "RUN/config.toml", "--out", "NEW"],
    ],
    ids=" ".join,
)
def test_a_run_of_an_earlier_tacit_is_refused(
    tmp_path: Path, tacit: Commands, old_run: Path, command: list[str]
) -> None:
    words = [word.replace("RUN", str(old_run)).replace("NEW", str(tmp_path / "new")) for word in command]
    message = tacit(*words).refused(str(old_run), "made by an earlier Tacit", "train it again")
    assert message.count(str(old_run)) == 1 and not (tmp_path / "new").exists()


def test_a_run_that_was_killed_before_its_first_checkpoint_is_refused(tmp_path: Path) -> None:
    shutil.copy(OLD, tmp_path / "config.toml")
    with pytest.raises(TacitError, match="made by an earlier Tacit"):
        runs.Run(tmp_path)


def test_a_run_of_a_later_tacit_is_refused(tmp_path: Path, trained: Trained) -> None:
    run = shutil.copytree(trained.path, tmp_path / "later")
    text = (run / "config.toml").read_text("utf-8")
    (run / "config.toml").write_text(text.replace("format = 2", "format = 3"), "utf-8")
    with pytest.raises(TacitError, match="format = 3 is of a later Tacit, and this one reads format 2"):
        runs.Run(run)


def test_a_configuration_that_a_person_writes_needs_no_format(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("[client]\nlr = 0.25\n", "utf-8")
    (tmp_path / "config.toml").write_text("format = 2\n[client]\nlr = 0.25\n", "utf-8")
    for name in ("mine.toml", "config.toml"):
        assert resolve(str(tmp_path / name)).client.lr == 0.25
