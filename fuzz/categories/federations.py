"""Directories of federations, invitations and journals: damaged, missing, foreign, or something else than a file."""

from __future__ import annotations

import io
import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from fuzz import called, mutate
from fuzz.box import Box, untouched
from fuzz.categories import Category
from fuzz.material import Material
from fuzz.trial import Ending, refusable
from tacit.cli.federation_client import journal_of
from tacit.network.federation import read_invitation
from tacit.network.watch import terminal
from tacit.network.watch.state import state

_ADDRESSES = (
    "127.0.0.1:9",
    "127.0.0.1",
    "127.0.0.1:99999",
    "127.0.0.1:-1",
    "[::1]:9",
    "[::1",
    ":9",
    "é:x",
    "",
    "/",
)


def _damage(draw: random.Random, file: Path, box: Box) -> None:
    """Damages a file, or puts something else in its place."""
    kind, good = draw.randrange(8), file.read_bytes()
    if kind < 4 and file.suffix in (".json", ".jsonl", ".invitation"):
        lines = good.splitlines() if file.suffix == ".jsonl" else [good]
        place = draw.randrange(len(lines))
        text = mutate.json_text(draw, json.loads(lines[place]))
        lines[place] = text.encode("utf-8", "surrogatepass")
        file.write_bytes(b"\n".join(lines) + b"\n")
    elif kind < 5:
        file.write_bytes(mutate.lines(draw, good))
    elif kind < 6:
        file.write_bytes(mutate.data(draw, good))
    else:
        file.unlink()
        match draw.randrange(4):
            case 0:
                os.mkfifo(file)
            case 1:
                file.mkdir()
            case 2:
                file.symlink_to(draw.choice((box.outside / "secret.jsonl", file, Path("/proc/self/mem"))))
            case _:
                pass


def trial(draw: random.Random, box: Box, material: Material, number: int) -> Ending:
    place, invitation = box.work / "home", box.work / material.invitation.name
    journal = journal_of(invitation)
    shutil.copytree(material.federation, place)
    shutil.copy(material.invitation, invitation)
    shutil.copy(journal_of(material.invitation), journal)
    of_client = draw.random() < 0.4
    if of_client:
        _damage(draw, draw.choice((invitation, invitation, journal)), box)
    elif draw.random() < 0.9:
        files = sorted(p for p in place.rglob("*") if p.is_file())
        _damage(draw, draw.choice(files), box)
    else:
        shutil.rmtree(draw.choice(sorted(p for p in place.rglob("*") if p.is_dir())))

    def knocks() -> None:
        """Reads the invitation, and looks for its server; names are not looked up."""
        given = read_invitation(invitation)
        if given.address != read_invitation(material.invitation).address:
            return
        said = given._asdict() | {"address": draw.choice(_ADDRESSES)}
        invitation.write_text(json.dumps({"format": 1, **said}), "utf-8")
        called.judged(["federation", "fetch", str(invitation)], box)

    def shows() -> None:
        Console(file=io.StringIO(), width=90).print(terminal.picture(state(place)))
        json.dumps(state(place))

    out, name = box.work / "new.invitation", draw.choice(("cleo", "ana", "bo", mutate.text(draw, nul=False)))
    commands: dict[str, list[str]] = {
        "status": ["status", str(place), *draw.choice(([], ["--json"]))],
        "log": ["log", str(invitation), *draw.choice(([], ["--json"]))],
        "invite": ["invite", str(place), name, "--out", str(out)],
        "invite a browser": ["invite", str(place), name, "--browser", "http://127.0.0.1:8095"],
        "remove": ["remove", str(place), name],
        "leave": ["leave", str(invitation)],
        "stop": ["stop", str(place)],
        "count": ["count", str(place), "--out", str(box.work / "counts")],  # refused: there is no server
    }
    calls: dict[str, Callable[[], object]] = {"watch": shows}
    if of_client:
        calls = {"knock": knocks}
        commands = {"log": commands["log"], "leave": commands["leave"]}
    else:
        del commands["log"], commands["leave"]
    use = draw.choice(sorted(commands | calls))
    # a link in place of the invitation is the person's own: leaving overwrites what it names
    ours = (place, out, box.work / "counts", invitation, journal)
    with untouched(box, ours):
        if use in calls:
            return refusable(calls[use])
        return called.judged(["federation", *commands[use]], box)


CATEGORY = Category(
    "damaged directories of federations, invitations and journals",
    trial,
    800,
    plain=lambda box, m: called.judged(["federation", "status", str(m.federation)], box),
)
