"""Files are whole or not there, and logs keep whole lines."""

from __future__ import annotations

import json
import os
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import kill_points
from commands import file_size_limit
from tacit.base import files
from tacit.base.errors import TacitError
from tacit.base.files import append_line, check_file, followed, inside, read_lines, to_json, write_atomic
from tacit.base.locks import part_of
from tacit.privacy import ledger


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    write_atomic(file, "old ä")
    write_atomic(file, b"new")
    assert file.read_bytes() == b"new" and [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_a_full_disk_leaves_the_old_file_and_no_part_of_the_new(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    write_atomic(file, "old")
    with file_size_limit(1000), pytest.raises(TacitError, match=r"cannot write .*a\.txt: File too large"):
        write_atomic(file, "x" * 2000)
    assert file.read_text() == "old" and [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_two_writers_at_once_leave_one_whole_file(tmp_path: Path) -> None:
    file, contents = tmp_path / "a.bin", [bytes([k]) * 200_000 for k in range(4)]
    write_atomic(file, contents[0])
    with ThreadPoolExecutor(4) as pool:
        writing = [pool.submit(write_atomic, file, c) for _ in range(10) for c in contents]
        while not all(w.done() for w in writing):
            assert file.read_bytes() in contents
    assert all(w.exception() is None for w in writing) and [p.name for p in tmp_path.iterdir()] == ["a.bin"]


def test_killed_at_every_write_point_of_a_file(tmp_path: Path) -> None:
    """The old file or the new one is there, and the next writer leaves nothing else."""
    file = tmp_path / "world/a.txt"
    file.parent.mkdir()
    for before in ("", "old"):
        points = kill_points.count(lambda: write_atomic(file, "new" * 50), tmp_path / "world")
        seen = set()
        for at in range(points):
            file.unlink(missing_ok=True)
            if before:
                file.write_text(before)
            assert kill_points.killed(lambda: write_atomic(file, "new" * 50), tmp_path, at, torn=True)
            seen.add(file.read_text() if file.exists() else "")
            write_atomic(file, "again")
            assert [p.name for p in file.parent.iterdir()] == ["a.txt"] and file.read_text() == "again"
        assert seen == {before, "new" * 50}


def test_only_regular_files_are_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a socket is short
    os.mkfifo("fifo")
    (tmp_path / "folder").mkdir()
    bound = socket.socket(socket.AF_UNIX)
    bound.bind("socket")
    bound.close()
    (tmp_path / "null").symlink_to("/dev/null")
    (tmp_path / "loop").symlink_to("loop")
    before = {path.name: path.lstat().st_ino for path in tmp_path.iterdir()}
    kinds = {"fifo": "a FIFO", "folder": "a directory", "socket": "a socket", "null": "a symbolic link"}
    for name, kind in (kinds | {"loop": "a symbolic link"}).items():
        for write in (write_atomic, append_line):
            with pytest.raises(TacitError, match=f"cannot write .*{name}: it is {kind}"):
                write(tmp_path / name, {})
    for name, kind in (kinds | {"null": "a device", "loop": ""}).items():
        with pytest.raises(TacitError, match=f"cannot write .*{name}: .*{kind}"):
            check_file(tmp_path / name, b"x", "a page")
    assert {path.name: path.lstat().st_ino for path in tmp_path.iterdir()} == before
    with pytest.raises(TacitError, match="cannot write /dev/null: it is a device"):
        write_atomic(Path("/dev/null"), "x")


def test_a_link_that_the_user_names_is_followed_and_stays(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    for name in ("link", "link again"):
        link = tmp_path / name
        link.symlink_to("real/a.txt")  # at first there is nothing
        write_atomic(followed(link), name)
        assert link.is_symlink() and (tmp_path / "real/a.txt").read_text() == name
    assert [p.name for p in (tmp_path / "real").iterdir()] == ["a.txt"]


def test_a_file_that_is_not_ours_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.html"
    check_file(file, b"ours", "a page of Tacit")
    for content in ("", "it is ours", "the letter of somebody else"):
        file.write_text(content)
        if content.startswith("the"):
            with pytest.raises(
                TacitError, match=r"a\.html exists and is not a page of Tacit; choose another"
            ):
                check_file(file, b"ours", "a page of Tacit")
        else:
            check_file(file, b"ours", "a page of Tacit")


def test_a_writer_waits_for_another_but_not_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.txt"
    monkeypatch.setattr(files, "_WAIT", 0.05)
    with files._new_part(file), pytest.raises(TacitError, match="another process is writing it"):
        write_atomic(file, "x")
    part_of(file).unlink()
    part_of(file).symlink_to("somewhere")
    with pytest.raises(TacitError, match="in the way"):
        write_atomic(file, "x")
    assert not file.exists()


@pytest.mark.parametrize("where", ["nowhere/a.txt", "file/a.txt", "folder"])
def test_what_cannot_be_written_is_one_line_that_names_it(tmp_path: Path, where: str) -> None:
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "folder").mkdir()
    with pytest.raises(TacitError, match="cannot write .*" + where):
        write_atomic(tmp_path / where, "x")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder"]


def test_a_crash_before_the_rename_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.txt"
    write_atomic(file, "old")

    def crash(_: object) -> None:
        assert file.read_text() == "old"
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", crash)
    with pytest.raises(KeyboardInterrupt):
        write_atomic(file, "new")
    assert file.read_text() == "old"


def test_a_log_keeps_whole_lines_only_when_the_disk_is_full(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with file_size_limit(130), pytest.raises(TacitError, match=r"cannot write .*log\.jsonl"):
        for number in range(1, 20):
            append_line(log, {"round": number, "text": "x" * 20})
    text = log.read_text()
    assert text.endswith("\n") and [json.loads(line)["round"] for line in text.splitlines()] == [1, 2]


def test_a_link_in_place_of_a_file_of_ours_is_not_followed(tmp_path: Path) -> None:
    """Whoever makes a run's directory may put a link in place of a log, a report or a folder."""
    other, link = tmp_path / "other", tmp_path / "log.jsonl"
    other.write_text("somebody's line without its end")
    link.symlink_to(other)
    writers = (
        lambda: append_line(link, {"round": 1}),
        lambda: write_atomic(link, "x"),
        lambda: ledger.append(link, ledger.Release("round", "none", reason="a test")),
        lambda: inside(tmp_path, "log.jsonl"),
    )
    for write in writers:
        with pytest.raises(TacitError, match=r"cannot write .*log\.jsonl: it is a symbolic link"):
            write()
    assert other.read_text() == "somebody's line without its end" and link.is_symlink()
    assert inside(tmp_path, "new") == tmp_path / "new"


def test_a_log_that_cannot_be_there_has_no_lines(tmp_path: Path) -> None:
    assert read_lines(tmp_path / ("x" * 300)) == []


def test_a_last_line_cut_short_is_left_out(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    assert read_lines(log) == []
    whole = '{"round": 1}\n{"round": 22}\n'
    for cut in range(len(whole) + 1):
        log.write_text(whole[:cut])
        assert [line["round"] for line in read_lines(log)] == [1, 22][: whole[:cut].count("\n")]


@pytest.mark.parametrize("bad", ["", "{", "3", "[]", '{"a": 1}', '{"round": "x"}', "\udcff"])
def test_a_bad_line_in_the_middle_is_refused_with_its_number(tmp_path: Path, bad: str) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(f'{{"round": 1}}\n{bad}\n{{"round": 3}}\n', "utf-8", "surrogateescape")
    with pytest.raises(TacitError, match=r"log\.jsonl, line 2"):
        read_lines(log)


def test_json_has_no_word_for_nan() -> None:
    said = to_json({"a": float("nan"), "b": [float("inf"), 1.5], "c": {"d": None, "e": (True, 2)}})
    assert json.loads(said) == {"a": None, "b": [None, 1.5], "c": {"d": None, "e": [True, 2]}}
