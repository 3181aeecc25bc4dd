"""Rounds over a network give the simulator's model, whatever the order of answers, and refuse what is wrong."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np
import pytest

from tacit.federated.objective import next_word_loss
from tacit.federated.rounds import rounds_of
from tacit.federated.text_cohorts import text_federation
from tacit.models import language_model
from tacit.network.client import answering
from tacit.network.exchange import exchange
from tacit.network.office import Office, Terms
from tacit.network.person import Device, person_text
from tacit.network.tasks.evaluate import federated_scores
from tacit.network.work import Parcel, Refusal, answer_facts
from tacit.runs.config import Config, algorithm, resolve
from tacit.scoring.scores import overall
from tacit.text.corpus import from_messages
from tacit.text.encode import everybody
from tacit.text.packed import Packed, join
from tacit.text.typists import Typists, TypistsConfig
from tacit.text.vocabulary import Vocabulary, build

PEOPLE = 5
SMALL = [
    "model.hidden=8",
    "model.embedding=8",
    "text.vocabulary=40",
    "client.batching=sentences",
    "client.batch=4",
    "training.rounds=3",
]


TERMS = Terms()


class Direct:
    """A courier that calls clients one after another, in an order that changes, and may damage their answers."""

    def __init__(self, devices: Sequence[Device], damage: Callable[[int, Parcel], Any] | None = None) -> None:
        self.clients = [answering(device) for device in devices]
        self.damage = damage
        self.rounds = 0

    def present(self) -> Sequence[int]:
        return range(len(self.clients))

    def ask(self, tasks: Mapping[int, Parcel], seconds: float) -> Iterator[tuple[int, Parcel | Refusal]]:
        self.rounds += 1
        for number in np.random.default_rng(self.rounds).permutation(sorted(tasks)).tolist():
            answer: Any = self.clients[number](tasks[number])
            yield number, self.damage(number, answer) if self.damage else answer


@pytest.fixture(scope="module")
def devices() -> list[Device]:
    typists = Typists(TypistsConfig(users=PEOPLE, messages=12))
    people = [[message.text for message in typists.messages(k)] for k in range(PEOPLE)]
    return [Device(from_messages(f"p{k}", {"me": texts})) for k, texts in enumerate(people)]


def world(devices: Sequence[Device], *keys: str, preset: str = "fedavg") -> tuple[Config, Vocabulary, Packed]:
    config = resolve(preset, [*SMALL, *keys])
    texts = [everybody(device.messages, True) for device in devices]
    counted: Counter[str] = Counter()
    for text in texts:
        counted.update(text.types[i] for i in text.ids.tolist())
    words = build(counted, 40)
    return config, words, join([person_text(text, config, words).training for text in texts])


def over_the_network(
    config: Config, words: Vocabulary, courier: Direct, terms: Terms = TERMS
) -> tuple[Any, list[dict[str, Any]], Office]:
    model = language_model(config.model, len(words))
    office = Office(courier, config, words, len(courier.clients), terms, Counter())
    shapes = jax.eval_shape(model.init, jax.random.key(0))
    trainer = rounds_of(
        model.init,
        algorithm(config),
        exchange(office, shapes),
        config.seed,
        config.training.rounds,
        len(courier.clients),
    )
    return *_train(trainer, config), office


def _train(trainer: Any, config: Config) -> tuple[Any, list[dict[str, Any]]]:
    state, facts = trainer.init(jax.random.key(config.seed)), []
    for t in range(config.training.rounds):
        state, said = trainer.round(state, t)
        facts.append(said)
    return state, facts


def simulated(config: Config, words: Vocabulary, clients: Packed) -> tuple[Any, list[dict[str, Any]]]:
    model = language_model(config.model, len(words))
    trainer = text_federation(
        model.init,
        next_word_loss(model),
        algorithm(config),
        clients,
        config.seed,
        config.training.rounds,
    )
    return _train(trainer, config)


def furthest(a: Any, b: Any) -> float:
    return max(
        float(np.abs(np.asarray(x) - np.asarray(y)).max())
        for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    )


@pytest.mark.parametrize(
    ("preset", "keys"),
    [
        ("fedadam", ["sampling.fraction=0.6", "client.max_examples=5"]),
        ("fedatt", ["sampling.fraction=1.0"]),
        ("fedattopt", ["sampling.fraction=1.0", "client.lr=0.5"]),
        (
            "adam-papers",
            ["sampling.fraction=1.0", "text.protocol=plain", "model.bias=zero", "model.dropout=0.0"],
        ),
    ],
)
def test_the_network_gives_the_simulators_model(devices: list[Device], preset: str, keys: list[str]) -> None:
    config, words, clients = world(devices, *keys, preset=preset)
    ours, said, office = over_the_network(config, words, Direct(devices), Terms(over=1.0))
    theirs, expected = simulated(config, words, clients)
    assert not office.refused
    assert furthest(ours, theirs) < 1e-5
    for a, b in zip(said, expected, strict=True):
        assert a == pytest.approx(b, rel=1e-4)


def test_the_order_of_answers_changes_no_bit(devices: list[Device]) -> None:
    config, words, _ = world(devices, "sampling.fraction=1.0")
    first, *_ = over_the_network(config, words, Direct(devices))
    late = Direct(devices)
    late.rounds = 10
    second, *_ = over_the_network(config, words, late)
    assert furthest(first, second) == 0.0


BIAS = "reply/message/0/output_bias"


def _with(name: str, value: Callable[[np.ndarray], Any]) -> Callable[[Parcel], Parcel]:
    return lambda answer: answer._replace(arrays={**answer.arrays, name: value(answer.arrays[name])})


DAMAGES: dict[str, tuple[str, Callable[[Parcel], Any]]] = {
    "nan": ("not finite", _with(BIAS, lambda a: np.full_like(a, np.nan))),
    "infinity": ("not finite", _with(BIAS, lambda a: np.full_like(a, np.inf))),
    "huge": ("too large", _with(BIAS, lambda a: np.full_like(a, 1e30))),
    "broadcast": ("shape", _with(BIAS, lambda a: a[:1])),
    "dtype": ("dtype", _with(BIAS, lambda a: a.astype(np.float64))),
    "byte order": ("dtype", _with(BIAS, lambda a: a.astype(">f4"))),
    "no array": ("schema", _with(BIAS, lambda a: a.tolist())),
    "negative weight": ("weight", _with("reply/message/1", lambda a: np.asarray(-a))),
    "huge weight": ("weight", _with("reply/message/1", lambda a: np.full_like(a, 2e6))),
    "no weight": ("weight", _with("reply/message/1", lambda a: np.zeros_like(a))),
    "two clients": ("report", _with("reply/report/clients", lambda a: np.asarray(a + a))),
    "negative steps": ("report", _with("reply/report/steps", lambda a: np.asarray(-a))),
    "missing": ("schema", lambda p: p._replace(arrays={k: v for k, v in p.arrays.items() if k != BIAS})),
    "extra": ("schema", lambda p: p._replace(arrays={**p.arrays, "more": np.zeros(3, np.float32)})),
    "stale": ("stale", lambda p: p._replace(facts={**p.facts, "round": p.facts["round"] - 1})),
    "secret": ("secret", lambda p: p._replace(facts={**p.facts, "secret": "0" * 32})),
    "kind": ("schema", lambda p: p._replace(facts={**p.facts, "kind": "evaluate"})),
    "error": ("client", lambda p: Refusal("client", "it failed")),
}


class Recorded(Direct):
    """A courier of answers that real clients gave before, each as the answer to the present task."""

    def __init__(self, answers: Mapping[int, Parcel], damage: Callable[[int, Parcel], Any]) -> None:
        super().__init__([], damage)
        self.clients = [
            lambda task, arrays=answers[n].arrays: Parcel(arrays, answer_facts(task.facts)) for n in answers
        ]


ONE_ROUND = ("sampling.fraction=1.0", "training.rounds=1")


@pytest.fixture(scope="module")
def answers(devices: list[Device]) -> dict[int, Parcel]:
    """What every client says in the first round of `ONE_ROUND`."""
    config, words, _ = world(devices, *ONE_ROUND)
    kept: dict[int, Parcel] = {}
    over_the_network(config, words, Direct(devices, lambda n, a: kept.setdefault(n, a)))
    return dict(sorted(kept.items()))


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_answer_is_counted_and_changes_nothing(
    devices: list[Device], answers: dict[int, Parcel], name: str
) -> None:
    """The rest gives what they give without that client."""
    config, words, _ = world(devices, *ONE_ROUND)
    reason, damage = DAMAGES[name]

    def spoil(number: int, answer: Parcel) -> Any:
        return damage(answer) if number == 2 else answer

    bad, said, office = over_the_network(config, words, Recorded(answers, spoil))
    assert office.refused == {reason: 1} and said[0]["clients"] == PEOPLE - 1
    absent = Recorded(answers, lambda n, a: Refusal("client", "") if n == 2 else a)
    silent, _, _ = over_the_network(config, words, absent)
    assert furthest(bad, silent) == 0.0


def test_a_norm_above_the_limit_is_refused(devices: list[Device], answers: dict[int, Parcel]) -> None:
    config, words, _ = world(devices, *ONE_ROUND, "aggregation.max_norm=50.0")

    def longer(number: int, answer: Parcel) -> Parcel:
        return _with(BIAS, lambda a: a + 3000 * (number == 1))(answer)

    _, said, office = over_the_network(config, words, Recorded(answers, longer))
    assert office.refused == {"norm": 1} and said[0]["clients"] == PEOPLE - 1


def test_a_round_without_enough_answers_leaves_the_model(
    devices: list[Device], answers: dict[int, Parcel]
) -> None:
    config, words, _ = world(devices, *ONE_ROUND)
    courier = Recorded(answers, lambda n, a: a if n == 0 else Refusal("client", ""))
    model = language_model(config.model, len(words))
    state, said, office = over_the_network(config, words, courier, Terms(least=2))
    assert furthest(state.params, model.init(jax.random.key(config.seed))) == 0.0
    assert said[0]["clients"] == 0 and office.refused == {"client": PEOPLE - 1}


def test_federated_evaluation_is_evaluation_of_the_joined_text(devices: list[Device]) -> None:
    from tacit.federated.evaluation import scorer

    config, words, _ = world(devices)
    model = language_model(config.model, len(words))
    params = model.init(jax.random.key(1))
    office = Office(Direct(devices), config, words, PEOPLE, Terms(), Counter())
    ours = federated_scores(office, params).metrics()
    texts = [everybody(device.messages, True) for device in devices]
    text = join([person_text(one, config, words).held_out for one in texts])
    theirs = overall(scorer(model)(params, text))
    assert {k: float(v[0]) for k, v in ours.items()} == pytest.approx(theirs)


def test_a_private_message_above_its_bound_is_refused(devices: list[Device]) -> None:
    private = [
        "privacy.mechanism=gaussian",
        "privacy.clip=0.5",
        "privacy.noise=1.0",
        "privacy.noise_source=seed",
    ]
    config, words, _ = world(devices, *private, "sampling.fraction=1.0", "training.rounds=1")
    _, _, office = over_the_network(config, words, Direct(devices))
    assert not office.refused

    def longer(factor: float) -> Any:
        def longer_answer(number: int, answer: Parcel) -> Parcel:
            return answer._replace(
                arrays={k: v * np.float32(factor) if "message" in k else v for k, v in answer.arrays.items()}
            )

        return longer_answer

    for factor, reason in (
        (100, "too large"),
        (1.01, "norm"),
    ):  # no number is too large, and all together are
        _, _, office = over_the_network(config, words, Direct(devices, longer(factor)))
        assert office.refused == {reason: PEOPLE}


def test_tasks_that_a_client_refuses(devices: list[Device]) -> None:
    config, words, _ = world(devices)
    model = language_model(config.model, len(words))
    office = Office(Direct(devices), config, words, PEOPLE, Terms(), Counter())
    arrays = {"params/x": np.asarray(jax.tree.leaves(model.init(jax.random.key(0)))[0])}
    task = office.tasks("train", 0, arrays, [0], lr=1.0)[0]
    answer = office.courier.clients[0]  # type: ignore[attr-defined]
    for change, reason in (
        ({}, "schema"),
        ({"kind": "read"}, "kind"),
        ({"version": 2}, "version"),
        ({"round": -1}, "schema"),
        ({"config": "][", "kind": "train"}, "config"),
        ({"lr": 1}, "schema"),
    ):
        with pytest.raises(Refusal) as refused:
            answer(task._replace(facts={**task.facts, **change}))
        assert refused.value.reason == reason, change


def test_settings_of_the_simulator_are_refused(devices: list[Device]) -> None:
    from tacit.base.errors import TacitError
    from tacit.network.settings import check_config

    config = resolve("fedavg", [*SMALL])
    for table, key, value in (
        ("client", "batching", "words"),
        ("sampling", "dropout", 0.5),
        ("training", "mode", "central"),
        ("privacy", "mechanism", "local"),
    ):
        part = dataclasses.replace(getattr(config, table), **{key: value})
        with pytest.raises(TacitError, match=f"{table}.{key}"):
            check_config(dataclasses.replace(config, **{table: part}))
