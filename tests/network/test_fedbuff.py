"""FedBuff over a network gives the simulator's model for the same arrivals, and refuses what is wrong."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest
from test_exchange import devices, furthest, world  # noqa: F401 (a fixture)

from tacit.federated.algorithm import Trainer
from tacit.federated.arrivals import BufferConfig, duration
from tacit.federated.buffered import text_buffered
from tacit.federated.objective import next_word_loss
from tacit.models import language_model
from tacit.network.buffered import buffered_rounds
from tacit.network.client import answering
from tacit.network.office import Office, Terms
from tacit.network.person import Device
from tacit.network.settings import check_config
from tacit.network.work import Parcel, Refusal, answer_facts
from tacit.runs.config import Config, algorithm, resolve
from tacit.text.vocabulary import Vocabulary

PEOPLE, STEPS = 5, 6
KEYS = ("buffer.size=2", "buffer.concurrency=4", "buffer.max_staleness=2", f"training.rounds={STEPS}")


class Timed:
    """A post whose clients take as long as the simulator says; it may change what they send."""

    def __init__(
        self,
        answers: Sequence[Callable[[Parcel], Parcel]],
        times: Callable[[int, int], float],
        change: Callable[[int, Parcel], Any] = lambda number, answer: answer,
        here: Sequence[int] = range(PEOPLE),
    ) -> None:
        self.answers, self.times, self.change, self.here = answers, times, change, here
        self.now = 0.0
        self.coming: list[
            tuple[float, int, int, Any]
        ] = []  # (time, a number that breaks ties, client, answer)
        self.sent: list[tuple[int, int]] = []

    def present(self) -> Sequence[int]:
        return self.here

    def ask(self, tasks: Mapping[int, Parcel], seconds: float) -> Iterator[tuple[int, Parcel | Refusal]]:
        raise AssertionError("nobody makes rounds here")

    def post(self) -> Timed:
        return self

    def send(self, number: int, task: Parcel, seconds: float) -> None:
        self.sent.append((number, task.facts["round"]))
        end = self.now + self.times(task.facts["round"], number)
        heapq.heappush(self.coming, (end, len(self.sent), number, self.answers[number](task)))

    def receive(self, seconds: float) -> tuple[int, Parcel | Refusal] | None:
        if not self.coming:
            return None
        self.now, _, number, answer = heapq.heappop(self.coming)
        return number, self.change(number, answer)


def taking(buffer: BufferConfig, seed: int) -> Callable[[int, int], float]:
    return lambda version, number: duration(buffer, seed, version, number)


def network(config: Config, words: Vocabulary, courier: Timed, terms: Terms) -> tuple[Trainer, Office]:
    office = Office(courier, config, words, PEOPLE, terms, Counter())
    return buffered_rounds(office, language_model(config.model, len(words)).init), office


def trained(trainer: Trainer, config: Config) -> tuple[Any, list[dict[str, Any]]]:
    state, facts = trainer.init(jax.random.key(config.seed)), []
    for t in range(config.training.rounds):
        state, said = trainer.round(state, t)
        facts.append(said)
    return state, facts


def test_the_network_gives_the_simulators_model(devices: list[Device]) -> None:  # noqa: F811
    config, words, clients = world(devices, *KEYS, "client.max_examples=5", preset="fedbuff")
    model = language_model(config.model, len(words))
    simulated = text_buffered(
        model.init, next_word_loss(model), algorithm(config), config.buffer, clients, config.seed, STEPS
    )
    courier = Timed([answering(device) for device in devices], taking(config.buffer, config.seed))
    trainer, office = network(config, words, courier, Terms())
    ours, said = trained(trainer, config)
    theirs, expected = trained(simulated, config)
    assert furthest(ours.params, theirs.params) < 1e-5
    assert max(facts["staleness"] for facts in said) > 0
    assert office.refused == {"stale": sum(facts["stale"] for facts in expected)} and office.refused["stale"]
    for a, b in zip(said, expected, strict=True):
        b.pop("clock")
        b["dropped"] = b["stale"]  # over a network, a client that was asked and is not in the sum
        assert a == pytest.approx(b, rel=1e-4)


@pytest.fixture(scope="module")
def updates(devices: list[Device]) -> dict[int, Mapping[str, np.ndarray]]:  # noqa: F811
    """What every client says of the first model."""
    config, words, _ = world(devices, *KEYS, preset="fedbuff")
    said: dict[int, Mapping[str, np.ndarray]] = {}

    def keep(number: int, answer: Parcel) -> Parcel:
        said[number] = answer.arrays
        return answer

    times = taking(config.buffer, config.seed)
    everybody = Timed([answering(device) for device in devices], times, keep)
    trainer, _ = network(with_keys(config, size=PEOPLE, concurrency=PEOPLE), words, everybody, Terms())
    trainer.round(trainer.init(jax.random.key(config.seed)), 0)
    return dict(sorted(said.items()))


def with_keys(config: Config, **keys: int) -> Config:
    import dataclasses

    return dataclasses.replace(config, buffer=dataclasses.replace(config.buffer, **keys))


def repeating(said: Mapping[int, Mapping[str, np.ndarray]]) -> list[Callable[[Parcel], Parcel]]:
    """Clients that say the same of every model."""
    return [lambda task, n=n: Parcel(said[n], answer_facts(task.facts)) for n in said]


def _poisoned(answer: Parcel) -> Parcel:
    bias = "reply/message/0/output_bias"
    return answer._replace(arrays={**answer.arrays, bias: np.full_like(answer.arrays[bias], np.nan)})


WRONG: dict[str, tuple[str, Callable[[Parcel], Any]]] = {
    "nan": ("not finite", _poisoned),
    "secret": ("secret", lambda p: p._replace(facts={**p.facts, "secret": "0" * 32})),
    "another version": ("stale", lambda p: p._replace(facts={**p.facts, "round": p.facts["round"] + 1})),
    "kind": ("schema", lambda p: p._replace(facts={**p.facts, "kind": "evaluate"})),
    "missing": ("schema", lambda p: p._replace(arrays={})),
    "error": ("client", lambda p: Refusal("client", "it failed")),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_answer_is_counted_and_the_others_are_added(
    devices: list[Device],  # noqa: F811
    updates: dict[int, Mapping[str, np.ndarray]],
    name: str,
) -> None:
    """The step gives what it gives without that client."""
    config, words, _ = world(devices, *KEYS, preset="fedbuff")
    config = with_keys(config, size=PEOPLE - 1, concurrency=PEOPLE)
    reason, change = WRONG[name]
    courier = Timed(repeating(updates), lambda v, n: n, lambda n, p: change(p) if n == 2 else p)
    trainer, office = network(config, words, courier, Terms())
    state, said = trainer.round(trainer.init(jax.random.key(config.seed)), 0)
    assert office.refused == {reason: 1} and said["clients"] == PEOPLE - 1
    others, calm = network(
        config, words, Timed(repeating(updates), lambda v, n: n, here=[0, 1, 3, 4]), Terms()
    )
    expected, _ = others.round(others.init(jax.random.key(config.seed)), 0)
    assert furthest(state, expected) == 0.0 and not calm.refused


def test_answers_that_nobody_waits_for(
    devices: list[Device],  # noqa: F811
    updates: dict[int, Mapping[str, np.ndarray]],
) -> None:
    """A second answer to a task, and one of a client that was not asked."""
    config, words, _ = world(devices, *KEYS, preset="fedbuff")
    config = with_keys(config, size=3, concurrency=4)
    courier = Timed(repeating(updates), lambda v, n: 10)
    trainer, office = network(config, words, courier, Terms())
    state = trainer.init(jax.random.key(config.seed))
    send = courier.send

    def twice(number: int, task: Parcel, seconds: float) -> None:
        send(number, task, seconds)
        if len(courier.sent) == 1:
            again = Parcel(updates[number], answer_facts(task.facts))
            heapq.heappush(courier.coming, (0.0, -2, number, again))
            heapq.heappush(courier.coming, (0.5, -1, number, again))
        if len(courier.sent) == 4:
            (foreign,) = set(range(PEOPLE)) - {n for n, _ in courier.sent}
            heapq.heappush(
                courier.coming, (-1.0, -1, foreign, Parcel(updates[foreign], answer_facts(task.facts)))
            )

    courier.send = twice  # type: ignore[method-assign]
    _, said = trainer.round(state, 0)
    # the answer that it gave itself comes last of its three
    assert said["clients"] == 3 and office.refused == {"replay": 2, "foreign": 1}


def test_too_few_clients_end_a_step_early_and_none_change_nothing(
    devices: list[Device],  # noqa: F811
    updates: dict[int, Mapping[str, np.ndarray]],
) -> None:
    config, words, _ = world(devices, *KEYS, preset="fedbuff")
    config = with_keys(config, size=4, concurrency=4)
    for least, clients in ((1, 2), (3, 0)):
        courier = Timed(repeating(updates), lambda v, n: n, here=[1, 3])
        trainer, _ = network(config, words, courier, Terms(least=least))
        start = trainer.init(jax.random.key(config.seed))
        state, said = trainer.round(start, 0)
        assert said["clients"] == clients
        assert (furthest(start, state) > 0) == (clients > 0)


def test_clients_that_do_not_answer_are_given_up(
    devices: list[Device],  # noqa: F811
    updates: dict[int, Mapping[str, np.ndarray]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also when nobody is there, a step ends at the deadline."""
    config, words, _ = world(devices, *KEYS, preset="fedbuff")
    silent = Timed(repeating(updates), lambda v, n: n)

    def wait(seconds: float) -> None:
        silent.now += seconds

    silent.receive = wait  # type: ignore[method-assign,assignment]
    clock = SimpleNamespace(monotonic=lambda: silent.now, time=lambda: silent.now)
    monkeypatch.setattr("tacit.network.buffered.time", clock)
    for here in (range(PEOPLE), []):
        silent.here, silent.sent, silent.now = here, [], 0.0
        trainer, office = network(config, words, silent, Terms(deadline=600))
        start = trainer.init(jax.random.key(config.seed))
        state, said = trainer.round(start, 0)
        assert silent.now == 600 and said["clients"] == 0 and furthest(start, state) == 0.0
        state, said = trainer.round(start, 1)
        asked = 4 if here else 0  # at once
        assert silent.now == 1200 and len(silent.sent) == 2 * asked
        assert said["dropped"] == office.refused["late"] == asked


def test_a_resumed_run_asks_anew_from_the_last_step(
    devices: list[Device],  # noqa: F811
    updates: dict[int, Mapping[str, np.ndarray]],
) -> None:
    """What was in flight when the server died is lost, and nothing of it is in the next step."""
    config, words, _ = world(devices, *KEYS, preset="fedbuff")
    whole = Timed(repeating(updates), taking(config.buffer, config.seed))
    trainer, _ = network(config, words, whole, Terms())
    state = trainer.init(jax.random.key(config.seed))
    for t in range(2):
        state, _ = trainer.round(state, t)
    assert {version for _, version in whole.sent} == {0, 1} and whole.coming
    stored = jax.tree.map(np.asarray, state)
    later = Timed(repeating(updates), taking(config.buffer, config.seed))
    again, office = network(config, words, later, Terms())
    state, said = again.round(jax.tree.map(np.asarray, stored), 2)
    assert {version for _, version in later.sent} == {2} and said["staleness"] == 0 and not office.refused
    used = [n for n, _ in sorted(later.sent, key=lambda one: later.times(2, one[0]))][:2]
    weight = sum(float(updates[n]["reply/message/1"]) for n in used)
    mean = sum(updates[n]["reply/message/0/output_bias"] for n in used) / weight
    m = 0.5 * stored.optimiser[0].mu["output_bias"] - 0.5 * mean  # Adam's first moment of the pseudo-gradient
    np.testing.assert_allclose(state.optimiser[0].mu["output_bias"], m, rtol=1e-4, atol=1e-6)


def test_the_simulators_times_are_refused_over_a_network() -> None:
    from tacit.base.errors import TacitError

    for key in ("buffer.spread=0.5", "buffer.time=equal"):
        with pytest.raises(TacitError, match=key.partition("=")[0]):
            check_config(resolve("fedbuff", ["client.batching=sentences", key]))
