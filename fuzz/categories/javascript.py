"""The page's readers of compact files and 8-bit networks, in node: they refuse what Python refuses, and no more."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from functools import cache
from pathlib import Path

from fuzz import processes
from fuzz.box import Box, untouched
from fuzz.categories import Category, network8
from fuzz.categories.compact import damaged
from fuzz.material import HERE, Material
from fuzz.models import ask
from fuzz.trial import Ending, Fault, refusable


@cache
def _node() -> subprocess.Popen[str]:
    """Starts node once; it answers a line for each file."""
    node = shutil.which("node")
    if not node:
        raise Fault("crash", "node is not installed: apt-get install nodejs")
    processes.helpers.append(
        subprocess.Popen(
            [node, str(HERE / "fuzz" / "verdicts.mjs")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
    )
    return processes.helpers[-1]


def verdict(path: Path) -> tuple[str, str]:
    """Returns how the page's reader judges a file, and what it says."""
    node = _node()
    assert node.stdin and node.stdout
    node.stdin.write(f"{path}\n")
    node.stdin.flush()
    answer = json.loads(node.stdout.readline())
    return answer["ending"], answer["told"]


def trial(draw: random.Random, box: Box, material: Material, number: int) -> Ending:
    path = box.work / "model.tacit"
    if number % 2:
        path.write_bytes(network8.damaged(draw, material.network8.read_bytes()))
    else:
        path.write_bytes(damaged(draw, material.compact.read_bytes()))
    with untouched(box):
        ending, told = verdict(path)
        if ending in ("crash", "nonsense"):
            raise Fault(ending, told)
        try:
            python: str = refusable(lambda: ask(path))
        except Fault as fault:  # `compact` and `network8` report what Python does wrong
            python = fault.kind
        if python in ("ok", "refused") and python != ending:
            raise Fault("disagree", f"Python: {python}, the page: {ending} {told}")
    return "ok" if ending == "ok" else "refused"


def _plain(box: Box, material: Material) -> None:
    for path in (material.compact, material.network8):
        ask(path)
        assert verdict(path) == ("ok", "")


CATEGORY = Category(
    "the page's readers in node, against Python's verdict on the same damaged files",
    trial,
    3000,
    plain=_plain,
)
