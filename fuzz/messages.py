"""Rounds with malformed answers, and what must come of them.

A round has one honest answer and many malformed ones (`fuzz.malformed`). It must end with the bytes that the honest
one gives alone, and every malformed answer must be refused with a reason. What happens to be read as exactly the honest
answer (a changed field that nobody reads) is not malformed and is left out.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

import jax
import numpy as np

from fuzz import malformed
from fuzz.malformed import Arrays, Facts, Objects, records, stored
from fuzz.trial import Fault, shown
from tacit.federated.aggregation import Aggregation
from tacit.federated.algorithm import Trainer, rule_and_optimiser
from tacit.federated.local import Sending
from tacit.federated.message_sizes import nobody
from tacit.federated.rounds import rounds_of
from tacit.models import language_model
from tacit.network.exchange import exchange
from tacit.network.grid import from_records
from tacit.network.office import Office, Post, Terms
from tacit.network.replies import opened
from tacit.network.training import networked
from tacit.network.work import Parcel, Refusal, answer_facts, named
from tacit.runs.config import algorithm, resolve
from tacit.text.vocabulary import SPECIALS, Vocabulary

TINY = (
    "model.hidden=8",
    "model.embedding=8",
    "text.vocabulary=20",
    "sampling.fraction=1.0",
    "training.rounds=1",
)
STRANGERS = 50  # malformed answers of a round, at least
Made = tuple[int, Parcel | Refusal]  # who answers, and what the server makes of it


class World(NamedTuple):
    """A small model and the honest answer of one client."""

    office: Office  # its courier is made anew for each round
    trainer: Trainer
    arrays: Arrays


@cache
def world() -> World:
    """Returns the world of all rounds."""
    config = networked(resolve("fedavg", list(TINY)))
    words = Vocabulary((*SPECIALS, *(f"w{i}" for i in range(20 - len(SPECIALS)))))
    model = language_model(config.model, len(words))
    shapes = jax.eval_shape(model.init, jax.random.key(0))
    rule, _ = rule_and_optimiser(algorithm(config), shapes)
    assert isinstance(rule, Aggregation)
    silence = nobody(config.client, Sending(rule, 0.0, None, 0.0), shapes)
    draw = np.random.default_rng(0)
    arrays = {
        n: np.asarray(draw.random(leaf.shape), leaf.dtype) for n, leaf in named("reply", silence).items()
    }
    arrays |= {n: np.asarray(1, a.dtype) for n, a in arrays.items() if not a.shape}
    arrays["reply/report/refused"] = np.zeros_like(arrays["reply/report/refused"])
    malformed.keep(arrays)

    office = Office(Strangers(), config, words, 1 + STRANGERS, Terms(), Counter())
    return World(
        office,
        rounds_of(model.init, algorithm(config), exchange(office, shapes), 0, 1, office.population),
        arrays,
    )


@cache
def model_arrays() -> Arrays:
    """Returns the model as a task carries it."""
    state = world().trainer.init(jax.random.key(0))
    return {name: np.asarray(leaf, np.float32) for name, leaf in named("params", state.params).items()}


def read(objects: Objects) -> Parcel | Refusal:
    """Returns what the server reads from objects; anything but a parcel or a refusal is a fault."""
    try:
        message = opened(*objects)
        if message.has_error():
            return Refusal("client", "an error")
        return from_records(message.content)
    except Refusal as refusal:
        return refusal
    except Exception as error:
        raise Fault("crash", shown(error)) from None


class Strangers:
    """Answers a round as one honest client, number 0, and as strangers, each with a malformed answer."""

    def __init__(self) -> None:
        self.draw: random.Random | None = None  # no draw: only the honest client answers
        self.sent: Counter[str] = Counter()  # malformed answers by kind

    def present(self) -> Sequence[int]:
        return range(1 + STRANGERS)

    def post(self) -> Post:
        raise NotImplementedError("strangers answer rounds only")

    def ask(self, tasks: Mapping[int, Parcel], seconds: float) -> Iterator[Made]:
        draw, honest = self.draw, world().arrays
        if draw is None:
            yield 0, Parcel(honest, answer_facts(tasks[0].facts))
            return
        for number in draw.sample(list(tasks), len(tasks)):
            facts = answer_facts(tasks[number].facts)
            if number == 0:
                yield 0, read(stored(records(honest, facts)))
                while draw.random() < 0.5:
                    self.sent["replays"] += 1
                    yield 0, Parcel(honest, facts)
            elif draw.random() < 0.05:
                self.sent["forged ids"] += 1
                yield draw.choice((-1, 1 + STRANGERS, 2**40)), Parcel(honest, facts)
            else:
                yield number, self._malformed(draw, facts)

    def _malformed(self, draw: random.Random, facts: Facts) -> Parcel | Refusal:
        honest = world().arrays
        while True:
            kind = draw.choice(malformed.KINDS)
            try:
                wrong = kind(draw, dict(honest), dict(facts))
            except (TypeError, ValueError, OverflowError):  # Flower or numpy cannot write such a message
                continue
            answer = read(wrong)
            if not (isinstance(answer, Parcel) and _same(answer, Parcel(honest, facts))):
                self.sent[kind.__name__.replace("_", " ")] += 1
                return answer


def _same(a: Parcel, b: Parcel) -> bool:
    if a.arrays.keys() != b.arrays.keys() or dict(a.facts) != dict(b.facts):
        return False
    if [type(v) for v in a.facts.values()] != [type(b.facts[n]) for n in a.facts]:
        return False
    pairs = [(x, b.arrays[n]) for n, x in a.arrays.items()]
    return all(x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes() for x, y in pairs)


def one_round(draw: random.Random) -> tuple[Counter[str], Counter[str]]:
    """Makes a round with `STRANGERS` malformed answers or more; returns them by kind, and the refusals by reason."""
    expected = undisturbed()
    try:
        after, sent, refused = _round(draw)
    except Exception as error:
        raise Fault("crash", shown(error)) from None
    if refused.total() != sent.total():
        raise Fault("nonsense", f"{dict(sent)} were sent and {dict(refused)} refused")
    if after != expected:
        raise Fault("nonsense", f"malformed answers changed the model: {dict(sent)}")
    return sent, refused


@cache
def undisturbed() -> bytes:
    """Returns the server's state after a round of the honest client alone."""
    return _round(None)[0]


def _round(draw: random.Random | None) -> tuple[bytes, Counter[str], Counter[str]]:
    office, trainer, _ = world()
    assert isinstance(office.courier, Strangers)
    office.courier.draw, office.courier.sent = draw, Counter()
    office.refused.clear()
    state, facts = trainer.round(trainer.init(jax.random.key(0)), 0)
    if facts["clients"] != 1:
        raise Fault("nonsense", f"{facts['clients']} answers were added, one is honest")
    after = b"".join(np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(state))
    return after, office.courier.sent, Counter(office.refused)
