"""What a model is worth to somebody who types: recall, keys saved, suggestions shown and tapped.

A message is words w_1 … w_n (tokens: punctuation and emoji are words too). A model gives every word of its
vocabulary a probability after w_1 … w_{i−1}. With a typed prefix x the bar shows the three likeliest words that begin
with x, ties by lower id; `<unk>` and hidden words are never shown. rank_x(w) is how many words with prefix x the model
would rather show.

Recall, as everywhere in Tacit: top-k = share of words with rank of the empty prefix < k; a word outside the
vocabulary is a miss.

Keystroke savings = 1 − keys / characters, under a stated typist who makes no mistake, looks at the bar before every
key, and taps w as soon as it is there. Let ℓ(w) be the least number of letters typed, 0 ≤ ℓ < |w|, with
rank_{w[:ℓ]}(w) < 3. Then

    keys(w) = ℓ(w) + 1                  if there is one: the letters, and the tap, which adds the space
            = |w| + space(w)            otherwise: every letter, and the space if the text has one after w
    characters(w) = |w| + space(w)

|w| counts code points. A space that a tap adds before punctuation takes itself away, as on phones. The key that sends
a message is on neither side. So keys(w) ≤ characters(w), and savings are never negative.

Impressions and taps are simulated: no person was asked. The bar of next words is shown before every word and once more
after the last, n + 1 impressions of three candidates. Impression recall top-k = impressions whose first k candidates
have the word that is typed next / impressions; after the last word nothing is typed. The typist notices the bar with
probability `LOOK` and taps the right word when she notices it there: click-through rate = expected taps /
candidates shown.

Taps and glides are simulated, too (noise.py): the share of words that are decoded right, of those that the model knows
and that the keys can type, by the spatial model alone and with the model's probabilities (accuracy.py).
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
LOOK = 0.5  # how often the simulated typist notices the bar before a word
WAYS = ("tapped", "glided")  # noisy words, and how many of them were found


Sums = dict[str, Floats]  # by name; arrays hold one entry for each message, person, …

COUNTED = ("messages", "words", "oov", "top1", "top3", "characters", "keys")


def measures_of(sums: Sums) -> Sums:
    """Every measure that sums tell, for each of their entries.

    >>> one = {"messages": 1, "words": 3, "oov": 0, "top1": 1, "top3": 2, "characters": 10, "keys": 6}
    >>> found = measures_of({name: np.array([float(n)]) for name, n in one.items()})
    >>> found["keystroke_savings"].tolist(), found["impression_top3"].tolist()
    ([0.4], [0.5])
    """
    words, shown = np.maximum(sums["words"], 1), np.maximum(sums["words"] + sums["messages"], 1)
    found = {
        "top1": sums["top1"] / words,
        "top3": sums["top3"] / words,
        "keystroke_savings": 1 - sums["keys"] / np.maximum(sums["characters"], 1),
        "oov": sums["oov"] / words,
        "impression_top1": sums["top1"] / shown,
        "impression_top3": sums["top3"] / shown,
        "click_through": LOOK * sums["top3"] / (SLOTS * shown),
    }
    for way in WAYS:
        if way in sums:
            for how in ("alone", "model"):
                found[f"{way}_{how}"] = sums[f"{way}_{how}"] / np.maximum(sums[way], 1)
    return found


class Bar(NamedTuple):
    """A vocabulary as the bar needs it: in the order of its words' bytes, where a prefix is a range."""

    words: tuple[str, ...]  # [V] by id
    order: Ints  # [V] ids by their words' bytes, `<s>`, `</s>` and `<unk>` first
    place: Ints  # [V] where each id is in that order
    keys: list[bytes]  # [V − 3] the words' bytes, ascending

    def ranges(self, word: str) -> list[tuple[int, int]]:
        """For each ℓ < |word|, which places have words that begin with word[:ℓ]: from the first to before the last."""
        found = []
        for length in range(len(word)):
            key = word[:length].encode()
            first = bisect_left(self.keys, key)
            last = bisect_left(self.keys, key + b"\xff", first) if key else len(self.keys)
            found.append((first + len(SPECIALS), last + len(SPECIALS)))
        return found


def bar(words: Sequence[str]) -> Bar:
    """The bar of a vocabulary, given by id.

    >>> found = bar((*SPECIALS, "to", "be", "tie"))
    >>> found.order.tolist(), found.ranges("to")
    ([0, 1, 2, 4, 5, 3], [(3, 6), (4, 6)])
    """
    fixed = len(SPECIALS)
    encoded = [word.encode() for word in words]
    order = np.array([*range(fixed), *sorted(range(fixed, len(words)), key=encoded.__getitem__)], np.int64)
    return Bar(tuple(words), order, np.argsort(order), [encoded[i] for i in order[fixed:].tolist()])


def ranks(shown: Bar, scored: MessageLogProbs) -> tuple[Ints, Ints]:
    """For each word its rank among all words, and ℓ(w), how many letters are typed before it is on the bar, [n].

    A word that the model does not know or never suggests has rank V and ℓ = −1; so has ℓ a word typed whole.
    """
    n, v = scored.log_p.shape
    first, letters = np.full(n, v, np.int64), np.full(n, -1, np.int64)
    log_p = scored.log_p[:, shown.order]  # by the words' bytes
    own = scored.log_p[np.arange(n), scored.ids]
    for i in np.unique(scored.ids[(scored.ids >= len(SPECIALS)) & (own > -np.inf)]).tolist():
        rows = np.flatnonzero(scored.ids == i)
        mine = own[rows, None]
        for length, (low, high) in enumerate(shown.ranges(shown.words[i])):
            others = log_p[rows, low:high]
            rank = recall.ahead(others, mine, shown.order[low:high], i).sum(axis=1)
            if not length:
                first[rows] = rank
            letters[rows[(rank < SLOTS) & (letters[rows] < 0)]] = length
            if (letters[rows] >= 0).all():
                break
    return first, letters


def spaces(words: Words) -> list[bool]:
    """Whether the message has a space after each word.

    >>> spaces(["ok", ",", "see", "you", "!"])
    [False, True, True, False, False]
    """
    text, at, found = detokenize(words), 0, []
    for word in words:
        at += len(word)
        found.append(text[at : at + 1] == " ")
        at += found[-1]
    return found


def keystrokes(words: Words, letters: Ints) -> tuple[int, int]:
    """Characters of a message and the keys for it, ℓ of each word being given (−1: typed whole).

    >>> keystrokes(["hello", "you", "!"], np.array([2, 0, -1]))  # he·tap, tap, !
    (10, 5)
    """
    lengths = np.array([len(word) for word in words]) + np.array(spaces(words))
    return int(lengths.sum()), int(np.where(letters >= 0, letters + 1, lengths).sum())


def count(shown: Bar, typed: Sequence[Words], scored: Iterable[MessageLogProbs]) -> Sums:
    """The sums of each message, [messages]."""
    rows = []
    for words, scores in zip(typed, scored, strict=True):
        rank, letters = ranks(shown, scores)
        oov = (scores.ids < len(SPECIALS)).sum()
        characters, keys = keystrokes(words, letters)
        rows.append([1, len(words), oov, (rank < 1).sum(), (rank < SLOTS).sum(), characters, keys])
    return dict(zip(COUNTED, np.array(rows, np.float64).reshape(-1, len(COUNTED)).T, strict=True))


def add(sums: Sums, groups: Ints, number: int) -> Sums:
    """The sums of each group of entries, [number]."""
    return {k: np.bincount(groups, v, minlength=number).astype(np.float64) for k, v in sums.items()}


def interval(sums: Sums) -> dict[str, float]:
    """Half-widths of 95 % intervals of the overall measures, by leaving out one entry at a time."""
    without = measures_of({name: value.sum() - value for name, value in sums.items()})
    return {name: half_width(measure) for name, measure in without.items()}


def summarise(sums: Sums, typed: Typed, decoded: Sums | None = None) -> dict[str, Any]:
    """The measures of everybody with intervals over people and their spread, and of each person.

    `sums` are of each message, `decoded` of each person: what was tapped and glided. A person's own intervals are over
    messages, and there are none of taps and glides, which are too few.
    """
    people = len(typed.names)
    owners = np.repeat(np.arange(people), [len(m) for m in typed.messages])
    each = {**add(sums, owners, people), **(decoded or {})}
    some = np.flatnonzero(each["messages"])
    each = {name: value[some] for name, value in each.items()}
    total, values = {name: value.sum(keepdims=True) for name, value in each.items()}, measures_of(each)
    by_typist = {}
    for at, k in enumerate(some.tolist()):
        own = {name: value[owners == k] for name, value in sums.items()}
        by_typist[typed.names[k]] = {
            **{name: float(value[at]) for name, value in values.items()},
            "words": int(each["words"][at]),
            "ci95": interval(own),
        }
    return {
        **{name: float(value[0]) for name, value in measures_of(total).items()},
        **{name: int(value[0]) for name, value in total.items() if name in ("messages", "words", *WAYS)},
        "characters": int(total["characters"][0]),
        "keys": int(total["keys"][0]),
        "people": len(some),
        "ci95": interval(each),
        "by_person": {
            name: {f"p{q}": float(np.percentile(value, q)) for q in (10, 50, 90)}
            for name, value in values.items()
        },
        "by_typist": by_typist,
    }
