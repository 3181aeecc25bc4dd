"""Accuracy of the decoders: the share of words that they recover from simulated noisy taps and glides.

Each word of people's messages that the keys can type is typed with seeded noise (noise.py) after the true preceding
words, and decoded twice:
- by the spatial model alone: all words of the lexicon are equally likely, and the first of several equals counts;
- with the language model, as a keyboard does it, including the literal.

A decoded word is right if it equals the intended word, ignoring capitals. The spatial model never recovers a word
outside the lexicon; with taps the literal may.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import NamedTuple

import numpy as np

from tacit.base.arrays import Bools, Floats, Ints
from tacit.base.randomness import generator, stream, uniform
from tacit.keyboard import glide as glides
from tacit.keyboard import taps as tapping
from tacit.keyboard.layout import spell
from tacit.keyboard.measures import noise as hands
from tacit.keyboard.suggestions import Suggester

People = Sequence[Sequence[Sequence[str]]]  # each person's messages, as tokens

_WHICH, _TAPS, _GLIDES = stream("messages that are typed"), stream("taps"), stream("glides")


class Outcomes(NamedTuple):
    """The result for each word, all [words]."""

    person: Ints  # who typed it
    words: tuple[str, ...]  # the intended word
    guesses: tuple[str, ...]  # the word decoded with the language model; "" if there is none
    known: Bools  # whether the lexicon contains the intended word
    spatial: Bools  # right by the spatial model alone
    decoded: Bools  # right with the language model
    seconds: Floats  # decoding time with the language model

    def figures(self) -> dict[str, float]:
        """Returns error rates over words of the lexicon, their ratio, and the error rate over unknown words."""
        known = self.known
        spatial, decoded = float(1 - self.spatial[known].mean()), float(1 - self.decoded[known].mean())
        return {
            "words": float(known.sum()),
            "unknown": float((~known).mean()),
            "spatial_errors": spatial,
            "errors": decoded,
            "ratio": decoded / spatial if spatial else float("nan"),
            "errors_unknown": float(1 - self.decoded[~known].mean()) if (~known).any() else float("nan"),
        }


class _Trial(NamedTuple):
    """One input method: simulates a word's points and decodes them, by the spatial model alone and with the model."""

    make: Callable[[str, int, int], Floats]  # spelling, person, number of the word
    near: Callable[[Floats], tapping.Matches]
    decode: Callable[[Sequence[str], Floats], str]


def tap_accuracy(
    suggester: Suggester,
    people: People,
    noise: hands.TapNoise = hands.TAPPING,
    seed: int = 0,
    limit: int = 2000,
) -> Outcomes:
    """Measures noisy taps of at most `limit` words, taking messages of all people in a seeded order.

    >>> from tacit.lm.dense import dense
    >>> from tacit.keyboard.suggestions import over
    >>> words = ["<s>", "</s>", "<unk>", "see", "you", "soon"]
    >>> flat = over(dense(words, lambda context: np.log(np.full(6, 1 / 6))))
    >>> outcomes = tap_accuracy(flat, [[["See", "you", "!"]], [["soon", ":)"]]])
    >>> sorted(outcomes.words), sorted(outcomes.person.tolist()), outcomes.known.all().item()
    (['see', 'soon', 'you'], [0, 0, 1], True)
    """

    def make(keys: str, person: int, number: int) -> Floats:
        shift = hands.offset(seed, person, noise.level * noise.offset)
        return hands.tap(keys, generator(seed, _TAPS, person, number), noise, shift, suggester.layout)

    trial = _Trial(
        make,
        lambda points: tapping.search(suggester.lexicon, points, suggester.parameters.taps),
        lambda context, points: suggester.correct(context, points).best,
    )
    return _measure(suggester, people, seed, limit, trial)


def glide_accuracy(
    suggester: Suggester,
    people: People,
    noise: hands.GlideNoise = hands.GLIDING,
    seed: int = 0,
    limit: int = 2000,
) -> Outcomes:
    """Measures noisy glides like `tap_accuracy`."""

    def make(keys: str, person: int, number: int) -> Floats:
        shift = hands.offset(seed, person, noise.level * noise.offset)
        draw = generator(seed, _GLIDES, person, number)
        return hands.trail(keys, draw, noise, shift, suggester.layout)[:, :2]

    def decode(context: Sequence[str], line: Floats) -> str:
        best = suggester.glide(context, line, k=1)
        return best[0].word if best else ""

    paths = suggester.paths
    trial = _Trial(make, lambda line: glides.search(paths, line, suggester.parameters.glide), decode)
    return _measure(suggester, people, seed, limit, trial)


def _measure(suggester: Suggester, people: People, seed: int, limit: int, trial: _Trial) -> Outcomes:
    ids = suggester.lexicon.ids
    lower = suggester.locale.lower
    known = {lower(suggester.source.words[i]) for i in ids.tolist()}
    who, words, answers, spatial, seconds = [], [], [], [], []
    for number, (person, message, at) in enumerate(_words(suggester, people, seed, limit)):
        points = trial.make(spell(message[at], suggester.layout), person, number)
        begin = perf_counter()
        answers.append(trial.decode(message[:at], points))
        seconds.append(perf_counter() - begin)
        near = trial.near(points)
        cheapest = (  # argmin: the first of equals
            suggester.source.words[int(ids[near.words[near.costs.argmin()]])] if len(near.words) else ""
        )
        spatial.append(cheapest)
        who.append(person)
        words.append(lower(message[at]))
    pairs = list(zip(words, spatial, answers, strict=True))
    return Outcomes(
        person=np.array(who, np.int64),
        words=tuple(words),
        guesses=tuple(answers),
        known=np.array([word in known for word in words], np.bool_),
        spatial=np.array([lower(one) == word for word, one, _ in pairs], np.bool_),
        decoded=np.array([lower(other) == word for word, _, other in pairs], np.bool_),
        seconds=np.array(seconds),
    )


def _words(
    suggester: Suggester, people: People, seed: int, limit: int
) -> Iterator[tuple[int, Sequence[str], int]]:
    """Yields (person, message, index) of words that can be typed, by message in a seeded order, up to the limit."""
    every = [(person, i) for person, messages in enumerate(people) for i in range(len(messages))]
    order = np.argsort(uniform(seed, _WHICH, np.arange(len(every))), kind="stable")
    count = 0
    for place in order.tolist():
        person, i = every[place]
        for at, word in enumerate(people[person][i]):
            if count >= limit:
                return
            if spell(word, suggester.layout):
                count += 1
                yield person, people[person][i], at
