"""Trains a run: makes the rounds, evaluates after them, and writes the run directory.

If several processes train together (`federated.hosts`), all run this code, but only the first uses the directory: it
reads and writes, and sends the others what it read.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from tacit import __version__
from tacit.base import settings
from tacit.base.errors import Diverged, TacitError
from tacit.base.files import append_line, held
from tacit.base.progress import Progress, no_progress
from tacit.base.randomness import stream, uniform
from tacit.federated import hosts
from tacit.federated.central import central
from tacit.federated.evaluation import Scorer, scorer
from tacit.federated.objective import next_word_loss
from tacit.federated.rounds import Algorithm, Trainer
from tacit.federated.text_cohorts import text_federation
from tacit.models import LanguageModel, count_parameters, language_model
from tacit.runs import directory, outcome
from tacit.runs.callbacks import Callback
from tacit.runs.config import Config
from tacit.runs.data import prepare
from tacit.runs.directory import Best
from tacit.scoring.scores import overall, per_piece
from tacit.text.packed import Packed
from tacit.text.prepare import Prepared

_VALIDATE = stream("validation sentences")
_MEASURED = ("perplexity", "top1", "top3", "oov", "sll", "sll_without_oov")  # after each round


class _Begun(NamedTuple):
    """What the rounds of a run need, all of it checked."""

    config: Config
    out: Path
    ready: Prepared
    trainer: Trainer
    score: Scorer
    state: Any
    done: int  # rounds made before this process
    best: Best | None


def train(
    config: Config,
    out: Path,
    resume: bool = False,
    data: Path | None = None,
    callbacks: Sequence[Callback] = (),
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Trains a configuration in the directory `out` and returns the summary of the run."""
    with contextlib.ExitStack() as stack:
        exists = out.is_dir()
        if hosts.first():
            if exists:
                stack.enter_context(held(out))
            directory.check(config, out, resume)
            config = directory.as_begun(config, out)
        else:
            callbacks, progress = (), no_progress  # the first process reports for all
        words = directory.read_words(config, out) if hosts.first() and directory.has_words(out) else None
        ready = prepare(config, words, data, progress)
        hosts.agree(_identity(config, ready))
        model = language_model(config.model, len(ready.vocabulary))
        trainer, score = make_trainer(config, model, ready), scorer(model, ready.spelling)
        begun = _Begun(config, out, ready, trainer, score, *_restore(config, out, trainer))
        if hosts.first():  # nothing is written before everything has been checked
            if not exists:
                directory.place(out)
                stack.enter_context(held(out))
                # another process may have made a run here in the meantime
                directory.check(config, out, False)
            directory.make(directory.with_fingerprint(config, ready.fingerprint), out)
            if words is None:
                directory.write_words(out, ready.vocabulary, ready.spelling)
        try:
            for callback in callbacks:
                callback.begin(config, begun.done, count_parameters(begun.state.params))
            best = _rounds(begun, callbacks)
        finally:  # also when a round failed: a progress bar must be closed
            for callback in callbacks:
                callback.end()
        assert best is not None  # the last round is always evaluated
        return outcome.summarise(config, out, model, score, ready, best)


def _rounds(run: _Begun, callbacks: Sequence[Callback]) -> Best | None:
    """Makes the remaining rounds and returns the best one."""
    config, out, state, best = run.config.training, run.out, run.state, run.best
    valid = sample(run.ready.valid, config.evaluate_sentences, run.config.seed)
    started = time.perf_counter()
    for done in range(run.done + 1, config.rounds + 1):
        state, facts = run.trainer.round(state, done - 1)
        record: dict[str, Any] = {"round": done, **{k: v for k, v in facts.items() if math.isfinite(v)}}
        better = False
        if done % config.evaluate_every == 0 or done == config.rounds:
            with np.errstate(over="ignore"):  # a diverged model is reported below
                scores = run.score(state.params, valid)
                measured, extra = overall(scores), per_piece(scores, valid, run.ready.spelling)
            record |= {f"valid_{k}": measured[k] for k in _MEASURED}
            record |= {f"valid_{k}": v for k, v in extra.items()}
            if not math.isfinite(measured["perplexity"]):
                noise = " or aggregation.noise" if run.config.aggregation.noise else ""
                rates = "central.lr" if config.mode == "central" else f"client.lr or server.lr{noise}"
                raise Diverged(
                    f"round {done}: validation perplexity is not finite, training has diverged; lower {rates}; "
                    "the last good checkpoint is kept"
                )
            value = measured[config.best]
            if better := best is None or (
                value < best.value if config.best == "perplexity" else value > best.value
            ):
                best = Best(done, value)
        if not hosts.first():
            continue
        if better:
            directory.save(out, directory.BEST, state.params, done, best)
        append_line(out / directory.METRICS, record)
        now = time.perf_counter()
        append_line(out / directory.TIMINGS, {"round": done, "seconds": round(now - started, 4)})
        started = now
        if done % config.checkpoint_every == 0 or done == config.rounds:
            directory.save(out, directory.LAST, state, done, best)
        for callback in callbacks:
            callback.round(record)
    return best


def _identity(config: Config, ready: Prepared) -> dict[str, bytes]:
    """Returns what all processes of a job must have in common; the path of the corpus may differ between hosts."""
    text = dataclasses.replace(config.text, corpus="", inventory="", words="", fingerprint=ready.fingerprint)
    parts = [ready.clients.sizes, ready.valid.tokens, ready.test.tokens]
    return {
        "versions": f"{__version__} {jax.__version__}".encode(),
        "settings": settings.dump(dataclasses.replace(config, text=text)).encode(),
        "words": "\n".join(ready.vocabulary.words).encode(),
        "text": b"".join(np.ascontiguousarray(part).tobytes() for part in parts),
    }


def _restore(config: Config, out: Path, trainer: Trainer) -> tuple[Any, int, Best | None]:
    """Returns the state to resume from, as the first process reads it: the last checkpoint, or a new model."""
    state = trainer.init(jax.random.key(config.seed))
    done, best = 0, None
    if hosts.first():
        state, done, best = directory.read_last(out, config.training, state)
    figures = np.array([done, *(best or (0, 0.0))])
    state, (done, round_, value) = hosts.from_first((state, figures))
    return state, int(done), Best(int(round_), float(value)) if round_ else None


def make_trainer(config: Config, model: LanguageModel, ready: Prepared) -> Trainer:
    """Returns the trainer of a configuration."""
    loss = next_word_loss(model)
    training = config.training
    if training.mode == "central":
        if not isinstance(ready.clients, Packed):
            raise TacitError("training.mode = 'central' needs all text in one place; lower typists.users")
        return central(model.init, loss, ready.clients, config.central, config.seed, training.rounds)
    algorithm = Algorithm(config.client, config.aggregation, config.server, config.sampling)
    return text_federation(
        model.init,
        loss,
        algorithm,
        ready.clients,
        config.seed,
        training.rounds,
        training.executor,
        training.lanes_mb,
    )


def sample(text: Packed, sentences: int, seed: int) -> Packed:
    """Draws at most `sentences` sentences of a text at random; each keeps its typist."""
    total = len(text.offsets) - 1
    if total <= sentences:
        return text
    chosen = np.sort(np.argsort(uniform(seed, _VALIDATE, np.arange(total)), kind="stable")[:sentences])
    return text.take(chosen, np.searchsorted(chosen, text.owners), text.names)
