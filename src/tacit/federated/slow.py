"""The slow executor: trains a cohort one client, one step at a time, in plain loops.

The fast executors are tested against it. It does what `local` and `executors` do in the most obvious way, keeps a
client's weights in numpy's float64, and draws the papers' β-noise with separate code from the same keys. Messages come
from the rule and are added at the end. `training.executor = "slow"` runs it.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tacit.federated.aggregation import Aggregation, ClientMessage, total
from tacit.federated.executors import CohortTraining
from tacit.federated.local import ClientConfig, Cohort, Report
from tacit.federated.objective import Loss
from tacit.models.base import Params


def slow_training(loss: Loss, client: ClientConfig, rule: Aggregation, noise: float) -> CohortTraining:
    """Returns the same function as `executors.cohort_training`, written as plain loops."""
    gradient = jax.value_and_grad(loss, has_aux=True)

    def one_client(
        start: Params, batches: list[Any], lr: float, scale: float, key: Array
    ) -> tuple[Params, float, int]:
        w, velocity = jax.tree.map(_float64, start), None
        losses, words = 0.0, 0
        for i, batch in enumerate(batches):
            (value, count), g = gradient(jax.tree.map(jnp.float32, w), batch, jax.random.fold_in(key, i))
            losses, words = losses + float(value), words + int(count)
            g = jax.tree.map(lambda a: scale * _float64(a), g)
            if client.prox:
                g = jax.tree.map(lambda a, x, x0: a + client.prox * (x - _float64(x0)), g, w, start)
            if client.clip:
                length = np.sqrt(sum(np.sum(a**2) for a in jax.tree.leaves(g)))
                g = jax.tree.map(lambda a, n=length: a * min(1.0, client.clip / max(n, 1e-12)), g)
            if client.momentum:
                velocity = (
                    g if velocity is None else jax.tree.map(lambda v, a: client.momentum * v + a, velocity, g)
                )
                g = velocity
            w = jax.tree.map(lambda x, a: x - lr * a, w, g)
        delta = jax.tree.map(lambda x, x0: jnp.float32(x - _float64(x0)), w, start)
        return delta, losses, words

    def train(params: Params, cohort: Cohort, lr: Array, key: Array) -> tuple[ClientMessage, Report]:
        messages = []
        for c in range(len(cohort.ids)):
            if not cohort.present[c]:
                continue
            client_key = jax.random.fold_in(key, int(cohort.ids[c]))
            steps = int(cohort.steps[c])
            batches = [
                jax.tree.map(lambda a, c=c, i=i: jnp.asarray(a[c][i]), cohort.batches) for i in range(steps)
            ]
            delta, losses, words = one_client(params, batches, float(lr), float(cohort.scale[c]), client_key)
            if noise:
                delta = _with_noise(delta, noise, client_key)
            norm = jnp.float32(np.sqrt(sum(np.sum(_float64(a) ** 2) for a in jax.tree.leaves(delta))))
            report = Report(jnp.float32(losses), jnp.int32(steps), jnp.int32(words), jnp.int32(1), norm)
            message = rule.client_message(params, delta, jnp.float32(cohort.weight[c]), report.steps)
            messages.append((message, report))
        if not messages:
            raise ValueError("no client of the cohort reported")
        return total(jax.tree.map(lambda *leaves: jnp.stack(leaves), *messages))

    return train


def _with_noise(delta: Params, noise: float, client_key: Array) -> Params:
    """Returns the update plus β times a standard normal draw; each array has its own key, split from the client's last.

    A step i draws with `fold_in(key, i)`; 2³¹ − 1 is the last such number, which no step reaches.
    """
    arrays, structure = jax.tree.flatten(delta)
    keys = jax.random.split(jax.random.fold_in(client_key, 2147483647), len(arrays))
    noisy = []
    for i, array in enumerate(arrays):
        drawn = jax.random.normal(keys[i], array.shape, jnp.float32)
        noisy.append(jnp.float32(_float64(array) + noise * _float64(drawn)))
    return jax.tree.unflatten(structure, noisy)


def _float64(x: Any) -> np.ndarray:
    return np.asarray(x, np.float64)
