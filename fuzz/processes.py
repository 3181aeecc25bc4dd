"""Whole processes of `tacit`: started as a person would, or forked from a process that has imported everything.

A real start costs about a second of a core, most of it imports. A forked one (`fuzz.warm`) is a process with its own
number, standard streams, directory, limits and signals, too; only the interpreter's start and the imports are saved.
Environment variables that are read by an import need a real start.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

from fuzz.box import Box
from fuzz.commands import PLAIN, name_of
from fuzz.material import HERE, environment
from fuzz.trial import LIMIT, Ending, Fault, check_line, control_character

PROGRAM = (sys.executable, "-P", "-m", "tacit")
# The same, with a byte to descriptor 3 once Python has started and before the first line of Tacit runs
BEGUN = """\
import os, runpy
os.write(3, b".")
os.close(3)
runpy.run_module("tacit", run_name="__main__", alter_sys=True)
"""
# Without this, JAX writes the suite's cache of programs, also where the command itself may write nothing
UNCACHED = {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "1e9"}
patience = float(os.environ.get("FUZZ_PATIENCE", "1"))  # for machines with other work: multiplies the limit
MOST = 1 << 20  # characters of output that are kept


class Ended(NamedTuple):
    """How a process ended."""

    arguments: tuple[str, ...]
    code: int  # minus the signal's number if a signal ended it
    out: str
    err: str
    seconds: float
    peak_mb: float
    hung: bool = False
    inherited_mb: float = 0.0  # memory that a forked process has from the start


class Started(NamedTuple):
    """A process that runs."""

    process: subprocess.Popen[bytes]
    arguments: tuple[str, ...]
    folder: Path
    begun: float

    def running(self) -> bool:
        """Whether it has not ended yet."""
        return os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def so_far(self) -> str:
        """What it has printed."""
        return _read(self.folder / "out")


log: list[str] = []  # commands that were started since the trial began
_numbers = itertools.count()  # of the processes of this worker


def settings(box: Box, more: Mapping[str, str | None] | None = None) -> dict[str, str]:
    """Returns the environment in a box; None removes a variable."""
    given = environment() | {
        "HOME": str(box.home),
        "TMPDIR": str(box.temporary),
        "MPLCONFIGDIR": str(box.temporary),
    }
    for name, value in (more or {}).items():
        if value is None:
            given.pop(name, None)
        else:
            given[name] = value
    return given


def start(
    box: Box,
    arguments: Sequence[str],
    env: Mapping[str, str | None] | None = None,
    stdin: int | IO[bytes] | None = subprocess.DEVNULL,
    stdout: int | IO[bytes] | None = None,
    prepare: Callable[[], None] | None = None,
    program: Sequence[str] = PROGRAM,
    keep: Sequence[int] = (),
) -> Started:
    """Starts a real process in the box."""
    log.append(name_of(list(arguments)))
    folder = Path(f"{box.root}.streams") / str(next(_numbers))
    folder.mkdir(parents=True, exist_ok=True)

    def first() -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
        if prepare:
            prepare()

    with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
        process = subprocess.Popen(
            [*program, *arguments],
            cwd=box.work,
            env=settings(box, env),
            stdin=stdin,
            stdout=stdout if stdout is not None else out,
            stderr=err,
            start_new_session=True,
            preexec_fn=first,
            pass_fds=keep,
        )
    return Started(process, tuple(arguments), folder, time.monotonic())


def start_and_tell(box: Box, arguments: Sequence[str], **more: Any) -> Started:
    """Starts a real process and returns when Python has started and Tacit has not."""
    reading, writing = os.pipe()

    def third() -> None:
        os.dup2(writing, 3)

    began = start(
        box, arguments, prepare=third, program=(sys.executable, "-P", "-c", BEGUN), keep=(3, writing), **more
    )
    os.close(writing)
    os.read(reading, 1)
    os.close(reading)
    return began


def cpu_s(started: Started) -> float:
    """Returns the seconds of the processor that a process has had; infinity where the kernel does not tell."""
    try:
        return int(Path(f"/proc/{started.process.pid}/schedstat").read_text("ascii").split()[0]) / 1e9
    except (OSError, ValueError, IndexError):
        return math.inf


def wait(started: Started, limit: float = LIMIT) -> Ended:
    """Waits for a process to end; one that takes longer is killed with its children."""
    process, hung = started.process, False
    end = time.monotonic() + limit * patience
    number, status, usage = 0, 0, None
    while not number:
        number, status, usage = os.wait4(process.pid, os.WNOHANG)
        if number:
            break
        if time.monotonic() > end:
            hung = True
            _kill(process.pid)
            number, status, usage = os.wait4(process.pid, 0)
            break
        time.sleep(0.01)
    process.returncode = os.waitstatus_to_exitcode(status)  # Popen must not wait for it again
    _kill(process.pid)  # children that outlived it
    seconds = time.monotonic() - started.begun
    peak = usage.ru_maxrss / 1024 if usage else 0.0
    out, err = _read(started.folder / "out"), _read(started.folder / "err")
    return Ended(started.arguments, process.returncode, out, err, seconds, peak, hung)


def run(
    box: Box, arguments: Sequence[str], env: Mapping[str, str | None] | None = None, **more: Any
) -> Ended:
    """Runs a real process to its end."""
    return wait(start(box, arguments, env, **more))


class Warm:
    """The process that has imported everything, and forks one for each command."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "fuzz.warm"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment() | {"PYTHONPATH": os.pathsep.join((str(HERE), environment()["PYTHONPATH"]))},
            text=True,
        )
        helpers.append(self._process)

    def _ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def run(
        self,
        box: Box,
        arguments: Sequence[str],
        env: Mapping[str, str | None] | None = None,
        limit: float = LIMIT,
        **how: Any,
    ) -> Ended:
        """Forks a process and waits for its end. `how` is part of the request (`fuzz.warm`)."""
        log.append(name_of(list(arguments)))
        begun = time.monotonic()
        request = {
            "arguments": list(arguments),
            "cwd": str(box.work),
            "root": str(box.root),
            "environment": settings(box, env),
            "limit": limit * patience,
            **how,
        }
        answer = self._ask(request)
        seconds = time.monotonic() - begun
        return Ended(tuple(arguments), seconds=seconds, **answer)


helpers: list[subprocess.Popen[str]] = []  # processes that answer many trials, and end when their input ends


def end_helpers() -> None:
    """Ends them and waits, so that the time that they took counts as the worker's."""
    for helper in helpers:
        if helper.stdin:
            helper.stdin.close()
        helper.wait()
    helpers.clear()


_warm: list[Warm] = []


def forked(
    box: Box, arguments: Sequence[str], env: Mapping[str, str | None] | None = None, **how: Any
) -> Ended:
    """Runs a command in a forked process to its end."""
    if not _warm:
        _warm.append(Warm())
    return _warm[0].run(box, arguments, env, **how)


def judged(ended: Ended, signalled: bool = False) -> Ending:
    """Returns how a process ended well; raises a fault otherwise.

    `signalled`: a signal or a closed pipe stopped it, and 0, 2 or 143 with or without a line are fine.
    """
    told = f"tacit {' '.join(ended.arguments)}"[:300]
    shown = f"{told!r}: code {ended.code}, {ended.err[-400:]!r}"
    if ended.hung:
        raise Fault("hang", f"{told!r} after {ended.seconds:.0f} s; {ended.err[-200:]!r}")
    if "Traceback (most recent call last)" in ended.err or "Fatal Python error" in ended.err:
        raise Fault("crash", f"{told!r}: {_last(ended.err)}")
    if "should not have happened" in ended.err:
        raise Fault("internal", f"{told!r}: {_last(ended.err)}")
    # 143 is what SIGTERM gives; a negative code is Python's own death, while it shuts down after the command
    if ended.code not in ((0, 2, 143, -signal.SIGTERM, -signal.SIGINT) if signalled else (0, 2)):
        raise Fault("crash", shown)
    for stream in (ended.err, ended.out):
        if bad := control_character(stream):
            raise Fault("noise", f"the control character {bad!r}: {shown}")
    lines = ended.err.splitlines()
    if signalled and len(lines) <= 1:
        return "refused" if ended.code else "ok"
    if ended.code == 0 and lines:
        raise Fault("noise", f"lines on standard error though all is well: {shown}")
    if ended.code == 2:
        if len(lines) != 1 or not lines[0].startswith("tacit: "):
            raise Fault("noise", f"not one line of error: {shown}")
        check_line(lines[0], printed=True)
    check_memory(ended)
    return "refused" if ended.code else "ok"


plain_peaks: dict[str, float] = {}  # MB of a plain run of each command


def check_memory(ended: Ended) -> None:
    """Raises a fault if a process took more than twice the memory of a plain run of its command."""
    name = name_of(list(ended.arguments))
    plain = max(plain_peaks.get(name) or plain_peaks.get("train", 0.0), ended.inherited_mb)
    if plain and ended.peak_mb > 2 * plain:
        raise Fault(
            "memory",
            f"{ended.peak_mb:.0f} MB, a plain run takes {plain:.0f}: tacit {' '.join(ended.arguments)}"[:400],
        )


def writes(name: str) -> bool:
    """Whether a command writes to a path of its arguments."""
    return PLAIN[name].writes


def _last(err: str) -> str:
    return " ".join(err.strip().splitlines()[-1:])[:400]


def _kill(group: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def _read(path: Path) -> str:
    with suppress(OSError):
        return path.read_bytes()[:MOST].decode("utf-8", "replace")
    return ""
