"""Reads WhatsApp's text export (`_chat.txt`, `WhatsApp Chat with ….txt`).

    31/01/2024, 21:15 - Ana: see you          Android
    [1/31/24, 9:15:33 PM] Ana: see you        iPhone

A message begins with a date and a time, as the phone's region writes them, and goes on over the lines that follow. A
file does not say whether 3/4 is in March or in April. A day above 12 tells. Where there is none, messages are in
order of time, so the reading with fewer steps back is right. A tie is decided by the clock: with AM and PM, as in the
United States, the month comes first; with am and pm, as in India and Australia, or 24 hours the day does.

A line without a sender is the system's. Placeholders for media and deleted messages are told by their form, and by
WhatsApp's words (`whatsapp_words`). All messages of a file have brackets around the date, or none has: a line of the
other form was pasted into a message.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from tacit.base.errors import TacitError, shown
from tacit.text.chats import whatsapp_words as words
from tacit.text.chats.message import DELETED, MEDIA, SYSTEM, ChatMessage, checked
from tacit.text.chats.whatsapp_words import HALVES, MARK
from tacit.text.lines import blocks, lines

_HEAD = re.compile(
    r"[\u200e\u200f]*(\[?)[\u200e\u200f]?"
    r"(\d{1,4})\u200f?[./-] ?(\d{1,2})\u200f?[./-] ?(\d{2,4})\.?"  # 31.01.24, 2024. 1. 31.
    r"[,،]?(?: (?:à|às|um|a las|kl\.|klo|om))? ?"
    rf"({HALVES})?[ \u202f\u00a0]?(?<!\d)(\d{{1,2}})[:.](\d{{2}})(?:[:.](\d{{2}}))?"
    rf"(?:[ \u202f\u00a0]?({HALVES}))?(?:\] ?| [-–] )(.*)",
    re.DOTALL | re.IGNORECASE,
)
_SENDER = re.compile(
    r"([^:\n\"“”„«]{1,100}):(?=\s|$) ?(.*)", re.DOTALL
)  # a quoted name is that of a group in a system line
_BUDDHIST = 543  # years between the calendar of Thailand and the common one
_AROUND_NAMES = f" {MARK}\u202a\u202c\u2068\u2069~\u202f\u00a0"
_ISOLATES = str.maketrans("", "", "\u2068\u2069")  # around the name of somebody who is mentioned


class _Raw(NamedTuple):
    """A message as it stands: the numbers of its date and time, and the rest."""

    line: int
    date: tuple[int, int, int]
    time: tuple[int, int, int]
    half: str  # AM, p.m., 下午 … or ""
    rest: str


def read(path: Path) -> tuple[Iterator[ChatMessage], str]:
    """Returns the messages of an export and how its dates are written, such as "day/month/year"."""
    raw = list(_raw(path))
    order = _order(path, raw)
    names = {"ymd": "year, month, day", "dmy": "day, month, year", "mdy": "month, day, year"}
    return (_message(path, message, order) for message in raw), names[order]


def _raw(path: Path) -> Iterator[_Raw]:
    head: _Raw | None = None
    rest: list[str] = []
    bracket = ""
    for block in blocks(path):
        for number, line in lines(block):
            match = _HEAD.fullmatch(line)
            if match is None or (head is not None and match[1] != bracket):  # pasted from another export
                if head is None and line.strip():
                    raise TacitError(
                        f"{path}, line {number}: {shown(line, 30)} has no date; WhatsApp's messages begin with one"
                    )
                rest.append(line)
                continue
            if head is not None:
                yield head._replace(rest="\n".join([head.rest, *rest]))
            bracket, a, b, c, before, hour, minute, second, after, text = match.groups()
            head = _Raw(
                number,
                (int(a), int(b), int(c)),
                (int(hour), int(minute), int(second or 0)),
                before or after or "",
                text,
            )
            rest = []
    if head is not None:
        yield head._replace(rest="\n".join([head.rest, *rest]))


def _order(path: Path, raw: list[_Raw]) -> str:
    """Returns in which order the dates of a file have year, month and day."""
    if raw and raw[0].date[0] > 31:
        return "ymd"
    day_first = next((m for m in raw if m.date[0] > 12 >= m.date[1]), None)
    month_first = next((m for m in raw if m.date[1] > 12 >= m.date[0]), None)
    if day_first and month_first:
        raise TacitError(
            f"{path}, lines {day_first.line} and {month_first.line}: one has the day first and the other the month; "
            "give one export at a time"
        )
    if day_first or month_first:
        return "dmy" if day_first else "mdy"
    days = {"dmy": [m.date[::-1] for m in raw], "mdy": [(m.date[2], m.date[0], m.date[1]) for m in raw]}
    back = {order: sum(b < a for a, b in pairwise(dates)) for order, dates in days.items()}
    if back["dmy"] != back["mdy"]:
        return min(back, key=lambda order: back[order])
    return "mdy" if any(m.half.isupper() for m in raw) else "dmy"


def _message(path: Path, raw: _Raw, order: str) -> ChatMessage:
    time = _time(path, raw, order)
    where = f"{path}, line {raw.line}"
    sender = _SENDER.fullmatch(raw.rest)
    if sender is None:
        return ChatMessage("", "", time, SYSTEM)
    user, text = sender[1].strip(_AROUND_NAMES), sender[2].translate(_ISOLATES)
    first, _, caption = text.partition("\n")
    if words.is_deleted(first):
        return ChatMessage(user, "", time, DELETED)
    if words.is_media(first):
        caption = checked(where, caption)
        return ChatMessage(user, caption, time, "" if caption else MEDIA)
    if words.is_said(text):
        return ChatMessage(user, "", time, MEDIA if words.PLACEHOLDER.search(first) else SYSTEM)
    return ChatMessage(user, checked(where, words.typed(text)), time)


def _time(path: Path, raw: _Raw, order: str) -> str:
    numbers = dict(zip(order, raw.date, strict=True))
    year = numbers["y"] + (2000 if numbers["y"] < 100 else 0)
    year -= _BUDDHIST if year > 2400 else 0
    hour, minute, second = raw.time
    if raw.half:
        hour = hour % 12 + (12 if words.is_afternoon(raw.half) else 0)
    try:
        return datetime.datetime(year, numbers["m"], numbers["d"], hour, minute, second).isoformat()
    except ValueError:
        raise TacitError(
            f"{path}, line {raw.line}: there is no such date or time ({'/'.join(map(str, raw.date))}); correct the line"
        ) from None
