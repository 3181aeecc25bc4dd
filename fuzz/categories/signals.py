"""Ctrl-C, SIGTERM and closed pipes at random moments: the command ends soon, with one line at most."""

from __future__ import annotations

import os
import random
import signal
import time

from fuzz import processes
from fuzz.box import Box, untouched
from fuzz.categories import Category
from fuzz.commands import PLAIN
from fuzz.material import Material
from fuzz.trial import LIMIT, Ending, Fault

_SOONEST = 0.03  # seconds of the processor after Python has started: then Tacit must be ready for signals
_PRINTING = ("presets", "data list", "predict", "data describe", "evaluate", "train")


def _closed_pipe(draw: random.Random, box: Box, material: Material) -> Ending:
    """Runs a command whose reader goes away at once, or after the first bytes."""
    name = draw.choice(_PRINTING)
    out = box.work / "out"
    reading, writing = os.pipe()
    started = processes.start(box, PLAIN[name].arguments(material, out), stdout=writing)
    os.close(writing)
    if draw.random() < 0.5:
        os.read(reading, 1)
    os.close(reading)
    with untouched(box, (out,)):
        return processes.judged(processes.wait(started), signalled=True)


def trial(draw: random.Random, box: Box, material: Material, number: int) -> Ending:
    if number % 5 == 4:
        return _closed_pipe(draw, box, material)
    names = [name for name in sorted(PLAIN) if name not in ("bench", "presets", "data list")]
    name = names[number % len(names)]
    out = box.work / f"out{PLAIN[name].suffix}"
    which = draw.choice((signal.SIGINT, signal.SIGINT, signal.SIGTERM))
    delay = _SOONEST + draw.random() ** 2 * draw.choice((0.3, 1.5, 4.0))
    part = out.with_name(
        f".{out.name}.tacit.part"
    )  # stays after a death in haste; the next command removes it
    with untouched(box, (out, part)):
        started = processes.start_and_tell(box, PLAIN[name].arguments(material, out))
        at_first = processes.cpu_s(started)
        time.sleep(delay * processes.patience)
        while (
            started.running() and processes.cpu_s(started) < at_first + _SOONEST
        ):  # others have the processor
            time.sleep(0.005)
        if started.running():
            os.kill(started.process.pid, which)
        ended = processes.wait(started, LIMIT)
        try:
            return processes.judged(ended, signalled=True)
        except Fault as fault:
            raise Fault(fault.kind, f"{which.name} after {delay:.2f} s: {fault.told}") from None


CATEGORY = Category("Ctrl-C, SIGTERM and closed pipes at random moments", trial, 110, processes=True)
