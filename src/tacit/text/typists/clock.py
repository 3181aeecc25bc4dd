"""Draws when a person types: conversations of a few messages, at hours that differ between people."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from tacit.text.typists.people import Person
from tacit.text.typists.zipf import Ranked, weighted

START = datetime(2026, 1, 5)  # a Monday
DAYS = 180
DAY_NAMES = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
MONTH_NAMES = ["January", "February", "March", "April", "May", "June", "July"]

# Weights of the hours 0 to 23 for three chronotypes.
_LARK = [0, 0, 0, 0, 1, 4, 9, 10, 8, 5, 4, 5, 7, 5, 4, 4, 5, 6, 6, 5, 4, 2, 1, 0]
_DAY = [1, 0, 0, 0, 0, 0, 2, 5, 6, 5, 5, 6, 9, 7, 5, 5, 6, 8, 9, 9, 8, 6, 4, 2]
_OWL = [6, 4, 2, 1, 0, 0, 0, 1, 2, 3, 4, 4, 5, 5, 4, 4, 5, 6, 7, 8, 9, 10, 10, 9]
_HOURS: dict[str, Ranked[int]] = {
    name: weighted(range(24), weights) for name, weights in (("lark", _LARK), ("day", _DAY), ("owl", _OWL))
}
_TYPES = weighted(["day", "owl", "lark"], [5, 3, 2])


class Moment(NamedTuple):
    """The time of a message and its position in a conversation."""

    time: datetime
    first: bool  # whether it opens a conversation

    @property
    def part(self) -> str:
        hour = self.time.hour
        if 5 <= hour < 11:
            return "morning"
        if 11 <= hour < 17:
            return "day"
        return "evening" if 17 <= hour < 22 else "night"

    @property
    def weekday(self) -> int:
        return self.time.weekday()


def moments(person: Person, count: int) -> list[Moment]:
    """Returns strictly increasing times of `count` messages, grouped into conversations."""
    rng = person.rng
    lengths: list[int] = []
    left = count
    while left:
        length = min(left, 1 + int(rng.random() ** 2 * 5))
        lengths.append(length)
        left -= length
    starts = []
    for _ in lengths:
        chronotype = person.pick("feature", "hours", _TYPES)
        hours = _HOURS[chronotype].draw(rng)
        seconds = int(rng.random() * 3600)
        starts.append(START + timedelta(days=int(rng.random() * DAYS), hours=hours, seconds=seconds))
    starts.sort()
    result: list[Moment] = []
    previous = START - timedelta(seconds=1)
    for start, length in zip(starts, lengths, strict=True):
        time = max(start, previous + timedelta(seconds=30))
        for i in range(length):
            result.append(Moment(time, i == 0))
            previous = time
            time = time + timedelta(seconds=15 + int(rng.random() ** 3 * 900))
    return result
