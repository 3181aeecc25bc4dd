"""Tells whether this is the whole of Tacit, or `tacit-keyboard`, the distribution that opens model files with numpy."""

from __future__ import annotations

from importlib.util import find_spec

from tacit.base.errors import TacitError


def needs_whole(room: str, what: str) -> None:
    """Raises an error if this is tacit-keyboard, which lacks a room that `what` needs.

    >>> needs_whole("runs", "a run directory")
    """
    if find_spec(f"{__name__.partition('.')[0]}.{room}") is None:
        raise TacitError(f"{what} needs the whole of Tacit, not only tacit-keyboard; install tacit")
