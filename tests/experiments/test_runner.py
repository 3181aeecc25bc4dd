"""Sweeps that are killed and gone on with, results that are whole or not there, claims held against them."""

from __future__ import annotations

import json
import re
import shutil
import types

import pytest

import kill_points
from commands import tree
from tacit.base.errors import TacitError
from tacit.base.locks import held
from tacit.experiments import claims, results, results_page, runner
from tacit.experiments.entry import parse
from tacit.experiments.results import Measured

ENTRY = parse(
    "made",
    """
title = "Made up"
paper = 5
where = "Figure 0"
kind = "quadratic"
about = "Nothing."
takes = "an hour"
seeds = 2
[[rows]]
label = "low"
level = 1
[[rows]]
label = "high"
level = 2
[published.w]
low = 1.5
[[metrics]]
name = "w"
label = "w"
[[claims]]
says = "low is lower"
metric = "w"
order = ["low", "high"]
[[claims]]
says = "high is lower"
metric = "w"
order = ["high", "low"]
why = "because it is made up"
[[claims]]
says = "high is at most 2"
metric = "w"
row = "high"
at_most = 2
[[plot]]
curve = "path"
ylabel = "w"
[quick]
rows = ["low"]
settings = { level = 0 }
""",
)


@pytest.fixture
def measured(monkeypatch):
    """A kind that takes no time and remembers what it was asked; `stop` makes it die there."""
    asked, dies = [], []

    def measure(settings, seed, place):
        if (settings["level"], seed) in dies:
            raise KeyboardInterrupt
        asked.append((settings["level"], seed))
        value = settings["level"] + 0.25 * seed
        return Measured({"w": value}, {"path": ([0, 1], [0.0, value])})

    monkeypatch.setattr(runner, "measure_of", lambda kind: measure)
    return types.SimpleNamespace(asked=asked, dies=dies)


def test_a_killed_sweep_goes_on_and_its_results_are_whole_or_not_there(tmp_path, measured):
    measured.dies.append((2, 0))
    with pytest.raises(KeyboardInterrupt):
        runner.run(ENTRY, tmp_path)
    kept = json.loads((tmp_path / "made.json").read_text())
    assert [row["label"] for row in kept["rows"]] == ["low"] and kept["rows"][0]["seeds"] == [0, 1]
    assert (tmp_path / ".parts" / ".gitignore").read_text() == "*\n"
    assert measured.asked == [(1, 0), (1, 1)]
    measured.dies.clear()
    found = runner.run(ENTRY, tmp_path)
    assert measured.asked == [(1, 0), (1, 1), (2, 0), (2, 1)]  # nothing was measured twice
    assert [row["values"]["w"] for row in found["rows"]] == [[1.0, 1.25], [2.0, 2.25]]
    assert found == json.loads((tmp_path / "made.json").read_text())
    assert not (tmp_path / ".parts" / "made").exists()
    assert found["rows"][0]["seeds"] == [0, 1] and found["configuration"] == ENTRY.hash()


def test_what_was_measured_is_not_measured_again_unless_asked_for(tmp_path, measured):
    runner.run(ENTRY, tmp_path, only="low")
    runner.run(ENTRY, tmp_path)
    assert measured.asked == [(1, 0), (1, 1), (2, 0), (2, 1)]
    runner.run(ENTRY, tmp_path, only="low", seeds=3)  # more seeds than there are
    runner.run(ENTRY, tmp_path, only="high", again=True, seeds=1)
    assert measured.asked[4:] == [(1, 2), (2, 0)]


def test_a_sweep_that_runs_out_of_time_leaves_the_seeds_it_has_measured(tmp_path, measured, monkeypatch):
    at = [0.0]
    monkeypatch.setattr(runner.time, "monotonic", lambda: at[0])
    begun = runner.measure_of("quadratic")

    def slow(settings, seed, place):
        at[0] += 25
        return begun(settings, seed, place)

    monkeypatch.setattr(runner, "measure_of", lambda kind: slow)
    found = runner.run(ENTRY, tmp_path, minutes=1)
    assert {row["label"]: row["seeds"] for row in found["rows"]} == {"low": [0, 1], "high": [0]}
    assert measured.asked == [(1, 0), (1, 1), (2, 0)]
    assert len(runner.run(ENTRY, tmp_path, minutes=-1)["rows"]) == 2 and len(measured.asked) == 3
    found = runner.run(ENTRY, tmp_path)
    assert measured.asked[3:] == [(2, 1)] and [row["seeds"] for row in found["rows"]] == [[0, 1]] * 2
    assert not (tmp_path / ".parts" / "made").exists()


def test_rows_that_are_measured_again_stay_until_all_their_seeds_are(tmp_path, measured):
    runner.run(ENTRY, tmp_path)
    measured.dies.append((1, 1))
    with pytest.raises(KeyboardInterrupt):
        runner.run(ENTRY, tmp_path, again=True)
    assert results.measured(ENTRY, tmp_path)["low"]["seeds"] == [0, 1]
    measured.dies.clear()
    runner.run(ENTRY, tmp_path, again=True)  # goes on with the seed that is missing
    assert measured.asked[4:] == [(1, 0), (1, 1), (2, 0), (2, 1)]


def test_a_quick_run_never_touches_full_results(tmp_path, measured):
    runner.run(ENTRY, tmp_path)
    before = (tmp_path / "made.json").read_bytes()
    found = runner.run_quickly(ENTRY)
    assert [row["label"] for row in found["rows"]] == ["low"] and found["rows"][0]["settings"] == {"level": 0}
    runner.run_quickly(ENTRY, tmp_path)
    assert (tmp_path / "made.json").read_bytes() == before
    assert (tmp_path / "made.quick.json").is_file()
    assert results.measured(ENTRY, tmp_path)["low"]["values"]["w"] == [1.0, 1.25]


def test_rows_can_be_measured_apart_and_stale_ones_are_left_out(tmp_path, measured):
    runner.run(ENTRY, tmp_path, only="LOW")
    assert set(results.measured(ENTRY, tmp_path)) == {"low"}
    runner.run(ENTRY, tmp_path, only="high", seeds=1)
    assert set(results.measured(ENTRY, tmp_path)) == {"low", "high"}
    changed = parse("made", _text().replace("level = 2", "level = 3"))
    assert set(results.measured(changed, tmp_path)) == {"low"}
    with pytest.raises(TacitError, match="no row of 'made'"):
        runner.run(ENTRY, tmp_path, only="middle")


def _text() -> str:
    return """
title = "Made up"
paper = 5
where = "Figure 0"
kind = "quadratic"
about = "Nothing."
takes = "an hour"
[[rows]]
label = "low"
level = 1
[[rows]]
label = "high"
level = 2
[[metrics]]
name = "w"
label = "w"
"""


def test_a_damaged_results_file_is_one_line(tmp_path):
    (tmp_path / "made.json").write_text("{}")
    with pytest.raises(TacitError, match=r"made\.json"):
        results.measured(ENTRY, tmp_path)


def test_claims_hold_only_where_every_seed_says_so(tmp_path, measured):
    assert [v.outcome for v in claims.check(ENTRY, {})] == [claims.NOT_RUN] * 3
    runner.run(ENTRY, tmp_path)
    rows = results.measured(ENTRY, tmp_path)
    assert [v.outcome for v in claims.check(ENTRY, rows)] == [claims.SAME, claims.OTHER, claims.UNCLEAR]
    mixed = {**rows, "high": {**rows["high"], "values": {"w": [2.0, 0.5]}}}
    assert [v.outcome for v in claims.check(ENTRY, mixed)][:2] == [claims.UNCLEAR] * 2
    one = {label: {**row, "values": {"w": row["values"]["w"][:1]}} for label, row in rows.items()}
    assert [v.outcome for v in claims.check(ENTRY, one)] == [claims.OPEN] * 3  # the entry asks for two
    assert [v.outcome for v in claims.check(ENTRY, {**rows, "high": one["high"]})] == [claims.OPEN] * 3
    lacking = {**rows, "high": {**rows["high"], "values": {}}}
    assert [v.outcome for v in claims.check(ENTRY, lacking)] == [claims.NOT_RUN] * 3
    more = {**rows, "low": {**rows["low"], "values": {"w": [1.0, 1.25, 9.0]}}}  # of the third only one row
    assert claims.check(ENTRY, more)[0][1:] == (claims.SAME, "1.12 · 2.12")
    never = {**rows, "high": {**rows["high"], "values": {"w": [None, None]}}}
    assert [v.outcome for v in claims.check(ENTRY, never)] == [claims.SAME, claims.OTHER, claims.OTHER]


@pytest.mark.parametrize(
    ("by", "better", "found"),
    [
        (1.0, "low", "no"),
        (0.98, "low", "yes"),
        (1.0, "high", "yes"),
        (1.15, "high", "no"),
        (0.9, "high", "yes"),
        (100 / 101, "low", "yes"),  # just so much, which is within
        (1.01, "high", "yes"),
    ],
)
def test_a_claim_may_ask_for_more_or_less_than_being_better(by, better, found):
    text = _text().replace('label = "w"', f'label = "w"\nbetter = "{better}"')
    claim = f'[[claims]]\nsays = "s"\nmetric = "w"\norder = ["low", "high"]\nby = {by}\n'
    rows = {name: {"values": {"w": [v] * 3}} for name, v in (("low", 101.0), ("high", 100.0))}
    assert claims.check(parse("made", text + claim), rows)[0].outcome == found
    never = {name: {"values": {"w": [None] * 3}} for name in rows}
    assert claims.check(parse("made", text + claim), never)[0].outcome == claims.UNCLEAR  # no row got there


@pytest.mark.parametrize(
    ("claim", "values", "found"),
    [
        (
            'order = ["low", "high"]\nby = 2',
            ([10, 10, 10], [20, None, 30]),
            "yes",
        ),  # just half, far less, less
        ('order = ["low", "high"]\nby = 2', ([10, None, 10], [20, None, 30]), "no clear difference"),
        ('order = ["low", "high"]\nalike = 1.25', ([100, 100, 80], [125, 80, 80]), "yes"),
        ('order = ["low", "high"]\nalike = 1.25', ([100, 100, 80], [126, 80, 80]), "no clear difference"),
        ('order = ["low", "high"]\nalike = 1.25', ([100, 100, None], [10, 1000, 80]), "no"),
        ('order = ["low", "high"]\nalike = 1.25', ([None] * 3, [None] * 3), "no"),
        ('row = "low"\nat_most = 30', ([10, 10, 60], []), "no clear difference"),  # the mean would be 26.7
        ('row = "low"\nat_most = 30', ([None, 31, 60], []), "no"),
        ('row = "low"\nat_least = 30', ([30, 31, 60], []), "yes"),
        ('row = "low"\nat_least = 30', ([29, 29, 29], []), "no"),
    ],
)
def test_what_every_seed_must_say(claim, values, found):
    entry = parse("made", _text() + f'[[claims]]\nsays = "s"\nmetric = "w"\n{claim}\n')
    rows = {name: {"values": {"w": list(v)}} for name, v in zip(("low", "high"), values, strict=True)}
    assert claims.check(entry, rows)[0].outcome == found


def test_a_line_that_flattens():
    three = _text().replace("[[metrics]]", '[[rows]]\nlabel = "higher"\nlevel = 3\n[[metrics]]')
    claim = '[[claims]]\nsays = "s"\nmetric = "w"\nflattens = ["low", "high", "higher"]\n'
    for second, third, found in ((5.0, 5.5, "yes"), (5.0, 4.5, "yes"), (2.0, 5.0, "no"), (2.0, 3.0, "no")):
        values = {"low": [1.0] * 3, "high": [second] * 3, "higher": [third] * 3}
        rows = {name: {"values": {"w": v}} for name, v in values.items()}
        assert claims.check(parse("made", three + claim), rows)[0].outcome == found


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("", "the claim 's' needs"),
        ('row = "low"', "at_most or at_least"),
        ('order = ["low"]', "an order of rows"),
        ('flattens = ["low", "high"]', "three rows"),
        ('order = ["low", "high"]\nrow = "low"\nat_most = 1', "the claim 's' needs"),
    ],
)
def test_a_claim_that_says_nothing_is_refused(claim, said):
    with pytest.raises(TacitError, match=said):
        parse("made", _text() + f'[[claims]]\nsays = "s"\nmetric = "w"\n{claim}\n')
    with pytest.raises(TacitError, match="better must be 'low' or 'high'"):
        parse("made", _text().replace('label = "w"', 'label = "w"\nbetter = "hgih"'))


def test_the_page_says_what_was_found_and_what_was_not_run(tmp_path, measured, monkeypatch):
    other = parse("other", _text())
    monkeypatch.setattr(results_page, "entries", lambda: [ENTRY, other])
    docs = tmp_path / "docs"
    docs.mkdir()
    runner.run(ENTRY, tmp_path / "results")
    (docs / "results").mkdir()
    (docs / "results" / "gone.svg").write_text(f"{results_page._MARK}\nold")
    (docs / "results" / "mine.svg").write_text("mine")
    written = results_page.write(tmp_path / "results", docs)
    text = written[0].read_text("utf-8")
    assert "| low | 1.50 | 1.12 ± 0.18 |" in text
    assert "| high is lower | no | 2.12 · 1.12 | because it is made up |" in text
    assert "**Not run.** A full run takes an hour." in text
    assert "Measured with 2 seeds" in text
    assert [p.name.split(".")[0] for p in written[1:]] == ["made"]
    assert {p.name for p in (docs / "results").iterdir()} == {written[1].name, "mine.svg"}
    again = results_page.write(tmp_path / "results", docs)
    assert again[0].read_text("utf-8") == text
    with pytest.raises(TacitError, match="no such folder"):
        results_page.write(tmp_path / "results", tmp_path / "nowhere")
    for theirs in (written[1], written[0]):
        theirs.write_text("mine")
        before = tree(docs)
        with pytest.raises(TacitError, match=f"{theirs.name} exists and is not written by `tacit reproduce"):
            results_page.write(tmp_path / "results", docs)
        assert tree(docs) == before


def test_a_page_that_is_killed_while_written_has_its_plots(tmp_path, measured, monkeypatch):
    """At every write point: the old page or the new one, with all plots that it shows."""
    monkeypatch.setattr(results_page, "entries", lambda: [ENTRY])
    monkeypatch.setattr(results_page, "draw", lambda plot, entry, rows: f"{rows['low']['seeds']}")
    docs, start = tmp_path / "docs", tmp_path / "start"
    start.mkdir()
    runner.run(ENTRY, tmp_path / "results", seeds=1)
    old = results_page.write(tmp_path / "results", start)[0].read_text()
    runner.run(ENTRY, tmp_path / "results", seeds=2)
    shutil.copytree(start, docs)
    points = kill_points.count(lambda: results_page.write(tmp_path / "results", docs), docs)
    whole = tree(docs)
    for at in range(points):
        shutil.rmtree(docs)
        shutil.copytree(start, docs)
        assert kill_points.killed(lambda: results_page.write(tmp_path / "results", docs), docs, at, torn=True)
        page = (docs / "results.md").read_text()
        assert page in (old, whole["results.md"].decode())
        (shown,) = re.findall(r"\((results/.*svg)\)", page)
        assert (docs / shown).read_text().endswith("\n[0]" if page == old else "\n[0, 1]")
        results_page.write(tmp_path / "results", docs)
        assert tree(docs) == whole


def test_results_of_another_entry_are_not_written_over(tmp_path, measured):
    runner.run(ENTRY, tmp_path)
    other = parse("other", _text())
    (tmp_path / "made.json").rename(tmp_path / "other.json")
    before = (tmp_path / "other.json").read_bytes()
    with pytest.raises(TacitError, match="not results of 'other'"):
        runner.run(other, tmp_path)
    assert (tmp_path / "other.json").read_bytes() == before


def test_what_another_process_measures_is_left_to_it(tmp_path, measured):
    """Of `low` the second seed is in use elsewhere: seed 0 and all of `high` are measured, and later the rest."""
    busy = tmp_path / ".parts/made" / f"{ENTRY.row('low').hash('quadratic')}-1"
    busy.mkdir(parents=True)
    (busy / "state").write_text("its own")
    with held(busy):
        found = runner.run(ENTRY, tmp_path)
        assert {row["label"]: row["seeds"] for row in found["rows"]} == {"low": [0], "high": [0, 1]}
        assert (busy / "state").is_file()
    found = runner.run(ENTRY, tmp_path)
    assert measured.asked == [(1, 0), (2, 0), (2, 1), (1, 1)] and found["rows"][0]["seeds"] == [0, 1]


def test_curves_are_thinned_and_numbers_that_are_none_are_null(tmp_path):
    x = list(range(500))
    kept = results.thinned((x, [1 / 3] * 500))
    assert len(kept["x"]) == results.POINTS and kept["x"][0] == 0 and kept["x"][-1] == 499
    assert kept["y"][0] == 0.33333
    cell = results.cell(Measured({"a": float("nan"), "b": None, "c": 2}), 1.0)
    assert cell["values"] == {"a": None, "b": None, "c": 2.0}
    assert results.mean([1.0, None]) is None and results.mean([1.0, 2.0]) == 1.5
