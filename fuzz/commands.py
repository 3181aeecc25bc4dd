"""A plain call of every command on the small material (`fuzz.material`), for trials that vary it.

A test compares this table with the program's commands: a new command needs a line here, and then joins every category
of whole processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from fuzz.material import Material

TINY = ("model.embedding=8", "model.hidden=8", "text.vocabulary=20", "sampling.clients=3", "client.batch=4")
ROUNDS = 2


class Plain(NamedTuple):
    """A call that ends well."""

    arguments: Callable[[Material, Path], list[str]]  # of the material, and of a new path for results
    suffix: str = ""  # of the path for results
    writes: bool = False  # whether it writes to that path
    slow: bool = False  # takes more than seconds: started, but only to be refused or interrupted
    ends: bool = True  # whether it ends by itself


def sets(*assignments: str) -> list[str]:
    """Returns `--set a=1 --set b=2` from assignments."""
    return [part for assignment in assignments for part in ("--set", assignment)]


def _train(m: Material, out: Path) -> list[str]:
    given = ["--corpus", str(m.messages), "--rounds", str(ROUNDS), "--out", str(out)]
    return ["train", "fedavg", *given, *sets(*TINY)]


def _count(m: Material, out: Path) -> list[str]:
    given = ["--corpus", str(m.messages), "--supplement", str(m.other), "--rounds", "2", "--cohort", "3"]
    return ["count", "fedavg", *given, "--lambda", "1,inf", "--out", str(out)]


def _distill(m: Material, out: Path) -> list[str]:
    size = ["--max-ngrams", "200", "--sentences", "50", "--date", "2026-01-31"]
    return ["distill", str(m.run), "--supplement", str(m.other), *size, "--out", str(out)]


def _personalize(m: Material, out: Path) -> list[str]:
    given = ["--corpus", str(m.other), "--batch", "5", "--lr", "1.0", "--margin", "0", "--users", "6"]
    return ["personalize", str(m.run), *given, "--out", str(out)]


def _audit(m: Material, out: Path) -> list[str]:
    return ["audit", str(m.run), "--canaries", "20", "--people", "2", "--out", str(out)]


def _evaluate(m: Material, out: Path) -> list[str]:
    return ["evaluate", str(m.run), "--corpus", str(m.other), "--json"]


def _compare(m: Material, out: Path) -> list[str]:
    return ["compare", str(m.run), str(m.run), "--out", str(out)]


def _serve(m: Material, out: Path) -> list[str]:
    return ["serve", str(m.compact), "--port", "0", "--no-open"]


def _export(m: Material, out: Path) -> list[str]:
    return ["export", str(m.run), "--people", "0", "--out", str(out)]


def _demo(m: Material, out: Path) -> list[str]:
    few = ("typists.users=12", "typists.messages=10", "training.rounds=1")
    return ["demo", "--out", str(out), *sets(*few, *TINY)]


def _reproduce(m: Material, out: Path) -> list[str]:
    return ["reproduce", "quadratic", "--quick", "--out", str(out)]


def _plan(m: Material, out: Path) -> list[str]:
    given = ["--epsilon", "4", "--delta", "1e-6", "--rounds", "3", "--population", "1000", "--clients", "10"]
    return ["privacy", "plan", *given, "--sampling", "fixed", "--out", str(out)]


PLAIN: dict[str, Plain] = {
    "train": Plain(_train, writes=True),
    "presets": Plain(lambda m, out: ["presets"]),
    "bench": Plain(lambda m, out: ["bench", "--workload", "small", "--repeats", "1", "--json"], slow=True),
    "demo": Plain(_demo, writes=True, slow=True),
    "evaluate": Plain(_evaluate),
    "compare": Plain(_compare, ".html", writes=True),
    "predict": Plain(lambda m, out: ["predict", str(m.compact), "see you", "--k", "3"]),
    "data list": Plain(lambda m, out: ["data", "list", "--json"]),
    "data describe": Plain(lambda m, out: ["data", "describe", str(m.messages)]),
    "data get": Plain(lambda m, out: ["data", "get", "ptb", "--data", str(out)], writes=True),
    "data import": Plain(
        lambda m, out: ["data", "import", str(m.chat), "--out", str(out)], ".jsonl", writes=True
    ),
    "count": Plain(_count, writes=True),
    "distill": Plain(_distill, writes=True),
    "personalize": Plain(_personalize, writes=True),
    "audit": Plain(_audit, writes=True),
    "serve": Plain(_serve, ends=False),
    "export": Plain(_export, ".tacit", writes=True),
    "reproduce": Plain(_reproduce, writes=True),
    "privacy show": Plain(lambda m, out: ["privacy", "show", str(m.run), "--json"]),
    "privacy plan": Plain(_plan, ".json", writes=True),
    "federation init": Plain(lambda m, out: ["federation", "init", str(out)], writes=True),
    "federation status": Plain(lambda m, out: ["federation", "status", str(m.federation), "--json"]),
    "federation log": Plain(lambda m, out: ["federation", "log", str(m.invitation)]),
    # the others need a server and clients, which `make test-federation` has, or change the material (`kills` has copies
    # for them): here they are refused or interrupted
    "federation invite": Plain(
        lambda m, out: ["federation", "invite", str(m.run), "ana", "--out", str(out)], slow=True
    ),
    "federation server": Plain(lambda m, out: ["federation", "server", str(m.run)], slow=True, ends=False),
    "federation client": Plain(
        lambda m, out: ["federation", "client", str(m.compact), "--data", str(m.messages)],
        slow=True,
        ends=False,
    ),
    "federation run": Plain(
        lambda m, out: ["federation", "run", str(m.run), "fedavg", "--out", str(out)], slow=True
    ),
    "federation demo": Plain(
        lambda m, out: ["federation", "demo", "--no-open", "--out", str(m.run)], slow=True
    ),
    "federation leave": Plain(lambda m, out: ["federation", "leave", str(m.compact)], slow=True),
    "federation remove": Plain(lambda m, out: ["federation", "remove", str(m.run), "ana"], slow=True),
    "federation count": Plain(
        lambda m, out: ["federation", "count", str(m.run), "--out", str(out)], slow=True
    ),
    "federation evaluate": Plain(
        lambda m, out: ["federation", "evaluate", str(m.run), str(m.run)], slow=True
    ),
    "federation personalize": Plain(
        lambda m, out: ["federation", "personalize", str(m.run), str(m.run), "--out", str(out)], slow=True
    ),
    "federation fetch": Plain(
        lambda m, out: ["federation", "fetch", str(m.compact), "network.tacit", "--out", str(out)], slow=True
    ),
    "federation watch": Plain(
        lambda m, out: ["federation", "watch", str(m.run), "--port", "0", "--no-open"], slow=True, ends=False
    ),
    "federation stop": Plain(lambda m, out: ["federation", "stop", str(m.run)], slow=True),
}


def name_of(arguments: list[str]) -> str:
    """Returns the command that arguments start: "data list", "train"; "" for none.

    >>> name_of(["data", "get", "ptb"]), name_of(["--version"])
    ('data get', '')
    """
    first = arguments[0] if arguments else ""
    name = " ".join(arguments[:2]) if first in ("data", "privacy", "federation") else first
    return name if name in PLAIN else ""


def commands_of_the_program() -> Iterator[str]:
    """Returns the name of every command of `tacit`, as the program itself lists them."""
    import typer

    from tacit.cli import app

    def leaves(command: object, name: str) -> Iterator[str]:
        below = getattr(command, "commands", None)
        if below is None:
            yield name
            return
        for part, one in below.items():
            yield from leaves(one, f"{name} {part}".strip())

    yield from leaves(typer.main.get_command(app), "")
