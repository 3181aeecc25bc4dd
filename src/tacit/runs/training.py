"""Trains a run: makes the rounds, evaluates after them, and writes the run directory.

If several processes train together (`federated.hosts`), all run this code, but only the first uses the directory: it
reads and writes, and sends the others what it read.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from tacit import __version__
from tacit.base import memory, settings
from tacit.base.cores import check_devices
from tacit.base.errors import Diverged, TacitError
from tacit.base.files import append_line
from tacit.base.locks import held
from tacit.base.progress import Progress, no_progress
from tacit.base.randomness import stream, uniform
from tacit.federated import hosts
from tacit.federated.algorithm import Trainer, without_noise
from tacit.federated.batching import Grid
from tacit.federated.buffered import text_buffered
from tacit.federated.central import central
from tacit.federated.devices import device_bytes
from tacit.federated.evaluation import Scorer, scorer
from tacit.federated.objective import next_word_loss
from tacit.federated.text_cohorts import public_grid, text_federation
from tacit.federated.word_counts import log_frequencies, with_bias, word_counts
from tacit.models import LanguageModel, count_parameters, language_model
from tacit.models.base import Params
from tacit.privacy import ledger
from tacit.privacy.ledger import Release
from tacit.privacy.plan_file import Plan
from tacit.runs import directory, outcome, privacy
from tacit.runs.attacked import attack_of
from tacit.runs.callbacks import Callback
from tacit.runs.conditions import refuse_in_simulator
from tacit.runs.config import Config, algorithm
from tacit.runs.data import prepare
from tacit.runs.directory import Best
from tacit.scoring.scores import overall, per_piece
from tacit.text.locale import find
from tacit.text.locale_script import remark
from tacit.text.packed import Packed
from tacit.text.prepare import Prepared

_VALIDATE = stream("validation sentences")
# after each round; the last one of a piece model only
_MEASURED = ("perplexity", "top1", "top3", "oov", "sll", "sll_without_oov", "perplexity_per_piece")


class Begun(NamedTuple):
    """Holds everything that the rounds of a run need, checked."""

    config: Config
    out: Path
    trainer: Trainer
    measure: Callable[[Params], dict[str, float]]  # metrics of a model on validation text; {}: there are none
    state: Any
    done: int  # rounds made before this process
    best: Best | None
    rounds: int  # that training makes in all: those of the configuration, or fewer if a budget ends


def train(
    config: Config,
    out: Path,
    resume: bool = False,
    data: Path | None = None,
    callbacks: Sequence[Callback] = (),
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Trains a configuration in the directory `out` and returns the summary of the run."""
    check_devices()
    refuse_in_simulator(config.conditions)
    plan = privacy.plan_of(config, out)
    config = privacy.planned(config, plan)
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
        check_memory(config, model)
        privacy.check_population(config, plan, len(ready.clients))
        privacy.check_same_population(config, out, len(ready.clients))
        privacy.check_budget(config, out)
        trainer, score = make_trainer(config, model, ready), scorer(model, ready.spelling)
        state, done, best_before = restore(config, out, trainer)
        rounds = last_round(config, plan, out, done)
        begun = Begun(config, out, trainer, _measure(config, score, ready), state, done, best_before, rounds)
        if hosts.first():  # nothing is written before everything has been checked
            if not exists:
                directory.place(out)
                stack.enter_context(held(out))
                # another process may have made a run here in the meantime
                directory.check(config, out, False)
            # a hash of everybody's text would let anybody check a guess of one person's
            known = ready.people if config.privacy.noisy else ready.fingerprint
            directory.make(directory.with_fingerprint(config, known), out)
            privacy.begin(config, out, len(ready.clients))
            if words is None:
                directory.write_words(out, ready.vocabulary, ready.spelling)
        try:
            for callback in callbacks:
                if line := remark(ready.vocabulary.words, find(config.text.locale)):
                    callback.remark(line)
                callback.begin(config, begun.done, count_parameters(begun.state.params))
            best = make_rounds(begun, callbacks)
        finally:  # also when a round failed: a progress bar must be closed
            for callback in callbacks:
                callback.end()
        assert best is not None  # the last round is always evaluated
        said = dict(zip(("epsilon", "epsilon_reason"), privacy.epsilon(config, plan, out), strict=True))
        if rounds < config.training.rounds:
            said["stopped"] = stopped(config, rounds)
        return outcome.summarise(config, out, model, score, ready, best, said)


def last_round(config: Config, plan: Plan | None, out: Path, done: int) -> int:
    """Returns the round at which training ends: the last, or the last that the budget allows."""
    left = privacy.rounds_left(config, plan, out) if hosts.first() else 0
    left = int(hosts.from_first(np.array([left]))[0])
    if done + left == 0:
        raise TacitError(
            f"privacy.epsilon = {config.privacy.epsilon:g} allows no round with this plan; raise it or make "
            "another plan"
        )
    return min(config.training.rounds, done + left)


def stopped(config: Config, rounds: int) -> str:
    """Returns why a run ended before its last round."""
    return f"after round {rounds}: another would exceed the budget ε = {config.privacy.epsilon:g}"


def check_memory(config: Config, model: LanguageModel) -> None:
    """Refuses a model whose copies do not fit: weights and step of the server, and of one client on each device.

    This is a lower bound, because momentum, an optimiser's moments and activations are not counted.
    """
    count = count_parameters(jax.eval_shape(model.init, jax.random.key(0)))
    federated = config.training.mode == "federated"
    copies = 2 + (2 * len(jax.local_devices()) if federated else 0)
    memory.check(
        4 * count * copies,
        f"a model of {count:,} parameters, in {copies} copies,",
        "lower model.hidden, model.embedding, model.layers or text.vocabulary",
        device_bytes() * len(jax.local_devices()),
    )


def _measure(config: Config, score: Scorer, ready: Prepared) -> Callable[[Params], dict[str, float]]:
    """Returns the measure of a model on a sample of the validation text."""
    valid = sample(ready.valid, config.training.evaluate_sentences, config.seed)

    def measure(params: Params) -> dict[str, float]:
        scores = score(params, valid)
        return overall(scores) | per_piece(scores, valid, ready.spelling)

    return measure


def make_rounds(run: Begun, callbacks: Sequence[Callback]) -> Best | None:
    """Makes the remaining rounds and returns the best one."""
    config, out, state, best = run.config.training, run.out, run.state, run.best
    started = time.perf_counter()
    first = run.done + 1
    if best is None and run.done == run.rounds:  # a crash took the last round that the budget allowed
        best = _evaluated_again(run)
    for done in range(first, run.rounds + 1):
        try:
            state, facts = run.trainer.round(state, done - 1)
        except Diverged as diverged:
            _record(out, diverged.release)
            raise
        _record(out, facts.pop("release", None))
        record: dict[str, Any] = {"round": done, **{k: v for k, v in facts.items() if math.isfinite(v)}}
        better = False
        if done % config.evaluate_every == 0 or done == run.rounds:
            with np.errstate(over="ignore"):  # a diverged model is reported below
                measured = run.measure(state.params)
            record |= {f"valid_{k}": measured[k] for k in _MEASURED if k in measured}
            if not math.isfinite(measured.get("perplexity", 0.0)):
                noise = " or aggregation.noise" if run.config.aggregation.noise else ""
                rates = "central.lr" if config.mode == "central" else f"client.lr or server.lr{noise}"
                raise Diverged(
                    f"round {done}: validation perplexity is not finite, training has diverged; lower {rates}; "
                    "the last good checkpoint is kept"
                )
            # where nobody could say how good a model is, the newest is the best so far
            value = measured.get(config.best, _unmeasured(config.best))
            if (
                better := best is None
                or (value < best.value if config.best == "perplexity" else value > best.value)
                or (value == best.value == _unmeasured(config.best))
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
        if done % config.checkpoint_every == 0 or done == run.rounds:
            kept = without_noise(state) if done == run.rounds else state
            directory.save(out, directory.LAST, kept, done, best)
        for callback in callbacks:
            callback.round(record)
    return best


def _record(out: Path, release: Release | None) -> None:
    """Writes the release of a private round to the ledger, before anything is made or said of the round."""
    if release is not None and hosts.first():
        ledger.append(out / ledger.NAME, release)


def _unmeasured(best: str) -> float:
    """Returns the value of a round that was not measured, which is worse than any measured one."""
    return 1e300 if best == "perplexity" else -1.0


def _evaluated_again(run: Begun) -> Best:
    """Returns the last checkpoint's round as the best one, if none was evaluated before the budget ended."""
    chosen = run.config.training.best
    best = Best(run.done, run.measure(run.state.params).get(chosen, _unmeasured(chosen)))
    if hosts.first():
        directory.save(run.out, directory.BEST, run.state.params, run.done, best)
    return best


def _identity(config: Config, ready: Prepared) -> dict[str, bytes]:
    """Returns what must be equal in all processes of a job; the path of the corpus may differ between hosts."""
    text = dataclasses.replace(config.text, corpus="", inventory="", words="", fingerprint=ready.fingerprint)
    parts = [ready.clients.sizes, ready.valid.tokens, ready.test.tokens]
    return {
        "versions": f"{__version__} {jax.__version__}".encode(),
        "settings": settings.dump(dataclasses.replace(config, text=text)).encode(),
        "words": "\n".join(ready.vocabulary.words).encode(),
        "text": b"".join(np.ascontiguousarray(part).tobytes() for part in parts),
    }


def restore(config: Config, out: Path, trainer: Trainer) -> tuple[Any, int, Best | None]:
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
    loss, init = next_word_loss(model), model.init
    if config.model.bias == "counts":
        init = with_bias(init, log_frequencies(word_counts(ready.clients, len(ready.vocabulary))))
    training = config.training
    if training.mode == "central":
        if not isinstance(ready.clients, Packed):
            raise TacitError("training.mode = 'central' needs all text in one place; lower typists.users")
        return central(init, loss, ready.clients, config.central, config.seed, training.rounds)
    if config.buffer.size:
        return text_buffered(
            init,
            loss,
            algorithm(config),
            config.buffer,
            ready.clients,
            config.seed,
            training.rounds,
            training.executor,
            training.lanes_mb,
            attack_of(config, ready),
        )
    return text_federation(
        init,
        loss,
        algorithm(config),
        ready.clients,
        config.seed,
        training.rounds,
        training.executor,
        training.lanes_mb,
        attack_of(config, ready),
        _public_rows(config, ready) if config.privacy.noisy else None,
    )


def _public_rows(config: Config, ready: Prepared) -> Grid | None:
    """Returns the rows of a private run's batches, from held-out people and the limit on a sequence."""
    bounded = config.text.max_words > 0 and ready.spelling is None
    return public_grid(ready.valid, config.client, config.text.max_words + 1 if bounded else 0)


def sample(text: Packed, sentences: int, seed: int) -> Packed:
    """Draws at most `sentences` sentences of a text at random; each keeps its typist."""
    total = len(text.offsets) - 1
    if total <= sentences:
        return text
    chosen = np.sort(np.argsort(uniform(seed, _VALIDATE, np.arange(total)), kind="stable")[:sentences])
    return text.take(chosen, np.searchsorted(chosen, text.owners), text.names)
