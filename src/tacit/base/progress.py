"""The progress callback that every long function takes; `tacit.base.terminal` has the bar that a person sees.

A training run is followed by callbacks of its own, which also hear each round's figures (`tacit.runs`).
"""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, float], None]
"""A progress callback: what is being done, in a few words, and the share of it that is done, from 0 to 1."""


def no_progress(what: str, share: float) -> None:
    """A progress callback that does nothing."""


def stage(progress: Progress, start: float, end: float, name: str = "") -> Progress:
    """Returns a callback for one stage of longer work: it reports shares between `start` and `end` of the whole.

    `name` is reported instead of the stage's own words.

    >>> second = stage(lambda what, share: print(what, share), 0.5, 1.0)
    >>> second("counting", 0.5)
    counting 0.75
    """
    return lambda what, share: progress(name or what, start + (end - start) * share)
