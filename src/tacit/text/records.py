"""Parses lines into messages in flat arrays (user, time, text), without a Python object for each message.

`corpus` describes the formats of a line. The functions here take one block of lines at a time and share no state,
so that several processes can parse blocks in parallel.
"""

from __future__ import annotations

import json
import mmap
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tacit.base.errors import TacitError, shown
from tacit.base.reading import parse
from tacit.text.lines import Block, lines

NO_TIME, DATE, NUMBER = 0, 1, 2
# characters of a time; times are compared as arrays as wide as the longest, and a date with a zone has about 50
LONGEST_TIME = 64
_DATE = re.compile(r"\d{4}-\d\d(?:-\d\d)?(?:[T ].*)?")


class Records(NamedTuple):
    """The messages of one block or of all blocks, in line order."""

    users: tuple[str, ...]  # in order of first appearance
    person: np.ndarray  # [messages] int32, index in `users`
    line: np.ndarray  # [messages] int32, line number in the file
    kind: np.ndarray  # [messages] int8, kind of time: NO_TIME, DATE or NUMBER
    spans: np.ndarray  # [messages, 2] int32, lengths in bytes of time and text
    data: bytes | mmap.mmap  # time and text of each message, concatenated


def json_records(block: Block) -> Records:
    """Parses JSON lines; messages without text are skipped."""
    users: dict[str, int] = {}
    person: list[int] = []
    numbers: list[int] = []
    kinds: list[int] = []
    pieces: list[str] = []
    for number, line in lines(block):
        if not line or line.isspace():
            continue
        user, text, time = _record(block.path, number, line)
        if not text or text.isspace():
            continue
        person.append(users.setdefault(user, len(users)))
        numbers.append(number)
        kinds.append(NO_TIME if time is None else NUMBER if type(time) is int else DATE)
        pieces += ("" if time is None else str(time), text)
    return _flat(users, person, numbers, kinds, pieces)


def text_records(block: Block, *, last_column: bool, fedatt: bool) -> Records:
    """Parses plain text, one sentence a line, all of one person; blank sentences are skipped."""
    numbers: list[int] = []
    pieces: list[str] = []
    for number, line in lines(block):
        if last_column:
            line = line.rpartition("\t")[2]
        for sentence in line.split(" . ") if fedatt else (line,):
            if text := sentence.strip():
                numbers.append(number)
                pieces += ("", text.lower() if fedatt else text)
    return _flat(("all",), [0] * len(numbers), numbers, [NO_TIME] * len(numbers), pieces)


def from_texts(messages: dict[str, list[str]]) -> Records:
    """Returns the records of messages given by user, oldest first."""
    texts = [text for typed in messages.values() for text in typed]
    person = [k for k, typed in enumerate(messages.values()) for _ in typed]
    pieces = [piece for text in texts for piece in ("", text)]
    return _flat(messages, person, [0] * len(texts), [NO_TIME] * len(texts), pieces)


def _flat(
    users: Iterable[str], person: list[int], numbers: list[int], kinds: list[int], pieces: list[str]
) -> Records:
    """Joins the columns into `Records`; `pieces` is time, text, time, text, …"""
    data = [piece.encode("utf-8", "surrogatepass") for piece in pieces]
    spans = np.fromiter(map(len, data), np.int32, len(data)).reshape(-1, 2)
    columns = np.array(person, np.int32), np.array(numbers, np.int32), np.array(kinds, np.int8)
    return Records(tuple(users), *columns, spans, b"".join(data))


def _record(path: Path, number: int, line: str) -> tuple[str, str, str | int | None]:
    """Parses and checks one line; returns user, text and time."""
    try:
        record = parse(line)
    except ValueError as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "too deep or too large"
        raise TacitError(
            f"{path}, line {number}: not valid JSON ({reason}); write one object a line"
        ) from None
    if not isinstance(record, dict):
        raise TacitError(
            f'{path}, line {number}: expected an object with "user" and "text", found {_kind(record)}'
        )
    for key in ("user", "text"):
        if key not in record:
            raise TacitError(f'{path}, line {number}: "{key}" is missing; each line needs "user" and "text"')
        if not isinstance(record[key], str):
            raise TacitError(f'{path}, line {number}: "{key}" must be a string, found {_kind(record[key])}')
    time = record.get("time")
    if time == "":
        time = None
    good = time is None or type(time) is int or (isinstance(time, str) and _DATE.fullmatch(time))
    if not good:
        value = shown(time) if isinstance(time, str) else _kind(time)
        raise TacitError(
            f'{path}, line {number}: "time" must be a whole number or an ISO date (2024-05-01), not {value}'
        )
    if time is not None and len(str(time)) > LONGEST_TIME:
        raise TacitError(
            f'{path}, line {number}: "time" has {len(str(time)):,} characters; an ISO date or a number has at most '
            f"{LONGEST_TIME}"
        )
    user, text = record["user"], record["text"]
    if "\\u" in line:  # an escape can give half a surrogate pair, which UTF-8 cannot encode
        user, text = (s.encode("utf-8", "surrogatepass").decode("utf-8", "replace") for s in (user, text))
    return user, text, time


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
