"""A run over word-pieces is personalised and measured in words, as scoring measures it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from test_personalize import write_habits

import reference
from commands import TINY, WORDS, Commands
from tacit import runs
from tacit.federated.evaluation import scorer
from tacit.personal import split, trial
from tacit.personal.job import PersonalOptions, read_job
from tacit.runs.config import resolve
from tacit.scoring.scores import by_person

PIECES = 34


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, compiled: Path) -> Path:
    """A run over pieces, in which about half of the words have several, and people whom it never met."""
    here = tmp_path_factory.mktemp("pieces")
    write_habits(here / "habits.jsonl", people=14)
    counts = here / "counts.tsv"
    counts.write_text(
        "".join(f"{word}\t{900 // (n + 1) ** 2 + 1}\n" for n, word in enumerate(WORDS)), "utf-8"
    )
    settings = [
        *TINY,
        f"text.corpus={write_habits(here / 'messages.jsonl', people=10)}",
        f"text.pieces={PIECES}",
        f"text.inventory={counts}",
        "training.rounds=2",
    ]
    runs.train(resolve("fedavg", settings), here / "run")
    return here


@pytest.mark.parametrize("share", [(64, 16, 20), (30, 30, 40)])
def test_the_global_model_is_measured_as_scoring_measures_it(world: Path, share):
    """Accuracy, words and likelihood of each person's parts, against the scorer of whole runs."""
    options = PersonalOptions(str(world / "other.jsonl"), (2,), (0.5,), split=share)
    write_habits(world / "other.jsonl", people=7)
    job = read_job(world / "run", options)
    pieces = job.run.spelling.pieces
    # weights drawn at random suggest all pieces, in the middle of words, too
    params = reference.shaken(job.run.params, 3, 1.0)
    ready = trial.prepare(job.run.model, params, job.users, trial.Tuning(), pieces=pieces)
    score = scorer(job.run.model, job.run.spelling)
    whole = 0.0
    for part, measured in ((1, ready.second), (2, ready.third)):
        text = split.text_of_parts(job.users, part, part + 1)
        people = by_person(score(params, text), text)
        np.testing.assert_array_equal(measured.words, people.words)
        np.testing.assert_array_equal(measured.predictions, people.words + people.sentences)
        np.testing.assert_array_equal(measured.before.right, people.top1)
        np.testing.assert_array_equal(measured.before.top3, people.top3)
        np.testing.assert_allclose(measured.before.nll, people.nll, rtol=1e-5)
        whole += people.top3.sum()
        assert text.lengths.sum() > 1.2 * people.words.sum()  # many words have several pieces
    assert whole > 0


def test_the_command(world: Path, tacit: Commands, tmp_path: Path):
    """People repeat two phrases: tuning learns their words; their models are stored and predict words."""
    out = world / "run" / "personal"
    told = tacit.json(
        *("personalize", world / "run", "--corpus", world / "habits.jsonl", "--batch", "2", "--lr", "2"),
        *("--epochs", 4, "--split", "50/20/30", "--gate-tokens", 20, "--gate-baseline", 0.9, "--margin", 0),
    )
    assert told["users"] == 13 and told["grid"][0]["delta_mean"] > 0.05
    summary = json.loads((out / "summary.json").read_text("utf-8"))
    assert summary["split"] == [50, 20, 30]
    assert summary["condition"] == {"least_tokens": 20, "most_baseline": 0.9}
    assert "from 20 tokens to tune on" in summary["recommendation"]
    assert "first 50 %" in (out / "report.html").read_text("utf-8")
    said = tacit.json("predict", world / "run", "are you", "--user", summary["stored"][0])
    assert all(s["word"] in WORDS for s in said["suggestions"]) and said["suggestions"]
    # what nobody can meet leaves everybody the global model
    none = tacit.json(
        *("personalize", world / "run", "--corpus", world / "habits.jsonl", "--batch", "2", "--lr", "2"),
        *("--gate-tokens", 10**6, "--margin", 0, "--out", tmp_path / "none"),
    )
    assert none["gate"]["accepted_share"] == 0 == none["gate"]["delta_mean"]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--split", "80/20"), "--split 80/20"),
        (("--split", "a/b/c"), "64/16/20"),
        (("--split", "60/60/20"), "add up to 100"),
        (("--gate-baseline", "0"), "--gate-baseline 0"),
    ],
)
def test_bad_settings_are_one_line(world: Path, tacit: Commands, options, named):
    tacit("personalize", world / "run", *options).refused(named)
