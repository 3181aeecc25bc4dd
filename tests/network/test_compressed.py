"""Compressed answers over a network: the simulator's model, and what the server refuses before and after decoding."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import numpy as np
import pytest
from test_exchange import Direct, Recorded, devices, furthest, over_the_network, simulated, world  # noqa: F401

from tacit.federated.message_sizes import bytes_of_a_client
from tacit.models import language_model
from tacit.network.encoded import Memory
from tacit.network.office import Terms
from tacit.network.person import Device
from tacit.network.work import Parcel, Refusal
from tacit.runs.config import algorithm

ADAM = (
    "client.optimiser=adam",
    "client.beta1=0.0",
    "client.carry=v",
    "client.carry_form=factored",
    "client.lr=0.02",
)
INT8 = ("sampling.fraction=1.0", "training.rounds=1", "compression.form=int8", *ADAM)


def flat(tree: Any) -> np.ndarray:
    return np.concatenate([np.asarray(leaf).ravel() for leaf in jax.tree.leaves(tree)])


@pytest.fixture(scope="module")
def answers(devices: list[Device]) -> dict[int, Parcel]:  # noqa: F811
    """What every client says in the first round of `INT8`."""
    config, words, _ = world(devices, *INT8)
    kept: dict[int, Parcel] = {}
    over_the_network(config, words, Direct(devices, lambda n, a: kept.setdefault(n, a)))
    return dict(sorted(kept.items()))


def test_int8_over_the_network_is_int8_in_the_simulator(
    devices: list[Device],  # noqa: F811
    answers: dict[int, Parcel],
) -> None:
    """Numbers at the edge of two levels may go either way, on each side; everything else is the same.

    So were the simulator's messages not compressed, hardly a number would be the same.
    """
    config, words, clients = world(devices, *INT8)
    ours, said, office = over_the_network(config, words, Recorded(answers, lambda n, a: a), Terms(over=1.0))
    theirs, expected = simulated(config, words, clients)
    assert not office.refused
    near = np.abs(flat(ours.params) - flat(theirs.params)) < 1e-6
    assert near.mean() > 0.98
    assert furthest(ours.params, theirs.params) < 0.02
    np.testing.assert_allclose(flat(ours.carried), flat(theirs.carried), rtol=0.1, atol=1e-9)
    for a, b in zip(said, expected, strict=True):
        assert a == pytest.approx(b, rel=1e-4)


def test_an_answer_has_the_bytes_that_are_reported(devices: list[Device], answers: dict[int, Parcel]) -> None:  # noqa: F811
    config, words, _ = world(devices, *INT8)
    shapes = jax.eval_shape(language_model(config.model, len(words)).init, jax.random.key(0))
    up = bytes_of_a_client(algorithm(config), shapes)["up"]
    for answer in answers.values():
        assert up == sum(a.nbytes for name, a in answer.arrays.items() if "/report/" not in name)
        assert {a.dtype for name, a in answer.arrays.items() if "codes" in name} == {
            np.dtype(np.int8),
            np.dtype(np.uint8),
        }


BIAS = "reply/message/0/output_bias/"


def _with(name: str, value: Callable[[np.ndarray], Any]) -> Callable[[Parcel], Parcel]:
    return lambda answer: answer._replace(arrays={**answer.arrays, name: value(answer.arrays[name])})


DAMAGES: Mapping[str, tuple[str, Callable[[Parcel], Parcel]]] = {
    "floats": ("dtype", _with(BIAS + "codes", lambda a: a.astype(np.float32))),
    "unsigned": ("dtype", _with(BIAS + "codes", lambda a: a.view(np.uint8))),
    "short": ("shape", _with(BIAS + "codes", lambda a: a[:-1])),
    "scales of more rows": ("shape", _with(BIAS + "scales", lambda a: np.repeat(a, 2))),
    "no scales": (
        "schema",
        lambda p: p._replace(arrays={k: v for k, v in p.arrays.items() if k != BIAS + "scales"}),
    ),
    "nan": ("not finite", _with(BIAS + "scales", lambda a: np.full_like(a, np.nan))),
    "a negative scale": ("encoding", _with(BIAS + "scales", lambda a: -a)),
    "no such code": ("encoding", _with(BIAS + "codes", lambda a: np.full_like(a, -128))),
    "a large scale": ("too large", _with(BIAS + "scales", lambda a: np.full_like(a, 2.0**21))),
    "a negative weight": ("weight", _with("reply/message/1/values", lambda a: np.asarray(-a))),
    "uncompressed": (
        "schema",
        lambda p: p._replace(arrays={**p.arrays, BIAS[:-1]: np.zeros(40, np.float32)}),
    ),
}


class Spoilt(Recorded):
    """A courier that gives client 2's answer in every damaged form, one after another, and never as it was."""

    def ask(self, tasks: Mapping[int, Parcel], seconds: float) -> Iterator[tuple[int, Parcel | Refusal]]:
        for number, answer in super().ask(tasks, seconds):
            forms = [damage for _, damage in DAMAGES.values()] if number == 2 else [lambda p: p]
            for form in forms:
                yield number, form(answer)


def test_damaged_compressed_answers_are_counted_and_change_nothing(
    devices: list[Device],  # noqa: F811
    answers: dict[int, Parcel],
) -> None:
    config, words, _ = world(devices, *INT8)
    spoilt, said, office = over_the_network(config, words, Spoilt(answers, lambda n, a: a))
    assert office.refused == Counter(reason for reason, _ in DAMAGES.values())
    assert said[0]["clients"] == len(devices) - 1
    absent = Recorded(answers, lambda n, a: Refusal("client", "") if n == 2 else a)
    without, _, _ = over_the_network(config, words, absent)
    assert furthest(spoilt, without) == 0.0


def test_clients_keep_their_residuals_as_the_simulator_does(devices: list[Device]) -> None:  # noqa: F811
    """bf16 values of nearly equal messages may differ by a last bit; without feedback far more would differ."""
    keys = (
        "sampling.fraction=1.0",
        "training.rounds=2",
        "compression.form=top-k",
        "compression.share=0.2",
        "client.lr=0.5",
    )
    config, words, clients = world(devices[:2], *keys)
    ours, said, office = over_the_network(config, words, Direct(devices[:2]), Terms(over=1.0))
    theirs, _ = simulated(config, words, clients)
    assert not office.refused and said[-1]["clients"] == 2
    assert ours.residuals == ()
    off = np.abs(flat(ours.params) - flat(theirs.params))
    assert np.mean(off < 1e-5) > 0.98 and off.max() < 0.01
    left = flat(theirs.residuals[0])
    assert np.mean(left != 0) > 0.5


def test_a_client_remembers_one_run_and_answers_a_repeated_round_alike() -> None:
    memory = Memory("zero")
    assert memory.residual(0) == "zero"
    memory.keep(0, "first")
    assert memory.residual(0) == "zero"  # asked again: the server has died and resumed
    memory.keep(0, "first")
    assert memory.residual(3) == "first"
    memory.keep(3, "third")
    assert memory.residual(3) == "first"
    memory.keep(3, "third")
    assert memory.residual(4) == "third"
    memory.keep(4, "fourth")
    assert memory.residual(1) == "zero"  # another run of the same configuration
