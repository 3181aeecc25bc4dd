"""Plans: the noise gives the wanted ε and not much less; matrices against dense ones; the plan file."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest

from tacit.base.errors import TacitError
from tacit.privacy import accounting, plan_file, planning
from tacit.privacy.accounting import Parts, pld, spent
from tacit.privacy.ledger import Release
from tacit.privacy.optimal import optimal, prefix_error
from tacit.privacy.planning import Wish, plan
from tacit.privacy.strategy import Strategy, sensitivities

BLT = Strategy(  # what jax-privacy finds for 1,000 rounds, 10 participations, 100 apart
    decay=(0.9860718691674673, 0.6231442595883986), scale=(0.23131855414241548, 0.2725380606304801)
)


def wish(**fields: object) -> Wish:
    return Wish(**{"delta": 1e-6, "rounds": 12, "population": 10_000, **fields})


# Noise, ε, cohort: two are given.


@pytest.fixture(autouse=True)
def few_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """PLD at four rounds of a plan, which takes less time."""
    monkeypatch.setattr(accounting, "_CURVE", 4)


def test_the_noise_gives_the_epsilon() -> None:
    small = {"population": 500, "rounds": 6}
    found = plan(wish(epsilon=2.0, clients=10, **small))
    made = [
        Release("round", "gaussian", t, found.noise_multiplier, "poisson", 0.02, clip=1.0)
        for t in range(1, 7)
    ]
    account = spent(made, 1e-6)
    assert account.epsilon_pld == found.epsilon_pld and account.epsilon_rdp == found.epsilon_rdp
    assert 1.98 < found.epsilon_pld <= 2.0 < found.epsilon_rdp
    assert pld(Parts(sampled=((found.noise_multiplier * 0.995, 0.02, 6),)), 1e-6) > 2.0
    assert len(found.epsilons) == 6 and list(found.epsilons) == sorted(found.epsilons)
    assert found.epsilons[-1] == found.epsilon
    assert found.noise_in_mean == found.noise_multiplier / 10

    # and back: the noise gives ε again, and the cohort
    back = plan(wish(noise_multiplier=found.noise_multiplier, clients=10, **small))
    assert back.epsilon == found.epsilon
    assert plan(wish(epsilon=2.0, noise_multiplier=found.noise_multiplier, **small)).clients == 10


def test_without_amplification_the_noise_is_exact() -> None:
    found = plan(wish(epsilon=1.0, clients=100, sampling="fixed"))
    assert found.noise_multiplier == pytest.approx(
        4.22 * math.sqrt(12), rel=1e-2
    )  # σ(1, 1e-6), Balle and Wang
    assert found.epsilon <= 1.0 and found.zcdp == pytest.approx(12 / found.noise_multiplier**2 / 2)
    apart = plan(wish(epsilon=1.0, clients=100, separation=4))
    assert apart.sampling == "separated" and apart.participations == 3
    assert apart.noise_multiplier == pytest.approx(4.22 * math.sqrt(3), rel=1e-2)
    local = plan(wish(epsilon=1.0, clients=100, mechanism="local"))
    assert local.noise_multiplier == found.noise_multiplier
    assert local.noise_in_mean == pytest.approx(10 * found.noise_in_mean)


def test_a_larger_cohort_has_less_noise_in_its_mean() -> None:
    found = planning.cohorts(plan(wish(epsilon=4.0, clients=2, population=6, rounds=2)))
    assert [c.clients for c in found] == [1, 2, 4]
    assert [c.noise_multiplier for c in found] == sorted(c.noise_multiplier for c in found)
    assert [c.noise_in_mean for c in found] == sorted((c.noise_in_mean for c in found), reverse=True)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"epsilon": -1.0}, "ε = -1"),
        ({"epsilon": 0.0}, "ε = 0"),
        ({"epsilon": math.inf}, "ε = inf"),
        ({"epsilon": math.nan}, "ε = nan"),
        ({"delta": 0.0}, "δ = 0"),
        ({"delta": 1.0}, "δ = 1"),
        ({"clients": 10_001}, "more than the population"),
        ({"clients": 0}, "clients = 0"),
        ({"rounds": 0}, "rounds = 0"),
        ({"rounds": 10**9}, "plan fewer"),
        ({"population": 0}, "population = 0"),
        ({"clients": None}, "give two of"),
        ({"noise_multiplier": 1.0}, "give two of"),
        ({"epsilon": None, "noise_multiplier": 0.0}, "noise multiplier = 0"),
        ({"mechanism": "matrix", "separation": 101}, "largest possible is 100"),
        ({"mechanism": "matrix", "sampling": "poisson"}, "separated"),
        ({"mechanism": "local", "sampling": "poisson"}, "Poisson"),
        ({"mechanism": "magic"}, "magic"),
        ({"sampling": "magic"}, "magic"),
        ({"sampling": "fixed", "separation": 5}, "separation"),
        ({"form": "dense"}, "dense"),
        ({"bands": 3}, "bands"),
        ({"clients": None, "noise_multiplier": 1.0, "sampling": "fixed"}, "give clients"),
        ({"clients": None, "noise_multiplier": 0.01}, "even one client"),
    ],
)
def test_what_cannot_be_planned_is_refused(fields: dict, named: str) -> None:
    with pytest.raises(TacitError, match=named):
        plan(wish(**{"epsilon": 1.0, "clients": 100, **fields}))


# Matrices.


def test_sensitivity_is_the_worst_of_all_patterns() -> None:
    rounds, separation = 9, 3
    for given in (Strategy(column=(1.0, 0.6, 0.5, 0.2)), Strategy(decay=(0.8, 0.3), scale=(0.3, 0.2))):
        c = given.first_column(rounds)
        dense = np.array([[c[i - j] if i >= j else 0.0 for j in range(rounds)] for i in range(rounds)])
        worst = 0.0
        for chosen in itertools.product((0, 1), repeat=rounds):
            at = np.flatnonzero(chosen)
            if np.all(np.diff(at) >= separation):
                worst = max(worst, float(np.linalg.norm(dense[:, at].sum(axis=1))))
        found = sensitivities(given, rounds, separation)
        assert found[-1] == pytest.approx(worst)
        assert found[4] == pytest.approx(np.linalg.norm(dense[:5, [0, 3]].sum(axis=1)))
        noise = np.tril(np.ones((rounds, rounds))) @ np.linalg.inv(dense)
        assert prefix_error(given, rounds) == pytest.approx(np.linalg.norm(noise) / math.sqrt(rounds))


def test_the_published_error_of_a_blt() -> None:
    """1,000 rounds, 10 participations, 100 apart: 12.4 against 70.8 for independent noise."""
    identity = Strategy(column=(1.0,))
    for given, error in ((BLT, 12.4), (identity, 70.75)):
        sensitivity = sensitivities(given, 1000, 100)[-1]
        assert sensitivity * prefix_error(given, 1000) == pytest.approx(error, abs=0.01)


def test_a_matrix_is_planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "optimal", lambda *given: BLT)
    found = plan(wish(epsilon=8.0, clients=100, rounds=1000, mechanism="matrix"))
    assert (found.separation, found.participations, found.sampling) == (100, 10, "separated")
    assert found.error == pytest.approx(12.4, abs=0.01) and found.error_independent == pytest.approx(
        70.75, abs=0.01
    )
    made = Release(
        *("round", "matrix", 1, found.noise_multiplier, "separated", 1.0, 0.5),
        *(found.participations, found.separation, found.sensitivity),
    )
    assert spent([made], 1e-6).epsilon == pytest.approx(found.epsilon)
    assert 7.99 < found.epsilon <= 8.0
    assert found.epsilons[0] < found.epsilons[99] < found.epsilons[-1] == found.epsilon
    assert found.coefficients == BLT.text()
    same = plan(wish(epsilon=8.0, clients=100, rounds=1000, separation=100))  # independent noise
    assert same.noise_in_sum / found.noise_in_sum == pytest.approx(70.75 / 12.4, rel=2e-3)
    plan_file.write(tmp_path / "plan.json", found)
    assert plan_file.read(tmp_path / "plan.json") == found


def test_jax_privacy_finds_a_banded_matrix() -> None:
    found = optimal(6, 2, "banded")
    c = found.column
    assert len(c) == 2 and c[0] == 1 and 0.4 < c[1] < 0.6
    independent = math.sqrt(3) * math.sqrt(7 / 2)
    assert sensitivities(found, 6, 2)[-1] * prefix_error(found, 6) < 0.9 * independent
    assert optimal(1, 1) == Strategy(column=(1.0,))


# The file.


@pytest.fixture(scope="module")
def small() -> plan_file.Plan:
    return plan(Wish(1e-6, 5, 1000, epsilon=1.0, clients=10, sampling="fixed"))


def test_a_plan_file_is_read_as_it_was_written(tmp_path: Path, small: plan_file.Plan) -> None:
    path = tmp_path / "new" / "plan.json"  # its folder is made
    plan_file.write(path, small)
    assert plan_file.read(path) == small
    record = json.loads(path.read_text())
    assert {"noise_multiplier", "epsilon_rdp", "epsilon_pld", "delta", "rounds"} <= set(record)
    plan_file.write(path, small)  # replaces its own kind
    path.write_text("mine")
    with pytest.raises(TacitError, match="not a privacy plan"):
        plan_file.write(path, small)
    assert path.read_text() == "mine"


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"noise_multiplier": -1}, "noise_multiplier"),
        ({"epsilons": [1.0]}, "ε for each round"),
        ({"epsilons": None}, "epsilons"),
        ({"delta": 1}, "delta"),
        ({"mechanism": "matrix"}, "matrix"),
        ({"rounds": 5.0}, "rounds"),
        ({"format": "other"}, "format"),
        ({"extra": 1}, "extra"),
    ],
)
def test_a_damaged_plan_is_refused(tmp_path: Path, small: plan_file.Plan, change: dict, named: str) -> None:
    path = tmp_path / "plan.json"
    plan_file.write(path, small)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(TacitError, match=named):
        plan_file.read(path)
    with pytest.raises(TacitError, match="not a privacy plan"):
        plan_file.read(tmp_path / "none.json")
