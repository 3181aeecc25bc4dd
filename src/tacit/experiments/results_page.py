"""Writes docs/results.md and its plots from the entries and their results.

The name of a plot has a hash of its figures. So new plots are first written next to the old ones, then the page is
replaced in one step, and then the old plots are removed. Page and plots contain a mark. A file without it is somebody
else's, and is neither replaced nor removed.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tacit.base.errors import TacitError
from tacit.base.files import cannot_write, check_file, write_atomic
from tacit.base.locks import held, remove_leftovers
from tacit.experiments import claims
from tacit.experiments.entry import Entry, Plot, entries
from tacit.experiments.results import figure, mean, measured

Rows = Mapping[str, Mapping[str, Any]]

_MARK = "<!-- written by `tacit reproduce report` -->"
_HEAD = f"""# Results: published and measured
{_MARK}

This page compares published figures with ours. `tacit reproduce report` writes it: tables, verdicts and plots come from
`results/*.json`, the text from the entries. Each section is one table or figure of a paper and one command,
`tacit reproduce NAME`; the settings of every row are in `src/tacit/experiments/entries/NAME.toml`.

- Measured values are means over seeds ± their standard deviation.
- A dash is a value that was not published or is not defined, or a target that no run reached.
- A claim is confirmed ("yes") or contradicted ("no") only if every seed agrees. Where results depend on chance, this
  takes at least three seeds. With fewer seeds than the entry asks for, the claim is "open".
- Claims marked (ours) are targets of Tacit, stated in no paper.
- A table under the words "Smaller scale" was measured at a smaller scale than the paper's. Compare orders, not sizes.
- Times are sums over runs. Several runs may have shared the machine.
- Errors in the papers are listed in [errata.md](errata.md).

```
tacit reproduce list                          # all experiments, their state, how long the rest takes
tacit reproduce spam --data ~/data            # measure one; datasets are named as in `tacit data list`
tacit reproduce table-2 --only ptb --minutes 30 --data ~/data    # some rows, 30 minutes; the same command resumes
tacit reproduce --all --minutes 60 --data ~/data    # what is next in all tables; the same command resumes
tacit reproduce --all --minutes 60 --processes 8 --data ~/data    # eight processes share the rows
tacit reproduce table-2 --quick               # a few seconds, on synthetic data
tacit reproduce report                        # write this page
```

`results/NAME.json` keeps measured rows with a hash of their settings. A row whose settings have changed since counts
as not run. Every seed is written when it is done. Several processes of one machine may measure at once; each takes rows
and seeds that no other process has. Small models leave most of a GPU idle, so `--processes` saves time there. Start
NVIDIA's MPS first (`nvidia-cuda-mps-control -d`), so that kernels of several processes run in parallel. Fifteen
processes measured 69 rows, of nine tables, in nine minutes of one H200 (2026-11-19).

These tables and figures of the papers hold no measurement, so they have no entry: Figure 1 of papers 1 and 2; Figure 1
of paper 3; Figures 1, 2 and 4 of paper 4; Tables 1 and 2 and Figures 10, 11 and 12 of paper 5.
"""


_SECTIONS = {
    "Papers 1 and 2": (1, 2),
    "Paper 3": (3,),
    "Paper 4": (4,),
    "Paper 5": (5,),
    "Beyond the papers": (0,),
}


def named(entry: Entry) -> str:
    """Returns the paper and its table or figure; "" for an entry of no paper.

    >>> from tacit.experiments.entry import find
    >>> named(find("personal-grid")), named(find("table-1"))
    ('paper 3, Table 1', 'papers 1 and 2, Table I / 1')
    """
    papers = "papers 1 and 2" if 1 <= entry.paper <= 2 and "/" in entry.where else f"paper {entry.paper}"
    return f"{papers}, {entry.where}" if entry.paper else ""


def overview(entry: Entry, folder: Path) -> dict[str, str]:
    """Returns the columns of one entry for `tacit reproduce list`."""
    done = len(measured(entry, folder))
    return {
        "name": entry.name,
        "paper": str(entry.paper or "—"),
        "where": named(entry) or entry.where,
        "what": entry.title,
        "measured": f"{done} of {len(entry.rows)} rows" if done else "not run",
        "takes": entry.takes,
    }


def comparison(entry: Entry, rows: Rows, all_rows: bool = False) -> list[list[str]]:
    """Returns a table of the published and measured values of each row and metric."""
    shown = [m for m in entry.metrics if any(m.name in row["values"] for row in rows.values())] or list(
        entry.metrics
    )
    published = {m.name for m in shown if any(m.name in row.published for row in entry.rows)}
    header = [entry.where]
    for m in shown:
        header += [f"{m.label}, published", "measured"] if m.name in published else [m.label]
    table = [header]
    for row in entry.rows:
        result = rows.get(row.label)
        if result is None and not all_rows:
            continue
        cells = [row.label]
        for m in shown:
            if m.name in published:
                cells.append(m.shown(row.published.get(m.name)))
            cells.append(figure(result["values"].get(m.name, []), m.shown) if result else "not run")
        table.append(cells)
    return table


def _published(entry: Entry) -> list[list[str]]:
    """Returns a table of the published values only, for an entry without measurements."""
    shown = [m for m in entry.metrics if any(m.name in row.published for row in entry.rows)]
    rows = [
        [row.label, *(m.shown(row.published.get(m.name)) for m in shown)]
        for row in entry.rows
        if row.published
    ]
    return [[entry.where, *(f"{m.label}, published" for m in shown)], *rows]


def write(folder: Path, docs: Path) -> list[Path]:
    """Writes the page and its plots; returns their paths, the page first."""
    if not docs.is_dir():
        raise TacitError(f"{docs}: no such folder; run this in a checkout of Tacit, or name one with --docs")
    page, pictures = docs / "results.md", docs / "results"
    with held(docs):
        drawings = {
            pictures / _picture(entry, number, rows): f"{_MARK}\n{picture}"
            for entry in entries()
            for rows in [measured(entry, folder)]
            for number, plot in enumerate(entry.plots)
            if (picture := draw(plot, entry, rows))
        }
        for path in (page, *drawings):
            check_file(path, _MARK.encode(), "written by `tacit reproduce report`", "--docs")
        try:
            pictures.mkdir(exist_ok=True)
            for path, picture in drawings.items():
                write_atomic(path, picture)
            write_atomic(page, text(folder))
            for stale in set(pictures.glob("*.svg")) - set(drawings):
                if stale.is_file() and _MARK.encode() in stale.read_bytes()[:1000]:
                    stale.unlink()
            remove_leftovers(pictures)
        except OSError as error:
            raise cannot_write(pictures, error) from None
    return [page, *drawings]


def text(folder: Path) -> str:
    """Returns the text of the page."""
    parts = [_HEAD, _summary(folder)]
    for title, papers in _SECTIONS.items():
        parts.append(f"\n## {title}\n")
        parts += [_part(entry, measured(entry, folder)) for entry in entries() if entry.paper in papers]
    return "\n".join(parts)


def _picture(entry: Entry, number: int, rows: Rows) -> str:
    """Returns the name of a plot, with a hash of what it shows."""
    shown = json.dumps([dataclasses.asdict(entry.plots[number]), rows], sort_keys=True)
    code = hashlib.sha256(shown.encode()).hexdigest()[:8]
    return f"{entry.name}{f'-{number + 1}' if number else ''}.{code}.svg"


def _summary(folder: Path) -> str:
    """Returns a table that counts the verdicts of each entry's claims."""
    lines = [
        "| experiment | claims confirmed | contradicted | no clear difference | open, or not run |",
        "|---|---|---|---|---|",
    ]
    for entry in entries():
        verdicts = [v.outcome for v in claims.check(entry, measured(entry, folder)) if not v.claim.ours]
        if verdicts:
            known = [str(verdicts.count(kind) or "") for kind in (claims.SAME, claims.OTHER, claims.UNCLEAR)]
            left = str(verdicts.count(claims.OPEN) + verdicts.count(claims.NOT_RUN) or "")
            counts = " | ".join([*known, left])
            lines.append(f"| [{entry.name}](#{entry.name}) | {counts} |")
    return "\n".join(lines) + "\n"


def _part(entry: Entry, rows: Rows) -> str:
    """Returns the section of one entry: description, table, claims, plots."""
    where = f", {named(entry)}" if entry.paper else ""
    parts = [
        f'<a id="{entry.name}"></a>\n### {entry.title}\n',
        f"`{entry.name}`{where}. {entry.about}\n",
    ]
    if entry.scale:
        parts.append(f"**Smaller scale.** {entry.scale}\n")
    if not rows:
        parts.append(f"**Not run.** A full run takes {entry.takes}.\n")
    if rows:
        parts.append(markdown(comparison(entry, rows, all_rows=True)) + "\n")
        parts.append(_provenance(entry, rows) + "\n")
    elif any(row.published for row in entry.rows):
        parts.append(markdown(_published(entry)) + "\n")
    if entry.note:
        parts.append(entry.note + "\n")
    verdicts = claims.check(entry, rows)
    if verdicts and rows:
        parts.append(_claims(verdicts) + "\n")
    for number, plot in enumerate(entry.plots):
        if drawn(plot, entry, rows):
            about = f"{plot.ylabel} over {plot.xlabel}: {entry.title}"
            parts.append(f"![{about}](results/{_picture(entry, number, rows)})\n")
    return "\n".join(parts)


def _provenance(entry: Entry, rows: Rows) -> str:
    machines = sorted({f"{row['machine']}, {row['date']}" for row in rows.values()})
    seeds = sorted({len(row["seeds"]) for row in rows.values()})
    seconds = sum(sum(row["seconds"]) for row in rows.values() if "from" not in row)
    many = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    took = f", in {seconds:.0f} s" if seconds < 120 else f", in {seconds / 60:.0f} minutes"
    left = len(entry.rows) - len(rows)
    rest = f"; {left} of {len(entry.rows)} rows not run (all rows take {entry.takes})" if left else ""
    plural = "" if many == "1" else "s"
    lent = Counter(row["from"][0] for row in rows.values() if "from" in row)
    also = "".join(f" Runs shared with {name}: {n}." for name, n in lent.items())
    where = f"{'; '.join(machines)}{took if seconds else ''}"
    return f"Measured with {many} seed{plural} on {where}{rest}.{also} Configuration {entry.hash()}."


def _claims(verdicts: Sequence[claims.Verdict]) -> str:
    lines = ["| claim of the paper | confirmed | means | reason |", "|---|---|---|---|"]
    for v in verdicts:
        why = v.claim.why if v.outcome in (claims.OTHER, claims.UNCLEAR) else ""
        says = f"{v.claim.says} (ours)" if v.claim.ours else v.claim.says
        lines.append(f"| {says} | {v.outcome} | {v.figures} | {why} |")
    return "\n".join(lines)


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Returns a Markdown table; bars within cells are escaped."""
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def drawn(plot: Plot, entry: Entry, rows: Rows) -> dict[str, Any]:
    """Returns the lines of a plot by name: the rows' curves, or a metric over a setting."""
    lines: dict[str, Any] = {}
    if plot.curve:
        for label in plot.rows or [row.label for row in entry.rows]:
            for name in filter(None, (plot.curve, plot.also)):
                kept = rows.get(label, {}).get("curves", {}).get(name)
                if kept and any(kept):
                    lines[label if name == plot.curve else f"{label}: {name}"] = _average(kept)
        return lines
    for row in entry.rows:
        values = rows.get(row.label, {}).get("values", {}).get(plot.metric, [])
        if (value := mean(values)) is not None:
            x, y = lines.setdefault(str(row.settings.get(plot.by, "")), ([], []))
            x.append(row.settings[plot.over])
            y.append(value)
    return lines


def draw(plot: Plot, entry: Entry, rows: Rows) -> str:
    """Returns a plot as SVG; "" if none of its rows was measured."""
    from tacit.runs import plots

    lines = drawn(plot, entry, rows)
    if not lines:
        return ""
    levels = {name: y[0] for name, (x, y) in lines.items() if list(x) == [0]}  # n-grams have no rounds
    moving = {name: line for name, line in lines.items() if name not in levels}
    return plots.curves(moving, plot.ylabel, levels, plot.log, plot.xlabel, plot.percent)


def _average(curves: Sequence[Mapping[str, Sequence[float]]]) -> tuple[list[float], list[float]]:
    """Returns the mean of the seeds' curves, interpolated linearly, up to the end of the shortest.

    >>> _average([{"x": [0, 2, 4], "y": [0.0, 2.0, 8.0]}, {"x": [0, 1, 3], "y": [1.0, 3.0, 3.0]}])
    ([0, 1, 2, 3], [0.5, 2.0, 2.5, 4.0])
    """
    nonempty = [c for c in curves if c and len(c["x"])]
    last = min(max(c["x"]) for c in nonempty)
    x = sorted({at for c in nonempty for at in c["x"] if at <= last})
    return x, np.mean([np.interp(x, c["x"], c["y"]) for c in nonempty], axis=0).tolist()
