"""Private runs over a network: their noise is the simulator's, and the ledger says what protects a client there."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from in_process import PEOPLE, Client, Post, devices_of, simulated, world, write_words
from scipy.optimize import brentq
from scipy.stats import norm
from test_exchange import furthest, over_the_network

from tacit.base.errors import TacitError
from tacit.federated.sampling import choose
from tacit.models import language_model
from tacit.network.client import answering
from tacit.network.office import Terms
from tacit.network.person import Device
from tacit.network.training import train
from tacit.network.work import Parcel
from tacit.privacy import ledger, plan_file
from tacit.privacy.accounting import spent
from tacit.privacy.planning import Wish, plan
from tacit.runs.directory import read_best
from tacit.runs.report import entry_of
from tacit.runs.run import Run
from tacit.text.vocabulary import SPECIALS

pytest.importorskip("cryptography")
GAUSSIAN = ("privacy.mechanism=gaussian", "privacy.clip=0.5")
MATRIX = (
    "privacy.mechanism=matrix",
    "privacy.clip=0.5",
    "privacy.noise=0.5",
    "privacy.separation=2",
    "privacy.coefficients=1, 0.5, 0.25",
    "sampling.clients=3",
    "sampling.fraction=0",
)


@pytest.fixture(scope="module")
def devices() -> list[Device]:
    """One person as all clients, who differ by their numbers: so one program is compiled."""
    return devices_of(1) * PEOPLE


@pytest.fixture(scope="module")
def clients(devices: list[Device]) -> list[Client]:
    return [answering(devices[0])] * PEOPLE


def who_trained(post: Post) -> dict[int, set[int]]:
    """Whom each round has asked to train."""
    asked: dict[int, set[int]] = {}
    for number, task in post.asked:
        if task.facts["kind"] in ("train", "advertise"):
            asked.setdefault(int(task.facts["round"]), set()).add(number)
    return asked


def test_matrix_noise_and_groups_are_the_simulators(
    devices: list[Device],
    clients: list[Client],
) -> None:
    keys = (*MATRIX, "privacy.noise_source=seed", "training.rounds=4")
    config, words, text = world(devices, *keys)
    post = Post(clients)
    state, said, office = over_the_network(config, words, post)  # type: ignore[arg-type]
    assert not office.refused
    assert furthest(state.params, simulated(config, words, text).params) < 1e-5
    asked = who_trained(post)
    for t in range(4):
        expected = choose(config.sampling, np.ones(PEOPLE), config.seed, t, 2).ids
        assert asked[t] == set(expected.tolist())
    assert not asked[0] & asked[1] and asked[0] | asked[1] == set(range(PEOPLE))
    release = said[0]["release"]
    # the first column of C is (1, ½, ¼, 0); a client takes part in rounds t and t + 2 at most
    rows = np.array([[1, 0, 0, 0], [0.5, 1, 0, 0], [0.25, 0.5, 1, 0], [0, 0.25, 0.5, 1]])
    worst = max(np.linalg.norm(rows[:, pair].sum(axis=1)) for pair in ([0, 2], [1, 3]))
    assert release.sensitivity == pytest.approx(worst)
    assert (release.sampling, release.participations, release.separation) == ("separated", 2, 2)


def test_only_the_rounds_group_stands_in_for_who_is_absent(
    devices: list[Device],
    clients: list[Client],
) -> None:
    """Client 0 is away: others of its group may come instead, and nobody of another group."""
    keys = (*MATRIX, "sampling.clients=1", "training.rounds=4")
    config, words, _ = world(devices, *keys)

    class Away(Post):
        def present(self) -> Sequence[int]:
            return range(1, PEOPLE)

    post = Away(clients)
    over_the_network(config, words, post)  # type: ignore[arg-type]
    asked = who_trained(post)
    assert len(asked) == 4 and all(asked.values())
    assert not (asked[0] | asked[2]) & (asked[1] | asked[3])


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def epsilon_of(z: float, rounds: int, delta: float) -> float:
    """ε of so many rounds of Gaussian noise in which everybody takes part: the analytic formula."""
    mu = math.sqrt(rounds) / z

    def excess(epsilon: float) -> float:
        return float(
            norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu) - delta
        )

    return float(brentq(excess, 0, 100))


def test_a_plan_and_a_budget_over_a_network(
    tmp_path: Path, devices: list[Device], clients: list[Client]
) -> None:
    """ε is that of rounds in which everybody takes part, training ends at the budget, and nobody scores a model."""
    pytest.importorskip("dp_accounting")
    wish = Wish(1e-5, 4, PEOPLE, clients=3, noise_multiplier=2.0, sampling="fixed")
    plan_file.write(tmp_path / "plan.json", plan(wish))
    planned = plan_file.read(tmp_path / "plan.json")
    keys = (*GAUSSIAN, f"privacy.plan={tmp_path / 'plan.json'}", "privacy.delta=1e-5", "training.rounds=4")
    budget = f"privacy.epsilon={planned.epsilons[1] + 1e-6}"
    listed = f"text.words={write_words(tmp_path / 'words.txt', devices)}"
    config, _, _ = world(devices, *keys, budget, listed, "sampling.clients=3", "sampling.fraction=0")
    post, out = Post(clients), tmp_path / "run"
    summary = train(config, out, post, lambda: PEOPLE, Terms())
    assert summary["stopped"].startswith("after round 2") and len(who_trained(post)) == 2
    releases = ledger.read(out / ledger.NAME)
    assert [(r.mechanism, r.sampling, r.rate, r.round, r.denominator) for r in releases] == [
        ("gaussian", "fixed", 1.0, t, 3.0) for t in (1, 2)
    ]
    assert summary["epsilon"] == planned.epsilons[1]
    exact = epsilon_of(2.0, 2, 1e-5)
    assert exact == pytest.approx(summary["epsilon"], rel=1e-6)  # and so without amplification
    assert spent(releases, 1e-5).epsilon == pytest.approx(summary["epsilon"], rel=1e-6)
    assert {task.facts["kind"] for _, task in post.asked} == {"train"}
    assert (summary["test"], summary["chosen_by"], summary["best_round"]) == (None, "the last round", 2)
    assert all(line.keys() == {"round", "lr"} for line in lines(out / "metrics.jsonl"))
    with pytest.raises(TacitError, match="this model has no scores"):
        entry_of(Run(out))
    text = "".join(str(task.facts["config"]) for _, task in post.asked[:1])
    assert "noise = 2.0" in text and str(tmp_path) not in text


def test_a_private_run_keeps_the_population_that_it_began_with(
    tmp_path: Path, devices: list[Device], clients: list[Client]
) -> None:
    """Whoever is invited later is in no group; and a resumed run ends with the bytes of one that was not."""
    listed = f"text.words={write_words(tmp_path / 'words.txt', devices)}"
    config, _, _ = world(devices, *MATRIX, listed, "privacy.noise_source=seed")
    train(config, tmp_path / "whole", Post(clients), lambda: PEOPLE, Terms())
    stopped = Post(clients)

    class Killed(Exception):
        pass

    def ends(number: int, task: Parcel) -> Any:
        if task.facts["round"] == 1:
            raise Killed
        return Post.answer(stopped, number, task)

    stopped.answer = ends  # type: ignore[method-assign]
    with pytest.raises(Killed):
        train(config, tmp_path / "cut", stopped, lambda: PEOPLE, Terms())
    more = Post([*clients, clients[0]])
    train(config, tmp_path / "cut", more, lambda: PEOPLE + 1, Terms(), resume=True)
    assert {number for number, _ in more.asked} <= set(range(PEOPLE))
    model = language_model(config.model, len(SPECIALS) + 36)
    shapes = jax.eval_shape(model.init, jax.random.key(0))
    assert furthest(read_best(tmp_path / "whole", shapes), read_best(tmp_path / "cut", shapes)) == 0
    with pytest.raises(TacitError, match="the run began with 6 clients, and 5 are invited"):
        train(config, tmp_path / "cut", Post(clients[:5]), lambda: 5, Terms(), resume=True)
