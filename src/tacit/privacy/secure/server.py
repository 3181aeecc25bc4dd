"""The server of a secure sum: it takes messages, ends stages, and opens the sum of those whose vectors arrived.

    server = Server(terms)
    server.receive(sender, message)      # any number of times; a message that is refused leaves all as it was
    server.end_stage() → {client: message}   # three times: ends "advertise", "share" and "mask"
    server.open() → Opened               # ends "unmask"

A client that has not sent the stage's message when the stage ends has dropped out. Vectors are added as they arrive,
so that one is held, not one for each client. The round is abandoned, and everything forgotten, where fewer than the
least number of clients are left, where a client has too few neighbours left for its secrets, or where a secret does not
fit what its owner advertised.

Every revealed share is compared with the digest that its dealer gave for it, so a forged share is refused and its
sender named. A dealer whose shares fit their digests and give a wrong secret is named, too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

import numpy as np

from tacit.base.errors import TacitError
from tacit.privacy.secure import graph, messages, primitives, shamir
from tacit.privacy.secure.client import STAGES
from tacit.privacy.secure.errors import Abandoned, Refused
from tacit.privacy.secure.graph import USUAL, Rates, Sparsity
from tacit.privacy.secure.masks import Vector, add_masks
from tacit.privacy.secure.messages import Neighbour, Parcel, Roster, Terms
from tacit.privacy.secure.primitives import KEY, KEY_SHARE, SEED_SHARE

_OVER, _ABANDONED = "over", "abandoned"
_NONE = Sparsity(0, 0)


class Opened(NamedTuple):
    """What the server learns."""

    total: Vector  # [words]: the sum modulo 2⁶⁴
    survivors: tuple[int, ...]  # whose vectors it is the sum of


@dataclass
class _Kept:
    """What the server knows until it forgets."""

    arrived: set[int] = field(default_factory=set)  # who sent this stage's message
    present: set[int] = field(default_factory=set)  # who sent the one before
    sharers: set[int] = field(default_factory=set)  # who sent shares
    public: set[bytes] = field(default_factory=set)
    keys: dict[int, Neighbour] = field(default_factory=dict)
    neighbours: dict[int, list[int]] = field(default_factory=dict)
    sparsity: Sparsity = _NONE
    commitments: dict[int, bytes] = field(default_factory=dict)
    parcels: dict[int, dict[int, Parcel]] = field(default_factory=dict)  # by dealer, then holder
    revealed: dict[int, dict[int, bytes]] = field(
        default_factory=dict
    )  # by owner of the secret: place → share
    total: Vector = field(default_factory=lambda: np.zeros(0, np.uint64))


class Server:
    """The server in one round. It draws a seed for the graph (32 bytes) and a private key to try others with (32)."""

    def __init__(
        self,
        terms: Terms,
        rates: Rates = USUAL,
        random: shamir.Random = os.urandom,
        threads: int = 0,
    ) -> None:
        terms.check()
        graph.choose(terms.clients, rates, terms.least)  # refuses before the round what could only fail in it
        self._terms, self._rates, self._threads = terms, rates, threads
        self._context = terms.context()
        self._graph_seed, self._probe = random(KEY), random(KEY)
        self._stage = STAGES[0]
        self._kept = _Kept(total=np.zeros(terms.words, np.uint64))

    @property
    def stage(self) -> str:
        """Which messages the server takes: one of `STAGES`, or "over" or "abandoned"."""
        return self._stage

    @property
    def sparsity(self) -> Sparsity:
        """The graph's degree and threshold, from the end of the first stage."""
        return self._kept.sparsity

    def receive(self, sender: int, message: bytes) -> None:
        """Takes the message of a client whom the transport has identified, or refuses it with the reason."""
        self._require_open()
        if not 0 <= sender < self._terms.clients:
            raise Refused(f"secure sum: client {sender} is not in the group of {self._terms.clients}")
        if self._stage != STAGES[0] and sender not in self._kept.present:
            raise Refused(f"secure sum: client {sender} is out of this round; its message is not taken")
        if sender in self._kept.arrived:
            raise Refused(f"secure sum: client {sender} has already sent what stage '{self._stage}' takes")
        take = {
            "advertise": self._take_keys,
            "share": self._take_shares,
            "mask": self._take_masked,
            "unmask": self._take_revealed,
        }[self._stage]
        take(sender, message)
        self._kept.arrived.add(sender)

    def end_stage(self) -> dict[int, bytes]:
        """Ends the stage and returns a message for each client that is still in the round."""
        self._require_open()
        if self._stage == "unmask":
            raise TacitError("secure sum: the last stage ends with open()")
        with self._abandoning():
            self._kept.present, self._kept.arrived = self._kept.arrived, set()
            if len(self._kept.present) < self._terms.least:
                self._abandon(
                    f"{len(self._kept.present)} clients are left after stage '{self._stage}', "
                    f"{self._terms.least} is the least number"
                )
            answer = {"advertise": self._rosters, "share": self._deliveries, "mask": self._survivors}[
                self._stage
            ]
            sent = answer()
            self._stage = STAGES[STAGES.index(self._stage) + 1]
            return sent

    def open(self) -> Opened:
        """Ends the last stage: puts the secrets together, removes the masks, returns the sum."""
        self._require_open()
        if self._stage != "unmask":
            raise TacitError(f"secure sum: the sum opens after stage 'unmask', not in '{self._stage}'")
        with self._abandoning():
            plus, minus = self._masks_to_remove()
            add_masks(self._kept.total, plus, minus, self._threads)
            opened = Opened(self._kept.total, tuple(sorted(self._kept.present)))
            self._stage = _OVER
            self._kept = _Kept()
            return opened

    # The four kinds of messages.

    def _take_keys(self, sender: int, message: bytes) -> None:
        keys = messages.decode_keys(self._terms, sender, message)
        for key in (keys.share_key, keys.mask_key):
            if key in self._kept.public:
                raise Refused(f"secure sum: client {sender} advertises a key that is already in use")
            try:
                primitives.agree(self._probe, key)
            except Refused:
                raise Refused(
                    f"secure sum: client {sender} advertises a point of small order as a key"
                ) from None
        if keys.share_key == keys.mask_key:
            raise Refused(f"secure sum: client {sender} advertises one key for two uses")
        self._kept.public |= {keys.share_key, keys.mask_key}
        self._kept.keys[sender] = keys

    def _take_shares(self, sender: int, message: bytes) -> None:
        commitment, parcels = messages.decode_shares(self._terms, sender, message)
        if [parcel.id for parcel in parcels] != self._kept.neighbours[sender]:
            raise Refused(f"secure sum: client {sender} sends shares to others than its neighbours")
        self._kept.commitments[sender] = commitment
        self._kept.parcels[sender] = {parcel.id: parcel for parcel in parcels}

    def _take_masked(self, sender: int, message: bytes) -> None:
        self._kept.total += messages.decode_masked(self._terms, sender, message)

    def _take_revealed(self, sender: int, message: bytes) -> None:
        answers = messages.decode_revealed(self._terms, sender, message)
        if [answer.id for answer in answers] != self._partners(sender):
            raise Refused(f"secure sum: client {sender} reveals shares of others than it was asked for")
        for who, kind, share in answers:
            if kind != (SEED_SHARE if who in self._kept.present else KEY_SHARE):
                raise Refused(
                    f"secure sum: client {sender} reveals the wrong one of its shares of client {who}"
                )
            parcel = self._kept.parcels[who][sender]
            known = parcel.seed_digest if kind == SEED_SHARE else parcel.key_digest
            if primitives.share_digest(share, self._context, kind, who, sender) != known:
                raise Refused(f"secure sum: client {sender} reveals a forged share of client {who}")
        for who, _, share in answers:
            self._kept.revealed.setdefault(who, {})[sender + 1] = share

    # What the server answers at the end of a stage.

    def _rosters(self) -> dict[int, bytes]:
        present = sorted(self._kept.present)
        try:
            self._kept.sparsity = graph.choose(len(present), self._rates, self._terms.least)
        except TacitError as error:
            self._abandon(str(error))
        self._kept.neighbours = graph.neighbours(present, self._kept.sparsity.degree, self._graph_seed)

        def roster(client: int) -> bytes:
            near = [self._kept.keys[other] for other in self._kept.neighbours[client]]
            return messages.encode_roster(
                self._terms, client, Roster(len(present), len(near), self._kept.sparsity.threshold, near)
            )

        return {client: roster(client) for client in present}

    def _deliveries(self) -> dict[int, bytes]:
        self._kept.sharers = set(self._kept.present)
        self._require_neighbours(self._kept.present, "sent shares")

        def delivery(client: int) -> bytes:
            parcels = [
                self._kept.parcels[dealer][client]._replace(id=dealer) for dealer in self._partners(client)
            ]
            return messages.encode_delivery(self._terms, client, parcels)

        return {client: delivery(client) for client in sorted(self._kept.present)}

    def _survivors(self) -> dict[int, bytes]:
        self._require_neighbours(self._kept.sharers, "sent their vectors")
        sets = self._kept.present, self._kept.sharers - self._kept.present
        return {
            client: messages.encode_survivors(self._terms, client, *sets)
            for client in sorted(self._kept.present)
        }

    # Opening.

    def _masks_to_remove(self) -> tuple[list[bytes], list[bytes]]:
        """Returns the keys of the masks to add to the sum, and of those to subtract from it."""
        plus: list[bytes] = []
        minus: list[bytes] = []
        for who in sorted(self._kept.sharers):
            secret = self._joined(who)
            if who in self._kept.present:
                if primitives.seed_commitment(secret, self._context, who) != self._kept.commitments[who]:
                    self._abandon(f"client {who} dealt shares that do not give the seed it committed to")
                minus.append(primitives.self_key(secret, self._context, who))
                continue
            if primitives.public_key(secret) != self._kept.keys[who].mask_key:
                self._abandon(f"client {who} dealt shares that do not give the key it advertised")
            for other in self._partners(who):
                if other in self._kept.present:
                    key = primitives.mask_key(
                        secret, self._kept.keys[other].mask_key, self._context, who, other
                    )
                    (minus if other < who else plus).append(key)  # the lower number had added it
        return plus, minus

    def _joined(self, who: int) -> bytes:
        shares = self._kept.revealed.get(who, {})
        if len(shares) < self._kept.sparsity.threshold:
            self._abandon(
                f"{len(shares)} neighbours revealed shares of client {who}, the threshold is "
                f"{self._kept.sparsity.threshold}: too many dropped out"
            )
        try:
            return shamir.join(shares, self._kept.sparsity.threshold)
        except TacitError:
            self._abandon(f"client {who} dealt shares that belong to no secret")

    def _partners(self, client: int) -> list[int]:
        """The neighbours with whom a client has exchanged shares."""
        return [other for other in self._kept.neighbours[client] if other in self._kept.sharers]

    def _require_neighbours(self, clients: set[int], did: str) -> None:
        """Abandons the round early if a secret that will be needed could not be put together."""
        for client in sorted(clients):
            left = sum(other in self._kept.present for other in self._kept.neighbours[client])
            if left < self._kept.sparsity.threshold:
                self._abandon(
                    f"only {left} neighbours of client {client} {did}, the threshold is "
                    f"{self._kept.sparsity.threshold}: too many dropped out"
                )

    def _require_open(self) -> None:
        if self._stage in (_OVER, _ABANDONED):
            raise Refused(f"secure sum: the round is {self._stage}; nothing more is taken")

    @contextmanager
    def _abandoning(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._stage = _ABANDONED
            self._kept = _Kept()
            raise

    def _abandon(self, reason: str) -> NoReturn:
        raise Abandoned(f"secure sum: the round is abandoned: {reason}")
