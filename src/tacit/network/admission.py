"""Finds out whether a server admits this client, explains a refusal in one line, and waits if waiting helps.

After a node is cut off, SuperLink still counts it as present until two heartbeats are missing, about a minute. Until
then it refuses the node's return, with the same code as an unknown key. Only a client with an earlier connection can be
such a node, and its journal shows this.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable
from pathlib import Path

from tacit.base.errors import TacitError
from tacit.base.printable import printable
from tacit.network.federation import Invitation

FORGOTTEN = 75.0  # seconds until SuperLink has noticed that a node is gone
_AGAIN = 5.0
_KNOCKS = 5.0


class NotAdmitted(TacitError):
    """Raised when the server refuses this client."""


def check_certificate(invitation: Invitation) -> None:
    """Refuses a server without the invitation's certificate; a server that does not answer yet may start later."""
    host, _, port = invitation.address.rpartition(":")
    try:
        trusted = ssl.create_default_context(cadata=invitation.authority)
    except ssl.SSLError:
        raise TacitError("the invitation's certificate cannot be read; ask for another invitation") from None
    try:
        with socket.create_connection((host.strip("[]"), int(port)), _KNOCKS) as plain:
            trusted.wrap_socket(plain, server_hostname=host.strip("[]")).close()
    except ssl.SSLCertVerificationError as error:
        raise TacitError(
            f"{invitation.address} is not the server of this invitation ({error.verify_message}); "
            "ask for another invitation"
        ) from None
    except (OSError, ValueError):
        pass


def until_admitted(take_part: Callable[[], None], journal: Path) -> None:
    """Takes part; a client that was connected before waits until the server has noticed that it was cut off."""
    until = time.monotonic() + (FORGOTTEN if journal.is_file() else 0.0)
    while True:
        try:
            return take_part()
        except NotAdmitted:
            if time.monotonic() > until:
                raise
            time.sleep(_AGAIN)


def why_ended(log: Path, code: int) -> TacitError:
    """Returns the error for a SuperNode that ended, from the line after the exit code in its log (none: a 401)."""
    said = [line for line in log.read_text("utf-8", "replace").splitlines() if line.strip()]
    marked = [i for i, line in enumerate(said) if "Exit Code" in line]
    if not code and not marked:
        return TacitError(
            "the server refuses this client's signature; check that this device's clock is right, because signatures "
            "have a time, and that the invitation is still valid"
        )
    after = said[marked[0] + 1 :] if marked else []
    why = printable(" ".join(after[0].split()))[:200] if after else "it does not say why"
    kind = NotAdmitted if "Failed to initialize the connection" in why else TacitError
    return kind(f"Flower's SuperNode ended (exit code {code}): {why}; is the invitation still valid?")
