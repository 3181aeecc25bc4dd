"""Fits the costs of the noisy channel of taps (`tacit.keyboard.parameters.Taps`).

    python benchmarks/corrections_fit.py MODEL LISTS --held-out RUN

LISTS is the folder that `corrections_lists.py` describes. Each item is a sequence of taps with the text to write:

    noisy        words of typists in their messages, with the simulated noise of `measures/noise.py`
    misspelt     misspellings of lintian's list whose correction the model knows
    unknown      words of wamerican that the model does not know, every tap on its key
    known        words of the model and wamerican, every tap on its key
    joined       two words of typists' messages without the space

The margin of an item is the score of what should be written less the best other score. The fit minimises the weighted
mean of log(1 + exp(−margin)) by Nelder and Mead's method, and then the errors, one cost at a time. Candidates are found
once, with generous costs; the costs of all candidates are then computed together by the recurrence of
`tacit.keyboard.taps`, in another form.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import corrections_lists as lists
import numpy as np
from scipy.optimize import minimize

from tacit.keyboard import decode, spelling, suggestions, taps
from tacit.keyboard.layout import APOSTROPHE, QWERTY, centre, nearest, spell
from tacit.keyboard.measures import noise
from tacit.keyboard.parameters import DEFAULT, Taps
from tacit.text import typed
from tacit.text.prepare import TextConfig
from tacit.text.typists import TypistsConfig

COUNT = {"noisy": 700, "misspelt": 400, "unknown": 700, "known": 300, "joined": 60}
WEIGHTS = {"noisy": 3.0, "misspelt": 1.0, "unknown": 10.0, "known": 3.0, "joined": 0.1}
SCATTERS = (0.05, 0.15, 0.2)  # key widths, of letter-perfect taps
MOST = 12  # candidates of an item
GENEROUS = Taps(
    omission=3,
    single=1,
    apostrophe=-1,
    insertion=4,
    double=1.5,
    edge=0,
    transposition=1.5,
    vowel=1.5,
    wrong=3,
    beam=20,
)
FREE = [
    "sigma_x",
    "sigma_y",
    "steady",
    "usual",
    "omission",
    "single",
    "apostrophe",
    "insertion",
    "double",
    "edge",
    "transposition",
    "vowel",
    "wrong",
    "space",
    "unknown",
    "letter",
    "stays",
    "language",
]


class Item(NamedTuple):
    kind: str
    points: np.ndarray  # [taps, 2]
    literal: str
    words: list[str]  # candidates; the last is two words if `pair`
    log_p: np.ndarray  # [candidates]
    pair: bool
    right: int  # place of what should be written; −1: the literal, as an unknown word


def perfect(word: str, draw: np.random.Generator, scatter: float) -> np.ndarray:
    """Returns taps that all hit their own key."""
    middles = np.array([centre(c) for c in word])
    points = middles + draw.normal(0.0, scatter, middles.shape)
    while (wrong := [a != b for a, b in zip(nearest(points), word, strict=True)]) and any(wrong):
        points[wrong] = middles[wrong] + draw.normal(0.0, scatter, (sum(wrong), 2))
    return points


def contexts(people: Sequence[Sequence[Sequence[str]]], draw: np.random.Generator) -> list[str]:
    """Returns the first words of some message."""
    while True:
        person = people[int(draw.integers(len(people)))]
        message = person[int(draw.integers(len(person)))] if len(person) else []
        if len(message) > 1:
            return list(message[: int(draw.integers(1, len(message)))])


def item(
    asked: suggestions.Suggester, kind: str, context: list[str], points: np.ndarray, meant: str
) -> Item | None:
    points, literal = taps.points(points), nearest(points)
    chances = asked._chances(context)
    lexicon = asked.lexicon
    found = decode.rank(lexicon, taps.search(lexicon, points, GENEROUS), chances, 1.0)
    words = [lexicon.spellings[i] for i in found.words.tolist()[:MOST]]
    log_p = found.log_p[:MOST].tolist()
    for extra in dict.fromkeys((literal, meant)):
        places = lexicon.places(extra)
        if extra not in words and len(places):
            words.append(extra)
            log_p.append(float(chances(lexicon.ids[np.array(places)]).max()))
    pairs = () if literal in words else decode.split(lexicon, literal, chances, DEFAULT.taps)
    if pairs:
        words.append(f"{lexicon.spellings[pairs[0].first]} {lexicon.spellings[pairs[0].second]}")
        log_p.append(pairs[0].log_p)
    right = words.index(meant) if meant in words else -1
    if right < 0 and literal != meant:
        return None
    return Item(kind, points, literal, words, np.array(log_p), bool(pairs), right)


def items(asked: suggestions.Suggester, folder: Path, seed: int) -> list[Item]:
    draw = np.random.default_rng(seed)
    config = TypistsConfig(users=60, seed=777)  # not those that are measured
    people = typed.read(TextConfig(), config, 0).messages
    known = set(asked.lexicon.spellings)
    dictionary = lists.fitted_words(folder)
    made: list[Item | None] = []
    for number in range(COUNT["noisy"]):
        context, word = [], ""
        while not spell(word):
            message = [*contexts(people, draw)]
            context, word = message[:-1], message[-1]
        shift = noise.offset(seed, number % 60, noise.TAPPING.offset)
        made.append(item(asked, "noisy", context, noise.tap(spell(word), draw, shift=shift), spell(word)))
    pairs = [p for p in lists.fitted_misspellings(folder) if p[1] in known and p[0] not in known]
    times: Counter[str] = Counter()
    for wrong, right in lists.draw(pairs, len(pairs), seed):
        times[right] += 1
        if (
            times[right] > 2 or sum(times.values()) > 3 * COUNT["misspelt"]
        ):  # some words have twenty misspellings
            continue
        points = perfect(wrong, draw, float(draw.choice(SCATTERS)))
        made.append(item(asked, "misspelt", contexts(people, draw), points, right))
    for kind, words in (("unknown", dictionary - known), ("known", dictionary & known)):
        for word in lists.draw(words, COUNT[kind], seed):
            points = perfect(str(word), draw, float(draw.choice(SCATTERS)))
            made.append(item(asked, kind, contexts(people, draw), points, str(word)))
    for _ in range(COUNT["joined"]):
        message = [*contexts(people, draw)]
        if len(message) > 2 and spell("".join(message[-2:])) and "".join(message[-2:]) not in known:
            points = perfect(spell("".join(message[-2:])), draw, 0.15)
            made.append(item(asked, "joined", message[:-2], points, " ".join(map(spell, message[-2:]))))
    return [one for one in made if one is not None]


class Batch(NamedTuple):
    """All candidates of all items, padded."""

    taps: np.ndarray  # [items, M, 2]
    count: np.ndarray  # [items] taps
    owner: np.ndarray  # [pairs] item
    letters: np.ndarray  # [pairs, N] keys, −1 behind the end
    lengths: np.ndarray  # [pairs]
    log_p: np.ndarray  # [pairs]
    is_pair: np.ndarray  # [pairs] two words
    is_literal: np.ndarray
    is_close: np.ndarray  # the literal and apostrophes
    is_right: np.ndarray
    prior: np.ndarray  # [items] log p of the literal's letters
    known: np.ndarray  # [items]
    stays: np.ndarray  # [items] the literal is right, as an unknown word


def batch(every: list[Item], counts: spelling.Letters) -> Batch:
    m = max(len(one.points) for one in every)
    n = max(len(w) for one in every for w in one.words)
    points = np.zeros((len(every), m, 2))
    for row, one in zip(points, every, strict=True):
        row[: len(one.points)] = one.points
    flat = [
        (i, w, p, k)
        for i, one in enumerate(every)
        for k, (w, p) in enumerate(zip(one.words, one.log_p, strict=True))
    ]
    letters = np.full((len(flat), n), -1)
    for row, (_, word, _, _) in zip(letters, flat, strict=True):
        if " " not in word:
            row[: len(word)] = [QWERTY.letters.index(c) for c in word]
    literals = [one.literal for one in every]
    return Batch(
        points,
        np.array([len(one.points) for one in every]),
        np.array([i for i, *_ in flat]),
        letters,
        (letters >= 0).sum(axis=1),
        np.array([p for _, _, p, _ in flat]),
        np.array([" " in w for _, w, _, _ in flat]),
        np.array([w == literals[i] for i, w, _, _ in flat]),
        np.array([w.replace(APOSTROPHE, "") == literals[i] for i, w, _, _ in flat]),
        np.array([k == every[i].right for i, _, _, k in flat]),
        np.array([spelling.log_p(counts, literal) for literal in literals]),
        np.array([one.literal in one.words for one in every]),
        np.array([one.right < 0 for one in every]),
    )


def costs(b: Batch, rules: Taps) -> tuple[np.ndarray, np.ndarray]:
    """Returns the cost of each pair above its item's Σ low, and of each literal (taps that hit no key)."""
    live = np.arange(b.taps.shape[1]) < b.count[:, None]  # [items, M]
    away = b.taps[:, :, None] - QWERTY.centres
    hand = 0.5 * (
        (away[..., 0] / rules.sigma_x) ** 2 + (away[..., 1] / rules.sigma_y) ** 2
    )  # [items, M, keys]
    shown = (2 * np.minimum(hand.min(axis=2), taps.WILD) * live).sum(axis=1)
    hand /= ((rules.steady + shown) / (rules.steady + rules.usual * b.count))[:, None, None]
    least, near = hand.min(axis=2), hand.argmin(axis=2)
    alone = np.full(least.shape, rules.insertion)
    alone[:, 1:][near[:, 1:] == near[:, :-1]] = min(rules.insertion, rules.double)
    low = np.minimum(least, alone)
    mind = np.minimum(hand, least[..., None] + rules.wrong)
    vowels = [QWERTY.letters.index(c) for c in taps.VOWELS]
    mind[..., vowels] = np.minimum(
        mind[..., vowels], hand[..., vowels].min(axis=2, keepdims=True) + rules.vowel
    )
    m, n = b.taps.shape[1], b.letters.shape[1]
    hand, mind, low, alone = (a[b.owner] for a in (hand, mind, low, alone))
    rows = np.arange(len(b.owner))
    d = [np.full((len(rows), m + 1), np.inf) for _ in range(2)]  # of i − 2 and i − 1 letters
    d[1] = np.concatenate([np.zeros((len(rows), 1)), np.cumsum(alone - low, axis=1) + rules.edge], axis=1)
    result = np.full(len(rows), np.inf)
    total = b.count[b.owner]
    for i in range(n):
        letter, last = b.letters[:, i], b.letters[:, i - 1] if i else np.full(len(rows), -1)
        lacking = np.where(letter == QWERTY.letters.index(APOSTROPHE), rules.apostrophe, rules.omission)
        lacking = np.where(letter == last, np.minimum(lacking, rules.single), lacking)
        lacking = lacking + (0 if i else rules.edge)
        new, whole = np.empty_like(d[1]), np.full(d[1].shape, np.inf)
        new[:, 0] = d[1][:, 0] + lacking
        pays = mind if i else hand
        for j in range(m):
            best = d[1][:, j] + pays[rows, j, letter] - low[:, j]
            if i and j:
                swapped = hand[rows, j - 1, letter] - low[:, j - 1] + hand[rows, j, last] - low[:, j]
                best = np.minimum(best, d[0][:, j - 1] + rules.transposition + swapped)
            whole[:, j + 1] = best
            best = np.minimum(best, d[1][:, j + 1] + lacking)
            new[:, j + 1] = np.minimum(best, new[:, j] + (alone - low)[:, j])
        d = [d[1], new]
        ends = b.lengths == i + 1
        at = rows[ends], total[ends]
        result[ends] = np.minimum(whole[at], new[at] + rules.edge)
    result[b.is_pair] = rules.space
    over = (np.maximum(least - rules.insertion, 0) * live).sum(axis=1)
    return result, over


def margins(b: Batch, rules: Taps) -> np.ndarray:
    """Returns for each item the score of what should be written less the best other."""
    cost, over = costs(b, rules)
    score = -cost + rules.language * b.log_p
    ahead = b.known[b.owner] & ~b.is_close & ~b.is_literal
    score -= np.minimum(rules.stays, cost) * ahead
    literal = np.where(b.known, -np.inf, -rules.unknown + rules.letter * b.prior - over)
    right, other = np.full((2, len(b.count)), -np.inf)
    np.maximum.at(right, b.owner[b.is_right], score[b.is_right])
    np.maximum.at(other, b.owner[~b.is_right], score[~b.is_right])
    right = np.where(b.stays, literal, right)
    other = np.where(b.stays, other, np.maximum(other, literal))
    return right - other


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("model", type=Path)
    given.add_argument("lists", type=Path)
    given.add_argument("--seed", type=int, default=0)
    given.add_argument("--steps", type=int, default=600)
    chosen = given.parse_args()
    asked = suggestions.open(chosen.model)
    every = items(asked, chosen.lists, chosen.seed)
    every.sort(key=lambda one: len(one.points))
    alike = [list(group) for _, group in groupby(every, key=lambda one: len(one.points))]
    batches = [batch(group, asked.lexicon.letters) for group in alike]  # of as many taps, which is quicker
    kinds = np.array([one.kind for one in every])
    weight = sum(w * (kinds == kind) / max((kinds == kind).sum(), 1) for kind, w in WEIGHTS.items())

    def rules(at: np.ndarray) -> Taps:
        return DEFAULT.taps._replace(**dict(zip(FREE, at.tolist(), strict=True)))

    def ahead(at: np.ndarray) -> np.ndarray:
        return np.concatenate([margins(b, rules(at)) for b in batches])

    def loss(at: np.ndarray) -> float:
        values = rules(at)
        if min(values.sigma_x, values.sigma_y, values.steady, values.usual, values.letter) <= 0.05:
            return 1e9
        if (
            min(
                values.single,
                values.double,
                values.transposition,
                values.vowel,
                values.wrong,
                values.stays,
                values.edge,
            )
            < 0
        ):
            return 1e9
        return float((weight * np.logaddexp(0, -ahead(at))).sum())

    def report(at: np.ndarray) -> dict[str, float]:
        wrong = ahead(at) <= 0
        return {kind: round(float(wrong[kinds == kind].mean()), 4) for kind in WEIGHTS} | {
            "loss": round(loss(at), 4)
        }

    start = np.array([float(getattr(DEFAULT.taps, name)) for name in FREE])
    print({kind: int((kinds == kind).sum()) for kind in WEIGHTS}, report(start), file=sys.stderr)
    at = start
    for share in (0.15, -0.15, 0.1) if chosen.steps else ():  # of each cost; one simplex may shrink too early
        simplex = np.vstack([at, at + np.diag(share * at)])
        options = {"maxfev": chosen.steps // 3, "initial_simplex": simplex, "adaptive": True}
        at = minimize(loss, at, method="Nelder-Mead", options=options).x
        print(report(at), dict(zip(FREE, at.round(3).tolist(), strict=True)), file=sys.stderr, flush=True)

    def errors(at: np.ndarray) -> float:
        return float((weight * (ahead(at) <= 0)).sum()) + 0.02 * loss(at)

    least = errors(at)
    for i in range(len(FREE)):  # last by the errors themselves, one cost at a time
        for factor in (0.65, 0.85, 1.15, 1.35):
            other = at.copy()
            other[i] *= factor
            if loss(other) < 1e8 and (found := errors(other)) < least:
                at, least = other, found
                print(FREE[i], round(float(at[i]), 3), report(at), file=sys.stderr, flush=True)
    print(
        json.dumps({name: round(value, 3) for name, value in zip(FREE, at.tolist(), strict=True)}, indent=1)
    )


if __name__ == "__main__":
    main()
