"""The items on which `corrections_fit.py` fits the channel of taps: taps, candidates, and what should be written.

    noisy        words of typists in their messages, with the simulated noise of `measures/noise.py`
    misspelt     misspellings of lintian's list whose correction the model knows
    listed       words of wamerican that the model does not know and the dictionary has, every tap on its key
    unlisted     words of wamerican that the model does not know, as though the dictionary did not have them either
    known        words of the model and wamerican, every tap on its key
    joined       two words of typists' messages without the space
    split        words of typists' messages with a space inside
    apart        two words of typists' messages

The last two are for the cost of a space inside a word alone; `parted` draws them when the other costs are known.

The typists (seed 777) are not those that are measured. Every third word of each list is for development: the fit does
not see it, and its figures are printed beside those of the fit.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import corrections_lists as lists
import numpy as np

from tacit.keyboard import decode, dictionary, suggestions, taps
from tacit.keyboard.layout import centre, nearest, spell
from tacit.keyboard.measures import noise
from tacit.keyboard.parameters import Taps
from tacit.text import typed
from tacit.text.prepare import TextConfig
from tacit.text.typists import TypistsConfig

COUNT = {"noisy": 1500, "misspelt": 900, "listed": 700, "unlisted": 700, "known": 400, "joined": 90}
PARTED = {"split": 1000, "apart": 3000}
SCATTERS = (0.05, 0.15, 0.2)  # key widths, of letter-perfect taps
MOST = 12  # candidates of an item
GENEROUS = Taps(
    sigma_x=0.54,
    sigma_y=0.65,
    steady=0.44,
    usual=0.82,
    omission=3,
    single=1,
    apostrophe=-1,
    insertion=4,
    double=1.5,
    edge=0,
    transposition=1.5,
    move=2.5,
    slip=2,
    vowel=1.5,
    wrong=3,
    beam=20,
)


class Item(NamedTuple):
    kind: str
    develop: bool  # whether it is kept from the fit
    points: np.ndarray  # [taps, 2]
    literal: str
    listed: bool  # whether the literal is in the dictionary
    words: list[str]  # candidates; the last is two words if `pair`
    log_p: np.ndarray  # [candidates]
    pair: bool
    right: int  # place of what should be written; −1: the literal, as an unknown word


class Parted(NamedTuple):
    """Two parts with a space between them."""

    kind: str
    develop: bool
    lead: float  # score of the joined word, without the cost of the space, less the scores of both parts
    cost: float  # of the taps, given that word
    words: bool  # whether both parts are words
    right: bool  # whether the joined word is the one that was meant


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


def developing(word: str) -> bool:
    """Whether a word is kept from the fit."""
    return zlib.crc32(word.encode()) % 3 == 0


def item(
    asked: suggestions.Suggester,
    kind: str,
    context: list[str],
    points: np.ndarray,
    meant: str,
    listed: Callable[[str], bool],
) -> Item | None:
    """Returns an item with its candidates; none if what was meant cannot be written."""
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
    pairs = () if literal in words else decode.split(lexicon, literal, chances, GENEROUS)
    if pairs:
        words.append(f"{lexicon.spellings[pairs[0].first]} {lexicon.spellings[pairs[0].second]}")
        log_p.append(pairs[0].log_p)
    right = words.index(meant) if meant in words else -1
    if right < 0 and literal != meant:
        return None
    is_listed = literal not in words and listed(literal)
    develop = developing(f"{meant} {len(context)}" if kind == "noisy" else meant)
    return Item(kind, develop, points, literal, is_listed, words, np.array(log_p), bool(pairs), right)


def typists() -> Sequence[Sequence[Sequence[str]]]:
    """Returns the messages of typists that are not measured."""
    return typed.read(TextConfig(), TypistsConfig(users=60, seed=777), 0).messages


def parted(asked: suggestions.Suggester, seed: int) -> list[Parted]:
    """Draws words with a space inside, and pairs of words, each typed with all taps on their keys or with noise."""
    draw = np.random.default_rng([seed, 1])
    messages = [message for person in typists() for message in person if len(message) > 1]
    made: list[Parted] = []
    for kind, count in PARTED.items():
        while sum(one.kind == kind for one in made) < count:
            message = messages[int(draw.integers(len(messages)))]
            at = int(draw.integers(len(message) - 1))
            letters = [spell(word) for word in message[at : at + 2]]
            if not all(letters) or (kind == "split" and len(letters[0]) < 2):
                continue
            meant = letters[0]
            if kind == "split":
                cut = int(draw.integers(1, len(meant)))
                letters = [meant[:cut], meant[cut:]]
            shift = noise.offset(seed, int(draw.integers(60)), noise.TAPPING.offset)
            is_noisy, scatter = draw.random() < 0.5, float(draw.choice(SCATTERS))
            points = [
                taps.points(noise.tap(part, draw, shift=shift) if is_noisy else perfect(part, draw, scatter))
                for part in letters
            ]
            if all(map(len, points)):
                develop = developing(f"{' '.join(letters)} {at}")
                made.append(Parted(kind, develop, *read(asked, list(message[:at]), points, meant)))
    return made


def read(
    asked: suggestions.Suggester, context: list[str], points: list[np.ndarray], meant: str
) -> tuple[float, float, bool, bool]:
    """Returns the last four fields of an item."""
    free = asked.parameters._replace(taps=asked.parameters.taps._replace(gap=0.0))
    first = asked._read(context, points[0], nearest(points[0]))
    second = asked._read([*context, *first.best.split()], points[1], nearest(points[1]))
    both = np.concatenate(points)
    one = decode.joined(asked.lexicon, both, asked._chances(context), free, first.decoded, second.decoded)
    words = first.decoded.is_word and second.decoded.is_word
    if one is None or " " in first.best:
        return -np.inf, 0.0, words, False
    return one.score - second.decoded.written, one.cost, words, asked.lexicon.spellings[one.word] == meant


def items(asked: suggestions.Suggester, folder: Path, seed: int) -> list[Item]:
    """Draws the items of a seed."""
    draw = np.random.default_rng(seed)
    people = typists()
    known = set(asked.lexicon.spellings)
    american = lists.fitted_words(folder)
    words_of = dictionary.of_locale(asked.locale)

    def listed(spelling: str) -> bool:
        return dictionary.lists(words_of, spelling, known.__contains__)

    def never(spelling: str) -> bool:
        return False

    made: list[Item | None] = []
    for number in range(COUNT["noisy"]):
        context, word = [], ""
        while not spell(word):
            message = [*contexts(people, draw)]
            context, word = message[:-1], message[-1]
        shift = noise.offset(seed, number % 60, noise.TAPPING.offset)
        points = noise.tap(spell(word), draw, shift=shift)
        made.append(item(asked, "noisy", context, points, spell(word), listed))
    pairs = [p for p in lists.fitted_misspellings(folder) if p[1] in known and p[0] not in known]
    times: Counter[str] = Counter()
    for wrong, right in lists.draw(pairs, len(pairs), seed):
        times[right] += 1
        if times[right] > 2 or sum(map(min, times.values(), len(times) * [2])) > COUNT["misspelt"]:
            continue  # some words have twenty misspellings
        points = perfect(wrong, draw, float(draw.choice(SCATTERS)))
        made.append(item(asked, "misspelt", contexts(people, draw), points, right, listed))
    for kind, words, asks in (
        ("listed", american - known, listed),
        ("unlisted", american - known, never),
        ("known", american & known, listed),
    ):
        for word in lists.draw(words, COUNT[kind], seed + len(kind)):
            points = perfect(str(word), draw, float(draw.choice(SCATTERS)))
            made.append(item(asked, kind, contexts(people, draw), points, str(word), asks))
    for _ in range(COUNT["joined"]):
        message = [*contexts(people, draw)]
        if len(message) > 2 and spell("".join(message[-2:])) and "".join(message[-2:]) not in known:
            points = perfect(spell("".join(message[-2:])), draw, 0.15)
            meant = " ".join(map(spell, message[-2:]))
            made.append(item(asked, "joined", message[:-2], points, meant, listed))
    return [one for one in made if one is not None]
