"""Spreads the trials over worker processes, watches them, and collects what they report.

Categories advance together: whenever the time is up, each has made about the same share of its trials.

A machine with other work may keep a trial from its end for ten seconds. A trial that hangs is therefore made once more,
after all others and with no other trial beside it; only the second ending counts, and the record says so.
"""

from __future__ import annotations

import json
import math
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from rich import progress as rich
from rich.console import Console

from fuzz import box as boxes
from fuzz import processes
from fuzz.categories import find
from fuzz.commands import PLAIN, Plain
from fuzz.material import Material, both, environment
from fuzz.trial import LIMIT, Record

SLICES = 3  # parts of a category that are made one after the other
SMALLEST, SMALLEST_OF_PROCESSES = 150, 6  # trials that are worth a worker's start


class Slice(NamedTuple):
    """Trials of one category that a worker makes."""

    category: str
    numbers: list[int]


def slices(wanted: dict[str, list[int]], with_processes: Collection[str] = ()) -> list[Slice]:
    """Returns all trials in parts, so that categories advance together; trials in memory, which are quick, go first.

    >>> [s.category for s in slices({"a": [0, 1] * 6, "b": [0], "c": [0] * 300}, with_processes=["a"])]
    ['b', 'c', 'a', 'c', 'a']
    """
    parts: list[tuple[float, bool, Slice]] = []
    for name, numbers in wanted.items():
        is_slow = name in with_processes
        count = max(1, min(SLICES, len(numbers) // (SMALLEST_OF_PROCESSES if is_slow else SMALLEST)))
        size = math.ceil(len(numbers) / count)
        for i in range(count):
            if part := numbers[i * size : (i + 1) * size]:
                parts.append((i / count, is_slow, Slice(name, part)))
    return [part for _, _, part in sorted(parts, key=lambda entry: entry[:2])]


class Run(NamedTuple):
    """What was made."""

    records: list[Record]
    cpu_s: dict[str, float]  # seconds of the processor by category, of workers and all that they started


class _Worker:
    """A worker that runs, and what it has reported."""

    def __init__(self, part: Slice, seed: int, folder: Path) -> None:
        self.left = list(part.numbers)
        self.category = part.category
        self.current: int | None = None
        self.heard = time.monotonic()
        self.errors = folder.with_suffix(".err")
        folder.chmod(0o755)  # some trials run as another user
        with self.errors.open("wb") as err:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "fuzz.worker",
                    part.category,
                    str(seed),
                    str(folder),
                    *map(str, part.numbers),
                ],
                stdout=subprocess.PIPE,
                stderr=err,
                stdin=subprocess.DEVNULL,
                env=environment()
                | {"PYTHONPATH": os.pathsep.join((str(Path.cwd()), environment()["PYTHONPATH"]))},
                start_new_session=True,
            )
        self._rest = b""
        self.cpu_s = 0.0  # known when it has ended

    def has_ended(self, options: int = os.WNOHANG) -> bool:
        """Whether it has ended; keeps the seconds of the processor that it took."""
        if self.process.returncode is None:
            number, status, usage = os.wait4(self.process.pid, options)
            if number:
                self.process.returncode = os.waitstatus_to_exitcode(status)
                self.cpu_s = usage.ru_utime + usage.ru_stime
        return self.process.returncode is not None

    def read(self) -> list[Record]:
        """Returns the records of what it has printed since."""
        assert self.process.stdout
        self.heard = time.monotonic()
        *lines, self._rest = (self._rest + os.read(self.process.stdout.fileno(), 1 << 16)).split(b"\n")
        records = []
        for line in lines:
            told = json.loads(line)
            if "begin" in told:
                self.current = told["begin"]
            else:
                records.append(Record(**told | {"commands": tuple(told["commands"])}))
                self.left.remove(records[-1].number)
                self.current = None
        return records

    def end(self) -> None:
        """Kills it with its children."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.has_ended(0)


def run(wanted: dict[str, list[int]], seed: int, jobs: int, end: float, folder: Path) -> Run:
    """Makes the trials until all are made or the time is up; then those that hang once more, one at a time."""
    first = _made(slices(wanted, [name for name in wanted if find(name).processes]), seed, jobs, end, folder)
    late = [(record.category, record.number) for record in first.records if record.ending == "hang"]
    second = _made([Slice(name, [number]) for name, number in late], seed, 1, end, folder)
    again = {(record.category, record.number): record._replace(again=True) for record in second.records}
    records = [again.get((record.category, record.number), record) for record in first.records]
    return Run(records, {name: s + second.cpu_s.get(name, 0.0) for name, s in first.cpu_s.items()})


def _made(waiting: list[Slice], seed: int, jobs: int, end: float, folder: Path) -> Run:
    """Makes the trials of slices, as many at a time as there are jobs."""
    records, running, cpu_s = list[Record](), list[_Worker](), dict[str, float]()
    selector, count = selectors.DefaultSelector(), sum(len(part.numbers) for part in waiting)
    bar = rich.Progress(
        rich.TextColumn("{task.description}"),
        rich.BarColumn(bar_width=24),
        rich.MofNCompleteColumn(),
        rich.TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task("trials", total=count)
    with bar:
        while waiting or running:
            while waiting and len(running) < jobs and time.monotonic() < end:
                worker = _Worker(waiting.pop(0), seed, Path(tempfile.mkdtemp(dir=folder)))
                assert worker.process.stdout
                selector.register(worker.process.stdout, selectors.EVENT_READ, worker)
                running.append(worker)
            if not running:
                break
            for key, _ in selector.select(timeout=0.5):
                news = key.data.read()
                records += news
                bar.update(task, advance=len(news))
            names = ", ".join(sorted({worker.category for worker in running}))
            failed = sum(record.ending not in ("ok", "refused") for record in records)
            bar.update(task, description=f"{names} ({failed} failed)")
            for worker in list(running):
                if (again := _over(worker, records, time.monotonic() > end)) is None:
                    continue
                assert worker.process.stdout
                selector.unregister(worker.process.stdout)
                worker.end()
                cpu_s[worker.category] = cpu_s.get(worker.category, 0.0) + worker.cpu_s
                running.remove(worker)
                if again.numbers and time.monotonic() < end:
                    waiting.insert(0, again)
    return Run(records, cpu_s)


def _over(worker: _Worker, records: list[Record], late: bool) -> Slice | None:
    """Returns what is left of a worker that has ended, hangs, or is late; None for one that goes on."""
    dead = worker.has_ended()
    silent = (
        time.monotonic() - worker.heard
        > (12 * LIMIT if worker.current is None else 9 * LIMIT) * processes.patience
    )
    if not (dead or silent or late):
        return None
    if dead and worker.process.stdout:
        with suppress(ValueError):
            records += worker.read()
    if not late and worker.current is not None:
        told = worker.errors.read_text("utf-8", "replace")[-600:]
        kind = "crash" if dead else "hang"
        records.append(
            Record(worker.category, worker.current, kind, f"the worker: {worker.process.returncode}, {told}")
        )
        worker.left.remove(worker.current)
    elif dead and worker.left:
        raise SystemExit(
            f"a worker of {worker.category} failed: {worker.errors.read_text('utf-8', 'replace')[-3000:]}"
        )
    return Slice(worker.category, list(worker.left))


def measure_plain(material: Material) -> None:
    """Runs every command once on good input and keeps the memory that it takes."""
    file = material.folder / "peaks.json"
    if file.is_file():
        return
    box, peaks = boxes.make(material.folder / "plain"), dict[str, float]()

    def measure(name: str, plain: Plain) -> None:
        ended = processes.run(box, plain.arguments(material, box.work / f"{name}{plain.suffix}"))
        peaks[name] = ended.peak_mb

    chosen = {name: plain for name, plain in PLAIN.items() if plain.ends and not plain.slow}
    both(*(partial(measure, name, plain) for name, plain in chosen.items()))
    boxes.remove(box.root)
    file.write_text(json.dumps(peaks, indent=1) + "\n", "utf-8")
