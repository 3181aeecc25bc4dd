"""Files are whole or not there, and logs keep whole lines."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from commands import file_size_limit
from tacit.base.errors import TacitError
from tacit.base.files import all_or_nothing, append_line, holds_nothing, read_lines, to_json, write_atomic


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


def test_files_come_together_or_not_at_all(tmp_path: Path) -> None:
    for name in ("first", "second"):
        with all_or_nothing(tmp_path / "out") as folder:
            (folder / "deep").mkdir()
            (folder / "deep" / "a").write_text(name)
            (folder / "summary.json").write_text(name)
    full = pytest.raises(TacitError, match="File too large")
    with full, file_size_limit(1000), all_or_nothing(tmp_path / "out") as folder:
        write_atomic(folder / "summary.json", "third")
        write_atomic(folder / "b", "x" * 2000)
    found = {p.name: p.read_text() for p in (tmp_path / "out").rglob("*") if p.is_file()}
    assert found == {"a": "second", "summary.json": "second"}
    with pytest.raises(TacitError), all_or_nothing(tmp_path / "new"):
        raise TacitError("of no avail")
    assert not (tmp_path / "new").exists() and holds_nothing(tmp_path / "new")


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
