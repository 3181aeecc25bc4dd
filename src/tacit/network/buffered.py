"""Runs FedBuff over a network: the server keeps some clients busy and steps after every K answers.

`federated.buffered` describes the method. A task names its version of the model, so the server knows how old an answer
is. An answer older than `buffer.max_staleness` steps is refused as stale. Answers are added exactly, so memory is that
of one sum, one answer, and the facts of open tasks. Only clients hold older models.

A step ends with fewer than K answers after the deadline, or when all connected clients have answered. With fewer than
`Terms.least` answers it changes nothing. Answers under way are lost if the server dies, and a resumed run asks again,
from the last committed step.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tacit.federated.aggregation import aggregation
from tacit.federated.algorithm import (
    ServerState,
    Trainer,
    client_rate,
    first_state,
    remedy,
    require_finite,
    rule_and_optimiser,
    server_factor,
)
from tacit.federated.arrivals import at_once, buffer_size, queue, take
from tacit.federated.buffered import aged, weight_of
from tacit.federated.local import Broadcast, Sending
from tacit.federated.message_sizes import bytes_of_a_client, nobody
from tacit.federated.rounds import facts_of, server_step, travelled
from tacit.models.base import Params
from tacit.network.exchange import check_reply
from tacit.network.office import Office, Post, Question
from tacit.network.sums import ExactSum
from tacit.network.work import (
    Parcel,
    Refusal,
    broadcast_arrays,
    check_arrays,
    check_facts,
    expected,
    named,
    rebuilt,
)
from tacit.runs.config import algorithm

_LOOK = 5.0  # seconds between looks for clients that have come, while more could train


class Out(NamedTuple):
    """Describes an open task."""

    facts: Mapping[str, Any]
    until: float


class Tasks:
    """Holds the open tasks. Any answer ends its task; an answer without a task is refused."""

    def __init__(self, post: Post) -> None:
        self.post, self.out = post, dict[int, Out]()  # by the client's number
        self.asked: set[int] = set()
        self.ended = 0

    def send(self, tasks: Mapping[int, Parcel], seconds: float) -> None:
        """Sends these clients a task each."""
        for number, task in tasks.items():
            self.out[number] = Out(task.facts, time.monotonic() + seconds)
            self.asked.add(number)
            self.post.send(number, task, seconds)

    def receive(self, seconds: float) -> tuple[int, Parcel] | None:
        """Returns the next answer and the version that its client began with; raises `Refusal` for a wrong one."""
        came = self.post.receive(max(0.0, seconds))
        if came is None:
            return None
        number, answer = came
        if number not in self.out:
            raise Refusal(*_NOT_ASKED[number in self.asked])
        if isinstance(answer, Parcel):
            check_facts(answer.facts, self.out[number].facts)
        began = int(self.out.pop(number).facts["round"])
        self.ended += 1
        if isinstance(answer, Refusal):
            raise answer
        return began, answer

    def give_up(self) -> int:
        """Ends tasks that took too long, and returns how many."""
        late = [number for number, task in self.out.items() if task.until <= time.monotonic()]
        for number in late:
            del self.out[number]
        self.ended += len(late)
        return len(late)


_NOT_ASKED = {
    True: ("replay", "this client has answered already"),
    False: ("foreign", "nobody asked this client"),
}


def buffered_rounds(office: Office, init: Callable[[Array], Params]) -> Trainer:
    """Returns asynchronous training over a network as a trainer, whose rounds are the server's steps."""
    config, terms, population = office.config, office.terms, office.population
    chosen, rounds = algorithm(config), config.training.rounds
    client, server = chosen.client, chosen.server
    shapes = jax.eval_shape(init, jax.random.key(0))
    _, optimiser = rule_and_optimiser(chosen, shapes)
    rule = aggregation(chosen.aggregation, where="in a buffer")
    sending = Sending(rule, chosen.aggregation.noise, max_norm=chosen.aggregation.max_norm)
    silence = nobody(client, sending, shapes)
    wanted = expected("reply", silence)
    size = buffer_size(config.buffer, population)
    together = at_once(config.buffer, chosen.sampling, population)
    finish = server_step(rule, optimiser)
    tasks, of_one = Tasks(office.courier.post()), bytes_of_a_client(chosen, shapes)

    def start(key: Array) -> ServerState:
        return first_state(init, optimiser, client, key)

    def keep_busy(waiting: list[int], task: Callable[[int], Mapping[int, Parcel]]) -> bool:
        """Sends tasks until as many clients train as should; returns whether answers can still come."""
        free = together - len(tasks.out)
        if not free:
            return True
        present = set(office.courier.present())
        busy = tasks.out.keys() | (set(waiting) - present)
        for number in itertools.islice(iter(lambda: take(waiting, busy), None), free):
            tasks.send(task(number), terms.deadline)
        return bool(tasks.out) or not present  # somebody may still come

    def weighed(answer: Parcel, age: int) -> dict[str, np.ndarray]:
        """Returns what an answer adds to the sum; refuses a wrong one."""
        if age > config.buffer.max_staleness:
            raise Refusal("stale", f"its model is {age} steps old")
        check_arrays(answer.arrays, wanted)
        reply = rebuilt("reply", silence, answer.arrays)
        check_reply(office, reply)
        old = aged(reply, np.float32(weight_of(age)))
        return {name: np.asarray(leaf) for name, leaf in named("reply", old).items()}

    def collect(t: int, arrays: Mapping[str, np.ndarray], lr: float) -> tuple[ExactSum, list[int], int]:
        """Returns the sum of a step's answers, the staleness of each, and how many were too old."""
        waiting = queue(chosen.sampling, together, population, config.seed, t)
        total, ages, stale = ExactSum({name: want.shape for name, want in wanted.items()}), list[int](), 0
        until, ends_at = time.monotonic() + terms.deadline, time.time() + terms.deadline
        while total.count < size and time.monotonic() < until:
            if late := tasks.give_up():
                office.refused["late"] += late
            if not keep_busy(waiting, lambda number: office.tasks("train", t, arrays, [number], lr=lr)):
                break
            office.tell(Question("train", len(tasks.out), size, total.count, ends_at))
            pause = _LOOK if len(tasks.out) < together else terms.deadline
            ends = [until, time.monotonic() + pause, *(task.until for task in tasks.out.values())]
            try:
                if came := tasks.receive(min(ends) - time.monotonic()):
                    began, answer = came
                    total.add(weighed(answer, t - began))
                    ages.append(t - began)
            except Refusal as refusal:
                office.refused[refusal.reason] += 1
                stale += refusal.reason == "stale"
        return total, ages, stale

    def round_(state: ServerState, t: int) -> tuple[ServerState, dict[str, float]]:
        lr = client_rate(client, t, rounds)
        ended = tasks.ended
        total, ages, stale = collect(t, broadcast_arrays(Broadcast(state.params, state.carried)), lr)
        summed = silence
        if total.count >= terms.least:
            parts = rebuilt("reply", silence, total.value())
            summed = jax.tree.map(lambda x, like: jnp.asarray(x, like.dtype), parts, silence)
        factor = np.float32(server_factor(server, t, rounds))
        state, finite = finish(state, jax.tree.map(jnp.asarray, summed), factor)
        asked = tasks.ended - ended
        facts = facts_of(summed.report, asked, lr)
        facts |= {"staleness": float(np.mean(ages)) if ages else 0.0, "stale": stale}
        facts |= travelled(facts, asked, of_one)
        good = bool(finite) and np.isfinite(facts["loss"])
        require_finite(t, good or not facts["clients"], remedy(chosen))
        return state, facts

    return Trainer(start, round_)
