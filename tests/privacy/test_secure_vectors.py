"""The test vectors: the program still makes them, and plain statements of every step agree with each value."""

from __future__ import annotations

import hashlib
import json
import struct
from typing import Any

import numpy as np
import pytest
import secure_reference as plain
import secure_vectors


def read(name: str) -> dict[str, Any]:
    return json.loads((secure_vectors.HERE / name).read_text("utf-8"))


@pytest.fixture(scope="module")
def vectors() -> dict[str, Any]:
    return read("secure-round.json")


@pytest.fixture(scope="module")
def parties(vectors: dict[str, Any]) -> dict[int, plain.Party]:
    context = bytes.fromhex(vectors["terms"]["context"])
    return {
        one["id"]: plain.Party(one["id"], [bytes.fromhex(part) for part in one["drawn"]], context)
        for one in vectors["clients"]
    }


def array(words: list[str]) -> np.ndarray:
    return np.array([int(word) for word in words], np.uint64)


@pytest.mark.parametrize("name", secure_vectors.FILES)
def test_the_program_makes_the_same_bytes(name: str) -> None:
    assert (secure_vectors.HERE / name).read_text("utf-8") == secure_vectors.written(
        secure_vectors.FILES[name]()
    )


def test_terms(vectors: dict[str, Any]) -> None:
    terms = vectors["terms"]
    encoded = struct.pack(">4sBB", b"TSUM", 1, 0) + bytes.fromhex(terms["round_id"])
    encoded += struct.pack(">IQI", terms["clients"], terms["words"], terms["least"])
    encoded += bytes.fromhex(terms["schema"])
    assert encoded.hex() == terms["encoded"]
    assert hashlib.sha256(encoded).hexdigest() == terms["context"]


def test_graph(vectors: dict[str, Any]) -> None:
    """A circle in the order of hashes; three on either side are neighbours."""
    graph, ids = vectors["graph"], range(8)
    seed = bytes.fromhex(graph["seed"])
    circle = sorted(ids, key=lambda i: hashlib.sha256(seed + plain.number(i)).digest())
    assert graph["degree"] == 6
    for at, i in enumerate(circle):
        far = circle[(at + 4) % 8]
        assert graph["neighbours"][str(i)] == [j for j in ids if j not in (i, far)]


def test_keys_and_masks(vectors: dict[str, Any], parties: dict[int, plain.Party]) -> None:
    words = vectors["terms"]["words"]
    for one in vectors["clients"]:
        party = parties[one["id"]]
        assert one["share_public"] == party.share_public.hex()
        assert one["mask_public"] == party.mask_public.hex()
        assert one["seed_commitment"] == party.commitment().hex()
        assert one["self_info"] == party.info(b"self", party.me).hex()
        assert one["self_key"] == party.self_key().hex()
        assert (array(one["self_mask"]) == plain.mask(party.self_key(), words)).all()
    assert len(vectors["pairs"]) == 8 * 6
    for pair in vectors["pairs"]:
        a, b = parties[pair["from"]], parties[pair["to"]]
        assert pair["share_secret"] == plain.x25519(a.share_private, b.share_public).hex()
        assert pair["share_info"] == a.info(b"share", a.me, b.me).hex()
        assert pair["share_key"] == a.share_key(b).hex()
        if a.me < b.me:
            assert pair["mask_secret"] == plain.x25519(b.mask_private, a.mask_public).hex()
            assert pair["mask_info"] == a.info(b"mask", a.me, b.me).hex()
            assert pair["mask_key"] == b.mask_key(a).hex()
            assert (array(pair["mask"]) == plain.mask(a.mask_key(b), words)).all()


def test_shares(vectors: dict[str, Any], parties: dict[int, plain.Party]) -> None:
    threshold = vectors["graph"]["threshold"]
    for one in vectors["clients"]:
        party = parties[one["id"]]
        for other, parts in one["shares"].items():
            seed, key = party.shares(int(other))
            assert (parts["seed"], parts["key"]) == (seed.hex(), key.hex())
            assert [parts["seed_digest"], parts["key_digest"]] == [d.hex() for d in party.digests(int(other))]
            assert parts["sealed"] == party.sealed(parties[int(other)]).hex()
        for kind, secret in (("seed", party.seed), ("key", party.mask_private)):
            points = {
                int(j) + 1: int(parts[kind], 16) for j, parts in list(one["shares"].items())[:threshold]
            }
            assert plain.interpolated(points) == int.from_bytes(secret)


def test_messages(vectors: dict[str, Any], parties: dict[int, plain.Party]) -> None:
    """Each message, put together from the layout at the top of messages.py."""
    near = {int(i): js for i, js in vectors["graph"]["neighbours"].items()}
    silent, dropped = secure_vectors.SILENT, secure_vectors.DROPPED
    inputs = {one["id"]: array(one["vector"]) for one in vectors["clients"]}

    def header(kind: int, client: int) -> bytes:
        return b"TSUM\x01" + bytes([kind]) + bytes(range(16)) + plain.number(client)

    def parcel(dealer: int, holder: int, named: int) -> bytes:
        sealed = parties[dealer].sealed(parties[holder])
        return plain.number(named) + b"".join(parties[dealer].digests(holder)) + sealed

    def bits(ids: set[int]) -> bytes:
        text = "".join("1" if i in ids else "0" for i in range(9)).ljust(16, "0")
        return bytes([int(text[:8], 2), int(text[8:], 2)])

    for i, party in parties.items():
        made = {
            "keys": header(1, i) + party.share_public + party.mask_public,
            "roster": header(2, i)
            + b"".join(plain.number(n) for n in (8, 6, vectors["graph"]["threshold"]))
            + b"".join(plain.number(j) + parties[j].share_public + parties[j].mask_public for j in near[i]),
            "shares": header(3, i)
            + party.commitment()
            + plain.number(6)
            + b"".join(parcel(i, j, j) for j in near[i]),
            "delivery": header(4, i) + plain.number(6) + b"".join(parcel(j, i, j) for j in near[i]),
            "masked": header(5, i)
            + plain.number(5, 8)
            + b"".join(
                int(w).to_bytes(8, "little") for w in party.masked(inputs[i], [parties[j] for j in near[i]])
            ),
            "survivors": header(6, i) + plain.number(9) + bits(set(parties) - {dropped}) + bits({dropped}),
            "revealed": header(7, i)
            + plain.number(6)
            + b"".join(
                plain.number(j) + bytes([j == dropped]) + parties[j].shares(i)[j == dropped] for j in near[i]
            ),
        }
        absent = {dropped: {"masked", "survivors", "revealed"}, silent: {"revealed"}}.get(i, set())
        for name, message in made.items():
            assert vectors["messages"][name].get(str(i)) == (None if name in absent else message.hex()), name


def test_sum(vectors: dict[str, Any]) -> None:
    """That of the vectors as they are, without anything of the protocol."""
    kept = [one for one in vectors["clients"] if one["id"] != secure_vectors.DROPPED]
    assert vectors["survivors"] == [one["id"] for one in kept]
    total = [sum(int(one["vector"][w]) for one in kept) % 2**64 for w in range(vectors["terms"]["words"])]
    assert [int(word) for word in vectors["sum"]] == total


def test_fixed_point() -> None:
    """Python's integers and its own rounding."""
    file = read("fixed-point.json")
    for message, words in zip(file["messages"], file["words"], strict=True):
        expected = [
            round(x * 2 ** part["bits"]) % 2**64
            for part in file["parts"]
            for x in np.ravel(message[part["name"]]).tolist()
        ]
        assert [int(word) for word in words] == expected
    layout = b"".join(
        struct.pack(">H", len(part["name"]))
        + part["name"].encode()
        + bytes([len(part["shape"])])
        + b"".join(plain.number(n, 8) for n in part["shape"])
        + struct.pack(">d", part["bound"])
        + bytes([part["bits"]])
        + plain.number(part["quanta"], 8)
        for part in file["parts"]
    )
    assert hashlib.sha256(layout).hexdigest() == file["schema"]
    sums = [sum(int(words[i]) for words in file["words"]) % 2**64 for i in range(len(file["sum"]))]
    assert [int(word) for word in file["sum"]] == sums
    update = [s - 2**64 if s >= 2**63 else s for s in sums[4:]]
    assert np.ravel(file["decoded"]["update"]).tolist() == [s / 2**32 for s in update]
