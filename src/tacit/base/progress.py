"""Defines the progress callback that every long function takes; `tacit.base.terminal` draws the bar.

Training runs have other callbacks, which also get the figures of each round (`tacit.runs`).
"""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, float], None]
"""A progress callback: what is being done, in a few words, and the share of it that is done, from 0 to 1."""


def no_progress(what: str, share: float) -> None:
    """Does nothing; the default progress callback."""


def stage(progress: Progress, start: float, end: float, name: str = "") -> Progress:
    """Returns a callback for one stage of longer work, whose shares become shares from `start` to `end` of the whole.

    `name`, if given, is reported instead of the stage's own description.

    >>> second = stage(lambda what, share: print(what, share), 0.5, 1.0)
    >>> second("counting", 0.5)
    counting 0.75
    """
    return lambda what, share: progress(name or what, start + (end - start) * share)
