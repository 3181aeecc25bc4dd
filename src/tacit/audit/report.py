"""The report of an audit: what an attacker got, in sentences and pictures, with and without each protection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacit.base.printable import html_text
from tacit.runs import plots
from tacit.runs.report import document, table

Table = list[list[str]]


def verdict(summary: Mapping[str, Any]) -> str:
    """Returns the result in one sentence."""
    if summary["privacy"]["mechanism"] == "none":
        return (
            "This run claims no differential privacy, and the attacks below show what that means: nothing bounds what "
            "one person's text can change"
        )
    broken = [check["name"] for check in summary["checks"] if not check["holds"]]
    if broken:
        return f"The run does not do what its ledger claims. What fails: {'; '.join(broken)}"
    if not summary["guesses"]["holds"]:
        return "Guesses refute the ε that the ledger claims: something in the mechanism is wrong"
    return "No check failed, and no attack got more than the ledger allows; this is evidence, not a proof"


def check_rows(summary: Mapping[str, Any]) -> Table:
    """Returns the checks, the header first."""
    rows = [["check", "holds", "finding"]]
    return rows + [[c["name"], "yes" if c["holds"] else "NO", c["finding"]] for c in summary["checks"]]


def guess_rows(summary: Mapping[str, Any]) -> Table:
    """Returns what guessing who took part showed, the header first."""
    g = summary["guesses"]
    claimed = f"{g['claimed']:.2f}" if g["claimed"] is not None else f"none ({g['claimed_reason']})"
    return [
        ["who took part?", ""],
        ["right guesses", f"{g['right']} of {g['guesses']} (half of them by chance)"],
        [f"ε is at least, with {g['confidence']:.1%} confidence", f"{g['epsilon']:.2f}"],
        [f"ε claimed for these {g['rounds']} rounds", claimed],
    ]


def recovery_rows(summary: Mapping[str, Any]) -> Table:
    """Returns the share of a person's words that were read, the header first."""
    rows = [["what the attacker sees", "words read"]]
    return rows + [[r["seen"], f"{r['recovered']:.1%}"] for r in summary["recovery"]]


def planted_rows(summary: Mapping[str, Any]) -> Table:
    """Returns what the trained model knows of planted phrases, the header first."""
    rows = [["training", "people", "copies each", "exposure (bits of 13.3)", "extracted"]]
    return rows + [
        [r["training"], str(r["users"]), str(r["copies"]), f"{r['exposure']:.1f}", f"{r['extracted']:.0%}"]
        for r in summary["planted"]
    ]


def tables(summary: Mapping[str, Any]) -> list[tuple[str, Table]]:
    """Returns the tables that the command prints, with titles."""
    shown = []
    if summary["checks"]:
        shown.append(("checks of the mechanism and the ledger", check_rows(summary)))
    shown.append(("guessing who took part", guess_rows(summary)))
    shown.append(("words read from updates", recovery_rows(summary)))
    if summary["planted"]:
        shown.append(("planted phrases", planted_rows(summary)))
    return shown


def page(summary: Mapping[str, Any]) -> str:
    """Returns the report as HTML."""
    title = f"Tacit: {summary['run']}, audited"
    people = summary["recovery"][0]["people"] if summary["recovery"] else 0
    body = [
        f"<h1>{html_text(title)}</h1><p class=lead>{html_text(verdict(summary))}.</p>",
        "<p>An audit attacks a run as somebody would who wants to know what people typed. It can show that a promise "
        "is broken; it can never prove that it holds.</p>",
    ]
    if summary["checks"]:
        body += [
            "<h2>Does the mechanism do what the ledger says?</h2>",
            table(check_rows(summary)),
            "<p>Made-up clients send updates of chosen lengths through the run's own code. What the model does is "
            "compared with the clip, the noise and the denominator in the ledger.</p>",
        ]
    body += [
        "<h2>Can one tell who took part?</h2>",
        table(guess_rows(summary)),
        f"<p>{summary['guesses']['canaries']:,} made-up people each toss a coin and take part or not. The attacker "
        "sees every model that was released, knows what each of them would send, and guesses. With perfect privacy "
        "half of the guesses are right. ε says by which factor the odds may change. The lower bound cannot exceed the "
        "claimed value if the claim is true.</p>",
        "<h2>Which words can be read from an update?</h2>",
        plots.figure(plots.bars({r["seen"]: r["recovered"] for r in summary["recovery"]}, "words read")),
        f"<p>Mean over {people} people. The attacker sorts words by how far their weight rose. Reading more than "
        "somebody who guesses common words (the first bar) means that an update gives words away. A server that sees "
        "single updates can do this; a server that sees only sums cannot tell whose words they are.</p>",
    ]
    if summary["planted"]:
        body += [
            "<h2>Does the model remember what few people typed?</h2>",
            table(planted_rows(summary)),
            *(plots.figure(svg) for svg in _exposures(summary)),
            "<p>Phrases of five random words were typed by so many people, so many times each, and the run was trained "
            "again with them. Exposure near 0 to 2 bits is chance; 13.3 bits means that the model prefers the phrase "
            "to 10,000 others like it. Extracted: the keyboard suggests the rest of the phrase after two words.</p>",
        ]
    return document(title, body)


def _exposures(summary: Mapping[str, Any]) -> list[str]:
    rows = summary["planted"]
    groups = list(dict.fromkeys(f"{r['users']} × {r['copies']}" for r in rows))
    series = {
        name: [r["exposure"] for r in rows if r["training"] == name]
        for name in dict.fromkeys(r["training"] for r in rows)
    }
    return [plots.clusters(groups, series, "people × copies", "exposure in bits")]
