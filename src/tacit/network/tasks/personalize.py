"""Personalises a model on a client and sends the reports of paper 3 (section 2), which are only added.

    stage "grid"   strategies            →  a device report for each strategy (`personal.sums`)
    stage "gate"   strategies, margins   →  a gate report for each strategy (`personal.gate`)

A client fine-tunes the model on its own text and measures it on its later text, by the functions of the simulator. A
report consists of whole numbers. No model and no gradient leaves the client. A client with too little text reports only
the reason.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import numpy as np

from tacit.models import LanguageModel, language_model
from tacit.models.base import Params
from tacit.network.office import Office
from tacit.network.person import Person, read_words, understood
from tacit.network.tasks.kind import Arrays, Kind
from tacit.network.work import (
    Expected,
    Facts,
    Parcel,
    Refusal,
    check_arrays,
    expected,
    named,
    rebuilt,
    without_words,
)
from tacit.personal import gate, private, sums, trial
from tacit.personal.mixing import MIXES, Mix
from tacit.personal.model_parts import MODEL_PARTS
from tacit.personal.split import REASONS, Users, split
from tacit.personal.strategies import Strategy
from tacit.personal.sums import FIGURES, DeviceReport
from tacit.text.encode import of_people, packed
from tacit.text.held_out import LONGEST_SCORED

_PROGRAMS = 2  # configurations whose compiled programs a client keeps
_STRATEGIES, _MARGINS = 100, 32  # in one task
_MOST = 2**40  # of a figure in one person's report


class Job(NamedTuple):
    """Holds what a task asks for, besides the model."""

    strategies: tuple[Strategy, ...]
    tuning: trial.Tuning
    margins: tuple[float, ...]  # of the gate; none: the grid
    bounded: bool  # whether reports are clipped to the bounds of `personal.private`

    def text(self) -> str:
        """Returns it as a fact of a task."""
        return json.dumps(
            {
                "strategies": [[s.batch, s.rates, s.part, s.mix] for s in self.strategies],
                "tuning": dataclasses.asdict(self.tuning),
                "margins": self.margins,
                "bounded": self.bounded,
            }
        )


def read_job(text: str) -> Job:
    """Reads the fact of a task; refuses what this client does not know."""
    try:
        said = json.loads(text)
        found = Job(
            tuple(Strategy(b, tuple(rates), part, Mix(*mix)) for b, rates, part, mix in said["strategies"]),
            trial.Tuning(**said["tuning"]),
            tuple(said["margins"]),
            said["bounded"],
        )
        is_known = _is_known(found)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        is_known = False
    if not is_known:
        raise Refusal("schema", "its strategies are not those of a personalisation")
    return found


def _is_known(job: Job) -> bool:
    def is_number(value: Any, least: float, most: float) -> bool:
        return type(value) in (int, float) and least <= value <= most

    def is_whole(value: Any, least: int, most: int = 2**31 - 1) -> bool:
        return type(value) is int and least <= value <= most

    tuning = job.tuning
    return (
        0 < len(job.strategies) <= _STRATEGIES
        and all(is_whole(s.batch, 1) and s.part in MODEL_PARTS for s in job.strategies)
        and all(s.mix in (Mix(), *MIXES) for s in job.strategies)
        and all(len(s.rates) in (1, len(sums.TOKEN_EDGES) + 1) for s in job.strategies)
        and all(is_number(rate, 1e-30, 1e30) for s in job.strategies for rate in s.rates)
        and is_whole(tuning.max_tokens, 0)
        and is_whole(tuning.epochs, 1, 1000)
        and is_whole(tuning.max_words, 0)
        and is_whole(tuning.seed, 0)
        and tuning.batching == "sentences"
        and len(job.margins) <= _MARGINS
        and all(is_number(margin, 0, 1) for margin in job.margins)
        and list(job.margins) == sorted(set(job.margins))
        and type(job.bounded) is bool
    )


def begin(person: Person) -> Callable[[Facts, Arrays], Arrays]:
    """Returns the function that personalises a model for this person and reports whether it helped."""

    @lru_cache(maxsize=_PROGRAMS)
    def prepared(config_toml: str, words_bytes: bytes) -> tuple[LanguageModel, Params, Users]:
        config, words = understood(config_toml), read_words(words_bytes)
        model = language_model(config.model, len(words))
        text = person.numbered(config.text.case == "lower", config.text.locale)
        users = split(packed(text, of_people(text, np.zeros(1, np.int64), LONGEST_SCORED), words))
        return model, jax.eval_shape(model.init, jax.random.key(0)), users

    def answer(facts: Facts, arrays: Arrays) -> Arrays:
        content, rest = without_words(arrays)
        job = read_job(facts["job"])
        model, shapes, users = prepared(facts["config"], content)
        check_arrays(rest, expected("params", shapes))
        left_out = np.array([users.left_out[reason] for reason in REASONS], np.int64)
        # its number keys its draws, as a person's number does in the simulator
        user = dataclasses.replace(users, ids=np.full(len(users), facts["number"], np.int64))
        found = _reports(job, model, rebuilt("params", shapes, rest), user, facts["seed"])
        return {"left out": left_out, **found}

    return answer


KIND = Kind({"job": str}, begin)


def _reports(job: Job, model: LanguageModel, params: Params, user: Users, seed: int) -> Arrays:
    if not len(user):
        return {name: np.zeros(want.shape, np.int64) for name, want in _wanted(job).items()}
    ready = trial.prepare(model, params, user, job.tuning)
    if job.margins:
        looks = trial.look(ready, job.strategies)
        return {"gate": np.stack([gate.total(*looks[s], job.margins, seed) for s in job.strategies])}
    outcomes = trial.evaluate(ready, job.strategies)
    reports = [sums.device_report(outcomes[s], 0, seed) for s in job.strategies]
    if job.bounded:
        reports = [private.bounded(report) for report in reports]
    return {name: np.stack([getattr(report, name) for report in reports]) for name in DeviceReport._fields}


def _wanted(job: Job) -> dict[str, Expected]:
    """Returns what the arrays of a report must be, [strategies, …]."""
    if job.margins:
        tables: Mapping[str, np.ndarray] = {"gate": gate.empty_report(job.margins)}
    else:
        tables = sums.empty_report()._asdict()
    count, whole = len(job.strategies), np.dtype(np.int64)
    return {name: Expected((count, *table.shape), whole, _MOST) for name, table in tables.items()}


class Answered(NamedTuple):
    """Holds sums over the clients that answered."""

    tables: dict[str, np.ndarray]  # [strategies, …]
    left_out: dict[str, int]  # by reason


def network_reports(office: Office, params: Params, job: Job) -> Answered:
    """Returns the sums of the reports of all clients who are present."""
    wanted = _wanted(job)
    with_reasons = wanted | {"left out": Expected((len(REASONS),), np.dtype(np.int64), 1)}

    def check(answer: Parcel) -> Parcel:
        check_arrays(answer.arrays, with_reasons)
        _check_report(answer.arrays, job)
        return answer

    arrays = {n: np.asarray(leaf, np.float32) for n, leaf in named("params", params).items()}
    asked = office.present().tolist()
    tasks = office.tasks("personalize", 0, arrays, asked, job=job.text())
    total = {name: np.zeros(want.shape, np.int64) for name, want in with_reasons.items()}
    for _, answer in office.answers(tasks, len(tasks), check):
        for name in total:
            total[name] += answer.arrays[name]
    reasons = total.pop("left out")
    return Answered(total, dict(zip(REASONS, reasons.tolist(), strict=True)))


def _check_report(arrays: Arrays, job: Job) -> None:
    """Raises `Refusal` unless these tables are the report of one person, or of one who was left out."""
    reasons = arrays["left out"]
    here = 1 - int(reasons.sum())
    if reasons.min() < 0 or here not in (0, 1):
        raise Refusal("report", "it is not the report of one person")
    for name, table in arrays.items():
        if name == "left out":
            continue
        rows = table.reshape(len(table), -1, 1 if name == "bins" else table.shape[-1])
        filled = rows.any(axis=2).sum(axis=1)
        # the first figure is the number of people, in a histogram it is all there is
        if bool((filled != here).any()) or bool((rows[..., 0].sum(axis=1) != here).any()):
            raise Refusal("report", f"{name} is not the report of one person")
        if name == "bins":
            continue
        least = np.zeros(table.shape[-1], np.int64)
        most = np.array(_GATE_MOST if name == "gate" else _FIGURES_MOST)
        least[2] = -sums.UNIT  # the change of accuracy
        if bool((rows < least).any()) or bool((rows > most).any()):
            raise Refusal("report", f"{name} holds a figure that nobody can have")


_GATE_MOST = [1, sums.UNIT, sums.UNIT, 1, 1, 1]  # of gate.FIGURES
_FIGURES_MOST = [1, sums.UNIT, sums.UNIT, sums.UNIT, 1, 1, 1, 1, _MOST, _MOST, _MOST]  # of sums.FIGURES
assert len(_FIGURES_MOST) == len(FIGURES) and len(_GATE_MOST) == len(gate.FIGURES)


def device_reports(tables: Mapping[str, np.ndarray], strategies: Sequence[Strategy]) -> dict[Strategy, Any]:
    """Returns the summed tables by strategy."""
    return {
        s: DeviceReport(*(tables[name][i] for name in DeviceReport._fields)) for i, s in enumerate(strategies)
    }
