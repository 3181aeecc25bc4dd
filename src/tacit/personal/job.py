"""Reads the input of a personalisation: a run, the options, and people with their text.

Only people excluded from training are evaluated: held-out people, newly generated typists, or everybody of a different
corpus.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tacit import runs
from tacit.base.errors import TacitError
from tacit.base.progress import Progress, no_progress
from tacit.personal import gate, private
from tacit.personal.private import Protection
from tacit.personal.split import LEAST_MESSAGES, LEAST_WORDS, SHARES, Users, check_shares, split
from tacit.text.catalogue import same_corpus
from tacit.text.corpus import Corpus, fits
from tacit.text.encode import everybody, numbered, of_people, packed
from tacit.text.held_out import LONGEST_SCORED
from tacit.text.packed import Packed, join
from tacit.text.prepare import read_population
from tacit.text.typists import Typists

TYPISTS = 100  # number of generated typists, unless `users` is given


@dataclass(frozen=True)
class PersonalOptions:
    """Holds the settings of a personalisation."""

    corpus: str | None = None  # None: that of the run
    batches: tuple[int, ...] = (5, 10, 20)  # B, in sentences
    rates: tuple[float, ...] = (0.01, 0.1, 1.0)  # L
    max_tokens: int = 5000  # T; 0: no limit
    epochs: int = 1  # E
    users: int = 0  # at most; 0: everybody, or 100 typists
    margin: float | None = None  # None: chosen from other people's sums
    split: tuple[int, int, int] = (
        SHARES  # per cent of a person's words: to tune on, for the gate, to measure on
    )
    condition: gate.Condition = gate.ANYBODY  # what the gate asks beside the margin
    keep: int = 10  # personal models stored, at most
    strategies: bool = False  # also try parts of the model, mixtures and the cache
    protection: Protection = private.NONE  # of the sums over people


class Job(NamedTuple):
    """Holds a run, and people to personalise its model for."""

    run: runs.Run
    options: PersonalOptions
    whose: str  # description of the people, for reports
    users: Users


def check_options(options: PersonalOptions) -> None:
    """Refuses settings that cannot be tried."""
    private.check(options.protection)
    check_shares(options.split)
    gate.check_condition(options.condition)
    if options.margin is not None:
        gate.check_margin(options.margin)
    if not options.batches or min(options.batches) < 1:
        raise TacitError("--batch must be whole numbers of at least 1, like 5,10,20")
    if not options.rates or not all(0 < rate < float("inf") for rate in options.rates):
        raise TacitError("--lr must be numbers above 0, like 0.01,0.1,1.0")


def read_job(
    path: Path, options: PersonalOptions, data: Path | None = None, progress: Progress = no_progress
) -> Job:
    """Reads the run and the text, and splits it in time.

    People with too little text are counted and left out; there may be nobody left (`check_people`).
    """
    run = runs.load(path)
    whose, text = people(run, options, data, progress)
    ends = run.spelling.pieces.ends if run.spelling else None
    return Job(run, options, whose, split(text, options.users, run.config.seed, options.split, ends))


def read_word_run(path: Path) -> runs.Run:
    """Reads a run for the clients of a federation, which get its words; refuses one over word-pieces."""
    run = runs.load(path)
    if run.spelling:
        raise TacitError(
            f"{path} is over word-pieces, which a federation does not support; give a run over words, or use "
            "`tacit personalize`"
        )
    return run


def check_people(job: Job) -> None:
    """Refuses a job in which nobody has enough text."""
    if not len(job.users):
        raise TacitError(
            f"{job.whose}: none of {sum(job.users.left_out.values()):,} people has enough text ({LEAST_MESSAGES} "
            f"messages, {LEAST_WORDS} words, a known word in each part); give a corpus with more text of each person"
        )


def people(
    run: runs.Run, options: PersonalOptions, data: Path | None = None, progress: Progress = no_progress
) -> tuple[str, Packed]:
    """Returns a description of the people, and their text: whole messages, oldest first."""
    config, lower = run.config, run.config.text.case == "lower"
    corpus = options.corpus or config.text.corpus
    is_same = same_corpus(corpus, config.text.corpus, data)
    same = dataclasses.replace(config.text, corpus=corpus) if is_same else None
    if corpus == "typists":
        return _new_typists(run, options.users or TYPISTS, progress)
    source = None if same else read_population(config.text.of(corpus), config.typists, data, progress)
    if isinstance(source, Corpus) and fits(source, config.text.fingerprint):
        same = dataclasses.replace(config.text, corpus=corpus)  # the run's corpus in another file
    if same:
        ready = runs.prepare(dataclasses.replace(config, text=same), run.encoder, data, progress)
        if len(ready.valid) == len(ready.test) == 1 and ready.seen is None:
            raise _without_people(corpus)
        return f"{corpus}, held-out people", join([ready.valid, ready.test])
    if not isinstance(source, Corpus) or len(source) == 1:
        raise _without_people(corpus)
    text = everybody(source, lower, progress, config.text.locale)
    return f"{corpus}, everybody", packed(
        text, of_people(text, np.arange(len(source)), LONGEST_SCORED), run.encoder
    )


def _new_typists(run: runs.Run, count: int, progress: Progress) -> tuple[str, Packed]:
    """Generates typists of the same kind as the run's, numbered after them."""
    config = run.config
    first = config.typists.users
    generated = Typists(dataclasses.replace(config.typists, users=first + count))
    numbers = np.arange(first, first + count)
    sizes, lower = generated.sizes()[numbers], config.text.case == "lower"
    text = numbered(generated, numbers, sizes, lower, progress, config.text.locale)
    name = f"typists {first} to {first + count - 1}, not in the run's training"
    return name, packed(text, of_people(text, np.arange(count), LONGEST_SCORED), run.encoder)


def _without_people(corpus: str) -> TacitError:
    return TacitError(
        f"{corpus} does not say who wrote what, so there is nobody to personalise for; give --corpus with JSON lines "
        "of users, or typists"
    )
