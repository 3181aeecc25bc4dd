"""Checkpoints: damaged bytes; and whole ones, with a sum that fits, whose content is wrong."""

from __future__ import annotations

import json
import random
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import jax
import numpy as np
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from fuzz import mutate
from fuzz.box import Box, untouched
from fuzz.categories import Category
from fuzz.material import Material
from fuzz.models import ask
from fuzz.trial import Ending, refusable
from tacit import runs
from tacit.runs import checkpoints, directory
from tacit.runs.training import make_trainer

_FILES = ("checkpoints/last.safetensors", "checkpoints/best.safetensors")


def _whole(draw: random.Random, good: bytes) -> bytes:
    """Returns a checkpoint with a sum that fits and facts or weights that do not."""
    tensors, facts = dict(load_tensors(good)), dict(checkpoints.facts_in(good))
    facts.pop("sha256", None)
    for _ in range(draw.choice((1, 1, 2))):
        if draw.random() < 0.6:
            key = draw.choice([*facts, "round", "best_round", "best_value", "part", "words"])
            if draw.random() < 0.25:
                facts.pop(key, None)
            else:
                awkward = (
                    mutate.number(draw),
                    mutate.text(draw),
                    mutate.value(draw),
                    "-1",
                    "10**6",
                    -3,
                    None,
                )
                facts[key] = draw.choice(awkward)
        else:
            name = draw.choice(sorted(tensors))
            tensors[name] = _array(draw, tensors[name])
    try:
        facts["sha256"] = checkpoints._digest(tensors, facts)
        return save_tensors(tensors, {"tacit": json.dumps(facts, sort_keys=True)})
    except (ValueError, TypeError, KeyError):  # such a file cannot be written
        return good[: draw.randrange(len(good))]


def _array(draw: random.Random, array: np.ndarray) -> np.ndarray:
    match draw.randrange(6):
        case 0:
            return np.full(array.shape, draw.choice((np.nan, np.inf, -np.inf, 3e38, 1e-45, 0)), np.float32)
        case 1:
            return array.astype(draw.choice((np.float64, np.float16, np.int64, np.uint8, np.bool_)))
        case 2:
            return array[..., :0]
        case 3:
            return array.ravel()
        case 4:
            return np.zeros((), np.float32)
        case _:
            return array * np.asarray(-1, array.dtype) if array.dtype.kind in "fi" else array


@cache
def _state(good: Path) -> Any:
    """Returns the shapes of a run's model and optimiser: the same for every damaged copy of it."""
    run = runs.load(good)
    trainer = make_trainer(run.config, run.model, run.prepare())
    return jax.tree.map(np.zeros_like, jax.device_get(trainer.init(jax.random.key(0))))


def trial(draw: random.Random, box: Box, material: Material, number: int) -> Ending:
    path = box.work / "run"
    shutil.copytree(material.run, path)
    personal = sorted((path / "personal" / "models").glob("*"))[:1]
    file = draw.choice((*(path / name for name in _FILES), *personal))
    good = file.read_bytes()
    content = _whole(draw, good) if draw.random() < 0.7 else mutate.data(draw, good)
    file.write_bytes(content)

    state = _state(material.run)

    def use() -> None:
        if file in personal:
            ask(path, file.stem)
        elif file.name.startswith("last"):  # as `train --resume` reads it
            directory.read_last(path, runs.read_config(path).training, state)
        else:
            ask(path)

    ours = (path,) if file.name.startswith("last") else ()  # resuming cuts the logs to the checkpoint
    with untouched(box, ours):
        return refusable(use)


CATEGORY = Category(
    "damaged checkpoints, and whole ones with wrong content",
    trial,
    600,
    plain=lambda box, m: ask(m.run),
)
