"""The models that the page keeps: a key never belongs to another file, and a foreign folder stays as it is."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

import kill_points
from commands import tree
from tacit.base.errors import TacitError
from tacit.base.files import write_atomic
from tacit.base.locks import held
from tacit.page import models


@pytest.fixture(autouse=True)
def any_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Takes any file for a model."""
    monkeypatch.setattr(models, "_wrong", lambda file: "" if file.is_file() else "missing")


def kept(folder: Path, key: str) -> Path:
    def make(file: Path) -> bool:
        write_atomic(file, f"the model of {key}")
        return True

    return models._kept(folder, "a", key, make)


def test_killed_at_every_write_point_a_key_has_its_model(tmp_path: Path) -> None:
    folder = tmp_path / "run/keyboard"
    for before in ("", "old"):
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        if before:
            kept(folder, before)
        start = tree(tmp_path)
        points = kill_points.count(lambda: kept(folder, "new"), tmp_path)
        for at in range(points):
            shutil.rmtree(tmp_path / "run")
            for name, content in start.items():
                (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / name).write_bytes(content)
            assert kill_points.killed(lambda: kept(folder, "new"), tmp_path, at, torn=True)
            if (key := (models._made(folder) or {}).get("a")) is not None:
                assert (folder / "a.tacit").read_text() == f"the model of {key}"
            assert kept(folder, "new").read_text() == "the model of new"
            assert tree(folder) == {"a.tacit": b"the model of new", "made.json": b'{\n "a": "new"\n}\n'}


def test_two_processes_do_not_build_at_once(tmp_path: Path) -> None:
    kept(tmp_path, "old")
    with held(tmp_path):
        assert kept(tmp_path, "old").read_text() == "the model of old"  # what is there is used
        with pytest.raises(TacitError, match="another process is using it"):
            kept(tmp_path, "new")


def test_a_link_in_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    for name in ("a.tacit", "made.json"):
        folder = tmp_path / name.partition(".")[0]
        folder.mkdir()
        (folder / "made.json").write_text("{}")
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(tmp_path / "mine")
        with pytest.raises(TacitError, match=r"it is a symbolic link|was not left by"):
            kept(folder, "new")
    assert (tmp_path / "mine").read_text() == "mine"


def test_a_pipe_among_the_sources_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "zoe.safetensors")
    with pytest.raises(TacitError, match=r"zoe\.safetensors: cannot be read \(not a regular file\)"):
        models._digest(tmp_path / "zoe.safetensors")


def test_a_foreign_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a.tacit").write_text("mine")
    with pytest.raises(TacitError, match="was not left by `tacit serve`"):
        kept(tmp_path, "new")
    assert tree(tmp_path) == {"a.tacit": b"mine"}
    (tmp_path / "made.json").write_text(json.dumps({"b": "other"}))
    assert kept(tmp_path, "new").read_text() == "the model of new"
