"""Runs the gate in front of Flower's SuperLink, which forwards the calls of clients and answers 404 to all others.

SuperLink serves clients, the operator and running programs on one port, and the operator's calls can run code there. So
it listens on loopback only, and clients reach the gate instead. The gate forwards a fixed list of paths, by POST, with
limits on the size of bodies and on calls a second. By GET it serves the files of `published`. TLS ends at the gate, and
there is TLS again between gate and SuperLink. For browsers (`browsers`) a second gate also serves the pages by GET, and
registers the key of an invited browser.
"""

from __future__ import annotations

import gzip
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

import httpx
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from tacit.network import browsers
from tacit.network.browsers import Shown
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
_JOINING = 10.0  # what a request to join costs: tokens cannot be guessed quickly
_DOWNLOAD = {"x-content-type-options": "nosniff", "content-type": "application/octet-stream"}
_ADDRESSES = 10_000  # whose calls are counted
_LATE = 60.0  # seconds that SuperLink may take
_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "host", "upgrade", "te", "trailer"}


class Rate:
    """Limits calls by address: a number a second, and a burst."""

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


Join = Callable[[bytes], tuple[int, dict[str, Any]]]


class Doors(NamedTuple):
    """Holds what the gate serves besides the calls of clients."""

    files: Mapping[str, bytes] = NOTHING  # by GET, by their path
    pages: Mapping[str, Shown] = MappingProxyType({})  # and these, with their headers; a few have a query
    join: Join | None = None  # takes the key of an invited browser


NO_DOORS = Doors()


def gate(inner: str, authority: str, transport: Any = None, doors: Doors = NO_DOORS) -> Starlette:
    """Returns the gate as a web application; `inner` is SuperLink's URL, `authority` the file of its authority."""
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
        response = await _answer(Request(scope, receive), client, rate, doors)
        await response(scope, receive, send)

    handle.close = client.aclose  # type: ignore[attr-defined]
    return handle  # type: ignore[return-value]


async def _answer(request: Request, client: httpx.AsyncClient, rate: Rate, doors: Doors) -> Response:
    path = request.scope["path"]
    if request.method == "GET":
        query = request.scope["query_string"].decode("latin-1")
        address = f"{path}?{query}" if query else path
        if address in doors.files:
            return _file(request, Shown(doors.files[address], _DOWNLOAD), rate)
        if address in doors.pages:
            return _file(request, _packed(request, doors.pages[address]), rate)
    joins = doors.join is not None and path == browsers.JOIN
    if not (path in PATHS or joins) or request.method != "POST" or request.scope["query_string"]:
        return PlainTextResponse("not found\n", 404)
    if not rate.allows(request.client.host if request.client else "", _JOINING if joins else 1.0):
        return _too_many()
    try:
        body = await _body(request, browsers.MOST_BYTES if joins else MOST_BYTES)
    except ClientDisconnect:
        return PlainTextResponse("cut off\n", 400)
    if body is None:
        return PlainTextResponse("too large\n", 413)
    if joins:
        assert doors.join is not None
        status, said = await run_in_threadpool(doors.join, body)
        return JSONResponse(said, status)
    headers = [(name, value) for name, value in request.headers.items() if name not in _HOP]
    try:
        answer = await client.post(path, content=body, headers=headers)
    except httpx.HTTPError:
        return PlainTextResponse("the server is not ready\n", 503, {"retry-after": "5"})
    kept = {n: v for n, v in answer.headers.items() if n not in _HOP and n != "content-encoding"}
    return Response(answer.content, answer.status_code, kept)


def _file(request: Request, shown: Shown, rate: Rate) -> Response:
    if not rate.allows(request.client.host if request.client else "", 1 + len(shown.body) / 2**20):
        return _too_many()
    return Response(shown.body, 200, dict(shown.headers))


def _packed(request: Request, shown: Shown) -> Shown:
    """Returns a file packed by gzip, if the browser accepts that."""
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return shown
    return Shown(_gzip(shown.body), {**shown.headers, "Content-Encoding": "gzip", "Vary": "Accept-Encoding"})


@lru_cache(maxsize=256)
def _gzip(body: bytes) -> bytes:
    return gzip.compress(body, mtime=0)


def _too_many() -> Response:
    return PlainTextResponse("too many calls; wait\n", 429, {"retry-after": "1"})


async def _body(request: Request, most: int) -> bytes | None:
    """Returns the body of a request; None if it is too large, without reading more than the limit."""
    given = request.headers.get("content-length", "0")
    if not given.isdecimal() or int(given) > most:
        return None
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            return None
        parts.append(part)
    return b"".join(parts)
