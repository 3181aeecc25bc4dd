"""The page opens without network, is well formed, and shows names as names."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import pytest

from commands import ROUNDS, Trained
from html_pages import Parsed
from tacit import runs
from tacit.base.errors import TacitError
from tacit.runs import plots, report
from tacit.runs.config import Config, resolve

EVIL = '<script>alert("x")</script> & $co$t'


def figures(top1: float, people: int = 3) -> dict[str, object]:
    spread = dict.fromkeys(("p10", "p50", "p90"), top1)
    half = 0.01 if people > 1 else None
    return {
        "perplexity": 50.0, "top1": top1, "top3": 2 * top1, "sll": -20.5, "people": people,
        "ci95": dict.fromkeys(("perplexity", "top1", "top3", "sll"), half),
        "by_person": {"top1": spread},
    }  # fmt: skip


def evil_page() -> report.Page:
    curve = [{"round": r, "valid_perplexity": 90.0 / r, "valid_top1": r / 10} for r in range(1, 5)]
    entries = [
        report.Entry(EVIL, figures(0.2), figures(0.3), curve),
        report.Entry("other", figures(0.1, people=1), None, curve[:1]),
        report.Entry(f"still {EVIL}", figures(0.15)),
    ]
    chips = {EVIL: [(EVIL, 0.5)], "other": [("ok", 0.25)]}
    config = resolve("fedavg", [f"name={json.dumps(EVIL)}"])
    return report.Page(EVIL, EVIL, entries, config, {"": chips, EVIL: chips}, [(EVIL, EVIL)], [(EVIL, EVIL)])


def self_contained(page: str) -> Parsed:
    parsed = Parsed(page)
    assert all(load.strip("'\"").startswith("#") for load in parsed.loads), parsed.loads
    assert not {"script", "link", "iframe", "img", "object", "embed"} & set(parsed.tags)
    assert "@import" not in page and "url(http" not in page.replace(" ", "")
    return parsed


def test_a_page_loads_nothing_and_escapes_everything() -> None:
    page = report.render(evil_page())
    parsed = self_contained(page)
    assert parsed.tags.count("svg") == 3 and parsed.tags.count("table") >= 6
    assert "<script" not in page and page.startswith("<!doctype html>")
    assert sum(EVIL in text for text in parsed.text) > 8  # shown as it is, wherever it stands


def test_the_report_of_a_run_shows_its_figures(tmp_path: Path, trained: Trained) -> None:
    entry = report.entry_of(runs.Run(trained.path))
    summary = json.loads((trained.path / "summary.json").read_text())
    facts = report.run_facts(summary, 12.0)
    page = report.Page("Tacit", "lead", [entry], resolve("fedavg"), facts=facts)
    path = report.write(tmp_path / "report.html", page)
    parsed = self_contained(path.read_text())
    said = " ".join(parsed.text)
    assert f"{summary['test']['perplexity']:.1f}" in said and f"{summary['test']['top1']:.2%}" in said
    assert f"{summary['seen']['perplexity']:.1f}" in said
    assert f"{summary['parameters']:,}" in said and "ε: none" in said and "no privacy mechanism" in said
    assert parsed.tags.count("svg") == 2 and "nan" not in said
    assert "client" in said and "max_examples = 0" in said  # every key of the configuration
    assert len(entry.curve) == ROUNDS


def test_a_central_run_sends_nothing() -> None:
    summary = {
        "bytes_per_client_and_round": None, "parameters": 5, "vocabulary": 9, "best_round": 1,
        "chosen_by": "valid_top1", "epsilon_reason": "none", "clients": 0,
    }  # fmt: skip
    assert not any("client" in name for name, _ in report.run_facts(summary, 1.0))


def test_an_interval_is_shown_only_where_there_is_one() -> None:
    _, with_, without = report.comparison(
        [report.Entry("a", figures(0.2)), report.Entry("b", figures(0.2, 1))]
    )
    assert with_ == ["a", "50.0 ± 0.0", "20.00% ± 1.00%", "40.00% ± 1.00%", "-20.50 ± 0.01"]
    assert without == ["b", "50.0", "20.00%", "40.00%", "-20.50"]
    nan = figures(0.2) | {"ci95": {"top1": math.nan}}
    assert report.comparison([report.Entry("c", nan)])[1][2] == "20.00%"
    assert report.comparison([report.Entry("a", figures(0.2))], "seen") == report.comparison([])


def test_the_same_figures_give_the_same_page() -> None:
    assert report.render(evil_page()) == report.render(evil_page())


def test_plots_take_odd_curves() -> None:
    for lines in ({}, {"a": ([], [])}, {"a": ([1], [5.0]), "$x^": ([1, 2], [3.0, 4.0])}):
        assert plots.curves(lines, "y", {"level $": 2.0}, log=True).startswith("<svg")
    for name in ("a$b$c", r"$\frac$"):  # a name is no formula
        assert name in plots.bars({name: 0.1, "c": 0.0}, "y", {"c": 0.01})
        assert name in plots.curves({name: ([1], [5.0])}, "y", {"level": 2.0})


@pytest.mark.parametrize(
    "broken",
    ["{", "[]", "3", "{}", '{"test": 3, "seen": null, "best_round": 1, "chosen_by": "x"}',
     '{"test": {"top1": 0.1}, "seen": null, "best_round": 1, "chosen_by": "x"}', "\udcff"],
)  # fmt: skip
def test_a_damaged_summary_is_one_line(tmp_path: Path, trained: Trained, broken: str) -> None:
    run = shutil.copytree(trained.path, tmp_path / "run")
    (run / "summary.json").write_text(broken, "utf-8", "surrogateescape")
    with pytest.raises(TacitError, match=r"summary\.json: not a summary written by Tacit"):
        report.entry_of(runs.Run(run))


def test_a_run_that_has_not_ended_is_told_so(tmp_path: Path, trained: Trained) -> None:
    run = shutil.copytree(trained.path, tmp_path / "run")
    (run / "summary.json").unlink()
    with pytest.raises(TacitError, match=r"has not ended .* --resume"):
        report.entry_of(runs.Run(run))


def test_a_configuration_is_shown_whole() -> None:
    page = report.render(report.Page("t", "l", [], Config()))
    assert all(f"[{table}]" in page for table in ("text", "client", "server", "training"))
