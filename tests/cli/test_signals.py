"""Ctrl-C and SIGTERM at any moment: one line, never a traceback, and the command does not run on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from commands import Processes
from tacit import cli
from tacit.base import interrupts

CODES = {signal.SIGINT: (2, "interrupted"), signal.SIGTERM: (143, "terminated")}


def ended(process: subprocess.Popen[str], number: signal.Signals) -> None:
    """Checks that a process ends soon, with the code and the line of the signal."""
    began = time.monotonic()
    _, err = process.communicate(timeout=60)
    code, word = CODES[number]
    assert (process.returncode, err) == (code, f"tacit: {word}; resume a run with --resume\n")
    assert time.monotonic() - began < 20


def begun(process: Processes, script: str, *arguments: object) -> subprocess.Popen[str]:
    """Starts a script that prints "ready" when signals are handled; what it does first is left to it."""
    begin = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from tacit.base import interrupts; interrupts.handle(); interrupts.GRACE = 0.5\n"
    )
    started = subprocess.Popen(
        [sys.executable, "-c", begin + script, *map(str, arguments)],
        env=process.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert started.stdout is not None and started.stdout.readline() == "ready\n"
    return started


IMPORTED = """
from tacit.__main__ import program
handle = interrupts.handle
def handled():
    handle()
    print("ready", flush=True)  # from here on the program itself catches what a signal raises
interrupts.handle = handled
program()
"""


@pytest.mark.parametrize("number", CODES)
def test_a_signal_while_the_program_is_imported(
    number: signal.Signals, process: Processes, tmp_path: Path
) -> None:
    for delay in (0.0, 0.15, 0.5):
        started = begun(
            process,
            IMPORTED,
            "train",
            "fedavg",
            "--out",
            tmp_path / "run",
        )
        time.sleep(delay)
        started.send_signal(number)
        ended(started, number)
    assert not (tmp_path / "run").exists()


WHILE_SET = """
import _thread, os
from tacit.base import interrupts
from tacit.__main__ import program
start = _thread.start_new_thread
def interrupted(*given):
    start(*given)
    os.kill(os.getpid(), signal.SIGINT)
_thread.start_new_thread = interrupted
program()
"""


def test_a_signal_while_the_handlers_are_set(process: Processes) -> None:
    begin = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    started = subprocess.Popen(
        [sys.executable, "-c", begin + WHILE_SET], env=process.environment, stderr=subprocess.PIPE, text=True
    )
    ended(started, signal.SIGINT)


SWALLOWED = """
    print("ready", flush=True)
    while True:
        try:
            time.sleep(0.01)
        except BaseException:
            pass
"""
UNRAISABLE = """
    class Late:
        def __del__(self):
            time.sleep(0.005)
    print("ready", flush=True)
    while True:
        Late()
"""
COMPILED = """
    import hashlib
    print("ready", flush=True)
    hashlib.pbkdf2_hmac("sha256", b"", b"", 10**9)  # for minutes; no handler of Python runs meanwhile
"""
TRANSLATED = """
    print("ready", flush=True)
    try:
        time.sleep(30)
    except KeyboardInterrupt:
        raise RuntimeError("INTERNAL: callback failed")
"""


@pytest.mark.parametrize("script", [SWALLOWED, UNRAISABLE, COMPILED, TRANSLATED])
def test_an_interrupt_that_is_swallowed_ends_the_process_all_the_same(
    script: str, process: Processes
) -> None:
    command = (
        f"import time, tacit.cli\ndef command(**_):\n{script}\ntacit.cli.app = command; tacit.cli.program()\n"
    )
    started = begun(process, command)
    started.send_signal(signal.SIGINT)
    ended(started, signal.SIGINT)


def test_terminated_in_process_has_its_code(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    def killed(**_: object) -> None:
        monkeypatch.setattr(interrupts, "_first", (signal.SIGTERM, 0.0))
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "app", killed)
    with pytest.raises(cli.Interrupted) as end:
        cli.main()
    assert end.value.code == 143 and capsys.readouterr().err.startswith("tacit: terminated")


def test_a_signal_that_is_ignored_stays_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell lets what it starts in the background ignore Ctrl-C, and so does `nohup`."""
    set_handlers: list[int] = []
    monkeypatch.setattr(signal, "getsignal", lambda number: signal.SIG_IGN)
    monkeypatch.setattr(signal, "signal", lambda number, handler: set_handlers.append(number))
    interrupts.handle()
    assert set_handlers == []


def test_several_signals_at_once_are_one_and_a_later_one_ends_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(interrupts, "_first", None)
    with pytest.raises(KeyboardInterrupt):
        interrupts._on_signal(signal.SIGINT, None)
    interrupts._on_signal(signal.SIGINT, None)  # `timeout` sends its signal twice
    monkeypatch.setattr(interrupts, "_first", (signal.SIGINT, time.monotonic() - 1))
    codes: list[int] = []

    def leave(code: int) -> None:
        codes.append(code)
        raise SystemExit(code)

    monkeypatch.setattr(os, "_exit", leave)
    monkeypatch.setattr(os, "write", lambda number, data: len(data))
    with pytest.raises(SystemExit):
        interrupts._on_signal(signal.SIGINT, None)
    assert codes == [2]
