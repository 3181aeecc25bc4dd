"""Trains the model on a client, and sends the rule's message, its moments and a report."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import numpy as np

from tacit.federated.aggregation import CohortRule
from tacit.federated.algorithm import round_key, rule_and_optimiser
from tacit.federated.batching import used_examples
from tacit.federated.client_optimisers import carried_kinds, first_moments
from tacit.federated.cohort_sums import cohort_sums
from tacit.federated.compression import compression
from tacit.federated.local import Broadcast, Cohort, Reply, Sending
from tacit.federated.message_sizes import nobody
from tacit.federated.objective import next_word_loss
from tacit.federated.private_rounds import privacy_of
from tacit.federated.sampling import Chosen, chosen_cohort
from tacit.federated.text_cohorts import sentence_rows, sentence_work
from tacit.models import LanguageModel, language_model
from tacit.network.encoded import encoding
from tacit.network.person import Person, read_words, understood
from tacit.network.tasks.kind import Arrays, Kind
from tacit.network.work import Facts, Refusal, check_arrays, expected, named, rebuilt, without_words
from tacit.runs.config import Config, algorithm
from tacit.text.packed import Packed

_PROGRAMS = 4  # configurations whose compiled programs a client keeps


def own_cohort(text: Packed, config: Config, number: int, t: int) -> Cohort:
    """Returns this client, with its batches of round t, as a cohort of one."""
    client, ids = config.client, np.array([number])
    sentences, steps = sentence_work(text, ids, client, config.seed, t, None)
    rows = sentence_rows(text, sentences, None)
    weight = float(used_examples(text.sizes, client)[0])
    if config.sampling.weight == "words":
        weight = float((rows.targets >= 0).sum() / client.epochs)
    one = np.ones(1, np.float32)
    return chosen_cohort(Chosen(ids, weight * one, one, np.ones(1, bool)), rows, steps)


class Prepared(NamedTuple):
    """Holds a configuration as this client has read and compiled it."""

    # (broadcast, number, round, learning rate) → reply as it travels; refuses one that is not finite
    train: Callable[[Broadcast, int, int, float], Any]
    sent: Broadcast  # shapes of what the server sends
    sending: Sending


class Trained(NamedTuple):
    """Holds what a client has trained, before it sends anything."""

    reply: Reply
    sent: Broadcast
    sending: Sending


def begin(person: Person) -> Callable[[Facts, Arrays], Arrays]:
    """Returns the function that trains on this person's text and sends the reply."""
    train = training(person)

    def answer(facts: Facts, arrays: Arrays) -> Arrays:
        if understood(facts["config"]).privacy.secure:
            raise Refusal("config", "this run adds under masks, and a reply would be sent without one")
        return {name: np.asarray(leaf) for name, leaf in named("reply", train(facts, arrays).reply).items()}

    return answer


def training(person: Person) -> Callable[[Facts, Arrays], Trained]:
    """Returns the function that trains on this person's text."""

    @lru_cache(maxsize=_PROGRAMS)
    def prepared(config_toml: str, words_bytes: bytes, population: int, rounds: int) -> Prepared:
        config, words = understood(config_toml), read_words(words_bytes)
        model = language_model(config.model, len(words))
        return _compiled(config, person.text(config, words).training, model, population, rounds)

    def train(facts: Facts, arrays: Arrays) -> Trained:
        words, rest = without_words(arrays)
        ready = prepared(facts["config"], words, facts["population"], facts["rounds"])
        shapes = ready.sent
        wanted = expected("params", shapes.params) | expected("carried", list(shapes.carried))
        if not isinstance(shapes.clip, tuple):
            wanted |= expected("clip", shapes.clip)
        check_arrays(rest, wanted)
        carried = rebuilt("carried", list(shapes.carried), rest) if shapes.carried else shapes.carried
        sent = Broadcast(rebuilt("params", shapes.params, rest), carried, rest.get("clip", ()))
        reply = ready.train(sent, facts["number"], facts["round"], facts["lr"])
        return Trained(reply, sent, ready.sending)

    return train


KIND = Kind({"lr": float}, begin)


def _compiled(config: Config, text: Packed, model: LanguageModel, population: int, rounds: int) -> Prepared:
    """Returns the training of this client as a compiled program."""
    chosen = algorithm(config)
    shapes = jax.eval_shape(model.init, jax.random.key(0))
    rule, _ = rule_and_optimiser(chosen, shapes)
    private = privacy_of(chosen, rule, shapes, population, rounds)
    form = rule.stacked() if isinstance(rule, CohortRule) else rule
    sending = Sending(form, config.aggregation.noise, private, config.aggregation.max_norm)
    travelling = compression(config.compression, carried_kinds(config.client, shapes), private is not None)
    feedback = config.compression.form == "top-k"
    encode = travelling and encoding(travelling, feedback, nobody(config.client, sending, shapes).message)
    moments = jax.eval_shape(lambda w: first_moments(config.client, w), shapes)
    clip = jax.ShapeDtypeStruct((), np.float32) if private else ()
    current: list[int] = [0]  # this client's number: `cohort_sums` asks for a cohort by its round only
    sums = cohort_sums(
        next_word_loss(model),
        config.client,
        sending,
        lambda t: own_cohort(text, config, current[0], t),
        shapes,
    )

    def train(sent: Broadcast, number: int, t: int, lr: float) -> Any:
        current[0] = number
        ready = sums.ready(t)
        placed = sums.place(sent)
        key = round_key(config.seed, t)
        reply = sums.program(placed, ready.laid, np.float32(lr), key)
        if int(reply.report.clients) != 1:
            raise Refusal("training", "it did not end with finite numbers")
        return encode(jax.random.fold_in(key, number), t, reply) if encode else reply

    return Prepared(train, Broadcast(shapes, moments, clip), sending)
