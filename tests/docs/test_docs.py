"""What the pages say: links and settings exist, figures are those measured. What their fences do: test_fences.py."""

from __future__ import annotations

import doctest
import importlib
import json
import re
import shlex
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tacit.runs.config import resolve

PAGES = [Path("README.md"), Path("CONTRIBUTING.md"), *sorted(Path("docs").glob("*.md"))]
FENCE = re.compile(r"```(\w*)\n(.*?)```", re.DOTALL)


def fences(language: str) -> list[tuple[str, str]]:
    return [
        (page.name, code)
        for page in PAGES
        for kind, code in FENCE.findall(page.read_text("utf-8"))
        if kind == language
    ]


def command_lines() -> list[str]:
    lines = [line for _, code in fences("") for line in code.splitlines()]
    return sorted({line.partition("#")[0].strip() for line in lines if line.startswith("tacit ")})


def test_settings_on_the_pages_exist():
    checked = 0
    for line in command_lines():
        words = shlex.split(line)
        together = [words[i + 1] for i, w in enumerate(words) if w == "--set"]
        together = [a for a in together if "normalised" not in a]  # CONTRIBUTING.md writes it
        resolve("fedavg", together)
        checked += len(together)
    assert checked >= 3


def anchors(page: Path) -> set[str]:
    """The places of a page that a link can name: those it marks, and those that GitHub makes of headings."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = [h.replace("`", "") for h in re.findall(r"^#+ (.*)", text, re.MULTILINE)]
    made = {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}
    return made | set(re.findall(r'<a (?:id|name)="([^"]+)"', text))


def test_links_on_the_pages_lead_somewhere():
    places = 0
    for page in [*PAGES, Path("SECURITY.md"), Path("CHANGELOG.md")]:
        for target, place in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)", page.read_text("utf-8")):
            there = page.parent / target if target else page
            assert there.exists(), f"{page}: {target}"
            if place:
                assert place in anchors(there), f"{page}: {target}#{place}"
                places += 1
    assert places >= 20


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch):
    """Modules of tools/ by their names."""
    monkeypatch.syspath_prepend("tools")

    def load(name: str) -> ModuleType:
        return importlib.import_module(name)

    return load


def test_figures_on_the_pages_are_those_of_the_results(tool):
    for page, text in tool("measured").pages().items():
        assert Path(page).read_text("utf-8") == text, f"run `python tools/measured.py`: {page}"
    assert Path("docs/benchmarks.md").read_text("utf-8") == tool("benchmarks").page()
    assert Path("docs/reliability.md").read_text("utf-8") == tool("measured_federation").page()
    for name in ("pages", "measured_personal", "measured_ngram"):
        assert doctest.testmod(tool(name)).failed == 0


def test_what_is_added_stands_on_the_page(tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    measured = tool("measured")
    for folder in ("docs", "benchmarks/results"):
        shutil.copytree(folder, tmp_path / folder)
    monkeypatch.chdir(tmp_path)
    page = Path("docs/personal.md")
    before = page.read_text("utf-8")
    line = {
        "command": "c",
        "machine": "a device",
        "date": "d",
        "users": 500,
        "settings": 9,
        "parameters": 1_400_000,
    }
    Path("line.json").write_text(json.dumps(line | {"seconds": 90.0}), "utf-8")
    row = "| `c` | a device, {} | 1,400,000 | 500 × 9 | 90 | 3,000 |\n"
    for words, expected in (
        ([], before),
        (
            ["add-personal-speed", "line.json"],
            before.replace("<!-- speed:end", row.format("d") + "<!-- speed:end"),
        ),
        (
            ["add-personal-speed", "line.json", "--date", "e"],
            before.replace("<!-- speed:end", row.format("e") + "<!-- speed:end"),
        ),
    ):
        monkeypatch.setattr(sys, "argv", ["measured.py", *words])
        measured.main()
        assert page.read_text("utf-8") == expected


def test_tables_that_stand_alone_are_replaced(tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    measured = tool("measured")
    for folder in ("docs", "benchmarks/results"):
        shutil.copytree(folder, tmp_path / folder)
    monkeypatch.chdir(tmp_path)
    rows = [{"what": "as here", "pieces": 1.25, "log_p": -6.5}]
    Path("line.json").write_text(json.dumps({"command": "c", "rows": rows}), "utf-8")
    monkeypatch.setattr(sys, "argv", ["measured.py", "add-inventory", "line.json", "--date", "d"])
    measured.main()
    block = Path("docs/ngram.md").read_text("utf-8").split("<!-- inventory:begin -->")[1].split("<!--")[0]
    assert "| as here | 1.25 | −6.50 |\n" in block and "a line a word" not in block and ", d; " in block


def test_a_page_without_its_marks_is_told(tool):
    filled = tool("pages").filled
    page = "a\n<!-- n:begin -->\nold\n<!-- n:end -->\nb\n"
    assert filled(page, {"n": "| new |"}) == "a\n<!-- n:begin -->\n| new |\n<!-- n:end -->\nb\n"
    assert filled(filled(page, {"n": "x"}), {"n": "old"}) == page
    for broken in (page.replace("n:end", "n:ends"), page.replace("n:begin", "m:begin")):
        with pytest.raises(SystemExit, match="no place for n"):
            filled(broken, {"n": "x"})


def test_a_distilled_model_becomes_rows_of_the_page(tool, tmp_path: Path):
    measured, tables = tool("measured"), tool("measured_ngram")
    (tmp_path / "ngram.json").write_text('{"distilled": []}', "utf-8")
    figures = {"perplexity": 100.0, "sll": -50.0, "people": 3, "by_person": {"top1": {"p50": 0.1}}}

    def model(top1: float) -> dict:
        return figures | {"top1": top1, "top3": 2 * top1, "ci95": {"top1": 0.01}}

    summary = {
        "name": "demo",
        "supplement": "/somewhere/of/mine/letters.jsonl.gz",
        "topology": "r",
        "order": 3,
        "cased": False,
        "ngrams": 90_000,
        "states": 10,
        "vocabulary": 5000,
        "sentences": 60_000,
        "bytes": {"model.tacit": 300_000},
        "latency_us": {"p50": 90.04, "p99": 200.0},
        "models": {
            "network": model(0.13),
            "n-gram": model(0.11),
            "compact file": model(0.109),
            "Kneser-Ney, supplement": model(0.10),
            "Kneser-Ney, collected text": model(0.12),
        },
    }
    file = tmp_path / "summary.json"
    for top1 in (0.5, 0.11):  # a second time it replaces the first
        summary["models"]["n-gram"] = model(top1)
        file.write_text(json.dumps(summary), "utf-8")
        entry = tables.distilled("SMS, a network", file)
        measured.put("ngram.json", "distilled", entry, measured.SETTINGS, tmp_path)
    text = (tmp_path / "ngram.json").read_text("utf-8")
    (stored,) = json.loads(text)["distilled"]
    assert "somewhere" not in text and "by_person" not in text and stored["machine"] and stored["date"]
    assert "--supplement letters.jsonl.gz" in stored["command"] and "--sentences 60000" in stored["command"]
    rows = tables.real_text([stored]).splitlines()
    assert "SMS, a network (supplement letters.jsonl.gz, 60,000 sentences, 5,000 words)" in rows[2]
    refined = next(r for r in rows if "| A_r |" in r)
    for cell in (
        "90,000",
        "11.00 ± 1.00 %",
        "22.00 %",
        "100.0",
        "−50.00",
        "+10.0 %",
        "−8.3 %",
    ):  # .11/.10, .11/.12
        assert f"| {cell} |" in refined
    other = entry | {"sentences": 20_000}
    measured.put("ngram.json", "distilled", other, measured.SETTINGS, tmp_path)
    assert len(json.loads((tmp_path / "ngram.json").read_text("utf-8"))["distilled"]) == 2


def test_a_personalisation_becomes_rows_of_the_page(tool, tmp_path: Path):
    tables = tool("measured_personal")
    means = {"baseline": 0.2, "ci95": 0.001, "gain_share": 0.5, "loss_share": 0.1}

    def changed(delta: float) -> dict:
        return means | {"delta_mean": delta, "relative": delta / 0.2}

    grid = [
        {"batch": b, "lr": lr, **changed(d)}
        for b, lr, d in ((5, 1.0, 0.0301), (5, 4.0, -0.02), (20, 1.0, 0.01))
    ]
    ways = [
        ("B 5, L 1, 60% personal, 20% cache", "all", 0.6, 0.2, 2e6, 0.04),
        ("B 5, L 1", "all", 1.0, 0.0, 2e6, 0.03),
    ]
    ways.append(("bias, B 5, L 1", "bias", 1.0, 0.0, 2e4, 0.002))
    summary = {
        "users": 40,
        "left_out": 2,
        "people": "/somewhere/of/mine, everybody",
        "stored": ["ana"],
        "tuning": {"max_tokens": 5000, "epochs": 1},
        "grid": grid,
        "strategies": [
            {"name": n, "part": p, "personal": a, "cache": c, "bytes": b, **changed(d)}
            for n, p, a, c, b, d in ways
        ],
        "best": changed(0.036)
        | {"strategy": ways[0][0], "chosen_by_halves": [ways[0][0]] * 2, "cross_fitted": True},
        "gate": {
            "margin": 0.01,
            "accepted_share": 0.75,
            "kept": 0.8,
            "worse_share": 0.05,
            "worse_share_without": 0.2,
            "tested": 20.0,
            "significantly_worse_share": 0.05,
            "significantly_worse_share_without": 0.15,
            "margins": [{"margin": 0.0}],
        },
    }
    file = tmp_path / "summary.json"
    file.write_text(json.dumps(summary), "utf-8")
    entry = tables.tuned("SMS", file) | {"machine": "a phone", "date": "today"}
    assert "somewhere" not in json.dumps(entry) and "ana" not in json.dumps(entry)
    assert "| SMS (40) | 0.200 | **.030** / .010 | −.020 /  |" in tables.grids([entry])
    best = tables.strategies([entry])
    assert "| .040 ± .001 | +20.0 % | +18.0 % |" in best
    assert "| the paper, over 300,000 users | B 5, L 0.1 | .024 | +14.5 % |" in best
    assert tables.parts([entry]).splitlines()[2:] == [
        "| kB a person | 2,000 | 20 |",
        "| SMS (40) | +15.0 % | +1.0 % |",
    ]
    assert "| SMS (40) | 75 % | 80 % | 20 % → 5 % | 3 → 1 | 20 |" in tables.gates([entry])
    speed = {
        "command": "c",
        "machine": "m",
        "date": "d",
        "parameters": 1400,
        "users": 500,
        "settings": 9,
        "seconds": 90.0,
    }
    assert tables.speeds([speed]).endswith("| `c` | m, d | 1,400 | 500 × 9 | 90 | 3,000 |")


def examined() -> list[str]:
    """Every module of Tacit that has examples in its docstrings."""
    files = (
        f
        for f in Path("src/tacit").rglob("*.py")
        if re.search(r"^\s*>>> ", f.read_text("utf-8"), re.MULTILINE)
    )
    return sorted(".".join(f.with_suffix("").parts[1:]).removesuffix(".__init__") for f in files)


@pytest.mark.parametrize("name", examined())
def test_examples_in_the_docstrings_hold(name: str) -> None:
    found = doctest.testmod(importlib.import_module(name))
    assert found.failed == 0 < found.attempted
