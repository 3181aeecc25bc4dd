"""Processes that Tacit starts: what lies in the current directory is never run by them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import tacit
from commands import Processes, write_corpus
from tacit.base.processes import safe_path
from tacit.text import corpus, parallel

HOSTILE = "from pathlib import Path; Path({!r}).write_text('run'); raise SystemExit(7)\n"


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current directory with modules that take the place of Python's own; gives the file that they write."""
    here = tmp_path / "here"
    here.mkdir()
    for name in ("gzip", "json", "struct", "numpy", "sitecustomize", "tacit"):
        (here / f"{name}.py").write_text(HOSTILE.format(str(tmp_path / "was run")))
    monkeypatch.chdir(here)
    return tmp_path / "was run"


def test_helpers_run_nothing_of_the_current_directory(
    hostile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus, "_LARGE", 0)
    monkeypatch.setattr(corpus, "cores", lambda: 2)
    path = write_corpus(tmp_path / "messages.jsonl")
    for more in ([], ["", "."], [str(Path.cwd())]):  # as `python -c`, notebooks and `python -m` have it
        monkeypatch.setattr(sys, "path", [*more, *sys.path])
        monkeypatch.setenv("PYTHONPATH", f":{Path.cwd()}")
        assert len(corpus.read(path).users) == 12
    assert not hostile.exists()


def test_helpers_import_from_the_same_places_in_the_same_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["", "relative", str(Path.cwd()), *sys.path, "/elsewhere"])
    assert safe_path() == [p for p in sys.path if Path(p).is_absolute() and Path(p) != Path.cwd()]
    package = Path(tacit.__file__).parents[1]
    monkeypatch.chdir(package)  # Tacit itself may lie in the current directory
    assert str(package) in map(str, map(Path.resolve, map(Path, safe_path())))
    assert list(parallel.in_order(abs, [-1, -2], helpers=2)) == [1, 2]


def test_python_m_runs_nothing_of_the_current_directory(hostile: Path, process: Processes) -> None:
    (Path.cwd() / "tacit.py").unlink()  # `python -m tacit` asks for this one by name
    (Path.cwd() / "sitecustomize.py").unlink()
    command = [sys.executable, "-m", "tacit", "data", "list", "--json"]
    done = subprocess.run(command, env=process.environment, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"") and not hostile.exists()
