"""The environment of a process: devices that are not there, no home, closed pipes, terminals without Unicode."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import jax
import pytest

from commands import PROGRAM, Commands, Processes, sets
from tacit import cli
from tacit.base import cores
from tacit.base.errors import TacitError
from tacit.cli import options
from tacit.text import catalogue


def no_device(*_: object) -> None:
    raise AssertionError  # as JAX 0.10 does for JAX_PLATFORMS=cuda without a GPU


def test_a_device_that_is_not_there_is_named_at_once(
    monkeypatch: pytest.MonkeyPatch, tacit: Commands, tmp_path: Path
) -> None:
    monkeypatch.setattr(jax, "devices", no_device)
    monkeypatch.setenv("JAX_PLATFORMS", "cuda")
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    line = tacit("train", "fedavg", "--corpus", tmp_path, "--out", tmp_path / "run").refused(
        "JAX cannot start with", "JAX_PLATFORMS=cuda: there is no such device", "JAX_PLATFORMS=cpu"
    )
    assert "corpus" not in line and not (tmp_path / "run").exists()

    def asks_late(**_: object) -> None:
        jax.devices()

    monkeypatch.setattr(cli, "app", asks_late)  # a command that needs a device only in the end
    tacit().refused("JAX cannot start with", "JAX_PLATFORMS=cuda")


@pytest.mark.parametrize("devices", ["0", "-2", "abc", "", "1.5", "1000000"])
def test_a_number_of_devices_that_is_none(devices: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAX_NUM_CPU_DEVICES", devices)
    with pytest.raises(TacitError, match=f"JAX_NUM_CPU_DEVICES={devices}: not a number of devices from 1 to"):
        cores.use_all_cores()
    for good in ("1", "8", "-1"):
        monkeypatch.setenv("JAX_NUM_CPU_DEVICES", good)
        cores.use_all_cores()


def test_jax_that_does_not_even_import(process: Processes, tmp_path: Path) -> None:
    process.environment["JAX_PLATFORMS"] = "nonsense"
    process.environment["XLA_FLAGS"] = ""
    given = sets("typists.users=8", "text.vocabulary=20")
    process("train", "fedavg", "--out", tmp_path / "run", *given).refused("JAX_PLATFORMS=nonsense", "Unable")
    process.environment["JAX_NUM_CPU_DEVICES"] = "abc"
    process("train", "fedavg", "--out", tmp_path / "run").refused("JAX_NUM_CPU_DEVICES=abc")
    assert not (tmp_path / "run").exists()


def test_without_a_home_directory(monkeypatch: pytest.MonkeyPatch, tacit: Commands, tmp_path: Path) -> None:
    import pwd

    def nobody(uid: int) -> Any:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.delenv("TACIT_DATA", raising=False)
    tacit("data", "get", "ptb").refused("no home directory", "--data DIR", "TACIT_DATA")
    tacit("data", "describe", "ptb").refused("no home directory")
    assert catalogue.data_directory(tmp_path) == tmp_path
    monkeypatch.setenv("TACIT_DATA", str(tmp_path / "data"))
    assert catalogue.data_directory() == tmp_path / "data"


def test_matplotlib_says_nothing_of_a_home_that_cannot_be_written(process: Processes) -> None:
    environment = process.environment | {"HOME": "/dev/null", "MPLCONFIGDIR": "/dev/null/x"}
    script = (  # without the figures, which would read all fonts
        "import sys, types; sys.modules['matplotlib.figure'] = types.SimpleNamespace(Figure=object)\n"
        "import tacit.runs.plots, matplotlib; print(matplotlib.get_cachedir())"
    )
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, check=True)
    assert done.stderr == b"" and b"matplotlib" in done.stdout  # a temporary directory


@pytest.mark.parametrize(("asked", "given"), [("nonsense", "object"), ("svg", "svg")])
def test_a_backend_that_matplotlib_does_not_know(process: Processes, asked: str, given: str) -> None:
    """It fails matplotlib's import; one that it knows stays that of the notebook."""
    script = (  # as above
        "import sys, types; sys.modules['matplotlib.figure'] = types.SimpleNamespace(Figure=object)\n"
        "import os, tacit.runs.plots, matplotlib\n"
        "print(os.environ['MPLBACKEND'], str(matplotlib.rcParams._get('backend')).strip('<').split()[0])"
    )
    environment = process.environment | {"MPLBACKEND": asked}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.split()) == (0, [asked, given]), done.stderr


@pytest.mark.parametrize("arguments", [("--help",), ("data", "list", "--json")])
def test_a_closed_pipe_is_one_line(arguments: tuple[str, ...], process: Processes) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*PROGRAM, *arguments],
        env=process.environment,
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)
    assert done.returncode == 2 and done.stderr.startswith("tacit: standard output was closed")
    assert done.stderr.count("\n") == 1


def test_a_terminal_without_unicode_and_closed_streams(process: Processes) -> None:
    process.environment["PYTHONIOENCODING"] = "ascii"
    process("data", "get", "nowhere-ä").refused(r"nowhere-\xe4")
    script = "import os, sys; os.close(1); os.close(2); os.execv(sys.executable, sys.argv[1:])"
    closed = subprocess.run(
        [sys.executable, "-c", script, *PROGRAM, "data", "get", "x"],
        env=process.environment,
        check=False,
    )
    assert closed.returncode == 2


def test_an_unexpected_error_of_a_rule_names_its_file(
    tmp_path: Path, tacit: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = tmp_path / "late.py"
    source = "class Odd(Exception):\n    def __str__(self):\n        raise ValueError\ndef late():\n    raise Odd\n"
    rules.write_text(source)
    monkeypatch.setenv("TACIT_RULES", str(rules))
    scope: dict[str, Any] = {}
    exec(compile(source, rules, "exec"), scope)

    def late(**_: object) -> None:
        scope["late"]()

    monkeypatch.setattr(cli, "app", late)
    tacit().refused(f"TACIT_RULES: {rules}, line 5: Odd")


def test_numbers_of_64_bits_are_refused_in_python_and_turned_off_for_commands() -> None:
    before = jax.config.values["jax_enable_x64"]
    try:
        jax.config.update("jax_enable_x64", True)
        with pytest.raises(TacitError, match="jax_enable_x64 is on"):
            cores.check_devices()
        cores.use_all_cores()
        assert not jax.config.values["jax_enable_x64"]
    finally:
        jax.config.update("jax_enable_x64", before)


def test_compiled_programs_of_others_are_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = tmp_path / f"tacit-compiled-{os.getuid()}"
    for _ in range(2):
        assert options.compiled_folder() == folder and folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o770)  # others may write
    assert options.compiled_folder() is None
    monkeypatch.setattr(os, "getuid", lambda: folder.stat().st_uid + 1)
    other = tmp_path / f"tacit-compiled-{os.getuid()}"
    other.mkdir(mode=0o700)
    assert options.compiled_folder() is None  # it belongs to another user
    monkeypatch.undo()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for put in (lambda: folder.symlink_to(other), lambda: folder.write_text("in the way")):
        folder.rmdir() if folder.is_dir() and not folder.is_symlink() else folder.unlink()
        put()
        assert options.compiled_folder() is None
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "no/such"))
    assert options.compiled_folder() is None


def test_settings_of_matplotlib_that_cannot_be_read_are_named(tmp_path: Path, process: Processes) -> None:
    (tmp_path / "matplotlibrc").write_bytes(b"font.size: 9\n\xff\n")
    command = [sys.executable, "-P", "-c", "import tacit.runs.plots"]
    done = subprocess.run(
        command, env=process.environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "TacitError: matplotlib cannot read its settings" in done.stderr.splitlines()[-1]
