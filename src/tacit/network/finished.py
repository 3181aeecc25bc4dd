"""Lets clients score or personalise the model of a finished run, and adds their answers."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tacit import runs
from tacit.base.errors import TacitError
from tacit.base.progress import Progress
from tacit.network.office import Courier, Office, Terms
from tacit.network.tasks.evaluate import reported_scores
from tacit.network.tasks.personalize import Answered, Job, device_reports, network_reports
from tacit.network.training import networked
from tacit.personal import choosing, private, sums
from tacit.personal.choosing import Devices, People, Personalised
from tacit.personal.job import PersonalOptions, read_word_run
from tacit.personal.personalize import store
from tacit.personal.split import LEAST_MESSAGES, LEAST_WORDS
from tacit.personal.strategies import Strategy
from tacit.personal.sums import DeviceReport
from tacit.personal.trial import Tuning
from tacit.runs.config import Config
from tacit.runs.evaluate import federated_figures
from tacit.text.prepare import TextConfig

NO_NOISE = "scores of clients are added without noise; the ε of a private run does not cover these figures"
WHOSE = "clients of the federation; the run may have been trained on their earlier messages"


def checked_run(path: Path) -> runs.Run:
    """Reads a run whose model clients can use; refuses one over word-pieces."""
    runs.read_config(path)  # refuses what is not a run
    run = runs.load(path)
    if run.spelling:
        raise TacitError(
            f"{path} is over word-pieces, which a federation does not support; give a run over words"
        )
    return run


def config_of(run: runs.Run) -> Config:
    """Returns what clients need of a run's configuration: its model and how text is read, not how it was trained."""
    given, text = run.config, run.config.text
    reading = TextConfig(
        locale=text.locale,
        case=text.case,
        vocabulary=text.vocabulary,
        max_words=text.max_words,
        held_out_text=text.held_out_text,
    )
    return networked(
        dataclasses.replace(Config(), name=given.name, seed=given.seed, model=given.model, text=reading)
    )


def office_of(run: runs.Run, courier: Courier, population: Callable[[], int], terms: Terms) -> Office:
    """Returns the server's side of a federation for the model of a run."""
    return Office(courier, config_of(run), run.vocabulary, population(), terms, Counter())


def evaluate(path: Path, courier: Courier, population: Callable[[], int], terms: Terms) -> dict[str, Any]:
    """Scores a run's best model on the latest messages of all clients who are present; returns the figures."""
    run = checked_run(path)
    office = office_of(run, courier, population, terms)
    scores, people = reported_scores(office, run.params)
    if not people:
        raise TacitError("no client scored the model; start clients with more than a few messages each")
    return {
        "text": "latest messages of clients",
        **federated_figures(scores, people),
        "clients": office.population,
        "refused": dict(office.refused),
        "epsilon": None,
        "epsilon_reason": NO_NOISE,
    }


def personalize(
    path: Path,
    out: Path,
    options: PersonalOptions,
    courier: Courier,
    population: Callable[[], int],
    terms: Terms,
) -> Personalised:
    """Personalises a run's model on the clients and writes the directory that `tacit personalize` writes."""
    run = read_word_run(path)
    return store(path, out, lambda: personalised(run, options, office_of(run, courier, population, terms)))


def personalised(run: runs.Run, options: PersonalOptions, office: Office) -> Personalised:
    """Personalises on all clients who are present: they report, the server chooses; writes nothing."""
    seed = office.config.seed
    # batches of equal words would need to know how long other people's sentences are
    tuning = Tuning(options.max_tokens, options.epochs, office.config.text.max_words, "sentences", seed)
    guard = private.guard(options.protection, choosing.tables(options))
    measured: list[Answered] = []  # by the grid, then by other strategies

    def asked(strategies: Sequence[Strategy], margins: Sequence[float] = ()) -> Answered:
        job = Job(tuple(strategies), tuning, tuple(margins), guard.is_bounded)
        return network_reports(office, run.params, job)

    def totals(strategies: Sequence[Strategy], progress: Progress) -> dict[Strategy, DeviceReport]:
        measured.append(asked(strategies))
        _check_people(measured[0])
        reports = device_reports(measured[-1].tables, strategies)
        return {s: guard.protect_total(report) for s, report in reports.items()}

    def gate_totals(
        strategies: Sequence[Strategy], margins: Sequence[float], progress: Progress
    ) -> dict[Strategy, np.ndarray]:
        tables = asked(strategies, margins).tables["gate"]
        return {s: guard.protect_gate_total(tables[i]) for i, s in enumerate(strategies)}

    found = choosing.tried(options, Devices(totals, gate_totals, lambda: _in_halves(measured[0])))
    people = People(WHOSE, sum(_in_halves(measured[0])), measured[0].left_out)
    result = choosing.result(run, options, tuning, people, found, guard)
    return result._replace(summary=result.summary | {"refused": dict(office.refused)})


def _in_halves(answered: Answered) -> list[int]:
    """Returns how many people of each half reported."""
    people = answered.tables["by_tokens"][0, :, :, sums.FIGURES.index("users")].sum(axis=1)  # [groups]
    return [int(people[half::2].sum()) for half in (0, 1)]


def _check_people(answered: Answered) -> None:
    if not sum(_in_halves(answered)):
        raise TacitError(
            f"none of {sum(answered.left_out.values())} clients that answered has enough text ({LEAST_MESSAGES} "
            f"messages, {LEAST_WORDS} words, a known word in each part)"
        )
