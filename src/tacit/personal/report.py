"""Writes the report of a personalisation: Table 1, Figures 2 and 3 of paper 3, and the effect of the gate."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tacit.base.printable import html_text
from tacit.personal.gate import Condition
from tacit.personal.gate import in_words as condition_words
from tacit.personal.split import SHARES
from tacit.personal.sums import HUNDREDTHS
from tacit.runs import plots
from tacit.runs.report import document, table

# Table 1: change of accuracy by (B, L), from a mean of 0.166
PUBLISHED = {
    (5, 0.01): 0.012,
    (5, 0.1): 0.024,
    (5, 1.0): -0.019,
    (10, 0.01): 0.008,
    (10, 0.1): 0.022,
    (10, 1.0): 0.002,
    (20, 0.01): 0.005,
    (20, 0.1): 0.018,
    (20, 1.0): 0.015,
}
Table = list[list[str]]


def _half(value: float | None) -> str:
    return f"±{value:.4f}" if value is not None and math.isfinite(value) else ""


def _number(value: float | None) -> str:
    return f"{value:.1f}" if value is not None else ""  # JSON files have null for values that are not finite


def grid(summary: Mapping[str, Any]) -> Table:
    """Returns Table 1, the header first."""
    header = ["B", "L", "change", "95 %", "relative", "gain ≥ 0.02", "lose ≥ 0.02", "perplexity", "published"]
    rows = [header]
    for r in summary["grid"]:
        published = PUBLISHED.get((r["batch"], r["lr"]))
        rows.append(
            [
                str(r["batch"]),
                f"{r['lr']:g}",
                f"{r['delta_mean']:.4f}",
                _half(r["ci95"]),
                f"{r['relative']:.1%}",
                f"{r['gain_share']:.1%}",
                f"{r['loss_share']:.1%}",
                _number(r["perplexity_after"]),
                f"{published:.3f}" if published is not None else "",
            ]
        )
    return rows


def strategies(summary: Mapping[str, Any], most: int = 12) -> Table:
    """Returns the strategies that were tried, the best first."""
    rows = [["strategy", "change", "95 %", "relative", "lose ≥ 0.02", "perplexity", "kB a person"]]
    for r in summary["strategies"][:most]:
        rows.append(
            [
                r["name"],
                f"{r['delta_mean']:.4f}",
                _half(r["ci95"]),
                f"{r['relative']:.1%}",
                f"{r['loss_share']:.1%}",
                _number(r["perplexity_after"]),
                f"{r['bytes'] / 1000:,.0f}",
            ]
        )
    return rows


def gate(summary: Mapping[str, Any]) -> Table:
    """Returns figures without the gate and with it."""
    g = summary["gate"]

    def row(name: str, key: str, shape: str) -> list[str]:
        return [name, format(g[f"{key}_without"], shape), format(g[key], shape)]

    return [
        ["last part", "without", "with the gate"],
        ["people with a personal model", "100.0%", f"{g['accepted_share']:.1%}"],
        row("change of accuracy", "delta_mean", ".4f"),
        row("people who type worse", "worse_share", ".1%"),
        row(f"significantly worse, of {g['tested']:.0f} tested", "significantly_worse_share", ".1%"),
    ]


def margins(summary: Mapping[str, Any]) -> Table:
    """Returns the effect of each margin."""
    rows = [["margin", "accepted", "change", "gain kept", "worse", "significantly worse"]]
    for m in summary["gate"]["margins"]:
        kept = m["kept"]
        rows.append(
            [
                f"{m['margin']:g}",
                f"{m['accepted_share']:.1%}",
                f"{m['delta_mean']:.4f}",
                f"{kept:.0%}" if kept is not None and math.isfinite(kept) else "",
                f"{m['worse_share']:.1%}",
                f"{m['significantly_worse_share']:.1%}",
            ]
        )
    return rows


def tables(summary: Mapping[str, Any]) -> list[tuple[str, Table]]:
    """Returns the tables that the command prints, with titles."""
    base = summary["grid"][0]["baseline"]
    shown = [
        (f"change of top-1 accuracy, from {base:.4f} (mean of {summary['users']} people)", grid(summary))
    ]
    if len(summary["strategies"]) > len(summary["grid"]):
        shown.append(("strategies, the best first", strategies(summary)))
    return [*shown, (f"the gate, margin {summary['gate']['margin']:g}", gate(summary))]


def who(summary: Mapping[str, Any]) -> str:
    """Returns who was measured and who was left out, in one line."""
    why = [f"{reason} {n}" for reason, n in summary["left_out_why"].items() if n]
    left_out = "not told" if summary["left_out"] is None else ", ".join(why) if why else "nobody"
    return f"{summary['users']} people ({summary['people']}); left out: {left_out}"


def protection(summary: Mapping[str, Any]) -> str:
    """Returns a sentence about what protects the sums."""
    s = summary
    if s.get("epsilon") is not None:
        noise = f"The sums have noise: ε = {s['epsilon']:g} at δ = {s['delta']:g} for one person"
        return f"{noise}; {s['suppressed']:,} rows of fewer than {s['min_people']:,} people are suppressed."
    small = f" Rows of fewer than {s['min_people']:,} people are suppressed." if s.get("min_people") else ""
    return (
        f"{s['alone']:,} of {s['users']:,} people are alone in a cell of these tables, and a sum over one person is "
        f"that person's row.{small} No noise is added to them, so no ε is claimed."
    )


def histograms(summary: Mapping[str, Any]) -> list[str]:
    """Draws Figure 2: the distribution of people's change of accuracy for each B, a line for each L."""
    x = [i / 100 + 0.005 for i in range(-HUNDREDTHS - 1, HUNDREDTHS + 1)]
    shown = []
    for batch in dict.fromkeys(r["batch"] for r in summary["grid"]):
        lines = {}
        for r in summary["grid"]:
            if r["batch"] == batch:
                counts = summary["histograms"][f"B {batch}, L {r['lr']:g}"]
                lines[f"L {r['lr']:g}"] = (x, [n / max(1, sum(counts)) for n in counts])
        label = f"change of accuracy, B {batch}"
        shown.append(plots.curves(lines, "share of people", xlabel=label, percent=True))
    return shown


def slices(summary: Mapping[str, Any]) -> list[str]:
    """Draws Figure 3: mean change by tokens to tune on and by accuracy before, a colour for each setting."""
    best = max(summary["grid"], key=lambda r: r["delta_mean"])
    named = {
        f"L {r['lr']:g}": summary["slices"][f"B {r['batch']}, L {r['lr']:g}"]
        for r in summary["grid"]
        if r["batch"] == best["batch"]
    }
    shown = []
    for what, label in (("tokens", "tokens to tune on"), ("baseline", "accuracy before")):
        people = {s["slice"]: s["users"] for by_slice in named.values() for s in by_slice[what]}
        groups = [f"{label}\n({users:.0f})" for label, users in people.items()]
        series = {
            name: [{s["slice"]: s["delta_mean"] for s in by_slice[what]}.get(label) for label in people]
            for name, by_slice in named.items()  # noise may suppress a slice of one setting only
        }
        xlabel = f"{label} (people), B {best['batch']}"
        shown.append(plots.clusters(groups, series, xlabel, "mean change of accuracy"))
    return shown


def sentence(summary: Mapping[str, Any]) -> str:
    """Returns the result in a few sentences, without the last full stop."""
    best, g = summary["best"], summary["gate"]
    chosen = " / ".join(dict.fromkeys(best["chosen_by_halves"]))
    who = "Each half of them uses the settings that are best for the other half"
    by = who if best["cross_fitted"] else "They use the settings that are best for all of them"
    return (
        f"{summary['users']} people fine-tune the model on their own text. {by} ({chosen}). Mean top-1 accuracy goes "
        f"from {best['baseline']:.1%} to {best['baseline'] + best['delta_mean']:.1%}; {best['gain_share']:.1%} of the "
        f"people gain 0.02 or more and {best['loss_share']:.1%} lose as much. With the gate, which tunes on less text, "
        f"{g['accepted_share']:.1%} get a personal model, mean accuracy is {g['baseline'] + g['delta_mean']:.1%} and "
        f"{g['worse_share']:.1%} type worse. Without the gate the same models give "
        f"{g['baseline'] + g['delta_mean_without']:.1%}, and {g['worse_share_without']:.1%} type worse"
    )


def shares(summary: Mapping[str, Any]) -> tuple[int, int, int]:
    """Returns the per cents of a person's words in the three parts; an older summary does not name them."""
    first, second, last = summary.get("split", SHARES)
    return first, second, last


def section(summary: Mapping[str, Any], link: str) -> list[str]:
    """Returns a section for the run's report: the grid, the distribution of changes, the effect of the gate."""
    first, second, last = shares(summary)
    return [
        "<h2>Personalised</h2>",
        f"<p>{html_text(sentence(summary))}.</p>",
        table([row[:-1] for row in grid(summary)]),
        f"<p>Change of top-1 accuracy on the last {last} % of each person's text, after tuning on the earlier "
        f"{first + second} % in batches of B sentences at rate L. ± is a 95 % interval (jackknife over 50 groups of "
        "people).</p>",
        *(plots.figure(svg) for svg in histograms(summary)),
        table(gate(summary)),
        f"<p>For the gate a model is tuned on the first {first} % and tested on the next {second} %; it is kept only "
        "if it is better there. That is less text than above, so “without” differs from the change above. All figures "
        f'are of the last {last} %. <a href="{html_text(link)}">Who gains, and the effect of every margin</a></p>',
    ]


def page(summary: Mapping[str, Any]) -> str:
    """Returns the page as HTML."""
    s, t, best = summary, summary["tuning"], summary["best"]
    title = f"Tacit: {s['run']}, personalised"
    first, second, last = shares(s)
    asked = condition_words(Condition(**s.get("condition", {})))
    passes = f"{t['epochs']} epoch{'s' if t['epochs'] > 1 else ''}"
    limit = f"{t['max_tokens']:,} tokens at most" if t["max_tokens"] else "no limit of tokens"
    chose = (
        "each half of the people chose for the other"
        if best["cross_fitted"]
        else "too few people for halves, everybody chose for everybody"
    )
    return document(
        title,
        [
            f"<h1>{html_text(title)}</h1><p class=lead>{html_text(who(s))}</p>",
            f"<p><b>Recommended:</b> {html_text(s['recommendation'])}.</p>",
            "<h2>The grid (Table 1)</h2>",
            table(grid(s)),
            f"<p>Change of top-1 accuracy on the last {last} % of each person's text, after tuning on the earlier "
            f"{first + second} % ({passes}, {limit}), from a mean of {s['grid'][0]['baseline']:.4f}. ± is a 95 % "
            "interval (jackknife over 50 groups of people). <b>Published</b>: paper 3, over 300,000 users of Gboard in "
            "American English, from 0.166. The model and the people differ: compare shapes, not sizes.</p>",
            "<h2>Distribution of the change over people (Figure 2)</h2>",
            *(plots.figure(svg) for svg in histograms(s)),
            "<h2>Who gains (Figure 3)</h2>",
            *(plots.figure(svg) for svg in slices(s)),
            "<h2>Strategies</h2>",
            table(strategies(s)),
            f"<p>Chosen ({chose}): {html_text(' / '.join(dict.fromkeys(best['chosen_by_halves'])))}. On those who "
            f"did not choose, accuracy {best['baseline']:.4f} changes by {best['delta_mean']:.4f} "
            f"{_half(best['ci95'])} ({best['relative']:+.1%}).</p>",
            "<h2>The effect of the gate</h2>",
            table(gate(s)),
            f"<p>Tuned on the first {first} % of each person's text, tested on the next {second} %, measured on the "
            f"last {last} %, which neither used; strategy and margin: {chose}{asked}. Significantly worse: McNemar's "
            "exact test, one-sided, 5 %, over people with at least 300 words in the last part.</p>",
            table(margins(s)),
            f"<p>{s['accepted']} people were accepted; {len(s['stored'])} of their models are stored.</p>",
            "<h2>What the server saw</h2>",
            "<p>Sums of whole numbers: a histogram, and figures by groups of people and by slices, in "
            f"<code>sums.npz</code>. {protection(s)}</p>",
        ],
    )
