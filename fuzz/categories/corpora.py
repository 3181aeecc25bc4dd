"""Corpora: JSON lines, plain text and gzip with wrong types, depths, digits, encodings and sizes of fields."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from contextlib import suppress

import tacit
from fuzz import mutate
from fuzz.box import Box, untouched
from fuzz.categories import Category
from fuzz.material import Material
from fuzz.trial import Ending, refusable
from tacit.runs.config import resolve
from tacit.runs.data import prepare

_NAMES = (
    "m.jsonl",
    "m.json",
    "m.txt",
    "m.jsonl.gz",
    "m.txt.gz",
    "m",
    "m.csv",
    "m.tsv",
    "\x1b[31m.jsonl",
    "日本.jsonl",
)


def _record(draw: random.Random, line: bytes) -> bytes:
    """Returns a line of JSON near a good one."""
    record = json.loads(line)
    kind = draw.randrange(8)
    if kind == 0:
        record["time"] = draw.choice(
            (
                mutate.number(draw),
                mutate.text(draw),
                "9" * 1_000_000,
                "2026-01-31" + " " * 1_000_000,
                10**30,
                -1,
                1.5,
                None,
            )
        )
    elif kind == 1:
        record["text"] = mutate.text(draw) * draw.choice((1, 3))
    elif kind == 2:
        record["user"] = mutate.text(draw)
    elif kind == 3:
        return mutate.json_text(draw, record).encode("utf-8", "surrogatepass")
    elif kind == 4:
        return mutate.data(draw, line)
    elif kind == 5:
        record[mutate.text(draw)[:50]] = mutate.value(draw)
    elif kind == 6:
        return line.replace(b'"time": ', b'"time": ' + mutate.number(draw).encode("utf-8"))
    else:
        return line.replace(
            b'"text": "', rb'"text": "' + draw.choice((rb"\ud800", rb"\u0000", rb"\u001b[2J", b"\xff"))
        )
    return json.dumps(record, ensure_ascii=draw.random() < 0.5).encode("utf-8", "surrogatepass")


def _content(draw: random.Random, good: bytes) -> bytes:
    kind = draw.randrange(8)
    lines = good.split(b"\n")[: draw.choice((3, 40, 400))]
    if kind < 5:
        for _ in range(draw.choice((1, 1, 2, 5))):
            place = draw.randrange(len(lines))
            if lines[place].startswith(b"{"):
                with suppress(ValueError, RecursionError):  # a line that was changed before may be no JSON
                    lines[place] = _record(draw, lines[place])
        return b"\n".join(lines)
    if kind == 5:
        return mutate.data(draw, good[:2000])
    if kind == 6:
        return b"\n".join(
            mutate.text(draw).encode("utf-8", "surrogatepass") for _ in range(draw.randint(0, 30))
        )
    start = draw.choice(
        (b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"\0" * 50, b"\x1f\x8b\x08\x00", b"[", b"PK\x03\x04")
    )
    return start + good[: draw.choice((0, 50, 3000))]


def trial(draw: random.Random, box: Box, material: Material, number: int) -> Ending:
    path = box.work / draw.choice(_NAMES)
    content = _content(draw, material.messages.read_bytes())
    if draw.random() < 0.15:
        content = mutate.data(draw, gzip.compress(content)) if draw.random() < 0.7 else gzip.compress(content)
    path.write_bytes(content)
    calls: dict[str, Callable[[], object]] = {
        "look": lambda: tacit.corpus(path).describe(),
        "prepare": lambda: prepare(resolve("fedavg", [f"text.corpus={path}", "text.vocabulary=0"])),
    }
    with untouched(box):
        return refusable(calls[draw.choice(sorted(calls))])


def _plain(box: Box, material: Material) -> None:
    tacit.corpus(material.messages).describe()


CATEGORY = Category(
    "corpora with wrong types, depth, digits, encodings, control characters, huge fields",
    trial,
    2000,
    plain=_plain,
)
