"""Makes the tables of docs/personal.md: results and speed of `tacit personalize`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pages import short, source, table

from tacit.personal.report import PUBLISHED

Entry = dict[str, Any]
ROW = ("batch", "lr", "baseline", "delta_mean", "ci95", "relative", "gain_share", "loss_share")
WAY = ("name", "part", "personal", "cache", "bytes", "delta_mean", "ci95", "relative", "loss_share")
PAPER = 0.166  # accuracy before, in paper 3
PARTS: dict[str, Callable[[Entry], bool]] = {  # columns of the table of what is stored
    "all of the model": lambda s: s["part"] == "all" and s["personal"] == 1 and not s["cache"],
    "adapter": lambda s: s["part"] == "adapter",
    "all but the embedding": lambda s: s["part"] == "body",
    "output bias": lambda s: s["part"] == "bias",
    "cache alone": lambda s: s["personal"] == 0,
}


def tuned(name: str, file: Path) -> Entry:
    """Returns the figures of a summary.json without people's names."""
    s = json.loads(file.read_text("utf-8"))
    return {
        "name": name,
        "command": "tacit personalize RUN",
        "users": s["users"],
        "left_out": s["left_out"],
        "max_tokens": s["tuning"]["max_tokens"],
        "epochs": s["tuning"]["epochs"],
        "grid": [_some(r, ROW) for r in s["grid"]],
        "strategies": [_some(r, WAY) for r in s["strategies"]],
        "best": _some(s["best"], ("strategy", "chosen_by_halves", "cross_fitted", *ROW[2:])),
        "gate": {k: short(v) for k, v in s["gate"].items() if k != "margins"},
    }


def _some(row: Entry, keys: Sequence[str]) -> Entry:
    return {k: short(row[k]) for k in keys}


def _who(entry: Entry) -> str:
    limits = f", E {entry['epochs']}, T {entry['max_tokens']}" if entry["epochs"] > 1 else ""
    return f"{entry['name']} ({entry['users']}{limits})"


def _thousandths(value: float) -> str:
    """Formats a change of accuracy like the tables of paper 3.

    >>> _thousandths(0.0348), _thousandths(-0.0594)
    ('.035', '−.059')
    """
    return f"{value:.3f}".replace("-", "−").replace("0.", ".", 1)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _plus(value: float) -> str:
    return f"{100 * value:+.1f} %".replace("-", "−")


def grids(entries: Sequence[Entry]) -> str:
    """Returns Table 1: a column for each rate with the change for each B; the best of a row is bold."""
    shown = [e for e in entries if len({r["batch"] for r in e["grid"]}) > 1]
    rates = sorted({r["lr"] for e in shown for r in e["grid"]})
    batches = sorted({r["batch"] for e in shown for r in e["grid"]})
    label = f"B {' / '.join(map(str, batches))}"
    rows = [["people", "before", *(f"L {rate:g}" for rate in rates)]]
    rows[0][2] += f", {label}"
    for e in shown:
        at = {(r["batch"], r["lr"]): r["delta_mean"] for r in e["grid"]}
        most = max(at.values())

        def cell(rate: float, at: dict = at, most: float = most) -> str:
            changes = [at.get((b, rate)) for b in batches]
            words = [
                "" if v is None else f"**{_thousandths(v)}**" if v == most else _thousandths(v)
                for v in changes
            ]
            return " / ".join(words) if any(words) else ""

        rows.append([_who(e), f"{e['grid'][0]['baseline']:.3f}", *map(cell, rates)])
    return f"{table(rows)}\n\n{source(shown, 'personal.json')}"


def strategies(entries: Sequence[Entry]) -> str:
    """Returns the table of the best strategies, for entries with more than the grid."""
    rows = [["people", "best strategy", "change", "relative", "each half choosing for the other"]]
    for e in entries:
        if any(s["cache"] for s in e["strategies"]):
            best = e["strategies"][0]
            change = f"{_thousandths(best['delta_mean'])} ± {_thousandths(best['ci95'])}"
            rows.append(
                [_who(e), best["name"], change, _plus(best["relative"]), _plus(e["best"]["relative"])]
            )
    (batch, rate), change = max(PUBLISHED.items(), key=lambda at: at[1])
    theirs = [f"B {batch}, L {rate:g}", _thousandths(change), _plus(change / PAPER), ""]
    return table([*rows, ["the paper, over 300,000 users", *theirs]])


def parts(entries: Sequence[Entry]) -> str:
    """Returns the table of gain, at its best rate, and storage for each tuned part of the model."""
    shown = [e for e in entries if any(s["part"] != "all" for s in e["strategies"])]
    every = [s for e in shown for s in e["strategies"]]
    columns = {name: is_ for name, is_ in PARTS.items() if any(map(is_, every))}
    stored = [max(s["bytes"] for s in every if is_(s)) for is_ in columns.values()]
    rows = [["people", *columns], ["kB a person", *(f"{b / 1000:,.0f}" for b in stored)]]
    for e in shown:
        gained = [[s["relative"] for s in e["strategies"] if is_(s)] for is_ in columns.values()]
        rows.append([_who(e), *(_plus(max(gains)) if gains else "" for gains in gained)])
    return table(rows)


def gates(entries: Sequence[Entry]) -> str:
    """Returns the table of the gate's effect."""
    rows = [["the gate", "accepted", "gain kept", "worse", "significantly worse", "tested"]]
    for e in entries:
        g = e["gate"]
        kept = _percent(g["kept"]) if g["kept"] is not None else ""
        worse = f"{_percent(g['worse_share_without'])} → {_percent(g['worse_share'])}"
        harm = [round(g[f"significantly_worse_share{w}"] * g["tested"]) for w in ("_without", "")]
        told = [f"{harm[0]} → {harm[1]}", f"{g['tested']:.0f}"]
        rows.append([_who(e), _percent(g["accepted_share"]), kept, worse, *told])
    return f"{table(rows)}\n\n{source(entries, 'personal.json')}"


def speeds(entries: Sequence[Entry]) -> str:
    """Returns the table of times for people × settings."""
    rows = [["command", "machine", "parameters", "people × settings", "seconds", "personalisations a minute"]]
    for e in entries:
        many = e["users"] * e["settings"]
        rows.append(
            [f"`{e['command']}`", f"{e['machine']}, {e['date']}", f"{e['parameters']:,}",
             f"{e['users']:,} × {e['settings']}", f"{e['seconds']:.0f}", f"{60 * many / e['seconds']:,.0f}"]
        )  # fmt: skip
    return table(rows)
