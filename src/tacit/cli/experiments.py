"""The command `tacit reproduce`: the papers' tables and figures, measured."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.base.errors import TacitError
from tacit.cli.options import (
    DataOption,
    JsonOption,
    keep_compiled,
    path_option,
    print_json,
    print_table,
    say,
    start_jax,
)

if TYPE_CHECKING:
    from tacit.experiments.entry import Entry


def register(app: typer.Typer) -> None:
    """Adds the commands of this file to the program."""
    app.command("reproduce")(reproduce)


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="list|report|NAME…|FILE.toml…", help="list, report, or what to measure."),
    ] = None,
    every: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Measure what is next in all tables, or in those named.",
        ),
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Measure a scaled-down version in seconds, without data.")
    ] = False,
    data: DataOption = None,
    seeds: Annotated[
        int | None,
        typer.Option(help="Number of seeds (default: the entry's own).", metavar="N", min=1, max=10_000),
    ] = None,
    only: Annotated[str, typer.Option(help="Measure only rows whose label contains this.")] = "",
    again: Annotated[bool, typer.Option("--again", help="Also measure rows that have results.")] = False,
    minutes: Annotated[
        float, typer.Option(help="Start no row after this many minutes; the same command resumes.", min=0)
    ] = math.inf,
    processes: Annotated[
        int,
        typer.Option(
            help="With --all: number of processes that share the rows.", metavar="N", min=1, max=256
        ),
    ] = 1,
    out: Annotated[
        Path | None, path_option("--out", "Directory of results (default: results; with --quick none).")
    ] = None,
    docs: Annotated[
        Path | None, path_option("--docs", "With report: folder of results.md and its plots (default: docs).")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure tables and figures of the papers, and show the published values next to them.

    `list` shows what can be measured, `report` writes docs/results.md. With --all, rows without a result come first,
    then seeds that claims need.

    Examples:

      tacit reproduce list

      tacit reproduce quadratic spam --data ~/data

      tacit reproduce mnist-cnn-computation --quick

      tacit reproduce table-2 --only ptb --minutes 30 --data ~/data

      tacit reproduce --all --minutes 60 --data ~/data

      tacit reproduce --all model-size local-epochs --minutes 60 --processes 8 --data ~/data

      tacit reproduce my-sweep.toml --seeds 5 --json

      tacit reproduce report
    """
    from tacit.base.terminal import progress_bar
    from tacit.experiments import entry as entries
    from tacit.experiments import runner

    names = names or []
    _check(names, every, docs, quick, data, seeds, only, again, minutes, processes)
    folder = out or Path("results")
    if every:
        return _all(
            [entries.find(name) for name in names] or entries.entries(),
            folder,
            data,
            minutes,
            processes,
            as_json,
        )
    if names == ["list"]:
        return _list(folder, as_json)
    if names == ["report"]:
        return _report(folder, docs or Path("docs"), as_json)
    chosen = [entries.find(name) for name in names]  # refuses unknown names before the first begins
    start_jax()
    keep_compiled()
    with progress_bar() as progress:
        if quick:
            results = [runner.run_quickly(entry, out, data, seeds, progress) for entry in chosen]
        else:
            results = runner.run_all(chosen, folder, data, seeds, only, progress, again, minutes)
    if as_json:
        print_json(results[0] if len(results) == 1 else results)
        return
    for entry, result in zip(chosen, results, strict=True):
        _print_result(entry, result, quick)


def _check(
    names: list[str],
    every: bool,
    docs: Path | None,
    quick: bool,
    data: Path | None,
    seeds: int | None,
    only: str,
    again: bool,
    minutes: float,
    processes: int,
) -> None:
    """Refuses options that do not go together."""
    if every:
        own = {"--quick": quick, "--seeds": seeds, "--only": only, "--again": again}
        known = [name for name in names if name in ("list", "report") or name.endswith(".toml")]
        idle = [*known, *(flag for flag, given in own.items() if given)]
        if idle:
            raise TacitError(f"--all chooses rows and seeds by itself: leave out {', '.join(idle)}")
    elif not names:
        raise TacitError("name a table or figure of `tacit reproduce list`, or give --all")
    if processes > 1 and not every:
        raise TacitError(
            "--processes is for --all; add --all, which can name tables: tacit reproduce --all table-2 …"
        )
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
    if math.isnan(minutes):
        raise TacitError("--minutes nan is not a number of minutes; give a number")
    if quick and (only or again or minutes < math.inf):
        raise TacitError("--only, --again and --minutes are for full runs; leave them or --quick out")


def _all(
    chosen: list[Entry], folder: Path, data: Path | None, minutes: float, processes: int, as_json: bool
) -> None:
    """Measures what is next, and says what it was."""
    from tacit.base.terminal import progress_bar
    from tacit.experiments.next_rows import run_next
    from tacit.experiments.processes import run_shared

    with progress_bar() as progress:
        if processes > 1:
            done = run_shared(chosen, folder, data, minutes, processes, progress)
        else:
            start_jax()
            keep_compiled()
            done = run_next(chosen, folder, data, minutes, progress)
    rows = [{"name": n.entry.name, "row": n.row.label, "seeds": n.seeds} for n in done.measured]
    if as_json:
        print_json({"measured": rows, "left": done.left, "refused": done.refused})
        return
    if rows:
        print_table([["name", "row", "seeds"], *([str(v) for v in r.values()] for r in rows)])
    for name, why in done.refused.items():
        say(f"{name} left out: {why}")
    say(f"{len(rows)} rows measured, {done.left} lack a result or a seed; the same command measures them")


def _list(folder: Path, as_json: bool) -> None:
    from tacit.experiments import entry as entries
    from tacit.experiments import results_page

    known = [results_page.overview(e, folder) for e in entries.entries()]
    if as_json:
        print_json(known)
        return
    columns = ["name", "where", "what", "measured", "takes"]
    print_table([columns, *([k[name] for name in columns] for k in known)])


def _report(folder: Path, docs: Path, as_json: bool) -> None:
    from tacit.experiments import results_page

    written = results_page.write(folder, docs)
    if as_json:
        print_json([str(path) for path in written])
        return
    say(str(written[0]))


def _print_result(whole: Entry, result: dict[str, Any], quick: bool) -> None:
    """Prints measured values beside published ones, and what is missing."""
    from tacit.experiments import results_page

    entry = whole.quickly() if quick else whole
    title = f"{entry.title}: scaled down" if quick else entry.title
    print_table(results_page.comparison(entry, {row["label"]: row for row in result["rows"]}), title=title)
    values = {name for row in result["rows"] for name in row["values"]}
    if values and (never := [m.name for m in entry.metrics if m.name not in values]):
        say(f"not measured: {', '.join(never)}; there are: {', '.join(sorted(values))}")
    if quick:
        smaller = ", ".join(f"{k} {v}" for k, v in entry.quick.get("settings", {}).items())
        rows = f" All rows with {smaller}." if smaller else ""
        say(f"a scaled-down run: the figures mean nothing.{rows}\n")
        return
    missing = len(entry.rows) - len(result["rows"])
    say(f"{missing} of {len(entry.rows)} rows are not measured yet\n" if missing else "")
