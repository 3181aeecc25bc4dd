"""Reads the XML of SMS Backup & Restore: text messages, and the text of multimedia messages.

    <smses count="2"><sms address="+4512345" date="1706735733000" type="2" body="see you" contact_name="Ana"/>…</smses>

Sent messages have the user "me". Received ones have the contact's name, or the number.

The file comes from a phone and may be damaged or made by somebody else: a DOCTYPE is refused, so no entity is ever
defined or expanded. The program writes emoji as two references that XML does not allow (`&#55357;&#56834;`, in
other programs `&#xD83D;&#xDE02;`); they are joined before parsing.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from tacit.base.errors import TacitError, shown
from tacit.text.chats.message import DRAFTS, MEDIA, ChatMessage, checked, pieces

ME = "me"
_RECEIVED, _DRAFT, _FROM = "1", "3", "137"
_HALF = rb"&#(5[5-7]\d{3}|[xX][dD][89a-fA-F][\da-fA-F]{2});"  # eight bytes
_PAIR = re.compile(_HALF + rb"(?:" + _HALF + rb")?")
_HIGH = re.compile(rb"&#(?:5[56]\d{3}|[xX][dD][89abAB][\da-fA-F]{2});")
_CONTROL = re.compile(rb"&#(?:0*(?:[0-8]|1[1-24-9]|2\d|3[01])|x0*(?:[0-8bcBCefEF]|1[\da-fA-F]));")
_REFERENCE = 24  # bytes that may hold the beginning of two references
Attributes = dict[str, str]


def read(path: Path) -> Iterator[ChatMessage]:
    """Yields the messages of a backup."""
    parser = expat.ParserCreate("UTF-8")  # whatever the file declares
    found: list[ChatMessage] = []
    mms: Attributes | None = None
    texts: list[str] = []
    sender = ""
    seen_root = False

    def refuse(*_: object) -> NoReturn:
        raise TacitError(
            f"{path}: it has a DOCTYPE, which no backup has; give the file of SMS Backup & Restore"
        )

    def start(name: str, attributes: Attributes) -> None:
        nonlocal mms, sender, seen_root
        if not seen_root and name != "smses":
            raise TacitError(
                f"{path}: <{shown(name)[1:-1]}> is not <smses>; give a message backup, not one of calls"
            )
        seen_root = True
        if name == "sms":
            found.append(
                _message(where(), attributes, attributes.get("type", ""), attributes.get("body", ""))
            )
        elif name == "mms":
            mms, sender = attributes, ""
            texts.clear()
        elif name == "part" and attributes.get("ct") == "text/plain":
            texts.append(attributes.get("text", ""))
        elif name == "addr" and attributes.get("type") == _FROM:
            sender = attributes.get("address", "")

    def end(name: str) -> None:
        nonlocal mms
        if name == "mms" and mms is not None:
            group = "~" in mms.get("address", "")  # of a group, all its numbers
            attributes = mms | ({"address": sender, "contact_name": ""} if group else {})
            found.append(_message(where(), attributes, mms.get("msg_box", ""), "\n".join(texts)))
            mms = None

    def where() -> str:
        return f"{path}, line {parser.CurrentLineNumber}"

    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    try:
        for piece in _repaired(pieces(path)):
            parser.Parse(piece, False)
            yield from found
            found.clear()
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise TacitError(
            f"{path}, line {error.lineno}: not valid XML ({reason}); copy the backup again"
        ) from None
    yield from found


def _repaired(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Joins references of surrogate halves, and replaces references that XML does not allow."""
    held = b""
    for part in parts:
        held += part
        cut = len(held)
        tail = held.find(b"&", max(0, cut - _REFERENCE))
        if tail >= 0:  # perhaps the second half of what the eight bytes before begin
            cut = tail - 8 if _HIGH.fullmatch(held, max(0, tail - 8), tail) else tail
        yield _without_halves(held[:cut])
        held = held[cut:]
    yield _without_halves(held)


def _without_halves(data: bytes) -> bytes:
    def join(match: re.Match[bytes]) -> bytes:
        high, low = _number(match[1]), _number(match[2] or b"0")
        if 0xD800 <= high < 0xDC00 <= low < 0xE000:
            return b"&#%d;" % (0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
        if not (0xD800 <= high < 0xE000 or 0xD800 <= low < 0xE000):
            return match[0]
        return b"&#65533;" * (2 if match[2] else 1)

    return _CONTROL.sub(b"&#65533;", _PAIR.sub(join, data))


def _number(digits: bytes) -> int:
    return int(digits[1:], 16) if digits[:1] in b"xX" else int(digits)


def _message(where: str, attributes: Attributes, kind: str, body: str) -> ChatMessage:
    time = attributes.get("date", "")
    if not (time.isascii() and time.isdecimal() and len(time) <= 14):
        raise TacitError(f"{where}: date is {shown(time, 30)}; it must be milliseconds since 1970")
    moment = datetime.datetime.fromtimestamp(int(time) // 1000, datetime.UTC)
    contact = attributes.get("contact_name", "")
    known = contact not in ("", "(Unknown)", "null", ME)
    user = ME if kind != _RECEIVED else contact if known else attributes.get("address", "") or "unknown"
    text = checked(where, body if body != "null" else "")
    return ChatMessage(user, text, moment.isoformat(), DRAFTS if kind == _DRAFT else "" if text else MEDIA)
