"""`tacit reproduce` as a person would use it: quick runs, lists, pages, and one line for whatever is wrong.

A few quick runs are made here; `make test-experiments` makes all of them (TACIT_EXPERIMENTS=all).
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from commands import write_corpus
from tacit.experiments import results_page
from tacit.experiments.entry import Plot, find, names

FEW = ["quadratic", "spam", "table-1", "table-2-authors"]
QUICK = names() if os.environ.get("TACIT_EXPERIMENTS") == "all" else FEW


@pytest.mark.parametrize("name", QUICK)
def test_quick(tacit, name, tmp_path):
    found = tacit.json("reproduce", name, "--quick", "--out", tmp_path, "--data", tmp_path)
    small = find(name).quickly()
    assert [row["label"] for row in found["rows"]] == [row.label for row in small.rows]
    for row in found["rows"]:
        assert any(v is not None for values in row["values"].values() for v in values)
        assert row["machine"] and row["date"] and row["configuration"]
    assert [p.name for p in tmp_path.iterdir()] == [f"{name}.quick.json"]


def test_several_at_once_print_tables(tacit, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    out = tacit.ok("reproduce", "quadratic", "table-1", "--quick")
    assert find("quadratic").title in out and find("table-1").title in out
    assert not list(tmp_path.iterdir())  # quick results are not kept unless asked for


def test_a_full_run_leaves_a_file_that_list_and_report_know(tacit, tmp_path):
    out, docs = tmp_path / "results", tmp_path / "docs"
    docs.mkdir()
    found = tacit.json("reproduce", "quadratic", "--only", "E 200, η 0.05", "--out", out)
    assert found["rows"][0]["values"]["w"][0] == pytest.approx(3, abs=1e-3)
    known = {e["name"]: e for e in tacit.json("reproduce", "list", "--out", out)}
    assert set(known) == set(names())
    assert known["quadratic"]["measured"] == "1 of 12 rows" and known["spam"]["measured"] == "not run"
    assert "quadratic" in tacit.ok("reproduce", "list", "--out", out)
    written = tacit.json("reproduce", "report", "--out", out, "--docs", docs)
    text = Path(written[0]).read_text("utf-8")
    assert "| E 200, η 0.05 | 3.0000 | 3.0000 |" in text and "11 of 12 rows not run" in text
    assert tacit.ok("reproduce", "report", "--out", out, "--docs", docs).strip() == written[0]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["quadratik"], ["quadratik", "did you mean 'quadratic'"]),
        (["quadratic", "spma"], ["did you mean 'spam'"]),
        (["spam"], ["sms-spam", "github.com", "--data"]),
        (["table-2", "--only", "ptb, fedsgd"], ["ptb", "wojzaremba", "--data"]),
        (["quadratic", "--only", "nothing like it"], ["no row", "E 1, η 0.05"]),
        (["quadratic", "--quick", "--only", "E 1"], ["--only", "--quick"]),
        (["quadratic", "--quick", "--minutes", "3"], ["--minutes", "--quick"]),
        (["quadratic", "--seeds", "0"], ["--seeds"]),
        (["quadratic", "--minutes", "nan"], ["--minutes nan"]),
        (["report", "--docs", "nowhere"], ["nowhere", "--docs"]),
        (["list", "--seeds", "3", "--quick"], ["list measures nothing", "--quick, --seeds"]),
        (["report", "--only", "ptb"], ["report measures nothing", "--only"]),
        (["quadratic", "--docs", "."], ["--docs is for"]),
    ],
)
def test_what_is_wrong_is_one_line(tacit, tmp_path, monkeypatch, arguments, named):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TACIT_DATA", str(tmp_path))
    tacit("reproduce", *arguments).refused(*named)


OWN = """
[settings]
preset = "fedadam"
"text.corpus" = "messages.jsonl"
"text.vocabulary" = 20
"model.embedding" = 8
"model.hidden" = 8
"sampling.clients" = 3
"training.rounds" = 1

[[grid]]
label = "server {server.lr}"
"server.lr" = [0.01, 0.1]

[[metrics]]
name = "perplexity"
label = "test perplexity"
"""


def test_an_entry_of_ones_own(tacit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_corpus(tmp_path / "messages.jsonl")
    (tmp_path / "mine.toml").write_text(OWN)
    found = tacit.json("reproduce", "mine.toml", "--seeds", 2, "--out", "out")
    assert [row["label"] for row in found["rows"]] == ["server 0.01", "server 0.1"]
    assert [len(row["values"]["perplexity"]) for row in found["rows"]] == [2, 2]
    assert json.loads((tmp_path / "out/mine.json").read_text("utf-8")) == found
    assert "test perplexity" in tacit.ok("reproduce", tmp_path / "mine.toml", "--seeds", 2, "--out", "out")


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("", "", ["nowhere.toml", "No such file"]),
        ("[[grid]]", "[grid]", ["mine", "'grid'", "[[grid]]"]),
        ("[settings]", "seeds = 0\n[settings]", ["mine", "seeds = 0"]),
        ("{server.lr}", "{lr}", ["row labels must be unique"]),
        ('"test perplexity"', '"p"\nform = "{:q}"', ["mine", "perplexity", "form"]),
        ('"test perplexity"', "3", ["mine", "perplexity", "label"]),
        ('preset = "fedadam"\n"text.corpus" = "messages.jsonl"', "", ["need a preset", "tacit presets"]),
        ("[[metrics]]", "[[metric]]", ["unknown key 'metric'", "'metrics'"]),
    ],
)
def test_what_is_wrong_with_an_entry_of_ones_own(tacit, tmp_path, old, new, named):
    (tmp_path / "mine.toml").write_text(OWN.replace(old, new))
    tacit("reproduce", tmp_path / ("mine.toml" if old else "nowhere.toml"), "--out", tmp_path).refused(*named)


def test_the_name_of_a_built_in_entry_is_taken(tacit, tmp_path):
    (tmp_path / "spam.toml").write_text(OWN)
    tacit("reproduce", tmp_path / "spam.toml", "--out", tmp_path).refused("spam.toml", "another name")


def test_a_metric_that_nothing_measures_is_named(tacit, tmp_path):
    (tmp_path / "mine.toml").write_text(
        'kind = "quadratic"\nseeds = 1\n[settings]\nrounds = 3\nsteps = 1\nlr = 0.1\n[[rows]]\nlabel = "one"\n'
        '[[metrics]]\nname = "ww"\nlabel = "w"\n'
    )
    tacit("reproduce", tmp_path / "mine.toml", "--out", tmp_path).refused("holds other files and no results")
    said = tacit.ok("reproduce", tmp_path / "mine.toml", "--out", tmp_path / "results")
    assert "not measured: ww; there are:" in said


def test_the_page_is_what_the_results_say():
    """docs/results.md was made from results/ as they are, by the entries as they are."""
    assert Path("docs/results.md").read_text("utf-8") == results_page.text(Path("results"))


def test_what_has_no_rounds_is_a_dashed_level():
    entry, plot = find("keyboard"), Plot(curve="top1", rows=("typists, server CIFG", "typists, 5-gram"))
    curves = {"x": [1, 2, 3], "y": [0.1, 0.3, 0.2]}, {"x": [0], "y": [0.25]}
    rows = {label: {"curves": {"top1": [kept] * 3}} for label, kept in zip(plot.rows, curves, strict=True)}
    both = results_page.draw(plot, entry, rows)
    assert all(label in both for label in plot.rows)
    moving = results_page.draw(plot, entry, {plot.rows[0]: rows[plot.rows[0]]})
    assert both.count("stroke-dasharray") == moving.count("stroke-dasharray") + 2  # the level, and its key
