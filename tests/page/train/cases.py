"""Local training as Python's client does it, written to files that JavaScript reads: a task and its answer."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from tacit.federated.local import Broadcast, Reply
from tacit.models import language_model
from tacit.models.base import tree_names
from tacit.network.tasks import train
from tacit.network.work import named
from tacit.runs.config import Config
from tacit.text.packed import Packed, pack


class Case(NamedTuple):
    """A task as a server sends it to client `number` in round `round`."""

    config: Config
    text: Packed  # of this client alone
    vocabulary: int
    params: Any
    carried: list[Any]
    number: int
    round: int
    lr: float


def tables(config: Config) -> dict[str, Any]:
    """The tables of a configuration that a page needs, with keys as in TOML."""
    client = dataclasses.asdict(config.client)
    rule = dataclasses.asdict(config.aggregation)
    privacy = dataclasses.asdict(config.privacy)
    return {
        "seed": config.seed,
        "model": dataclasses.asdict(config.model),
        "client": client | dict(client.pop("settings")),
        "sampling": {"weight": config.sampling.weight},
        "aggregation": rule | dict(rule.pop("settings")),
        "privacy": privacy,
    }


def sentences(count: int, vocabulary: int, seed: int, longest: int = 9) -> Packed:
    """One person's sentences of random words, of random lengths; the empty sentence is among them."""
    draw = np.random.default_rng(seed)
    lines = [
        np.concatenate([[0], draw.integers(2, vocabulary, draw.integers(0, longest + 1)), [1]])
        for _ in range(count)
    ]
    return pack([lines], ["a"])


def case(
    config: Config, text: Packed, vocabulary: int, *, number: int = 3, round_: int = 2, moments: float = 0.0
) -> Case:
    """A task with weights of some size, so that no gradient is near 0, and moments of a run that has gone on."""
    model = language_model(config.model, vocabulary)
    draw = np.random.default_rng(11)
    params = jax.tree.map(
        lambda w: jnp.asarray(w + draw.normal(0, 0.05, w.shape), jnp.float32), model.init(jax.random.key(5))
    )
    ready = train._compiled(config, text, model, 20, 10)
    carried = []
    for shape in jax.tree.leaves(ready.sent.carried):
        value = 7.0 if shape.shape == () else moments * draw.uniform(0.5, 1.5, shape.shape)
        carried.append(jnp.asarray(value, jnp.float32))
    return Case(config, text, vocabulary, params, carried, number, round_, config.client.lr)


def client_of(config: Config, text: Packed, vocabulary: int) -> Callable[[Case], Reply]:
    """Python's client with this text, compiled: what it sends for a task."""
    ready = train._compiled(config, text, language_model(config.model, vocabulary), 20, 10)
    clip = () if isinstance(ready.sent.clip, tuple) else jnp.float32(config.privacy.clip)

    def run(case: Case) -> Reply:
        sent = Broadcast(case.params, case.carried or ready.sent.carried, clip)
        return jax.device_get(ready.train(sent, case.number, case.round, case.lr))

    return run


def trained(case: Case) -> Reply:
    """What Python's client sends."""
    return client_of(case.config, case.text, case.vocabulary)(case)


def write(folder: Path, name: str, case: Case, reply: Reply) -> None:
    """Writes NAME.json and NAME.bin (float32, one array after the other)."""
    arrays = {
        f"params/{n}": leaf
        for n, leaf in zip(tree_names(case.params), jax.tree.leaves(case.params), strict=True)
    }
    arrays |= {f"carried/{i}": leaf for i, leaf in enumerate(case.carried)}
    arrays |= named("reply", reply)
    text = case.text
    lines = [text.tokens[a:b].tolist() for a, b in zip(text.offsets[:-1], text.offsets[1:], strict=True)]
    task = {
        "config": tables(case.config),
        "vocabulary": case.vocabulary,
        "number": case.number,
        "round": case.round,
        "lr": case.lr,
        "sentences": lines,
        "arrays": _written(folder / f"{name}.bin", arrays),
    }
    (folder / f"{name}.json").write_text(json.dumps(task), "utf-8")


def _written(path: Path, arrays: Mapping[str, Any]) -> list[list[Any]]:
    listed, at = list[list[Any]](), 0
    with path.open("wb") as file:
        for name, array in arrays.items():
            data = np.asarray(array, "<f4")
            file.write(data.tobytes())
            listed.append([name, list(data.shape), at])
            at += data.size
    return listed
