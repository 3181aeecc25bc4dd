"""Kinds of malformed answers to a round, as the objects that a stranger can put into Flower's store.

Each kind takes random numbers, and the arrays and facts of an honest answer, which it may change. It returns the
objects of a message.
"""

from __future__ import annotations

import json
import pickle
import random
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Error, Metadata, MetricRecord, RecordDict
from flwr.app.message.message import make_message
from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects, no_object_id_recompute

from fuzz import mutate

Arrays = dict[str, np.ndarray]
Facts = dict[str, Any]
Objects = tuple[dict[str, bytes], str]  # of a message, by their ids, and the id of the first

_kept: dict[int, Array] = {}  # arrays as Flower's, by the ids of those that `keep` was given


def keep(arrays: Arrays) -> None:
    """Keeps these arrays as Flower's, which remember their bytes: every message has most of them."""
    _kept.update({id(a): Array(a) for a in arrays.values()})


def stored(content: RecordDict | Error) -> Objects:
    """Returns a message as the objects that Flower stores."""
    metadata = Metadata(1, "", 1, 1, "", "", time.time(), 3600.0, "train")
    whole = {"content": content} if isinstance(content, RecordDict) else {"error": content}
    message = make_message(metadata, **whole)
    with no_object_id_recompute():
        return {n: one.deflate() for n, one in get_all_nested_objects(message).items()}, message.object_id


def records(arrays: Mapping[str, np.ndarray | Array], facts: Facts) -> RecordDict:
    """Returns arrays and facts as Flower's records."""
    given = {
        n: a if isinstance(a, Array) else _kept.get(id(a)) or Array(np.asarray(a)) for n, a in arrays.items()
    }
    return RecordDict({"arrays": ArrayRecord(given), "facts": ConfigRecord(facts)})


def _some(draw: random.Random, arrays: Arrays) -> str:
    return draw.choice(sorted(arrays))


def values(draw: random.Random, arrays: Arrays, facts: Facts) -> Objects:
    """Numbers that are none, or too large."""
    name = _some(draw, arrays)
    wrong = arrays[name] = arrays[name].copy()
    place = draw.randrange(wrong.size)
    wrong.reshape(-1)[place] = draw.choice((np.nan, np.inf, -np.inf, 2.0**23, -3e38, 1e30))
    return stored(records(arrays, facts))


def shapes(draw: random.Random, arrays: Arrays, facts: Facts) -> Objects:
    """Other shapes, some of which numpy would broadcast."""
    name = _some(draw, arrays)
    array = arrays[name]
    others = (
        array[None],
        array[..., None],
        array.reshape(-1)[:0],
        np.concatenate([array.reshape(-1), np.ones(1, array.dtype)]),
        np.broadcast_to(array, (2, *array.shape)).copy(),
        np.ones((1,) * (array.ndim + 1), array.dtype),
        array.reshape(-1)[: max(0, array.size - 1)],
    )
    arrays[name] = draw.choice(others)
    return stored(records(arrays, facts))


def dtypes(draw: random.Random, arrays: Arrays, facts: Facts) -> Objects:
    """Other types of numbers, or another order of bytes."""
    name = _some(draw, arrays)
    kinds = ("f8", "f2", "i4", "i8", "u1", "?", "c8", ">f4", "S4", "U2", "M8[s]")
    arrays[name] = arrays[name].astype(draw.choice(kinds))
    return stored(records(arrays, facts))


def weights(draw: random.Random, arrays: Arrays, facts: Facts) -> Objects:
    """A weight that is nothing, negative or huge."""
    wrong = draw.choice((0.0, -1.0, -1e-30, 1e6 * 1.01, 2.0**22, 3e38, -0.0, np.nan))
    arrays["reply/message/1"] = np.asarray(wrong, np.float32)
    return stored(records(arrays, facts))


def reports(draw: random.Random, arrays: Arrays, facts: Facts) -> Objects:
    """A report of nobody, of several clients, or with negative figures."""
    name = draw.choice([n for n in sorted(arrays) if "/report/" in n])
    wrong = draw.choice((-1.0, -1e-6, np.nan, -np.inf))
    if name.endswith("/clients"):
        wrong = draw.choice((0.0, 2.0, 0.5, 1000.0, wrong))
    if name.endswith("/refused"):
        wrong = draw.choice((1.0, wrong))
    if arrays[name].dtype.kind == "i":
        wrong = draw.choice((-1, -(2**31)))
    arrays[name] = np.asarray(wrong, arrays[name].dtype)
    return stored(records(arrays, facts))


def names(draw: random.Random, arrays: Arrays, facts: Facts) -> Objects:
    """Arrays that are missing, too many, or named otherwise."""
    name = _some(draw, arrays)
    other = draw.choice((name.upper(), name + "/", "", mutate.text(draw)[:50] or "x", "__class__", "facts"))
    match draw.randrange(3):
        case 0:
            del arrays[name]
        case 1:
            arrays[other if other not in arrays else "more"] = arrays[name]
        case _:
            arrays[other if other not in arrays else "more"] = arrays.pop(name)
    return stored(records(arrays, facts))


def wrong_facts(draw: random.Random, arrays: Arrays, facts: Facts) -> Objects:
    """Another version, kind or round; another secret; facts of other types, missing, or too many."""
    name = draw.choice(sorted(facts))
    others: tuple[Any, ...] = (
        True,
        1.0,
        -1,
        2**62,
        5,
        "",
        "evaluate",
        "é" * 32,
        b"\x80",
        [0],
        ["train"],
        [1.5],
        "0" * 32,
    )
    match draw.randrange(4):
        case 0:
            del facts[name]
        case 1:
            facts[mutate.text(draw)[:30] or "more"] = draw.choice(others)
        case _:
            facts[name] = draw.choice(
                [v for v in others if not (v == facts[name] and type(v) is type(facts[name]))]
            )
    return stored(records(arrays, facts))


def secrets(draw: random.Random, arrays: Arrays, facts: Facts) -> Objects:
    """The secret of another client, of another round, or nearly the right one."""
    right = str(facts["secret"])
    facts["secret"] = draw.choice(
        (right[:-1], right + "0", right.upper() + " ", right[::-1] + "1", f"{draw.getrandbits(128):032x}")
    )
    return stored(records(arrays, facts))


def rounds(draw: random.Random, arrays: Arrays, facts: Facts) -> Objects:
    """An answer to a round that is over or has not begun."""
    facts["round"] += draw.choice((-1, 1, 2, -(2**40), 2**60))
    return stored(records(arrays, facts))


def pickles(draw: random.Random, arrays: Arrays, facts: Facts) -> Objects:
    """Pickled bytes instead of an array, plain and inside numpy's format."""
    name = _some(draw, arrays)
    harm = pickle.dumps(_Harm())
    content = draw.choice((harm, _npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }") + harm))
    return stored(
        records(
            {**arrays, name: Array("object", (1,), draw.choice(("numpy.ndarray", "pickle")), content)}, facts
        )
    )


class _Harm:
    def __reduce__(self) -> tuple[Any, ...]:
        return exec, ("raise SystemExit('a pickle was loaded')",)


def headers(draw: random.Random, arrays: Arrays, facts: Facts) -> Objects:
    """Headers of arrays that are cut off, lie, declare petabytes, or are no dictionary."""
    name = _some(draw, arrays)
    array = arrays[name]
    right = f"{{'descr': '{array.dtype.str}', 'fortran_order': False, 'shape': {array.shape}, }}"
    huge = draw.choice(
        ("(1000000000000000,)", "(2147483648, 2147483648)", "(-1,)", "(-4, -8)", "(1e9,)", "('8',)")
    )
    shape = f"'shape': {array.shape}"
    lies = (
        right.replace(shape, f"'shape': {huge}"),
        right.replace("False", draw.choice(("True", "1", "None"))) if array.ndim > 1 else right[:-1],
        right.replace(
            array.dtype.str, draw.choice(("|V0", "|V4", "<U0", "|O", "[('a', '<f4')]", "<f3", "<f1024"))
        ),
        right[: draw.randrange(len(right))],
        "(" * draw.choice((50, 5000)) + right,
        draw.choice(
            ("[]", "1", "", "__import__('os')", "{}", "{'shape': ()}", right.replace("shape", "Shape"))
        ),
    )
    content = _npy(draw.choice(lies)) + array.tobytes()
    match draw.randrange(6):
        case 0:
            content = content[: draw.randrange(10)]
        case 1:
            content = content[: len(content) - draw.randrange(1, 1 + array.nbytes)]
        case 2:
            content += draw.randbytes(draw.choice((1, 4, 1000)))
        case 3:
            content = content[:6] + bytes(draw.choice(((2, 0), (3, 0), (9, 9), (0, 1)))) + content[8:]
        case _:
            pass
    return stored(
        records({**arrays, name: Array(str(array.dtype), array.shape, "numpy.ndarray", content)}, facts)
    )


def _npy(header: str) -> bytes:
    told = header.encode()[:65000] + b"\n"
    return b"\x93NUMPY\x01\x00" + len(told).to_bytes(2, "little") + told


def other_records(draw: random.Random, arrays: Arrays, facts: Facts) -> Objects:
    """Records of other kinds or names; a message without any; an error."""
    parts: dict[str, Any] = dict(records(arrays, facts))
    match draw.randrange(6):
        case 0:
            return stored(Error(draw.randrange(2**31), mutate.text(draw)[:100]))
        case 1:
            parts.clear()
        case 2:
            parts["metrics"] = MetricRecord({"loss": 1.0})
        case 3:
            parts["facts"] = MetricRecord({"round": 1})
        case 4:
            del parts[draw.choice(("arrays", "facts"))]
        case _:
            parts[draw.choice(("arrays", "facts"))] = ConfigRecord({"a": [1, 2]})
    return stored(RecordDict(parts))


def objects(draw: random.Random, arrays: Arrays, facts: Facts) -> Objects:
    """Objects of the store that are damaged, missing, of another type, or name their parts a million times."""
    contents, root = stored(records(arrays, facts))
    name = draw.choice(sorted(contents))
    head, _, body = contents[name].partition(b"\0")
    kind, children, size = head.split(b" ")
    match draw.randrange(8):
        case 0:
            del contents[name]
        case 1:
            other = draw.choice(
                (b"Array", b"Message", b"ConfigRecord", b"RecordDict", b"ArrayChunk", b"os.system", b"")
            )
            contents[name] = b" ".join((other, children, size)) + b"\0" + body
        case 2:
            contents[name] = head[: draw.randrange(len(head))] + b"\0" + body
        case 3:
            contents[name] = b" ".join((kind, b",".join([children] * 2) or b"x", size)) + b"\0" + body
        case 4:
            root = draw.choice(sorted(contents.keys() - {root}))
        case 5:
            bodies = (b"[" * 5000, b"{", b"null", b"[]", b'{"a": 1}', b"\xff\xfe", b"NaN", b"")
            contents[name] = head + b"\0" + draw.choice(bodies)
        case 6:
            _repeat(draw, contents)
        case _:
            contents[name] = head + b"\0" + mutate.data(draw, body) if kind != b"ArrayChunk" else b""
    return contents, root


def _repeat(draw: random.Random, contents: dict[str, bytes]) -> None:
    """Lets an array name one piece very often, which would fill the memory if it was put together."""
    arrays = [n for n, c in contents.items() if c.startswith(b"Array ")]
    name = draw.choice(arrays)
    head, _, body = contents[name].partition(b"\0")
    told = json.loads(body)
    told["arraychunk_ids"] = draw.choice(([0] * 2_000_000, [-1] * 3, [10**9], [[0]], ["0"], 0, None))
    contents[name] = head + b"\0" + json.dumps(told).encode()
    if isinstance(told["arraychunk_ids"], list) and len(told["arraychunk_ids"]) > 10:
        piece = head.split(b" ")[1].decode()
        contents[piece] += bytes(4096)  # eight gigabytes in all


KINDS: tuple[Callable[[random.Random, Arrays, Facts], Objects], ...] = (
    values, shapes, dtypes, weights, reports, names, wrong_facts, secrets, rounds, pickles, headers, other_records,
    objects,
)  # fmt: skip
