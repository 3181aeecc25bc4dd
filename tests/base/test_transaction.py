"""A directory of results is replaced whole or not at all, whatever happens to the process."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
from pathlib import Path

import pytest

import kill_points
from commands import file_size_limit, tree
from tacit.base import locks, transaction
from tacit.base.errors import TacitError
from tacit.base.files import write_atomic

KIND = transaction.Kind("tacit toy", "toy 1", ("summary.json", "models/*.txt"))


def write(out: Path, name: str, models: tuple[str, ...] = ("a",)) -> None:
    with transaction.transaction(out, KIND) as folder:
        (folder / "models").mkdir()
        for model in models:
            write_atomic(folder / f"models/{model}.txt", name * 50)
        write_atomic(folder / "summary.json", json.dumps({"format": "toy 1", "name": name}))


def everything(folder: Path) -> dict[str, bytes]:
    """All files and empty directories, hidden ones too."""
    empty = {
        f"{p.relative_to(folder)}/": b"" for p in folder.rglob("*") if p.is_dir() and not any(p.iterdir())
    }
    return tree(folder) | empty


@pytest.mark.parametrize(
    ("before", "can_exchange"), [("nothing", True), ("empty", True), ("result", True), ("result", False)]
)
def test_killed_at_every_write_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str, can_exchange: bool
) -> None:
    """The old result or the new one is there; the next command succeeds and leaves nothing else."""
    if not can_exchange:
        monkeypatch.setattr(transaction, "_exchanged", lambda one, other: False)
    start, world = tmp_path / "start", tmp_path / "world"
    out = world / "out"
    (start / "out").mkdir(parents=True)
    if before == "nothing":
        (start / "out").rmdir()
    elif before == "result":
        write(start / "out", "old", ("c",))
        (start / ".out.tacit.part/models").mkdir(parents=True)
        (start / ".out.tacit.part/models/x.txt").write_text("half")
        (start / ".other.tacit.part").write_text("half of another")
    shutil.copytree(start, world)
    points = kill_points.count(lambda: write(out, "new"), world)
    old, new = tree(start / "out"), tree(out)
    assert points > 10 and len(new) == 2 and everything(world) == {f"out/{k}": v for k, v in new.items()}
    seen = set()
    for at in range(points):
        shutil.rmtree(world)
        shutil.copytree(start, world)
        assert kill_points.killed(lambda: write(out, "new"), world, at, torn=True)
        state = tree(out)
        if not can_exchange and not state and (world / ".out.tacit.old").is_dir():
            with pytest.raises(TacitError, match="enough"), transaction.transaction(out, KIND):
                raise TacitError("enough")  # any next command restores it
            state = tree(out)
        assert state in (old, new), at
        seen.add(state == new)
        write(out, "again")
        assert sorted(everything(world)) == sorted(f"out/{name}" for name in new)
    assert seen == {False, True}


def test_an_error_leaves_what_was_there(tmp_path: Path) -> None:
    out = tmp_path / "deep/er/out"
    with pytest.raises(TacitError, match="no"), transaction.transaction(out, KIND):
        raise TacitError("no")
    assert not (tmp_path / "deep").exists()
    write(out, "old")
    before = everything(tmp_path)
    with file_size_limit(1000), pytest.raises(TacitError, match="File too large"):
        write(out, "x" * 1000)
    assert everything(tmp_path) == before


def test_a_second_process_is_told_at_once(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for name in ("old", "new"):  # where nothing was, and where something was
        with transaction.transaction(out, KIND) as folder:
            (folder / "summary.json").write_text(json.dumps({"format": "toy 1", "name": name}))
            with pytest.raises(TacitError, match=r"out: another process is using it"):
                write(out, "second")
            assert (folder / "summary.json").is_file()  # not taken for a leftover
            write(tmp_path / "beside", "beside")  # another directory is free
        assert json.loads((out / "summary.json").read_text())["name"] == name
    with locks.held(out), pytest.raises(TacitError, match="another process is using it"):
        write(out, "third")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["beside", "out"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("letter.txt", "mine"),
        ("summary.json", "{}"),
        ("summary.json", '{"format": "toy 2"}'),
        ("config.toml", ""),
    ],
)
def test_foreign_directories_are_refused(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / name).write_text(content)
    with pytest.raises(TacitError, match="was not left by `tacit toy`; choose another --out"):
        write(tmp_path / "out", "new")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(TacitError, match="was not left by"):
        write(tmp_path / "file", "new")
    assert everything(tmp_path) == {f"out/{name}": content.encode(), "file": b"mine"}


@pytest.mark.parametrize("name", ["letter.txt", "models/letter.md", "more/a.txt", "model.part"])
def test_foreign_files_in_an_own_directory_are_kept(tmp_path: Path, name: str) -> None:
    write(tmp_path / "out", "old")
    (tmp_path / "out" / name).parent.mkdir(exist_ok=True)
    (tmp_path / "out" / name).write_text("mine")
    before = everything(tmp_path)
    with pytest.raises(TacitError, match=r"holds .*, which `tacit toy` did not write"):
        write(tmp_path / "out", "new")
    assert everything(tmp_path) == before


def test_links_are_followed_and_never_taken_for_ours(tmp_path: Path) -> None:
    write(tmp_path / "real/out", "old")
    (tmp_path / "out").symlink_to(tmp_path / "real/out")
    write(tmp_path / "out", "new")
    assert (tmp_path / "out").is_symlink() and [p.name for p in (tmp_path / "real").iterdir()] == ["out"]
    assert json.loads((tmp_path / "real/out/summary.json").read_text())["name"] == "new"
    (tmp_path / "real/out/models/c.txt").symlink_to(tmp_path / "real/out/models/a.txt")
    with pytest.raises(TacitError, match=r"holds models/c\.txt"):
        write(tmp_path / "out", "newer")
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters/mine").write_text("mine")
    (tmp_path / ".fresh.tacit.part").symlink_to(tmp_path / "letters")
    with pytest.raises(TacitError, match="in the way"):
        write(tmp_path / "fresh", "new")
    assert (tmp_path / "letters/mine").read_text() == "mine"


def test_the_current_directory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TacitError, match="is the current directory"):
        write(Path(), "new")
    assert not list(tmp_path.iterdir())


def test_the_mode_of_a_directory_stays(tmp_path: Path) -> None:
    write(tmp_path / "out", "old")
    (tmp_path / "out").chmod(0o2770)
    write(tmp_path / "out", "new")
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o2770


def test_a_file_system_without_locks_or_exchange(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two writers then have hidden folders of different names."""
    monkeypatch.setattr(locks, "lock", lambda number: False)
    monkeypatch.setattr("tacit.base.files.lock", lambda number: False)
    monkeypatch.setattr(transaction, "_exchanged", lambda one, other: False)
    write(tmp_path / "out", "old")
    with transaction.transaction(tmp_path / "out", KIND) as folder:
        write(tmp_path / "out", "second")
        (folder / "summary.json").write_text(json.dumps({"format": "toy 1"}))
    assert sorted(everything(tmp_path)) == ["out/summary.json"]


def test_an_exchange_that_fails_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(one: Path, other: Path) -> bool:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    write(tmp_path / "out", "old")
    before = everything(tmp_path)
    monkeypatch.setattr(transaction, "_exchanged", fail)
    with pytest.raises(TacitError, match=r"cannot write .*out: Input/output error"):
        write(tmp_path / "out", "new")
    assert everything(tmp_path) == before
