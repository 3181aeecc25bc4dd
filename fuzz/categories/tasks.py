"""Tasks of a hostile server: a client refuses what it does not know, and never crashes."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from fuzz import messages, mutate
from fuzz.box import Box, untouched
from fuzz.categories import Category
from fuzz.material import TEXT, Material
from fuzz.trial import Ending, refusable
from tacit.base.errors import TacitError
from tacit.network.client import answering
from tacit.network.person import Device
from tacit.network.work import Parcel, Refusal
from tacit.text.corpus import from_messages

_NUMBERS = (
    0,
    -1,
    1,
    2**31 - 1,
    2**31,
    2**62,
    -(2**63),
    2**63 - 1,
    True,
    1.5,
    float("nan"),
    float("inf"),
    1e308,
)


@cache
def _client() -> Callable[[Parcel], Parcel]:
    words = TEXT.split()
    texts = [" ".join(words[i : i + 6]) for i in range(0, 24, 3)]
    return answering(Device(from_messages("fuzz", {"me": texts})))


@cache
def _tasks() -> tuple[Parcel, ...]:
    """Returns an honest task of each kind."""
    office, parts = messages.world().office, messages.model_arrays()
    return tuple(
        office.tasks(kind, 0, parts, [0], **more)[0]
        for kind, more in (("train", {"lr": 0.1}), ("evaluate", {}))
    )


def _facts(draw: random.Random, facts: dict[str, Any]) -> None:
    name = draw.choice(sorted(facts))
    match draw.randrange(5):
        case 0:
            del facts[name]
        case 1:
            facts[mutate.text(draw)[:40]] = draw.choice(_NUMBERS)
        case 2:
            facts[name] = draw.choice((mutate.text(draw), b"\x80", [1, 2], ["a"], None))
        case _:
            facts[name] = draw.choice(_NUMBERS)


def config_changed(draw: random.Random, facts: dict[str, Any]) -> None:
    """Changes the configuration: a value, a line, or its bytes."""
    good = facts["config"].encode()
    kind = draw.random()
    if kind < 0.5:
        lines = good.decode().splitlines()
        at = draw.choice([i for i, line in enumerate(lines) if "=" in line])
        value = draw.choice(
            (mutate.number(draw), repr(mutate.text(draw)), "[]", "true", "{a = 1}", "[" * 3000)
        )
        lines[at] = f"{lines[at].partition('=')[0]}= {value}"
        changed = "\n".join(lines).encode("utf-8", "replace")
    else:
        changed = mutate.lines(draw, good) if kind < 0.8 else mutate.data(draw, good)
    facts["config"] = changed.decode("utf-8", "replace")


def _arrays(draw: random.Random, arrays: dict[str, Any]) -> None:
    name = draw.choice(sorted(n for n, array in arrays.items() if isinstance(array, np.ndarray)))
    array = arrays[name]
    match draw.randrange(6):
        case 0:
            del arrays[name]
        case 1:
            arrays[mutate.text(draw)] = array
        case 2:
            arrays[name] = array.astype(draw.choice(("f8", "i4", ">f4", "?", "c8")))
        case 3:
            arrays[name] = draw.choice((array[None], array.reshape(-1), array[:0], array.tolist(), None))
        case 4 if array.dtype.kind == "f":
            arrays[name] = np.full_like(array, draw.choice((np.nan, np.inf, -np.inf, 1e30)))
        case _:
            words = draw.choice((b"", b"\xff", b"a\na", b"\n" * 50, draw.randbytes(200)))
            arrays["words"] = np.frombuffer(words, np.uint8)


def trial(draw: random.Random, box: Box, material: Material, number: int) -> Ending:
    task = draw.choice(_tasks())
    facts, arrays = dict(task.facts), dict(task.arrays)
    for _ in range(draw.choice((1, 1, 1, 2))):
        part = draw.choice((_facts, config_changed, _arrays))
        if part is _arrays:
            _arrays(draw, arrays)
        elif part is _facts or isinstance(facts.get("config"), str):
            part(draw, facts)

    def answer() -> None:
        try:
            _client()(Parcel(arrays, facts))
        except Refusal as refusal:  # what a client journals, and tells the server by its reason
            raise TacitError(str(refusal)) from None

    with untouched(box):
        return refusable(answer)


CATEGORY = Category(
    "tasks of a hostile server, as a client answers them",
    trial,
    1500,
    plain=lambda box, m: [_client()(task) for task in _tasks()],
)
