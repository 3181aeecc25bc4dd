"""Writes time words that fit the hour and the day of a message, such as "this morning" or "on Friday"."""

from __future__ import annotations

from functools import cache

from tacit.text.typists.clock import DAY_NAMES, MONTH_NAMES
from tacit.text.typists.grammar import Draft
from tacit.text.typists.lexicon import counts
from tacit.text.typists.zipf import Ranked, weighted, zipf


def barred(text: str) -> Ranked[str]:
    """Splits a list of `lexicon.counts` at its bars and ranks it."""
    return zipf([item.strip() for item in text.split("|")])


CLOCKS = barred(counts.CLOCKS)


def _past(part: str, weekday: int) -> dict[str, float]:
    morning = part == "morning"
    return {
        "yesterday": 6.0,
        "last night": 5.0 if morning else 3.0,
        "this morning": 0.0 if morning else 4.0,
        "earlier": 0.0 if morning else 3.0,
        "at the weekend": 5.0 if weekday < 2 else 1.0,
        "last week": 2.0,
        "the other day": 2.0,
        "at lunch": 2.0 if part in ("day", "evening") else 0.5,
        "two days ago": 1.0,
        "a few weeks ago": 1.0,
        "last month": 1.0,
        "ages ago": 0.5,
        "last year": 0.5,
        **{f"on {DAY_NAMES[(weekday - back) % 7]}": 1.0 for back in (2, 3, 4)},
    }


def _future(part: str, weekday: int) -> dict[str, float]:
    morning = part == "morning"
    return {
        "tomorrow": 6.0,
        "tonight": 0.5 if part == "night" else 5.0,
        "this weekend": 6.0 if weekday in (3, 4) else 1.0,
        "later": 3.0,
        "after work": 0.2 if weekday > 4 else 2.5,
        "this afternoon": 3.0 if morning else 0.0,
        "in the morning": 3.0 if part == "night" else 1.0,
        "at lunch": 2.0 if morning else 0.0,
        "next week": 2.0,
        "tomorrow night": 1.0,
        "soon": 1.0,
        "next month": 0.7,
        "in the summer": 0.6,
        "one day": 0.4,
        "next year": 0.4,
        **{f"on {DAY_NAMES[(weekday + ahead) % 7]}": 1.0 for ahead in (2, 3, 4)},
    }


@cache
def _whens(tense: str, part: str, weekday: int) -> Ranked[str]:
    options = (_past if tense == "past" else _future)(part, weekday)
    return weighted(list(options), list(options.values()))


def when(draft: Draft, tense: str) -> None:
    """Writes the slots {when.past} and {when.fut}."""
    options = _whens(tense, draft.moment.part, draft.moment.weekday)
    # for a given tense and part of the day the list has the same order on every weekday, so habits carry over
    chosen = draft.person.pick("turn", ("when", tense, draft.moment.part), options)
    draft.words += chosen.split()
    if chosen.startswith(("tom", "ton", "on ")) and tense == "fut" and draft.rng.random() < 0.2:
        draft.words += ["at", *CLOCKS.draw(draft.rng).split()]


def day(draft: Draft, _: str) -> None:
    draft.words.append(DAY_NAMES[int(draft.rng.random() * 7)])


def today(draft: Draft, _: str) -> None:
    draft.words.append(DAY_NAMES[draft.moment.weekday])


def month(draft: Draft, _: str) -> None:
    draft.words.append(MONTH_NAMES[int(draft.rng.random() * len(MONTH_NAMES))])
