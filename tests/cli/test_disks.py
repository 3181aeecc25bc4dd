"""Disks that are full and places that may not be written: one line, nothing half-written, and nothing lost."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_bad_input import command

from commands import Commands, Trained, file_size_limit, leftovers, tree
from tacit.runs import report


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 16 kB, where this user may mount one."""
    where = tmp_path / "disk"
    where.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(where)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("may not mount a file system")
    yield where
    subprocess.run(["umount", str(where)], check=True)


def test_a_disk_that_fills_up_and_is_freed_again(tmp_path: Path, tacit: Commands, trained: Trained) -> None:
    """The best model still fits, the last one with its optimiser does not; later both do."""
    keys = ["client.epochs=2", "client.lr=2.0"]
    whole = command(tmp_path / "whole", trained.corpus, *keys, preset="fedadam")
    tacit.ok(*whole)
    run = command(tmp_path / "run", trained.corpus, *keys, preset="fedadam")
    sizes = {p.name: p.stat().st_size for p in (tmp_path / "whole/checkpoints").iterdir()}
    with file_size_limit(sum(sizes.values()) // 2):
        line = tacit(*run).refused("cannot write", "last.safetensors", "free some space")
    assert "--out" in line and not leftovers(tmp_path / "run")
    assert (tmp_path / "run/checkpoints/best.safetensors").is_file()
    tacit.ok(*run, "--resume")
    for name in (
        "metrics.jsonl",
        "summary.json",
        "checkpoints/last.safetensors",
        "checkpoints/best.safetensors",
    ):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


@pytest.mark.parametrize("free", [0, 4, 8, 12])
def test_a_full_file_system(small_disk: Path, tacit: Commands, trained: Trained, free: int) -> None:
    """With so many kB free at the start, the first file, the vocabulary or a checkpoint is too much."""
    (small_disk / "other").write_bytes(b"x" * ((16 - free) * 1024))
    line = tacit(*command(small_disk / "run", trained.corpus)).refused(
        "cannot write", "No space left", "free some"
    )
    assert str(small_disk) in line and not leftovers(small_disk)
    log = small_disk / "run/metrics.jsonl"
    assert not log.exists() or log.read_bytes()[-1:] in (b"", b"\n")
    (small_disk / "other").unlink()
    if free:
        said = tacit(*command(small_disk / "run", trained.corpus), "--resume")
        assert said.code in (0, 2) and not leftovers(small_disk)


def test_a_full_disk_spares_the_page_that_was_there(
    tmp_path: Path, tacit: Commands, trained: Trained
) -> None:
    page = tmp_path / "page.html"
    page.write_text(old := f"{report.MARK} the old page")
    with file_size_limit(4096):
        tacit("compare", trained.path, "--out", page).refused("page.html", "cannot write")
    assert page.read_text() == old and not leftovers(tmp_path)


def test_places_that_cannot_be_written(tmp_path: Path, tacit: Commands, trained: Trained) -> None:
    (tmp_path / "file").write_text("in the way")
    tacit(*command(tmp_path / "file/run", trained.corpus)).refused("file/run", "--out")
    tacit(*command(tmp_path / "file", trained.corpus)).refused("file", "choose another --out")
    tacit(*command(tmp_path / ("x" * 300), trained.corpus)).refused("xxx", "name too long")
    tacit("compare", trained.path, "--out", tmp_path / "file/page.html").refused("page.html", "cannot write")
    tacit("compare", trained.path, "--out", tmp_path).refused(str(tmp_path), "cannot write")
    tacit("compare", trained.path, "--out", "").refused("--out is empty")
    assert tree(tmp_path) == {"file": b"in the way"}


def test_the_folder_of_a_page_is_made(tmp_path: Path, tacit: Commands, trained: Trained) -> None:
    page = tmp_path / "new/folder/page.html"
    tacit.ok("compare", trained.path, "--out", page)
    assert page.is_file() and not leftovers(tmp_path)


def test_a_file_of_another_kind_is_not_written_over(
    tmp_path: Path, tacit: Commands, trained: Trained
) -> None:
    run = shutil.copytree(trained.path, tmp_path / "run")
    before = tree(run)
    (tmp_path / "mine.html").write_text("<p>mine</p>")
    (tmp_path / "mine.tacit").write_text("mine")
    os.mkfifo(tmp_path / "fifo")
    for name in ("../mine.html", "../mine.tacit", "../fifo", "/dev/null"):
        for command_ in ("compare", "export"):
            tacit(command_, run, "--out", run / name).refused(name, "choose another --out")
    assert (tmp_path / "mine.html").read_text() == "<p>mine</p>" and (tmp_path / "fifo").is_fifo()
    for name in ("config.toml", "vocabulary.txt", "summary.json"):
        for command_ in ("compare", "export"):
            tacit(command_, run, "--out", run / name).refused(name, "choose another --out")
    assert tree(run) == before
    for _ in range(2):  # its own kind is
        found = tacit.json("compare", run, "--out", tmp_path / "page.html")
    assert "test" in found["run"] and (tmp_path / "page.html").is_file()


def test_a_read_only_directory(small_disk: Path, tacit: Commands, trained: Trained) -> None:
    (small_disk / "empty").mkdir()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    for out in ("run", "empty"):
        tacit(*command(small_disk / out, trained.corpus)).refused(out, "Read-only file system", "--out")
    tacit("compare", trained.path, "--out", small_disk / "page.html").refused(
        "page.html", "Read-only file system"
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_without_permission(tmp_path: Path, tacit: Commands, trained: Trained) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    tacit(*command(closed / "run", trained.corpus)).refused("closed/run", "Permission denied", "--out")
