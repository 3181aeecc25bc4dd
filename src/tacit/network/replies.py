"""Reads replies from SuperLink's store, in bounded time and memory.

A reply is a tree of objects, "<Type> <ids of children> <length>\\0<body>", each named by its SHA-256. A client sends
the tree first and the objects afterwards. Flower's own call is not made for hostile clients: it
blocks for up to hours on objects that never come, repeats a piece of an array as often as the reply says, and raises
any error that the bytes cause. Here an incomplete reply is left for later, the size of an array is known before it is
assembled, and any fault is a `Refusal`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from flwr.app import Array, Message
from flwr.proto.message_pb2 import ConfirmMessageReceivedRequest, PullObjectRequest
from flwr.proto.runtime_pb2 import PullAppMessagesRequest
from flwr.serverapp import Grid
from flwr.supercore.inflatable.inflatable_object import (
    get_object_body,
    get_object_head_values_from_object_content,
    iterate_object_tree,
)
from flwr.supercore.inflatable.inflatable_utils import inflate_object_from_contents
from flwr.superlink.grid.http_grid import HttpGrid

from tacit.network.work import Refusal

MOST_BYTES = 2**30  # of a reply, as it comes and as arrays
MOST_OBJECTS = 2_000  # a piece of an array has 5 MiB


class Arriving(NamedTuple):
    """Holds a reply whose objects are being fetched."""

    identity: str
    missing: list[str]
    contents: dict[str, bytes]


def look(grid: Grid, identity: str) -> Arriving | Message | None:
    """Returns the reply to a message if there is one; SuperLink hands it out once."""
    if not isinstance(grid, HttpGrid):
        return next(iter(grid.pull_messages([identity])), None)
    said = grid._runtime_client.PullMessages(PullAppMessagesRequest(message_ids=[identity]))
    for told, tree in zip(said.messages_list, said.message_object_trees, strict=True):
        missing = [node.object_id for node in iterate_object_tree(tree)]
        return Arriving(told.metadata.message_id, missing, {})
    return None


def fetch(grid: Grid, reply: Arriving) -> Message | None:
    """Returns a reply if all of it is there; raises `Refusal` if it is wrong or can never be complete."""
    assert isinstance(grid, HttpGrid)
    client, node, run = grid._runtime_client, grid.node, grid.run.run_id
    try:
        if len(reply.missing) > MOST_OBJECTS:
            raise Refusal("size", f"it has more than {MOST_OBJECTS:,} objects")
        size = sum(map(len, reply.contents.values()))
        while reply.missing:
            wanted = PullObjectRequest(node=node, run_id=run, object_id=reply.missing[-1])
            given = client.PullObject(wanted)
            if not given.object_found:
                raise Refusal("client", "a part of it never came")
            if not given.object_available:
                return None
            reply.contents[reply.missing.pop()] = given.object_content
            size += len(given.object_content)
            if size > MOST_BYTES:
                raise Refusal("size", "it is too large")
        message = opened(reply.contents, reply.identity)
    except Refusal:
        reply.missing.clear()
        _forget(grid, reply)
        raise
    _forget(grid, reply)
    return message


def opened(contents: Mapping[str, bytes], identity: str) -> Message:
    """Returns the message of these objects; refuses everything else."""
    try:
        size = sum(map(_size_of_array, contents.values(), [contents] * len(contents)))
        if size > MOST_BYTES:
            raise Refusal("size", "its arrays are too large")
        message = inflate_object_from_contents(identity, dict(contents))
        if not isinstance(message, Message):
            raise Refusal("schema", "it is no message")
        return message
    except Refusal:
        raise
    except Exception as error:  # whatever a stranger sends
        raise Refusal("schema", type(error).__name__) from None


def _size_of_array(content: bytes, contents: Mapping[str, bytes]) -> int:
    kind, pieces, _ = get_object_head_values_from_object_content(content)
    if kind != "Array":
        return 0
    indices = json.loads(get_object_body(content, Array))["arraychunk_ids"]
    return sum(len(contents[pieces[i]]) for i in indices)


def _forget(grid: HttpGrid, reply: Arriving) -> None:
    done = ConfirmMessageReceivedRequest(
        node=grid.node, run_id=grid.run.run_id, message_object_id=reply.identity
    )
    grid._runtime_client.ConfirmMessageReceived(done)
