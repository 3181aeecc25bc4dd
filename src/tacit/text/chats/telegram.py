"""Reads Telegram's JSON export (`result.json` of Telegram Desktop), of one chat or of all.

A message has its sender in `from` and `from_id`, and its text as a string or as a list of strings and marked parts.
Service messages are the system's. Forwarded text, and text that a bot helped to send, was not typed by its sender.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tacit.base.errors import TacitError, shown
from tacit.base.reading import parse
from tacit.text.chats.message import FORWARDED, MEDIA, SYSTEM, ChatMessage, checked, pieces

_COPIED = {"forwarded_from", "saved_from", "via_bot"}  # keys of text that its sender did not type
_LARGEST = 1 << 29  # bytes: JSON is held whole
Record = dict[str, Any]


def read(path: Path) -> Iterator[ChatMessage]:
    """Yields the messages of an export; people who share a name are told apart by their id."""
    try:
        value = parse(b"".join(pieces(path, _LARGEST)).decode("utf-8-sig"))
    except ValueError as error:  # of bytes that are no UTF-8, too
        raise TacitError(f"{path}: not valid JSON ({error}); export the chat again") from None
    records = [record for chat in _chats(path, value) for record in _messages(path, chat)]
    ids: dict[str, set[str]] = defaultdict(set)
    for record in records:
        ids[_name(record)].add(str(record.get("from_id")))
    for record in records:
        name = _name(record)
        yield _message(path, record, f"{name} ({record.get('from_id')})" if len(ids[name]) > 1 else name)


def _chats(path: Path, value: Any) -> list[Any]:
    if isinstance(value, dict) and "messages" in value:
        return [value]
    both = [value.get(key) for key in ("chats", "left_chats")] if isinstance(value, dict) else []
    lists = [chats.get("list") for chats in both if isinstance(chats, dict)]
    found = [chats for chats in lists if isinstance(chats, list)]
    if not found or len(found) < len(lists):
        raise TacitError(
            f'{path}: neither "messages" nor "chats" is in it; export from Telegram Desktop as machine-readable JSON'
        )
    return [chat for chats in found for chat in chats]


def _messages(path: Path, chat: Any) -> list[Record]:
    messages = chat.get("messages", []) if isinstance(chat, dict) else None
    if not isinstance(messages, list) or not all(isinstance(record, dict) for record in messages):
        raise TacitError(f"{path}: a chat has no list of messages; export it again")
    return messages


def _name(record: Record) -> str:
    name = record.get("from")
    return name if isinstance(name, str) and name else str(record.get("from_id") or "")


def _message(path: Path, record: Record, user: str) -> ChatMessage:
    where, time = f"{path}, message {shown(record.get('id'), 20)}", record.get("date")
    if record.get("type") != "message":
        return ChatMessage("", "", "", SYSTEM)
    if not isinstance(time, str) or not time[:4].isdecimal() or len(time) > 40:
        raise TacitError(f'{where}: "date" is {shown(time, 30)}; it must be like 2024-01-31T21:15:33')
    if not _COPIED.isdisjoint(record):
        return ChatMessage(user, "", time, FORWARDED)
    text = checked(where, _text(where, record.get("text", "")))
    return ChatMessage(user, text, time, "" if text else MEDIA)


def _text(where: str, value: Any) -> str:
    parts = value if isinstance(value, list) else [value]
    given = [part.get("text") if isinstance(part, dict) else part for part in parts]
    texts = [text for text in given if isinstance(text, str)]
    if len(texts) < len(given):
        raise TacitError(f'{where}: "text" is {shown(value, 30)}; it must be text, or a list of texts')
    return "".join(texts).encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # halves of an emoji
