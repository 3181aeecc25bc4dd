"""The wire of a tab, by hand in JavaScript, against Flower's own classes: objects, messages, calls and signatures."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("flwr")

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from flwr.app import Metadata
from flwr.app.message.message import make_message
from flwr.common.serde import message_from_proto, message_to_proto
from flwr.proto import fleet_pb2, heartbeat_pb2, message_pb2
from flwr.supercore.inflatable.inflatable_object import (
    get_all_nested_objects,
    get_object_tree,
    iterate_object_tree,
)

from tacit.network.grid import from_records, to_records
from tacit.network.keys import openssh
from tacit.network.replies import opened
from tacit.network.work import Parcel

RUN, NODE, NOW = 2**64 - 7, 2**63 + 5, 1_800_000_000.5
ARRAYS = {
    "params/w": np.arange(6, dtype=np.float32).reshape(2, 3),
    "params/same": np.arange(6, dtype=np.float32).reshape(2, 3),  # one object, named twice
    "clip": np.array(0.5, np.float32),
    "words": np.frombuffer("<s>\n</s>\n<unk>\nné".encode(), np.uint8),
    "large": np.zeros(1_500_000, np.float32),  # two pieces, of equal content but for the header
    "none": np.zeros((0, 4), np.float32),
}
FACTS: dict[str, Any] = {
    "version": 1,
    "kind": "train",
    "lr": 0.1,
    "seed": -(2**40),
    "empty": "",
    "config": 'a = "é"\n',
}
SAID = bytes(range(256)) * 3


@pytest.fixture(scope="module")
def task() -> Any:
    metadata = Metadata(RUN, "", 1, NODE, "", "group", NOW - 10, 60.0, "train")
    return make_message(metadata, to_records(Parcel(ARRAYS, FACTS)))


@pytest.fixture(scope="module")
def told(task: Any) -> Any:
    """What the JavaScript made of it."""
    node = shutil.which("node")
    if not node:
        pytest.skip("node is not installed; `make browser` installs it where it may")
    proto = message_to_proto(task)
    proto.metadata.message_id = task.object_id
    proto.ClearField("content")
    tree = get_object_tree(task)
    answers = [
        fleet_pb2.ActivateNodeResponse(node_id=NODE),
        heartbeat_pb2.SendNodeHeartbeatResponse(success=True),
        fleet_pb2.PullMessagesResponse(messages_list=[proto], message_object_trees=[tree]),
        message_pb2.PullObjectResponse(object_found=True, object_available=True, object_content=b"content"),
        message_pb2.ConfirmMessageReceivedResponse(),
        fleet_pb2.PushMessagesResponse(objects_to_push=["not one of ours"], session_id="a session"),
        fleet_pb2.DeactivateNodeResponse(),
    ]
    given = {
        "root": task.object_id,
        "contents": {name: one.deflate().hex() for name, one in get_all_nested_objects(task).items()},
        "message": proto.SerializeToString().hex(),
        "said": SAID.hex(),
        "now": NOW,
        "run": str(RUN),
        "answers": [answer.SerializeToString().hex() for answer in answers],
    }
    script = Path(__file__).with_name("tab_wire.mjs")
    done = subprocess.run(
        [node, str(script)], input=json.dumps(given), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_task_of_flowers_objects_is_read(told: Any) -> None:
    types = {"int": int, "str": str, "float": float}
    assert {name: types[fact["type"]](fact["value"]) for name, fact in told["facts"].items()} == FACTS
    assert list(told["arrays"]) == list(ARRAYS)
    for name, (kind, shape, content) in told["arrays"].items():
        wanted = ARRAYS[name]
        assert (kind, tuple(shape)) == (wanted.dtype.str, wanted.shape)
        assert bytes.fromhex(content) == wanted.tobytes()


def reply_of(said: Any) -> tuple[Any, dict[str, bytes], list[str]]:
    proto = message_pb2.Message.FromString(bytes.fromhex(said["message"]))
    tree = message_pb2.ObjectTree.FromString(bytes.fromhex(said["tree"]))
    pieces = {name: bytes.fromhex(content) for name, content in said["pieces"].items()}
    return message_from_proto(proto), pieces, [node.object_id for node in iterate_object_tree(tree)]


def test_a_reply_is_flowers(told: Any, task: Any) -> None:
    message, pieces, tree = reply_of(told["reply"])
    found = message.metadata
    assert (found.run_id, found.src_node_id, found.dst_node_id) == (RUN, NODE, 1)
    assert (found.reply_to_message_id, found.group_id, found.message_type) == (
        task.object_id,
        "group",
        "train",
    )
    assert found.created_at == NOW and found.created_at + found.ttl == pytest.approx(NOW + 50)
    assert message.has_content() and not message.has_error()
    assert sorted(tree) == sorted(pieces) and found.message_id in pieces
    parcel = from_records(opened(pieces, found.message_id).content)
    assert parcel.facts == {"version": 1, "kind": "mask", "round": 0, "below": -3, "rate": 0.25, "empty": ""}
    assert parcel.arrays["message"].tobytes() == SAID and parcel.arrays["message"].dtype == np.uint8


def test_a_refusal_is_an_error_with_its_reason(told: Any) -> None:
    message, pieces, tree = reply_of(told["error"])
    assert message.has_error() and not message.has_content() and message.error.reason == "config"
    inflated = opened(pieces, message.metadata.message_id)
    assert inflated.has_error() and inflated.error.reason == "config" and tree == [*pieces]


def test_every_call_is_what_flower_reads(told: Any) -> None:
    assert (told["node"], told["beat"]) == (str(NODE), True)
    assert told["exported"].startswith("InvalidAccess")
    *posted, farewell = told["posted"]
    assert (farewell["url"], farewell["body"]) == (
        posted[-1]["url"],
        posted[-1]["body"],
    )  # sent when a tab is closed
    kinds = {
        "activate-node": fleet_pb2.ActivateNodeRequest,
        "send-node-heartbeat": heartbeat_pb2.SendNodeHeartbeatRequest,
        "pull-messages": fleet_pb2.PullMessagesRequest,
        "pull-object": message_pb2.PullObjectRequest,
        "confirm-message-received": message_pb2.ConfirmMessageReceivedRequest,
        "push-messages": fleet_pb2.PushMessagesRequest,
        "deactivate-node": fleet_pb2.DeactivateNodeRequest,
    }
    assert [call["url"] for call in posted] == [f"/v1/fleet/{name}" for name in kinds]
    read = [
        kind.FromString(bytes.fromhex(call["body"]))
        for kind, call in zip(kinds.values(), posted, strict=True)
    ]
    activate, beat, pull, object_, confirm, push, deactivate = read
    assert {beat.node.node_id, pull.node.node_id, object_.node.node_id, confirm.node.node_id} == {NODE}
    assert {push.node.node_id, deactivate.node_id} == {NODE}
    assert activate.heartbeat_interval == beat.heartbeat_interval == 30  # as Flower's own nodes
    assert (object_.run_id, object_.object_id) == (RUN, "some object")
    assert (confirm.run_id, confirm.message_object_id) == (RUN, "a message")
    assert list(push.clientapp_runtime_list) == [1.5]
    assert push.messages_list[0].metadata.message_id == push.message_object_trees[0].object_id


def test_a_tab_signs_with_the_servers_clock(told: Any) -> None:
    """SuperLink refuses a call that is more than five seconds early, and a person's clock may be wrong."""
    for ahead, signed, now in told["signed"]:
        wanted = ahead if abs(ahead) > 2 else 0
        assert signed == pytest.approx(wanted, abs=1.5) and now == pytest.approx(wanted, abs=1.5)


def test_every_call_is_signed(told: Any) -> None:
    for call in told["posted"]:
        headers = call["headers"]
        pem = base64.b64decode(headers["flwr-public-key"])
        key = load_pem_public_key(pem)
        assert isinstance(key, ec.EllipticCurvePublicKey)
        signature = base64.b64decode(headers["flwr-signature"])
        key.verify(signature, headers["flwr-timestamp"].encode(), ec.ECDSA(hashes.SHA256()))
    first = fleet_pb2.ActivateNodeRequest.FromString(bytes.fromhex(told["posted"][0]["body"]))
    assert first.public_key == pem
    from flwr.supercore.primitives.asymmetric import public_key_to_bytes

    assert public_key_to_bytes(key) == pem  # by these bytes SuperLink finds a node
    assert openssh(base64.b64decode(told["key"])).startswith("ecdsa-sha2-nistp384 ")
