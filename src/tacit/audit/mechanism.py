"""The private mechanism of a run on made-up clients: each sends an update that the audit chooses.

The run's own code does everything: sampling, clipping, the rule's message, the noise, the denominator, the server's
step. Only the clients' objective is another: −⟨w, c⟩, whose gradient is −c, so that one step of SGD at rate 1 moves the
model by c, whatever c is. The server takes plain steps of rate 1, because an optimiser only works on what has been
released; so does everything that is computed from the model later.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from tacit.federated.algorithm import Algorithm
from tacit.federated.client_config import ClientConfig
from tacit.federated.rounds import federation
from tacit.federated.sampling import Chosen, SamplingConfig, choose, chosen_cohort
from tacit.federated.server import ServerConfig
from tacit.privacy.config import PrivacyConfig
from tacit.privacy.ledger import Release

ROWS = 64
NUMBERS = ROWS * ROWS + ROWS  # of the made-up model: a matrix and a vector


class Trial(NamedTuple):
    """What a trial released."""

    changes: NDArray[np.float64]  # [rounds, NUMBERS]: how the model moved in each round
    releases: list[Release]  # ledger entries; none where nothing is private


def simplified(algorithm: Algorithm, clients: int = 0) -> Algorithm:
    """Returns the algorithm with plain steps on both sides; `clients` > 0: all of them in every round."""
    sampling = algorithm.sampling
    if clients:
        sampling = SamplingConfig(clients=clients, scheme=sampling.scheme)
    privacy = algorithm.privacy
    return algorithm._replace(
        client=ClientConfig(lr=1.0),
        server=ServerConfig(),
        sampling=sampling,
        privacy=dataclasses.replace(
            privacy, moments_clip=0.0, second_clip=0.0, moments_steps=PrivacyConfig().moments_steps
        ),
    )


def run(
    algorithm: Algorithm,
    updates: NDArray[np.float32],
    takes_part: NDArray[np.bool_],
    population: int,
    rounds: int,
    seed: int,
) -> Trial:
    """Runs the mechanism of a simplified algorithm; the clients 0, 1, … of the population send `updates` [n, NUMBERS].

    A client that does not take part is sampled like any other and sends nothing, as does everybody else.
    """
    sizes = np.full(population, algorithm.privacy.max_weight)  # everybody has the full weight

    def cohort_of(t: int) -> Any:
        separation = algorithm.privacy.separation if algorithm.privacy.private else 0
        chosen = choose(algorithm.sampling, sizes, seed, t, separation)
        keep = chosen.ids < len(updates)
        ids = chosen.ids[keep]
        chosen = Chosen(ids, chosen.weight[keep], chosen.scale[keep], takes_part[ids])
        batches = as_model(updates[ids][:, None])
        return chosen_cohort(chosen, batches, np.ones(len(ids), np.int64))

    def loss(params: Any, batch: Any, key: Any) -> tuple[Any, Any]:
        del key
        along = jax.tree.map(lambda w, c: jnp.sum(w * c), params, batch)
        return -sum(jax.tree.leaves(along)), jnp.int32(1)

    def init(key: Any) -> Any:
        del key
        return jax.tree.map(lambda x: jnp.asarray(x[0]), as_model(np.zeros((1, NUMBERS), np.float32)))

    trainer = federation(init, loss, algorithm, cohort_of, seed, rounds, population=population)
    state, changes, releases = trainer.init(jax.random.key(seed)), [], []
    for t in range(rounds):
        before = _flat(state.params)
        state, facts = trainer.round(state, t)
        changes.append(_flat(state.params) - before)
        if "release" in facts:
            releases.append(facts["release"])
    return Trial(np.stack(changes), releases)


def directions(count: int, seed: int) -> NDArray[np.float32]:
    """Returns random unit vectors, [count, NUMBERS]: nearly orthogonal to each other."""
    drawn = np.random.default_rng(seed).normal(size=(count, NUMBERS))
    return (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)


def as_model(flat: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
    """Returns [..., NUMBERS] as the arrays of a small model."""
    return {
        "matrix": flat[..., : ROWS * ROWS].reshape(*flat.shape[:-1], ROWS, ROWS),
        "output_bias": flat[..., ROWS * ROWS :],
    }


def _flat(params: Any) -> NDArray[np.float64]:
    return np.concatenate([np.asarray(params[k], np.float64).ravel() for k in ("matrix", "output_bias")])
