"""The bytes that travel between clients and the server: fixed layouts, checked when they are read.

Integers are unsigned and big-endian; the masked vector alone is little-endian, as browsers' and numpy's arrays are. A
message is a header of 26 bytes and a body, and has no byte more.

    header      magic "TSUM" · version, 1 byte: 1 · type, 1 byte · round id, 16 bytes · client, 4 bytes: who sends
                the message to the server, or whom the server sends it to

    1 Keys       →  share key 32 · mask key 32                                      (public X25519 keys)
    2 Roster     ←  clients 4 · degree 4 · threshold 4 · then for each neighbour: id 4 · share key 32 · mask key 32
    3 Shares     →  seed commitment 32 · count 4 · then for each neighbour:
                    id 4 · digest of the seed's share 32 · digest of the key's share 32 · sealed shares 82
    4 Delivery   ←  count 4 · then for each neighbour that sent shares: as in 3, id is the sender
    5 Masked     →  words 8 · then each word 8
    6 Survivors  ←  clients 4 · bit map of those whose vector arrived · bit map of those who sent shares and no vector
    7 Revealed   →  count 4 · then for each neighbour that sent shares: id 4 · kind 1 · share 33

→ goes to the server, ← comes from it. Ids are numbers from 0 to clients − 1 of the round's terms, and ascend. In a bit
map, client i is bit 7 − i mod 8 of byte ⌊i/8⌋ (the highest bit first); bits behind the last client are 0. The sealed
shares are the 33 bytes of the seed's share and the 33 of the key's, under AES-GCM (16 more). Kind 0 is a share of a
seed, 1 of a mask key.

The terms are known to every party before the round. Their bytes are hashed into every key:

    magic "TSUM" · version 1 · type 0 · round id 16 · clients 4 · words 8 · least 4 · schema 32
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from tacit.base.errors import TacitError
from tacit.privacy.secure.errors import Refused
from tacit.privacy.secure.masks import Vector
from tacit.privacy.secure.primitives import DIGEST, KEY, KEY_SHARE, SEED_SHARE, TAG
from tacit.privacy.secure.shamir import SHARE, is_share

_MAGIC, _VERSION = b"TSUM", 1
ROUND = 16  # bytes of a round's id
_HEADER = struct.Struct(f">4sBB{ROUND}sI")
_TERMS = struct.Struct(f">4sBB{ROUND}sIQI{DIGEST}s")
_NEIGHBOUR = struct.Struct(f">I{KEY}s{KEY}s")
SEALED = 2 * SHARE + TAG
_PARCEL = struct.Struct(f">I{DIGEST}s{DIGEST}s{SEALED}s")
_ANSWER = struct.Struct(f">IB{SHARE}s")
_FEWEST = 3  # of two, each would learn the other's vector from the sum
KEYS, ROSTER, SHARES, DELIVERY, MASKED, SURVIVORS, REVEALED = range(1, 8)
_NAMES = ("terms", "keys", "roster", "shares", "delivery", "masked vector", "survivors", "revealed shares")


class Terms(NamedTuple):
    """What every party knows before a round."""

    round_id: bytes  # 16 bytes, new for every round
    clients: int  # asked to take part; their ids are 0 … clients − 1
    words: int  # length of the vectors
    least: int  # a sum of fewer clients is never opened
    schema: bytes = bytes(DIGEST)  # hash of what the vector's words mean

    def encoded(self) -> bytes:
        """Returns the terms as bytes."""
        return _TERMS.pack(_MAGIC, _VERSION, 0, *self)

    def context(self) -> bytes:
        """Returns the hash that every key of the round depends on."""
        return hashlib.sha256(self.encoded()).digest()

    def check(self) -> None:
        """Refuses terms under which no round can be held."""
        if len(self.round_id) != ROUND or len(self.schema) != DIGEST:
            raise TacitError(f"a round's id has {ROUND} bytes and its schema's hash {DIGEST}")
        if not _FEWEST <= self.least <= self.clients < 2**32:
            raise TacitError(
                f"a secure sum of {self.clients} clients cannot have {self.least} as its least number: "
                f"it must be {_FEWEST} or more, and at most the number of clients"
            )
        if not 1 <= self.words < 2**40:
            raise TacitError(f"a vector of {self.words} words cannot be summed")


class Neighbour(NamedTuple):
    """A neighbour's public keys."""

    id: int
    share_key: bytes
    mask_key: bytes


class Roster(NamedTuple):
    """A client's neighbours, and the graph's numbers."""

    clients: int  # that advertised keys
    degree: int
    threshold: int
    neighbours: list[Neighbour]


class Parcel(NamedTuple):
    """The two shares that one client holds of another, sealed, and their digests."""

    id: int  # of the receiver on the way to the server, of the sender on the way from it
    seed_digest: bytes
    key_digest: bytes
    sealed: bytes


class Answer(NamedTuple):
    """A share that a client reveals."""

    id: int  # whose secret it is a share of
    kind: int
    share: bytes


def encode_keys(terms: Terms, client: int, share_key: bytes, mask_key: bytes) -> bytes:
    """Returns message 1."""
    return _header(terms, KEYS, client) + share_key + mask_key


def decode_keys(terms: Terms, client: int, message: bytes) -> Neighbour:
    """Reads message 1."""
    body = _body(terms, KEYS, client, message)
    _require(len(body) == 2 * KEY, KEYS, client, f"has {len(body)} bytes of keys instead of {2 * KEY}")
    return Neighbour(client, bytes(body[:KEY]), bytes(body[KEY:]))


def encode_roster(terms: Terms, client: int, roster: Roster) -> bytes:
    """Returns message 2."""
    numbers = struct.pack(">III", roster.clients, roster.degree, roster.threshold)
    return _header(terms, ROSTER, client) + numbers + _packed(_NEIGHBOUR, roster.neighbours)


def decode_roster(terms: Terms, client: int, message: bytes) -> Roster:
    """Reads message 2: as many neighbours as its degree says."""
    body = _body(terms, ROSTER, client, message)
    _require(len(body) >= 12, ROSTER, client, "is cut short")
    clients, degree, threshold = struct.unpack(">III", body[:12])
    rows = _rows(terms, ROSTER, client, _NEIGHBOUR, degree, body[12:])
    return Roster(clients, degree, threshold, [Neighbour(*row) for row in rows])


def encode_shares(terms: Terms, client: int, commitment: bytes, parcels: Sequence[Parcel]) -> bytes:
    """Returns message 3."""
    count = struct.pack(">I", len(parcels))
    return _header(terms, SHARES, client) + commitment + count + _packed(_PARCEL, parcels)


def decode_shares(terms: Terms, client: int, message: bytes) -> tuple[bytes, list[Parcel]]:
    """Reads message 3."""
    body = _body(terms, SHARES, client, message)
    _require(len(body) >= DIGEST, SHARES, client, "is cut short")
    return bytes(body[:DIGEST]), _parcels(terms, SHARES, client, body[DIGEST:])


def encode_delivery(terms: Terms, client: int, parcels: Sequence[Parcel]) -> bytes:
    """Returns message 4."""
    count = struct.pack(">I", len(parcels))
    return _header(terms, DELIVERY, client) + count + _packed(_PARCEL, parcels)


def decode_delivery(terms: Terms, client: int, message: bytes) -> list[Parcel]:
    """Reads message 4."""
    return _parcels(terms, DELIVERY, client, _body(terms, DELIVERY, client, message))


def encode_masked(terms: Terms, client: int, vector: Vector) -> bytes:
    """Returns message 5."""
    return b"".join(
        [
            _header(terms, MASKED, client),
            struct.pack(">Q", len(vector)),
            vector.astype("<u8", copy=False).data,
        ]
    )


def decode_masked(terms: Terms, client: int, message: bytes) -> Vector:
    """Reads message 5: as many words as the terms say."""
    body = _body(terms, MASKED, client, message)
    _require(len(body) >= 8, MASKED, client, "is cut short")
    (words,) = struct.unpack(">Q", body[:8])
    _require(words == terms.words, MASKED, client, f"has {words} words instead of {terms.words}")
    _require(len(body) == 8 + 8 * words, MASKED, client, f"says {words} words and has {len(body) - 8} bytes")
    return np.frombuffer(body[8:], "<u8").astype(np.uint64, copy=False)


def encode_survivors(terms: Terms, client: int, survivors: Iterable[int], dropped: Iterable[int]) -> bytes:
    """Returns message 6."""
    maps = b"".join(_bit_map(terms, ids) for ids in (survivors, dropped))
    return _header(terms, SURVIVORS, client) + struct.pack(">I", terms.clients) + maps


def decode_survivors(terms: Terms, client: int, message: bytes) -> tuple[set[int], set[int]]:
    """Reads message 6: who survived, and who dropped after sending shares."""
    body = _body(terms, SURVIVORS, client, message)
    size = -(-terms.clients // 8)
    _require(len(body) == 4 + 2 * size, SURVIVORS, client, f"has {len(body)} bytes instead of {4 + 2 * size}")
    (clients,) = struct.unpack(">I", body[:4])
    _require(
        clients == terms.clients, SURVIVORS, client, f"is of {clients} clients instead of {terms.clients}"
    )
    sets = []
    for part in (body[4 : 4 + size], body[4 + size :]):
        ids = {int(i) for i in np.flatnonzero(np.unpackbits(np.frombuffer(part, np.uint8)))}
        outside = max(ids, default=0)
        _require(
            outside < terms.clients, SURVIVORS, client, f"names client {outside}, who is not in the group"
        )
        sets.append(ids)
    return sets[0], sets[1]


def encode_revealed(terms: Terms, client: int, answers: Sequence[Answer]) -> bytes:
    """Returns message 7."""
    return _header(terms, REVEALED, client) + struct.pack(">I", len(answers)) + _packed(_ANSWER, answers)


def decode_revealed(terms: Terms, client: int, message: bytes) -> list[Answer]:
    """Reads message 7."""
    count, body = _count(REVEALED, client, _body(terms, REVEALED, client, message))
    answers = [Answer(*row) for row in _rows(terms, REVEALED, client, _ANSWER, count, body)]
    for answer in answers:
        known = answer.kind in (SEED_SHARE, KEY_SHARE) and is_share(answer.share)
        _require(known, REVEALED, client, f"has something that is no share, about client {answer.id}")
    return answers


def _header(terms: Terms, kind: int, client: int) -> bytes:
    return _HEADER.pack(_MAGIC, _VERSION, kind, terms.round_id, client)


def _body(terms: Terms, kind: int, client: int, message: bytes) -> memoryview:
    """Returns what follows a header that is right: version, type, round and client."""
    _require(len(message) >= _HEADER.size, kind, client, "is cut short")
    magic, version, sent, round_id, who = _HEADER.unpack(message[: _HEADER.size])
    _require(magic == _MAGIC, kind, client, "is no message of a secure sum")
    _require(version == _VERSION, kind, client, f"has version {version}; this program reads {_VERSION}")
    name = _NAMES[sent] if sent < len(_NAMES) else f"type {sent}"
    _require(sent == kind, kind, client, f"is not what this stage takes: it is of the kind '{name}'")
    _require(round_id == terms.round_id, kind, client, "belongs to another round")
    _require(who == client, kind, client, f"carries the id of client {who}")
    return memoryview(message)[_HEADER.size :]


def _parcels(terms: Terms, kind: int, client: int, body: memoryview) -> list[Parcel]:
    count, rows = _count(kind, client, body)
    return [Parcel(*row) for row in _rows(terms, kind, client, _PARCEL, count, rows)]


def _count(kind: int, client: int, body: memoryview) -> tuple[int, memoryview]:
    _require(len(body) >= 4, kind, client, "is cut short")
    return int.from_bytes(body[:4]), body[4:]


def _rows(
    terms: Terms, kind: int, client: int, layout: struct.Struct, count: int, body: memoryview
) -> list[tuple]:
    """Reads rows that begin with the id of another client of the group, in ascending order."""
    wanted = count * layout.size
    _require(len(body) == wanted, kind, client, f"has {len(body)} bytes of entries instead of {wanted}")
    rows = list(layout.iter_unpack(body))
    before = -1
    for who, *_ in rows:
        _require(who < terms.clients, kind, client, f"names client {who}, who is not in the group")
        _require(who != client, kind, client, "names the client itself")
        _require(who > before, kind, client, f"names client {who} twice or out of order")
        before = who
    return rows


def _packed(layout: struct.Struct, rows: Iterable[tuple]) -> bytes:
    return b"".join(layout.pack(*row) for row in rows)


def _bit_map(terms: Terms, ids: Iterable[int]) -> bytes:
    bits = np.zeros(terms.clients, bool)
    bits[list(ids)] = True
    return np.packbits(bits).tobytes()


def _require(holds: bool, kind: int, client: int, what: str) -> None:
    """Refuses a message unless something holds; the line says whose it is."""
    if not holds:
        side = "from" if kind in (KEYS, SHARES, MASKED, REVEALED) else "for"
        raise Refused(f"secure sum: the {_NAMES[kind]} {side} client {client} {what}; it is not taken")
