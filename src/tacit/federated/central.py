"""The central baseline: the same model trained on everybody's text in one place.

It shows what federated training loses by leaving text on devices. A round is a number of optimiser steps (one pass over
the text by default), so that both kinds of run have the same form.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from tacit.base.errors import TacitError
from tacit.base.randomness import generator, stream
from tacit.base.settings import Schedule, number
from tacit.federated import hosts, trees
from tacit.federated.algorithm import ServerState, Trainer, require_finite, round_key
from tacit.federated.objective import Loss
from tacit.federated.schedules import rate
from tacit.models.base import Params
from tacit.text.packed import Packed, Rows, batch_rows, bucket

_SHUFFLE = stream("central shuffle")


@dataclass(frozen=True)
class CentralConfig:
    """Training on pooled text: the table [central] of a configuration."""

    optimiser: Literal["sgd", "adam"] = "adam"
    lr: float = number(0.003, 0)
    batch: int = number(50, 1, 1_000_000, "a batch is in memory")
    steps: int = number(0, 0)  # steps a round; 0: one pass over the text
    clip: float = number(1.0, 0)  # norm to which a gradient is clipped; 0: not at all
    decay: float = number(0.0, 0, 1)  # decoupled weight decay: a step also subtracts lr·decay·w
    schedule: Schedule = "constant"
    warmup: int = number(0, 0)


def batches(text: Packed, config: CentralConfig, seed: int, t: int) -> Rows:
    """Returns the batches of round t, [steps, rows, time]: passes over all sentences, each in a new order."""
    sentences = len(text.offsets) - 1
    per_pass = -(-sentences // config.batch)
    steps = config.steps or per_pass
    chosen = np.full((steps, config.batch), -1, np.int64)
    order: tuple[int, np.ndarray] = (-1, np.zeros(0, np.int64))
    for step in range(steps):
        epoch, place = divmod(t * steps + step, per_pass)
        if order[0] != epoch:
            order = (epoch, generator(seed, _SHUFFLE, epoch).permutation(sentences))
        batch = order[1][place * config.batch : (place + 1) * config.batch]
        chosen[step, : len(batch)] = batch
    rows, _ = batch_rows(text, chosen, time=bucket(int(text.lengths.max(initial=1))))
    return rows


def central(
    init: Callable[[Array], Params], loss: Loss, text: Packed, config: CentralConfig, seed: int, rounds: int
) -> Trainer:
    """Returns central training as a trainer; it runs on one device, so in one process."""
    if hosts.together():
        raise TacitError("training.mode = 'central' is for one process; leave out --coordinator")
    optimiser = optax.chain(
        optax.clip_by_global_norm(config.clip) if config.clip else optax.identity(),
        optax.scale_by_adam() if config.optimiser == "adam" else optax.identity(),
        optax.add_decayed_weights(config.decay) if config.decay else optax.identity(),
        optax.scale(-config.lr),
    )
    gradient = jax.value_and_grad(loss, has_aux=True)

    @jax.jit
    def run(state: ServerState, rows: Rows, factor: Array, key: Array) -> tuple[ServerState, Array, Array]:
        def step(
            carry: tuple[Params, Any], at: tuple[Array, Rows]
        ) -> tuple[tuple[Params, Any], tuple[Array, Array]]:
            params, kept = carry
            (value, count), g = gradient(params, at[1], jax.random.fold_in(key, at[0]))
            moved, kept = optimiser.update(g, kept, params)
            return (trees.add(params, trees.scale(factor, moved)), kept), (value * count, count)

        steps = jnp.arange(rows.inputs.shape[0])
        (params, kept), (values, counts) = jax.lax.scan(step, (state.params, state.optimiser), (steps, rows))
        return ServerState(params, kept), values.sum() / jnp.maximum(counts.sum(), 1), counts.sum()

    def start(key: Array) -> ServerState:
        params = init(key)
        return ServerState(params, optimiser.init(params))

    def round_(state: ServerState, t: int) -> tuple[ServerState, dict[str, float]]:
        rows = batches(text, config, seed, t)
        factor = rate(config.schedule, config.warmup, t, rounds)
        state, value, words = run(state, rows, jnp.float32(factor), round_key(seed, t))
        finite = np.isfinite(float(value)) and bool(trees.finite(state.params))
        require_finite(t, finite, f"lower central.lr ({config.lr:g})")
        return state, {
            "loss": float(value),
            "steps": len(rows.inputs),
            "words": int(words),
            "lr": config.lr * factor,
        }

    return Trainer(start, round_)
