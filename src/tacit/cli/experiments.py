"""The command `tacit reproduce`: the papers' tables and figures, measured."""

from __future__ import annotations

import math
import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.base.errors import TacitError
from tacit.cli.options import DataOption, JsonOption, print_json, print_table, start_jax

if TYPE_CHECKING:
    from tacit.experiments.entry import Entry


def register(app: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    app.command("reproduce")(reproduce)


def reproduce(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="list|report|NAME…|FILE.toml…", help="What to do, or which tables and figures."
        ),
    ],
    quick: Annotated[
        bool, typer.Option("--quick", help="A scaled-down version of a few seconds; needs no data.")
    ] = False,
    data: DataOption = None,
    seeds: Annotated[
        int | None, typer.Option(help="How many seeds (default: the entry's own).", min=1)
    ] = None,
    only: Annotated[str, typer.Option(help="Only rows whose label has this in it.")] = "",
    again: Annotated[bool, typer.Option("--again", help="Also rows that were measured before.")] = False,
    minutes: Annotated[
        float, typer.Option(help="Begin nothing new after so long; the same command goes on.", min=0)
    ] = math.inf,
    out: Annotated[
        Path | None, typer.Option(help="Where results lie (default: results; quick ones are not kept).")
    ] = None,
    docs: Annotated[
        Path | None, typer.Option(help="report: the folder of results.md and its plots (default: docs).")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure a table or a figure of the papers, and put it beside what was published.

    Examples:

      tacit reproduce list

      tacit reproduce quadratic spam --data ~/data

      tacit reproduce mnist-cnn-computation --quick

      tacit reproduce table-2 --only ptb --minutes 30 --data ~/data

      tacit reproduce my-sweep.toml --seeds 5 --json

      tacit reproduce report
    """
    from tacit.experiments import entry as entries
    from tacit.experiments import results_page

    folder = out or Path("results")
    for_runs = {
        "--quick": quick,
        "--data": data,
        "--seeds": seeds,
        "--only": only,
        "--again": again,
        "--minutes": minutes < math.inf,
    }
    if names in (["list"], ["report"]) and (idle := [flag for flag, given in for_runs.items() if given]):
        raise TacitError(f"reproduce {names[0]} measures nothing: leave out {', '.join(idle)}")
    if docs is not None and names != ["report"]:
        raise TacitError("--docs is for `tacit reproduce report`; leave it out")
    if names == ["list"]:
        known = [results_page.overview(e, folder) for e in entries.entries()]
        if as_json:
            print_json(known)
            return
        print_table(
            [["name", "paper", "where", "what", "measured", "takes"], *([*k.values()] for k in known)]
        )
        return
    if names == ["report"]:
        written = results_page.write(folder, docs or Path("docs"))
        if as_json:
            print_json([str(path) for path in written])
            return
        typer.echo(str(written[0]))
        return
    if math.isnan(minutes):
        raise TacitError("--minutes nan is no length of time; give a number")
    if quick and (only or again or minutes < math.inf):
        raise TacitError("--only, --again and --minutes are for full runs; leave them or --quick out")
    chosen = [entries.find(name) for name in names]  # all of them known before the first begins
    began = time.monotonic()
    results = []
    for entry in chosen:
        left = minutes - (time.monotonic() - began) / 60
        results.append(
            _quickly(entry, out, data, seeds)
            if quick
            else _fully(entry, folder, data, seeds, only, again, max(0.0, left))
        )
    if as_json:
        print_json(results[0] if len(results) == 1 else results)
        return
    for entry, found in zip([e.quickly() if quick else e for e in chosen], results, strict=True):
        title = f"{entry.title}: scaled down" if quick else entry.title
        print_table(results_page.comparison(entry, {row["label"]: row for row in found["rows"]}), title=title)
        values = {name for row in found["rows"] for name in row["values"]}
        if values and (never := [m.name for m in entry.metrics if m.name not in values]):
            typer.echo(f"not measured: {', '.join(never)}; there are: {', '.join(sorted(values))}")
        if quick:
            smaller = ", ".join(f"{k} {v}" for k, v in entry.quick.get("settings", {}).items())
            rows = f" All rows with {smaller}." if smaller else ""
            typer.echo(f"only to see it run; the figures mean nothing.{rows}\n")
            continue
        missing = len(entry.rows) - len(found["rows"])
        typer.echo(f"{missing} of {len(entry.rows)} rows are not measured yet\n" if missing else "")


def _quickly(entry: Entry, out: Path | None, data: Path | None, seeds: int | None) -> dict[str, Any]:
    from tacit.base.terminal import progress_bar
    from tacit.experiments import runner

    _start()
    with progress_bar() as progress:
        return runner.run_quickly(entry, out, data, seeds, progress)


def _fully(
    entry: Entry,
    out: Path,
    data: Path | None,
    seeds: int | None,
    only: str,
    again: bool,
    minutes: float,
) -> dict[str, Any]:
    from tacit.base.terminal import progress_bar
    from tacit.experiments import runner

    _start()
    with progress_bar() as progress:
        return runner.run(entry, out, data, seeds, only, progress, again, minutes)


def _start() -> None:
    start_jax()
    _keep_compiled()


def _keep_compiled() -> None:
    """Let JAX keep compiled programs between rows and processes, unless it was told where."""
    import jax

    told = jax.config.values.get("jax_compilation_cache_dir") is not None
    if told or not hasattr(os, "getuid"):  # Windows: whose folder it is cannot be told
        return
    kept = Path(tempfile.gettempdir()) / f"tacit-compiled-{os.getuid()}"
    kept.mkdir(mode=0o700, exist_ok=True)
    if kept.lstat().st_uid != os.getuid():  # somebody else's programs are not run
        return
    jax.config.update("jax_compilation_cache_dir", str(kept))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
