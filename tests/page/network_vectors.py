"""Networks of every kind, what Python says of them, and damaged copies with Python's verdict, for JavaScript."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from fuzz.categories.network8 import damaged
from fuzz.models import sealed

from file_models import kneser, vocabulary
from tacit.base.errors import TacitError
from tacit.base.sections import map_file
from tacit.lm.network8 import forward, reader, writer
from tacit.models import ModelConfig, language_model
from tacit.ngram.compact import writer as ngrams

KINDS = {
    "gru": ModelConfig(hidden=16, embedding=16),
    "gru printed, 2 layers": ModelConfig(hidden=12, embedding=12, variant="printed", layers=2),
    "gru untied, residual": ModelConfig(hidden=10, embedding=14, tied=False, layers=3, residual=True),
    "lstm": ModelConfig(kind="lstm", hidden=20, embedding=12),
    "lstm normalised": ModelConfig(
        kind="lstm", hidden=18, embedding=12, layer_norm=True, layers=2, residual=True
    ),
    "lstm own forget gate": ModelConfig(kind="lstm", hidden=20, embedding=12, coupled=False, layer_norm=True),
    "lstm groups": ModelConfig(kind="lstm", hidden=20, embedding=10, coupled=False, groups=5, layers=2),
}
SIZE, LONGEST = 40, 6


def network(path: Path, config: ModelConfig, max_words: int) -> Path:
    """A network with random weights; biases and gains are not 0 and 1."""
    import jax

    draw = np.random.default_rng(1)
    shapes = jax.eval_shape(language_model(config, SIZE).init, jax.random.key(1))
    params = jax.tree.map(lambda x: draw.normal(0.1, 0.4, x.shape).astype(np.float32), shapes)
    writer.write(path, vocabulary(SIZE), config, params, name="test", max_words=max_words)
    return path


def answers(file: Path, count: int, longest: int) -> dict[str, Any]:
    """Contexts of any words, some longer than the network reads, and log p of all words after them."""
    stored, draw = reader.open(file), np.random.default_rng(2)
    words = [*stored.words[3:], "no such word", "<s>"]
    contexts = [
        [words[i] for i in draw.integers(0, len(words), draw.integers(0, longest))] for _ in range(count)
    ]
    found = [[c, forward.log_probs(stored, forward.state_after(stored, c))[0].tolist()] for c in contexts]
    return {"file": str(file), "words": stored.words[3:], "longest": stored.longest, "answers": found}


def awkward(good: Path) -> Iterator[bytes]:
    """Copies with scales and biases that are no scales and biases, each with a checksum that fits."""
    data, places = map_file(good, reader.FORM)
    for name, (start, _) in places.items():
        if name.endswith(".scale"):
            for scales in (
                (2.0, 1.0),
                (0.0, 1.0),
                (-1.0, 1.0),
                (1.0, np.inf),
                (np.nan, 1.0),
                (1.0, 1.0),
                (1e30, 1e38),
            ):
                yield sealed(data[:start] + struct.pack("<ff", *scales) + data[start + 8 :])
        elif name.endswith("bias"):
            for half in (np.inf, -np.inf, np.nan, 65504, -0.0, 6e-8):
                yield sealed(data[:start] + np.array(half, "<f2").tobytes() + data[start + 2 :])


def verdicts(good: Path, copy: Path, count: int) -> list[Any]:
    """Damaged copies as the bytes that differ, and what Python says: "" if it reads them."""
    data, draw, found = good.read_bytes(), random.Random(3), []
    for changed in chain(awkward(good), (damaged(draw, data) for _ in range(count))):
        if len(changed) != len(data):
            continue
        copy.write_bytes(changed)
        try:
            reader.open(copy)
            told = ""
        except TacitError as error:
            told = str(error)
        found.append([[[i, b] for i, (a, b) in enumerate(zip(data, changed, strict=True)) if a != b], told])
    return found


def write(folder: Path, trained: Path) -> Path:
    """The file that network.mjs reads; `trained` is the 8-bit network of a run."""
    kinds = []
    for i, (name, config) in enumerate(KINDS.items()):
        file = network(folder / f"network-{i}.tacit", config, LONGEST)
        kinds.append({"name": name, **answers(file, 25, 2 * LONGEST)})
    kinds.append({"name": "a trained run", **answers(trained, 20, 8)})
    plain = network(folder / "plain.tacit", ModelConfig(hidden=8, embedding=8), 30)
    same, other = folder / "same.tacit", folder / "other.tacit"
    ngrams.write(same, vocabulary(SIZE), kneser(3, SIZE), name="the same words")
    ngrams.write(other, vocabulary(SIZE - 1), kneser(3, SIZE - 1), name="other words")
    made = {
        "kinds": kinds,
        "plain": str(plain),
        "changes": verdicts(plain, folder / "copy.tacit", 500),
        "mixed": {"file": str(same), "other": str(other)},
    }
    path = folder / "networks.json"
    path.write_text(json.dumps(made), "utf-8")
    return path
