"""`tacit reproduce --all`: what is next follows from the results, and nothing is measured twice."""

from __future__ import annotations

import io
import sys
import time
import types
from concurrent.futures import ThreadPoolExecutor

import pytest

from tacit.base.errors import TacitError
from tacit.experiments import next_rows, processes, runner
from tacit.experiments.entry import find, parse
from tacit.experiments.results import Measured, measured

FILE = """
title = "Made up"
paper = {paper}
where = "Figure 0"
kind = "quadratic"
about = "Nothing."
takes = "an hour"
seeds = 3
[[grid]]
label = "{name} {{level}}"
level = [1, 2, 3]
[[metrics]]
name = "w"
label = "w"
[[claims]]
says = "1 is lower"
metric = "w"
order = ["{name} 1", "{name} 2"]
"""
ENTRIES = [parse(name, FILE.format(paper=paper, name=name)) for paper, name in ((3, "a"), (5, "b"), (5, "c"))]


@pytest.fixture
def asked(monkeypatch):
    """A kind that takes no time; what it was asked is remembered, and `stop` ends a call after so many."""
    found = types.SimpleNamespace(rows=[], lacking=())

    def measure(settings, seed, place):
        name = place.folder.parent.name
        if name in found.lacking:
            raise TacitError(f"{name}: no data")
        found.rows.append((name, settings["level"], seed))
        return Measured({"w": settings["level"]}, {"path": ([0, 1], [0.0, seed])})

    monkeypatch.setattr(runner, "measure_of", lambda kind: measure)
    monkeypatch.setattr(runner, "entries", lambda: ENTRIES)
    return found


def test_every_row_once_then_the_seeds_that_claims_need(tmp_path, asked):
    done = next_rows.run_next(ENTRIES, tmp_path)
    first = [(name, level, 0) for name in "abc" for level in (1, 2, 3)]
    assert sorted(asked.rows[:9]) == sorted(first)
    # one row of every entry comes before the second of any
    assert [name for name, _, _ in asked.rows[:3]] == ["a", "b", "c"]
    # level 3 is in no claim, and seed 0 is there already
    assert sorted(asked.rows[9:]) == [(n, level, seed) for n in "abc" for level in (1, 2) for seed in (1, 2)]
    assert len(done.measured) == 15 and done.left == 0 and not done.refused
    kept = measured(ENTRIES[0], tmp_path)
    assert {label: row["seeds"] for label, row in kept.items()} == {
        "a 1": [0, 1, 2],
        "a 2": [0, 1, 2],
        "a 3": [0],
    }
    assert [curve["y"][1] for curve in kept["a 1"]["curves"]["path"]] == [0, 1, 2]
    assert next_rows.run_next(ENTRIES, tmp_path).measured == [] and len(asked.rows) == 21


def test_it_goes_on_where_it_was(tmp_path, asked, monkeypatch):
    at = [0.0]

    def clock():
        at[0] += 7.0
        return at[0]

    monkeypatch.setattr("time.monotonic", clock)  # of both modules
    calls = 0
    while next_rows.next_rows(ENTRIES, tmp_path):
        before = len(asked.rows)
        done = next_rows.run_next(ENTRIES, tmp_path, minutes=1)
        assert len(asked.rows) - before <= 12 and (done.measured or len(asked.rows) > before)
        calls += 1
    assert calls > 2 and len(set(asked.rows)) == len(asked.rows) == 21


def test_missing_data_leaves_the_others(tmp_path, asked):
    asked.lacking = ("b",)
    done = next_rows.run_next(ENTRIES, tmp_path)
    assert list(done.refused) == ["b"] and "no data" in done.refused["b"]
    assert {name for name, _, _ in asked.rows} == {"a", "c"} and done.left == 3


def test_a_row_that_fails_on_the_device_leaves_the_others(tmp_path, asked, monkeypatch):
    measure = runner.measure_of("quadratic")

    def without_memory(settings, seed, place):
        if settings["level"] == 2 and place.folder.parent.name == "a":
            raise RuntimeError("RESOURCE_EXHAUSTED: out of memory\nwhile trying to allocate")
        return measure(settings, seed, place)

    monkeypatch.setattr(runner, "measure_of", lambda kind: without_memory)
    done = next_rows.run_next(ENTRIES, tmp_path)
    assert list(done.refused) == ["a, a 2"] and "RESOURCE_EXHAUSTED" in done.refused["a, a 2"]
    assert done.left == 1 and len(asked.rows) == 21 - 3


def test_several_share_the_rows_and_lose_none(tmp_path, asked, monkeypatch):
    """Four at once, each with locks of its own: every row and seed is measured once, and all are in the results."""
    measure = runner.measure_of("quadratic")

    def slowly(settings, seed, place):
        time.sleep(0.01)
        return measure(settings, seed, place)

    monkeypatch.setattr(runner, "measure_of", lambda kind: slowly)
    monkeypatch.setattr(next_rows, "_PATIENCE", 0.02)
    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(next_rows.run_next, ENTRIES, tmp_path) for _ in range(4)]
        done = [call.result() for call in calls]
    assert len(asked.rows) == 21 == len(set(asked.rows))
    assert {one.left for one in done} == {0} and not any(one.refused for one in done)
    assert sum(bool(one.measured) for one in done) > 1  # more than one had work
    for entry in ENTRIES:
        seeds = {label: row["seeds"] for label, row in measured(entry, tmp_path).items()}
        assert list(seeds.values()) == [[0, 1, 2], [0, 1, 2], [0]]
        assert not (tmp_path / ".parts" / entry.name).exists()


@pytest.mark.slow
def test_processes_share_the_rows(tacit, tmp_path):
    told = tacit.json(
        "reproduce", "--all", "ngram-parameters", "--processes", "2", "--out", tmp_path / "results"
    )
    entry = find("ngram-parameters")
    assert told["left"] == 0 and not told["refused"]
    assert {row["row"] for row in told["measured"]} == {row.label for row in entry.rows}
    assert set(measured(entry, tmp_path / "results")) == {row.label for row in entry.rows}


def test_a_process_that_fails_is_named(tmp_path):
    files = [
        (io.BytesIO(b'{"measured": [], "refused": {}}'), io.BytesIO()),
        (io.BytesIO(), io.BytesIO(b"no\n")),
    ]
    done = processes._together([0, 2], files, ENTRIES, tmp_path / "results")
    assert done.refused == {"process 2": "no"} and done.left == 9 and not done.measured


def test_if_every_process_fails_the_command_does(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(TacitError, match="no process measured anything: ended with code 1"):
        processes.run_shared(ENTRIES, tmp_path / "results", None, 1.0, 2)


def test_the_processes_run_nothing_of_the_current_directory(tmp_path, monkeypatch):
    here = tmp_path / "here"
    (here / "tacit").mkdir(parents=True)
    for name in ("runpy.py", "json.py", "sitecustomize.py", "tacit/__init__.py", "tacit/__main__.py"):
        (here / name).write_text("open('was run', 'w')\nraise SystemExit(7)\n")
    monkeypatch.chdir(here)
    monkeypatch.setenv("PYTHONPATH", str(here))
    done = processes.run_shared([find("ngram-parameters")], tmp_path / "results", None, 0.0, 1)
    assert not done.refused and not (here / "was run").exists()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--all", "report"], ["--all", "leave out report"]),
        (["--all", "spma"], ["no experiment 'spma'", "spam"]),
        (["spam", "--processes", "2"], ["--processes is for --all"]),
        (["--all", "--seeds", "3", "--quick"], ["--quick, --seeds"]),
        (["--all", "--processes", "99999999999"], ["--processes", "256"]),
        (["quadratic", "--quick", "--seeds", "99999999999"], ["--seeds", "10000"]),
        ([], ["--all", "tacit reproduce list"]),
    ],
)
def test_options_that_do_not_go_together(tacit, arguments, named):
    tacit("reproduce", *arguments).refused(*named)


def test_without_data_and_time_it_says_what_is_left(tacit, tmp_path):
    told = tacit.json("reproduce", "--all", "--minutes", "0", "--out", tmp_path / "results")
    assert told["measured"] == [] and told["left"] > 100
    said = tacit.ok("reproduce", "--all", "--minutes", "0", "--out", tmp_path / "r")
    assert f"{told['left']} lack a result or a seed; the same command measures them" in said
