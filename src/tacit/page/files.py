"""Files that a browser is given: what an answer is, its policy, and the folders of the page's files."""

from __future__ import annotations

import gzip
import hashlib
from importlib import resources
from pathlib import Path
from typing import NamedTuple

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src data:",
        "manifest-src data:",
        "worker-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types tacit-worker tacit-own",  # for the addresses of two workers (install.js, own.js), nothing else
    )
)
# of the Worker that tunes a model: its own scripts, compiled kernels that the page hands to it, and no request
TUNING_POLICY = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css",
    ".js": "text/javascript",
    ".png": "image/png",
    ".wasm": "application/wasm",
}


class Answer(NamedTuple):
    """The response to a path."""

    kind: str
    body: bytes
    cache: str = "no-store"  # its Cache-Control
    policy: str = POLICY  # its Content-Security-Policy
    packed: bytes = b""  # the body by gzip; nothing if that is not worth it


def packed(answer: Answer) -> Answer:
    """Returns a response with its body by gzip beside it, if that is text.

    >>> packed(Answer("text/css", 99 * b"a { }")).packed[:2].hex(), packed(Answer("image/png", b"")).packed
    ('1f8b', b'')
    """
    if not answer.kind.startswith(("text/", "application/json")):
        return answer
    return answer._replace(packed=gzip.compress(answer.body, 9, mtime=0))


def version(body: bytes) -> str:
    """Returns the hash by which a page asks for a file."""
    return hashlib.sha256(body).hexdigest()[:16]


def in_folder(name: str, policy: str = POLICY) -> dict[str, Answer]:
    """Returns the files of a folder of the page that a browser loads, by the path of the request.

    >>> in_folder("part")["/part/index.html"].kind
    'text/html; charset=utf-8'
    """
    here = Path(str(resources.files("tacit.page") / "static"))
    return {
        f"/{file.relative_to(here).as_posix()}": Answer(TYPES[file.suffix], file.read_bytes(), policy=policy)
        for file in sorted((here / name).rglob("*"))
        if file.suffix in TYPES
    }


def tuning() -> dict[str, Answer]:
    """Returns what the keyboard loads to tune a model: training, and the Worker around it."""
    return in_folder("train") | in_folder("own", TUNING_POLICY)
