"""What a client receives and sends in a round, as shapes and bytes."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tacit.federated.aggregation import CohortRule
from tacit.federated.algorithm import Algorithm, rule_and_optimiser
from tacit.federated.client_config import ClientConfig
from tacit.federated.client_optimisers import carried_kinds, first_moments
from tacit.federated.compression import bytes_of, compression, encoded_shapes
from tacit.federated.local import Broadcast, Reply, Sending, client_reply, local_training
from tacit.federated.private import Private
from tacit.models.base import Params, count_parameters


def bytes_of_a_client(algorithm: Algorithm, params: Params) -> dict[str, int]:
    """Returns the bytes that a client receives and sends in a round: the model or the rule's message, and moments.

    What it sends is counted as it travels (`compression`), what it receives is not compressed.
    """
    rule, _ = rule_and_optimiser(algorithm, params)
    rule = rule.stacked() if isinstance(rule, CohortRule) else rule
    kinds = carried_kinds(algorithm.client, params)
    private = Private(algorithm.privacy, 1.0, kinds) if algorithm.privacy.private else None
    answer = _reply_shapes(algorithm.client, Sending(rule, private=private), params)
    down = count_parameters(params) + count_parameters(_first_moments_shapes(algorithm.client, params))
    return {
        "down": 4 * (down + (1 if private else 0)),
        "up": bytes_of(_travels(algorithm, answer, kinds)),
    }


def _travels(algorithm: Algorithm, answer: Reply, kinds: tuple[str, ...]) -> Any:
    """Returns the shapes and types of what one client sends, as it travels."""
    said = answer.message, answer.carried
    form = compression(algorithm.compression, kinds, algorithm.privacy.private)
    return encoded_shapes(form, said) if form else said


def nobody(client: ClientConfig, sending: Sending, params: Params) -> Reply:
    """Returns the sum of replies over no client."""
    return jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), _reply_shapes(client, sending, params))


def _first_moments_shapes(client: ClientConfig, params: Params) -> Any:
    return jax.eval_shape(lambda w: first_moments(client, w), params)


def _reply_shapes(client: ClientConfig, sending: Sending, params: Params) -> Reply:
    """Returns the shapes of what one client sends."""
    one = jax.ShapeDtypeStruct((), jnp.float32)
    sent = Broadcast(params, _first_moments_shapes(client, params), one if sending.private else ())
    begin = local_training(lambda w, batch, key: (jnp.float32(0), jnp.int32(0)), client).begin
    reply = client_reply(sending, client)
    state, key = jax.eval_shape(begin, sent), jax.eval_shape(lambda: jax.random.key(0))
    return jax.eval_shape(reply, sent, state, one, key)
