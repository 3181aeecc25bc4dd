"""Carries parcels over Flower's grid, and converts between parcels and Flower's records."""

from __future__ import annotations

import io
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, RecordDict
from flwr.serverapp import Grid

from tacit.network.replies import Arriving, fetch, look
from tacit.network.work import CLIENT_REASONS, Parcel, Refusal

_POLL = 0.5  # seconds between looks for answers
_MOST_ARRAYS, _MOST_BYTES = 10_000, 2**31


def to_records(parcel: Parcel) -> RecordDict:
    """Returns a parcel as Flower's records."""
    arrays = ArrayRecord({name: Array(np.asarray(array)) for name, array in parcel.arrays.items()})
    return RecordDict({"arrays": arrays, "facts": ConfigRecord(dict(parcel.facts))})


def from_records(content: Any) -> Parcel:
    """Returns the parcel of Flower's records; refuses everything else. No pickle is ever loaded."""
    try:
        records, facts = content.array_records, content.config_records
        if (
            set(content.keys()) != {"arrays", "facts"}
            or set(records) != {"arrays"}
            or set(facts) != {"facts"}
        ):
            raise Refusal("schema", "it has other records than arrays and facts")
        arrays = records["arrays"]
        if len(arrays) > _MOST_ARRAYS or sum(len(array.data) for array in arrays.values()) > _MOST_BYTES:
            raise Refusal("size", "it is too large")
        return Parcel({name: _array(array) for name, array in arrays.items()}, dict(facts["facts"]))
    except Refusal:
        raise
    except Exception as error:  # whatever a stranger sends
        raise Refusal("schema", type(error).__name__) from None


def _array(array: Any) -> np.ndarray:
    """Reads an array in numpy's format, whose length must be exactly that of its header."""
    if array.stype != "numpy.ndarray":
        raise Refusal("dtype", "an array is not in numpy's format")
    file = io.BytesIO(array.data)
    version = np.lib.format.read_magic(file)
    if version != (1, 0):
        raise Refusal("schema", "an array's format is not 1.0")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
    size = dtype.itemsize * int(np.prod(shape, dtype=object))
    if dtype.hasobject or dtype.names or fortran or len(array.data) - file.tell() != size:
        raise Refusal("schema", "an array's header does not fit its bytes")
    return np.frombuffer(array.data, dtype, offset=file.tell()).reshape(shape)


class FlowerPost:
    """Carries open tasks as Flower's messages. One answer is assembled at a time, so memory is that of one answer."""

    def __init__(self, grid: Grid, nodes: Any) -> None:
        self.grid, self.nodes = grid, nodes
        self.out: deque[tuple[str, int, float]] = deque()  # a message, whose task it is, and until when
        self._arriving: dict[str, Arriving] = {}
        self._removed: list[int] = []  # clients that were to be asked and are registered no more

    def send(self, number: int, task: Parcel, seconds: float) -> None:
        """Sends a task to a client."""
        node = self.nodes().get(number)
        if node is None:
            self._removed.append(number)
            return
        kind = f"{'evaluate' if task.facts['kind'] == 'evaluate' else 'train'}"
        message = Message(content=to_records(task), dst_node_id=node, message_type=kind, ttl=seconds)
        (identity,) = self.grid.push_messages([message])
        if identity:
            self.out.append((identity, number, time.monotonic() + seconds))

    @property
    def waits(self) -> bool:
        """Returns whether an answer may still come."""
        return bool(self.out or self._removed)

    def receive(self, seconds: float) -> tuple[int, Parcel | Refusal] | None:
        """Returns the next answer, if one comes in so many seconds."""
        if self._removed:
            return self._removed.pop(), Refusal("removed", "this client is not registered any more")
        until = time.monotonic() + seconds
        while True:
            for _ in range(len(self.out)):  # each is looked for in turn
                identity, number, late = self.out.popleft()
                try:
                    reply = self._reply(identity)
                    if reply:
                        return number, _answer(reply)
                except Refusal as refusal:
                    self._arriving.pop(identity, None)
                    return number, refusal
                if time.monotonic() < late:
                    self.out.append((identity, number, late))
                else:
                    self._arriving.pop(identity, None)
            if (left := until - time.monotonic()) <= 0:
                return None
            time.sleep(min(_POLL, left))

    def _reply(self, identity: str) -> Message | None:
        """Returns the reply to a message, or None if it is not complete, so that others can be read meanwhile."""
        if identity not in self._arriving:
            seen = look(self.grid, identity)
            if not isinstance(seen, Arriving):
                return seen
            self._arriving[identity] = seen
        message = fetch(self.grid, self._arriving[identity])
        if message:
            del self._arriving[identity]
        return message


def _answer(reply: Message) -> Parcel:
    """Returns the parcel of a reply; raises the client's own refusal."""
    if reply.has_error():
        why = reply.error.reason
        raise Refusal(why if why in CLIENT_REASONS else "client", f"error {reply.error.code}")
    return from_records(reply.content)


class FlowerCourier:
    """Carries parcels by Flower's messages; `nodes` gives Flower's number of each client that is invited now."""

    def __init__(self, grid: Grid, nodes: Any) -> None:
        self.grid, self.nodes = grid, nodes

    def present(self) -> Sequence[int]:
        """Returns the numbers of the clients whose nodes are connected."""
        online = set(self.grid.get_node_ids())
        return [number for number, node in sorted(self.nodes().items()) if node in online]

    def post(self) -> FlowerPost:
        """Returns a post for tasks without rounds."""
        return FlowerPost(self.grid, self.nodes)

    def ask(self, tasks: Mapping[int, Parcel], seconds: float) -> Iterator[tuple[int, Parcel | Refusal]]:
        """Sends tasks and gives answers as they arrive."""
        until = time.monotonic() + seconds
        nodes = self.nodes()
        post = FlowerPost(self.grid, lambda: nodes)
        for number, task in tasks.items():
            post.send(number, task, seconds)
        while post.waits and (left := until - time.monotonic()) > 0:
            if answer := post.receive(left):
                yield answer
