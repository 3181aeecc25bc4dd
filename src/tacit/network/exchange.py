"""Does the server's side of a round over a network: asks clients, checks their answers and adds them as they arrive.

The server asks more clients than it needs, because some drop out. It adds answers until it has enough or the deadline
has passed. It keeps none of them, so memory does not grow with a cohort. The exception are answers that merge like
log-sum-exp (FedAtt without `aggregation.bound`): they are kept until the round ends, and then added in the order of the
clients' numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tacit.base.errors import TacitError
from tacit.federated.aggregation import is_plain_sum, neutral, total
from tacit.federated.cohort_sums import Cohorts, CohortStacks, CohortSums, Ready
from tacit.federated.local import Broadcast, Reply, Sending
from tacit.federated.message_sizes import nobody
from tacit.federated.private import bounds_of
from tacit.federated.rounds import Exchange
from tacit.federated.sampling import Chosen, choose, chosen_cohort, group
from tacit.models.base import Params
from tacit.network.encoded import reading
from tacit.network.masked import masked_sums
from tacit.network.office import Office
from tacit.network.sums import ExactSum
from tacit.network.work import (
    Expected,
    Parcel,
    Refusal,
    broadcast_arrays,
    check_arrays,
    check_report,
    check_weighted,
    expected,
    rebuilt,
)
from tacit.privacy.bounds import spread

_ROOM = 1e-5  # for the rounding of 32-bit numbers
_ROUNDING = 1.02  # a compressed update may be so much longer than its client's own check allows


def exchange(office: Office, params: Params) -> Exchange:
    """Returns how messages reach the server over a network; `params` are the model's shapes."""

    def stacks(sending: Sending) -> CohortStacks:
        raise TacitError(
            f"aggregation.rule = '{office.config.aggregation.rule}' is not a sum, and a network allows only sums; "
            "choose one, such as 'mean'"
        )

    return Exchange(
        lambda sending: network_sums(office, sending, params),
        stacks,
        lambda sending, silence: masked_sums(office, sending, silence, asking(office)),
        residuals=False,
    )


def asking(office: Office) -> Callable[[int], Ready]:
    """Returns the clients that a round asks, in place of a laid-out cohort: round, numbers, answers needed."""

    def ready(t: int) -> Ready:
        present = office.present()
        if not len(present):
            return Ready(chosen_cohort(_chosen(present), None, np.zeros(0)), (t, present, 0), certain=False)
        goal, asked = whom(office, present, t)
        return Ready(
            chosen_cohort(_chosen(asked), None, np.zeros(len(asked))), (t, asked, goal), certain=False
        )

    return ready


def network_sums(office: Office, sending: Sending, params: Params) -> CohortSums:
    """Returns the sums of cohorts whose clients answer over a network."""
    silence = nobody(office.config.client, sending, params)
    plain = is_plain_sum(silence.message)

    def program(sent: Broadcast, laid: tuple[int, np.ndarray, int], lr: Array, key: Array) -> Reply:
        t, asked, goal = laid
        tasks = office.tasks("train", t, broadcast_arrays(sent), asked.tolist(), lr=float(lr))
        norms = (
            bounds_of(sending.rule, sending.private, sent.params, sent.clip).norms
            if sending.private
            else None
        )
        wanted = _wanted(silence, norms)
        read = reading(sending.compression, silence, wanted)
        running = ExactSum({name: want.shape for name, want in wanted.items()})
        kept: dict[int, Reply] = {}

        def check(answer: Parcel) -> Parcel:
            check_arrays(answer.arrays, read.wanted)
            arrays = read.decoded(answer.arrays)
            reply = rebuilt("reply", silence, arrays)
            check_reply(office, reply)
            if norms is not None:
                check_bounds(norms, reply.message)
            return answer._replace(arrays=arrays)

        for number, answer in office.answers(tasks, goal, check):
            if plain:
                running.add(answer.arrays)
            else:
                kept[number] = rebuilt("reply", silence, answer.arrays)
        if max(running.count, len(kept)) < office.terms.least:
            return neutral(jax.tree.map(jnp.asarray, silence))
        if kept:
            stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *(kept[n] for n in sorted(kept)))
            return total(stacked)
        summed = rebuilt("reply", silence, running.value())
        return jax.tree.map(lambda x, like: jnp.asarray(x, like.dtype), summed, silence)

    return Cohorts(program, lambda tree: tree, asking(office), lambda t: None)


def whom(office: Office, present: np.ndarray, t: int) -> tuple[int, np.ndarray]:
    """Returns how many answers round t needs, and which connected clients it asks, more than it needs."""
    sampling = office.config.sampling
    chosen = choose(
        sampling, np.ones(office.population), office.config.seed, t, office.config.privacy.separation
    )
    goal = min(len(chosen.ids), len(present))
    # the simulator's choice first, then others who are there, to make up for those who drop out
    others = np.random.default_rng([office.config.seed, t]).permutation(np.setdiff1d(present, chosen.ids))
    first = np.intersect1d(chosen.ids, present)
    asked = math.ceil(goal * office.terms.over) if goal < office.population else goal
    if office.config.privacy.separation:
        # only this round's group may take part
        theirs = group(office.population, office.config.privacy.separation, office.config.seed, t)
        others = others[np.isin(others, theirs)]
    return goal, np.sort(np.concatenate([first, others])[: max(asked, len(first))])


def check_reply(office: Office, reply: Reply) -> None:
    """Raises `Refusal` for a reply whose report, weight or norm is not that of one honest client."""
    check_report(reply.report)
    if office.config.aggregation.rule == "mean" and not office.config.privacy.private:
        update, weight = reply.message
        rounding = 1 if office.config.compression.form == "none" else _ROUNDING
        check_weighted(update, weight, office.terms.max_weight, rounding * office.config.aggregation.max_norm)
    if reply.carried:
        moments, weight = reply.carried
        check_weighted(moments, weight, office.terms.max_weight, 0.0)


def check_bounds(norms: Any, message: Any) -> None:
    """Raises `Refusal` for a private message with a part that is longer than the bound that its noise is for."""

    def check(bound: Any, part: Any) -> None:
        squares = (float(np.sum(np.square(leaf, dtype=np.float64))) for leaf in jax.tree.leaves(part))
        norm, most = math.sqrt(math.fsum(squares)), float(bound)
        if norm > most * (1 + _ROOM):
            raise Refusal("norm", f"a part of the message has norm {norm:.4g}, above its bound {most:.4g}")

    jax.tree.map(check, norms, message)


def _chosen(ids: np.ndarray) -> Chosen:
    ones = np.ones(len(ids), np.float32)
    return Chosen(ids, ones, ones, np.ones(len(ids), bool))


def _wanted(silence: Reply, norms: Any) -> dict[str, Expected]:
    """Returns what the arrays of a reply must be; no number of a private message may be above the bound of its part."""
    if norms is None:
        return expected("reply", silence)
    bounds = spread(norms, silence.message)
    largest = silence._replace(
        message=jax.tree.map(lambda bound: float(bound) * (1 + _ROOM) + 1e-9, bounds),
        carried=jax.tree.map(lambda _: math.inf, silence.carried),
        report=jax.tree.map(lambda _: math.inf, silence.report),
    )
    return expected("reply", silence, largest)
