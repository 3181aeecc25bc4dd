"""The command of the personal room: `tacit personalize`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from tacit.base.errors import TacitError
from tacit.cli.options import DataOption, JsonOption, print_json, print_table, start_jax

Number = TypeVar("Number", int, float)


def register(app: typer.Typer) -> None:
    """Add the command of this file to the program."""
    app.command("personalize")(personalize)


def numbers(option: str, text: str, kind: Callable[[str], Number]) -> tuple[Number, ...]:
    """The numbers of an option, in the order given, each once.

    >>> numbers("--batch", "5, 10,5", int)
    (5, 10)
    """
    try:
        return tuple(dict.fromkeys(kind(part) for part in text.split(",")))
    except ValueError:
        like = "5,10,20" if kind is int else "0.01,0.1,1.0"
        raise TacitError(f"{option} {text}: not a list of numbers; write them like {like}") from None


def personalize(
    run: Annotated[Path, typer.Argument(metavar="DIR", help="A run directory.")],
    corpus: Annotated[
        str | None,
        typer.Option(
            "--corpus",
            help="Whose text: 'typists', a name of `tacit data list`, or a path (default: people of the run's own "
            "corpus whom it was not trained on).",
        ),
    ] = None,
    batch: Annotated[str, typer.Option(metavar="B,…", help="Batch sizes, in sentences.")] = "5,10,20",
    lr: Annotated[str, typer.Option(metavar="L,…", help="Learning rates.")] = "0.01,0.1,1.0",
    max_tokens: Annotated[
        int, typer.Option(help="Tuning ends with the batch that reaches so many tokens; 0: no limit.", min=0)
    ] = 5000,
    epochs: Annotated[int, typer.Option(help="Tuning ends after so many passes.", min=1)] = 1,
    users: Annotated[
        int | None,
        typer.Option(
            help="At most so many people, drawn by chance (default: all; of the typists 100).", min=1
        ),
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(
            help="Gain of accuracy that the gate asks for (default: chosen from other people's sums)."
        ),
    ] = None,
    more: Annotated[
        bool,
        typer.Option(
            "--strategies",
            help="Also try parts of the model, mixtures and a word cache; takes twice as long.",
        ),
    ] = False,
    keep: Annotated[int, typer.Option(help="Store the models of so many accepted people.", min=0)] = 10,
    out: Annotated[
        Path | None, typer.Option(help="Directory for what is found (default: DIR/personal).")
    ] = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Does fine-tuning help each person? Evaluate it from sums alone, and gate it.

    Everybody's text is split in time: 64 % to tune on, 16 % for the gate to look at, 20 % to measure on.

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
        numbers("--batch", batch, int),
        numbers("--lr", lr, float),
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
