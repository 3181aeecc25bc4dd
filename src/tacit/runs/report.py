"""Writes report.html: a run, and the models it is compared with, on one page that opens without network.

Everything on the page comes from the files of the run directories.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.base import settings
from tacit.base.errors import TacitError
from tacit.base.files import read_lines, write_atomic
from tacit.base.printable import html_text
from tacit.base.reading import is_figure
from tacit.runs import opening, plots, spending
from tacit.runs.config import Config
from tacit.runs.summary_file import MEASURES

if TYPE_CHECKING:
    from tacit.runs.run import Run

MARK = '<meta name="generator" content="Tacit">'  # by which `compare` knows a page that it may replace
_STYLE = f"""
:root {{ color-scheme: light dark; --line: #8884; --soft: #8881; {plots.colour_variables()} }}
{opening.STYLE}"""
_STYLE += """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 68rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.7rem; margin-bottom: .2rem } h2 { margin-top: 2.2rem; font-size: 1.2rem }
p.lead { color: color-mix(in srgb, currentColor 70%, transparent); margin-top: 0 }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .3rem .8rem; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; } thead th { border-bottom: 2px solid var(--line) }
figure { display: inline-block; margin: .5rem 1rem .5rem 0; max-width: 100% }
figure svg { max-width: 100%; height: auto } .scroll { overflow-x: auto }
.chip { display: inline-block; border: 1px solid var(--line); border-radius: 1rem; padding: 0 .6rem; margin: .1rem; }
.chip small { opacity: .6 } pre { background: var(--soft); padding: 1rem; overflow-x: auto; border-radius: 8px }
"""


@dataclass(frozen=True)
class Entry:
    """Holds one model of the page."""

    name: str
    test: Mapping[str, Any]
    seen: Mapping[str, Any] | None = None
    curve: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class Page:
    """Holds the content of a report."""

    title: str
    lead: str
    entries: Sequence[Entry]
    config: Config
    suggestions: Mapping[str, Mapping[str, Sequence[tuple[str, float]]]] = field(default_factory=dict)
    data: Sequence[tuple[str, str]] = ()
    facts: Sequence[tuple[str, str]] = ()
    sections: Sequence[str] = ()  # more HTML
    opening: str = ""  # HTML, too


def entry_of(run: Run, name: str | None = None) -> Entry:
    """Reads a run as an entry: its curve from metrics.jsonl, its figures from summary.json."""
    summary = run.summary
    if summary["test"] is None:
        raise TacitError(
            f"{run.path}: this model has no scores, because a run with noise is not scored on the clients of a "
            "federation; measure it with `tacit evaluate` on text of other people"
        )
    if any(part and part[key] is None for part in (summary["test"], summary["seen"]) for key in MEASURES):
        raise TacitError(f"{run.path / 'summary.json'}: a figure is not finite; train the run again")
    return Entry(
        name or run.config.name,
        summary["test"],
        summary["seen"],
        read_lines(run.path / "metrics.jsonl"),
    )


def comparison(entries: Sequence[Entry], which: str = "test") -> list[list[str]]:
    """Returns the rows of the comparison table, the header first."""
    header = ["model", "perplexity", "top-1 recall", "top-3 recall", "log-lik. / sentence"]
    rows = [header]
    for entry in entries:
        figures = entry.test if which == "test" else entry.seen
        if figures is not None:
            shapes = {"perplexity": ".1f", "top1": ".2%", "top3": ".2%", "sll": ".2f"}
            rows.append([entry.name, *(_cell(figures, key, shape) for key, shape in shapes.items())])
    return rows


def _cell(figures: Mapping[str, Any], key: str, shape: str) -> str:
    """Formats a figure, with the half-width of its interval if there is one (NaN for one person, null in a file)."""
    half = figures.get("ci95", {}).get(key)
    around = f" ± {format(half, shape)}" if half and not math.isnan(half) else ""
    return format(figures[key], shape) + around


def table(rows: Sequence[Sequence[str]]) -> str:
    """Makes an HTML table of rows of plain text, the header first."""
    head, *body = [[html_text(cell) for cell in row] for row in rows]
    lines = ["".join(f"<td>{cell}</td>" for cell in row) for row in body]
    return (
        '<div class="scroll"><table><thead><tr>'
        + "".join(f"<th>{c}</th>" for c in head)
        + "</tr></thead><tbody>"
        + "".join(f"<tr>{line}</tr>" for line in lines)
        + "</tbody></table></div>"
    )


def _curve(entry: Entry, key: str) -> plots.Curve:
    points = [(r["round"], r[key]) for r in entry.curve if key in r]
    return [x for x, _ in points], [y for _, y in points]


def figures(entries: Sequence[Entry]) -> list[str]:
    """Makes the plots of a page as SVG: validation over rounds, and test recall."""
    moving = [e for e in entries if e.curve]
    still = [e for e in entries if not e.curve]
    shown = [
        plots.curves(
            {e.name: _curve(e, "valid_perplexity") for e in moving},
            "validation perplexity",
            {f"{e.name} (test)": e.test["perplexity"] for e in still},
            log=True,
        ),
        plots.curves(
            {e.name: _curve(e, "valid_top1") for e in moving},
            "validation top-1 recall",
            {f"{e.name} (test)": e.test["top1"] for e in still},
            percent=True,
        ),
    ]
    if len(entries) > 1:
        half = {e.name: e.test["ci95"]["top1"] for e in entries if e.test.get("ci95", {}).get("top1")}
        shown.append(plots.bars({e.name: e.test["top1"] for e in entries}, "top-1 recall on the test", half))
    return shown


def render(page: Page) -> str:
    """Makes the HTML of a page."""
    people = any(e.test.get("people", 1) > 1 for e in page.entries)  # a fixed test split counts as one person
    out = [
        f"<h1>{html_text(page.title)}</h1><p class=lead>{html_text(page.lead)}</p>",
        page.opening,
        "<h2>Training</h2>",
        *(plots.figure(svg) for svg in figures(page.entries)),
        "<h2>Held-out people</h2>" if people else "<h2>Test text</h2>",
        table(comparison(page.entries)),
        "<p>Perplexity counts every word and sentence end. Recall is the share of typed words that were the first "
        "suggestion, or one of the first three; a word outside the vocabulary is a miss."
        + (" ± is a 95 % interval over people (jackknife).</p>" if people else "</p>"),
    ]
    if any(e.seen for e in page.entries):
        out += [
            "<h2>Later messages of people in training</h2>",
            table(comparison(page.entries, "seen")),
        ]
    if spread := [e for e in page.entries if people and e.test.get("by_person")]:
        rows = [["model", "10th percentile", "median person", "90th percentile"]]
        rows += [
            [e.name, *(f"{e.test['by_person']['top1'][q]:.2%}" for q in ("p10", "p50", "p90"))]
            for e in spread
        ]
        out += ["<h2>Top-1 recall by person</h2>", table(rows)]
    if page.suggestions:
        out += ["<h2>Suggestions</h2>", _suggestions(page.suggestions)]
    out += page.sections
    if page.data:
        out += ["<h2>The text</h2>", table([["", ""], *map(list, page.data)])]
    if page.facts:
        out += ["<h2>The run</h2>", table([["", ""], *map(list, page.facts)])]
    config = html_text(settings.dump(page.config))
    whose = html_text(page.config.name)
    out += [
        f"<h2>Configuration of {whose}</h2>",
        f"<details><summary>every key</summary><pre>{config}</pre></details>",
    ]
    return document(page.title, out)


def document(title: str, body: Sequence[str]) -> str:
    """Puts pieces of HTML into one page, in the style of all reports."""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">{MARK}'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html_text(title)}</title><style>{_STYLE}</style></head><body>"
        + "\n".join(body)
        + "</body></html>\n"
    )


def _suggestions(examples: Mapping[str, Mapping[str, Sequence[tuple[str, float]]]]) -> str:
    models = list(next(iter(examples.values())))
    head = "".join(f"<th>{html_text(m)}</th>" for m in models)
    rows = []
    for context, by_model in examples.items():
        cells = "".join(
            "<td>"
            + " ".join(
                f"<span class=chip>{html_text(w)} <small>{p:.0%}</small></span>" for w, p in by_model[m]
            )
            + "</td>"
            for m in models
        )
        rows.append(f"<tr><td>{html_text(context) or '<i>(nothing typed yet)</i>'} …</td>{cells}</tr>")
    return (
        f'<div class="scroll"><table><thead><tr><th>typed so far</th>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def privacy_fact(summary: Mapping[str, Any]) -> str:
    """Returns the ε of a run in words, or why there is none.

    >>> privacy_fact({"epsilon": 3.456, "epsilon_reason": "at δ = 1e-06, after 50 rounds of the plan"})
    'ε = 3.46 (at δ = 1e-06, after 50 rounds of the plan)'
    """
    epsilon, why = summary.get("epsilon"), summary["epsilon_reason"]
    stopped = f"; stopped {summary['stopped']}" if "stopped" in summary else ""
    return f"ε{f' = {epsilon:.3g}' if is_figure(epsilon) else ': none'} ({why}){stopped}"


def run_facts(summary: Mapping[str, Any], seconds: float) -> list[tuple[str, str]]:
    """Returns the facts about a run, as label and value."""
    sent = summary["bytes_per_client_and_round"]
    rows = [
        ("parameters", f"{summary['parameters']:,}"),
        ("vocabulary", f"{summary['vocabulary']:,} words"),
        ("best round", f"{summary['best_round']} (by {summary['chosen_by']})"),
        ("training and evaluation", f"{seconds:.0f} s"),
        ("privacy", privacy_fact(summary)),
    ]
    if sent:
        rows.insert(2, ("clients", f"{summary['clients']:,}"))
        rows.insert(
            3,
            (
                "a client sends and receives per round",
                f"{sent['up'] / 1e6:.2f} MB and {sent['down'] / 1e6:.2f} MB",
            ),
        )
    return rows


def opening_of(run: Run, keys_saved: float | None = None) -> str:
    """Returns the opening of a run's report; `keys_saved` is the share of keys saved, if it was measured."""
    summary = run.summary
    sent = summary["bytes_per_client_and_round"] if run.config.training.mode == "federated" else None
    private = is_figure(summary.get("epsilon"))
    return opening.opening(
        summary["test"], sent, privacy_fact(summary), private, run.path.absolute().name, keys_saved
    )


def write_report(run: Run) -> Path:
    """Writes the report.html of a finished run and returns its path."""
    config, entry = run.config, entry_of(run)
    lead = f"{config.name}, {config.training.mode}, {config.training.rounds} rounds on {config.text.corpus}"
    facts = run_facts(run.summary, seconds_of(run.path))
    private = spending.section(run.path)
    page = Page(
        f"Tacit: {config.name}",
        lead,
        [entry],
        config,
        facts=facts,
        sections=private,
        opening=opening_of(run),
    )
    return write(run.path / "report.html", page)


def write(path: Path, page: Page) -> Path:
    """Writes the page and returns its path."""
    write_atomic(path, render(page))
    return path


def seconds_of(path: Path) -> float:
    """Returns how many seconds the rounds of a run took together."""
    lines = read_lines(path / "timings.jsonl")
    if not all("seconds" in line for line in lines):
        raise TacitError(f"{path / 'timings.jsonl'}: a line has no seconds; restore the file or train again")
    return sum(line["seconds"] for line in lines)
