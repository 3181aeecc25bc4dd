"""Makes the tables of docs/ngram.md and docs/ngram-files.md: word counts, distilled models, capitals, word-pieces."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pages import machine, short, source, table, today

from tacit.counts.report import PUBLISHED

Entry = dict[str, Any]
DEMO = "demo"  # the entry whose tables explain the method
FIGURES = ("top1", "top3", "perplexity", "sll", "people", "sentences", "words")
MODELS = {
    "network": "the network",
    "n-gram": "A_{topology}",
    "compact file": "the same, 8-bit weights",
    "Kneser-Ney, supplement": "Kneser-Ney of the supplement",
    "Kneser-Ney, collected text": "Kneser-Ney of the clients' own text, collected",
}


def distilled(name: str, file: Path) -> Entry:
    """Returns the figures of a summary.json of `tacit distill`."""
    s = json.loads(file.read_text("utf-8"))
    if s["supplement"]:
        s["supplement"] = Path(s["supplement"]).name  # only the name of a path is kept
    kept = ("supplement", "topology", "order", "cased", "ngrams", "states", "vocabulary", "sentences")
    models = {m: {k: short(f[k]) for k in FIGURES if k in f} for m, f in s["models"].items()}
    for m, f in s["models"].items():
        models[m]["ci95_top1"] = short(f.get("ci95", {}).get("top1"))
    beside = f" --supplement {s['supplement']}" if s["supplement"] else ""
    given = f"--topology {s['topology']} --order {s['order']} --sentences {s['sentences']}"
    return {
        "name": name,
        "command": f"tacit distill RUN{beside} {given}{' --cased' if s['cased'] else ''}",
        **{k: s[k] for k in kept},
        "models": models,
        "bytes": s["bytes"],
        "latency_us": {k: round(v, 1) for k, v in s["latency_us"].items()},
    }


def counted(name: str, file: Path) -> Entry:
    """Returns the figures of a summary.json of `tacit count`."""
    s = json.loads(file.read_text("utf-8"))
    kept = ("clients", "cohort", "rounds", "whitelist", "capacity", "order")
    rows = {k: {f: short(v) for f, v in row.items()} for k, row in s["table1"].items()}
    beside = Path(s["supplement"]).name if s["supplement"] else None
    return {
        "name": name,
        "command": "tacit count",
        "supplement": beside,
        **{k: s[k] for k in kept},
        "table1": rows,
    }


def alone(file: Path) -> Entry:
    """Returns the figures of a table with its machine, date and command."""
    results = json.loads(file.read_text("utf-8"))
    rows = [
        {k: [short(x) for x in v] if isinstance(v, list) else short(v) for k, v in row.items()}
        for row in results["rows"]
    ]
    return {"machine": machine(), "date": today(), **results, "rows": rows}


def asked(file: Path) -> Entry:
    """Returns the answers of AOSP's engine with their machine and date, as benchmarks/aosp.py prints them."""

    def rounded(value: Any) -> Any:
        return {k: rounded(v) for k, v in value.items()} if isinstance(value, dict) else short(value)

    results = json.loads(file.read_text("utf-8"))
    return {
        "machine": machine(),
        "date": today(),
        **results,
        "rows": [rounded(row) for row in results["rows"]],
        "first_words": rounded(results["first_words"]),
    }


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def _change(row: Entry, what: str) -> str:
    return f"{100 * row[f'{what}_change']:+.1f} ± {100 * row[f'{what}_change_ci95']:.1f} %".replace("-", "−")


def _figures(results: Entry) -> list[str]:
    return [_percent(results["top1"]), _percent(results["top3"]), f"{results['perplexity']:.1f}"]


def counts(entries: Sequence[Entry]) -> str:
    """Returns Table 1 of paper 4 for each corpus that was counted."""
    shown = []
    for e in entries:
        heading = f"{e['name']} ({e['clients']:,} people, {e['rounds']} rounds of {e['cohort']}), supplement "
        shown.append(f"{heading}{e['supplement']}, capacity {e['capacity']:,}:")
        rows = [["unigrams", "top-1", "OOV rate", "published: top-1", "published: OOV rate"]]
        for key in sorted(e["table1"], key=lambda k: -1.0 if k == "baseline" else float(k)):
            row = e["table1"][key]
            base = key == "baseline"
            ours = [_percent(row[w]) if base else _change(row, w) for w in ("top1", "oov")]
            name = key if base else f"λ = {key.replace('inf', '∞')}"
            rows.append([name, *ours, *PUBLISHED.get(key, ("", ""))])
        shown.append(table(rows))
    return "\n\n".join(
        [*shown, f"Changes relative to the baseline, 95 % over people. {source(entries, 'ngram.json')}"]
    )


def _demo(entries: Sequence[Entry], sentences: int | None = None) -> list[Entry]:
    """Returns the models of the demo's network with 100,000 n-grams."""
    return [e for e in entries if e["name"] == DEMO and sentences in (None, e["sentences"])]


def topologies(entries: Sequence[Entry], sentences: int = 20_000) -> str:
    """Returns the table of Algorithm 1's four models of one network and their baselines."""
    made = sorted(_demo(entries, sentences), key=lambda e: "eimr".index(e["topology"]))
    rows = [["", "top-1", "top-3", "perplexity"]]
    rows += [[f"A_{e['topology']}", *_figures(e["models"]["n-gram"])] for e in made]
    others = [m for m in MODELS if m not in ("n-gram", "compact file")]
    rows += [[MODELS[m], *_figures(made[-1]["models"][m])] for m in others]
    return f"{table(rows)}\n\n{source(made, 'ngram.json')}"


def sentences(entries: Sequence[Entry]) -> str:
    """Returns the table of A_r by number of sampled sentences."""
    made = sorted((e for e in _demo(entries) if e["topology"] == "r"), key=lambda e: e["sentences"])
    newest = max(e["date"] for e in made)

    def drawn(e: Entry) -> str:
        earlier = "" if e["date"] == newest else f" ({e['date']}, of the demo's network of that day)"
        return f"{e['sentences']:,}{earlier}"

    rows = [["sampled sentences", "top-1 of A_r", "top-3", "perplexity"]]
    return table([*rows, *([drawn(e), *_figures(e["models"]["n-gram"])] for e in made)])


def real_text(entries: Sequence[Entry]) -> str:
    """Returns the table of models of people's text, with Kneser-Ney on the supplement and on collected text."""
    made = [e for e in entries if e["name"] != DEMO]
    if not made:
        return "Not measured yet."
    header = ["people, network", "model", "n-grams", "top-1", "top-3", "perplexity", "log-lik. / sentence"]
    rows = [[*header, "top-1 against Kneser-Ney of the supplement", "against that of the collected text"]]
    for e in made:
        for key, words in MODELS.items():
            if key not in e["models"]:
                continue
            f = e["models"][key]
            half = f" ± {100 * f['ci95_top1']:.2f}" if f.get("ci95_top1") else ""
            top1 = f"{100 * f['top1']:.2f}{half} %"
            others = [e["models"].get(f"Kneser-Ney, {o}") for o in ("supplement", "collected text")]
            against = [
                f"{100 * (f['top1'] / o['top1'] - 1):+.1f} %".replace("-", "−") if o and o is not f else ""
                for o in others
            ]
            size = f"{e['ngrams']:,}" if key == "n-gram" else ""
            cells = [
                words.format(**e),
                size,
                top1,
                *_figures(f)[1:],
                f"{f['sll']:.2f}".replace("-", "−"),
                *against,
            ]
            rows.append([_which(e) if key == "network" else "", *cells])
    return f"{table(rows)}\n\n{source(made, 'ngram.json')}"


def lost(entries: Sequence[Entry]) -> str:
    """Returns the table of top-1 from Kneser-Ney on collected text to A_r, one difference at a time."""
    steps = {
        "collected": "typed n-grams, weights from typed text (Kneser-Ney)",
        "expected": "typed n-grams, weights from the network on typed text",
        "drawn": "typed n-grams, weights from the network on sampled sentences",
        "refined": "A_r: n-grams of the supplement and of sampled sentences, weights as above",
        "network": "the network itself",
    }
    rows = [
        ["", *(f"{e['name']}, {e['sentences']:,} sentences, {e['max_ngrams']:,} n-grams" for e in entries)]
    ]
    rows += [[words, *(_percent(e["steps"][key]["top1"]) for e in entries)] for key, words in steps.items()]
    return f"{table(rows)}\n\n{source(entries, 'ngram.json')}"


def _which(entry: Entry) -> str:
    beside = f"supplement {entry['supplement']}, " if entry["supplement"] else ""
    cased = ", with capitals" if entry["cased"] else ""
    return f"{entry['name']} ({beside}{entry['sentences']:,} sentences, {entry['vocabulary']:,} words{cased})"


def casing(results: Entry) -> str:
    """Returns the table of casing accuracy; the best of a column is bold."""
    corpora = results["corpora"]
    best = [max(row["accuracy"][i] for row in results["rows"]) for i in range(len(corpora))]

    def cell(value: float, most: float) -> str:
        return f"**{_percent(value)}**" if value == most else _percent(value)

    rows = [[row["what"], *map(cell, row["accuracy"], best)] for row in results["rows"]]
    return f"{table([['', *corpora], *rows])}\n\n{source([results], 'ngram.json')}"


def inventory(results: Entry) -> str:
    """Returns the table that compares inventories with sentencepiece's own method."""
    rows = [["", "pieces per word", "log p of a word under the piece unigrams"]]
    rows += [
        [r["what"], f"{r['pieces']:.2f}", f"{r['log_p']:.2f}".replace("-", "−")] for r in results["rows"]
    ]
    return f"{table(rows)}\n\n{source([results], 'ngram.json')}"


def _of_demo(entries: Sequence[Entry]) -> Entry:
    return next(e for e in _demo(entries, 20_000) if e["topology"] == "r")


def dictionary(results: Entry) -> str:
    """Returns the table of what AOSP's engine suggests from dictionaries of the demo's model."""
    rows = [["", "top-1", "top-3", "first words, top-1", "top-3", "no suggestion"]]
    for row in results["rows"]:
        engine = row["engine"]
        figures = [_percent(engine[k]) for k in ("top1", "top3", "start_top1", "start_top3", "silent")]
        rows.append([row["what"], *figures])
        if "n-gram" in row:
            own = [_percent(row["n-gram"][k]) for k in ("top1", "top3")]
            rows.append([f"the 3-gram that {row['what']} is made of, in Tacit", *own, "", "", ""])
    last = results["rows"][-1]["engine"]
    read = [row["read"] for row in results["rows"] if "read" in row]
    same = "; ".join(
        f"{r['words']:,} words, {r['bigrams']:,} bigrams and {r['sentence_starts']} sentence starts, "
        f"{r['different']} different"
        for r in read[:1]
    )
    first = results["first_words"]
    counted, each, best = (first["choices"][k] for k in ("counted", "each person the same", "best"))
    low, high = (_percent(first["drawn"][k]) for k in ("p2.5", "p97.5"))
    offered = next(row["engine"]["start_words"] for row in results["rows"] if "start_words" in row["engine"])
    assert sorted(counted["words"]) == sorted(each["words"]) == sorted(offered)
    return (
        f"{table(rows)}\n\nOver {last['places']:,} held-out words, {last['starts']:,} of them first words.\n\n"
        "**First words.** Nothing stands before the first word of a message, so a keyboard always offers the same "
        f"three. `words.dict` offers {_named(counted)}. These are the commonest first words of the training people, "
        f"whether each message or each person counts the same. They are {_percent(counted['share'])} of the first "
        f"words of the {first['people']} held-out people (± {_percent(counted['ci95'])}, 95 % over people). "
        f"No other three are more than {_percent(best['share'])}: {_named(best)}. Only the held-out text tells that "
        "these are better. The share depends on the people: for as many people drawn from the training people, it is "
        f"between {low} and {high} (95 % of 10,000 draws).\n\n"
        f"What the engine read and what was written: {same}. "
        f"{source([results], 'aosp.json')}"
    )


def _named(choice: Entry) -> str:
    *others, last = (f"*{word}*" for word in choice["words"])
    return f"{', '.join(others)} and {last}"


def files(entries: Sequence[Entry], asked: Entry) -> str:
    """Returns the table of files of a distilled model, with their sizes; those of the dictionary are of `asked`."""
    e = _of_demo(entries)
    listed = next(row["bytes"] for row in asked["rows"] if "bytes" in row)
    size = {name: f"{n:,}" for name, n in {**e["bytes"], **listed}.items()}
    return table(
        [
            ["file", "who reads it", "what is in it", f"bytes, {e['ngrams']:,} n-grams"],
            ["`model.tacit`", "Tacit; a phone, mapped and not parsed", "the whole model, one byte for each weight",
             size["model.tacit"]],
            ["`model.arpa`", "KenLM, and other toolkits that read ARPA", "the whole model, 12 digits",
             size["model.arpa"]],
            ["`model.fst.txt`, `model.syms`", "OpenFst", "the automaton, one arc a line; its symbols",
             f"{size['model.fst.txt']} and {size['model.syms']}"],
            ["`words.dict`", "HeliBoard, OpenBoard and other keyboards of AOSP's family",
             "words, bigrams, words that begin a sentence", size["words.dict"]],
            ["`words.combined`", "AOSP's dictionary compiler", "words and bigrams", size["words.combined"]],
            ["`summary.json`", "people, reports", "size, figures, latency", ""],
        ]
    )  # fmt: skip


def printed(entries: Sequence[Entry]) -> str:
    """Returns the output of the command."""
    e = _of_demo(entries)
    width = max(map(len, e["models"]))
    order = ("network", "n-gram", "compact file", "Kneser-Ney, supplement", "Kneser-Ney, collected text")
    lines = [f"{'':{width}}   top-1   top-3  perplexity"]
    for m in order:
        f = e["models"][m]
        lines.append(f"{m:<{width}}  {f['top1']:.2%}  {f['top3']:.2%}  {f['perplexity']:>10.1f}")
    size, asked = e["bytes"]["model.tacit"] / 1e6, e["latency_us"]["p50"]
    lines.append(f"{e['ngrams']:,} n-grams, {size:.2f} MB, three suggestions in {asked:.0f} µs")
    return "\n".join(["```", *lines, "```", f"(`{e['command']}`, {e['machine']}, {e['date']}.)"])
