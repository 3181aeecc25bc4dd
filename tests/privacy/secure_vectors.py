"""Makes the test vectors of secure sums, for implementations in other languages.

    python tests/privacy/secure_vectors.py          (writes tests/privacy/vectors/*.json)

`secure-round.json` is a whole round of nine clients. The last one advertises no keys, one sends no vector, and one
reveals no shares. It has every random byte drawn, every key, mask, share and message. `fixed-point.json` has numbers
and their integers. Bytes are hexadecimal. Words are decimal strings, because a number of JavaScript has 53 bits.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from tacit.privacy.secure import codec, messages, primitives
from tacit.privacy.secure.client import Client
from tacit.privacy.secure.graph import Rates, neighbours
from tacit.privacy.secure.masks import add_masks
from tacit.privacy.secure.messages import Terms
from tacit.privacy.secure.server import Server

HERE = Path(__file__).parent / "vectors"
CLIENTS, WORDS = 9, 5
DROPPED, SILENT = 2, 4  # sends no vector; reveals no shares


class Drawn:
    """Random bytes that are the same every time: SHA-256 of a name and a counter. It keeps what was drawn."""

    def __init__(self, name: str) -> None:
        self.name, self.all = name, list[bytes]()

    def __call__(self, size: int) -> bytes:
        blocks = [
            hashlib.sha256(f"{self.name} {len(self.all)} {i}".encode()).digest()
            for i in range(size // 32 + 1)
        ]
        self.all.append(b"".join(blocks)[:size])
        return self.all[-1]


def words(vector: np.ndarray) -> list[str]:
    return [str(int(word)) for word in vector]


def mask(key: bytes) -> list[str]:
    total = np.zeros(WORDS, np.uint64)
    add_masks(total, [key], [])
    return words(total)


def round_vectors() -> dict[str, Any]:
    """A round with every intermediate value; nine clients, of whom the last does not even advertise keys."""
    terms = Terms(bytes(range(16)), CLIENTS, WORDS, 3, hashlib.sha256(b"a schema").digest())
    context = terms.context()
    source = Drawn("server")
    server = Server(terms, Rates(dropout=0.25, colluding=0.0), source)
    drawn = [Drawn(f"client {i}") for i in range(CLIENTS)]
    clients = [Client(terms, i, drawn[i]) for i in range(CLIENTS)]
    rng = np.random.default_rng(7)
    vectors = rng.integers(0, 2**64, (CLIENTS, WORDS), np.uint64)
    sent: dict[str, dict[int, bytes]] = {}

    def stage(name: str, answers: dict[int, bytes]) -> None:
        sent[name] = answers
        for i, message in answers.items():
            server.receive(i, message)

    def end(name: str) -> dict[int, bytes]:
        sent[name] = server.end_stage()
        return sent[name]

    stage("keys", {i: clients[i].advertise() for i in range(CLIENTS - 1)})
    rosters = end("roster")
    degree, threshold = server.sparsity
    stage("shares", {i: clients[i].share(m) for i, m in rosters.items()})
    deliveries = end("delivery")
    stage("masked", {i: clients[i].mask(m, vectors[i]) for i, m in deliveries.items() if i != DROPPED})
    survivors = end("survivors")
    stage("revealed", {i: clients[i].unmask(m) for i, m in survivors.items() if i != SILENT})
    opened = server.open()

    near = neighbours(sorted(rosters), degree, source.all[0])
    secrets = [d.all for d in drawn[:-1]]
    pairs = []
    for i in sorted(near):
        for j in near[i]:
            shared = primitives.agree(secrets[i][0], primitives.public_key(secrets[j][0]))
            pair = {
                "from": i,
                "to": j,
                "share_secret": shared.hex(),
                "share_info": primitives.info(b"share", i, j).hex(),
                "share_key": primitives.derive(shared, context, b"share", i, j).hex(),
            }
            if i < j:
                shared = primitives.agree(secrets[i][1], primitives.public_key(secrets[j][1]))
                key = primitives.derive(shared, context, b"mask", i, j)
                pair |= {
                    "mask_secret": shared.hex(),
                    "mask_info": primitives.info(b"mask", i, j).hex(),
                    "mask_key": key.hex(),
                    "mask": mask(key),
                }
            pairs.append(pair)
    return {
        "terms": {
            "round_id": terms.round_id.hex(),
            "clients": terms.clients,
            "words": terms.words,
            "least": terms.least,
            "schema": terms.schema.hex(),
            "encoded": terms.encoded().hex(),
            "context": context.hex(),
        },
        "graph": {
            "seed": source.all[0].hex(),
            "degree": degree,
            "threshold": threshold,
            "neighbours": {str(i): js for i, js in sorted(near.items())},
        },
        "clients": [
            {
                "id": i,
                "drawn": [part.hex() for part in secrets[i]],
                "share_public": primitives.public_key(secrets[i][0]).hex(),
                "mask_public": primitives.public_key(secrets[i][1]).hex(),
                "seed_commitment": primitives.seed_commitment(secrets[i][2], context, i).hex(),
                "self_info": primitives.info(b"self", i).hex(),
                "self_key": primitives.self_key(secrets[i][2], context, i).hex(),
                "self_mask": mask(primitives.self_key(secrets[i][2], context, i)),
                "shares": {
                    str(parcel.id): opened_parcel(secrets, context, i, parcel)
                    for parcel in messages.decode_shares(terms, i, sent["shares"][i])[1]
                },
                "vector": words(vectors[i]),
            }
            for i in sorted(near)
        ],
        "pairs": pairs,
        "messages": {name: {str(i): m.hex() for i, m in some.items()} for name, some in sent.items()},
        "masked": {str(i): words(messages.decode_masked(terms, i, m)) for i, m in sent["masked"].items()},
        "survivors": list(opened.survivors),
        "sum": words(opened.total),
    }


def opened_parcel(
    secrets: list[list[bytes]], context: bytes, i: int, parcel: messages.Parcel
) -> dict[str, str]:
    key = primitives.share_key(
        secrets[i][0], primitives.public_key(secrets[parcel.id][0]), context, i, parcel.id
    )
    known = b"".join(primitives.public_key(secrets[who][1]) for who in (i, parcel.id))
    plain = primitives.unseal(key, parcel.sealed, known)
    assert plain is not None
    return {
        "seed": plain[:33].hex(),
        "key": plain[33:].hex(),
        "seed_digest": parcel.seed_digest.hex(),
        "key_digest": parcel.key_digest.hex(),
        "sealed": parcel.sealed.hex(),
    }


def fixed_point_vectors() -> dict[str, Any]:
    """Messages of three clients, their words, and the sum."""
    messages_ = [
        {
            "count": np.array([3, 0, 7]),
            "share": np.float32(0.5),
            "update": np.array([[1.5, -2.25], [1e-9, 0.1]]),
        },
        {
            "count": np.array([0, 1, 2]),
            "share": np.float32(0.1),
            "update": np.array([[-8, 8.0], [-1e-12, 1 / 3]]),
        },
        {
            "count": np.array([5, 0, 0]),
            "share": np.float32(1),
            "update": np.array([[0, -0.0], [2.0**-33, 3 * 2.0**-33]]),
        },
    ]
    schema = codec.schema_of(
        messages_[0],
        bounds={"count": 1000, "share": 1.0, "update": 8.0},
        bits={"count": 0, "share": 40, "update": 32},
        quanta={"count": 0, "share": 1000, "update": 0},
    )
    vectors = [codec.encode(schema, message) for message in messages_]
    total = sum(vectors[1:], start=vectors[0])
    return {
        "parts": [
            {"name": p.name, "shape": list(p.shape), "bound": p.bound, "bits": p.bits, "quanta": p.quanta}
            for p in schema.parts
        ],
        "schema": schema.digest().hex(),
        "messages": [{name: np.asarray(x).tolist() for name, x in m.items()} for m in messages_],
        "words": [words(vector) for vector in vectors],
        "sum": words(total),
        "decoded": {name: np.asarray(x).tolist() for name, x in codec.decode(schema, total, 3).items()},
    }


FILES = {"secure-round.json": round_vectors, "fixed-point.json": fixed_point_vectors}


def _short(text: str) -> str:
    """Lists of plain values on one line."""
    return re.sub(r"\[[^][{}]*\]", lambda found: re.sub(r"\s+", " ", found.group()), text)


def written(vectors: dict[str, Any]) -> str:
    return _short(json.dumps(vectors, indent=1)) + "\n"


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    for name, make in FILES.items():
        (HERE / name).write_text(written(make()), "utf-8")
