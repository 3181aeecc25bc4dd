"""Tasks of a hostile server, as a tab of the page *Take part* answers them in node: refused, and never a crash."""

from __future__ import annotations

import base64
import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

import jax
import numpy as np

from fuzz import malformed, mutate
from fuzz.box import Box, untouched
from fuzz.categories import Category
from fuzz.categories.tasks import config_changed
from fuzz.malformed import Objects, records, stored
from fuzz.material import Material
from fuzz.messages import TINY
from fuzz.node import verdict
from fuzz.trial import Ending, Fault
from tacit.federated.rounds import rounds_of
from tacit.models import language_model
from tacit.network.exchange import exchange
from tacit.network.office import Office, Post, Terms
from tacit.network.training import networked
from tacit.network.work import Parcel, Refusal
from tacit.privacy.secure.client import STAGES
from tacit.runs.config import algorithm, resolve
from tacit.text.vocabulary import SPECIALS, Vocabulary

_MASKED = ("privacy.mechanism=clipped", "privacy.clip=0.5", "privacy.secure=true", "privacy.least=5")
_PEOPLE = 6


class _Catcher:
    """A courier that keeps the tasks and brings no answer."""

    def __init__(self) -> None:
        self.tasks: dict[int, Parcel] = {}

    def present(self) -> Sequence[int]:
        return range(_PEOPLE)

    def post(self) -> Post:
        raise NotImplementedError("the first tasks are enough")

    def ask(self, tasks: Mapping[int, Parcel], seconds: float) -> Iterator[tuple[int, Parcel | Refusal]]:
        self.tasks = self.tasks or dict(tasks)
        return iter(())


@cache
def _first() -> Parcel:
    """Returns the first task of a masked round."""
    config = networked(resolve("fedavg", [*TINY, *_MASKED]))
    words = Vocabulary((*SPECIALS, *(f"w{i}" for i in range(20 - len(SPECIALS)))))
    model, catcher = language_model(config.model, len(words)), _Catcher()
    office = Office(catcher, config, words, _PEOPLE, Terms(), Counter())
    shapes = jax.eval_shape(model.init, jax.random.key(0))
    trainer = rounds_of(model.init, algorithm(config), exchange(office, shapes), 0, 1, _PEOPLE)
    trainer.round(trainer.init(jax.random.key(0)), 0)
    task = catcher.tasks[0]
    arrays = {name: np.asarray(array) for name, array in task.arrays.items()}
    malformed.keep(arrays)
    return Parcel(arrays, task.facts)


def _sent(objects: Objects) -> dict[str, object]:
    contents, root = objects
    return {
        "root": root,
        "contents": {n: base64.b64encode(content).decode() for n, content in contents.items()},
    }


def _judged(*tasks: Objects) -> Ending:
    said = verdict("tabs.mjs", json.dumps([_sent(task) for task in tasks]))
    if said.ending == "crash":
        raise Fault("crash", said.told)
    return "ok" if said.ending == "ok" else "refused"


def _later(draw: random.Random, facts: Mapping[str, object]) -> Objects:
    """Returns a task of a later stage, whose message is none."""
    kept = {n: v for n, v in facts.items() if n not in ("lr", "work", "group", "place", "schema", "seconds")}
    message = draw.randbytes(draw.choice((0, 1, 30, 62, 500, 5000)))
    if draw.random() < 0.3:
        message = mutate.data(draw, message)
    arrays = {"message": np.frombuffer(message, np.uint8)}
    return stored(records(arrays, {**kept, "kind": draw.choice(STAGES[1:])}))


def trial(draw: random.Random, box: Box, material: Material, number: int) -> Ending:
    task = _first()
    honest = stored(records(task.arrays, dict(task.facts)))
    with untouched(box):
        while True:
            facts, arrays = dict(task.facts), dict(task.arrays)
            if draw.random() < 0.2:
                return _judged(honest, _later(draw, facts))
            kind = draw.choice(_KINDS)
            try:
                return _judged(kind(draw, arrays, facts))
            except (TypeError, ValueError, OverflowError):  # Flower or numpy cannot write such a message
                continue


def _configured(draw: random.Random, arrays: malformed.Arrays, facts: malformed.Facts) -> Objects:
    """A configuration with another value or line, or with damaged bytes."""
    config_changed(draw, facts)
    return stored(records(arrays, facts))


_KINDS = (
    *(malformed.values, malformed.shapes, malformed.dtypes, malformed.names, malformed.wrong_facts),
    *(malformed.rounds, malformed.pickles, malformed.headers, malformed.other_records, malformed.objects),
    *(_configured, _configured),
)


def _plain(box: Box, material: Material) -> None:
    task = _first()
    assert _judged(stored(records(task.arrays, dict(task.facts)))) == "ok"


CATEGORY = Category("tasks of a hostile server, as a tab in node answers them", trial, 1000, plain=_plain)
