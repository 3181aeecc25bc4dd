"""Runs the suite: `python -m fuzz` makes every category's trials on two cores and prints a table.

    python -m fuzz                        every category
    python -m fuzz arpa compact           some of them
    python -m fuzz arpa --only 17         one trial, and what it did
    python -m fuzz --minutes 3 --seed 5   fewer trials, other random numbers

Exits with 1 if a trial failed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console

from fuzz import page, schedule
from fuzz.categories import find, names, planned
from fuzz.material import FOLDER, HERE, material
from fuzz.trial import FAULTS, Record

MINUTES = 20.0  # of a whole run


def main() -> None:
    """Parses the command line and runs."""
    asked = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__.split("\n")[0])
    asked.add_argument("categories", nargs="*", metavar="CATEGORY", help=f"some of: {', '.join(names())}")
    asked.add_argument("--only", type=int, metavar="N", help="make this trial alone")
    asked.add_argument("--trials", type=int, metavar="N", help="make this many trials of each category")
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("--minutes", type=float, default=MINUTES, help="at most (default: %(default)s)")
    asked.add_argument("--jobs", type=int, default=2, help="worker processes (default: %(default)s)")
    asked.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to this file")
    asked.add_argument(
        "--page", action="store_true", help="put the figures of a whole run into docs/reliability.md"
    )
    given = asked.parse_args()
    os.chdir(HERE)
    chosen = given.categories or names()
    begun = time.monotonic()
    made = material()
    schedule.measure_plain(made)
    share = min(1.0, given.minutes / MINUTES)
    wanted: dict[str, list[int]] = {}
    for name in chosen:
        every = planned(find(name), made)
        count = given.trials if given.trials is not None else round(every * share)
        count = max(1, min(count, every))
        wanted[name] = [given.only] if given.only is not None else [i * every // count for i in range(count)]
    prepared = time.monotonic() - begun
    with tempfile.TemporaryDirectory(prefix="tacit-fuzz-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)  # some trials run as another user
        end = begun + 60 * given.minutes
        run = schedule.run(wanted, given.seed, given.jobs, end, Path(folder))
    figures = summary(run, wanted, given.seed, prepared, time.monotonic() - begun)
    failures = [record for record in run.records if record.ending in FAULTS]
    keep_failures(failures, given.seed)
    if given.only is not None:
        for record in run.records:
            print(json.dumps(record._asdict(), indent=1, ensure_ascii=False))
    else:
        Console().print(page.table(figures), markup=False, highlight=False, soft_wrap=True)
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")
    if given.page:
        if figures["whole"]:
            page.publish(figures)
        else:
            print("docs/reliability.md is left as it is: these were not all trials of all categories")
    if failures:
        print(f"{len(failures)} trials failed: {FOLDER / 'failures'} has what repeats each", file=sys.stderr)
        raise SystemExit(1)


def summary(
    run: schedule.Run, wanted: dict[str, list[int]], seed: int, prepared: float, seconds: float
) -> dict[str, Any]:
    """Returns the figures of a run: by category, and of all."""
    rows: dict[str, Any] = {}
    for name in wanted:
        mine = [record for record in run.records if record.category == name]
        commands: dict[str, int] = {}
        for record in mine:
            for command in record.commands:
                commands[command] = commands.get(command, 0) + 1
        rows[name] = {
            "what": find(name).what,
            "trials": len(mine),
            "processes": sum(record.processes for record in mine),
            "ok": sum(record.ending == "ok" for record in mine),
            "refused": sum(record.ending == "refused" for record in mine),
            "failed": {f: n for f in FAULTS if (n := sum(record.ending == f for record in mine))},
            "again": sum(record.again for record in mine),
            "cpu_s": round(run.cpu_s.get(name, 0.0), 1),
            "longest_s": round(max((record.seconds for record in mine), default=0.0), 2),
            "peak_mb": round(max((record.peak_mb for record in mine), default=0.0)),
            "commands": commands,
        }
    whole = set(wanted) == set(names()) and all(
        rows[name]["trials"] == planned(find(name), material()) for name in wanted
    )
    return {
        "seed": seed,
        "seconds": round(seconds),
        "prepared_s": round(prepared),
        "whole": whole,
        "categories": rows,
    }


def keep_failures(failures: list[Record], seed: int) -> None:
    """Writes each failure with the command that repeats it; those of an earlier run go."""
    folder = FOLDER / "failures"
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.json"):
        old.unlink()
    for record in failures:
        again = f"python -m fuzz {record.category} --only {record.number} --seed {seed}"
        file = folder / f"{record.category}-{record.number}.json"
        file.write_text(
            json.dumps({"repeat": again, **record._asdict()}, indent=1, ensure_ascii=False) + "\n", "utf-8"
        )


if __name__ == "__main__":
    main()
