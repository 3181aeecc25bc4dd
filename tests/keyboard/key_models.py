"""Small models for the tests of decoders and suggestions, and taps on the middles of keys."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import jax
import numpy as np

from tacit.keyboard.layout import centre, spell
from tacit.keyboard.parameters import DEFAULT, Parameters
from tacit.keyboard.suggestions import Suggester, over
from tacit.lm.dense import dense
from tacit.models import language_model
from tacit.ngram import automaton, kneser_ney
from tacit.ngram.automaton import Automaton
from tacit.ngram.model import automaton_source
from tacit.runs import directory
from tacit.runs.config import resolve
from tacit.runs.format import dump
from tacit.text.vocabulary import SPECIALS, Vocabulary

TALK = """the vampire drank blood
a vampire drank the blood of the count
the count is a vampire
good value for money
the best value for your money
great value for the price
i want to go too
we want to go
me too
don't go
i don't know
we form a line
a letter from the cat
the cat sat
they drove the car home
she is from the town"""


def model_of(text: str = TALK, order: int = 3) -> tuple[Vocabulary, Automaton]:
    """A Kneser-Ney model of these lines over their own words."""
    lines = [line.split() for line in text.splitlines()]
    words = Vocabulary((*SPECIALS, *dict.fromkeys(w for line in lines for w in line)))
    ids = [words.encode(line) for line in lines]
    fitted = kneser_ney.fit(
        np.concatenate(ids), np.cumsum([0, *map(len, ids)]), vocabulary=len(words), order=order
    )
    return words, automaton.from_kneser_ney(fitted)


def talk(text: str = TALK, block: Sequence[str] = (), parameters: Parameters = DEFAULT) -> Suggester:
    return over(automaton_source(*model_of(text)), block, parameters)


def flat(words: Sequence[str], block: Sequence[str] = ()) -> Suggester:
    """All words equally likely, whatever the context."""
    log_p = np.full(len(words) + len(SPECIALS), -np.log(len(words) + 1.0))
    return over(dense([*SPECIALS, *words], lambda context: log_p), block)


def taps_of(keys: str) -> np.ndarray:
    """Taps on the middles of these keys."""
    return np.array([centre(c) for c in spell(keys)]).reshape(-1, 2)


def write_run(path: Path, words: Vocabulary) -> Path:
    """A run directory of a network that has learnt nothing yet."""
    config = resolve("fedavg", ["model.embedding=8", "model.hidden=8"])
    (path / "checkpoints").mkdir(parents=True)
    (path / "config.toml").write_text(dump(config), "utf-8")
    words.save(path / "vocabulary.txt")
    params = language_model(config.model, len(words)).init(jax.random.key(1))
    params = jax.tree.map(lambda a: 10 * a, params)  # opinions
    directory.save(path, directory.BEST, params, 1, None)
    return path
