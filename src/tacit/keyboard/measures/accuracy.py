"""How often the decoders find the word that was meant, on people's own sentences under simulated, seeded noise.

Each word that can be typed with the keys is typed (noise.py) after the true words before it, and decoded twice: by the
spatial model alone, all words of the lexicon being equally likely and the first of equals counting; and with the
language model, as a keyboard would do it, the literal channel included. A word is right if it is the word, capitals
aside. A word that the lexicon does not have cannot be right by the spatial model; by taps the literal may save it.
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

People = Sequence[Sequence[Sequence[str]]]  # of each person, messages as tokens

_WHICH, _TAPS, _GLIDES = stream("messages that are typed"), stream("taps"), stream("glides")


class Outcomes(NamedTuple):
    """What became of each word, all [words]."""

    person: Ints  # who typed it
    words: tuple[str, ...]  # as it was meant
    found: tuple[str, ...]  # as it was decoded with the language model; nothing if nothing was found
    known: Bools  # the lexicon has it
    spatial: Bools  # right by the spatial model alone
    decoded: Bools  # right with the language model
    seconds: Floats  # that decoding took

    def figures(self) -> dict[str, float]:
        """Shares of wrong words, of those that the lexicon has, and what is left of the spatial model's errors."""
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
    """A way to type: how a word is made into points, and how they are decoded by the spatial model alone and fully."""

    make: Callable[[str, int, int], Floats]  # spelling, person, number of the word
    near: Callable[[Floats], tapping.Found]
    decode: Callable[[Sequence[str], Floats], str]


def tap_accuracy(
    suggester: Suggester,
    people: People,
    noise: hands.TapNoise = hands.TAPPING,
    seed: int = 0,
    limit: int = 2000,
) -> Outcomes:
    """Noisy taps of at most `limit` words, messages of all people in a seeded order.

    >>> from tacit.lm.sources import dense
    >>> from tacit.keyboard.suggestions import over
    >>> words = ["<s>", "</s>", "<unk>", "see", "you", "soon"]
    >>> flat = over(dense(words, lambda context: np.log(np.full(6, 1 / 6))))
    >>> found = tap_accuracy(flat, [[["See", "you", "!"]], [["soon", ":)"]]])
    >>> sorted(found.words), sorted(found.person.tolist()), found.known.all().item()
    (['see', 'soon', 'you'], [0, 0, 1], True)
    """

    def make(keys: str, person: int, number: int) -> Floats:
        own = hands.offset(seed, person, noise.level * noise.offset)
        return hands.tap(keys, generator(seed, _TAPS, person, number), noise, own, suggester.layout)

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
    """The same for glides."""

    def make(keys: str, person: int, number: int) -> Floats:
        own = hands.offset(seed, person, noise.level * noise.offset)
        return hands.trail(keys, generator(seed, _GLIDES, person, number), noise, own, suggester.layout)[
            :, :2
        ]

    def decode(context: Sequence[str], line: Floats) -> str:
        best = suggester.glide(context, line, k=1)
        return best[0].word if best else ""

    paths = suggester.paths
    trial = _Trial(make, lambda line: glides.search(paths, line, suggester.parameters.glide), decode)
    return _measure(suggester, people, seed, limit, trial)


def _measure(suggester: Suggester, people: People, seed: int, limit: int, trial: _Trial) -> Outcomes:
    ids = suggester.lexicon.ids
    known = {suggester.source.words[i].lower() for i in ids.tolist()}
    who, words, answers, spatial, seconds = [], [], [], [], []
    for number, (person, message, at) in enumerate(_words(people, seed, limit)):
        points = trial.make(spell(message[at]), person, number)
        begin = perf_counter()
        answers.append(trial.decode(message[:at], points))
        seconds.append(perf_counter() - begin)
        near = trial.near(points)  # the first of equals, if there is any
        cheapest = (
            suggester.source.words[int(ids[near.words[near.costs.argmin()]])] if len(near.words) else ""
        )
        spatial.append(cheapest)
        who.append(person)
        words.append(message[at].lower())
    pairs = list(zip(words, spatial, answers, strict=True))
    return Outcomes(
        person=np.array(who, np.int64),
        words=tuple(words),
        found=tuple(answers),
        known=np.array([word in known for word in words], np.bool_),
        spatial=np.array([one.lower() == word for word, one, _ in pairs], np.bool_),
        decoded=np.array([other.lower() == word for word, _, other in pairs], np.bool_),
        seconds=np.array(seconds),
    )


def _words(people: People, seed: int, limit: int) -> Iterator[tuple[int, Sequence[str], int]]:
    """Words that can be typed, message by message in a seeded order, until the limit is reached."""
    every = [(person, i) for person, said in enumerate(people) for i in range(len(said))]
    order = np.argsort(uniform(seed, _WHICH, np.arange(len(every))), kind="stable")
    count = 0
    for place in order.tolist():
        person, i = every[place]
        for at, word in enumerate(people[person][i]):
            if count >= limit:
                return
            if spell(word):
                count += 1
                yield person, people[person][i], at
