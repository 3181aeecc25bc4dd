"""Writes the report of a count: Figure 3 and Table 1 of paper 4, with the published values next to ours."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tacit.base.printable import html_text
from tacit.counts.counted import Counted, window
from tacit.runs import plots
from tacit.runs.report import document, table

# Table 1: relative change in per cent with its 95 % interval; the baseline's row is absolute
PUBLISHED = {
    "baseline": ("8.14 %", "18.08 %"),
    "1": ("+0.19 ± 0.21 %", "−1.33 ± 0.75 %"),
    "1000": ("+0.11 ± 0.24 %", "−1.06 ± 0.66 %"),
    "5000": ("−0.08 ± 0.26 %", "−0.78 ± 0.93 %"),
}
_TOP = 20  # words shown


def _percent(value: float, half: float | None = None) -> str:
    text = f"{100 * value:+.2f}".replace("-", "−")
    return text + (f" ± {100 * half:.2f} %" if half is not None and math.isfinite(half) else " %")


def _change(row: Mapping[str, Any], what: str) -> str:
    value = row.get(f"{what}_change")
    return _percent(value, row[f"{what}_change_ci95"]) if value is not None and math.isfinite(value) else ""


def comparison(summary: Mapping[str, Any]) -> list[list[str]]:
    """Returns Table 1, the header first: measured values beside the published ones."""
    rows = [
        [
            "unigrams",
            "top-1",
            "change",
            "OOV rate",
            "change",
            "kept",
            "published: top-1",
            "published: OOV rate",
        ]
    ]
    for name, row in summary["table1"].items():
        rows.append(
            [
                f"supplement ({summary['supplement']})"
                if name == "baseline"
                else f"λ = {name.replace('inf', '∞')}",
                f"{row['top1']:.2%}" if row["top1"] is not None else "",
                _change(row, "top1"),
                f"{row['oov']:.2%}",
                _change(row, "oov"),
                f"{row['kept']:.1%}" if "kept" in row else "",
                *PUBLISHED.get(name, ("", "")),
            ]
        )
    return rows


def figures(counted: Counted) -> list[str]:
    """Draws Figure 3: distance of the halves for the largest λ, words seen, rounds between new words."""
    lines, summary = counted.lines, counted.summary
    largest = max((n for n in summary["table1"] if n != "baseline"), key=float)
    compared = [line for line in lines if "z" in line]

    def curve(which: str) -> plots.Curve:
        return [r["round"] for r in compared], [r["z"][largest][which]["distance"] for r in compared]

    waits = [(r["round"], r["rounds_between_new"]) for r in lines if r["rounds_between_new"] is not None]
    return [
        plots.curves(
            {"rounds k/2 and k (as the paper)": curve("nested"), "first and second k/2": curve("disjoint")},
            f"Z as a χ² distance, λ = {largest.replace('inf', '∞')}",
            {"alike": 0.0},
        ),
        plots.curves(
            {"whitelist words seen": ([r["round"] for r in lines], [r["seen"] for r in lines])},
            "words",
            {"whitelist": summary["whitelist"], "capacity": summary["capacity"]},
        ),
        plots.curves(
            {"": ([k for k, _ in waits], [w for _, w in waits])},
            f"rounds to see a new word (mean of {window(summary['rounds'])} rounds)",
        ),
    ]


def page(counted: Counted) -> str:
    """Returns the page as HTML."""
    s = counted.summary
    title = f"Tacit: words of {s['name']} counted across devices"
    if "words_of_a_client" in s:
        return _open_page(counted, title)
    if "table1" not in s:
        return _plain_page(counted, title)
    lead = (
        f"{s['cohort']:,} of {s['clients']:,} clients a round, {s['rounds']:,} rounds: {s['seen']:,} of the "
        f"{s['whitelist']:,} words of the whitelist were seen. The server got sums of "
        + ("counts, clipped to each λ (not for λ = ∞)" if "inf" in s["table1"] else "clipped counts")
        + ", nothing else."
    )
    scaled = f" times {s['scale']:,}" if s["scale"] > 1 else ""
    facts = [
        ["corpus", s["corpus"]],
        ["supplement", s["supplement"] or "none"],
        ["whitelist", f"{s['whitelist']:,} words"],
        ["capacity of the keyboard", f"{s['capacity']:,} words"],
        ["λ of counts.tsv", f"{s['lambda'].replace('inf', '∞')} ({s['chosen_by']})"],
        [
            "a client sends per round",
            f"{s['bytes_per_client_and_round']['up'] / 1e6:.2f} MB for all λ together",
        ],
        ["privacy", privacy_fact(s)],
    ]
    convergence = []
    if s["epsilon"] is None:  # with noise, the sums of single rounds are not shown
        convergence = [
            "<h2>Convergence (Figure 3)</h2>",
            *(plots.figure(svg) for svg in figures(counted)),
            "<p>Left: distance between the counts of two halves of the rounds. Nested halves agree too well, "
            "and Z falls below 0. Counts of people are not Poisson: this is a diagnostic, not a test.</p>",
        ]
    return document(
        title,
        [
            f"<h1>{html_text(title)}</h1><p class=lead>{html_text(lead)}</p>",
            *convergence,
            "<h2>The effect of λ (Table 1)</h2>",
            table(comparison(s)),
            "<p>Measured: on held-out typists of this corpus. OOV rate: typed words that are not among the "
            f"{s['capacity']:,} commonest of the counts. Top-1: first suggestions that were the word typed, of a "
            f"{s['order']}-gram of the supplement whose unigrams are the counts. Change: relative to the supplement's "
            "own unigrams, ± a 95 % interval over people (jackknife). Kept: what clipping leaves of all counts.</p>"
            "<p><b>Published: live A/B test on Gboard users in American English</b> (paper 4, Table 1), relative to "
            "unigrams of centrally collected logs. Other people, words and n-gram: compare signs, not sizes.</p>",
            f"<h2>The commonest words, λ = {html_text(s['lambda'].replace('inf', '∞'))}{scaled}</h2>",
            table(_top(counted)),
            "<h2>The count</h2>",
            table([["", ""], *facts]),
        ],
    )


def _open_page(counted: Counted, title: str) -> str:
    """Returns the page of a count over any words."""
    s = counted.summary
    lead = (
        f"{s['clients']:,} clients sent at most {s['words_of_a_client']:,} words each. {s['seen']:,} words reached the "
        f"threshold of {s['threshold']:,.1f} with noise of {s['noise_scale']:,.1f}."
    )
    return document(
        title,
        [
            f"<h1>{html_text(title)}</h1><p class=lead>{html_text(lead)}</p>",
            "<h2>The commonest words, by clients that have them</h2>",
            table(_top(counted)),
            "<h2>The count</h2>",
            table([["", ""], ["corpus", s["corpus"]], ["privacy", privacy_fact(s)]]),
        ],
    )


def _plain_page(counted: Counted, title: str) -> str:
    """Returns the page of a count over a network, where the server has no held-out text."""
    s = counted.summary
    scaled = f" times {s['scale']:,}" if s["scale"] > 1 else ""
    limit = html_text(s["lambda"].replace("inf", "∞"))
    lead = (
        f"{s['reported']:,} of {s['clients']:,} invited clients answered in {s['rounds']:,} rounds: {s['seen']:,} of "
        f"the {s['whitelist']:,} words of the whitelist were seen."
    )
    facts = [
        ["whitelist", f"{s['whitelist']:,} words ({s['supplement'] or 'given'})"],
        ["a client sends per round", f"{s['bytes_per_client_and_round']['up'] / 1e6:.2f} MB"],
        ["privacy", privacy_fact(s)],
    ]
    return document(
        title,
        [
            f"<h1>{html_text(title)}</h1><p class=lead>{html_text(lead)}</p>",
            f"<h2>The commonest words, λ = {limit}{scaled}</h2>",
            table(_top(counted)),
            "<h2>The count</h2>",
            table([["", ""], *facts]),
        ],
    )


def _top(counted: Counted) -> list[list[str]]:
    rows = [[str(i), word, f"{n:,}"] for i, (word, n) in enumerate(counted.counts[:_TOP], start=1)]
    return [["", "word", "count"], *rows]


def privacy_fact(summary: Mapping[str, Any]) -> str:
    """Returns a sentence about the ε of a count.

    >>> privacy_fact({"epsilon": 1.0, "delta": 0.0, "mechanism": "laplace", "noise_scale": 100.0})
    'ε = 1 at δ = 0 (laplace noise of 100.0)'
    """
    s = summary
    if s["epsilon"] is None:
        return f"ε: none ({s['epsilon_reason']})"
    noise = f"ε = {s['epsilon']:g} at δ = {s['delta']:g} ({s['mechanism']} noise of {s['noise_scale']:,.1f})"
    more = s.get("earlier_releases", 0)
    return noise + (f"; earlier releases from this directory count as well: {more:,}" if more else "")
