"""Tells a SuperNode that a task is still being worked on; after a minute of silence Flower counts it as lost.

Flower's own sender interrupts the process if a task is gone, which would end a client for good. Here the work on such a
task continues to its end, and its answer is not used.
"""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import httpx
from flwr.proto.runtime_pb2 import SendTaskHeartbeatRequest

_EVERY = 15.0  # seconds; Flower waits for 60


class Heartbeat:
    """Sends heartbeats from a thread until it is stopped."""

    def __init__(self, client: Any, every: float = _EVERY) -> None:
        self._client, self._every = client, every
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self._thread.start()

    def _beat(self) -> None:
        while not self._stopped.wait(self._every):
            with contextlib.suppress(httpx.HTTPError):  # the next one may arrive
                self._client.SendTaskHeartbeat(SendTaskHeartbeatRequest())

    def stop(self) -> None:
        """Stops, and waits for a beat that is under way."""
        self._stopped.set()
        self._thread.join()
