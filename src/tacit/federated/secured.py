"""Cohorts whose messages are added under masks: the server's side of a round sees their sum and nothing else.

Every client's message goes through the whole protocol of `tacit.privacy.secure`, with all parties in one process. What
bounds a message for its noise also bounds each of its numbers, so fixed point takes as many fractional bits as the sum
of a cohort leaves room for in 64. A round that too few clients survive is abandoned: it is as if nobody had reported.

Some rules divide by a part of the sum. If rounding would be felt in the quotient, a run without noise is refused. Where
noise is added no such check is made: the rule compares that part with its noise, which is far above any rounding, and
whether a sum passes a check would say something about its clients.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tacit.federated.aggregation import Aggregation, is_plain_sum, total
from tacit.federated.cohort_sums import CohortStacks, CohortSums
from tacit.federated.executors import Replies
from tacit.federated.local import Broadcast, Reply, Sending
from tacit.federated.private import Private, bounds_of
from tacit.privacy.bounds import spread

if TYPE_CHECKING:
    from tacit.privacy.secure.codec import Schema

_ERROR = 1e-3  # largest change of a quotient a by rounding, over 1 + |a|


def secured(stacks: CohortStacks, sending: Sending, nobody: Reply) -> CohortSums:
    """Returns the sums of cohorts, each by one round of the protocol; `nobody` is the sum over no client."""
    from tacit.privacy.secure.errors import Abandoned  # here: the protocol needs the extra `privacy`

    assert sending.private is not None
    rule, private = sending.rule, sending.private

    def program(sent: Broadcast, laid: Any, lr: Array, key: Array) -> Reply:
        replies = stacks.program(sent, laid, lr, key)
        try:
            return secured_reply(rule, private, sent, replies)
        except Abandoned:
            return nobody

    return CohortSums(program, *stacks[1:])


def secured_reply(rule: Aggregation, private: Private, sent: Broadcast, replies: Replies) -> Reply:
    """Returns the sum of replies through the protocol; raises `Abandoned` if too few clients are left."""
    from tacit.privacy.secure.errors import Abandoned
    from tacit.privacy.secure.simulated import secured_total

    clients, least = len(replies.ids), private.config.least
    if clients < least:
        raise Abandoned(f"{clients} clients reported, and a sum is opened for {least} or more")
    stacked = jax.tree.map(np.asarray, replies.stacked.message)
    messages = [jax.tree.map(lambda x, i=i: x[i], stacked) for i in range(clients)]
    schema = schema_for(rule, private, sent, messages[0], clients)
    summed = secured_total(messages, schema, is_plain_sum=is_plain_sum, least=least).total
    return Reply(as_message(summed), (), total(replies.stacked.report))


def schema_for(rule: Aggregation, private: Private, sent: Broadcast, message: Any, clients: int) -> Schema:
    """Returns how the messages of so many clients become vectors; `message` has the shapes of one."""
    from tacit.privacy.secure import codec

    found = bounds_of(rule, private, sent.params, sent.clip)
    bounds = spread(found.norms, message)
    bits = jax.tree.map(lambda bound: codec.most_bits(float(bound), clients), bounds)
    quanta = codec.quanta_for(_ERROR, clients) if private.config.mechanism == "clipped" else 0
    return codec.schema_of(
        message, bounds, bits, spread(jax.tree.map(lambda d: d * quanta, found.divides), message)
    )


def as_message(summed: Any) -> Any:
    """Returns an opened sum as the numbers that rules compute with."""
    return jax.tree.map(lambda x: jnp.asarray(x, jnp.float32), summed)
