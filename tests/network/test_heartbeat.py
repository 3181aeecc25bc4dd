"""A client beats while it works, whatever the SuperNode answers, and not after."""

from __future__ import annotations

import threading
from typing import Any

import httpx
import pytest

pytest.importorskip("flwr")

from flwr.supercore.runtime import RuntimeHttpClient

from tacit.network.heartbeat import Heartbeat


def test_it_beats_until_it_is_stopped() -> None:
    assert callable(RuntimeHttpClient.SendTaskHeartbeat)  # contract: Flower still has the call
    beats, enough = [0], threading.Event()

    class SuperNode:
        def SendTaskHeartbeat(self, request: Any) -> None:
            beats[0] += 1
            if beats[0] >= 3:
                enough.set()
            raise httpx.ConnectError("gone")

    heart = Heartbeat(SuperNode(), every=0.001)
    assert enough.wait(60)
    heart.stop()
    last = beats[0]
    assert not any("_beat" in repr(thread) for thread in threading.enumerate())
    assert beats[0] == last
