"""How many first words of held-out people a fixed choice of three is, and how much that depends on the people.

Without a word before, a keyboard that knows one word of context always offers the same three words. Which three can
be chosen from the training people only: by their counts, or with the same weight for each person. `best` is the choice
that has seen the held-out people. `drawn` says what the counted three are in as many people drawn from the training
people, whose first words chose them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.base.arrays import Floats, Ints
from tacit.scoring.jackknife import half_width
from tacit.text.vocabulary import EOS, UNK

DRAWS = 10_000


def counted(text: Any, words: int) -> Floats:
    """Returns how often each person begins a message with each word, [people, words]."""
    owner = np.repeat(np.arange(len(text.owners) - 1), np.diff(text.owners))
    first = text.tokens[text.offsets[:-1] + 1]
    counts = np.zeros((len(text.owners) - 1, words))
    np.add.at(counts, (owner, first), 1)
    return counts


def share(counts: Floats, three: Ints) -> tuple[float, float]:
    """Returns the share of three words among the first words, and half of its 95 % interval over people.

    >>> share(np.array([[4.0, 1, 1, 2], [2, 1, 1, 0], [3, 1, 0, 1]]), np.array([0, 1, 2]))[0]
    0.8235294117647058
    """
    hits, all_of = counts[:, three].sum(axis=1), counts.sum(axis=1)
    without = (hits.sum() - hits) / (all_of.sum() - all_of)
    return float(hits.sum() / all_of.sum()), half_width(without)


def first_words(words: tuple[str, ...], training: Any, held_out: Any, seed: int = 0) -> dict[str, Any]:
    """Compares choices of three first words on the held-out people."""
    known, asked = counted(training, len(words)), counted(held_out, len(words))
    listed = known.copy()
    listed[:, [UNK, EOS]] = 0  # no keyboard offers these
    each = listed / np.maximum(known.sum(axis=1, keepdims=True), 1)
    seen = asked.copy()
    seen[:, [UNK, EOS]] = 0
    ranked = {
        "counted": _best(listed.sum(axis=0)),
        "each person the same": _best(each.sum(axis=0)),
        "best": _best(seen.sum(axis=0)),
    }
    rows = {}
    for name, three in ranked.items():
        part, spread = share(asked, three)
        rows[name] = {"words": [words[i] for i in three], "share": part, "ci95": spread}
    some, draw = np.flatnonzero(asked.sum(axis=1) > 0), np.random.default_rng(seed)
    hits, all_of = known[:, ranked["counted"]].sum(axis=1), known.sum(axis=1)
    people = [draw.choice(len(known), len(some), replace=False) for _ in range(DRAWS)]
    drawn = [hits[which].sum() / all_of[which].sum() for which in people]
    low, high = np.percentile(drawn, (2.5, 97.5))
    return {"people": len(some), "choices": rows, "drawn": {"p2.5": float(low), "p97.5": float(high)}}


def _best(weights: Floats) -> Ints:
    return np.argsort(-weights, kind="stable")[:3]
