"""Rows of papers 3 and 4, which share a trained network, against the commands that they stand for."""

from __future__ import annotations

import json
import math
import os
import shutil
from pathlib import Path

import pytest

from tacit.base.errors import TacitError
from tacit.base.locks import InUse
from tacit.base.reading import read_object
from tacit.counts.counted import CountOptions, counted_words
from tacit.experiments import base_runs, runner
from tacit.experiments.applications import APPS, CACHES, LOGS, query, typed
from tacit.experiments.entry import entries, find
from tacit.experiments.kinds import applications, counting, distilled, personal, sentences, sizes
from tacit.experiments.runner import Place
from tacit.personal.job import PersonalOptions, read_job
from tacit.personal.personalised import personalised
from tacit.runs.config import resolve

KINDS = {
    "personal": personal,
    "counting": counting,
    "sentences": sentences,
    "distilled": distilled,
    "applications": applications,
}
WHOLE = pytest.mark.skipif(os.environ.get("TACIT_EXPERIMENTS") != "all", reason="make test-experiments")


@pytest.mark.parametrize("entry", [e for e in entries() if e.kind in KINDS], ids=lambda e: e.name)
def test_settings_of_all_rows_are_valid(entry):
    assert entry.scale  # none of them is at the paper's scale
    for row in (*entry.rows, *entry.quickly().rows):
        KINDS[entry.kind].check(row.settings)


@pytest.mark.parametrize(
    ("name", "change", "named"),
    [
        ("personal-grid", {"personal.batch": 0}, "--batch"),
        ("personal-slices", {"personal.slice": 4}, "personal.slice"),
        ("personal-grid", {"client.lr": -1}, "client.lr"),
        ("count-clipping", {"count.row": "2"}, "count.row must be one of: baseline, 1, 1000"),
        ("ngram-words", {"distill.row": "x"}, "distill.row"),
        ("keyboard-applications", {"apps.test": "x"}, "apps.test"),
    ],
)
def test_bad_settings_are_refused_before_training(name, change, named):
    entry = find(name)
    with pytest.raises(TacitError, match=named):
        KINDS[entry.kind].check({**entry.rows[0].settings, **change})


def test_the_histogram_s_rows_are_those_of_the_grid():
    grid, histograms = find("personal-grid"), find("personal-histograms")
    assert [(r.label, r.settings) for r in grid.rows] == [(r.label, r.settings) for r in histograms.rows]
    assert personal.borrow(
        grid.rows[0].settings, {"settings": dict(grid.rows[0].settings), "values": {"a": [1]}}
    )
    assert (
        personal.borrow(grid.rows[0].settings, {"settings": dict(grid.rows[1].settings), "values": {}})
        is None
    )


def test_a_row_of_personalisation_is_what_the_command_measures(tmp_path, compiled: Path):
    """Change and shares, and the slices: together everybody, and each mean by the number of its people."""
    settings = {**find("personal-grid").quickly().rows[0].settings, "personal.lr": 4.0}
    place = Place(None, tmp_path / "row")
    found = personal.measure(settings, 0, place)
    (run,) = tmp_path.glob("base.*")
    job = read_job(run, PersonalOptions(None, (5,), (4.0,), users=5))
    row = personalised(job).summary["grid"][0]
    for name, key in (
        ("delta", "delta_mean"),
        ("baseline", "baseline"),
        ("gain_share", "gain_share"),
        ("users",) * 2,
    ):
        assert found.values[name] == row[key], name
    assert sum(found.curves["share"][1]) == pytest.approx(1)
    for by in ("tokens", "baseline"):
        parts = [
            personal.measure({**settings, "personal.by": by, "personal.slice": i}, 0, place).values
            for i in range(4)
        ]
        assert sum(p["users"] for p in parts) == row["users"]
        mean = sum(p["users"] * (p["delta"] or 0) for p in parts) / row["users"]
        assert mean == pytest.approx(row["delta_mean"], abs=1e-6)
    assert len(list(tmp_path.glob("base.*"))) == 1  # one network for all rows


def test_entries_share_a_network_in_results_and_nothing_in_a_quick_run(tmp_path):
    assert base_runs.shared_folder(Place(None, tmp_path / ".parts" / "entry" / "row")) == tmp_path / ".parts"
    assert base_runs.shared_folder(Place(None, tmp_path / "parts" / "row")) == tmp_path / "parts"


def test_a_network_that_another_process_trains_is_waited_for_elsewhere(tmp_path):
    place = Place(None, tmp_path / "row")
    settings = base_runs.own(find("personal-grid").quickly().rows[0].settings, "personal.")[0]
    path = base_runs.trained(settings, 0, place)
    shutil.rmtree(path)
    with base_runs.made_once(path, "summary.json") as is_missing:
        assert is_missing
        with pytest.raises(InUse):
            base_runs.trained(settings, 0, place)
    assert base_runs.trained(settings, 0, place) == path and (path / "summary.json").is_file()
    with base_runs.made_once(path, "summary.json") as is_missing:
        assert not is_missing
    assert not list(tmp_path.glob("lock.*"))


def test_rows_of_a_count_are_what_the_command_counts(tmp_path):
    quick = find("count-clipping").quickly()
    config = resolve("fedavg", ["text.corpus=typists", "typists.users=24", "typists.messages=12"])
    counted = counted_words(
        config, CountOptions((1, 1000, 5000, math.inf), supplement="typists", rounds=8, cohort=4)
    )
    for row in quick.rows:
        found = counting.measure(row.settings, 0, Place(None, tmp_path / "row"))
        expected = counted.summary["table1"][row.settings["count.row"]]
        assert found.values["oov"] == expected["oov"] and found.values["top1"] == expected["top1"]
    high = expected["oov_change"] + expected["oov_change_ci95"]
    assert found.values["oov_high"] == high and found.values["seen"] == counted.summary["seen"]
    rounds, seen = found.curves["seen"]
    assert rounds == [*range(1, 9)] and list(seen) == [line["seen"] for line in counted.lines]
    assert found.values["late"] == seen[-1] - seen[-2]


def test_sizes_of_the_paper_s_table_2(tmp_path):
    """By the formula of docs/models.md."""
    for row in find("ngram-parameters").rows:
        found = sizes.measure(row.settings, 0, Place(None, tmp_path)).values
        h, e, v, layers = (found["hidden"], found["width"], row.settings["vocabulary"], found["layers"])
        if row.label != "P4K-G":
            assert found["parameters"] == v * (e + 1) + layers * (6 * h * e + 3 * h + h * e + 8 * h)
        assert found["embedding"] == v * e


@pytest.mark.parametrize("shares", [LOGS, CACHES])
def test_applications_have_their_shares_and_lose_no_message(shares):
    """Of many texts; what was sent as a message is there word for word, and every third of a note is a message."""
    messages = [f"did the word{n} fall" for n in range(6000)]
    found = [one for person in range(3) for one in typed(messages, shares, person)]
    for app, share in zip(APPS, shares, strict=True):
        assert sum(one.app == app for one in found) / len(found) == pytest.approx(share, abs=0.02)
    first = list(typed(messages, shares, 0))
    read = [word for one in first for word in one.text.split() if word.startswith("word")]
    assert read == [f"word{n}" for n in range(6000)]
    assert {len(one.text.split()) for one in first if one.app == "search"} == {2}
    assert list(typed(messages, shares, 0)) == first != list(typed(messages, shares, 1))
    assert query("the of a") == "the of a"  # nothing else to search for


def test_models_of_applications_learn_from_other_people_than_they_are_measured_on(tmp_path, compiled: Path):
    quick = find("keyboard-applications").quickly()
    for row in quick.rows:
        found = applications.measure(row.settings, 0, Place(None, tmp_path / "row"))
        assert 0 <= found.values["top1"] <= found.values["top3"] <= 1 and found.values["perplexity"] > 1
    people = {
        path.name.partition("-")[0] + path.name.split("-")[1]: {
            json.loads(line)["user"] for line in path.read_text("utf-8").splitlines()
        }
        for path in tmp_path.glob("*.jsonl")
    }
    assert {name: len(users) for name, users in people.items()} == {
        "logs0": 12, "caches12": 12, "logs24": 4, "caches24": 4,
    }  # fmt: skip
    assert people["logs24"] == people["caches24"]
    assert (
        not people["logs0"] & people["caches12"]
        and not (people["logs0"] | people["caches12"]) & people["logs24"]
    )


@WHOLE
def test_distilled_rows_are_the_command_s_models(tmp_path, compiled: Path):
    quick = find("ngram-words").quickly()
    settings = {**quick.rows[0].settings}
    rows = ("network", "baseline", "collected", "e", "r")
    found = {
        row: distilled.measure({**settings, "distill.row": row}, 0, Place(None, tmp_path / row)).values[
            "perplexity"
        ]
        for row in rows
    }
    assert len(set(found.values())) == 5 and len(list(tmp_path.glob("base.*"))) == 1
    folders = list(tmp_path.glob("ngram.*"))
    assert len(folders) == 2  # topologies e and r
    models = [read_object(folder / "summary.json")["models"] for folder in folders]
    assert {found["e"], found["r"]} == {m["n-gram"]["perplexity"] for m in models}
    assert found["collected"] in {m["Kneser-Ney, collected text"]["perplexity"] for m in models}


def test_measure_of_knows_the_kinds():
    assert all(runner.measure_of(name) is kind.measure for name, kind in KINDS.items())
