"""The gate in front of Flower's SuperLink: it forwards the calls of clients and answers 404 to everything else.

SuperLink serves clients, the operator and running programs on one port, and whoever reaches the operator's calls can
run code there. So it listens on loopback only, and clients reach this instead: a list of paths fixed at the start, by
POST and with a limit on bodies and on calls a second. By GET it hands out the files of `published`. TLS ends here;
between gate and SuperLink there is TLS again.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response

from tacit.network.published import NOTHING

FLEET = (
    "activate-node",
    "deactivate-node",
    "send-node-heartbeat",
    "pull-messages",
    "push-messages",
    "pull-object",
    "push-object",
    "confirm-message-received",
    "get-run",
    "get-fab",  # what a SuperNode asks for with each run; `node` never runs it
)
PATHS = frozenset(f"/v1/fleet/{call}" for call in FLEET)
MOST_BYTES = 8 * 2**20  # of a body: arrays travel in pieces of 5 MiB
CALLS, BURST = 100.0, 400.0  # a second from one address; Flower's nodes behind one address share this
_ADDRESSES = 10_000  # whose calls are counted
_LATE = 60.0  # seconds that SuperLink may take
_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "host", "upgrade", "te", "trailer"}


class Rate:
    """Counts calls by address: so many a second, and a burst."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def allows(self, address: str, cost: float = 1.0) -> bool:
        """Returns whether an address may call now, and counts the call; a large answer costs more than one."""
        now = self._clock()
        left, then = self._left.pop(address, (BURST, now))
        left = min(BURST, left + (now - then) * CALLS)
        self._left[address] = (max(0.0, left - cost), now)
        while len(self._left) > _ADDRESSES:
            self._left.popitem(last=False)
        return left >= 1


def gate(
    inner: str, authority: str, transport: Any = None, files: Mapping[str, bytes] = NOTHING
) -> Starlette:
    """Returns the gate as a web application; `inner` is SuperLink's URL, `authority` a file with whom to trust.

    `files` are answered by GET, by their path.
    """
    client = httpx.AsyncClient(
        base_url=inner,
        verify=authority if transport is None else True,
        transport=transport,
        timeout=_LATE,
        trust_env=False,
        limits=httpx.Limits(max_connections=200, max_keepalive_connections=50),
    )
    rate = Rate()
    app = Starlette()

    async def handle(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        response = await _answer(Request(scope, receive), client, rate, files)
        await response(scope, receive, send)

    handle.close = client.aclose  # type: ignore[attr-defined]
    return handle  # type: ignore[return-value]


async def _answer(
    request: Request, client: httpx.AsyncClient, rate: Rate, files: Mapping[str, bytes]
) -> Response:
    path = request.scope["path"]
    if request.method == "GET" and path in files and not request.scope["query_string"]:
        return _file(request, files[path], rate)
    if path not in PATHS or request.method != "POST" or request.scope["query_string"]:
        return PlainTextResponse("not found\n", 404)
    if not rate.allows(request.client.host if request.client else ""):
        return _too_many()
    try:
        body = await _body(request)
    except ClientDisconnect:
        return PlainTextResponse("cut off\n", 400)
    if body is None:
        return PlainTextResponse("too large\n", 413)
    headers = [(name, value) for name, value in request.headers.items() if name not in _HOP]
    try:
        answer = await client.post(path, content=body, headers=headers)
    except httpx.HTTPError:
        return PlainTextResponse("the server is not ready\n", 503, {"retry-after": "5"})
    kept = {n: v for n, v in answer.headers.items() if n not in _HOP and n != "content-encoding"}
    return Response(answer.content, answer.status_code, kept)


def _file(request: Request, content: bytes, rate: Rate) -> Response:
    if not rate.allows(request.client.host if request.client else "", 1 + len(content) / 2**20):
        return _too_many()
    return Response(content, 200, {"x-content-type-options": "nosniff"}, "application/octet-stream")


def _too_many() -> Response:
    return PlainTextResponse("too many calls; wait\n", 429, {"retry-after": "1"})


async def _body(request: Request) -> bytes | None:
    """Returns the body of a request; None if it is too large, without reading more than the limit."""
    given = request.headers.get("content-length", "0")
    if not given.isdecimal() or int(given) > MOST_BYTES:
        return None
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MOST_BYTES:
            return None
        parts.append(part)
    return b"".join(parts)
