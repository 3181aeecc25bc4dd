"""Compares the fast executor with the slow reference, on an accelerator.

A cohort of the built-in typists trains once side by side (`vmap`) and once in plain loops (`slow`, whose weights are
float64), in float32, with each rule. The benchmark prints the largest relative difference in norm of a layer's
pseudo-gradient. An accelerator that silently computes in a coarser format would show 1e-3 or more. The test suite makes
the same comparison on a CPU.

    python benchmarks/accelerator.py
"""

from __future__ import annotations

import json

import jax
import numpy as np

from tacit.federated.aggregation import AggregationConfig, aggregation
from tacit.federated.algorithm import Algorithm
from tacit.federated.cohort_sums import cohort_sums
from tacit.federated.local import ClientConfig, Sending
from tacit.federated.objective import next_word_loss
from tacit.federated.sampling import SamplingConfig
from tacit.federated.server import ServerConfig
from tacit.federated.text_cohorts import text_cohort, text_grid
from tacit.models import ModelConfig, language_model
from tacit.text.prepare import PartitionConfig, TextConfig, prepare
from tacit.text.typists import TypistsConfig

MODELS = {"GRU": ModelConfig("gru", 64, 64), "CIFG": ModelConfig("lstm", 48, 96)}
RULES = ("mean", "attentive", "attentive-loss")


def main() -> None:
    """Prints one line of JSON for each model and rule."""
    ready = prepare(
        TextConfig(vocabulary=1501), PartitionConfig(), TypistsConfig(users=40, messages=60), seed=0
    )
    client = ClientConfig(lr=0.5, clip=1.0, momentum=0.5)
    algorithm = Algorithm(client, AggregationConfig(), ServerConfig(), SamplingConfig(clients=8))
    cohort = text_cohort(ready.clients, algorithm, 0, 0, text_grid(ready.clients, client))
    for name, config in MODELS.items():
        model = language_model(config, len(ready.vocabulary))
        params, loss = model.init(jax.random.key(0)), next_word_loss(model)
        for kind in RULES:
            rule = aggregation(AggregationConfig(kind))
            gradients = []
            for executor in ("vmap", "slow"):
                sums = cohort_sums(
                    jax.jit(loss), client, Sending(rule), lambda t: cohort, params, executor=executor
                )
                laid, key = sums.ready(0).laid, jax.random.key(1)
                message, _ = sums.program(sums.place(params), laid, np.float32(client.lr), key)
                gradients.append(jax.tree.leaves(rule.combine(params, message)))
            pairs = zip(*gradients, strict=True)
            worst = max(float(np.linalg.norm(a - b) / np.linalg.norm(b)) for a, b in pairs)
            record = {"model": name, "rule": kind, "clients": 8, "largest_relative_difference": worst}
            print(json.dumps(record | {"device": jax.devices()[0].device_kind}), flush=True)


if __name__ == "__main__":
    main()
