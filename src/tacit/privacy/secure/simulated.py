"""Secure sums with all parties in one process: for tests, for the simulator, and to see what a round costs.

`secure_sum` adds vectors of uint64; `secured_total` adds message trees, as `aggregation.total` does, by way of
fixed-point vectors. Every message is made and read as bytes, as if it went over a network.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from tacit.base.errors import TacitError, nearest
from tacit.privacy.secure import codec
from tacit.privacy.secure.client import STAGES, Client
from tacit.privacy.secure.graph import USUAL, Rates
from tacit.privacy.secure.messages import ROUND, Terms
from tacit.privacy.secure.server import Opened, Server
from tacit.privacy.secure.shamir import Random

Drop = Mapping[str, Collection[int]]  # stage → the clients that send nothing from this stage on
NOBODY: Drop = {}


class SecuredTotal(NamedTuple):
    """The sum of message trees."""

    total: Any  # tree of float64, and int64 for whole numbers
    survivors: tuple[int, ...]  # places of the replies that were summed


def secure_sum(
    vectors: Sequence[ArrayLike],
    least: int,
    rates: Rates = USUAL,
    drop: Drop = NOBODY,
    random: Random = os.urandom,
    threads: int = 0,
) -> Opened:
    """Returns the sum modulo 2⁶⁴ of the vectors (uint64 [words]) of those who do not drop before stage "unmask".

    Raises `Abandoned` where fewer than `least` clients are left, or too few to open the sum.

    >>> import numpy as np
    >>> ones = [np.full(3, 1, np.uint64)] * 5
    >>> secure_sum(ones, least=3, drop={"mask": [4]})
    Opened(total=array([4, 4, 4], dtype=uint64), survivors=(0, 1, 2, 3))
    """
    if not len(vectors):
        raise TacitError("a secure sum needs vectors; there are none")
    terms = Terms(random(ROUND), len(vectors), len(vectors[0]), least)  # type: ignore[arg-type]
    server = Server(terms, rates, random, threads)
    return run_round(server, [Client(terms, i, random, threads) for i in range(len(vectors))], vectors, drop)


def run_round(
    server: Server,
    clients: Sequence[Client],
    vectors: Sequence[ArrayLike],
    drop: Drop = NOBODY,
) -> Opened:
    """Carries messages between the parties; a client that drops at a stage does not send that stage's message."""
    for stage in drop:
        if stage not in STAGES:
            raise TacitError(f"'{stage}' is no stage of a secure sum{nearest(stage, STAGES)}")
    gone: set[int] = set()
    sent: dict[int, bytes] = dict.fromkeys(range(len(clients)), b"")
    for stage in STAGES:
        gone |= set(drop.get(stage, ()))
        for i, message in sent.items():
            if i in gone:
                continue
            if stage == "advertise":
                reply = clients[i].advertise()
            elif stage == "share":
                reply = clients[i].share(message)
            elif stage == "mask":
                reply = clients[i].mask(message, vectors[i])
            else:
                reply = clients[i].unmask(message)
            server.receive(i, reply)
        sent = server.end_stage() if stage != "unmask" else {}
    return server.open()


def secured_total(
    replies: Sequence[Any],
    schema: codec.Schema,
    *,
    is_plain_sum: Callable[[Any], bool],
    least: int,
    rates: Rates = USUAL,
    drop: Drop = NOBODY,
    random: Random = os.urandom,
    threads: int = 0,
) -> SecuredTotal:
    """Returns the sum of the replies (trees of one structure) of those who survive, through the whole protocol.

    `is_plain_sum` is `aggregation.is_plain_sum`, which this layer cannot import: a message with `Peaked` parts is
    refused. Each coordinate of the sum differs from the exact one by at most `schema.rounding(clients)` of its part.
    """
    if not replies:
        raise TacitError("a secure sum needs replies; there are none")
    if not is_plain_sum(replies[0]):
        raise TacitError(
            "this rule's message is no plain sum and cannot be added under masks; "
            "choose a form of the rule with a public bound, such as aggregation.bound of 'attentive'"
        )
    codec.check(schema, len(replies))
    terms = Terms(random(ROUND), len(replies), schema.words, least, schema.digest())
    server = Server(terms, rates, random, threads)
    clients = [Client(terms, i, random, threads) for i in range(len(replies))]
    opened = run_round(server, clients, _Encoded(replies, schema), drop)
    return SecuredTotal(codec.decode(schema, opened.total, len(opened.survivors)), opened.survivors)


class _Encoded(Sequence[Any]):
    """The replies' vectors, each made when its client masks it: a cohort's vectors are never all in memory."""

    def __init__(self, replies: Sequence[Any], schema: codec.Schema) -> None:
        self._replies, self._schema = replies, schema

    def __len__(self) -> int:
        return len(self._replies)

    def __getitem__(self, i: Any) -> Any:
        try:
            return codec.encode(self._schema, self._replies[i])
        except TacitError as error:
            raise TacitError(f"client {i} of a secure sum: {error}") from None
