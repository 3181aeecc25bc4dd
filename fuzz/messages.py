"""Malformed answers to a round, as the objects that a stranger can put into Flower's store, and what must come of them.

A round has one honest answer and many malformed ones. It must end with the bytes that the honest one gives alone, and
every malformed answer must be refused with a reason. What happens to be read as exactly the honest answer (a changed
field that nobody reads) is not malformed and is left out.
"""

from __future__ import annotations

import json
import pickle
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import jax
import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Error, Metadata, MetricRecord, RecordDict
from flwr.app.message.message import make_message
from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects, no_object_id_recompute

from fuzz import mutate
from fuzz.trial import Fault, shown
from tacit.federated.aggregation import Aggregation
from tacit.federated.algorithm import Trainer, rule_and_optimiser
from tacit.federated.local import Sending
from tacit.federated.message_sizes import nobody
from tacit.federated.rounds import rounds_of
from tacit.models import language_model
from tacit.network.exchange import exchange
from tacit.network.grid import from_records
from tacit.network.office import Office, Post, Terms
from tacit.network.replies import opened
from tacit.network.training import networked
from tacit.network.work import Parcel, Refusal, answer_facts, named
from tacit.runs.config import algorithm, resolve
from tacit.text.vocabulary import SPECIALS, Vocabulary

TINY = (
    "model.hidden=8",
    "model.embedding=8",
    "text.vocabulary=20",
    "sampling.fraction=1.0",
    "training.rounds=1",
)
STRANGERS = 50  # malformed answers of a round, at least
Arrays = dict[str, np.ndarray]
Facts = dict[str, Any]
Objects = tuple[dict[str, bytes], str]  # of a message, by their ids, and the id of the first
Made = tuple[int, Parcel | Refusal]  # who answers, and what the server makes of it


class World(NamedTuple):
    """A small model and the honest answer of one client."""

    office: Office  # its courier is made anew for each round
    trainer: Trainer
    arrays: Arrays


@cache
def world() -> World:
    """Returns the world of all rounds."""
    config = networked(resolve("fedavg", list(TINY)))
    words = Vocabulary((*SPECIALS, *(f"w{i}" for i in range(20 - len(SPECIALS)))))
    model = language_model(config.model, len(words))
    shapes = jax.eval_shape(model.init, jax.random.key(0))
    rule, _ = rule_and_optimiser(algorithm(config), shapes)
    assert isinstance(rule, Aggregation)
    silence = nobody(config.client, Sending(rule, 0.0, None, 0.0), shapes)
    draw = np.random.default_rng(0)
    arrays = {
        n: np.asarray(draw.random(leaf.shape), leaf.dtype) for n, leaf in named("reply", silence).items()
    }
    arrays |= {n: np.asarray(1, a.dtype) for n, a in arrays.items() if not a.shape}
    arrays["reply/report/refused"] = np.zeros_like(arrays["reply/report/refused"])

    office = Office(Strangers(), config, words, 1 + STRANGERS, Terms(), Counter())
    return World(
        office,
        rounds_of(model.init, algorithm(config), exchange(office, shapes), 0, 1, office.population),
        arrays,
    )


def stored(content: RecordDict | Error) -> Objects:
    """Returns a message as the objects that Flower stores."""
    metadata = Metadata(1, "", 1, 1, "", "", time.time(), 3600.0, "train")
    whole = {"content": content} if isinstance(content, RecordDict) else {"error": content}
    message = make_message(metadata, **whole)
    with no_object_id_recompute():
        return {n: one.deflate() for n, one in get_all_nested_objects(message).items()}, message.object_id


def records(arrays: Mapping[str, np.ndarray | Array], facts: Facts) -> RecordDict:
    """Returns arrays and facts as Flower's records."""
    kept = _kept()
    given = {
        n: a if isinstance(a, Array) else kept.get(id(a)) or Array(np.asarray(a)) for n, a in arrays.items()
    }
    return RecordDict({"arrays": ArrayRecord(given), "facts": ConfigRecord(facts)})


@cache
def model_arrays() -> Arrays:
    """Returns the model as a task carries it."""
    state = world().trainer.init(jax.random.key(0))
    return {name: np.asarray(leaf, np.float32) for name, leaf in named("params", state.params).items()}


@cache
def _kept() -> dict[int, Array]:
    """Returns the honest arrays as Flower's, which remember their bytes."""
    return {id(a): Array(a) for a in world().arrays.values()}


def read(objects: Objects) -> Parcel | Refusal:
    """Returns what the server reads from objects; anything but a parcel or a refusal is a fault."""
    try:
        message = opened(*objects)
        if message.has_error():
            return Refusal("client", "an error")
        return from_records(message.content)
    except Refusal as refusal:
        return refusal
    except Exception as error:
        raise Fault("crash", shown(error)) from None


# Each takes random numbers, the honest arrays and facts, which it may change, and returns the objects of a message.


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


class Strangers:
    """Answers a round as one honest client, number 0, and as strangers, each with a malformed answer."""

    def __init__(self) -> None:
        self.draw: random.Random | None = None  # no draw: only the honest client answers
        self.sent: Counter[str] = Counter()  # malformed answers by kind

    def present(self) -> Sequence[int]:
        return range(1 + STRANGERS)

    def post(self) -> Post:
        raise NotImplementedError("strangers answer rounds only")

    def ask(self, tasks: Mapping[int, Parcel], seconds: float) -> Iterator[Made]:
        draw, honest = self.draw, world().arrays
        if draw is None:
            yield 0, Parcel(honest, answer_facts(tasks[0].facts))
            return
        for number in draw.sample(list(tasks), len(tasks)):
            facts = answer_facts(tasks[number].facts)
            if number == 0:
                yield 0, read(stored(records(honest, facts)))
                while draw.random() < 0.5:
                    self.sent["replays"] += 1
                    yield 0, Parcel(honest, facts)
            elif draw.random() < 0.05:
                self.sent["forged ids"] += 1
                yield draw.choice((-1, 1 + STRANGERS, 2**40)), Parcel(honest, facts)
            else:
                yield number, self._malformed(draw, facts)

    def _malformed(self, draw: random.Random, facts: Facts) -> Parcel | Refusal:
        honest = world().arrays
        while True:
            kind = draw.choice(KINDS)
            try:
                wrong = kind(draw, dict(honest), dict(facts))
            except (TypeError, ValueError, OverflowError):  # Flower or numpy cannot write such a message
                continue
            answer = read(wrong)
            if not (isinstance(answer, Parcel) and _same(answer, Parcel(honest, facts))):
                self.sent[kind.__name__.replace("_", " ")] += 1
                return answer


def _same(a: Parcel, b: Parcel) -> bool:
    if a.arrays.keys() != b.arrays.keys() or dict(a.facts) != dict(b.facts):
        return False
    if [type(v) for v in a.facts.values()] != [type(b.facts[n]) for n in a.facts]:
        return False
    pairs = [(x, b.arrays[n]) for n, x in a.arrays.items()]
    return all(x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes() for x, y in pairs)


def one_round(draw: random.Random) -> tuple[Counter[str], Counter[str]]:
    """Makes a round with `STRANGERS` malformed answers or more; returns them by kind, and the refusals by reason."""
    expected = undisturbed()
    try:
        after, sent, refused = _round(draw)
    except Exception as error:
        raise Fault("crash", shown(error)) from None
    if refused.total() != sent.total():
        raise Fault("nonsense", f"{dict(sent)} were sent and {dict(refused)} refused")
    if after != expected:
        raise Fault("nonsense", f"malformed answers changed the model: {dict(sent)}")
    return sent, refused


@cache
def undisturbed() -> bytes:
    """Returns the server's state after a round of the honest client alone."""
    return _round(None)[0]


def _round(draw: random.Random | None) -> tuple[bytes, Counter[str], Counter[str]]:
    office, trainer, _ = world()
    assert isinstance(office.courier, Strangers)
    office.courier.draw, office.courier.sent = draw, Counter()
    office.refused.clear()
    state, facts = trainer.round(trainer.init(jax.random.key(0)), 0)
    if facts["clients"] != 1:
        raise Fault("nonsense", f"{facts['clients']} answers were added, one is honest")
    after = b"".join(np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(state))
    return after, office.courier.sent, Counter(office.refused)
