"""A run that one table has made is not made again for another; what the other asks of it is looked up anew."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from tacit.experiments import results_page, runner
from tacit.experiments.entry import entries, find
from tacit.experiments.kinds.text import borrow
from tacit.experiments.results import POINTS, Measured, cell, measured, row_of, write

SOURCE, LABEL = "table-2", "PTB, FedAvg, C 0.1"


def made(name=SOURCE, label=LABEL, seeds=3, values=None):
    """A row of results as a run would have left it."""
    entry = find(name)
    curves = {"perplexity": ([5, 10, 15], [400.0, 290.0, 310.0]), "top1": ([5, 10, 15], [0.1, 0.2, 0.15])}
    cells = [
        cell(Measured(values or {"perplexity": 230.0 + s, "transposed": 9.0, "rounds": None}, curves), 60.0)
        for s in range(seeds)
    ]
    return row_of(entry.row(label), entry.kind, list(range(seeds)), cells)


@pytest.fixture
def results(tmp_path):
    write(find(SOURCE), [made()], tmp_path / f"{SOURCE}.json")
    return tmp_path


def test_no_noise_is_a_row_of_the_table_before(results):
    noise = find("noise")
    found = runner.run(noise, results, only="PTB, FedAvg", minutes=0)  # no time to measure anything
    assert [row["label"] for row in found["rows"]] == ["PTB, FedAvg, β 0"]
    row = found["rows"][0]
    assert row["from"] == [SOURCE, LABEL]
    assert row["values"] == {"perplexity": [230.0, 231.0, 232.0], "rounds": [None] * 3}  # and no other score
    assert row["configuration"] == noise.row("PTB, FedAvg, β 0").hash("text")
    kept = measured(noise, results)
    assert "Runs shared with table-2: 1." in results_page._provenance(noise, kept)
    assert (
        " in " not in results_page._provenance(noise, kept).split(";")[0].split(" on ")[1]
    )  # its time was counted there
    assert found["seconds"] == 0


def test_a_row_that_was_lent_says_where_it_was_measured_first(results):
    """FedAvg of the best federated configurations is the same run on WikiText-2."""
    first = made(label="WikiText-2, FedAvg, C 0.1")
    write(find(SOURCE), [first], results / f"{SOURCE}.json")
    for name, label in (("noise", "WikiText-2, FedAvg, β 0"), ("best-federated", "WikiText-2, FedAvg, E 5")):
        found = runner.run(find(name), results, only=label, minutes=0)
        lent = {row["label"]: row["from"] for row in found["rows"]}
        assert lent[label] == [SOURCE, "WikiText-2, FedAvg, C 0.1"]


def test_rows_that_stand_in_the_results_are_those_they_were_lent_from():
    folder = Path("results")
    lent = [row for e in entries() for row in measured(e, folder).values() if "from" in row]
    assert lent
    for row in lent:
        name, label = row["from"]
        source = measured(find(name), folder)[label]
        lends = importlib.import_module(f"tacit.experiments.kinds.{find(name).kind}").borrow
        assert row["values"] == lends(row["settings"], source), row["label"]


@pytest.mark.parametrize("seeds", [[0, 1, 2, 3], [1, 2], [2]])
def test_other_seeds_are_not_borrowed(results, seeds):
    entry = find("noise")
    assert runner.borrowed(entry, [entry.row("PTB, FedAvg, β 0")], seeds, results) == []


def test_more_seeds_than_asked_are_borrowed_whole(results):
    entry = find("noise")
    (row,) = runner.borrowed(entry, [entry.row("PTB, FedAvg, β 0")], [0], results)
    assert row["seeds"] == [0, 1, 2] and len(row["values"]["perplexity"]) == 3


@pytest.mark.parametrize("label", ["PTB, FedAvg, β 0.01", "PTB, FedAtt, β 0", "WikiText-2, FedAvg, β 0"])
def test_another_run_is_not_borrowed(results, label):
    entry = find("noise")
    assert runner.borrowed(entry, [entry.row(label)], range(3), results) == []


def test_asked_for_again_nothing_is_borrowed(results, monkeypatch):
    def measure(settings, seed, place):
        return Measured({"perplexity": 1.0})

    monkeypatch.setattr(runner, "measure_of", lambda kind: measure)
    for again in (False, True):
        found = runner.run(find("noise"), results, only="PTB, FedAvg, β 0", again=again)
        row = next(row for row in found["rows"] if row["label"] == "PTB, FedAvg, β 0")
        assert ("from" in row) is not again
        assert row["values"]["perplexity"][0] == (1.0 if again else 230.0)


def test_what_was_measured_anew_is_borrowed_anew(results):
    noise = find("noise")
    runner.run(noise, results, only="PTB, FedAvg, β 0", minutes=0)
    write(find(SOURCE), [made(values={"perplexity": 99.0, "rounds": None})], results / f"{SOURCE}.json")
    found = runner.run(noise, results, only="PTB, FedAvg, β 0", minutes=0)
    assert found["rows"][0]["values"]["perplexity"] == [99.0] * 3


def test_a_seed_that_was_begun_is_forgotten_when_the_row_is_borrowed(results):
    noise = find("noise")
    begun = results / ".parts" / "noise" / f"{noise.row('PTB, FedAvg, β 0').hash('text')}-0.json"
    begun.parent.mkdir(parents=True)
    begun.write_text("{}")
    runner.run(noise, results, only="PTB, FedAvg, β 0", minutes=0)
    assert not begun.parent.exists()


def test_another_target_is_looked_for_in_the_curve():
    settings = find(SOURCE).row(LABEL).settings
    assert borrow({**settings, "target": 300.0}, made())["rounds"] == [10.0] * 3
    assert borrow({**settings, "target": 250.0}, made())["rounds"] == [None] * 3
    assert borrow({**settings, "target_top1": 0.15}, made())["rounds"] == [10.0] * 3


def test_the_same_target_was_looked_for_where_the_curve_was_whole():
    """A curve is thinned when it is kept; the round that was found then is not looked for in what is left."""
    row = made(values={"perplexity": 230.0, "transposed": 9.0, "rounds": 7.0})
    row["settings"] = {**row["settings"], "target": 300.0}
    assert borrow(row["settings"], row)["rounds"] == [7.0] * 3
    full = {"x": list(range(POINTS)), "y": [1.0] * POINTS}
    row["curves"] = {"perplexity": [full] * 3, "top1": [full] * 3}
    assert borrow(row["settings"], row)["rounds"] == [7.0] * 3
    assert borrow({**row["settings"], "target": 250.0}, row) is None


def test_of_a_seed_that_diverged_no_target_is_looked_for():
    settings, row = find(SOURCE).row(LABEL).settings, made()
    row["curves"] = {k: [*curves[:2], None] for k, curves in row["curves"].items()}
    assert borrow({**settings, "target": 300.0}, row) is None
    assert borrow(settings, row)["perplexity"] == [230.0, 231.0, 232.0]


def test_a_score_that_was_not_taken_cannot_be_borrowed():
    settings = find(SOURCE).row(LABEL).settings
    without = made(values={"perplexity": 230.0, "rounds": None})
    assert borrow(settings, without) is None  # table-2 wants the transposed score
    plain = {k: v for k, v in settings.items() if k != "transposed"}
    assert borrow(plain, without)["perplexity"] == [230.0] * 3
    assert (
        borrow({**plain, "target": 300.0}, {**without, "curves": {}}) is None
    )  # a run that diverged left none
