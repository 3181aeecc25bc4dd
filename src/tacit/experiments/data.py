"""Reads the labelled public datasets (MNIST, SMS Spam Collection), and generates small stand-ins.

Names and paths are those of `tacit data list`: DIR/mnist/train-images-idx3-ubyte.gz and so on, plain or gzipped, under
the directory given by `--data`. Stand-ins are generated from a seed, so that quick runs and tests need no data.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tacit.base.errors import TacitError
from tacit.base.randomness import generator, stream
from tacit.text import catalogue
from tacit.text.catalogue import opened

_DIGITS, _SPAM = stream("stand-in digits"), stream("stand-in spam")


class Points(NamedTuple):
    """Feature vectors with class labels."""

    x: np.ndarray  # [n, features] float32, or uint8 pixels
    y: np.ndarray  # [n] int32


class Sets(NamedTuple):
    """A training set and a test set."""

    train: Points
    test: Points


class LabelledTexts(NamedTuple):
    """Messages with class labels: 1 is spam."""

    texts: list[str]
    y: np.ndarray  # [n] int32


def locate(name: str, data: Path | None) -> Path:
    """Returns the path of a known dataset under the data directory; if it is missing, the error says how to get it."""
    entry, root = catalogue.find(name), catalogue.data_directory(data)
    path = catalogue.locate(entry, root)
    if path is None:
        files = ", ".join(f.name for f in entry.files)
        raise TacitError(
            f"'{name}' is not in {root}; get it from {entry.source} ({entry.path}), put {files} (or each with .gz) "
            f"into {root / entry.folder}, or name another directory with --data"
        )
    return path


def read_idx(path: Path) -> np.ndarray:
    """Reads an array of bytes in LeCun's idx format: 0 0 8 d, then d sizes of 4 bytes, then the bytes."""
    with opened(path) as file:
        try:
            raw = file.read()
        except (OSError, EOFError) as error:
            raise TacitError(f"{path}: damaged gzip ({error}); fetch it again") from None
    if len(raw) < 4 or raw[:3] != b"\0\0\x08":
        raise TacitError(f"{path}: not an idx file of bytes (it should begin with 0 0 8); fetch it again")
    rank = raw[3]
    shape = tuple(int.from_bytes(raw[4 + 4 * i : 8 + 4 * i], "big") for i in range(rank))
    body = raw[4 + 4 * rank :]
    if len(body) != int(np.prod(shape)):
        raise TacitError(
            f"{path}: {len(body)} bytes after the header, expected {int(np.prod(shape))}; fetch it again"
        )
    return np.frombuffer(body, np.uint8).reshape(shape)


def mnist(data: Path | None) -> Sets:
    """Reads the 60,000 training and 10,000 test digits, as rows of 784 bytes."""
    folder = locate("mnist", data)

    def part(name: str) -> Points:
        x, y = (_one(folder, f"{name}-{what}") for what in ("images-idx3-ubyte", "labels-idx1-ubyte"))
        if len(x) != len(y):
            raise TacitError(f"{folder}: {len(x)} {name} images but {len(y)} labels; fetch both again")
        return Points(x.reshape(len(x), -1), y.astype(np.int32))

    return Sets(part("train"), part("t10k"))


def _one(folder: Path, name: str) -> np.ndarray:
    plain = folder / name
    return read_idx(plain if plain.is_file() else folder / f"{name}.gz")


def spam(data: Path | None) -> LabelledTexts:
    """Reads the SMS Spam Collection: lines of `ham` or `spam`, a tab, the message."""
    path = locate("sms-spam", data)
    texts, y = [], []
    with opened(path) as file:
        for number, line in enumerate(io.TextIOWrapper(file, "utf-8", "replace"), start=1):
            label, tab, text = line.rstrip("\r\n").partition("\t")
            if not line.strip():
                continue
            if label not in ("ham", "spam") or not tab:
                raise TacitError(f"{path}, line {number}: expected 'ham' or 'spam', a tab and a message")
            texts.append(text)
            y.append(label == "spam")
    return LabelledTexts(texts, np.array(y, np.int32))


def toy_digits(train: int, test: int, seed: int = 0) -> Sets:
    """Generates ten coarse patterns of 28 × 28 bytes with noise: as easy to classify as digits."""
    draw = generator(seed, _DIGITS)
    coarse = draw.random((10, 7, 7)) ** 3
    patterns = np.kron(coarse, np.ones((4, 4))).reshape(10, 784)

    def sample(n: int) -> Points:
        y = draw.integers(0, 10, n).astype(np.int32)
        x = 255 * np.clip(patterns[y] * draw.uniform(0.5, 1, (n, 1)) + draw.normal(0, 0.3, (n, 784)), 0, 1)
        return Points(x.astype(np.uint8), y)

    return Sets(sample(train), sample(test))


def toy_spam(n: int, seed: int = 0) -> LabelledTexts:
    """Generates messages whose words are more frequent in one class than in the other."""
    draw = generator(seed, _SPAM)
    y = (draw.random(n) < 0.25).astype(np.int32)
    words = np.array([f"word{i}" for i in range(60)])
    odds = np.stack([np.linspace(1, 3, 60), np.linspace(3, 1, 60)])
    odds /= odds.sum(1, keepdims=True)
    texts = [" ".join(draw.choice(words, 8, p=odds[label])) for label in y]
    return LabelledTexts(texts, y)
