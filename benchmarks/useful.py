"""Measures the share of batch cells that hold a word, for batches by number of words and for the papers' batches.

It uses the first round of FedAtt's protocol (100 clients, ten a round, E 5, B 10); arguments are paths of corpora.

    python benchmarks/useful.py ptb wikitext-2 > benchmarks/results/useful.json
"""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path

import numpy as np

from tacit.federated.algorithm import Algorithm
from tacit.federated.text_cohorts import text_cohort, text_grid
from tacit.runs.config import resolve
from tacit.runs.data import prepare

PROTOCOL = ("partition.kind=iid", "partition.clients=100", "client.epochs=5", "text.max_words=95")


def shares(corpus: str) -> dict[str, float]:
    """Returns the share of useful cells for each kind of batching."""
    config = resolve("fedatt", [f"text.corpus={corpus}", "text.protocol=fedatt", *PROTOCOL])
    clients = prepare(config).clients
    by_kind = {}
    for kind in ("words", "sentences"):
        client = dataclasses.replace(config.client, batching=kind)
        algorithm = Algorithm(client, config.aggregation, config.server, config.sampling)
        cohort = text_cohort(clients, algorithm, config.seed, 0, text_grid(clients, client))
        cells = int(cohort.steps.sum()) * int(np.prod(cohort.batches.targets.shape[2:]))
        by_kind[kind] = float((cohort.batches.targets >= 0).sum() / cells)
    return by_kind


if __name__ == "__main__":
    print(json.dumps({Path(corpus).name: shares(corpus) for corpus in sys.argv[1:]}, indent=1))
