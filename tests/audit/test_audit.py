"""An audit finds planted mistakes without being told which, and does not accuse a sound mechanism."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from commands import Trained, configured, write_corpus
from tacit import runs
from tacit.audit import canaries, checks
from tacit.audit.audit import AuditOptions, audit
from tacit.federated import private, private_rounds
from tacit.federated.aggregation import AggregationConfig
from tacit.federated.algorithm import Algorithm
from tacit.federated.client_config import ClientConfig
from tacit.federated.sampling import SamplingConfig
from tacit.federated.server import ServerConfig
from tacit.privacy import ledger, noise
from tacit.privacy.config import PrivacyConfig
from tacit.runs import config

pytest.importorskip("dp_accounting")
PRIVATE = ["privacy.mechanism=gaussian", "privacy.clip=1", "privacy.noise=1", "sampling.scheme=poisson"]
CLIENTS = ["sampling.clients=4", "training.rounds=2"]


@pytest.fixture(scope="module")
def private_run(tmp_path_factory: pytest.TempPathFactory, compiled: Path) -> Path:
    """A sound private run; `compiled` lets the audits of the other tests reuse its programs."""
    here = tmp_path_factory.mktemp("private")
    runs.train(configured(write_corpus(here / "messages.jsonl"), *PRIVATE, *CLIENTS), here / "run")
    return here / "run"


def broken(run: runs.Run) -> list[str]:
    """Returns what does not hold, by the checks that an audit makes."""
    algorithm, entries = config.algorithm(run.config), ledger.read(run.path / ledger.NAME)
    made = checks.ledger_checks(algorithm, entries, run.metrics["round"], population=10)
    return [c.name for c in [*made, *checks.mechanism_checks(algorithm, 0)] if not c.holds]


def no_clipping(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(private, "clipped", lambda tree, clip: (tree, True))


def no_noise(patch: pytest.MonkeyPatch) -> None:
    drawn = noise.drawn
    patch.setattr(noise, "drawn", lambda *given: drawn(*given)._replace(values=0 * drawn(*given).values))


def wrong_denominator(patch: pytest.MonkeyPatch) -> None:
    """The server divides by a quarter of the clients, and the ledger does not say so."""
    made = private_rounds.private_federation
    released = private_rounds.released

    def smaller(*given: Any) -> Any:
        setup = made(*given)
        return setup and setup._replace(clients=setup.clients / 4)

    def as_claimed(setup: Any, *given: Any) -> ledger.Release:
        entry = released(setup, *given)
        return dataclasses.replace(entry, denominator=4 * (entry.denominator or 0))

    patch.setattr(private_rounds, "private_federation", smaller)
    patch.setattr(private_rounds, "released", as_claimed)


def release_left_out(patch: pytest.MonkeyPatch) -> None:
    append = ledger.append
    patch.setattr(ledger, "append", lambda path, entry: append(path, entry) if entry.round != 2 else None)


def reused_noise(patch: pytest.MonkeyPatch) -> None:
    kept: dict[int, noise.Drawn] = {}
    drawn = noise.drawn
    patch.setattr(noise, "drawn", lambda count, *source: kept.setdefault(count, drawn(count, *source)))


def reused_noise_under_a_new_digest(patch: pytest.MonkeyPatch) -> None:
    """The ledger cannot show it: only the noise itself does."""
    kept: dict[int, noise.Drawn] = {}
    drawn = noise.drawn

    def again(count: int, *source: Any) -> noise.Drawn:
        new = drawn(count, *source)
        return new._replace(values=kept.setdefault(count, new).values)

    patch.setattr(noise, "drawn", again)


BUGS = {  # and whether the run has to be trained with it to show
    no_clipping: False,
    no_noise: False,
    wrong_denominator: False,
    release_left_out: True,
    reused_noise: True,
    reused_noise_under_a_new_digest: False,
}


@pytest.mark.parametrize("bug", BUGS)
def test_an_audit_catches_each_planted_bug(
    bug: Any, private_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bug(monkeypatch)
    run = runs.Run(private_run)
    if BUGS[bug]:
        runs.train(run.config, tmp_path / "run")
        run = runs.Run(tmp_path / "run")
    assert broken(run)


def test_an_audit_of_a_sound_run_finds_nothing(private_run: Path, tmp_path: Path) -> None:
    summary = audit(private_run, tmp_path / "audit", AuditOptions(canaries=20, people=1))
    assert summary["holds"] and len(summary["checks"]) == 9
    assert json.loads((tmp_path / "audit" / "summary.json").read_text())["checks"] == summary["checks"]


def test_a_claim_below_the_ledger_is_found() -> None:
    """Such as that of a plan whose ε somebody has changed."""
    rounds = [ledger.Release("round", "gaussian", t, 2.0, "fixed", clip=1.0) for t in (1, 2)]
    s = 2**0.5  # together they are one release of noise √2; δ(ε) in closed form
    cost = brentq(lambda e: norm.cdf(0.5 / s - e * s) - np.exp(e) * norm.cdf(-0.5 / s - e * s) - 1e-6, 1, 9)
    assert checks.claim_check(None, rounds, 1e-6).holds
    told = {claim: checks.claim_check(claim, rounds, 1e-6) for claim in (2.0, 3.0, 4.0)}
    assert [check.holds for check in told.values()] == [False, False, True]
    assert f"claims ε = 2, the ledger costs {cost:.4g}" in told[2.0].finding
    seeded = [dataclasses.replace(entry, reason="its noise is drawn from a seed") for entry in rounds]
    assert not checks.claim_check(4.0, seeded, 1e-6).holds


def test_guesses_do_not_exceed_the_claim_over_twenty_repetitions(compiled: Path) -> None:
    """Jointly at 99.9 %: each repetition at 1 − 0.001/20."""
    from tacit.privacy.accounting import spent

    algorithm = Algorithm(
        ClientConfig(),
        AggregationConfig(),
        ServerConfig(),
        SamplingConfig(clients=500),
        PrivacyConfig(mechanism="gaussian", clip=1.0, noise=1.0),
    )
    shown = [
        canaries.guessed(algorithm, 500, 1, seed, canaries=500, confidence=1 - 0.001 / 20)
        for seed in range(20)
    ]
    claimed = spent(shown[0].releases, 1e-6).epsilon
    assert claimed is not None and max(g.epsilon for g in shown) <= claimed
    assert np.median([g.epsilon for g in shown]) > 0.15  # the guesses are not idle
    loud = algorithm._replace(privacy=dataclasses.replace(algorithm.privacy, noise=0.05))
    assert canaries.guessed(loud, 500, 1, 0, canaries=500).epsilon > 3


def test_checks_of_every_rule_hold(compiled: Path) -> None:
    for rule in ("attentive", "attentive-loss"):
        algorithm = Algorithm(
            ClientConfig(),
            AggregationConfig(rule),
            ServerConfig(),
            SamplingConfig(clients=400),
            PrivacyConfig(mechanism="gaussian", clip=1.0, noise=1.0),
        )
        wrong = [check for check in checks.mechanism_checks(algorithm, 1) if not check.holds]
        assert not wrong, (rule, wrong)


def test_a_run_without_privacy_is_attacked_too(trained: Trained, tmp_path: Path) -> None:
    summary = audit(trained.path, tmp_path / "audit", AuditOptions(20, 2, retrain=1))
    assert summary["checks"] == [] and summary["guesses"]["claimed"] is None
    seen = {row["seen"]: row["recovered"] for row in summary["recovery"]}
    assert seen["one update, as it is"] > 0.9
    assert {row["training"] for row in summary["planted"]} == {"as the run was trained"}
    page = (tmp_path / "audit" / "report.html").read_text()
    assert "claims no differential privacy" in page and "<svg" in page
