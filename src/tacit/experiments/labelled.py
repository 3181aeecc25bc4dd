"""Trains classifiers federatedly, with cohorts of labelled points in the federation that trains text.

A batch has its points and a pace, a factor on the step, so the rate can change within a round, like η_t = 2/(μ(γ + t))
in paper 5's section 5.4. Work is divided into epochs of batches (`client.epochs`, as in McMahan et al.) or into E steps
on batches drawn with replacement (`steps`, as in the theory).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from tacit.base.errors import Diverged
from tacit.base.randomness import stream, uniform
from tacit.experiments.data import Points
from tacit.experiments.synthetic import Devices
from tacit.federated import trees
from tacit.federated.algorithm import Algorithm, Trainer
from tacit.federated.batching import order_of_work
from tacit.federated.local import Cohort
from tacit.federated.objective import Labelled, Loss, classification_loss
from tacit.federated.rounds import federation
from tacit.federated.sampling import choose, chosen_cohort, cohort_size
from tacit.models.base import Params
from tacit.models.images import Classifier

_DRAW = stream("points with replacement")
_CHUNK = 500  # points of one batch of an evaluation


class Batch(NamedTuple):
    """Holds the points of one step, and a factor on the step."""

    x: Any  # [..., batch, features]
    y: Any  # [..., batch] int32, −1 where absent
    pace: Any  # [...] float32, factor on the learning rate


Pace = Callable[[int, np.ndarray], np.ndarray]  # (round, steps [n]) → factors [n]


def steady(t: int, step: np.ndarray) -> np.ndarray:
    """Returns the pace of the configured rate at every step."""
    return np.ones(len(step))


def pixels(x: Array) -> Array:
    """Returns features as numbers: bytes are pixels and become 0 … 1."""
    return x.astype(jnp.float32) / 255 if x.dtype == jnp.uint8 else x


def objective(model: Classifier, ridge: float = 0.0) -> Loss:
    """Returns the cross-entropy plus ridge/2 ‖w‖², times the pace."""
    plain = classification_loss(model)

    def loss(params: Params, batch: Batch, key: Array | None) -> tuple[Array, Array]:
        value, count = plain(params, Labelled(pixels(batch.x), batch.y), key)
        if ridge:
            value = value + ridge / 2 * trees.dot(params, params)
        return batch.pace * value, count

    return loss


def cohort(
    devices: Devices, algorithm: Algorithm, seed: int, t: int, steps: int = 0, pace: Pace = steady
) -> Cohort:
    """Returns the clients of round t with their batches, on the host."""
    sizes, client = devices.sizes, algorithm.client
    chosen = choose(algorithm.sampling, sizes, seed, t, algorithm.privacy.separation)
    ids, mine = chosen.ids, sizes[chosen.ids]
    if not steps:
        schedule, made = order_of_work(mine, ids, client, seed, t)
    elif client.batch:
        slots = np.arange(steps * client.batch).reshape(1, steps, client.batch)
        drawn = uniform(seed, _DRAW, t, ids[:, None, None], slots)  # [clients, steps, batch]
        schedule, made = (drawn * mine[:, None, None]).astype(np.int64), np.full(len(ids), steps, np.int32)
    else:  # every step on all that a client holds
        every = np.arange(int(mine.max()))
        schedule = np.where(every < mine[:, None, None], every, -1).repeat(steps, axis=1)
        made = np.full(len(ids), steps, np.int32)
    real = schedule >= 0
    places = np.where(real, schedule + devices.held.offsets[ids][:, None, None], 0)
    points = devices.held.order[places]
    factors = np.broadcast_to(pace(t, np.arange(schedule.shape[1])), schedule.shape[:2])
    batches = Batch(
        devices.points.x[points],
        np.where(real, devices.points.y[points], -1).astype(np.int32),
        factors.astype(np.float32),
    )
    return chosen_cohort(chosen, batches, made)


def train(
    model: Classifier,
    algorithm: Algorithm,
    devices: Devices,
    seed: int,
    rounds: int,
    steps: int = 0,
    pace: Pace = steady,
    ridge: float = 0.0,
) -> Trainer:
    """Returns the federated training of a classifier, round by round."""
    cohort_size(algorithm.sampling, len(devices.sizes))  # refuses a cohort larger than the population
    return federation(
        model.init,
        objective(model, ridge),
        algorithm,
        lambda t: cohort(devices, algorithm, seed, t, steps, pace),
        seed,
        rounds,
        population=len(devices.sizes),
    )


class Followed(NamedTuple):
    """Holds what was measured of a run while it trained."""

    seen: list[Any]  # what `look` said after each round, from before the first
    diverged: bool


def follow(
    trainer: Trainer,
    seed: int,
    rounds: int,
    look: Callable[[Params], Any],
    enough: Callable[[Any], bool] = lambda seen: False,
    say: Callable[[str], None] = lambda words: None,
    every: int = 1,
) -> Followed:
    """Makes rounds and measures after each (or every few); ends at the target, or when training diverges."""
    state = trainer.init(jax.random.key(seed))
    seen = [look(state.params)]
    for t in range(rounds):
        try:
            state, _ = trainer.round(state, t)
        except Diverged:
            return Followed(seen, True)
        say(f"round {t + 1}/{rounds}")
        if (t + 1) % every:
            continue
        seen.append(look(state.params))
        if enough(seen[-1]):
            break
    return Followed(seen, False)


def judge(model: Classifier, points: Points) -> Callable[[Params], tuple[float, float]]:
    """Returns a compiled function from a model to its mean cross-entropy and its accuracy on these points."""
    n = len(points.y)
    chunks = -(-n // _CHUNK)
    x = np.zeros((chunks * _CHUNK, points.x.shape[1]), points.x.dtype)
    y = np.full(chunks * _CHUNK, -1, np.int32)
    x[:n], y[:n] = points.x, points.y
    first = jax.local_devices()[0]  # a small program: one device is enough
    shaped = jax.device_put((x.reshape(chunks, _CHUNK, -1), y.reshape(chunks, _CHUNK)), first)

    @jax.jit
    def sums(params: Params, x: Array, y: Array) -> Array:
        def one(at: tuple[Array, Array]) -> Array:
            logits, real = model.apply(params, pixels(at[0])), at[1] >= 0
            losses = optax.softmax_cross_entropy_with_integer_labels(logits, jnp.maximum(at[1], 0))
            hits = (jnp.argmax(logits, -1) == at[1]) & real
            return jnp.stack([jnp.where(real, losses, 0).sum(), hits.sum()])

        return jax.lax.map(one, (x, y)).sum(0)

    def look(params: Params) -> tuple[float, float]:
        total = np.asarray(sums(jax.device_put(params, first), *shaped), np.float64)
        return float(total[0] / n), float(total[1] / n)

    return look


def first_at(values: list[float], target: float, rising: bool) -> int | None:
    """Returns the first round (0: before training) at which a curve has reached its target.

    >>> first_at([0.1, 0.9, 0.8], 0.85, rising=True), first_at([2.0, 1.5], 1.0, rising=False)
    (1, None)
    """
    for t, value in enumerate(values):
        if (value >= target) if rising else (value <= target):
            return t
    return None
