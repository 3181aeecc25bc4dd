"""The command `tacit personalize`: fine-tuning for each person, evaluated and gated."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.options import DataOption, JsonOption, numbers, print_json, print_table, start_jax


def register(app: typer.Typer) -> None:
    """Add the command of this file to the program."""
    app.command("personalize")(personalize)


def personalize(
    run: Annotated[Path, typer.Argument(metavar="DIR", help="A run directory.")],
    corpus: Annotated[
        str | None,
        typer.Option(
            "--corpus",
            help="The text: 'typists', a name of `tacit data list`, or a path (default: held-out people of the run's "
            "corpus).",
        ),
    ] = None,
    batch: Annotated[str, typer.Option(metavar="B,…", help="Batch sizes, in sentences.")] = "5,10,20",
    lr: Annotated[str, typer.Option(metavar="L,…", help="Learning rates.")] = "0.01,0.1,1.0",
    max_tokens: Annotated[
        int,
        typer.Option(help="Stop tuning with the batch that reaches this many tokens; 0: no limit.", min=0),
    ] = 5000,
    epochs: Annotated[int, typer.Option(help="Stop tuning after this many passes.", min=1)] = 1,
    users: Annotated[
        int | None,
        typer.Option(help="At most this many people, drawn at random (default: all; 100 typists).", min=1),
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(
            help="Gain in accuracy that the gate requires (default: chosen from other people's sums)."
        ),
    ] = None,
    more: Annotated[
        bool,
        typer.Option(
            "--strategies",
            help="Also try parts of the model, mixtures and a word cache (twice as slow).",
        ),
    ] = False,
    keep: Annotated[
        int, typer.Option(help="Store the models of at most this many accepted people.", min=0)
    ] = 10,
    out: Annotated[
        Path | None, typer.Option(help="Directory of the results (default: DIR/personal).")
    ] = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fine-tune for each person, measure from sums whether it helps, and reject it where it harms (the gate).

    Each person's text is split in time: 64 % for tuning, 16 % for the gate, 20 % for measuring.

    Examples:

      tacit personalize runs/demo

      tacit personalize runs/demo --lr 0.1,1,4 --users 200 --strategies

      tacit personalize runs/mine --corpus messages.jsonl.gz --batch 5 --lr 0.1 --margin 0.01 --json
    """
    from tacit.base.terminal import progress_bar
    from tacit.personal import report
    from tacit.personal.job import PersonalOptions
    from tacit.personal.personalize import personalize as personalize_run
    from tacit.personal.summary import json_summary

    out = out or run / "personal"
    options = PersonalOptions(
        corpus,
        numbers("--batch", batch, int, like="5,10,20"),
        numbers("--lr", lr, float, like="0.01,0.1,1.0"),
        max_tokens,
        epochs,
        users or 0,
        margin,
        keep,
        more,
    )
    start_jax()
    with progress_bar() as progress:
        summary = personalize_run(run, out, options, data, progress).summary
    if as_json:
        print_json(json_summary(summary))
        return
    for title, rows in report.tables(summary):
        print_table(rows, title)
    typer.echo(report.who(summary))
    typer.echo(f"recommended: {summary['recommendation']}")
    typer.echo(str(out / "report.html"))
