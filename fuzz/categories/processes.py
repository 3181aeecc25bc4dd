"""Every command as a person starts it, with plain and with hostile arguments: `python -m tacit …`."""

from __future__ import annotations

import random
import signal
import time

from fuzz import processes
from fuzz.box import Box, untouched
from fuzz.categories import Category
from fuzz.commands import PLAIN
from fuzz.material import Material
from fuzz.trial import LIMIT, Ending, Fault
from fuzz.varied import varied

_OTHERS: tuple[list[str], ...] = (
    ["--version"],
    ["--help"],
    [],
    ["no-such-command"],
    ["data"],
    ["data", "--help"],
    ["reproduce", "list"],
)


def trial(draw: random.Random, box: Box, material: Material, number: int) -> Ending:
    names = sorted(PLAIN)
    name = names[number % len(names)]
    plain = PLAIN[name]
    out = box.work / f"out{plain.suffix}"
    arguments = plain.arguments(material, out)
    turn = number // len(names)  # the first of each command is plain, then one in twelve
    if plain.slow or turn % 12:
        arguments = varied(draw, arguments, box, nul=False)
    if plain.slow:
        arguments.insert(
            draw.randrange(1, len(arguments) + 1), draw.choice(("--no-such-option", "--set=client.lr=x"))
        )
    if turn % 12 == 5:
        arguments = [name.split()[0], "--help"] if draw.random() < 0.5 else draw.choice(_OTHERS)
    ours = (box.work, box.outside / "ptb")  # the arguments may name any path for results
    with untouched(box, ours):
        started = processes.start(box, arguments)
        if name == "serve":
            _stop_when_it_serves(started)
        ended = processes.wait(started)
        ending = processes.judged(ended, signalled=name == "serve")
    if not turn % 12 and not plain.slow and ending != "ok" and name != "data get":  # there is no network
        raise Fault("crash", f"a plain call was refused: tacit {' '.join(arguments)}: {ended.err}"[:600])
    return ending


def _stop_when_it_serves(started: processes.Started) -> None:
    """Interrupts a server once it has told its address; it may refuse to start and end by itself."""
    end = time.monotonic() + LIMIT * processes.patience
    while time.monotonic() < end and started.running():
        if "http://" in started.so_far():
            started.process.send_signal(signal.SIGINT)
            return
        time.sleep(0.02)


CATEGORY = Category(
    "whole processes of every command, plain and with hostile arguments", trial, 360, processes=True
)
