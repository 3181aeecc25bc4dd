"""Typing measures of a model: recall, keystroke savings, impressions and click-through rate.

A message is words w_1 … w_n (tokens: punctuation and emoji are words, too). A model gives every word of its
vocabulary a probability after w_1 … w_{i−1}. After a typed prefix x the bar shows the three likeliest words that begin
with x, ties by lower id; `<unk>` and hidden words are never shown. rank_x(w) is the number of words with prefix x that
the model ranks before w.

Recall is defined as everywhere in Tacit: top-k is the share of words whose rank with the empty prefix is below k; a
word outside the vocabulary is a miss.

Keystroke savings are 1 − keys / characters for an ideal typist, who makes no mistake, looks at the bar before every
key, and taps w as soon as the bar shows it. Let ℓ(w) be the smallest number of typed letters, 0 ≤ ℓ < |w|, with
rank_{w[:ℓ]}(w) < 3. Then

    keys(w) = ℓ(w) + 1                  if ℓ(w) exists: the letters, and the tap, which adds the space
            = |w| + space(w)            otherwise: every letter, and the space if the text has one after w
    characters(w) = |w| + space(w)

|w| counts code points. A space that a tap adds before punctuation is removed again at no cost, as on phones. The key
that sends a message is counted on neither side. So keys(w) ≤ characters(w), and savings are never negative.

Impressions and click-through are simulated; no person was involved. The bar of next words is shown before every word
and once after the last: n + 1 impressions of three candidates. Impression recall top-k is the share of impressions
whose first k candidates include the next typed word; after the last word there is none. The typist notices the bar with
probability `LOOK` and taps the right word if it is there: click-through rate = expected taps / candidates shown.

Noisy taps and glides are simulated, too (noise.py): the measure is the share of words decoded correctly, of those in
the vocabulary that the keys can type, by the spatial model alone and with the model's probabilities (accuracy.py).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tacit.base.arrays import Floats, Ints
from tacit.lm.protocol import MessageLogProbs
from tacit.scoring import recall
from tacit.scoring.jackknife import half_width
from tacit.text.tokens import detokenize
from tacit.text.typed import Typed, Words
from tacit.text.vocabulary import SPECIALS

SLOTS = 3  # words on the bar
LOOK = 0.5  # probability that the simulated typist notices the bar before a word
WAYS = ("tapped", "glided")  # input methods of noisy words


TypingCounts = dict[str, Floats]  # counts by name; arrays hold one entry for each message or person

COUNTED = ("messages", "words", "oov", "top1", "top3", "characters", "keys")


def measures_of(counts: TypingCounts) -> dict[str, Floats]:
    """Returns every measure that can be computed from the counts, for each of their entries.

    >>> one = {"messages": 1, "words": 3, "oov": 0, "top1": 1, "top3": 2, "characters": 10, "keys": 6}
    >>> measures = measures_of({name: np.array([float(n)]) for name, n in one.items()})
    >>> measures["keystroke_savings"].tolist(), measures["impression_top3"].tolist()
    ([0.4], [0.5])
    """
    words, shown = np.maximum(counts["words"], 1), np.maximum(counts["words"] + counts["messages"], 1)
    measures = {
        "top1": counts["top1"] / words,
        "top3": counts["top3"] / words,
        "keystroke_savings": 1 - counts["keys"] / np.maximum(counts["characters"], 1),
        "oov": counts["oov"] / words,
        "impression_top1": counts["top1"] / shown,
        "impression_top3": counts["top3"] / shown,
        "click_through": LOOK * counts["top3"] / (SLOTS * shown),
    }
    for way in WAYS:
        if way in counts:
            for how in ("alone", "model"):
                measures[f"{way}_{how}"] = counts[f"{way}_{how}"] / np.maximum(counts[way], 1)
    return measures


class Bar(NamedTuple):
    """A vocabulary sorted by its words' bytes, so that the words with one prefix are a range."""

    words: tuple[str, ...]  # [V] by id
    order: Ints  # [V] ids by their words' bytes, `<s>`, `</s>` and `<unk>` first
    place: Ints  # [V] position of each id in that order
    keys: list[bytes]  # [V − 3] the words' bytes, ascending

    def ranges(self, word: str) -> list[tuple[int, int]]:
        """Returns for each ℓ < |word| the half-open range of positions whose words begin with word[:ℓ]."""
        places = []
        for length in range(len(word)):
            key = word[:length].encode()
            first = bisect_left(self.keys, key)
            last = bisect_left(self.keys, key + b"\xff", first) if key else len(self.keys)
            places.append((first + len(SPECIALS), last + len(SPECIALS)))
        return places


def bar(words: Sequence[str]) -> Bar:
    """Builds the bar of a vocabulary, whose words are given in the order of their ids.

    >>> shown = bar((*SPECIALS, "to", "be", "tie"))
    >>> shown.order.tolist(), shown.ranges("to")
    ([0, 1, 2, 4, 5, 3], [(3, 6), (4, 6)])
    """
    fixed = len(SPECIALS)
    encoded = [word.encode() for word in words]
    order = np.array([*range(fixed), *sorted(range(fixed, len(words)), key=encoded.__getitem__)], np.int64)
    return Bar(tuple(words), order, np.argsort(order), [encoded[i] for i in order[fixed:].tolist()])


def ranks(shown: Bar, scored: MessageLogProbs) -> tuple[Ints, Ints]:
    """Returns for each word its rank among all words, and ℓ(w), the letters typed before the bar shows it, both [n].

    A word that is outside the vocabulary or never suggested has rank V and ℓ = −1. A word that the bar never shows in
    time has ℓ = −1, too.
    """
    n, v = scored.log_p.shape
    first, letters = np.full(n, v, np.int64), np.full(n, -1, np.int64)
    log_p = scored.log_p[:, shown.order]  # by the words' bytes
    targets = scored.log_p[np.arange(n), scored.ids]
    for i in np.unique(scored.ids[(scored.ids >= len(SPECIALS)) & (targets > -np.inf)]).tolist():
        rows = np.flatnonzero(scored.ids == i)
        wanted = targets[rows, None]
        for length, (low, high) in enumerate(shown.ranges(shown.words[i])):
            others = log_p[rows, low:high]
            rank = recall.ahead(others, wanted, shown.order[low:high], i).sum(axis=1)
            if not length:
                first[rows] = rank
            letters[rows[(rank < SLOTS) & (letters[rows] < 0)]] = length
            if (letters[rows] >= 0).all():
                break
    return first, letters


def spaces(words: Words) -> list[bool]:
    """Returns for each word whether the message has a space after it.

    >>> spaces(["ok", ",", "see", "you", "!"])
    [False, True, True, False, False]
    """
    text, at, after = detokenize(words), 0, []
    for word in words:
        at += len(word)
        after.append(text[at : at + 1] == " ")
        at += after[-1]
    return after


def keystrokes(words: Words, letters: Ints) -> tuple[int, int]:
    """Returns the characters of a message and the keys to type it; `letters` is ℓ of each word (−1: typed in full).

    >>> keystrokes(["hello", "you", "!"], np.array([2, 0, -1]))  # he·tap, tap, !
    (10, 5)
    """
    lengths = np.array([len(word) for word in words]) + np.array(spaces(words))
    return int(lengths.sum()), int(np.where(letters >= 0, letters + 1, lengths).sum())


def count(shown: Bar, typed: Sequence[Words], scored: Iterable[MessageLogProbs]) -> TypingCounts:
    """Returns the counts of each message, [messages]."""
    rows = []
    for words, scores in zip(typed, scored, strict=True):
        rank, letters = ranks(shown, scores)
        oov = (scores.ids < len(SPECIALS)).sum()
        characters, keys = keystrokes(words, letters)
        rows.append([1, len(words), oov, (rank < 1).sum(), (rank < SLOTS).sum(), characters, keys])
    return dict(zip(COUNTED, np.array(rows, np.float64).reshape(-1, len(COUNTED)).T, strict=True))


def add(counts: TypingCounts, groups: Ints, number: int) -> TypingCounts:
    """Sums the counts over each group of entries, [number]."""
    return {k: np.bincount(groups, v, minlength=number).astype(np.float64) for k, v in counts.items()}


def interval(counts: TypingCounts) -> dict[str, float]:
    """Returns half-widths of 95 % intervals of the overall measures, by leaving out one entry at a time."""
    without = measures_of({name: value.sum() - value for name, value in counts.items()})
    return {name: half_width(measure) for name, measure in without.items()}


def summarise(counts: TypingCounts, typed: Typed, decoded: TypingCounts | None = None) -> dict[str, Any]:
    """Returns the overall measures with intervals and percentiles over people, and the measures of each person.

    `counts` has one entry for each message, `decoded` (noisy taps and glides) one for each person. A person's
    intervals are over their messages; taps and glides have none, because they are too few.
    """
    people = len(typed.names)
    owners = np.repeat(np.arange(people), [len(m) for m in typed.messages])
    each = {**add(counts, owners, people), **(decoded or {})}
    typists = np.flatnonzero(each["messages"])
    each = {name: value[typists] for name, value in each.items()}
    total, values = {name: value.sum(keepdims=True) for name, value in each.items()}, measures_of(each)
    by_typist = {}
    for at, k in enumerate(typists.tolist()):
        messages = {name: value[owners == k] for name, value in counts.items()}
        by_typist[typed.names[k]] = {
            **{name: float(value[at]) for name, value in values.items()},
            "words": int(each["words"][at]),
            "ci95": interval(messages),
        }
    return {
        **{name: float(value[0]) for name, value in measures_of(total).items()},
        **{name: int(value[0]) for name, value in total.items() if name in ("messages", "words", *WAYS)},
        "characters": int(total["characters"][0]),
        "keys": int(total["keys"][0]),
        "people": len(typists),
        "ci95": interval(each),
        "by_person": {
            name: {f"p{q}": float(np.percentile(value, q)) for q in (10, 50, 90)}
            for name, value in values.items()
        },
        "by_typist": by_typist,
    }
