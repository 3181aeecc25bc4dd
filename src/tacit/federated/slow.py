"""The slow executor: trains a cohort one client, one step at a time, in plain loops.

The fast executors are tested against it. It does what `local` and `executors` do in the most obvious way, with a
client's weights in numpy's float64. It has its own code for SGD, Adam, the clip of a private client and the papers'
β-noise, which it draws from the same keys. Messages come from the rule and are added at the end.
`training.executor = "slow"` runs it.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tacit.federated.aggregation import Aggregation, neutral, total
from tacit.federated.client_config import ClientConfig
from tacit.federated.client_optimisers import AdamState, client_optimiser, settled
from tacit.federated.executors import CohortReplies, CohortTraining, Replies
from tacit.federated.local import Broadcast, Cohort, Reply, Report, Sending
from tacit.federated.objective import Loss
from tacit.federated.private import Parts, Private, private_form
from tacit.models.base import Params


def slow_training(
    loss: Loss,
    client: ClientConfig,
    sending: Sending,
) -> CohortTraining:
    """Returns the same function as `executors.cohort_training`, written as plain loops."""
    collect = slow_replies(loss, client, sending)

    def train(sent: Broadcast, cohort: Cohort, lr: Array, key: Array) -> Reply:
        ids, stacked, refused = collect(sent, cohort, lr, key)
        one = jax.tree.map(lambda a: jnp.zeros(a.shape[1:], a.dtype), stacked)
        summed = total(stacked) if len(ids) else neutral(one)
        return summed._replace(report=summed.report._replace(refused=jnp.int32(len(refused))))

    return train


def slow_replies(
    loss: Loss,
    client: ClientConfig,
    sending: Sending,
) -> CohortReplies:
    """Returns the same function as `executors.cohort_replies`, written as plain loops, for a plain cohort."""
    rule, noise, private, max_norm, _ = sending
    gradient = jax.value_and_grad(loss, has_aux=True)
    optimiser, client = client_optimiser(client), settled(client)
    as_read = jax.jit(sending.as_read) if sending.compression else sending.as_read
    optimiser_step = {"sgd": _sgd, "adam": _adam}.get(client.optimiser)

    def one_client(
        sent: Broadcast, batches: list[Any], lr: float, scale: float, key: Array
    ) -> tuple[Params, Any, float, int]:
        w = jax.tree.map(_float64, sent.params)
        state = jax.tree.map(_float64, optimiser.begin(sent.params, sent.carried))
        losses, words = 0.0, 0
        for i, batch in enumerate(batches):
            (value, count), g = gradient(jax.tree.map(jnp.float32, w), batch, jax.random.fold_in(key, i))
            losses, words = losses + float(value), words + int(count)
            g = jax.tree.map(lambda a: scale * _float64(a), g)
            if client.prox:
                g = jax.tree.map(lambda a, x, x0: a + client.prox * (x - _float64(x0)), g, w, sent.params)
            if client.clip:
                length = np.sqrt(sum(np.sum(a**2) for a in jax.tree.leaves(g)))
                g = jax.tree.map(lambda a, n=length: a * min(1.0, scale * client.clip / max(n, 1e-12)), g)
            if optimiser_step:
                u, state = optimiser_step(client, g, state)
            else:  # optax's or a custom one: there is no other statement of it here
                u, state = optimiser.update(*jax.tree.map(jnp.float32, (g, state, w)))
            w = jax.tree.map(lambda x, a: x - lr * (_float64(a) + client.decay * x), w, u)
        delta = jax.tree.map(lambda x, x0: jnp.float32(x - _float64(x0)), w, sent.params)
        return delta, jax.tree.map(jnp.float32, state), losses, words

    def collect(sent: Broadcast, cohort: Cohort, lr: Array, key: Array) -> Replies:
        ids, replies, fine = [], [], []
        here = np.flatnonzero(cohort.present)
        for c in here[np.argsort(np.asarray(cohort.ids)[here])].tolist():
            client_key = jax.random.fold_in(key, int(cohort.ids[c]))
            steps = int(cohort.steps[c])
            batches = [
                jax.tree.map(lambda a, c=c, i=i: jnp.asarray(a[c][i]), cohort.batches) for i in range(steps)
            ]
            scale, weight = float(cohort.scale[c]), jnp.float32(cohort.weight[c])
            delta, state, losses, words = one_client(sent, batches, float(lr), scale, client_key)
            if cohort.factor is not None:
                delta = jax.tree.map(lambda a, c=c: cohort.factor[c] * a, delta)
            if noise:
                delta = _with_noise(delta, noise, client_key)
            norm = jnp.float32(np.sqrt(sum(np.sum(_float64(a) ** 2) for a in jax.tree.leaves(delta))))
            report = Report(
                jnp.float32(losses), jnp.int32(steps), jnp.int32(words), jnp.int32(1), norm, jnp.int32(0)
            )
            moments = optimiser.sends(state)
            if private:
                parts = _private_parts(rule, private, sent, delta, float(weight), report.steps, moments)
                report = jax.tree.map(lambda a: a if np.isfinite(a) else jnp.zeros_like(a), report)
                reply = Reply(parts, (), report)
            else:
                message = rule.client_message(sent.params, delta, weight, report.steps)
                reply = Reply(message, ([weight * a for a in moments], weight) if moments else (), report)
            told = [*jax.tree.leaves(delta), norm, losses, weight, *jax.tree.leaves(reply.carried)]
            ids.append(int(cohort.ids[c]))
            replies.append(as_read(client_key, reply))
            is_fine = all(np.isfinite(a).all() for a in told) and (not max_norm or norm <= max_norm)
            fine.append(bool(private) or is_fine)  # a private client that diverged has sent zeros
        if not replies:
            raise ValueError("no client of the cohort reported")
        accepted, who = np.array(fine), np.array(ids)
        stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves)[np.flatnonzero(accepted)], *replies)
        return Replies(who[accepted], stacked, who[~accepted])

    return collect


def _sgd(client: ClientConfig, g: Params, state: Any) -> tuple[Params, Any]:
    """Returns SGD's step and momentum."""
    momentum = client.settings["momentum"]
    if not momentum:
        return g, state
    z = jax.tree.map(lambda z, a: momentum * z + a, state.trace, g)
    return z, state._replace(trace=z)


def _adam(client: ClientConfig, g: Params, state: AdamState) -> tuple[Params, AdamState]:
    """Returns Adam's step and moments, number by number as Kingma and Ba write it."""
    beta1, beta2, eps = (float(client.settings[name]) for name in ("beta1", "beta2", "eps"))
    m, m_steps, v_steps = g, state.m_steps + 1, state.v_steps + 1
    if beta1:
        m = jax.tree.map(lambda old, a: beta1 * old + (1 - beta1) * a, state.m, g)
    v = jax.tree.map(lambda old, a: beta2 * old + (1 - beta2) * a**2, state.v, g)
    m_hat = jax.tree.map(lambda a: a / (1 - beta1**m_steps), m)
    v_hat = jax.tree.map(lambda a: a / (1 - beta2**v_steps), v)
    u = jax.tree.map(lambda a, b: a / (np.sqrt(b) + eps), m_hat, v_hat)
    return u, AdamState(m if beta1 else (), v, m_steps, v_steps)


def _private_parts(
    rule: Aggregation,
    private: Private,
    sent: Broadcast,
    delta: Params,
    weight: float,
    steps: Array,
    moments: Any,
) -> Parts:
    """Returns what a private client sends: clipped in float64, zeros if its update is not finite."""
    config, clip = private.config, float(sent.clip)
    norm = _norm(delta)
    factor = min(1.0, clip / norm) if norm else 1.0
    cut = jax.tree.map(lambda a: jnp.float32(factor * _float64(a)), delta)
    weight = 1.0 if config.weight == "uniform" else min(1.0, weight / config.max_weight)
    form = private_form("", rule, private.terms(clip))
    pairs = list(zip(private.kinds, [_float64(a) for a in moments], sent.carried, strict=True))
    changed: dict[str, tuple[Array, ...]] = {}
    for kind, most in (("m", config.moments_clip), ("v", config.second_clip)):
        changes = [after - _float64(before) for k, after, before in pairs if k == kind]
        length = _norm(changes)
        shrink = weight * (min(1.0, most / length) if length else 1.0)
        changed[kind] = tuple(jnp.float32(shrink * change) for change in changes)
    counts = [float(after) - float(before) for kind, after, before in pairs if kind == "count"]
    parts = Parts(
        form.client_message(sent.params, cut, jnp.float32(weight), steps),
        changed["m"],
        changed["v"],
        tuple(jnp.float32(weight * min(max(n, 0.0), config.moments_steps)) for n in counts),
        jnp.float32(0.5 if norm <= clip else -0.5) if config.adaptive else (),
    )
    return parts if np.isfinite(norm) else jax.tree.map(jnp.zeros_like, parts)


def _norm(tree: Any) -> float:
    return float(np.sqrt(sum(np.sum(_float64(a) ** 2) for a in jax.tree.leaves(tree))))


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
