"""Tries strategies on simulated devices: from split text to outcomes.

A trial is prepared once: the global model is measured on the second and third parts of everybody's text, and which
words it got right is kept for all strategies. `evaluate` tunes on the first two parts and measures on the third
(paper 3); `look` tunes on the first part and measures on the second and on the third (the gate). Outcomes hold one
entry for each person, which stays on that person's device; only reports made from it (`sums`, `gate`) leave.

A model over word-pieces is measured in words, as everywhere (`tacit.scoring.scores`): a word of several pieces is a
miss. Its T counts pieces, which are what it is tuned on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import jax
import numpy as np

from tacit.base.progress import Progress, no_progress, stage
from tacit.federated.client_config import ClientConfig
from tacit.models.base import LanguageModel, Params
from tacit.personal import groups, split, tuning
from tacit.personal.groups import Batches, Exam, Group
from tacit.personal.mixing import ALONE, mixture, remember
from tacit.personal.model_parts import model_part
from tacit.personal.split import Users
from tacit.personal.strategies import Strategy, rates_for
from tacit.personal.sums import Outcome, outcome
from tacit.personal.tuning import Marks
from tacit.text.packed import Packed, Rows
from tacit.text.pieces import Pieces


@dataclass(frozen=True)
class Tuning:
    """Holds the settings of fine-tuning other than B and L."""

    max_tokens: int = 5000  # T; 0: no limit
    epochs: int = 1  # E
    max_words: int = 30  # longer messages are split into several sequences, as in training; 0: whole
    batching: Literal["words", "sentences"] = "words"  # see tacit.federated.batching
    seed: int = 0


class Later(NamedTuple):
    """Text to measure on, and the global model's marks on it."""

    exam: Exam
    words: np.ndarray  # [users]
    predictions: np.ndarray  # [users]
    before: Marks  # of the global model, [users]


class Trial(NamedTuple):
    """People, ready to be personalised."""

    model: LanguageModel
    params: Params
    users: Users
    options: Tuning
    tokens: np.ndarray  # [users], words and ends in the first two parts
    second: Later
    third: Later
    pieces: Pieces | None = None  # of a model over word-pieces

    @property
    def ends(self) -> np.ndarray | None:
        """Which tokens end a word, [V]; None: each is one."""
        return self.pieces.ends if self.pieces else None


def prepare(
    model: LanguageModel,
    params: Params,
    users: Users,
    options: Tuning,
    progress: Progress = no_progress,
    pieces: Pieces | None = None,
) -> Trial:
    """Measures the global model on the second and third parts; a model over word-pieces needs its inventory."""
    texts = [split.text_of_parts(users, i, i + 1) for i in (1, 2)]
    blank = [tuning.measuring_batches(text, users.ids) for text in texts]
    exams = tuple(Exam(b, np.zeros(b.rows.targets.shape, bool)) for b in blank)
    group = Group(users.ids.astype(np.int32), _no_batches(len(users)), exams, ())
    size = groups.together(model, params)
    (measured,) = groups.in_groups(
        tuning.measuring(model, pieces=pieces), params, group, [np.zeros(len(users))], size, progress
    )
    ends = pieces.ends if pieces else None
    second, third = (
        Later(Exam(b, right), _words(text, ends), _words_and_ends(text, ends), marks)
        for b, text, (marks, right) in zip(blank, texts, measured, strict=True)
    )
    tokens = _words_and_ends(split.text_of_parts(users, 0, 2), ends)
    return Trial(model, params, users, options, tokens, second, third, pieces)


def _no_batches(users: int) -> Batches:
    none = np.full((users, 1, 1, 1), -1, np.int32)
    return Batches(Rows(np.zeros_like(none), none), np.zeros(users, np.int32))


def _per_user(text: Packed, values: np.ndarray) -> np.ndarray:
    return np.bincount(np.repeat(np.arange(len(text)), text.sizes), values, len(text)).astype(np.int64)


def _words(text: Packed, ends: np.ndarray | None) -> np.ndarray:
    return _per_user(text, split.words_in(text, ends))


def _words_and_ends(text: Packed, ends: np.ndarray | None) -> np.ndarray:
    return _words(text, ends) + text.sizes


def evaluate(
    trial: Trial, strategies: Sequence[Strategy], progress: Progress = no_progress
) -> dict[Strategy, Outcome]:
    """Tunes each strategy on the first two parts and measures it on the third (paper 3)."""
    by_strategy = _outcomes(
        trial, strategies, split.text_of_parts(trial.users, 0, 2), (trial.third,), progress
    )
    return {strategy: outcomes[0] for strategy, outcomes in by_strategy.items()}


def look(
    trial: Trial, strategies: Sequence[Strategy], progress: Progress = no_progress
) -> dict[Strategy, tuple[Outcome, Outcome]]:
    """Tunes each strategy on the first part and measures it on the second part and the third (the gate)."""
    text = split.text_of_parts(trial.users, 0, 1)
    by_strategy = _outcomes(trial, strategies, text, (trial.second, trial.third), progress)
    return {strategy: (outcomes[0], outcomes[1]) for strategy, outcomes in by_strategy.items()}


def tuned_models(trial: Trial, strategy: Strategy, which: np.ndarray) -> list[Any]:
    """Returns what these people's devices would store: the weights tuned on the first part, one tree each."""
    everybody = _group(
        trial, strategy, split.text_of_parts(trial.users, 0, 1), ()
    )  # batches as the gate had them
    group = jax.tree.map(lambda a: a[which], everybody)
    program = tuning.personalisation(
        trial.model, _client(trial.options, strategy.batch), model_part(strategy.part), keep=True
    )
    rates = rates_for(strategy, trial.tokens[which])
    (tuned,) = groups.in_groups(
        program, trial.params, group, [rates], groups.together(trial.model, trial.params)
    )
    return [jax.tree.map(lambda a, k=k: a[k], tuned.model) for k in range(len(which))]


def _client(options: Tuning, batch: int) -> ClientConfig:
    """Returns plain SGD in batches of that many sentences, packed as in the run."""
    return ClientConfig(epochs=options.epochs, batch=batch, batching=options.batching)


def _group(trial: Trial, strategy: Strategy, text: Packed, parts: Sequence[Later]) -> Group:
    options = trial.options
    short = split.shortened(text, options.max_words, trial.ends)
    client = _client(options, strategy.batch)
    shape = tuning.tuning_grid(short, client, options.max_words)
    batches = tuning.tuning_batches(short, trial.users.ids, client, options.seed, shape, options.max_tokens)
    exams = tuple(part.exam for part in parts)
    memory = () if strategy.mix == ALONE else remember(text)
    return Group(trial.users.ids.astype(np.int32), batches, exams, memory)


def _outcomes(
    trial: Trial, strategies: Sequence[Strategy], text: Packed, parts: Sequence[Later], progress: Progress
) -> dict[Strategy, tuple[Outcome, ...]]:
    """Tunes and measures strategies; those that differ only in rate or mixture share a program and its batches."""
    model, params, users = trial.model, trial.params, trial.users
    alike: dict[tuple[int, str, bool], list[Strategy]] = {}
    for s in strategies:
        alike.setdefault((s.batch, s.part, s.mix == ALONE), []).append(s)
    outcomes: dict[Strategy, tuple[Outcome, ...]] = {}
    for i, ((batch, part, alone), similar) in enumerate(alike.items()):
        now = stage(progress, i / len(alike), (i + 1) / len(alike))
        mixes = tuple(dict.fromkeys(s.mix for s in similar))
        reading = None if alone else mixture(model, mixes)
        program = tuning.personalisation(
            model, _client(trial.options, batch), model_part(part), reading, pieces=trial.pieces
        )
        plain = [replace(s, mix=mixes[0]) for s in similar]  # one tuning serves all mixtures
        distinct = list(dict.fromkeys(plain))
        rates = [rates_for(s, trial.tokens) for s in distinct]
        size = groups.together(model, params, len(mixes))
        group = _group(trial, distinct[0], text, parts)
        results = dict(zip(distinct, groups.in_groups(program, params, group, rates, size, now), strict=True))
        for s, first in zip(similar, plain, strict=True):
            tuned, reading_of = results[first], mixes.index(s.mix)
            outcomes[s] = tuple(
                outcome(
                    users.ids,
                    trial.tokens,
                    p.words,
                    p.predictions,
                    p.before,
                    jax.tree.map(lambda a, r=reading_of: a[:, r], marks),
                    tuned.finite,
                )
                for p, marks in zip(parts, tuned.marks, strict=True)
            )
    return {s: outcomes[s] for s in strategies}
