"""A client of a secure sum: four stages, each taken once, in order.

    advertise   two new X25519 key pairs, one to seal shares and one for masks
    share       a new seed; Shamir shares of the seed and of the private mask key for every neighbour, sealed
    mask        vector + own mask (from the seed) ± a mask for every neighbour that sent shares: the client of the
                lower number adds the common mask, the other subtracts it
    unmask      for each neighbour one share: of its seed if its vector arrived, of its mask key if not

A client that has answered the last question forgets everything. A message at the wrong stage is refused and changes
nothing; a message with wrong content ends the round for this client, which then forgets its secrets.

All random bytes come from `random`, in this order: private share key (32), private mask key (32), seed (32), then
the coefficients of the mask key's polynomial and those of the seed's (48 each, threshold − 1 of them).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from tacit.base.errors import TacitError
from tacit.privacy.secure import messages, primitives, shamir
from tacit.privacy.secure.errors import Abandoned, Refused
from tacit.privacy.secure.graph import fewest_neighbours
from tacit.privacy.secure.masks import add_masks
from tacit.privacy.secure.messages import Answer, Neighbour, Parcel, Roster, Terms
from tacit.privacy.secure.primitives import KEY, KEY_SHARE, SEED_SHARE


@dataclass
class _Secrets:
    """What a client knows until it forgets."""

    share_private: bytes = b""
    mask_private: bytes = b""
    mask_public: bytes = b""
    seed: bytes = b""
    threshold: int = 0
    neighbours: dict[int, Neighbour] = field(default_factory=dict)
    held: dict[int, tuple[bytes, bytes]] = field(default_factory=dict)  # shares of a seed and of a mask key


STAGES = ("advertise", "share", "mask", "unmask")
_OVER, _ABANDONED = "over", "abandoned"


class Client:
    """One client in one round.

    Example:
        client = Client(terms, 3)
        send(client.advertise())
        send(client.share(receive()))
        send(client.mask(receive(), vector))
        send(client.unmask(receive()))
    """

    def __init__(self, terms: Terms, me: int, random: shamir.Random = os.urandom, threads: int = 0) -> None:
        terms.check()
        if not 0 <= me < terms.clients:
            raise TacitError(f"client {me} is not one of the {terms.clients} of this round")
        self._terms, self._me, self._random, self._threads = terms, me, random, threads
        self._context = terms.context()
        self._stage = STAGES[0]
        self._secrets = _Secrets()

    @property
    def stage(self) -> str:
        """What the client does next: one of `STAGES`, or "over" or "abandoned"."""
        return self._stage

    def advertise(self) -> bytes:
        """Returns the client's public keys (message 1)."""
        with self._taking("advertise"):
            secrets = self._secrets
            secrets.share_private, secrets.mask_private = self._random(KEY), self._random(KEY)
            secrets.mask_public = primitives.public_key(secrets.mask_private)
            share_public = primitives.public_key(secrets.share_private)
            return messages.encode_keys(self._terms, self._me, share_public, secrets.mask_public)

    def share(self, roster: bytes) -> bytes:
        """Takes the neighbours' keys (message 2) and returns sealed shares for them (message 3)."""
        with self._taking("share"):
            secrets = self._secrets
            read = messages.decode_roster(self._terms, self._me, roster)
            self._check_roster(read)
            secrets.neighbours = {one.id: one for one in read.neighbours}
            secrets.threshold = read.threshold
            secrets.seed = self._random(KEY)
            places = [one.id + 1 for one in read.neighbours]
            keys = shamir.split(secrets.mask_private, places, secrets.threshold, self._random)
            seeds = shamir.split(secrets.seed, places, secrets.threshold, self._random)
            parcels = [self._parcel(one, seeds[one.id + 1], keys[one.id + 1]) for one in read.neighbours]
            commitment = primitives.seed_commitment(secrets.seed, self._context, self._me)
            return messages.encode_shares(self._terms, self._me, commitment, parcels)

    def mask(self, delivery: bytes, vector: ArrayLike) -> bytes:
        """Takes the neighbours' shares (message 4) and returns the masked vector of uint64 (message 5)."""
        with self._taking("mask"):
            secrets = self._secrets
            for parcel in messages.decode_delivery(self._terms, self._me, delivery):
                secrets.held[parcel.id] = self._opened(parcel)
            self._require(
                len(secrets.held) >= secrets.threshold,
                f"only {len(secrets.held)} neighbours sent shares, the threshold is {secrets.threshold}",
            )
            given = np.asarray(vector)
            if given.dtype != np.uint64 or given.shape != (self._terms.words,):
                raise TacitError(
                    f"the vector of client {self._me} is {given.dtype} {given.shape}; this round sums "
                    f"uint64 ({self._terms.words},)"
                )
            masked = given.copy()
            plus = [self._mask_key(other) for other in secrets.held if self._me < other]
            minus = [self._mask_key(other) for other in secrets.held if self._me > other]
            own = primitives.self_key(secrets.seed, self._context, self._me)
            add_masks(masked, [own, *plus], minus, self._threads)
            secrets.mask_private = secrets.seed = b""  # never needed again
            return messages.encode_masked(self._terms, self._me, masked)

    def unmask(self, survivors: bytes) -> bytes:
        """Takes the set of survivors (message 6) and returns one share for each neighbour (message 7), once."""
        with self._taking("unmask"):
            held, neighbours = self._secrets.held, self._secrets.neighbours
            alive, dropped = messages.decode_survivors(self._terms, self._me, survivors)
            self._require(not alive & dropped, "the server asks for both shares of a client")
            self._require(self._me in alive, "the server counts this client as absent and still asks it")
            self._require(
                len(alive) >= self._terms.least,
                f"the sum would be of {len(alive)} clients, {self._terms.least} is the least number",
            )
            named = (alive | dropped) & set(neighbours)
            self._require(named == set(held), "the survivors are not those whose shares it delivered")
            self._require(
                len(alive & set(held)) >= self._secrets.threshold,
                "fewer neighbours than the threshold survive",
            )
            answers = [
                Answer(other, SEED_SHARE, seed) if other in alive else Answer(other, KEY_SHARE, key)
                for other, (seed, key) in sorted(held.items())
            ]
            self._secrets = _Secrets()
            return messages.encode_revealed(self._terms, self._me, answers)

    @contextmanager
    def _taking(self, stage: str) -> Iterator[None]:
        """Runs a stage: moves on before it begins, so that none is taken twice, and forgets all if it fails."""
        if self._stage == _ABANDONED:
            raise Abandoned(f"secure sum: client {self._me} has abandoned this round")
        if self._stage != stage:
            raise Refused(f"secure sum: client {self._me} is asked to {stage}; its stage is '{self._stage}'")
        self._stage = (*STAGES, _OVER)[STAGES.index(stage) + 1]
        try:
            yield
        except BaseException:
            self._stage = _ABANDONED
            self._secrets = _Secrets()
            raise

    def _require(self, holds: bool, reason: str) -> None:
        if not holds:
            raise Abandoned(f"secure sum: client {self._me} abandons the round: {reason}")

    def _check_roster(self, roster: Roster) -> None:
        """Refuses a graph that would not hide this client, or keys that cannot be right."""
        least = self._terms.least
        self._require(
            least <= roster.clients <= self._terms.clients,
            f"{roster.clients} clients advertise keys, this round takes {least} to {self._terms.clients}",
        )
        fewest = fewest_neighbours(roster.clients, least)
        self._require(
            fewest <= roster.degree < roster.clients,
            f"it has {roster.degree} neighbours among {roster.clients} clients, {fewest} is the least number",
        )
        self._require(
            roster.degree < 2 * roster.threshold <= 2 * roster.degree,
            f"the threshold {roster.threshold} must be more than half of {roster.degree} neighbours",
        )
        own = [primitives.public_key(self._secrets.share_private), self._secrets.mask_public]
        keys = [key for one in roster.neighbours for key in (one.share_key, one.mask_key)] + own
        self._require(len(set(keys)) == len(keys), "two of the public keys are the same")

    def _mask_key(self, other: int) -> bytes:
        public = self._secrets.neighbours[other].mask_key
        return primitives.mask_key(self._secrets.mask_private, public, self._context, self._me, other)

    def _parcel(self, to: Neighbour, seed: bytes, key: bytes) -> Parcel:
        seal_key = primitives.share_key(
            self._secrets.share_private, to.share_key, self._context, self._me, to.id
        )
        return Parcel(
            to.id,
            primitives.share_digest(seed, self._context, SEED_SHARE, self._me, to.id),
            primitives.share_digest(key, self._context, KEY_SHARE, self._me, to.id),
            primitives.seal(seal_key, seed + key, self._secrets.mask_public + to.mask_key),
        )

    def _opened(self, parcel: Parcel) -> tuple[bytes, bytes]:
        """Returns the shares of a seed and of a mask key that a neighbour sent, if they are what it vouched for."""
        self._require(
            parcel.id in self._secrets.neighbours, f"client {parcel.id} is no neighbour and sends shares"
        )
        sender = self._secrets.neighbours[parcel.id]
        key = primitives.share_key(
            self._secrets.share_private, sender.share_key, self._context, sender.id, self._me
        )
        plain = primitives.unseal(key, parcel.sealed, sender.mask_key + self._secrets.mask_public)
        if plain is None:
            raise Abandoned(
                f"secure sum: client {self._me} abandons the round: the shares of client {sender.id} "
                "cannot be opened; they are forged or damaged, or the two know different keys"
            )
        shares = plain[: shamir.SHARE], plain[shamir.SHARE :]
        digests = [
            primitives.share_digest(share, self._context, kind, sender.id, self._me)
            for kind, share in zip((SEED_SHARE, KEY_SHARE), shares, strict=True)
        ]
        self._require(
            digests == [parcel.seed_digest, parcel.key_digest],
            f"the shares of client {sender.id} are not those that it vouched for",
        )
        return shares
