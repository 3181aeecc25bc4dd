"""Trains a run with clients on a network, with the run directory, rounds and checkpoints of the simulator.

Validation is federated: after a round, clients score the model on their own latest text and send sums, under masks if
the run has them. The words are a public list (`text.words`), or clients count them before the first round
(`beginning`).

A run with noise is not scored on its clients, because scores, and a best round chosen by them, would reveal without
noise what the noise hides. Its result is the model of the last round.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from tacit.base.errors import TacitError
from tacit.base.files import to_json, write_atomic
from tacit.base.locks import held
from tacit.federated.message_sizes import bytes_of_a_client
from tacit.federated.rounds import rounds_of
from tacit.federated.word_counts import log_frequencies, with_bias
from tacit.models import count_parameters, language_model
from tacit.models.base import Params
from tacit.network import beginning
from tacit.network.board import Board
from tacit.network.buffered import buffered_rounds
from tacit.network.exchange import exchange
from tacit.network.masked import masked_scores
from tacit.network.office import Courier, Office, Terms
from tacit.network.settings import check_config
from tacit.network.tasks.evaluate import federated_scores
from tacit.runs import directory, privacy
from tacit.runs.callbacks import Callback
from tacit.runs.config import Config, algorithm
from tacit.runs.summary_file import LAST_ROUND
from tacit.runs.training import Begun, check_memory, last_round, make_rounds, restore, stopped
from tacit.text.prepare import CLIENTS
from tacit.text.vocabulary import SPECIALS, Vocabulary


def networked(config: Config) -> Config:
    """Returns a configuration for a network: the text is on the clients, who batch it by sentences.

    Batches of equal numbers of words would depend on the lengths of other people's sentences.
    """
    return dataclasses.replace(
        config,
        text=dataclasses.replace(config.text, corpus=CLIENTS),
        client=dataclasses.replace(config.client, batching="sentences"),
    )


def capped(config: Config, clients: int) -> Config:
    """Returns a configuration whose rounds ask for at most all clients; a private one is unchanged."""
    sampling = config.sampling
    if sampling.clients <= clients or config.privacy.private:
        return config
    return dataclasses.replace(config, sampling=dataclasses.replace(sampling, clients=clients))


def check(config: Config, out: Path, resume: bool) -> None:
    """Refuses a wrong configuration or directory before any client gets a task. Writes nothing."""
    config = privacy.planned(config, privacy.plan_of(config, out))
    check_config(config)
    directory.check(config, out, resume)
    beginning.check(config)


def _population(config: Config, out: Path, invited: int) -> int:
    """Returns the population of a run: the clients invited by now, or for a private run those invited when it began.

    In a private run, a later client would change the denominator, and would be in none of the groups that separate a
    client's rounds.
    """
    begun = privacy.begun_population(config, out)
    if begun is None:
        return invited
    if begun > invited:
        raise TacitError(
            f"{out / privacy.POPULATION}: the run began with {begun} clients, and {invited} are invited; restore the "
            "file, or the directory of the federation"
        )
    return begun


def train(
    config: Config,
    out: Path,
    courier: Courier,
    population: Callable[[], int],
    terms: Terms,
    resume: bool = False,
    callbacks: Sequence[Callback] = (),
    board: Board | None = None,
) -> dict[str, Any]:
    """Trains a configuration over a network, in the directory `out`, and returns the summary of the run.

    A `board` shows the present round.
    """
    plan = privacy.plan_of(config, out)
    config = privacy.planned(config, plan)
    check(config, out, resume)
    directory.place(out)
    with held(out):
        clients = _population(config, out, population())
        office = Office(courier, capped(config, clients), Vocabulary(SPECIALS), clients, terms, Counter())
        if board:
            office = office._replace(courier=board.watched(courier), refused=board.refused, tell=board.tell)
            callbacks = [*callbacks, board.callback()]
        begun_with = beginning.begin(office, out)
        words = begun_with.words
        office = office._replace(words=words)
        model = language_model(config.model, len(words))
        check_memory(config, model)
        privacy.check_budget(config, out)
        shapes, init = jax.eval_shape(model.init, jax.random.key(0)), model.init
        if begun_with.frequencies is not None:
            init = with_bias(init, log_frequencies(begun_with.frequencies))
        if config.buffer.size:
            trainer = buffered_rounds(office, init)
        else:
            trainer = rounds_of(
                init,
                algorithm(config),
                exchange(office, shapes),
                config.seed,
                config.training.rounds,
                office.population,
            )
        trainer = board.counted(trainer) if board else trainer
        state, done, best = restore(config, out, trainer)
        directory.make(config, out)
        privacy.begin(config, out, office.population)
        beginning.keep(out, begun_with)
        last: dict[str, float] = {}

        def measure(params: Params) -> dict[str, float]:
            if config.privacy.noisy:
                return {}
            sums = (
                masked_scores(office, params) if config.privacy.secure else federated_scores(office, params)
            )
            if sums is None:
                return {}
            if not sums.sentences[0]:
                raise TacitError(
                    "no client scored the model, so the best round is not known; resume with --resume"
                )
            last.update({name: float(value[0]) for name, value in sums.metrics().items()})
            return last

        rounds = last_round(config, plan, out, done)
        begun = Begun(config, out, trainer, measure, state, done, best, rounds)
        try:
            for callback in callbacks:
                callback.begin(config, done, count_parameters(shapes))
            best = make_rounds(begun, callbacks)
        finally:
            for callback in callbacks:
                callback.end()
        assert best is not None
        chosen = directory.read_best(out, shapes, range(best.round, best.round + 1))
        figures = {
            "name": config.name,
            "best_round": best.round,
            "chosen_by": LAST_ROUND if config.privacy.noisy else f"valid_{config.training.best}",
            "parameters": count_parameters(shapes),
            "bytes_per_client_and_round": bytes_of_a_client(algorithm(config), shapes),
            "clients": office.population,
            "vocabulary": len(words),
            "pieces": False,
            **dict(zip(("epsilon", "epsilon_reason"), privacy.epsilon(config, plan, out), strict=True)),
            **({"stopped": stopped(config, rounds)} if rounds < config.training.rounds else {}),
            "valid": None,
            # clients' latest messages, which nobody trained on
            "test": measure(jax.tree.map(np.asarray, chosen)) or None,
            "seen": None,
            "refused": dict(office.refused),
        }
        write_atomic(out / "summary.json", to_json(figures) + "\n")
        return figures
