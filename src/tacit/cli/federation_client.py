"""The commands of those who take part: `tacit federation client`, `leave`, `fetch` and `log`."""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.base.cores import check_devices
from tacit.cli.options import JsonOption, path_option, print_json, print_table, say, start_jax

Invited = Annotated[Path, typer.Argument(metavar="FILE", help="An invitation.")]


def client(
    file: Invited,
    data: Annotated[Path, path_option("--data", "This person's text, as JSON lines.", "FILE")],
    conditions: Annotated[
        str,
        typer.Option(
            help="Work under conditions: a file of the device's state, or 'system'.",
            metavar="FILE|system",
        ),
    ] = "",
    period: Annotated[
        str, typer.Option(help="Do each kind of work at most once in this time, such as 24h.", metavar="TIME")
    ] = "0s",
) -> None:
    """Take part in a federation with the text in a file, until Ctrl-C.

    The text is read here and never sent. With --conditions, the client works only if the device is idle, charging, on
    an unmetered network and has 2 GB of memory; 'system' asks Linux for power and memory only.

    Examples:

      tacit federation client ana.invitation --data messages.jsonl

      tacit federation client ana.invitation --data messages.jsonl --conditions device.json --period 24h
    """
    from tacit.network import federation as directory
    from tacit.network import flower

    flower.require()
    start_jax()
    check_devices()  # before anything is promised to a server
    invitation = directory.read_invitation(file)
    from tacit.network.admission import check_certificate, until_admitted
    from tacit.network.conditions import OPEN, named
    from tacit.network.leaving import has_left
    from tacit.network.manners import Manners, seconds
    from tacit.network.node import run_client

    @cache
    def ready() -> None:  # says so once, also if the client has to try again
        say(f"{invitation.name} connects to {invitation.address}; Ctrl-C ends it")

    manners = Manners(named(conditions) if conditions else OPEN, seconds(period))
    journal = journal_of(file)
    check_certificate(invitation)
    until_admitted(
        lambda: run_client(
            invitation,
            data,
            journal,
            ready,
            manners,
            lambda: has_left(file),
            lambda line: say(took_part(line)),
        ),
        journal,
    )
    say(f"{invitation.name} has left the federation for good")
    sys.stdout.flush()
    # an ordinary exit could crash: JAX's threads may still compute while Python shuts down
    os._exit(0)


def leave(file: Invited) -> None:
    """Leave a federation for good: destroy the invitation's key and end its client.

    Example:

      tacit federation leave ana.invitation
    """
    from tacit.network.leaving import leave as leave_federation

    name = leave_federation(file, journal_of(file))
    say(f"{name} has left the federation for good; the key in {file} is destroyed, delete copies of it")


def fetch(
    file: Invited,
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="A published file (default: list all).")] = "",
    out: Annotated[Path | None, path_option("--out", "Where to write it (default: NAME).", "FILE")] = None,
) -> None:
    """Fetch a file that the server publishes, such as a new model.

    Examples:

      tacit federation fetch ana.invitation

      tacit federation fetch ana.invitation network.tacit --out new.tacit
    """
    from tacit.network import federation as directory
    from tacit.network import flower

    flower.require()
    from tacit.network import published

    invitation = directory.read_invitation(file)
    if not name:
        for listed, one in published.manifest(invitation).items():
            say(f"{listed}  {one.bytes:,} bytes  sha256 {one.sha256}")
        return
    got = published.fetch(invitation, name, out or Path(name))
    say(f"{out or name}: {got.bytes:,} bytes, sha256 {got.sha256}")


def log(file: Invited, as_json: JsonOption = False) -> None:
    """Show what a client has taken part in.

    Example:

      tacit federation log ana.invitation
    """
    from tacit.network import federation as directory
    from tacit.network import journal
    from tacit.network.leaving import has_left

    if not has_left(file):
        directory.read_invitation(file)
    lines = journal.lines(journal_of(file))
    if not lines:
        say("this client has not taken part in anything yet")
        return
    for line in lines:  # rounds are counted from 1 wherever people see them
        made = line.get("round") if line.get("task") == "train" else None
        line["round"] = made + 1 if type(made) is int else None
    if as_json:
        print_json(lines)
        return
    names = ("time", "task", "round", "ended")
    print_table([list(names), *([str(line.get(name) or "") for name in names] for line in lines)])


def took_part(line: dict[str, Any]) -> str:
    """Returns what a client did, by a line of its journal.

    >>> took_part({"time": "2026-11-18T19:50:02+00:00", "task": "train", "round": 0, "ended": "answered"})
    '2026-11-18T19:50:02+00:00  train, round 1: answered'
    """
    is_round = line.get("task") == "train" and isinstance(line.get("round"), int)
    which = f", round {line['round'] + 1}" if is_round else ""
    return f"{line['time']}  {line.get('task', 'an unknown task')}{which}: {line['ended']}"


def journal_of(invitation: Path) -> Path:
    """Returns the journal of a client, which lies beside its invitation."""
    return invitation.parent / f"{invitation.name}.journal.jsonl"


def register(app: typer.Typer) -> None:
    """Adds these commands to `tacit federation`."""
    for command in (client, leave, fetch, log):
        app.command(command.__name__)(command)
