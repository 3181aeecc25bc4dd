"""Full disks: file systems of a few kB where this user may mount one, and limits on the size of files elsewhere."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path
from typing import Any

from fuzz import box as boxes
from fuzz import processes
from fuzz.box import Box, untouched
from fuzz.categories import Category
from fuzz.categories.outputs import WRITING
from fuzz.commands import PLAIN
from fuzz.material import Material
from fuzz.trial import Ending, Fault


def _mounted(place: Path, size: int) -> bool:
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", str(place)], capture_output=True, check=False
    )
    return done.returncode == 0


def _leftovers(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.rglob("*") if p.name.endswith(".part") or p.name.startswith(".part"))


def trial(draw: random.Random, box: Box, material: Material, number: int) -> Ending:
    name = WRITING[number % len(WRITING)]
    plain = PLAIN[name]
    disk = box.work / "disk"
    is_mounted = draw.random() < 0.5 and _mounted(disk, draw.choice((4, 8, 12, 20, 40, 80)))
    disk.mkdir(exist_ok=True)
    try:
        out = disk / f"out{plain.suffix}"
        arguments = plain.arguments(material, out)
        how: dict[str, Any] = (
            {} if is_mounted else {"file_size": draw.choice((0, 1, 100, 1000, 3000, 8000, 20_000))}
        )
        with untouched(box, (disk,)):
            ending = processes.judged(processes.forked(box, arguments, processes.UNCACHED, **how))
        if left := _leftovers(disk):
            raise Fault("mixed", f"{' '.join(arguments)[:200]}: half-written files stay: {left}")
        return ending
    finally:
        if is_mounted:
            subprocess.run(["umount", "-l", str(disk)], check=False)
        if disk.is_dir():
            boxes.remove(disk)


CATEGORY = Category("disks that are full, at the start or after some kB", trial, 48, processes=True)
