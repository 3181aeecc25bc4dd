"""What Tacit relies on of Flower's wire, stated without Flower's own code: routes, signatures, objects, and our reader.

Flower documents none of it and moved it twice in 2026. If a test here fails with a new version, read what changed
before the bound in pyproject.toml is raised.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import json
from types import SimpleNamespace
from typing import Any

import httpx
import numpy as np
import pytest

pytest.importorskip("flwr")

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_public_key, load_ssh_private_key
from flwr.app import ConfigRecord, Metadata
from flwr.app.message.message import make_message
from flwr.proto.message_pb2 import (
    ConfirmMessageReceivedResponse,
    ObjectTree,
    PullObjectResponse,
)
from flwr.proto.message_pb2 import Message as ProtoMessage
from flwr.proto.message_pb2 import Metadata as ProtoMetadata
from flwr.proto.runtime_pb2 import PullAppMessagesResponse
from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects
from flwr.superlink.grid.http_grid import HttpGrid

from tacit.network.gate import FLEET, MOST_BYTES
from tacit.network.grid import from_records, to_records
from tacit.network.keys import client_keys
from tacit.network.replies import Arriving, fetch, look, opened
from tacit.network.work import Parcel, Refusal


def test_the_calls_of_clients_are_posts_below_one_path() -> None:
    from flwr.superlink.routers.control.router import router as control
    from flwr.superlink.routers.fleet.router import router as fleet

    routes = {str(getattr(r, "path", "")): set(getattr(r, "methods", ()) or ()) for r in fleet.routes}
    for call in FLEET:
        assert routes.get(f"/v1/fleet/{call}") == {"POST"}, call
    others = [str(getattr(route, "path", "")) for route in control.routes]
    assert others and not any(path.startswith("/v1/fleet/") for path in others)


def test_a_node_signs_the_time_and_nothing_else() -> None:
    """Headers: the key as PEM, the time as ISO text, and ECDSA with SHA-256 over that text."""
    from flwr.supernode.node_auth_http_interceptor import NodeAuthHttpInterceptor

    key = load_ssh_private_key(client_keys().private, None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    request = httpx.Request("POST", "https://127.0.0.1/v1/fleet/pull-messages", content=b"anything")
    context: Any = SimpleNamespace(request=request)
    NodeAuthHttpInterceptor(key, key.public_key()).intercept(context, lambda given: httpx.Response(200))
    told = {name: request.headers[name] for name in ("flwr-public-key", "flwr-timestamp", "flwr-signature")}
    public = load_pem_public_key(base64.b64decode(told["flwr-public-key"]))
    assert isinstance(public, ec.EllipticCurvePublicKey)
    assert public.public_numbers() == key.public_key().public_numbers()
    when = told["flwr-timestamp"]
    public.verify(base64.b64decode(told["flwr-signature"]), when.encode(), ec.ECDSA(hashes.SHA256()))
    age = datetime.datetime.now(datetime.UTC) - datetime.datetime.fromisoformat(when)
    assert abs(age.total_seconds()) < 60


def test_a_clock_may_be_five_minutes_behind() -> None:
    from flwr.common.constant import SYSTEM_TIME_TOLERANCE, TIMESTAMP_TOLERANCE

    assert TIMESTAMP_TOLERANCE == 300 and 0 < SYSTEM_TIME_TOLERANCE <= 60


class Store:
    """Objects written by hand: "<Type> <ids of children> <length>\\0<body>", by their SHA-256."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}

    def put(self, kind: str, children: list[str], body: bytes) -> str:
        content = f"{kind} {','.join(children)} {len(body)}".encode() + b"\0" + body
        name = hashlib.sha256(content).hexdigest()
        self.contents[name] = content
        return name

    def array(self, array: np.ndarray, pieces: int = 1) -> str:
        header = (
            f"{{'descr': '{array.dtype.str}', 'fortran_order': False, 'shape': {array.shape}, }}\n".encode()
        )
        data = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + array.tobytes()
        cuts = [data[i * len(data) // pieces : (i + 1) * len(data) // pieces] for i in range(pieces)]
        names = [self.put("ArrayChunk", [], cut) for cut in cuts]
        told = {"dtype": str(array.dtype), "shape": list(array.shape), "stype": "numpy.ndarray"}
        return self.put("Array", names, json.dumps(told | {"arraychunk_ids": list(range(pieces))}).encode())

    def message(self, arrays: dict[str, str], facts: bytes) -> str:
        records = {
            "arrays": self.put("ArrayRecord", list(arrays.values()), json.dumps(arrays).encode()),
            "facts": self.put("ConfigRecord", [], facts),
        }
        content = self.put("RecordDict", list(records.values()), json.dumps(records).encode())
        metadata = ProtoMetadata(run_id=1, message_type="train", ttl=60.0, created_at=1.0)
        return self.put("Message", [content], ProtoMessage(metadata=metadata).SerializeToString())


ARRAYS = {"w": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.array(2.5, np.float64)}
FACTS: dict[str, Any] = {"kind": "train", "round": 3}


def written(store: Store, pieces: int = 1) -> str:
    """Writes a message of `ARRAYS` and `FACTS`; of the facts only the object around Flower's protobuf is ours."""
    facts = ConfigRecord(dict(FACTS)).deflate().partition(b"\0")[2]
    return store.message({name: store.array(array, pieces) for name, array in ARRAYS.items()}, facts)


@pytest.mark.parametrize("pieces", [1, 3])
def test_objects_written_by_hand_are_read(pieces: int) -> None:
    store = Store()
    parcel = from_records(opened(store.contents, written(store, pieces)).content)
    assert parcel.facts == FACTS and parcel.arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(parcel.arrays[name], array, strict=True)


def test_flower_writes_such_objects_in_pieces_that_the_gate_lets_through() -> None:
    large = np.arange(1_500_000, dtype=np.float32)
    metadata = Metadata(1, "", 1, 1, "", "", 1.0, 60.0, "train")
    message = make_message(metadata, to_records(Parcel({"large": large}, FACTS)))
    contents = {name: one.deflate() for name, one in get_all_nested_objects(message).items()}
    pieces = [content for content in contents.values() if content.startswith(b"ArrayChunk ")]
    assert len(pieces) == 2 and max(map(len, contents.values())) < MOST_BYTES
    for name, content in contents.items():
        head, _, body = content.partition(b"\0")
        kind, children, size = head.decode().split(" ")
        assert hashlib.sha256(content).hexdigest() == name and int(size) == len(body)
        assert set(children.split(",")) <= {*contents, ""} and kind
    np.testing.assert_array_equal(
        from_records(opened(contents, message.object_id).content).arrays["large"], large
    )


class SuperLink:
    """Answers a grid's calls from a store in memory, as SuperLink does: a reply is handed out once."""

    def __init__(self, store: Store, root: str) -> None:
        self.contents, self.root, self.forgotten = dict(store.contents), root, list[str]()
        self.tree = ObjectTree(
            object_id=root, children=[ObjectTree(object_id=n) for n in store.contents if n != root]
        )

    def PullMessages(self, request: Any) -> PullAppMessagesResponse:
        if list(request.message_ids) != ["task"]:
            return PullAppMessagesResponse()
        told = ProtoMessage(metadata=ProtoMetadata(run_id=1, message_id=self.root))
        return PullAppMessagesResponse(messages_list=[told], message_object_trees=[self.tree])

    def PullObject(self, request: Any) -> PullObjectResponse:
        content = self.contents.get(request.object_id)
        return PullObjectResponse(
            object_found=content is not None, object_available=bool(content), object_content=content or b""
        )

    def ConfirmMessageReceived(self, request: Any) -> ConfirmMessageReceivedResponse:
        self.forgotten.append(request.message_object_id)
        return ConfirmMessageReceivedResponse()


@pytest.fixture
def superlink() -> SuperLink:
    store = Store()
    return SuperLink(store, written(store))


@pytest.fixture
def grid(superlink: SuperLink, monkeypatch: pytest.MonkeyPatch) -> HttpGrid:
    monkeypatch.setattr(HttpGrid, "run", SimpleNamespace(run_id=1))
    made = HttpGrid(token="x")
    made._client = superlink  # type: ignore[assignment]
    return made


def test_an_unfinished_reply_is_left_for_later(superlink: SuperLink, grid: HttpGrid) -> None:
    piece = next(name for name, content in superlink.contents.items() if content.startswith(b"ArrayChunk "))
    late, superlink.contents[piece] = superlink.contents[piece], b""
    reply = look(grid, "task")
    assert isinstance(reply, Arriving) and fetch(grid, reply) is None and not superlink.forgotten
    superlink.contents[piece] = late
    message = fetch(grid, reply)
    assert message is not None and from_records(message.content).facts == FACTS
    assert superlink.forgotten == [superlink.root] and look(grid, "another") is None


@pytest.mark.parametrize(("content", "reason"), [(None, "client"), (b"Array  2\0{}", "schema")])
def test_a_reply_that_is_damaged_or_never_complete(
    superlink: SuperLink, grid: HttpGrid, content: bytes | None, reason: str
) -> None:
    name = next(name for name, content in superlink.contents.items() if content.startswith(b"Array "))
    superlink.contents.pop(name)
    if content is not None:
        superlink.contents[name] = content
    reply = look(grid, "task")
    assert isinstance(reply, Arriving)
    with pytest.raises(Refusal) as refused:
        fetch(grid, reply)
    assert refused.value.reason == reason and superlink.forgotten == [superlink.root]


def test_an_array_is_not_put_together_from_a_million_times_one_piece() -> None:
    store = Store()
    root = written(store)
    name = next(n for n, c in store.contents.items() if c.startswith(b"Array "))
    head, _, body = store.contents[name].partition(b"\0")
    told = json.loads(body) | {"arraychunk_ids": [0] * 100_000}
    piece = head.decode().split(" ")[1]
    damaged = {**store.contents, name: head + b"\0" + json.dumps(told).encode()}
    damaged[piece] = damaged[piece] + bytes(20_000)  # two gigabytes in all
    with pytest.raises(Refusal) as refused:
        opened(damaged, root)
    assert refused.value.reason == "size"
