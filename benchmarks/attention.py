"""Measures how uneven FedAtt's attention is: each layer's weights of the clients of a first round.

    python benchmarks/attention.py [--corpus ptb] [--clients 6] [--data DIR]

The protocol is that of papers 1 and 2 (100 clients with sentences assigned at random, E 5, B 10, a tied GRU of 300
units), with the rate of `tacit reproduce table-2`. Clients are trained one after another and the spectral norms of
their updates computed in numpy; a client's weight is the softmax of these norms. Uniform weights would be 1/clients.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import jax
import numpy as np

from tacit.experiments.entry import find
from tacit.experiments.kinds.text import config_of
from tacit.experiments.runner import Place
from tacit.federated.aggregation import AggregationConfig, aggregation
from tacit.federated.algorithm import Algorithm
from tacit.federated.cohort_sums import cohort_sums
from tacit.federated.local import Cohort, Sending
from tacit.federated.objective import next_word_loss
from tacit.federated.text_cohorts import text_cohort, text_grid
from tacit.models import language_model
from tacit.runs.data import prepare

ROWS = {"ptb": "PTB, FedAtt, C 0.1", "wikitext-2": "WikiText-2, FedAtt, C 0.1"}


def lengths(corpus: str, clients: int, data: Path | None) -> list[dict[str, float]]:
    """Returns the spectral norm of each layer's update and the norm of the whole update, for each client."""
    settings = {**find("table-2").row(ROWS[corpus]).settings, "model.precision": "float32"}
    config = config_of(settings, 0, Place(data, Path()))
    ready = prepare(config, None, data)
    algorithm = Algorithm(config.client, config.aggregation, config.server, config.sampling)
    cohort = text_cohort(ready.clients, algorithm, config.seed, 0, text_grid(ready.clients, config.client))
    model = language_model(config.model, len(ready.vocabulary))
    start = model.init(jax.random.key(config.seed))
    mean = aggregation(AggregationConfig())

    def alone(k: int) -> Cohort:
        """Client k of the cohort."""
        return jax.tree.map(lambda a: np.asarray(a)[k : k + 1], cohort)

    sums = cohort_sums(next_word_loss(model), config.client, Sending(mean), alone, start, executor="map")
    by_client = []
    for k in range(clients):
        lr, key = np.float32(config.client.lr), jax.random.key(config.seed)
        message, _ = sums.program(sums.place(start), sums.ready(k).laid, lr, key)
        leaves = jax.tree_util.tree_flatten_with_path(mean.combine(start, message))[0]
        update = {
            jax.tree_util.keystr(p, simple=True, separator="."): np.asarray(v, float) for p, v in leaves
        }
        norms = {k: float(np.linalg.norm(v, 2 if v.ndim > 1 else None)) for k, v in update.items()}
        by_client.append(norms | {"all": float(sum(np.sum(v**2) for v in update.values()) ** 0.5)})
    return by_client


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--corpus", choices=ROWS, default="ptb")
    given.add_argument("--clients", type=int, default=6)
    given.add_argument("--data", type=Path)
    options = given.parse_args()
    by_client = lengths(options.corpus, options.clients, options.data)
    weights = {}
    for layer in sorted(by_client[0].keys() - {"all"}):
        scores = np.array([one[layer] for one in by_client])
        odds = np.exp(scores - scores.max())
        weights[layer] = [round(float(w), 3) for w in odds / odds.sum()]
    length = [round(one["all"], 2) for one in by_client]
    print(json.dumps({"corpus": options.corpus, "length": length, "weights": weights}, indent=1))


if __name__ == "__main__":
    main()
