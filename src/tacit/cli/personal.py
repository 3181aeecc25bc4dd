"""The command `tacit personalize`: fine-tuning for each person, evaluated and gated."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.base.errors import TacitError
from tacit.cli.options import (
    BatchOption,
    DataOption,
    EpochsOption,
    JsonOption,
    MarginOption,
    MaxTokensOption,
    MinPeopleOption,
    RateOption,
    SumsDeltaOption,
    SumsEpsilonOption,
    TrustOption,
    numbers,
    path_option,
    print_json,
    print_table,
    say,
    start_jax,
    trust_runs,
)


def register(app: typer.Typer) -> None:
    """Adds the command of this file to the program."""
    app.command("personalize")(personalize)


def personalize(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.")],
    corpus: Annotated[
        str | None,
        typer.Option(
            "--corpus",
            help="'typists', a known corpus, or a path (default: held-out people).",
        ),
    ] = None,
    batch: BatchOption = "5,10,20",
    lr: RateOption = "0.01,0.1,1.0",
    max_tokens: MaxTokensOption = 5000,
    epochs: EpochsOption = 1,
    users: Annotated[
        int | None,
        typer.Option(
            help="At most this many people, drawn at random (default: all; 100 typists).", metavar="N", min=1
        ),
    ] = None,
    split: Annotated[
        str,
        typer.Option(
            metavar="A/B/C",
            help="Per cents of a person's words to tune on, for the gate, and to measure on.",
        ),
    ] = "64/16/20",
    margin: MarginOption = None,
    gate_tokens: Annotated[
        int,
        typer.Option(
            help="The gate rejects people with fewer words and ends in the first two parts.",
            metavar="N",
            min=0,
        ),
    ] = 0,
    gate_baseline: Annotated[
        float,
        typer.Option(help="The gate rejects people for whom the global model is more accurate than this."),
    ] = 1.0,
    more: Annotated[
        bool,
        typer.Option(
            "--strategies",
            help="Also try parts of the model, mixtures and a word cache (twice as slow).",
        ),
    ] = False,
    keep: Annotated[
        int, typer.Option(help="Store the models of at most this many accepted people.", metavar="N", min=0)
    ] = 10,
    epsilon: SumsEpsilonOption = None,
    delta: SumsDeltaOption = None,
    min_people: MinPeopleOption = 0,
    out: Annotated[
        Path | None, path_option("--out", "Directory of the results (default: RUN/personal).")
    ] = None,
    data: DataOption = None,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Fine-tune a model for each person, and keep the result only where it helps.

    Each person's text is split in time: by default 64 % for tuning, 16 % for the gate, which rejects models that do
    not help, and 20 % for measuring. All figures come from sums over people. The gate's margin is chosen from other
    people's sums, unless --margin sets it.

    Examples:

      tacit personalize runs/demo

      tacit personalize runs/demo --lr 0.1,1,4 --users 200 --strategies

      tacit personalize runs/mine --corpus messages.jsonl.gz --batch 5 --lr 0.1 --margin 0.01 --json

      tacit personalize runs/demo --split 50/25/25 --gate-tokens 500 --gate-baseline 0.4

      tacit personalize runs/demo --users 5000 --batch 5 --lr 1 --epsilon 8 --min-people 20
    """
    from tacit.base.files import inside
    from tacit.base.terminal import progress_bar
    from tacit.personal.gate import Condition
    from tacit.personal.job import PersonalOptions
    from tacit.personal.personalize import personalize as personalize_run
    from tacit.personal.private import Protection

    if delta is not None and epsilon is None:
        raise TacitError("--delta needs --epsilon, which says how much noise; add that or leave it out")
    out = out or inside(run, "personal")
    options = PersonalOptions(
        corpus,
        numbers("--batch", batch, int, like="5,10,20"),
        numbers("--lr", lr, float, like="0.01,0.1,1.0"),
        max_tokens,
        epochs,
        users or 0,
        margin,
        _shares(split),
        Condition(gate_tokens, gate_baseline),
        keep,
        more,
        Protection(epsilon, 1e-6 if delta is None else delta, min_people),
    )
    start_jax()
    trust_runs(trust, run)
    with progress_bar() as progress:
        summary = personalize_run(run, out, options, data, progress).summary
    show(summary, out, as_json)


def _shares(text: str) -> tuple[int, int, int]:
    """Reads the per cents of `--split`."""
    from tacit.personal.split import check_shares

    try:
        return check_shares([int(part) for part in text.split("/")])
    except ValueError:
        raise TacitError(f"--split {text}: not three whole per cents; write them like 64/16/20") from None


def show(summary: Mapping[str, Any], out: Path, as_json: bool) -> None:
    """Prints what a personalisation found, in the simulator or in a federation."""
    from tacit.personal import report
    from tacit.personal.summary import json_summary

    if as_json:
        print_json(json_summary(summary))
        return
    for title, rows in report.tables(summary):
        print_table(rows, title)
    say(report.who(summary))
    say(f"recommended: {summary['recommendation']}")
    say(str(out / "report.html"))
