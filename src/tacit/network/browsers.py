"""Serves browsers: the keyboard, the page *Take part*, and the registration of an invited browser.

    GET  /              the keyboard
    GET  /part/         the page *Take part*
    GET  /part/hashes.json  {path: SHA-256} of every file of both pages
    GET  /part/locales/CODE.json  how text of a language becomes words
    POST /v1/join       {"token": …, "key": …} → {"name": …}: the public key of an invited browser

Browsers do not trust a federation's own authority, so this is not served on the clients' port but as plain HTTP, on
loopback only. Browsers treat loopback as secure, so keys and secure sums work there. Elsewhere a reverse proxy with a
certificate that browsers trust stands in front (docs/deploy.md). Calls of clients pass as through the gate, and
everything else gets 404.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

from tacit.base.errors import TacitError
from tacit.lm.open import kind_of
from tacit.network import federation
from tacit.page import server
from tacit.page.files import Answer, in_folder, version
from tacit.page.models import PageModel, check_path
from tacit.page.server import HEADERS
from tacit.text import locale

JOIN = "/v1/join"
HASHES = "/part/hashes.json"
MOST_BYTES = 4096  # of a request to join
_PART_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self' 'wasm-unsafe-eval'",  # training is compiled C
        "worker-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",  # this page alone may talk, and to its own origin only
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types tacit-part",
    )
)


class Shown(NamedTuple):
    """Holds a file for browsers, with its headers."""

    body: bytes
    headers: dict[str, str]


def site(model: Path | None = None) -> dict[str, Shown]:
    """Returns every file for browsers by its path; `model` is the keyboard's, a network or n-grams."""
    models = [_model(model)] if model else []
    problems = [] if models else ["This federation publishes no model for the keyboard yet"]
    keyboard = server.site(models, problems=problems)
    # a page and its scripts are of one version; the keyboard's service worker keeps what says that it is from Tacit
    common = {**HEADERS, "Cache-Control": "no-store", "Server": "tacit"}

    def headers(one: Answer) -> dict[str, str]:
        return {**common, "Content-Type": one.kind, "Content-Security-Policy": one.policy}

    shown = {path: Shown(one.body, headers(one)) for path, one in keyboard.items()}
    worker = f"/{server.WORKER}"
    shown[worker].headers["Cache-Control"] = keyboard[worker].cache
    part = in_folder("part", _PART_POLICY) | in_folder("train", _PART_POLICY)
    part["/part/"] = part["/part/index.html"]
    part |= _locales()
    shown |= {path: Shown(one.body, headers(one)) for path, one in part.items()}
    hashes = {path: hashlib.sha256(one.body).hexdigest() for path, one in sorted(shown.items())}
    listed = Answer("application/json", (json.dumps(hashes, indent=1) + "\n").encode(), policy=_PART_POLICY)
    # the keyboard asks for its worker by its hash, and for itself with a word
    shown[f"{worker}?{version(shown[worker].body)}"] = shown[worker]
    shown |= {f"/?{word}": shown["/"] for word in server.WORDS}
    shown[HASHES] = Shown(listed.body, headers(listed))
    return shown


def _locales() -> dict[str, Answer]:
    """Returns the languages that a run may have, each for the page *Take part*."""
    return {
        f"/part/locales/{code}.json": Answer(
            "application/json",
            json.dumps(server.locale_json(locale.find(code)), ensure_ascii=False).encode(),
            policy=_PART_POLICY,
        )
        for code in locale.codes()
    }


def _model(file: Path) -> PageModel:
    if kind_of(file) == "run":
        raise TacitError(
            f"{file} is a run; give the file of `tacit export` or the model.tacit of `tacit distill`"
        )
    check_path(file)  # refuses what the page could not open
    return PageModel("federated", "After training", "of this federation", file.read_bytes())


def join(place: Path, body: bytes) -> tuple[int, dict[str, Any]]:
    """Registers the key of an invited browser; returns the status of the answer and its content."""
    try:
        said = json.loads(body)
        token, key = said["token"], base64.b64decode(said["key"], validate=True)
        if not isinstance(token, str) or said.keys() != {"token", "key"}:
            raise ValueError
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, binascii.Error):
        return 400, {"error": "this is no request to join"}
    try:
        return 200, {"name": federation.admit(place, token, key)}
    except TacitError as error:
        return 403, {"error": str(error)}
