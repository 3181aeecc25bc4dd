"""Shares the rows of `tacit reproduce --all` between several processes of one machine (`--processes`).

Every process is the same command without `--processes`. Nothing assigns rows to processes, because locks on rows and
seeds separate them (`parts`). Small models leave most of a GPU idle, so several processes measure more rows in the same
time. NVIDIA's MPS lets their kernels run in parallel. Memory is then not reserved in advance, and a process gets at
most two shares of it.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from tacit.base.errors import TacitError
from tacit.base.locks import there_are_locks
from tacit.base.printable import one_line
from tacit.base.processes import start_python
from tacit.base.progress import Progress, no_progress
from tacit.experiments.entry import Entry
from tacit.experiments.next_rows import Done, Next, next_rows

_LOOK = 5.0  # seconds between two counts of the rows that are left


def run_shared(
    entries: Sequence[Entry],
    out: Path,
    data: Path | None,
    minutes: float,
    processes: int,
    progress: Progress = no_progress,
) -> Done:
    """Measures what is next in these entries with several processes until the minutes are over."""
    if not there_are_locks():
        raise TacitError("--processes needs file locks, which this system does not have; leave it out")
    arguments = ["reproduce", "--all", *(entry.name for entry in entries)]
    arguments += ["--json", "--out", str(out), *(["--data", str(data)] if data else [])]
    arguments += ["--minutes", f"{minutes:g}"] if minutes < math.inf else []
    before = len(next_rows(entries, out))
    with contextlib.ExitStack() as open_files:
        files = [
            (
                open_files.enter_context(tempfile.TemporaryFile()),
                open_files.enter_context(tempfile.TemporaryFile()),
            )
            for _ in range(processes)
        ]
        with _started(arguments, files) as running:
            looked = -math.inf
            while any(one.poll() is None for one in running):
                if time.monotonic() - looked > _LOOK:
                    left, looked = len(next_rows(entries, out)), time.monotonic()
                    progress(f"{processes} processes, {left} rows left", 1 - left / max(1, before))
                time.sleep(0.1)
        return _together([one.returncode for one in running], files, entries, out)


@contextlib.contextmanager
def _started(arguments: list[str], files: Sequence[tuple[IO[bytes], IO[bytes]]]) -> Iterator[list[Any]]:
    """Starts a process for each pair of output files; ends those that still run."""
    share = min(0.75, 2 / len(files))
    environment = {
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        "XLA_PYTHON_CLIENT_MEM_FRACTION": f"{share:.3f}",
        **os.environ,
    }
    running: list[subprocess.Popen[bytes]] = []
    try:
        for output, errors in files:
            one = start_python(
                "tacit.__main__",
                "program",
                arguments,
                stdout=output,
                stderr=errors,
                environment=environment,
            )
            running.append(one)
        yield running
    finally:
        for one in running:
            if one.poll() is None:
                one.terminate()
        for one in running:
            one.wait()


def _together(
    codes: Sequence[int], files: Sequence[tuple[IO[bytes], IO[bytes]]], entries: Sequence[Entry], out: Path
) -> Done:
    """Returns the results of all processes as one; raises an error if all of them failed."""
    by_name = {entry.name: entry for entry in entries}
    done: list[Next] = []
    refused: dict[str, str] = {}
    for number, (code, (output, errors)) in enumerate(zip(codes, files, strict=True), start=1):
        output.seek(0)
        errors.seek(0)
        if code:
            lines = errors.read().decode("utf-8", "replace").strip().splitlines()
            why = one_line(lines[-1]).removeprefix("tacit: ") if lines else f"ended with code {code}"
            refused[f"process {number}"] = why
            continue
        said = json.loads(output.read())
        refused |= said["refused"]
        for row in said["measured"]:
            entry = by_name[row["name"]]
            done.append(Next(entry, entry.row(row["row"]), row["seeds"]))
    if all(codes):
        raise TacitError(f"no process measured anything: {refused['process 1']}")
    return Done(done, len(next_rows(entries, out)), refused)
