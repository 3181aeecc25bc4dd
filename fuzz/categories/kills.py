"""kill -9 at every write point of every writing command: the old state or the new one is whole, never a mixture.

A scenario is a command and what is at its --out before: nothing, or the result of an earlier call with other options. A
plain run counts its points of writing (`fuzz.write_points`); trial N kills at one of them. Then:

1. What a reader sees is the old state or the new one. A file that differs from its old self is new; all of them must be
   of one kind. Names that begin with a dot or end with .part are not looked at.
2. The same command, run again, ends well and leaves nothing half-written. Training resumes, to the same bytes.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from fuzz import box as boxes
from fuzz import processes
from fuzz.box import Box
from fuzz.categories import Category
from fuzz.commands import PLAIN
from fuzz.material import Material
from fuzz.trial import Ending, Fault
from tacit.privacy.ledger import NAME

_LIMIT = 30.0
VOLATILE = (
    "report.html",
    "timings.jsonl",
    "summary.json",
    "quadratic.quick.json",
    "ca.crt",
    "server.crt",
    "server.key",
)  # times, latencies and keys never repeat


class Scenario(NamedTuple):
    """A command that is killed."""

    command: str
    before: (
        tuple[str, ...] | None
    )  # options of the earlier call whose result is there; None: nothing is there
    swaps: bool = True  # whether the result appears at once; training grows, and resumes
    other: tuple[str, ...] = ()  # options of a second process (`together`)
    volatile: tuple[str, ...] = ()  # files that never repeat, beside VOLATILE
    done: str = ""  # what it says, with code 2, when all of it was done before


SCENARIOS: dict[str, Scenario] = {
    "train": Scenario("train", None, swaps=False),
    "train on": Scenario("train", ("--rounds", "1"), swaps=False),
    "count": Scenario("count", None),
    "count again": Scenario("count", ("--rounds", "3")),
    "distill": Scenario("distill", None, other=("--order", "2")),
    "distill again": Scenario("distill", ("--order", "2"), other=("--seed", "3")),
    "personalize": Scenario("personalize", None),
    "personalize again": Scenario("personalize", ("--lr", "0.5", "--users", "5"), other=("--users", "5")),
    "export": Scenario("export", None),
    "export again": Scenario("export", ()),
    "audit": Scenario("audit", None),
    "audit again": Scenario("audit", ("--seed", "3")),
    "plan": Scenario("privacy plan", None),
    "compare": Scenario("compare", None),
    "compare again": Scenario("compare", ()),
    "reproduce": Scenario("reproduce", None),
    "report": Scenario("report", None, swaps=False),
    "federation init": Scenario("federation init", None),
    "import": Scenario("data import", None),
    "get": Scenario("data get", None, swaps=False),  # several files, each of them whole
    "invite": Scenario(
        "federation invite", (), False, (), ("federation.json", "cleo.pub", "cleo.invitation"), "exists"
    ),
    "remove": Scenario("federation remove", (), done="has no client 'ana'"),
    "leave": Scenario(
        "federation leave", (), False, (), ("ana.invitation.journal.jsonl",), "has left the federation"
    ),
    "serve": Scenario("serve", (), swaps=False),
}


_OF_FEDERATION: dict[
    str, Callable[[Path], list[str]]
] = {  # commands that change a federation, or an invitation
    "federation invite": lambda home: ["invite", str(home), "cleo", "--out", str(home / "cleo.invitation")],
    "federation remove": lambda home: ["remove", str(home), "ana"],
    "federation leave": lambda home: ["leave", str(home / "ana.invitation")],
}


def _how(name: str, material: Material) -> dict[str, Any]:
    """Returns how the forked process of a scenario differs from a real one (`fuzz.warm`)."""
    how: dict[str, dict[str, Any]] = {
        "serve": {"serves_nobody": True},
        "data get": {"publishes": str(material.folder)},
    }
    return how.get(SCENARIOS[name].command, {})


def prepared(name: str, box: Box, material: Material) -> tuple[Path, list[str]]:
    """Puts the old state in its place; returns the path of the results and the command's arguments."""
    scenario = SCENARIOS[name]
    if scenario.command == "report":
        out = box.work / "docs"
        out.mkdir()
        return out, ["reproduce", "report", "--out", str(material.results), "--docs", str(out)]
    plain = PLAIN[scenario.command]
    out = box.work / f"out{plain.suffix}"
    if scenario.command in _OF_FEDERATION:
        shutil.copytree(material.federation, out)
        for file in material.folder.glob(f"{material.invitation.name}*"):
            shutil.copy(file, out)
        return out, ["federation", *_OF_FEDERATION[scenario.command](out)]
    if (
        scenario.command == "serve"
    ):  # it keeps models for the page in the run directory; nobody's own: one is like all
        shutil.copytree(material.run, out, ignore=shutil.ignore_patterns("personal"))
        shutil.copytree(material.ngram, out / "ngram")
        return out, ["serve", str(out), "--port", "0", "--no-open"]
    if scenario.before is not None:
        kept = material.folder / "before" / f"{name.replace(' ', '-')}{plain.suffix}"
        if not kept.exists():
            _make_old(kept, [*plain.arguments(material, out), *scenario.before], out, box)
        copied = shutil.copytree if kept.is_dir() else shutil.copy
        copied(kept, out)
    return out, plain.arguments(material, out)


def _make_old(kept: Path, arguments: list[str], out: Path, box: Box) -> None:
    """Makes the result of an earlier call and keeps it with the material."""
    kept.parent.mkdir(exist_ok=True)
    ended = processes.forked(box, arguments, limit=_LIMIT)
    if ended.code:
        raise Fault("crash", f"the old state for {kept.name} cannot be made: {ended.err}")
    out.rename(kept)


def files_of(out: Path) -> dict[str, bytes]:
    """Returns what a reader sees at a path: files by name, none that is being written."""
    if out.is_file():
        return {out.name: out.read_bytes()}
    return {
        str(path.relative_to(out)): path.read_bytes()
        for path in sorted(out.rglob("*"))
        if path.is_file() and not _unfinished(path.relative_to(out))
    }


def _unfinished(path: Path) -> bool:
    return any(part.startswith(".") or part.endswith(".part") for part in path.parts)


def check_whole(
    name: str,
    out: Path,
    old: dict[str, bytes],
    new: dict[str, bytes] | None,
    volatile: Collection[str] = VOLATILE,
) -> bool:
    """Raises a fault unless all files are old or all are new; returns whether they are new.

    `new` is the undisturbed result; None if it is not known: then only mixtures with the old one are seen.
    """
    seen = files_of(out)
    if seen == old:
        return False
    if new is not None and set(seen) != set(new):
        missing, extra = sorted(set(new) - set(seen)), sorted(set(seen) - set(new))
        raise Fault("mixed", f"{name}: {missing} missing and {extra} too many beside new files")
    for path, content in seen.items():
        is_new = new is not None and content == new[path]
        if path in old and content == old[path] and not is_new:
            raise Fault("mixed", f"{name}: {path} is old beside new files")
        if new is not None and not is_new and Path(path).name not in volatile:
            raise Fault("mixed", f"{name}: {path} is neither the old nor the new file")
        if path.endswith(".json"):
            json.loads(content)
    return True


@cache
def _undisturbed(name: str, root: Path, material: Material) -> tuple[dict[str, bytes], int]:
    """Returns the result of a plain run, and its number of write points."""
    box = boxes.make(root.with_name("undisturbed"))
    boxes.empty(box)
    out, arguments = prepared(name, box, material)
    log = root.with_name("points")
    log.unlink(missing_ok=True)
    arguments = _resumed(name, out, arguments)
    ended = processes.forked(
        box, arguments, limit=_LIMIT, points=str(box.work), log=str(log), **_how(name, material)
    )
    if ended.code:
        raise Fault("crash", f"{name} does not end well undisturbed: {ended.err}")
    return files_of(out), len(log.read_text("utf-8").splitlines())


def points(material: Material) -> list[tuple[str, int]]:
    """Returns every scenario with every write point of it; counted once for a material."""
    kept = material.folder / "points.json"
    if not kept.is_file():
        box = boxes.make(material.folder / "counting" / "box")
        counts = {name: _undisturbed(name, box.root, material)[1] for name in SCENARIOS}
        kept.write_text(json.dumps(counts, indent=1) + "\n", "utf-8")
        boxes.remove(box.root.parent)
    counts = json.loads(kept.read_text("utf-8"))
    return [(name, i) for name, count in counts.items() for i in range(1, count + 1)]


def trial(draw: random.Random, box: Box, material: Material, number: int) -> Ending:
    name, point = points(material)[number]
    scenario = SCENARIOS[name]
    new, _ = _undisturbed(name, box.root, material)
    out, arguments = prepared(name, box, material)
    old = files_of(out)
    before = boxes.state(box.root, (out,))
    log = box.root.with_name("points")
    killed = processes.forked(
        box,
        _resumed(name, out, arguments),
        limit=_LIMIT,
        points=str(box.work),
        kill_at=point,
        log=str(log),
        **_how(name, material),
    )
    if killed.code != -9:
        raise Fault("crash", f"{name}, point {point}: not killed: {killed.code}, {killed.err[-300:]}")
    volatile = (*VOLATILE, *scenario.volatile)
    is_new = check_whole(name, out, old, new, volatile) if scenario.swaps else False
    _check_again(name, out, arguments, new, is_new, box, _how(name, material))
    boxes.check_untouched(box, before, (out,))
    return "ok"


def _resumed(name: str, out: Path, arguments: list[str]) -> list[str]:
    """Returns the arguments with --resume if a training run has begun."""
    is_begun = SCENARIOS[name].command == "train" and (out / "config.toml").is_file()
    return [*arguments, "--resume"] if is_begun else arguments


def _check_again(
    name: str,
    out: Path,
    arguments: list[str],
    new: dict[str, bytes],
    is_new: bool,
    box: Box,
    how: Mapping[str, Any],
) -> None:
    """Runs the command again and compares its result with the undisturbed one."""
    again = processes.forked(box, _resumed(name, out, arguments), limit=_LIMIT, **how)
    scenario = SCENARIOS[name]
    if again.code == 2 and (
        (is_new and "exists" in again.err) or (scenario.done and scenario.done in again.err)
    ):
        return  # a command that does so only once, and all of it is there
    if again.code:
        raise Fault("mixed", f"{name} cannot be repeated: {again.err.strip()[-300:]}")
    lasting = {path for path in new if Path(path).name not in (*VOLATILE, *scenario.volatile)}
    seen = files_of(out)
    # what was released before the kill stays in the ledger: the repeated release is a further line
    added = {p for p in lasting if Path(p).name == NAME and seen.get(p, b"").startswith(new[p])}
    if wrong := sorted(path for path in lasting - added if seen.get(path) != new[path]):
        raise Fault("mixed", f"{name}, repeated, ends with other bytes of {wrong}")
    beside = [*out.parent.iterdir(), *(out.rglob("*") if out.is_dir() else ())]
    if left := sorted(p.name for p in beside if _unfinished(Path(p.name))):
        raise Fault("mixed", f"{name}, repeated, leaves {left}")


CATEGORY = Category(
    "kill -9 at every write point of every writing command",
    trial,
    lambda material: len(points(material)),
    processes=True,
)
