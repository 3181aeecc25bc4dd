"""The gates' side of HTTP, with limits on time: nobody holds a connection by sending a byte now and then."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

HEAD = 40.0  # seconds for the head of a request, from the connection or the answer before; an idle one ends sooner
WHOLE = 900.0  # for a request and its answer: 8 MiB at 75 kbit/s


class Patient(AutoHTTPProtocol):  # type: ignore[misc,valid-type]
    """Ends a connection whose request or answer takes too long."""

    _asked: Any = None  # the request that is being answered
    _limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begins to wait for the first request."""
        super().connection_made(transport)
        self._wait(HEAD)

    def data_received(self, data: bytes) -> None:
        """Takes a part of a request."""
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        """Begins to wait for the next request, or answers one that is there already."""
        super().on_response_complete()
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """Waits for nothing any more."""
        if self._limit:
            self._limit.cancel()
        super().connection_lost(exc)

    def _look(self) -> None:
        asked = None if self.cycle is None or self.cycle.response_complete else self.cycle
        if asked is self._asked:
            return
        self._asked = asked
        if asked:
            self._wait(WHOLE)
        elif not self.transport.get_write_buffer_size():  # a large answer may still be on its way
            self._wait(HEAD)

    def _wait(self, seconds: float) -> None:
        if self._limit:
            self._limit.cancel()
        self._limit = self.loop.call_later(seconds, self.transport.abort)
