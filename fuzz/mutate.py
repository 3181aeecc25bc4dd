"""Hostile variations of bytes, text, numbers and JSON values."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

NUMBERS = (
    "0",
    "-0",
    "-1",
    "1",
    "255",
    "256",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "18446744073709551616",
    "1e308",
    "1e309",
    "-1e309",
    "1e-320",
    "nan",
    "inf",
    "-inf",
    "NaN",
    "Infinity",
    "0x10",
    "1_000",
    "１",
    "0.1",
    "",
    "9" * 400,
    "9" * 5000,
    "0." + "3" * 2000,
)
TEXTS = (
    "",
    " ",
    "\t",
    "\r",
    "\n",
    "\r\n",
    "\x0b",
    "\x0c",
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\x7f",
    "\x85",
    "\u2028",
    "\u200b",
    "\ufeff",
    "\ufffd",
    "\u202e",
    "\U0001f469\u200d\U0001f469",
    "é",
    "e\u0301",
    "ﬁ",
    "İ",
    "ß",
    "日本",
    "<script>alert(1)</script>",
    "&amp;",
    "'\"",
    "%s%n%d",
    "{}",
    "{0}",
    "[bold]x[/bold]",
    "[/]",
    "\\",
    "..",
    "../outside/secret.jsonl",
    "-",
    "--",
    "--help",
    "~",
    "$HOME",
    "*",
    "a" * 300,
    "a" * 70_000,
    "null",
    "true",
    "<s>",
    "</s>",
    "<unk>",
    "▁",
    "#",
    "a=b",
    "a.b=c",
    "2026-01-31",
    "9999-99-99T99:99:99",
)
WITH_NUL = (*TEXTS, "\0", "a\0b")
KEYS = ("user", "text", "time", "name", "format", "round", "test", "rounds", "", "a", "__proto__")


def text(draw: random.Random, nul: bool = True) -> str:
    """Returns a text that is awkward somewhere."""
    if draw.random() < 0.6:
        return draw.choice(WITH_NUL if nul else TEXTS)
    return "".join(draw.choice(TEXTS)[:40] or "x" for _ in range(draw.randint(1, 5)))


def number(draw: random.Random) -> str:
    """Returns the text of a number, or of something that looks like one."""
    return draw.choice(NUMBERS)


def value(draw: random.Random, depth: int = 0) -> Any:
    """Returns any JSON value."""
    kind = draw.randrange(9 if depth < 3 else 7)
    if kind < 2:
        return draw.choice(WITH_NUL)[:2000]
    if kind < 4:
        return draw.choice((0, -1, 1, 2**31, 2**63, 2**64, 10**400, 1.5, -0.0, 1e308, 1e-320))
    if kind < 7:
        return draw.choice((None, True, False, float("nan"), float("inf"), -float("inf"), [], {}))
    if kind == 7:
        return [value(draw, depth + 1) for _ in range(draw.randint(0, 4))]
    return {draw.choice(KEYS): value(draw, depth + 1) for _ in range(draw.randint(0, 4))}


def json_text(draw: random.Random, start: Any) -> str:
    """Returns a JSON text near a value: a part replaced or removed; or what a strict reader would not take."""
    kind = draw.randrange(12)
    if kind == 0:
        deep = draw.choice((10, 1000, 20_000, 100_000))
        return draw.choice(("[" * deep, "[" * deep + "]" * deep, '{"a":' * deep + "1" + "}" * deep))
    if kind == 1:
        return json.dumps(start).replace(":", f": {draw.choice(NUMBERS) or 0},", 1)
    if kind == 2:
        whole = json.dumps(start)
        return whole[: draw.randrange(len(whole) + 1)]
    if kind == 3:
        return "9" * draw.choice((10, 400, 5000, 100_000))
    return json.dumps(changed(draw, start), ensure_ascii=draw.random() < 0.5, allow_nan=True)


def changed(draw: random.Random, start: Any) -> Any:
    """Returns a copy of a JSON value with one part of it replaced, removed or added."""
    if isinstance(start, dict) and start and draw.random() < 0.9:
        copy, key = dict(start), draw.choice(sorted(start))
        kind = draw.random()
        if kind < 0.15:
            del copy[key]
        elif kind < 0.25:
            copy[draw.choice(KEYS)] = value(draw)
        else:
            copy[key] = changed(draw, copy[key])
        return copy
    if isinstance(start, list) and start and draw.random() < 0.8:
        items, place = list(start), draw.randrange(len(start))
        if draw.random() < 0.2:
            del items[place]
        else:
            items[place] = changed(draw, items[place])
        return items
    return value(draw)


def data(draw: random.Random, start: bytes, others: Sequence[bytes] = ()) -> bytes:
    """Returns bytes near `start`: flipped, cut, doubled, mixed with `others`."""
    content = bytearray(start)
    for _ in range(draw.choice((1, 1, 1, 2, 3, 8))):
        place = draw.randrange(len(content) + 1)
        match draw.randrange(9):
            case 0:
                if content:
                    content[place % len(content)] ^= 1 << draw.randrange(8)
            case 1:
                if content:
                    content[place % len(content)] = draw.choice((0, 1, 10, 13, 34, 127, 128, 255))
            case 2:
                del content[place:]
            case 3:
                del content[place : place + draw.choice((1, 2, 4, 8, 64))]
            case 4:
                content[place:place] = content[place : place + draw.choice((1, 8, 100, 1000))]
            case 5:
                content[place:place] = draw.randbytes(draw.choice((1, 2, 4, 8, 50)))
            case 6:
                wide = draw.choice((2, 4, 8))
                most = draw.choice((0, 1, (1 << 8 * wide) - 1, 1 << (8 * wide - 1), 1 << 16))
                content[place : place + wide] = (most % (1 << 8 * wide)).to_bytes(wide, "little")
            case 7:
                content[place:place] = text(draw).encode("utf-8", "surrogatepass")[:2000]
            case _:
                other = draw.choice(others) if others else bytes(reversed(content))
                content[place:] = other[place:]
    return bytes(content)


def lines(draw: random.Random, start: bytes) -> bytes:
    """Returns text lines near `start`: fields replaced by awkward numbers and texts, lines moved or removed."""
    rows = start.split(b"\n")
    for _ in range(draw.choice((1, 1, 2, 4))):
        place = draw.randrange(len(rows))
        kind = draw.randrange(6)
        if kind == 0:
            del rows[place]
            rows = rows or [b""]
        elif kind == 1:
            rows.insert(place, draw.choice(rows))
        elif kind == 2:
            other = draw.randrange(len(rows))
            rows[place], rows[other] = rows[other], rows[place]
        else:
            separator = draw.choice((b"\t", b" ", b"=", b","))
            fields = rows[place].split(separator)
            awkward = draw.choice((number, number, text))(draw)
            fields[draw.randrange(len(fields))] = awkward.encode("utf-8", "surrogatepass")
            rows[place] = separator.join(fields)
    return b"\n".join(rows)
