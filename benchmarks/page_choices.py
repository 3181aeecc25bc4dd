"""Chooses two numbers of the page on text that no training used: the n-grams' weight, and when an emoji is offered.

    P(w | h) = λ P_n-gram(w | h) + (1 − λ) P_network(w | h)

Where all emoji together have at least a probability t, the likeliest takes the third place of the bar. Both numbers are
chosen on later messages of the clients, which training held out, and measured on held-out people. The recall is that of
all words, as `tacit distill` counts it; an unknown word is never found.

    python benchmarks/page_choices.py runs/demo            both
    python benchmarks/page_choices.py runs/demo --emoji    only the second
"""

from __future__ import annotations

import argparse
import re
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

EMOJI = re.compile("[\U0001f300-\U0001faff\u2600-\u27bf\u2b50]")
AT_LEAST = (0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 2.0)  # 2: never
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


def with_emoji(
    model: Model, vocabulary: tuple[str, ...], words: list[list[str]]
) -> tuple[list[float], list[float]]:
    """Returns for every threshold the top-3 recall, and the share of emoji that were in the bar."""
    emoji = np.array([bool(EMOJI.search(word)) for word in vocabulary])
    hits, found, count, typed = np.zeros(len(AT_LEAST)), np.zeros(len(AT_LEAST)), 0, 0
    for ids, log_p in model.bulk.along(words):
        p, at = np.exp(log_p), np.arange(len(ids))
        own, known = p[at, ids][:, None], ids > UNK
        rank, any_emoji = (p > own).sum(1), p[:, emoji].sum(1)
        third = np.sort(p, axis=1)[:, -3]
        shown = (p[:, emoji] >= third[:, None]).any(1)  # one is in the bar anyway
        likeliest = np.flatnonzero(emoji)[p[:, emoji].argmax(1)]
        for i, least in enumerate(AT_LEAST):
            instead = (any_emoji >= least) & ~shown
            hit = known & np.where(instead, (rank < 2) | (ids == likeliest), rank < 3)
            hits[i] += hit.sum()
            found[i] += hit[emoji[ids]].sum()
        count, typed = count + len(ids), typed + int(emoji[ids].sum())
    return [float(hit) / count for hit in hits], [float(hit) / max(1, typed) for hit in found]


def texts(text: Packed, words: tuple[str, ...], most: int) -> list[list[str]]:
    """Returns messages as words."""
    ends = zip(text.offsets[:-1].tolist(), text.offsets[1:].tolist(), strict=True)
    every = [[words[i] for i in text.tokens[a + 1 : b - 1].tolist()] for a, b in ends]
    draw = np.random.default_rng(0)
    return [every[i] for i in sorted(draw.permutation(len(every))[:most]) if every[i]]


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("run", type=Path, nargs="?", default=Path("runs/demo"))
    given.add_argument("--messages", type=int, default=1500)
    given.add_argument("--emoji", action="store_true", help="only when an emoji is offered")
    asked = given.parse_args()
    page_models(asked.run)  # builds what is missing
    run, ready = runs.load(asked.run), runs.prepare(runs.load(asked.run).config)
    stored = network8.open(asked.run / "keyboard" / "network.tacit")
    network = network8_model(stored)
    files = {
        "n-grams of the network": asked.run / "ngram" / "model.tacit",
        "Kneser-Ney, supplement": asked.run / "keyboard" / "supplement.tacit",
    }
    print(f"{'top-3 recall at λ =':<48}" + "".join(f"{weight:>8}" for weight in WEIGHTS))
    for name, file in () if asked.emoji else files.items():
        ngrams = compact_model(compact.open(file), file.stat().st_size)
        for people, text in (("clients, held-out text", ready.seen), ("held-out people", ready.test)):
            found = recalls((network, ngrams), texts(text, run.vocabulary.words, asked.messages))
            print(f"{name + '; ' + people:<48}" + "".join(f"{share:>8.2%}" for share in found))
    print(f"{'an emoji is offered at t =':<48}" + "".join(f"{least:>8}" for least in AT_LEAST))
    for people, text in (("clients, held-out text", ready.seen), ("held-out people", ready.test)):
        recall, found = with_emoji(network, stored.words, texts(text, run.vocabulary.words, asked.messages))
        for what, row in (("top-3 recall", recall), ("emoji in the bar, of those typed", found)):
            print(f"{what + '; ' + people:<48}" + "".join(f"{share:>8.2%}" for share in row))


if __name__ == "__main__":
    main()
