"""Small files read whole: JSON that is none, pipes, limits on memory."""

from __future__ import annotations

import doctest
import os

import pytest

from tacit.base import memory, reading
from tacit.base.errors import TacitError
from tacit.base.files import read_lines
from tacit.base.reading import parse, read_object

HOSTILE = {"deep": "[" * 100_000, "digits": "1" * 5000, "list": "[1]", "text": "null", "bytes": "\udcff"}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_table_is_a_value_error(tmp_path, name):
    (tmp_path / "x.json").write_bytes(HOSTILE[name].encode("utf-8", "surrogateescape"))
    with pytest.raises(ValueError):
        read_object(tmp_path / "x.json")


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        read_object(tmp_path / "pipe")


def test_numbers_of_many_digits_are_told():
    with pytest.raises(ValueError, match="digits"):
        parse("[" + "1" * 5000 + "]")


@pytest.mark.parametrize("values", ['"round": 0', '"round": -1', '"round": true', '"round": 1, "x": "y"'])
def test_a_log_holds_numbers(tmp_path, values):
    (tmp_path / "metrics.jsonl").write_text(f'{{"round": 1}}\n{{{values}}}\n')
    with pytest.raises(TacitError, match="line 2: not a line written by Tacit"):
        read_lines(tmp_path / "metrics.jsonl")


def test_a_limit_too_low_for_jax_is_told(monkeypatch):
    monkeypatch.setattr(memory, "address_limit", lambda: 1 << 30)
    with pytest.raises(TacitError, match=r"ulimit -v\) is 1\.0 GB"):
        memory.check_start()
    assert memory.limit() <= 1 << 30


def test_examples():
    assert doctest.testmod(reading).failed == doctest.testmod(memory).failed == 0
