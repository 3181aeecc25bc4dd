"""Chooses the weight of n-grams beside the network in the page, on text that no training used.

    P(w | h) = λ P_n-gram(w | h) + (1 − λ) P_network(w | h)

Every weight is measured on later messages of the clients, which training held out; the best one there is measured on
held-out people. Only the ratio of the figures matters: the recall is that of all words, as `tacit distill` counts it.

    python benchmarks/mixture.py runs/demo
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from tacit import runs
from tacit.lm.network8 import reader as network8
from tacit.lm.network8.model import network8_model
from tacit.lm.protocol import Model
from tacit.ngram.compact import reader as compact
from tacit.ngram.compact.model import compact_model
from tacit.page.models import page_models
from tacit.text.packed import Packed
from tacit.text.vocabulary import UNK

WEIGHTS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 1.0)


def recalls(models: tuple[Model, Model], words: list[list[str]]) -> list[float]:
    """Returns the top-3 recall of every mixture; a mark or an unknown word counts as every word does."""
    hits, count = np.zeros(len(WEIGHTS)), 0
    for network, ngrams in zip(*(model.bulk.along(words) for model in models), strict=True):
        ids, p, q = network.ids, np.exp(network.log_p), np.exp(ngrams.log_p)
        known = ids > UNK
        for i, weight in enumerate(WEIGHTS):
            mixed = (1 - weight) * p + weight * q
            own = mixed[np.arange(len(ids)), ids][:, None]
            hits[i] += (known & ((mixed > own).sum(1) < 3)).sum()
        count += len(ids)
    return [float(hit) / count for hit in hits]


def texts(text: Packed, words: tuple[str, ...], most: int) -> list[list[str]]:
    """Returns messages as words."""
    ends = zip(text.offsets[:-1].tolist(), text.offsets[1:].tolist(), strict=True)
    every = [[words[i] for i in text.tokens[a + 1 : b - 1].tolist()] for a, b in ends]
    draw = np.random.default_rng(0)
    return [every[i] for i in sorted(draw.permutation(len(every))[:most]) if every[i]]


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("run", type=Path, nargs="?", default=Path("runs/demo"))
    given.add_argument("--messages", type=int, default=3000)
    asked = given.parse_args()
    page_models(asked.run)  # builds what is missing
    run, ready = runs.load(asked.run), runs.prepare(runs.load(asked.run).config)
    network = network8_model(network8.open(asked.run / "keyboard" / "network.tacit"))
    files = {
        "n-grams of the network": asked.run / "ngram" / "model.tacit",
        "Kneser-Ney, supplement": asked.run / "keyboard" / "supplement.tacit",
    }
    print(f"{'top-3 recall at λ =':<42}" + "".join(f"{weight:>8}" for weight in WEIGHTS))
    for name, file in files.items():
        ngrams = compact_model(compact.open(file), file.stat().st_size)
        for people, text in (("clients, held-out text", ready.seen), ("held-out people", ready.test)):
            found = recalls((network, ngrams), texts(text, run.vocabulary.words, asked.messages))
            print(f"{name + '; ' + people:<42}" + "".join(f"{share:>8.2%}" for share in found))


if __name__ == "__main__":
    main()
