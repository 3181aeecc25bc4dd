"""The command `tacit audit`: attacks on a run, and whether its claims about privacy hold."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.options import (
    DataOption,
    JsonOption,
    TrustOption,
    path_option,
    print_json,
    print_table,
    say,
    start_jax,
    trust_runs,
)


def register(app: typer.Typer) -> None:
    """Adds the command of this file to the program."""
    app.command("audit")(audit)


def audit(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.")],
    canaries: Annotated[
        int,
        typer.Option(
            help="Made-up people, to guess which of them took part.", metavar="N", min=20, max=20_000
        ),
    ] = 1000,
    people: Annotated[
        int, typer.Option(help="People, to read words from their updates.", metavar="N", min=1, max=1000)
    ] = 20,
    retrain: Annotated[
        int,
        typer.Option(
            help="Rounds to train again with planted phrases; 0: none.",
            metavar="N",
            min=0,
        ),
    ] = 0,
    seed: Annotated[int, typer.Option(help="Seed of the attacks.", metavar="N", min=0, max=2**31 - 1)] = 0,
    out: Annotated[Path | None, path_option("--out", "Directory of the report (default: RUN/audit).")] = None,
    data: DataOption = None,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Attack a run, and check its claims about privacy.

    Guess who took part, read words from updates, look for planted phrases, and check the ledger. Planted phrases need
    --retrain, which trains with the run's privacy and without.

    Examples:

      tacit audit runs/private

      tacit audit runs/private --retrain 20

      tacit audit runs/demo --people 50 --json
    """
    from tacit.audit import report
    from tacit.audit.audit import AuditOptions
    from tacit.audit.audit import audit as audit_run
    from tacit.base.files import inside
    from tacit.base.terminal import progress_bar

    out = out or inside(run, "audit")
    start_jax()
    trust_runs(trust, run)
    with progress_bar() as progress:
        summary = audit_run(run, out, AuditOptions(canaries, people, retrain, seed), data, progress)
    if as_json:
        print_json(summary)
        return
    for title, rows in report.tables(summary):
        print_table(rows, title)
    say(f"{report.verdict(summary)}.")
    say(str(out / "report.html"))
