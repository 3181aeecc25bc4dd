"""Fills the tables of the keyboard's pages from benchmarks/results/keyboard.json.

python tools/measured_keyboard.py add-measures keyboard.json     # of benchmarks/keyboard_measures.py
python tools/measured_keyboard.py add-network8 network8.jsonl    # of benchmarks/network8.py
python tools/measured_keyboard.py add-decoding decoding.json     # of benchmarks/decoding.py
python tools/measured_keyboard.py                                # only rewrites the pages

Add results on the machine that was measured: its name and the date are recorded.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pages import RESULTS, filled, machine, read, store, table, today

FILE = "keyboard.json"
Entry = dict[str, Any]

# Paper 5, Tables 7 to 10, in per cent: n-gram, server CIFG, federated CIFG
ROWS = ("n-gram", "server", "federated")
PUBLISHED = {
    "7, top-1": ("13.0", "16.5", "16.4"),
    "7, top-3": ("22.1", "27.1", "27.0"),
    "8": ("12.5 ± 0.2", "15.0 ± 0.5", "15.8 ± 0.3"),
    "9, top-1": ("5.24 ± 0.02", "5.76 ± 0.03", "5.82 ± 0.03"),
    "9, top-3": ("11.05 ± 0.03", "13.63 ± 0.04", "13.75 ± 0.03"),
    "10": ("2.13 ± 0.03", "2.36 ± 0.03", "2.35 ± 0.03"),
}
ABOUT = {
    "7, top-1": ("top-1 recall", "logs on a server", "held-out people, synthetic", "top1"),
    "7, top-3": ("top-3 recall", "logs on a server", "held-out people, synthetic", "top3"),
    "8": ("top-1 recall", "caches of clients", "later messages of people trained on, synthetic", ""),
    "9, top-1": ("impression recall, top-1", "live", "**simulated**, not comparable", "impression_top1"),
    "9, top-3": ("impression recall, top-3", "live", "**simulated**, not comparable", "impression_top3"),
    "10": ("click-through rate", "live", "**simulated**, not comparable", "click_through"),
}
MEASURES = {
    "top1": "top-1 recall",
    "top3": "top-3 recall",
    "keystroke_savings": "keystroke savings",
    "impression_top3": "impression recall, top-3 (simulated)",
    "click_through": "click-through rate (simulated)",
    "tapped_model": "noisy taps right (simulated)",
    "glided_model": "glides right (simulated)",
}
MODELS = {
    "n-gram": "Kneser-Ney 5-gram, pooled text",
    "server": "network, pooled text",
    "federated": "network, federated",
    "federated, 8 bits": "the same in 8 bits",
    "federated, 3-gram": "3-gram distilled from it",
}


def _percent(value: float, half: float) -> str:
    return f"{100 * value:.2f} ± {100 * half:.2f}"


def tables_of_paper_5(results: Entry) -> str:
    """Returns the table of published and measured figures."""
    header = ["Table", "measure, %", "published on"]
    rows = [[*header, *(f"{r}, published" for r in ROWS), "ours on", *(f"{r}, ours" for r in ROWS)]]
    for key, (name, theirs, ours, metric) in ABOUT.items():
        if metric:
            values = [(results["models"][r][metric], results["models"][r]["ci95"][metric]) for r in ROWS]
        else:
            values = [tuple(results["caches"][r]) for r in ROWS]
        number = key.partition(",")[0]
        rows.append([number, name, theirs, *PUBLISHED[key], ours, *(_percent(*v) for v in values)])
    return table(rows)


def measures(results: Entry) -> str:
    """Returns the table of keyboard measures of the models."""
    models = results["models"]
    rows = [["", *(MODELS[name] for name in models)]]
    for metric, label in MEASURES.items():
        rows.append([f"{label}, %", *(_percent(m[metric], m["ci95"][metric]) for m in models.values())])
    for metric, label in (("tapped_alone", "taps right"), ("glided_alone", "glides right")):
        one = models["federated"]
        rows.append(
            [f"{label} by the keys alone, %", *([_percent(one[metric], one["ci95"][metric])] * len(models))]
        )
        if len({m[metric] for m in models.values()}) > 1:
            raise SystemExit(f"{metric} should not depend on the model: were the vocabularies not the same?")
    for key, label in (("next_word", "three next words"), ("completion", "three completions")):
        times = [m["latency_ms"][key] for m in models.values()]
        rows.append([f"{label}, ms, p50 / p99", *(f"{t['p50']:.2f} / {t['p99']:.2f}" for t in times)])
    rows.append(["runs on", *(m["runtime"] for m in models.values())])
    rows.append(["bytes", *(f"{m['model_bytes']:,}" for m in models.values())])
    one = models["federated"]
    caption = (
        f"{one['people']} held-out people, {one['messages']:,} messages, {one['words']:,} words, of which "
        f"{one['oov']:.2%} are out of vocabulary; {one['tapped']:,} words were tapped and glided. ± is 95 %, leaving "
        "out one person at a time. "
    )
    return f"{table(rows)}\n\n{caption}{_when(results)}"


def network8(results: Entry) -> str:
    """Returns the table of 8-bit networks."""
    rows = [["network", "parameters", "words", "bytes", "top-1, %", "top-1 in 8 bits, %", "lost, relative"]]
    rows[0] += ["a word further, ms, p50 / p99", "a context of 30 words, ms", "opening, ms"]
    for n in results["networks"]:
        recall = [f"{100 * v:.2f}" for v in n["top1"]] if "top1" in n else ["", ""]
        lost = [f"{n['top1_lost']:.2%}"] if "top1" in n else [""]
        rows.append(
            [n["network"], f"{n['parameters']:,}", f"{n['vocabulary']:,}", f"{n['bytes']:,}", *recall, *lost,
             f"{n['word_ms']['p50']:.2f} / {n['word_ms']['p99']:.2f}", f"{n['context_ms']['p50']:.1f}",
             f"{n['open_ms']:.1f}"]
        )  # fmt: skip
    return f"{table(rows)}\n\n{_when(results)}"


def _when(results: Entry) -> str:
    return f"`{results['command']}` on {results['machine']}, {results['date']}{results.get('beside', '')}."


def decoding(results: Entry) -> str:
    """Returns the table of error rates by level of noise."""
    rows = [["model", "level", "taps, keys alone", "taps, with the model", "glides, keys alone"]]
    rows[0].append("glides, with the model")
    shown = ""
    for r in results["rows"]:
        shares = [f"{r[way][k]:.2%}" for way in ("taps", "glides") for k in ("spatial_errors", "errors")]
        rows.append([r["model"] if r["model"] != shown else "", f"{r['level']:.1f}", *shares])
        shown = r["model"]
    words = [int(r[way]["words"]) for r in results["rows"] for way in ("taps", "glides")]
    many = f"{min(words):,}" if len(set(words)) == 1 else f"{min(words):,} to {max(words):,}"
    return f"{table(rows)}\n\n{many} words for each figure. {_when(results)}"


def pages(folder: Path = RESULTS) -> dict[str, str]:
    """Returns the pages with their tables filled."""
    results = read(FILE, folder)
    made = (
        ("docs/keyboard-measures.md", "paper-5", tables_of_paper_5, "measures"),
        ("docs/keyboard-measures.md", "measures", measures, "measures"),
        ("docs/keyboard-measures.md", "network8", network8, "network8"),
        ("docs/keyboard.md", "decoding", decoding, "decoding"),
    )
    blocks: dict[str, dict[str, str]] = {}
    for page, name, make, section in made:
        if section in results:
            blocks.setdefault(page, {})[name] = make(results[section])
    return {page: filled(Path(page).read_text("utf-8"), tables) for page, tables in blocks.items()}


def put(section: str, entry: Entry, folder: Path = RESULTS) -> None:
    """Replaces the results of one benchmark."""
    results = read(FILE, folder) if (folder / FILE).is_file() else {}
    store(FILE, {**results, section: {"machine": machine(), "date": today(), **entry}}, folder)


def main() -> None:
    match sys.argv[1:]:
        case []:
            pass
        case ["add-measures", file, *beside]:
            command = "python benchmarks/keyboard_measures.py RUN CENTRAL"
            put(
                "measures",
                {"command": command, "beside": "".join(beside), **json.loads(Path(file).read_text())},
            )
        case ["add-network8", file, *beside]:
            lines = [json.loads(line) for line in Path(file).read_text().splitlines()]
            command = "python benchmarks/network8.py RUN …"
            put("network8", {"command": command, "beside": "".join(beside), "networks": lines})
        case ["add-decoding", file, *beside]:
            command = "python benchmarks/decoding.py RUN"
            put(
                "decoding",
                {"command": command, "beside": "".join(beside), **json.loads(Path(file).read_text())},
            )
        case _:
            raise SystemExit(__doc__)
    for page, text in pages().items():
        Path(page).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
