"""Fills the tables of docs/personal.md, docs/ngram.md and docs/ngram-files.md from benchmarks/results/.

    python tools/measured.py add-personal NAME RUN/personal/summary.json    # of `tacit personalize`
    python tools/measured.py add-personal-speed personal.json               # of benchmarks/personal.py --out
    python tools/measured.py add-distill NAME RUN/ngram/summary.json        # of `tacit distill`
    python tools/measured.py add-count NAME DIR/summary.json                # of `tacit count`
    python tools/measured.py add-lost NAME lost.json                        # of benchmarks/lost.py --out
    python tools/measured.py add-casing capitals.json                       # of benchmarks/capitals.py --out
    python tools/measured.py add-inventory inventory.json                   # of benchmarks/inventory.py --out
    python tools/measured.py add-dictionary aosp.json                       # of benchmarks/aosp.py
    python tools/measured.py                                                # only rewrites the pages

NAME describes the text and the network and appears in the tables. A result with the same NAME (for a distilled model,
and the same settings) is replaced. --command, --machine and --date default to the plain command, this machine and
today. Only figures of a summary are kept: no path and no person's name.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import measured_ngram
import measured_personal
from pages import RESULTS, filled, machine, read, store, today

Entry = dict[str, Any]


def pages(folder: Path = RESULTS) -> dict[str, str]:
    """Returns the pages with their tables filled."""
    personal, ngram = read("personal.json", folder), read("ngram.json", folder)
    people, distilled, asked = personal["people"], ngram["distilled"], read("aosp.json", folder)
    blocks = {
        "docs/personal.md": {
            "grids": measured_personal.grids(people),
            "strategies": measured_personal.strategies(people),
            "parts": measured_personal.parts(people),
            "gates": measured_personal.gates(people),
            "speed": measured_personal.speeds(personal["speed"]),
        },
        "docs/ngram.md": {
            "counts": measured_ngram.counts(ngram["counts"]),
            "topologies": measured_ngram.topologies(distilled),
            "sentences": measured_ngram.sentences(distilled),
            "real-text": measured_ngram.real_text(distilled),
            "lost": measured_ngram.lost(ngram["lost"]),
            "casing": measured_ngram.casing(ngram["casing"]),
            "inventory": measured_ngram.inventory(ngram["inventory"]),
        },
        "docs/ngram-files.md": {
            "files": measured_ngram.files(distilled, asked),
            "printed": measured_ngram.printed(distilled),
            "dictionary": measured_ngram.dictionary(asked),
        },
    }
    return {page: filled(Path(page).read_text("utf-8"), tables) for page, tables in blocks.items()}


def put(
    file: str, section: str, entry: Entry, same: tuple[str, ...] = ("name",), folder: Path = RESULTS
) -> None:
    """Adds an entry to its section of a results file; replaces one with the same values of these keys."""
    results = read(file, folder)
    entry = {"machine": machine(), "date": today(), **entry}
    places = [i for i, e in enumerate(results[section]) if all(e.get(k) == entry.get(k) for k in same)]
    if places:
        results[section][places[0]] = entry
    else:
        results[section].append(entry)
    store(file, results, folder)


SETTINGS = ("name", "topology", "sentences", "ngrams", "cased")


def add(given: argparse.Namespace) -> None:
    """Adds the measurements of a command to its results file."""
    told = {k: v for k in ("command", "machine", "date") if (v := getattr(given, k))}
    match given.what:
        case "add-personal":
            put("personal.json", "people", measured_personal.tuned(given.name, given.file) | told)
        case "add-personal-speed":
            results = json.loads(given.file.read_text("utf-8"))
            put("personal.json", "speed", results | told, ("command", "machine"))
        case "add-distill":
            put("ngram.json", "distilled", measured_ngram.distilled(given.name, given.file) | told, SETTINGS)
        case "add-lost":
            results = json.loads(given.file.read_text("utf-8"))
            put("ngram.json", "lost", {"name": given.name} | results | told)
        case "add-casing" | "add-inventory":
            results = read("ngram.json") | {
                given.what.removeprefix("add-"): measured_ngram.alone(given.file) | told
            }
            store("ngram.json", results)
        case "add-dictionary":
            store("aosp.json", measured_ngram.asked(given.file) | told)
        case "add-count":
            put("ngram.json", "counts", measured_ngram.counted(given.name, given.file) | told)


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = given.add_subparsers(dest="what")
    named = ("add-personal", "add-distill", "add-count", "add-lost")
    for what in (*named, "add-personal-speed", "add-casing", "add-inventory", "add-dictionary"):
        kind = kinds.add_parser(what)
        if what in named:
            kind.add_argument("name")
        kind.add_argument("file", type=Path)
        for option in ("--command", "--machine", "--date"):
            kind.add_argument(option)
    options = given.parse_args()
    if options.what:
        add(options)
    for page, text in pages().items():
        Path(page).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
