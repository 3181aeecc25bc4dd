"""Handles the privacy of a run: its plan, its ledger and budget, and the ε in its summary.

Training needs no accounting library. A plan, which `tacit privacy plan --out FILE` writes, holds the noise multiplier,
the ε after each round, and the matrix of correlated noise. A run copies it into its directory.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from tacit.base.errors import TacitError
from tacit.base.files import to_json, write_atomic
from tacit.base.reading import read_object, read_regular
from tacit.federated.private_setup import NO_NOISE, SEEDED
from tacit.federated.sampling import cohort_size
from tacit.privacy import ledger, plan_file
from tacit.privacy.config import PrivacyConfig
from tacit.privacy.ledger import Release
from tacit.privacy.plan_file import Plan
from tacit.runs.config import Config
from tacit.text.catalogue import user_path

PLAN = "plan.json"
POPULATION = "population.json"  # how many clients a private run began with
SHOW = "run `tacit privacy show RUN`"
_WORDS = "its words are counted in everybody's text; give a list of words with text.words"
BIAS = "the output bias is computed from counts without noise: model.bias = 'counts'"


def plan_of(config: Config, out: Path) -> Plan | None:
    """Returns the plan of a run: the copy in its directory, or the file that a new run names."""
    if not config.privacy.plan:
        return None
    copy = out / PLAN
    return plan_file.read(copy if copy.is_file() else user_path(config.privacy.plan))


def planned(config: Config, plan: Plan | None) -> Config:
    """Returns the configuration with the values of its plan; refuses a configuration that contradicts the plan."""
    if plan is None:
        return config
    given, usual = config.privacy, PrivacyConfig()
    decided: dict[str, Any] = {"noise": plan.noise_multiplier, "delta": plan.delta}
    if plan.mechanism == "matrix":
        decided |= {"separation": plan.separation, "coefficients": plan.coefficients}
    for key, value in decided.items():
        if getattr(given, key) not in (value, getattr(usual, key)):
            raise TacitError(
                f"privacy.{key} = {getattr(given, key)!r}, but the plan {given.plan} has {value!r}; remove the key or "
                "make another plan"
            )
    scheme = config.sampling.scheme
    pairs: list[tuple[str, str, str]] = [("privacy.mechanism", given.mechanism, plan.mechanism)]
    if plan.mechanism == "gaussian":
        pairs.append(("sampling.scheme", scheme, {"fixed": "uniform"}.get(plan.sampling, plan.sampling)))
    for key, has, wants in pairs:
        if has != wants:
            raise TacitError(f"the plan {given.plan} is for {key} = '{wants}', not '{has}'")
    if config.training.rounds > plan.rounds:
        raise TacitError(
            f"training.rounds = {config.training.rounds}, but the plan {given.plan} is for {plan.rounds} rounds; train "
            "fewer or make another plan"
        )
    return dataclasses.replace(config, privacy=dataclasses.replace(given, **decided))


def check_population(config: Config, plan: Plan | None, population: int) -> None:
    """Refuses a run that samples its clients more often than its plan assumes."""
    if plan is None or plan.sampling != "poisson":
        return
    clients = cohort_size(config.sampling, population)
    if clients / population > plan.rate * (1 + 1e-9):
        raise TacitError(
            f"the plan {config.privacy.plan} is for a share {plan.rate:g} of all clients in a round, but {clients} of "
            f"{population} are {clients / population:g}; lower sampling.clients or make another plan"
        )


def begun_population(config: Config, out: Path) -> int | None:
    """Returns how many clients a private run began with; None for a new run and one that is not private."""
    file = out / POPULATION
    if not config.privacy.private or not file.exists():
        return None
    try:
        clients = read_object(file).get("clients")
    except (OSError, ValueError):
        clients = None
    if type(clients) is not int or clients < 1:
        raise TacitError(f"{file}: not the number of clients that a run began with; restore the file")
    return clients


def check_same_population(config: Config, out: Path, population: int) -> None:
    """Refuses to resume a private run over another number of clients: its denominator and its groups would change."""
    begun = begun_population(config, out)
    if begun not in (None, population):
        raise TacitError(
            f"{out}: the run began with {begun} clients, and the text has {population} now; restore the text, or train "
            "again"
        )


def begin(config: Config, out: Path, population: int) -> None:
    """Writes what a new private run records before its first round: how many clients there are, its plan, and releases
    without noise."""
    if not config.privacy.private:
        return
    if not (out / POPULATION).exists():
        write_atomic(out / POPULATION, to_json({"clients": population}) + "\n")
    if config.privacy.plan and not (out / PLAN).is_file():
        write_atomic(out / PLAN, read_regular(user_path(config.privacy.plan)))
    if ledger.read(out / ledger.NAME):
        return
    for release in first_releases(config):
        ledger.append(out / ledger.NAME, release)


def first_releases(config: Config) -> list[Release]:
    """Returns the releases of a run before its first round.

    They are everything computed from clients' text without noise, and the releases of files that were computed from
    clients' text, such as words of `tacit count`.
    """
    files = [user_path(name) for name in (config.text.words, config.text.inventory) if name]
    return _plain_releases(config) + [release for file in files for release in ledger.inherited(file)]


def check_budget(config: Config, out: Path) -> None:
    """Refuses a budget if there are releases before the first round, which the plan does not count."""
    if not config.privacy.epsilon or ledger.read(out / ledger.NAME):  # a run that was begun has been checked
        return
    first = first_releases(config)
    if first and (reason := ledger.no_epsilon(first)):
        raise TacitError(
            f"privacy.epsilon = {config.privacy.epsilon:g} is a budget, and this run has no ε ({reason}); "
            "mend that, or leave out privacy.epsilon"
        )
    if first:
        raise TacitError(
            "privacy.epsilon is a budget for the rounds of a plan only, but the words of this run were counted on "
            "clients, which also costs ε; remove privacy.epsilon and look with `tacit privacy show`, or give a word "
            "list that is not the clients'"
        )


def _plain_releases(config: Config) -> list[Release]:
    """Returns the releases from clients' text without noise, each with the reason why it has no ε."""
    reasons = {
        "vocabulary": "" if config.text.words else _WORDS,
        "bias from counts": BIAS if config.model.bias == "counts" else "",
    }
    return [Release(what, "none", reason=reason) for what, reason in reasons.items() if reason]


def rounds_released(out: Path) -> list[int]:
    """Returns the rounds of a run's ledger; a round that was repeated after a crash occurs twice."""
    return [r.round for r in ledger.read(out / ledger.NAME) if r.what == "round" and r.round]


def rounds_left(config: Config, plan: Plan | None, out: Path) -> int:
    """Returns how many more rounds the budget allows; all of them without a budget.

    The plan's ε are for equal rounds with independent noise, so a repeated round counts as one more. The plan has no ε
    for a repeated round of the matrix mechanism, so no further round is allowed then.
    """
    if plan is None or not config.privacy.epsilon:
        return config.training.rounds
    made = rounds_released(out)
    if plan.mechanism == "matrix" and len(made) != len(set(made)):
        return 0
    return max(0, sum(epsilon <= config.privacy.epsilon for epsilon in plan.epsilons) - len(made))


def epsilon(config: Config, plan: Plan | None, out: Path) -> tuple[float | None, str]:
    """Returns the ε of a run and how it was computed, or None and the reason why there is none."""
    privacy, noise = config.privacy, config.aggregation.noise
    if config.training.mode == "federated" and noise:
        return None, (
            f"noise of β = {noise:g} without clipping bounds nobody's influence: it is noise, not differential privacy"
        )
    if not privacy.private:
        return None, "no privacy mechanism was used"
    if privacy.noise_source == "seed":
        return None, SEEDED
    if privacy.mechanism == "clipped":
        return None, NO_NOISE
    further = [r for r in ledger.read(out / ledger.NAME) if r.what != "round"] or _plain_releases(config)
    if further and (reason := ledger.no_epsilon(further)):
        return None, reason
    made = rounds_released(out)
    repeated = len(made) != len(set(made)) and privacy.mechanism == "matrix"
    if further or plan is None or not 0 < len(made) <= len(plan.epsilons) or repeated:
        return None, f"noise multiplier {privacy.noise:g}, {len(made)} rounds; for ε {SHOW}"
    return plan.epsilons[len(made) - 1], f"at δ = {privacy.delta:g}, after {len(made)} rounds of the plan"
