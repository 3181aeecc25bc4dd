"""Error feedback (Seide et al. 2014; Stich et al. 2018): what a client could not send, it sends later.

    p ← message + r          r: the client's residual, 0 at first
    send encode(p)
    r ← p − decode(encode(p))

Without it top-k would never send a number that is small in every round. A residual is as large as the model, and there
is one for each client: in the simulator they are a part of the server's state, [population, …], so a run resumes with
them. Over a network each client keeps its own. A client that is refused or drops out keeps the residual it had.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tacit.base import memory
from tacit.base.errors import TacitError
from tacit.federated import hosts
from tacit.federated.aggregation import neutral
from tacit.federated.cohort_sums import CohortStacks, CohortSums, Ready
from tacit.federated.compression import Compression
from tacit.federated.devices import device_bytes
from tacit.federated.local import Broadcast, Reply
from tacit.models.base import count_parameters

_COPIES = 3  # of all residuals: before a round, after it, and on their way to a file


def check_alone() -> None:
    """Refuses several processes: each would have the residuals of its own share of every cohort."""
    if hosts.together():
        raise TacitError(
            "compression.form = 'top-k' keeps what clients have not sent in one process; leave out --coordinator, or "
            "choose another form"
        )


def no_residuals(message: Any, population: int) -> Any:
    """Returns the residuals of a population that has sent nothing yet; refuses what does not fit the memory."""
    if not population:
        raise ValueError("error feedback needs to know the population")
    count = count_parameters(message)
    memory.check(
        _COPIES * 4 * count * population,
        f"error feedback for {population:,} clients, {count:,} numbers each, in {_COPIES} copies,",
        "lower the population or the size of the model, or choose another compression.form",
        device_bytes(),
    )
    return jax.tree.map(lambda x: jnp.zeros((population, *x.shape), jnp.float32), message)


def corrected(compression: Compression, key: Array, reply: Reply, residual: Any) -> tuple[Any, Any]:
    """Returns what one client sends instead of its message and moments, and its next residual."""
    message = jax.tree.map(jnp.add, reply.message, residual)
    sent = compression.encode(key, (message, reply.carried))
    read, _ = compression.decode(sent, (message, reply.carried))
    return sent, jax.tree.map(jnp.subtract, message, read)


class SumsAndResiduals(NamedTuple):
    """The sums of cohorts, as `CohortSums`; the program also takes residuals and returns the next ones."""

    program: Callable[[Broadcast, Any, Any, Array, Any], tuple[Reply, Any]]
    place: Callable[[Any], Any]
    ready: Callable[[int], Ready]
    prefetch: Callable[[int], None]


def without_residuals(sums: CohortSums) -> SumsAndResiduals:
    """Returns the sums of cohorts whose residuals, if there are any, are not kept here."""

    def program(sent: Broadcast, laid: Any, lr: Any, key: Array, residuals: Any) -> tuple[Reply, Any]:
        return sums.program(sent, laid, lr, key), residuals

    return SumsAndResiduals(program, *sums[1:])


def fed_back(stacks: CohortStacks, compression: Compression) -> SumsAndResiduals:
    """Returns the sums of cohorts whose clients compress with feedback, one after another in the order of their ids."""

    @jax.jit
    def summed(stacked: Reply, ids: Array, key: Array, residuals: Any) -> tuple[Reply, Any]:
        def one(carry: tuple[Reply, Any], client: tuple[Reply, Array]) -> tuple[tuple[Reply, Any], None]:
            (running, residuals), (reply, number) = carry, client
            mine = jax.tree.map(lambda r: r[number], residuals)
            client_key = jax.random.fold_in(key, number)
            sent, after = corrected(compression, client_key, reply, mine)
            read = Reply(*compression.decode(sent, (reply.message, reply.carried)), reply.report)
            residuals = jax.tree.map(lambda r, a: r.at[number].set(a), residuals, after)
            return (jax.tree.map(jnp.add, running, read), residuals), None

        nothing = neutral(jax.tree.map(lambda a: jnp.zeros(a.shape[1:], a.dtype), stacked))
        return jax.lax.scan(one, (nothing, residuals), (stacked, ids))[0]

    def program(sent: Broadcast, laid: Any, lr: Any, key: Array, residuals: Any) -> tuple[Reply, Any]:
        ids, stacked, refused = stacks.program(sent, laid, lr, key)
        reply, residuals = summed(stacked, jnp.asarray(ids, jnp.int32), key, residuals)
        return reply._replace(report=reply.report._replace(refused=np.int32(len(refused)))), residuals

    return SumsAndResiduals(program, *stacks[1:])
