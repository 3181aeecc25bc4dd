"""Client-level differential privacy of a round: what a client may send, and the noise on the sum.

A client clips its update to norm S before anything is computed from it, and sends `Parts`: the rule's message, the
change of carried moments, and (adaptive clipping) whether it was clipped. Each part has a bound, so noise on the sum of
all parts hides any one client (`tacit.privacy.bounds`). The server adds the noise once. All that follows uses only the
noised sum and public numbers: the denominator is the expected number of clients, never the number that reported.

A client whose update is not finite sends zeros.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tacit.base.errors import TacitError
from tacit.federated import trees
from tacit.federated.aggregation import Aggregation, Terms, is_plain_sum
from tacit.models.base import Params
from tacit.privacy.bounds import Bounds, clipped, joined, scales, spread, tree_norm
from tacit.privacy.config import PrivacyConfig
from tacit.privacy.correlated import next_noise
from tacit.privacy.strategy import Strategy

# shares of the protection for carried moments, halved if both kinds travel, and for their counts of steps
_MOMENTS, _COUNTS = 0.2, 0.01
_INDICATOR = 20.0  # the noise on how many were clipped is at most a cohort / 20 (Andrew et al. 2021)


class Parts(NamedTuple):
    """What a client sends in a private round; () where a part is not in use."""

    rule: Any  # the message of the aggregation rule
    moments: Any = ()  # change of each carried first moment, together clipped to `moments_clip`
    seconds: Any = ()  # change of each carried second moment, together clipped to `second_clip`
    counts: Any = ()  # steps behind the moments, at most `moments_steps`
    unclipped: Any = ()  # ½ if the update was not clipped, −½ if it was


class Private(NamedTuple):
    """The privacy of a federation."""

    config: PrivacyConfig
    clients: float  # expected number of clients that report: the fixed denominator
    kinds: tuple[str, ...] = ()  # of each array of carried moments: "m", "v" or "count"
    strategy: Strategy | None = None  # of mechanism "matrix"
    sensitivity: float | None = None  # of the strategy

    @property
    def shares(self) -> Parts:
        """The share of the protection of each part."""
        each = _MOMENTS / max(1, len({"m", "v"} & set(self.kinds)))
        moments = each if "m" in self.kinds else ()
        seconds = each if "v" in self.kinds else ()
        counts = _COUNTS if "count" in self.kinds else ()
        unclipped: Any = ()
        if self.config.adaptive:
            unclipped = min(0.1, (_INDICATOR / 2 * self.config.noise / self.clients) ** 2)
        rest = 1 - sum(jax.tree.leaves((moments, seconds, counts, unclipped)))
        return Parts(rest, moments, seconds, counts, unclipped)

    def terms(self, clip: Any) -> Terms:
        """Returns what a private form of a rule may use."""
        noise = self.config.noise / self.shares.rule**0.5
        if self.config.mechanism == "local":
            noise *= self.clients**0.5
        return Terms(clip, noise, self.clients, self.config.floor)


def private_form(name: str, rule: Aggregation, terms: Terms) -> Aggregation:
    """Returns the rule with bounds on its message; refuses one that has none."""
    form: Aggregation = rule.private(terms) if rule.private else rule
    if form.bounds is None:
        raise TacitError(
            f"aggregation.rule = '{name}' does not say what bounds its message (`bounds` of Aggregation), so its noise "
            "cannot be scaled; use a built-in rule, or privacy.mechanism = 'none'"
        )
    return form


def check_form(name: str, form: Aggregation, params: Params, message: Any, clip: float) -> None:
    """Refuses bounds that do not fit the message of a rule."""
    if not is_plain_sum(message):
        raise TacitError(f"aggregation.rule = '{name}': a message with Peaked parts cannot be noised")
    try:
        assert form.bounds is not None
        bounds = jax.eval_shape(lambda w: scales(form.bounds(w, clip)), params)  # type: ignore[misc]
        spread(bounds, message)
    except TacitError:
        raise
    except Exception as error:
        first = str(error).strip().partition("\n")[0]
        raise TacitError(f"aggregation.rule = '{name}': its bounds do not fit its message: {first}") from None


def bounded_weight(config: PrivacyConfig, weight: Any) -> Any:
    """Returns a client's weight in [0, 1]."""
    if config.weight == "uniform":
        return jnp.ones_like(weight)
    return jnp.clip(weight / config.max_weight, 0, 1)


def client_parts(
    rule: Aggregation,
    private: Private,
    params: Params,
    clip: Array,
    update: Params,
    weight: Array,
    steps: Array,
    moments: tuple[Any, Any] = ((), ()),
) -> Parts:
    """Returns what one client sends; `moments` are those that it began with and those that it ends with."""
    config = private.config
    norm = tree_norm(update)
    update, finite = clipped(update, clip)
    weight = bounded_weight(config, weight)
    form = private_form("", rule, private.terms(clip))
    changes: dict[str, list[Array]] = {"m": [], "v": [], "count": []}
    for kind, before, after in zip(private.kinds, *moments, strict=True):
        changes[kind].append(after - before)
    first, _ = clipped(changes["m"], config.moments_clip)
    second, _ = clipped(changes["v"], config.second_clip)
    parts = Parts(
        form.client_message(params, update, weight, steps),
        tuple(weight * change for change in first),
        tuple(weight * change for change in second),
        tuple(weight * bounded_count(count, config.moments_steps) for count in changes["count"]),
        jnp.where(norm <= clip, 0.5, -0.5) if config.adaptive else (),
    )
    return jax.tree.map(lambda x: jnp.where(finite, x, 0), parts)


def bounded_count(count: Any, most: int) -> Any:
    """Returns a number of steps in 0 … most; one that is not finite is 0."""
    return jnp.where(jnp.isfinite(count), jnp.clip(count, 0, most), 0)


def bounds_of(rule: Aggregation, private: Private, params: Params, clip: Any) -> Bounds:
    """Returns the joint bounds of all parts that a client sends."""
    form = private_form("", rule, private.terms(clip))
    assert form.bounds is not None
    counts = private.kinds.count("count")
    shares = private.shares
    parts = Parts(
        form.bounds(params, clip),
        Bounds(private.config.moments_clip) if shares.moments else (),
        Bounds(private.config.second_clip) if shares.seconds else (),
        Bounds(private.config.moments_steps * counts**0.5) if counts else (),
        Bounds(0.5) if shares.unclipped else (),
    )
    return joined(parts, shares)


class Kept(NamedTuple):
    """What the server computes from a noised sum, beside the pseudo-gradient."""

    carried: Any  # moments for the next cohort
    clip: Array  # S of the next round
    noise: Any  # state of the correlated noise


def noised_release(rule: Aggregation, private: Private) -> Callable[..., tuple[Params, Kept]]:
    """Returns the private end of a round: (params, carried, clip, past noise, sum of parts, number that reported, white
    noise [count]) → pseudo-gradient and what the server keeps."""
    config, m = private.config, private.clients

    def release(
        params: Params, carried: Any, clip: Array, past: Any, total: Parts, reported: Array, white: Array
    ) -> tuple[Params, Kept]:
        deviation = trees.scale(config.noise, scales(bounds_of(rule, private, params, clip)))
        if config.mechanism == "local":  # the sum of one draw for each client is one draw of more variance
            deviation = trees.scale(jnp.sqrt(reported.astype(jnp.float32)), deviation)
        if private.strategy:
            white, past = next_noise(private.strategy, past, white)
        noise = unflattened(white, total)
        total = jax.tree.map(lambda x, s, n: x + s * n, total, spread(deviation, total), noise)
        form = private_form("", rule, private.terms(clip))
        if config.adaptive:
            share = jnp.clip(total.unclipped / m + 0.5, 0, 1)
            clip = clip * jnp.exp(-config.adapt_rate * (share - config.quantile))
        moved = _next_moments(private, carried, total, deviation)
        return form.combine(params, total.rule), Kept(moved, clip, past)

    return release


def _next_moments(private: Private, carried: Any, total: Parts, deviation: Parts) -> Any:
    """Returns the moments that the next cohort begins with; second moments and counts stay ≥ 0.

    A second moment is at least the standard deviation of its noise: near 0 it would be noise alone, and its root
    divides a step.
    """
    m = private.clients
    changes = {"m": iter(total.moments), "v": iter(total.seconds), "count": iter(total.counts)}
    moved = []
    for kind, before in zip(private.kinds, carried, strict=True):
        value = before + next(changes[kind]) / m
        least = {"m": -jnp.inf, "count": 0.0}.get(kind, deviation.seconds / m)
        moved.append(jnp.maximum(value, least))
    return moved if private.kinds else ()


def unflattened(flat: Array, like: Any) -> Any:
    """Returns the numbers of a flat array in the shapes of a tree."""
    leaves, structure = jax.tree.flatten(like)
    edges = np.cumsum([0, *(math.prod(leaf.shape) for leaf in leaves)])
    pieces = [
        flat[begin:end].reshape(leaf.shape)
        for begin, end, leaf in zip(edges[:-1], edges[1:], leaves, strict=True)
    ]
    return jax.tree.unflatten(structure, pieces)
