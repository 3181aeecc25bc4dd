"""Where results go: devices, FIFOs, links, foreign directories and files, the empty string, no permission."""

from __future__ import annotations

import os
import random
import shutil
import stat
from pathlib import Path
from typing import Any

from fuzz import mutate, processes
from fuzz.box import Box, untouched
from fuzz.categories import Category
from fuzz.commands import PLAIN
from fuzz.material import Material
from fuzz.trial import Ending

NOBODY = 65534
WRITING = sorted(name for name, plain in PLAIN.items() if plain.writes and not plain.slow)


def _target(
    draw: random.Random, box: Box, suffix: str, material: Material
) -> tuple[str, tuple[Path, ...], bool]:
    """Makes something at a path; returns it, what the command may change, and whether an unprivileged user runs it."""
    place = box.work / f"out{suffix}"
    kind = draw.randrange(16)
    if kind == 0:
        return "", (), False
    if kind == 1:
        os.mkfifo(place)
    elif kind == 2:
        if os.geteuid() == 0:
            os.mknod(place, stat.S_IFCHR | 0o666, os.makedev(1, 3))  # as /dev/null is
        else:
            os.mkfifo(place)
    elif kind == 3:
        foreign = suffix == ".html" and draw.random() < 0.5
        target = box.outside / ("page.html" if foreign else f"new-{draw.getrandbits(40):x}{suffix}")
        place.symlink_to(target)
        return str(place), () if foreign else (target,), False  # links are followed
    elif kind == 4:
        place.symlink_to(box.outside / "docs", target_is_directory=True)
    elif kind == 5:
        place.symlink_to(place)
    elif kind == 6:  # a directory of somebody else
        shutil.copytree(box.outside, place, symlinks=True)
    elif kind == 7:
        place.write_text("somebody's file\n", "utf-8")
    elif kind == 8:
        place.mkdir()
        for name in ("summary.json", "model.tacit", "config.toml", "report.html", "counts.tsv"):
            (place / name).write_text("somebody's file\n", "utf-8")
    elif kind == 9:
        closed = box.work / "closed"
        closed.mkdir()
        closed.chmod(0o555)
        return str(closed / f"out{suffix}"), (), True
    elif kind == 10:
        place.mkdir()
        (place / "notes.txt").write_text("mine\n", "utf-8")
        place.chmod(0o555)
        return str(place), (), True
    elif kind == 11:
        return str(box.work / ("x" * 300 + suffix)), (), False
    elif kind == 12:
        (box.work / "file").write_text("in the way\n", "utf-8")
        return str(box.work / "file" / f"out{suffix}"), (), False
    elif kind == 13:
        name = mutate.text(draw, nul=False).replace("/", "_")[:80] + suffix
        inside = box.work / "deep" / "er"
        inside.mkdir(parents=True)
        return str(inside / name), (box.work / "deep",), False
    elif kind == 14:
        os.link(box.outside / "page.html", place)
    else:
        return draw.choice((".", "..", "../outside", "~", "../work/../outside")), (box.work,), False
    return str(place), (), False


def trial(draw: random.Random, box: Box, material: Material, number: int) -> Ending:
    name = WRITING[number % len(WRITING)]
    plain = PLAIN[name]
    target, ours, as_nobody = _target(draw, box, plain.suffix, material)
    arguments = plain.arguments(material, Path("TARGET"))
    arguments[arguments.index("TARGET")] = target
    if name == "reproduce" and draw.random() < 0.5:
        arguments = ["reproduce", "report", "--out", str(material.results), "--docs", target]
        if target and not as_nobody:  # a folder of documents holds other pages, too
            docs = Path(os.path.realpath(box.work / target))
            made = (docs / "results.md", docs / "results")
            ours += tuple(path for path in made if not os.path.lexists(path))  # also of a name too long
    how: dict[str, Any] = {"user": NOBODY} if as_nobody and os.geteuid() == 0 else {}
    with untouched(box, ours):
        return processes.judged(processes.forked(box, arguments, processes.UNCACHED, **how))


CATEGORY = Category(
    "--out at devices, FIFOs, links, foreign directories, places without permission",
    trial,
    120,
    processes=True,
)
