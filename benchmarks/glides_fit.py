"""Fits the channels of glides and the reject option (`tacit.keyboard.parameters.Glide`).

    python benchmarks/glides_fit.py MODEL LISTS

LISTS is the folder that `corrections_lists.py` describes. Simulated glides of 1,200 words of typists in their messages,
and of 400 words of wamerican that the model does not know, are decoded with several spreads. For each, the table shows
the share of wrong words, and for several values of `nothing` the share of wrong or rejected words and the share of
unknown words that are rejected.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import corrections_lists as lists
import numpy as np
from corrections_fit import contexts

from tacit.keyboard import decode, suggestions
from tacit.keyboard.layout import spell
from tacit.keyboard.measures import noise
from tacit.keyboard.parameters import DEFAULT, Parameters
from tacit.text import typed
from tacit.text.prepare import TextConfig
from tacit.text.typists import TypistsConfig

KNOWN, UNKNOWN = 1200, 400
SPREADS = ((0.24, 0.11, 1e6), (0.24, 0.11, 0.5), (0.24, 0.11, 0.6), (0.24, 0.11, 0.7), (0.28, 0.12, 0.6))
REJECTED = (14.0, 15.0, 16.0, 17.0, 18.0, 20.0)


def best(
    asked: suggestions.Suggester, trails: list[tuple[list[str], np.ndarray, str]], rules: Parameters
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the best score of each trail, and whether its word is the right one."""
    scores, right = [], []
    for context, trail, word in trails:
        found = decode.glided(asked.lexicon, asked.paths, trail, asked._chances(context), rules)
        scores.append(float(found.scores[0]) if len(found.words) else -np.inf)
        right.append(len(found.words) > 0 and asked.lexicon.spellings[int(found.words[0])] == word)
    return np.array(scores), np.array(right)


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("model", type=Path)
    given.add_argument("lists", type=Path)
    chosen = given.parse_args()
    asked, draw = suggestions.open(chosen.model), np.random.default_rng(6)
    people = typed.read(TextConfig(), TypistsConfig(users=60, seed=777), 0).messages  # not those measured
    words = set(asked.lexicon.spellings)
    known: list[tuple[list[str], np.ndarray, str]] = []
    while len(known) < KNOWN:
        *context, word = contexts(people, draw)
        if spell(word) in words:
            shift = noise.offset(6, len(known) % 60, noise.GLIDING.offset)
            known.append((context, noise.trail(spell(word), draw, shift=shift)[:, :2], spell(word)))
    unknown = [
        (contexts(people, draw), noise.trail(word, draw)[:, :2], word)
        for word in map(str, lists.draw(lists.fitted_words(chosen.lists) - words, UNKNOWN, 4))
    ]
    for location, shape, ends in SPREADS:
        spread = {"sigma_location": location, "sigma_shape": shape, "sigma_ends": ends, "nothing": 1e9}
        rules = DEFAULT._replace(glide=DEFAULT.glide._replace(**spread))
        (score, right), (other, _) = best(asked, known, rules), best(asked, unknown, rules)
        print(f"{location} {shape} {ends:g}: {1 - right.mean():.2%} wrong")
        for nothing in REJECTED:
            lost, refused = 1 - (right & (score >= -nothing)).mean(), (other < -nothing).mean()
            print(
                f"    nothing = {nothing:g}: {lost:.2%} wrong or rejected, {refused:.1%} of unknown words rejected"
            )


if __name__ == "__main__":
    main()
