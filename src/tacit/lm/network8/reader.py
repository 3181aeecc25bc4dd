"""Reads a network with 8 bits per weight, for phones with enough room for the network itself; needs only numpy.

Nothing here imports JAX. The file is memory-mapped and used as it is on disk. A block of a matrix becomes float32 only
while it is multiplied, so a network of n weights takes about n bytes. All numbers are little-endian.

    0    8 bytes  "TacitNN\\n"
    8    uint32   version, 1; a reader refuses a greater one
    12   uint32   how many sections there are
    16   uint32   length of the file
    20   uint32   CRC-32 of bytes 0 to 19 and of everything from byte 24 on
    24   for each section 32 bytes of name, filled up with zeros, uint32 offset, uint32 length in bytes;
         sections begin at multiples of 8

    meta   JSON: name, source, case, max_words, created_by, locale (unless en), vocabulary (V, the three specials
           counted) and model, the table [model] of the run's configuration
    words  zlib of the words from id 3 on, UTF-8, each followed by a line feed, in the order of their bytes: the words
           with a typed prefix are a range of ids, as in a compact n-gram file. Ids 0, 1, 2: `<s>`, `</s>`, `<unk>`

The other sections are the network's weights, named as in tacit.models. A matrix has two sections. `NAME` holds int8
[outputs, inputs], a row for each output. `NAME.scale` holds float32 low, float32 high and uint8
[outputs] c: row j stands for the weights

    code · low · (high / low)^(c_j / 255)        code from −127 to 127

The embedding has a row for each word; if the model is tied, the same rows score the next word. A vector (biases,
gains, shifts) is float16. E the embedding's size, H the hidden size, G groups, D the layer, S its input's size:

    embedding [V, E], output_bias [V]; not tied: output [V, H]
    gru, common    gruD/input [3H, S], gruD/recurrent [3H, H], gruD/input_bias, gruD/recurrent_bias [3H]
    gru, printed   gruD/update, gruD/reset, gruD/candidate [H, H + S]
    lstm           lstmD/input, lstmD/recurrent [gates · H, E / G] (rows by group, then gate, then unit),
                   lstmD/projection [E, H], lstmD/bias [gates · H], and with layer_norm gate_gain, gate_shift
                   [gates · H], cell_gain, cell_shift [H]
"""

from __future__ import annotations

import json
import mmap
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.base.sections import Format, Places, fitting, map_file
from tacit.text.vocabulary import SPECIALS, UNK, Vocabulary

MAGIC = b"TacitNN\n"
FORM = Format(MAGIC, 1, struct.Struct("<32sII"), "an 8-bit network", "export the run again")
RANGE = struct.Struct("<ff")
MOST = 127  # the greatest code
MOST_TEXT = 1 << 26  # bytes of all words, unpacked
MOST_SUM = 1e15  # a product of a matrix; its square, which a layer norm takes, is still a float32

_BLOCK = 1 << 16  # weights that are float32 at a time: they stay in the cache
_LONGEST = 1000  # words of a context, if the run had no limit

Float32s = NDArray[np.float32]


class Architecture(NamedTuple):
    """The architecture: the fields of tacit.models.ModelConfig that shape the weights."""

    kind: str
    embedding: int
    hidden: int
    layers: int
    tied: bool
    variant: str
    coupled: bool
    groups: int
    layer_norm: bool
    residual: bool

    @property
    def gates(self) -> int:
        """The number of gates of an LSTM: three if the forget gate is coupled."""
        return 3 if self.coupled else 4


class Matrix(NamedTuple):
    """Weights in 8 bits, a scale for each row."""

    codes: NDArray[np.int8]  # [outputs, inputs]
    scale: Float32s  # [outputs]

    def floats(self) -> Float32s:
        """The weights that the codes stand for, [outputs, inputs]."""
        return self.codes.astype(np.float32) * self.scale[:, None]


@dataclass(frozen=True)
class Network8:
    """An open file. `forward` computes with it."""

    facts: dict[str, Any]  # the section "meta"
    architecture: Architecture
    words: tuple[str, ...]  # [V], from id 3 on in the order of their bytes
    matrices: dict[str, Matrix]
    vectors: dict[str, Float32s]
    size: int  # bytes of the file

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The words with the file's ids."""
        return Vocabulary(self.words)

    @property
    def longest(self) -> int:
        """How many words of a context are read: the longest sequence of training."""
        return int(self.facts["max_words"]) or _LONGEST

    def id(self, word: str) -> int:
        """Returns the id of a word; that of `<unk>` if it is not in the vocabulary."""
        return self.vocabulary.index.get(word, UNK)


def times(matrix: Matrix, x: Float32s) -> Float32s:
    """Returns x [n, inputs] times the matrix, [n, outputs].

    >>> double = Matrix(np.array([[1, 2], [0, 4]], np.int8), np.array([0.5, 0.25], np.float32))
    >>> times(double, np.ones((1, 2), np.float32)).tolist()
    [[1.5, 1.0]]
    """
    rows, columns = matrix.codes.shape
    product = np.empty((len(x), rows), np.float32)
    step = max(1, _BLOCK // columns)
    for first in range(0, rows, step):
        block = matrix.codes[first : first + step].astype(np.float32)
        if len(x) == 1:
            np.matmul(block, x[0], out=product[0, first : first + step])
        else:
            product[:, first : first + step] = x @ block.T
    product *= matrix.scale
    return product


def shapes(a: Architecture, v: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Returns the name and shape of every weight; those with two sizes are matrices."""
    yield "embedding", (v, a.embedding)
    yield "output_bias", (v,)
    if not a.tied:
        yield "output", (v, a.hidden)
    for depth in range(a.layers):
        at, h = f"{a.kind}{depth}", a.hidden
        if a.kind == "lstm":
            for name in ("input", "recurrent"):
                yield f"{at}/{name}", (a.gates * h, a.embedding // a.groups)
            yield f"{at}/projection", (a.embedding, h)
            if a.coupled or not a.layer_norm:
                yield f"{at}/bias", (a.gates * h,)
            if a.layer_norm:
                yield from ((f"{at}/gate_{name}", (a.gates * h,)) for name in ("gain", "shift"))
                yield from ((f"{at}/cell_{name}", (h,)) for name in ("gain", "shift"))
            continue
        s = h if depth else a.embedding
        if a.variant == "printed":
            yield from ((f"{at}/{name}", (h, h + s)) for name in ("update", "reset", "candidate"))
        else:
            yield f"{at}/input", (3 * h, s)
            yield f"{at}/recurrent", (3 * h, h)
            yield f"{at}/input_bias", (3 * h,)
            yield f"{at}/recurrent_bias", (3 * h,)


def scales(low: float, high: float, codes: NDArray[np.uint8]) -> Float32s:
    """Returns the scale of each row from its code.

    >>> scales(0.5, 2.0, np.array([0, 255], np.uint8)).tolist()
    [0.5, 2.0]
    """
    return (low * (high / low) ** (codes.astype(np.float64) / 255)).astype(np.float32)


def open(path: Path, verify: bool = True) -> Network8:
    """Maps a file and checks that it is complete; `verify` checks every byte (about 1 ms per megabyte)."""
    data, sections = map_file(path, FORM, verify)
    with fitting(path, FORM):
        return _view(data, sections)


def _view(data: mmap.mmap, sections: Places) -> Network8:
    """Returns the arrays as views of the file; raises KeyError or ValueError if one is missing or of wrong length."""

    def array(name: str, kind: str, count: int, skip: int = 0) -> NDArray[Any]:
        offset, size = sections[name]
        view = np.frombuffer(data, np.dtype(kind), count, offset + skip)
        if size != skip + view.nbytes:
            raise ValueError(f"'{name}' has {size} bytes, not {skip + view.nbytes}")
        return view

    def text(name: str) -> bytes:
        return array(name, "u1", sections[name][1]).tobytes()

    facts = json.loads(text("meta").decode(), parse_float=_refused, parse_constant=_refused)
    a = _architecture(facts["model"])
    words = _words(text("words"), facts["vocabulary"], sections["embedding"][1] // a.embedding)
    longest = facts["max_words"]
    if facts["case"] not in ("lower", "keep") or type(longest) is not int or not 0 <= longest < 1 << 31:
        raise ValueError("its 'case' or 'max_words' is not valid")
    matrices: dict[str, Matrix] = {}
    vectors: dict[str, Float32s] = {}
    for name, shape in shapes(a, facts["vocabulary"]):
        if len(shape) == 1:
            vectors[name] = array(name, "<f2", shape[0]).astype(np.float32)
            if not np.isfinite(vectors[name]).all():
                raise ValueError(f"'{name}' has numbers that are not finite")
            continue
        codes = array(name, "i1", shape[0] * shape[1]).reshape(shape)
        low, high = RANGE.unpack_from(data, sections[f"{name}.scale"][0])
        if not 0 < low <= high < np.inf:
            raise ValueError(f"the scales of '{name}' go from {low} to {high}")
        matrices[name] = Matrix(codes, scales(low, high, array(f"{name}.scale", "u1", shape[0], RANGE.size)))
    _check_sums(a, matrices)
    return Network8(facts, a, (*SPECIALS, *words), matrices, vectors, len(data))


def _check_sums(a: Architecture, matrices: dict[str, Matrix]) -> None:
    """Refuses scales so large that a product might overflow, which would give NaN for probabilities.

    A product is at most its number of columns times its largest weight times its largest input. The input is a word's
    embedding, or a state, which is at most 1, or the projection of a state in an LSTM; residual layers add up theirs.
    """

    def largest(name: str) -> float:
        return 128 * float(matrices[name].scale.max())

    projections = [
        a.hidden * largest(f"lstm{depth}/projection") for depth in range(a.layers) if a.kind == "lstm"
    ]
    inputs = a.layers + largest("embedding") + sum(projections)
    for name, matrix in matrices.items():
        if not matrix.codes.shape[1] * largest(name) * inputs <= MOST_SUM:
            raise ValueError(f"the scales of '{name}' are so large that probabilities may be no numbers")


def _words(packed: bytes, vocabulary: int, rows: int) -> list[str]:
    """Returns the words from id 3 on; the unpacked size is bounded, so a malicious section cannot fill the memory."""
    unpack = zlib.decompressobj()
    text = unpack.decompress(packed, MOST_TEXT)
    if not unpack.eof or unpack.unused_data:
        raise ValueError("its words are truncated, or too long")
    if not len(SPECIALS) < vocabulary == rows == text.count(b"\n") + len(SPECIALS):
        raise ValueError("its number of words does not match 'vocabulary'")
    keys = text.split(b"\n")
    if keys.pop() or not keys[0] or any(one >= other for one, other in pairwise(keys)):
        raise ValueError("its words are not in order")
    return [key.decode() for key in keys]


def _refused(number: str) -> float:
    raise ValueError(f"the number {number} is not whole")


def _architecture(table: dict[str, Any]) -> Architecture:
    """Returns the architecture of a file; refuses an impossible one."""
    a = Architecture(**{name: table[name] for name in Architecture._fields})
    sizes = (a.embedding, a.hidden, a.layers, a.groups)
    if not all(type(n) is int and n > 0 for n in sizes) or a.embedding % a.groups or a.hidden % a.groups:
        raise ValueError(f"sizes {sizes} make no network")
    if (a.kind, a.variant) not in (("gru", "common"), ("gru", "printed"), ("lstm", "common")):
        raise ValueError(f"no network of kind '{a.kind}', variant '{a.variant}'")
    if not all(type(x) is bool for x in (a.tied, a.coupled, a.layer_norm, a.residual)):
        raise ValueError("an option is neither true nor false")
    features = a.hidden if a.kind == "gru" else a.embedding
    if features != (a.embedding if a.tied else a.hidden):
        raise ValueError(f"the last layer gives {features} numbers, which do not fit the output")
    return a
