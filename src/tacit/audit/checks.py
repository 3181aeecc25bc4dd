"""Checks of a private run: does the mechanism do what the ledger says, and does the ledger say all of it?

Each check looks from outside. Made-up clients send updates that are too long, or all the same, or nothing at all; what
the model does then is compared with the clip, the noise multiplier and the denominator that the ledger names
(`mechanism`). The ledger itself is compared with the rounds that were made. A statistical check fails by chance in
fewer than one of a million audits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from tacit.audit import mechanism
from tacit.federated.aggregation import AggregationConfig, aggregation
from tacit.federated.algorithm import Algorithm
from tacit.federated.private import bounds_of, client_parts
from tacit.federated.private_setup import private_federation
from tacit.federated.sampling import cohort_size
from tacit.privacy.ledger import Release

_SIGMAS = 5.5  # deviations that are no accident: one in 26 million
_CLIENTS = 400  # made-up clients of a check
_CLOSE = 1e-3  # by which a plan's ε may differ, which was computed in coarser bins


class Check(NamedTuple):
    """One question and its answer."""

    name: str
    holds: bool
    finding: str


def mechanism_checks(algorithm: Algorithm, seed: int) -> list[Check]:
    """Checks clipping, noise and denominator of an algorithm's mechanism."""
    return [_clipping(algorithm, seed), *_noise(algorithm, seed), *_denominator(algorithm, seed)]


def ledger_checks(
    algorithm: Algorithm, releases: Sequence[Release], rounds: Sequence[int], population: int
) -> list[Check]:
    """Checks that the ledger has every round of a run, each with fresh noise and the configured multiplier."""
    entries = [r for r in releases if r.what == "round"]
    missing = sorted(set(rounds) - {r.round for r in entries})
    twice = [d for d, n in Counter(r.noise_digest for r in entries if r.noise_digest).items() if n > 1]
    private = private_federation(algorithm.privacy, algorithm.sampling, population, max([1, *rounds]))
    wrong = []
    if private:
        wrong = [
            r.round
            for r in entries
            if not np.isclose(r.noise_multiplier or 0.0, private.config.noise)
            or not np.isclose(r.denominator or 0.0, private.clients)
        ]
    return [
        Check(
            "every round is in the ledger",
            not missing,
            f"rounds without an entry: {_few(missing)}" if missing else f"{len(entries)} entries",
        ),
        Check(
            "no noise is used twice",
            not twice,
            f"{len(twice)} digests of noise occur more than once" if twice else "all digests differ",
        ),
        Check(
            "the ledger has the configured noise and denominator",
            not wrong,
            f"other figures in rounds {_few(wrong)}" if wrong else "in every entry",
        ),
    ]


def claim_check(claimed: float | None, releases: Sequence[Release], delta: float) -> Check:
    """Checks that a run claims no smaller ε than its ledger costs; a plan says what a run claims, and may be wrong."""
    from tacit.privacy.accounting import spent  # here: it needs the extra `privacy`

    cost = spent(releases, delta).epsilon if claimed is not None else None
    holds = claimed is None or (cost is not None and claimed >= cost * (1 - _CLOSE))
    told = "no ε" if claimed is None else f"ε = {claimed:.4g}"
    return Check(
        "the claimed ε is not below the ledger's",
        holds,
        f"the summary claims {told}" + ("" if claimed is None else f", the ledger costs {_figure(cost)}"),
    )


def _figure(epsilon: float | None) -> str:
    return "no finite ε" if epsilon is None else f"{epsilon:.4g}"


def _clipping(algorithm: Algorithm, seed: int) -> Check:
    """Sends updates of many lengths through the client's code: no part of a message may exceed its bound."""
    simple = mechanism.simplified(algorithm, _CLIENTS)
    private = private_federation(simple.privacy, simple.sampling, _CLIENTS, 1)
    assert private is not None
    rule = aggregation(simple.aggregation, simple.sampling.scheme)
    clip, rng = jnp.float32(simple.privacy.clip), np.random.default_rng(seed)
    lengths = (simple.privacy.clip * 10.0 ** rng.uniform(-3, 4, 32)).astype(np.float32)
    updates = mechanism.as_model(lengths[:, None] * mechanism.directions(32, seed))
    start = mechanism.as_model(0.1 * rng.normal(size=mechanism.NUMBERS).astype(np.float32))
    bounds = bounds_of(rule, private, start, clip)

    def shares_of_bounds(update: Any) -> Any:
        parts = client_parts(rule, private, start, clip, update, jnp.float32(3), jnp.int32(1))
        return jax.tree.map(
            lambda bound, part: sum((x**2).sum() for x in jax.tree.leaves(part)) ** 0.5 / bound,
            bounds.norms,
            parts,
        )

    shares = jax.vmap(shares_of_bounds)(updates)
    worst = max(float(np.max(x)) for x in jax.tree.leaves(shares))
    return Check(
        "no message exceeds its bound",
        bool(worst <= 1 + 1e-4),
        f"updates of up to {lengths.max() / simple.privacy.clip:,.0f} × the clip give at most {worst:.3g} × the bound",
    )


def _noise(algorithm: Algorithm, seed: int) -> list[Check]:
    """Lets nobody take part: what the model does then is noise, of the claimed size, and new in every round."""
    simple = mechanism.simplified(algorithm, _CLIENTS)._replace(aggregation=AggregationConfig())
    if simple.privacy.mechanism == "local":
        return []  # without clients there is no noise: it is theirs
    silent = np.zeros((1, mechanism.NUMBERS), np.float32)
    trial = mechanism.run(simple, silent, np.array([False]), _CLIENTS, 2, seed)
    one = trial.releases[0]
    claimed = (one.noise_multiplier or 0) * (one.clip or 0) / (one.denominator or 1)
    measured = float(trial.changes[0].std())
    first, second = trial.changes
    correlation = float(first @ second / max(1e-30, np.linalg.norm(first) * np.linalg.norm(second)))
    least = claimed * (1 - _SIGMAS / np.sqrt(2 * mechanism.NUMBERS))
    alike = _SIGMAS / np.sqrt(mechanism.NUMBERS)
    checks = [
        Check(
            "noise is as large as claimed",
            bool(measured >= least > 0),
            f"standard deviation {measured:.4g}, claimed at least {claimed:.4g}",
        )
    ]
    if simple.privacy.mechanism == "gaussian":  # noise of a matrix mechanism is correlated by design
        checks.append(
            Check(
                "noise is new in every round",
                bool(abs(correlation) <= alike),
                f"correlation of two rounds {correlation:+.3f}, by chance at most {alike:.3f}",
            )
        )
    return checks


def _denominator(algorithm: Algorithm, seed: int) -> list[Check]:
    """Lets all clients send the same, then half of them: the model must move by the sum over a fixed number."""
    simple = mechanism.simplified(algorithm, _CLIENTS)._replace(aggregation=AggregationConfig())
    if simple.privacy.separation:
        return []  # all clients cannot take part in one round
    along = mechanism.directions(1, seed)
    length = 0.5 * simple.privacy.clip
    same = np.repeat(np.float32(length) * along, _CLIENTS, axis=0)
    checks = []
    for share, name in ((1.0, "all"), (0.5, "half of them")):
        present = np.arange(_CLIENTS) < share * _CLIENTS
        trial = mechanism.run(simple, same, present, _CLIENTS, 1, seed)
        one = trial.releases[0]
        moved = float(along[0].astype(np.float64) @ trial.changes[0])
        expected = share * _CLIENTS * length / (one.denominator or 1)
        noise = (one.noise_multiplier or 0) * (one.clip or 0) / (one.denominator or 1)
        if simple.privacy.mechanism == "local":
            noise *= _CLIENTS**0.5
        allowed = _SIGMAS * 1.5 * noise + 1e-3 * expected  # adaptive clipping takes a part of the protection
        checks.append(
            Check(
                f"the denominator is fixed ({name} report)",
                bool(abs(moved - expected) <= allowed)
                and one.denominator == cohort_size(simple.sampling, _CLIENTS),
                f"the model moves by {moved:.4g}, expected {expected:.4g} ± {allowed:.2g}",
            )
        )
    return checks


def _few(rounds: Sequence[Any]) -> str:
    shown = ", ".join(str(r) for r in rounds[:5])
    return shown + (", …" if len(rounds) > 5 else "")
