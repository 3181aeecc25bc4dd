"""Turns a chat export into JSON lines that every command reads as a corpus (`tacit data import`).

    {"user": "ana", "text": "see you soon", "time": "2026-01-31T21:15:00"}

Kept is what people typed. System lines, placeholders of media, deleted and forwarded messages are left out and
counted. The messages of one person alone are what a device has, so with `me` only that person's are kept.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tacit.base.errors import TacitError, nearest, shown
from tacit.base.files import cannot_write, followed, write_atomic
from tacit.text.chats import sms, telegram, whatsapp
from tacit.text.chats.message import ChatMessage, pieces

_OTHERS = "of other people"


class Imported(NamedTuple):
    """What an import kept and what it left out."""

    kind: str  # of the export
    dates: str  # how its dates are read; "" if they are unambiguous
    people: dict[str, int]  # messages of each person, most first
    left_out: dict[str, int]  # by reason


def import_chat(file: Path, out: Path, me: str | None = None) -> Imported:
    """Reads an export, writes its messages to `out` in their order, and returns what was kept."""
    if out.exists() and file.exists() and out.samefile(file):
        raise TacitError(f"--out {out} is the export itself; choose another --out")
    kind, dates, messages = opened(file)
    people: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
    others: Counter[str] = Counter()
    kept = []
    for message in messages:
        if message.left_out:
            left_out[message.left_out] += 1
        elif not message.text:
            left_out["empty"] += 1
        elif me is not None and message.user != me:
            others[message.user] += 1
        else:
            people[message.user] += 1
            record = {"user": message.user, "text": message.text, "time": message.time}
            kept.append(json.dumps(record, ensure_ascii=False) + "\n")
    if me is not None and not people:
        hint = nearest(me, others) if others else "; nobody's text is in it"
        raise TacitError(f"--me {me}: {file} has no message of this person{hint}")
    if not people:
        raise TacitError(f"{file}: no text that somebody typed is in this export; give another one")
    if others:
        left_out[_OTHERS] = others.total()
    text = "".join(kept).encode("utf-8", "replace")
    write_atomic(_checked(out, text), text)
    return Imported(kind, dates, dict(people.most_common()), dict(left_out))


def _checked(out: Path, text: bytes) -> Path:
    """Returns the file that a path leads to, if it is new, empty or holds this very text.

    Messages have no mark by which Tacit could know its own.
    """
    target = followed(out)
    try:
        size = target.stat().st_size
        if size and (size != len(text) or target.read_bytes() != text):
            raise TacitError(
                f"{out} exists and does not hold these messages; remove it or choose another --out"
            )
    except FileNotFoundError:
        return target
    except OSError as error:
        raise cannot_write(out, error) from None
    return target


def opened(file: Path) -> tuple[str, str, Iterable[ChatMessage]]:
    """Returns the kind of an export, how its dates are read, and its messages, by its first characters."""
    head = b""
    for piece in pieces(file):
        head += piece
        if head.lstrip(b"\xef\xbb\xbf \t\r\n"):
            break
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(b"PK"):
        raise TacitError(f"{file}: is a zip file; unpack it, and give the text, JSON or XML file in it")
    if start[:9].lower() == b"<!doctype" and b"html" in start[:20].lower():
        raise TacitError(f"{file}: is a page; export the chat from Telegram as machine-readable JSON")
    if start.startswith((b"{", b"[{")):
        return "Telegram", "", telegram.read(file)
    if start.startswith(b"<"):
        return "SMS Backup & Restore", "", sms.read(file)
    if not start:
        raise TacitError(f"{file}: is empty; give a chat export")
    messages, dates = whatsapp.read(file)
    return "WhatsApp", dates, messages


def sentence(imported: Imported, most: int = 5) -> str:
    """Returns in one sentence who typed how much.

    >>> sentence(Imported("WhatsApp", "", {"ana": 3, "bo": 1}, {}))
    'WhatsApp: 4 messages of 2 people (ana 3, bo 1)'
    """
    named = [f"{shown(user, 40)[1:-1]} {count:,}" for user, count in list(imported.people.items())[:most]]
    more = ["…"] if len(imported.people) > most else []
    total, people = sum(imported.people.values()), len(imported.people)
    who = "1 person" if people == 1 else f"{people:,} people"
    what = "1 message" if total == 1 else f"{total:,} messages"
    return f"{imported.kind}: {what} of {who} ({', '.join([*named, *more])})"
