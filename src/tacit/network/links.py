"""Makes the links that invite a browser: the address of the page *Take part*, and a token after #.

When the link is opened, the part after # is not sent to any server, so it is in no log.
"""

from __future__ import annotations

import io
from urllib.parse import urlsplit

from tacit.base.errors import TacitError


def link(address: str, token: str) -> str:
    """Returns the link with which a browser joins by a token; `address` is where the pages are served.

    >>> link("https://keyboard.example.org", "abc")
    'https://keyboard.example.org/part/#join=abc'
    """
    try:
        parts = urlsplit(address)
        is_whole = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        is_whole = False
    if not is_whole or parts.scheme not in ("http", "https") or parts.path.strip("/") or parts.query:
        raise TacitError(
            f"--browser {address!r} is not where pages are served; write it as https://keyboard.example.org or "
            "http://127.0.0.1:8095"
        )
    if parts.scheme == "http" and parts.hostname not in ("127.0.0.1", "localhost", "::1"):
        raise TacitError(
            f"--browser {address}: a browser makes keys only on https or on this machine; put a proxy with a "
            "certificate in front (docs/deploy.md), and write https"
        )
    return f"{parts.scheme}://{parts.netloc}/part/#join={token}"


def picture(address: str) -> str:
    """Returns a link as a QR code for a terminal: half blocks, two rows of modules in a line; light is drawn."""
    try:
        import segno
    except ImportError:
        raise TacitError(
            "--qr needs segno: install Tacit with its extra, `pip install 'tacit[network]'`"
        ) from None

    drawn = io.StringIO()
    # the lowest correction of errors makes the largest modules; a screen has no dirt to correct for
    segno.make_qr(address, error="l", boost_error=False).terminal(out=drawn, compact=True)
    return drawn.getvalue().rstrip("\n")
