"""How the commands print: tables that align, one JSON value for machines; and the options they share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

DataOption = Annotated[
    Path | None,
    typer.Option("--data", help="Directory of known corpora (default: $TACIT_DATA or ~/.cache/tacit)."),
]
CorpusOption = Annotated[
    str | None, typer.Option("--corpus", help="'typists' (built in), a name of `tacit data list`, or a path.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON value for machines.")]


def print_table(rows: list[list[str]], title: str | None = None) -> None:
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name, *cells in zip(*rows, strict=True):
        numbers = all(cell[:1] in "0123456789-±" for cell in cells)
        table.add_column(name, justify="right" if numbers else "left", overflow="fold")
    for row in rows[1:]:
        table.add_row(*row)
    console = Console(highlight=False, emoji=False)
    if not console.is_terminal:  # a pipe has no width: never break a line there
        console = Console(highlight=False, emoji=False, width=1000)
    console.print(table, markup=False)


def print_models(models: Mapping[str, Mapping[str, float]]) -> None:
    """Recall and perplexity of models, a line each."""
    rows = [
        [name, f"{m['top1']:.2%}", f"{m['top3']:.2%}", f"{m['perplexity']:.1f}"] for name, m in models.items()
    ]
    print_table([["", "top-1", "top-3", "perplexity"], *rows])


def print_json(value: Any) -> None:
    from tacit.base.files import to_json

    typer.echo(to_json(value))


def start_jax() -> None:
    """Spreads cohorts over the CPU's cores."""
    from tacit.base.cores import use_all_cores

    use_all_cores()
