"""Answers the four tasks of a secure sum with the state machine of `tacit.privacy.secure`.

    advertise   what the work needs, and the terms of the sum  →  public keys
    share       the neighbours' keys                           →  sealed shares for them
    mask        the neighbours' shares                         →  the masked vector
    unmask      who survived                                   →  one share for each neighbour

The client does its work (`WORKS`) at the first task. A client that fails or is too slow drops out before any other
client shares a mask with it. The result stays in this process as a vector of integers, and leaves it only under masks.

A client is in one sum at a time. It forgets a sum that has ended or failed, that a newer one replaces, or whose time is
up. It computes the layout of the vector and the least number of clients itself. It hashes the layout together with the
task (`bound`): the model, the rate, the configuration. Every key of the sum depends on that hash. So a server that
gives clients different models, to read the update of one from the sum, gets keys that do not match.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
import struct
import threading
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from tacit.federated.secured import schema_for
from tacit.network.person import Person, understood
from tacit.network.tasks import evaluate, train
from tacit.network.tasks.kind import Arrays, Kind
from tacit.network.work import Facts, Refusal
from tacit.privacy.secure import codec
from tacit.privacy.secure.client import STAGES, Client
from tacit.privacy.secure.codec import Schema
from tacit.privacy.secure.masks import Vector
from tacit.privacy.secure.messages import ROUND, Terms
from tacit.scoring.scores import Sums

_MEMORY = "secure sum"
_LONGEST = 24 * 3600.0  # seconds that a sum is remembered, whatever the server says
_MOST_SCORED = 2.0**30  # of each sum of scores of one client
_NO_SCORES = {f"scores/{field.name}": np.zeros(1) for field in dataclasses.fields(Sums)}
_COMMON = ("config", "lr", "population", "round", "rounds", "seed", "work")
_LEAST = 3  # clients of a sum, so that the layout can be made before the terms are checked

Work = Callable[[Facts, Arrays, int], tuple[Any, Schema]]  # (…, clients of the sum) → message, and its layout


class Sum(NamedTuple):
    """Holds a sum that a client takes part in."""

    client: Client
    vector: Vector
    round: int


class Seat:
    """Remembers a client's last sum: its id always, and the rest until the sum ends."""

    def __init__(self) -> None:
        self.id, self.sum = "", None  # type: str, Sum | None
        self._timer: threading.Timer | None = None

    def begin(self, identity: str) -> None:
        """Forgets the sum before, and remembers the id of this one, which is never taken again."""
        if identity == self.id:
            raise Refusal("replay", "this client has been in this sum")
        self.forget()
        self.id = identity

    def take(self, taken: Sum, seconds: float) -> None:
        """Remembers a sum for at most so many seconds."""
        self.sum = taken
        self._timer = threading.Timer(seconds, self.forget)
        self._timer.daemon = True
        self._timer.start()

    def forget(self) -> None:
        """Forgets keys, shares and the vector."""
        self.sum = None
        if self._timer:
            self._timer.cancel()
            self._timer = None

    def held(self, facts: Facts) -> Sum:
        """Returns the sum that a task is about."""
        if facts["sum"] != self.id:
            raise Refusal("stale", "this client is not in this sum")
        if self.sum is None:
            raise Refusal("replay", "this sum is over for this client")
        if facts["round"] != self.sum.round:
            raise Refusal("stale", "its round is not that of the sum")
        return self.sum


def _trains(person: Person) -> Work:
    run = train.training(person)

    def work(facts: Facts, arrays: Arrays, clients: int) -> tuple[Any, Schema]:
        trained = run(facts, arrays)
        sending, message = trained.sending, trained.reply.message
        assert sending.private is not None  # `privacy.secure` needs a mechanism
        return message, schema_for(sending.rule, sending.private, trained.sent, message, clients)

    return work


def _scores(person: Person) -> Work:
    score = evaluate.scoring(person)
    return lambda facts, arrays, clients: (score(facts, arrays), scores_schema(clients))


def scores_schema(clients: int) -> Schema:
    """Returns the layout of a client's sums of scores as a vector."""
    return codec.schema_of(_NO_SCORES, _MOST_SCORED, codec.most_bits(_MOST_SCORED, clients))


def scores_of(summed: Mapping[str, np.ndarray]) -> Sums:
    """Returns the opened sums of scores."""
    return Sums(**{name.partition("/")[2]: value for name, value in summed.items()})


WORKS: Mapping[str, Callable[[Person], Work]] = {"train": _trains, "evaluate": _scores}


def bound(schema: Schema, facts: Facts, arrays: Arrays) -> bytes:
    """Returns the hash of a layout and of all in a task that its clients have in common.

        SHA-256("tacit masked task 1" · layout's hash · each fact of `_COMMON` · for each array, by name:
                name · kind · shape, with commas · SHA-256 of its bytes)

    Numbers are decimal text, but `lr` is a double. Before each part stands its length, in 4 bytes, big-endian.
    """
    parts = [struct.pack(">d", facts[n]) if n == "lr" else str(facts[n]).encode() for n in _COMMON]
    for name, array in sorted(arrays.items()):
        plain = np.asarray(array, array.dtype.newbyteorder("<"))
        shape = ",".join(map(str, plain.shape))
        parts += [name.encode(), plain.dtype.str.encode(), shape.encode()]
        parts.append(hashlib.sha256(plain.tobytes()).digest())
    said = b"".join(struct.pack(">I", len(part)) + part for part in parts)
    return hashlib.sha256(b"tacit masked task 1" + schema.digest() + said).digest()


def _begin_advertise(person: Person) -> Callable[[Facts, Arrays], Arrays]:
    seat: Seat = person.memory.setdefault(_MEMORY, Seat())
    works = {name: begin(person) for name, begin in WORKS.items()}

    def advertise(facts: Facts, arrays: Arrays) -> Arrays:
        config = understood(facts["config"])
        if not config.privacy.secure:
            raise Refusal("config", "this run has no secure sums")
        if facts["work"] not in works:
            raise Refusal("kind", f"the work of a secure sum is one of {', '.join(works)}")
        identity, group, seconds = facts["sum"], facts["group"], facts["seconds"]
        if len(identity) != 2 * ROUND or not set(identity) <= set("0123456789abcdef"):
            raise Refusal("schema", f"the id of a sum is {ROUND} bytes in hexadecimal digits")
        if not (_LEAST <= group <= facts["population"] and 0 <= facts["place"] < group):
            raise Refusal("schema", "its group or place is out of range")
        if not (math.isfinite(seconds) and seconds > 0):
            raise Refusal("schema", "the time of a sum is a positive number")
        seat.begin(identity)
        message, schema = works[facts["work"]](facts, arrays, group)
        terms_of = bound(schema, facts, arrays)
        if terms_of.hex() != facts["schema"]:
            raise Refusal("schema", "this client reads the task, or lays its message out, otherwise")
        codec.check(schema, group)
        terms = Terms(bytes.fromhex(identity), group, schema.words, config.privacy.least, terms_of)
        client = Client(terms, facts["place"])
        said = client.advertise()
        seat.take(Sum(client, codec.encode(schema, message), facts["round"]), min(seconds, _LONGEST))
        return {"message": as_array(said)}

    return advertise


def _begin_stage(stage: str) -> Callable[[Person], Callable[[Facts, Arrays], Arrays]]:
    def begin(person: Person) -> Callable[[Facts, Arrays], Arrays]:
        seat: Seat = person.memory.setdefault(_MEMORY, Seat())

        def answer(facts: Facts, arrays: Arrays) -> Arrays:
            held, message = seat.held(facts), as_bytes(arrays)
            try:
                if stage == "share":
                    said = held.client.share(message)
                elif stage == "mask":
                    said = held.client.mask(message, held.vector)
                    seat.sum = held._replace(vector=held.vector[:0])
                else:
                    said = held.client.unmask(message)
            finally:
                if held.client.stage not in STAGES:  # it is over, or abandoned
                    seat.forget()
            return {"message": as_array(said)}

        return answer

    return begin


def as_array(message: bytes) -> np.ndarray:
    """Returns a message of the protocol as an array."""
    return np.frombuffer(message, np.uint8)


def as_bytes(arrays: Arrays) -> bytes:
    """Returns the message of the protocol that a parcel holds; refuses other arrays."""
    message = arrays.get("message") if isinstance(arrays, Mapping) and len(arrays) == 1 else None
    if type(message) is not np.ndarray or message.dtype != np.uint8 or message.ndim != 1:
        raise Refusal("schema", "a message of a secure sum is one array of bytes")
    return message.tobytes()


_FIRST = {
    "lr": float,
    "work": str,
    "sum": str,
    "group": int,
    "place": int,
    "schema": str,
    "seconds": float,
}
KINDS: Mapping[str, Kind] = {
    "advertise": Kind(_FIRST, _begin_advertise),
    **{stage: Kind({"sum": str}, _begin_stage(stage)) for stage in STAGES[1:]},
}
