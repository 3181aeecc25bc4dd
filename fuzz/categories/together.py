"""Two processes on one directory at the same time: one of them is refused, or both end and the result is whole."""

from __future__ import annotations

import random
import time
from functools import cache
from pathlib import Path

from fuzz import box as boxes
from fuzz import processes
from fuzz.box import Box, untouched
from fuzz.categories import Category
from fuzz.categories.kills import SCENARIOS, VOLATILE, files_of, prepared
from fuzz.material import Material
from fuzz.trial import Ending, Fault


@cache
def _result(name: str, options: tuple[str, ...], root: Path, material: Material) -> dict[str, bytes]:
    """Returns what a command writes when it is alone."""
    box = boxes.make(root.with_name("alone"))
    boxes.empty(box)
    there, arguments = prepared(name, box, material)
    ended = processes.forked(box, [*arguments, *options])
    if ended.code:
        raise Fault("crash", f"{name} does not end well alone: {ended.err}")
    return {path: data for path, data in files_of(there).items() if Path(path).name not in VOLATILE}


def trial(draw: random.Random, box: Box, material: Material, number: int) -> Ending:
    names = [name for name in sorted(SCENARIOS) if SCENARIOS[name].other]
    name = names[number % len(names)]
    out, arguments = prepared(name, box, material)
    both = (), SCENARIOS[name].other  # options of each
    with untouched(box, (out,)):
        first = processes.start(box, arguments)
        time.sleep(draw.random() ** 2 * processes.patience)
        second = processes.start(box, [*arguments, *SCENARIOS[name].other])
        endings = [processes.judged(processes.wait(started)) for started in (first, second)]
    seen = {path: data for path, data in files_of(out).items() if Path(path).name not in VOLATILE}
    if seen not in [_result(name, options, box.root, material) for options in both]:
        raise Fault("mixed", f"{name}: what two processes left is the result of neither")
    return "ok" if "ok" in endings else "refused"


CATEGORY = Category("two processes on one directory", trial, 12, processes=True)
