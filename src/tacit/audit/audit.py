"""Audits a run: checks, guesses, word recovery and planted phrases, written to a directory (`tacit audit`).

summary.json      every figure
report.html       the same for people who are not specialists, with pictures
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from tacit.audit import canaries, checks, planted, recovery, report
from tacit.audit.planted import Planting
from tacit.base import files
from tacit.base.errors import TacitError
from tacit.base.progress import Progress, no_progress, stage
from tacit.base.transaction import Kind, transaction
from tacit.federated.evaluation import scorer
from tacit.federated.objective import next_word_loss
from tacit.federated.sampling import cohort_size
from tacit.privacy import ledger
from tacit.privacy.config import PrivacyConfig
from tacit.runs.config import Config, algorithm
from tacit.runs.run import Run, load
from tacit.runs.training import make_trainer
from tacit.text.packed import Packed
from tacit.text.prepare import Prepared

FORMAT = "tacit audit 1"
KIND = Kind("tacit audit", FORMAT, ("summary.json", "report.html"))
PLANTINGS = (Planting(1, 1), Planting(1, 20), Planting(4, 20), Planting(16, 20))
_PHRASES = 4  # of each planting
_GATHERED = 20_000  # clients of a text that is generated on demand


@dataclass(frozen=True)
class AuditOptions:
    """How thorough an audit is."""

    canaries: int = 1000
    people: int = 20  # whose words are read from their updates
    retrain: int = 0  # rounds of training with planted phrases; 0: no such training
    seed: int = 0


def audit(
    path: Path,
    out: Path,
    options: AuditOptions,
    data: Path | None = None,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Audits the run at `path`, writes the directory `out`, and returns the summary."""
    run = load(path)
    if run.config.training.mode != "federated":
        raise TacitError(
            f"{path} was trained centrally: its text is in one place, and there is nothing to audit"
        )
    if run.spelling is not None:
        raise TacitError(f"{path} is a model of word-pieces; audits read words: audit a run over words")
    with transaction(out, KIND) as folder:
        progress("reading the text", 0.0)
        ready = run.prepare(data)
        progress("guessing who took part", 0.05)
        summary: dict[str, Any] = {
            "format": FORMAT,
            "run": run.config.name,
            "rounds": run.config.training.rounds,
            "privacy": dataclasses.asdict(run.config.privacy),
            "checks": _checks(run, ready, options),
            "guesses": _guesses(run, ready, options),
            "recovery": _recovery(run, ready, options),
            "planted": _planted(run, ready, options, stage(progress, 0.2, 1.0)),
        }
        summary["holds"] = all(check["holds"] for check in summary["checks"]) and summary["guesses"]["holds"]
        files.write_atomic(folder / "report.html", report.page(summary))
        files.write_atomic(folder / "summary.json", files.to_json(summary) + "\n")
    return summary


def _checks(run: Run, ready: Prepared, options: AuditOptions) -> list[dict[str, Any]]:
    """Returns the checks of a private run; none for a run that claims nothing."""
    config = run.config
    if not config.privacy.private:
        return []
    releases = ledger.read(run.path / ledger.NAME)
    rounds = [r for r in run.metrics["round"] if r is not None]
    claimed = run.summary["epsilon"] if run.finished else None
    made = [
        *checks.ledger_checks(algorithm(config), releases, rounds, len(ready.clients)),
        checks.claim_check(claimed, releases, config.privacy.delta),
        *checks.mechanism_checks(algorithm(config), options.seed),
    ]
    return [check._asdict() for check in made]


def _guesses(run: Run, ready: Prepared, options: AuditOptions) -> dict[str, Any]:
    """Returns the lower bound on ε, beside what the ledger of the same rounds claims."""
    config = run.config
    shown = canaries.guessed(
        algorithm(config), len(ready.clients), config.training.rounds, options.seed, options.canaries
    )
    claimed, reason = _claimed(config, shown.releases)
    figures: Mapping[str, Any] = shown._asdict()
    return {
        **{k: v for k, v in figures.items() if k != "releases"},
        "claimed": claimed,
        "claimed_reason": reason,
        "holds": claimed is None or shown.epsilon <= claimed,
    }


def _claimed(config: Config, releases: list[ledger.Release]) -> tuple[float | None, str]:
    """Returns the ε that the ledger of the audited rounds stands for, or why there is none."""
    if not config.privacy.private:
        return None, "the run has no private mechanism"
    from tacit.privacy.accounting import spent  # here: it needs the extra `privacy`

    counted = spent(releases, config.privacy.delta)
    return counted.epsilon, counted.reason


def _recovery(run: Run, ready: Prepared, options: AuditOptions) -> list[dict[str, Any]]:
    """Returns which share of a person's words an attacker reads, with and without each protection."""
    config, rng = run.config, np.random.default_rng([options.seed, 2])
    loss, params = next_word_loss(run.model), run.model.init(jax.random.key(config.seed))
    people = recovery.typists(loss, params, algorithm(config), ready.clients, options.people, options.seed)
    counts = np.bincount(ready.valid.tokens, minlength=len(ready.vocabulary)).astype(np.float64)
    words, privacy, beta = len(ready.vocabulary), config.privacy, config.aggregation.noise
    clip = privacy.clip or float(np.median([person.norm for person in people]))

    def noise(deviation: float) -> np.ndarray:
        return rng.normal(0, deviation, words)

    nothing = np.zeros(words)
    whole = cohort_size(config.sampling, len(ready.clients))
    rows = {
        "no update, guessing common words": recovery.without_an_update(counts, people),
        "one update, as it is": recovery.alone(people, lambda p: p.change),
    }
    for b in dict.fromkeys((beta or 0.001, 0.01)):
        noised = [person._replace(change=person.change + noise(b)) for person in people]
        rows[f"one update, noise of β = {b:g} (papers 1 and 2)"] = recovery.alone(noised, lambda p: p.change)
    rows[f"one update, clipped to {clip:.3g}"] = recovery.alone(people, lambda p: recovery.clipped(p, clip))
    rows[f"sum of {len(people)} clipped updates (secure sum)"] = recovery.in_a_sum(
        people, lambda p: recovery.clipped(p, clip), nothing
    )
    if privacy.private:
        deviation = privacy.noise * clip
        rows[f"the same sum with the run's noise, z = {privacy.noise:.3g}"] = recovery.in_a_sum(
            people, lambda p: recovery.clipped(p, clip), noise(deviation)
        )
    return [
        {"seen": seen, "recovered": share, "people": len(people), "cohort": whole}
        for seen, share in rows.items()
    ]


def _planted(run: Run, ready: Prepared, options: AuditOptions, progress: Progress) -> list[dict[str, Any]]:
    """Returns what a model knows of planted phrases: trained as the run was, and without its protections."""
    if not options.retrain:
        return []
    config, rng = run.config, np.random.default_rng([options.seed, 3])
    clients = ready.clients
    text = clients if isinstance(clients, Packed) else clients.gather(np.arange(min(len(clients), _GATHERED)))
    plantings = planted.fitting(PLANTINGS, len(text))
    secret = np.stack([planted.phrases(_PHRASES, len(ready.vocabulary), rng) for _ in plantings])
    references = planted.phrases(planted.REFERENCES, len(ready.vocabulary), rng)
    secretly = ready._replace(clients=planted.plant(text, secret, plantings, rng))
    protected = {"as the run was trained": config}
    if config.privacy.private:
        plain = dataclasses.replace(config, privacy=PrivacyConfig())
        protected = {"without privacy": plain, **protected}
    score, rows = scorer(run.model), list[dict[str, Any]]()
    for i, (name, settings) in enumerate(protected.items()):
        settings = dataclasses.replace(
            settings, training=dataclasses.replace(settings.training, rounds=options.retrain)
        )
        trainer = make_trainer(settings, run.model, secretly)
        state = trainer.init(jax.random.key(config.seed))
        for t in range(options.retrain):
            state, _ = trainer.round(state, t)
            progress("training with planted phrases", (i + (t + 1) / options.retrain) / len(protected))
        known = planted.remembered(run.model, score, state.params, secret, plantings, references)
        rows += [
            {"training": name, **r.planting._asdict(), "exposure": r.exposure, "extracted": r.extracted}
            for r in known
        ]
    return rows
