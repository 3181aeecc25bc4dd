"""Measures the compact n-gram file at the size of a keyboard: 1.5 million n-grams, 200,000 unigrams.

Words are random and text has no grammar, but frequencies follow Zipf's law and words depend on the word before, which
is what sizes, times and rounding depend on. A Kneser-Ney model of order 3 over 60,000 words is reduced to the most
frequent n-grams; the other words have unigrams only. Everything is measured on one core.

    python benchmarks/compact.py
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tacit.lm.protocol import suggest
from tacit.ngram import kneser_ney, validity
from tacit.ngram.automaton import Automaton, from_trie, log_probs
from tacit.ngram.compact import reader, writer
from tacit.ngram.compact.model import CompactSource
from tacit.ngram.trie import Trie
from tacit.text.vocabulary import SPECIALS, Vocabulary, by_bytes

NGRAMS, UNIGRAMS, COMMON, TOKENS = 1_500_000, 200_000, 60_000, 4_000_000


def words(draw: np.random.Generator) -> Vocabulary:
    """Returns random words of a few syllables, about nine letters on average, as in word lists of that size."""
    syllables = [
        c + v + e for c in "bcdfghjklmnprstvwz" for v in "aeiou" for e in ("", "n", "r", "s", "t", "l")
    ]
    distinct: dict[str, None] = {}
    while len(distinct) < UNIGRAMS:
        counts = draw.choice([2, 3, 4, 5], 50_000, p=[0.1, 0.4, 0.35, 0.15])
        picks = np.minimum(draw.zipf(1.1, counts.sum()), 10_000) % len(syllables)
        at = iter(picks.tolist())
        distinct.update(dict.fromkeys("".join(syllables[next(at)] for _ in range(n)) for n in counts))
    return Vocabulary((*SPECIALS, *list(distinct)[:UNIGRAMS]))


def text(draw: np.random.Generator, tokens: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns sentences of ten words: two in three words depend on the word before, the others on nothing."""
    shape = (tokens // 12, 10)
    p = 1 / np.arange(1, COMMON - 2) ** 1.05
    free = 3 + np.searchsorted(np.cumsum(p / p.sum()), draw.random(shape))
    turn, bound = np.minimum(draw.zipf(1.6, shape), 10_000), draw.random(shape) < 0.67
    body = free.copy()
    for i in range(1, shape[1]):
        follow = 3 + ((body[:, i - 1] * 2654435761 + turn[:, i] * 40503) % 2**31 % (COMMON - 3)) ** 2 // (
            COMMON - 3
        )
        body[:, i] = np.where(bound[:, i], np.minimum(follow, COMMON - 1), free[:, i])
    ends = np.zeros((shape[0], 1), np.int64)
    whole = np.concatenate([ends, body, ends + 1], axis=1)
    return whole.ravel(), np.arange(shape[0] + 1) * 12


def model(draw: np.random.Generator) -> Automaton:
    """Returns a pruned Kneser-Ney model with the tail of the vocabulary added to its unigrams, renormalised."""
    full = kneser_ney.fit(*text(draw, TOKENS), len(SPECIALS) + UNIGRAMS, order=3)
    v, (_, _, pairs, triples) = full.vocabulary, full.levels
    room = NGRAMS - UNIGRAMS
    share = int(0.55 * room)  # of bigrams
    keep2 = np.zeros(len(pairs.keys), np.bool_)
    keep2[np.argsort(-pairs.counts, kind="stable")[:share]] = True
    ok = keep2[triples.keys // v] & keep2[triples.suffix]
    best = np.flatnonzero(ok)[np.argsort(-triples.counts[ok], kind="stable")[: room - share]]
    keep3 = np.sort(best)
    new = np.cumsum(keep2) - 1
    keys3 = new[triples.keys[keep3] // v] * v + triples.keys[keep3] % v
    keys2, suffix2 = pairs.keys[keep2], pairs.suffix[keep2]
    one = np.zeros(1, np.int64)
    trie = Trie(
        v,
        (one, np.arange(v), keys2, keys3),
        (one, np.zeros(v, np.int64), suffix2, new[triples.suffix[keep3]]),
    )
    shape = from_trie(trie)
    uni = full.levels[1].probability.copy()
    uni[COMMON:] = 0.02 / np.arange(COMMON, v) ** 1.05 / (1 / np.arange(COMMON, v) ** 1.05).sum()
    uni[:COMMON] *= 0.98 / uni[:COMMON].sum()
    log_p = np.log(np.concatenate([uni[1:], pairs.probability[keep2], triples.probability[keep3]]))
    rough = Automaton(shape, log_p, np.zeros(len(shape)))
    own, rest = validity.shares(rough)
    phi = np.zeros(len(shape))
    for d in (1, 2):
        here = np.flatnonzero(shape.depth == d)
        back = shape.backoff[here]
        rest[here] += np.exp(phi[back]) * rest[back] if d == 2 else 0
        phi[here] = np.log((1 - own[here]) / rest[here])
    return Automaton(shape, log_p, phi)


def perplexity(exact: Automaton, tokens: np.ndarray, offsets: np.ndarray) -> float:
    real = np.flatnonzero(tokens != 0)
    states = exact.topology.states_along(tokens, offsets)
    return float(np.exp(-log_probs(exact, states[real], tokens[real]).mean()))


def quantiles(call: Callable, questions: list[tuple[list[str], str]]) -> dict[str, float]:
    """Returns p50 and p99 over requests in microseconds; each is the fastest of five, to exclude other programs."""
    times = []
    for question in questions:
        asked = []
        for _ in range(5):
            began = time.perf_counter()
            call(*question)
            asked.append(1e6 * (time.perf_counter() - began))
        times.append(min(asked))
    return {"p50_us": round(statistics.median(times), 1), "p99_us": round(float(np.percentile(times, 99)), 1)}


def main() -> None:
    draw = np.random.default_rng(0)
    vocabulary, exact = words(draw), model(draw)
    validity.require(exact)
    tokens, offsets = text(draw, 120_000)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.tng"
        began = time.perf_counter()
        size = writer.write(path, vocabulary, exact, name="benchmark")
        wrote = time.perf_counter() - began
        opened = []
        for _ in range(9):
            began = time.perf_counter()
            small = reader.open(path)
            opened.append(1e3 * (time.perf_counter() - began))
        sentences = tokens.reshape(-1, 12)
        contexts = [
            ([vocabulary.words[i] for i in sentences[s, 1 : 1 + n]], vocabulary.words[sentences[s, 1 + n]])
            for s, n in zip(draw.integers(0, len(sentences), 3000), draw.integers(0, 10, 3000), strict=True)
            if sentences[s, 1 + n] > 2
        ]
        source = CompactSource(small)
        suggest(source, [])  # the favourites are sorted once
        back, rounded = small.to_automaton()
        ids = by_bytes(vocabulary).ids
        before, after = perplexity(exact, tokens, offsets), perplexity(rounded, ids[tokens], offsets)
        off = np.abs(validity.sums(rounded) - 1)
        print(
            json.dumps(
                {
                    "ngrams": small.facts["ngrams"],
                    "histories": len(exact.topology),
                    "bytes": size,
                    "write_s": round(wrote, 2),
                    "open_ms": round(statistics.median(opened), 2),
                    "top3": quantiles(lambda c, _, source=source: suggest(source, c), contexts),
                    "prefix1": quantiles(lambda c, w, source=source: suggest(source, c, 3, w[:1]), contexts),
                    "prefix3": quantiles(lambda c, w, source=source: suggest(source, c, 3, w[:3]), contexts),
                    "perplexity": round(before, 3),
                    "quantised": round(after, 3),
                    "relative": round(after / before - 1, 6),
                    "sums_off_max": round(float(off.max()), 5),
                    "sums_off_mean": round(float(off.mean()), 6),
                }
            )
        )
        assert back.words == by_bytes(vocabulary).words


if __name__ == "__main__":
    main()
