"""Scores the model on a client's held-out text and sends sums: federated evaluation (paper 5, section 6.3.2)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import lru_cache

import jax
import numpy as np

from tacit.federated.evaluation import client_sums, scorer
from tacit.models import language_model
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
from tacit.scoring.scores import Sums, added

_PROGRAMS = 4  # configurations whose compiled programs a client keeps
_NAMES = tuple(field.name for field in dataclasses.fields(Sums))


def begin(person: Person) -> Callable[[Facts, Arrays], Arrays]:
    """Returns the function that scores models on this person's held-out text and sends the sums."""
    score = scoring(person)

    def answer(facts: Facts, arrays: Arrays) -> Arrays:
        if understood(facts["config"]).privacy.secure:
            raise Refusal("config", "this run adds under masks, and scores would be sent without one")
        return score(facts, arrays)

    return answer


def scoring(person: Person) -> Callable[[Facts, Arrays], Arrays]:
    """Returns the function that scores models on this person's held-out text."""

    @lru_cache(maxsize=_PROGRAMS)
    def prepared(config_toml: str, words_bytes: bytes) -> tuple[Params, Callable[[Params], Sums]]:
        config, words = understood(config_toml), read_words(words_bytes)
        model = language_model(config.model, len(words))
        text, score = person.text(config, words).held_out, scorer(model)
        shapes = jax.eval_shape(model.init, jax.random.key(0))
        return shapes, lambda params: client_sums(score, params, text)

    def score_text(facts: Facts, arrays: Arrays) -> Arrays:
        words, rest = without_words(arrays)
        shapes, score = prepared(facts["config"], words)
        check_arrays(rest, expected("params", shapes))
        sums = score(rebuilt("params", shapes, rest))
        # a person without held-out text has counts of nothing, which are integers
        return {f"scores/{name}": np.asarray(getattr(sums, name), np.float64) for name in _NAMES}

    return score_text


KIND = Kind({}, begin)


def federated_scores(office: Office, params: Params) -> Sums:
    """Returns the sums of scores over the held-out text of all present clients."""
    return reported_scores(office, params)[0]


def reported_scores(office: Office, params: Params) -> tuple[Sums, int]:
    """Returns the sums of scores, and how many clients had text to score."""
    arrays = {n: np.asarray(leaf, np.float32) for n, leaf in named("params", params).items()}
    tasks = office.tasks("evaluate", 0, arrays, office.present().tolist())
    wanted = {f"scores/{name}": Expected((1,), np.dtype(np.float64), 1e12) for name in _NAMES}

    def check(answer: Parcel) -> Parcel:
        check_arrays(answer.arrays, wanted)
        if min(float(array[0]) for array in answer.arrays.values()) < 0:
            raise Refusal("report", "a score is negative")
        return answer

    # sorted, because sums of floats depend on their order
    answers = sorted(office.answers(tasks, len(tasks), check), key=lambda one: one[0])
    reports = [Sums(**{name: answer.arrays[f"scores/{name}"] for name in _NAMES}) for _, answer in answers]
    return added(reports), sum(bool(report.sentences[0]) for report in reports)
