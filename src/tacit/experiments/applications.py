"""Generates typists who type into several applications, and mixes of these (paper 5, section 6.3).

The paper's server learns from logs: 60 % chat, 35 % web input, 5 % long-form text (Table 5). Its clients learn from
their caches: 66 % chat, 16 % social media, 5 % web input, 12 % other (Table 6; the sum is 99 %). So a server model and
a federated model learn from different text, whatever the algorithm. Here a typist's messages go to one of three
applications:

    messages   a message as it was typed                                 chat and social media
    search     its first four words that are not function words          web input
    notes      three messages, one after the other                       long-form text and other

An application is drawn for each message by the shares of a mix; the draw depends only on the typist and the message.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np

from tacit.base.randomness import stream, uniform
from tacit.text.tokens import tokenize

App = Literal["messages", "search", "notes"]
APPS: tuple[App, ...] = ("messages", "search", "notes")
LOGS = (0.60, 0.35, 0.05)  # Table 5
CACHES = (
    0.82,
    0.05,
    0.13,
)  # Table 6: chat and social media, web input, other; what is missing to 100 % is other
MIXES = {"logs": LOGS, "caches": CACHES}
_NOTE, _QUERY = 3, 4  # messages of a note, words of a query
_APP = stream("application of a message")

_FUNCTION = """
a about all am an and are as at be been but by can could did do does for from get got had has have he her him his how i
i'd i'll i'm i've if in is it it's its just like me my no not of oh ok on or our out she so some than that that's the
their them then there they this to too up us was we were what when where which who will with would yes you you're your
"""
_FUNCTION_WORDS = frozenset(_FUNCTION.split())


class Typed(NamedTuple):
    """Holds what was typed into an application."""

    app: App
    text: str


def query(text: str) -> str:
    """Returns what somebody would type into a search box instead of this message.

    >>> query("Are you coming to the station with Ana tonight?")
    'coming station ana tonight'
    """
    words = [word for word in tokenize(text.lower()) if any(c.isalnum() for c in word)]
    kept = [word for word in words if word not in _FUNCTION_WORDS] or words
    return " ".join(kept[:_QUERY])


def typed(messages: Sequence[str], shares: Sequence[float], person: int, seed: int = 0) -> Iterator[Typed]:
    """Yields what a person types, in the order of the messages, by the shares of the three applications.

    >>> [t.app for t in typed(["a cat"] * 6, (0.0, 0.0, 1.0), person=0)], next(typed(["hi"], (1, 0, 0), 0)).text
    (['notes', 'notes'], 'hi')
    """
    # A note takes three messages; so that shares are of what is typed, draws are by begun texts.
    ends = np.cumsum(np.asarray(shares, float)) / float(sum(shares))
    draws = uniform(seed, _APP, np.full(len(messages), person), np.arange(len(messages)))
    at = 0
    while at < len(messages):
        app = APPS[min(int(np.searchsorted(ends, draws[at], side="right")), len(APPS) - 1)]
        many = _NOTE if app == "notes" else 1
        together = messages[at : at + many]
        at += many
        text = query(together[0]) if app == "search" else " ".join(together)
        if text:
            yield Typed(app, text)
