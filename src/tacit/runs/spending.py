"""Computes the ε of a run, or of another directory with a ledger, for `tacit privacy show` and reports."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tacit.base.errors import TacitError
from tacit.base.printable import html_text
from tacit.base.progress import Progress, no_progress
from tacit.base.reading import read_object, read_regular
from tacit.privacy import accounting, ledger
from tacit.privacy.ledger import Release

DELTA = 1e-6  # where nothing else is said


def spending(path: Path, delta: float | None = None) -> dict[str, Any]:
    """Returns the ε of all releases in a directory's ledger, or the reason why there is none.

    `delta` defaults to the directory's own: privacy.delta in config.toml, or `delta` in summary.json.
    """
    releases = read(path)
    at = delta if delta is not None else own_delta(path)
    accounting.check_delta(at)
    if releases:
        figures = accounting.spent(releases, at)._asdict()
    else:
        figures = dict.fromkeys(accounting.Spent._fields) | {"reason": _plain_reason(path), "assumption": ""}
    return {
        "directory": str(path),
        "delta": at,
        "epsilon": figures["epsilon"],
        "epsilon_reason": figures["reason"],
        "epsilon_rdp": figures["epsilon_rdp"],
        "epsilon_pld": figures["epsilon_pld"],
        "zcdp": figures["zcdp"],
        "assumption": figures["assumption"],
        "rounds": len({release.round for release in releases if release.round is not None}),
        "releases": kinds(releases),
    }


def of_model(path: Path, *files: Path, further: Sequence[Release] = ()) -> dict[str, Any]:
    """Returns the ε of a model that is derived from a run, as entries of its summary.

    A model that is computed from the run's model alone has the run's ε, because no clients' text is read again. Two
    kinds of releases are added: those of its other inputs, `files`, such as counts, and `further`, those of what was
    computed from clients' text for this model.
    """
    releases = ledger.read(path / ledger.NAME)
    delta = own_delta(path)
    if not releases:
        return {"epsilon": None, "epsilon_reason": _plain_reason(path), "delta": None}
    releases += [*further, *(release for file in files for release in ledger.inherited(file))]
    reason = ledger.no_epsilon(releases)
    if reason or not accounting.available():
        reason = (
            reason or f"dp-accounting is not installed; `tacit privacy show {path}` computes it where it is"
        )
        return {"epsilon": None, "epsilon_reason": reason, "delta": None}
    spent = accounting.spent(releases, delta)
    return {"epsilon": spent.epsilon, "epsilon_reason": spent.reason, "delta": delta}


def read(path: Path) -> list[Release]:
    """Reads the ledger of a directory; refuses one that is neither a run nor has a ledger."""
    if not path.is_dir():
        raise TacitError(f"{path} is not a directory; give a run, or another directory with a {ledger.NAME}")
    known = any((path / name).exists() for name in (ledger.NAME, "config.toml", "summary.json"))
    if not known:
        raise TacitError(f"{path} has no {ledger.NAME} and is not a run; give a run directory")
    return ledger.read(path / ledger.NAME)


def kinds(releases: Sequence[Release]) -> list[dict[str, Any]]:
    """Returns one entry for each kind of release, with the number of its releases."""
    groups: dict[tuple[Any, ...], list[Release]] = {}
    for one in releases:
        key = (one.what, one.mechanism, one.noise_multiplier, one.sampling, one.rate, one.reason)
        groups.setdefault(key, []).append(one)
    return [
        {
            "what": what,
            "mechanism": mechanism,
            "count": len(same),
            "noise_multiplier": z,
            "sampling": sampling,
            "rate": rate,
            "clip": _span([one.clip for one in same if one.clip is not None]),
            "reason": reason,
        }
        for (what, mechanism, z, sampling, rate, reason), same in groups.items()
    ]


def _span(values: list[float]) -> list[float] | None:
    return [min(values), max(values)] if values else None


def own_delta(path: Path) -> float:
    """Returns the δ that a directory was made with."""
    value: Any = _settings(path).get("delta")
    if value is None:
        try:
            value = read_object(path / "summary.json").get("delta")
        except (OSError, ValueError):
            value = None
    return float(value) if type(value) in (int, float) and 0 < value < 1 else DELTA


def _settings(path: Path) -> dict[str, Any]:
    """Returns the table [privacy] of a run's config.toml; empty where there is none that can be read."""
    try:
        table = tomllib.loads(read_regular(path / "config.toml").decode()).get("privacy", {})
    except (OSError, ValueError, AttributeError, RecursionError):
        return {}
    return table if isinstance(table, dict) else {}


def _plain_reason(path: Path) -> str:
    """Returns why a directory without a ledger has no ε: what its summary says, or what its settings tell."""
    try:
        reason = read_object(path / "summary.json").get("epsilon_reason")
    except (OSError, ValueError):
        reason = None
    if isinstance(reason, str) and reason:
        return reason
    if _settings(path).get("mechanism", "none") == "none":
        return "no privacy mechanism was used"
    has_released = (path / "summary.json").exists() or any((path / "checkpoints").glob("*"))
    return f"its {ledger.NAME} is missing or empty" if has_released else "nothing has been released yet"


def section(path: Path, progress: Progress = no_progress) -> list[str]:
    """Returns the part of a report about ε; [] without a ledger or without dp-accounting."""
    if not (path / ledger.NAME).exists() or not accounting.available():
        return []
    from tacit.runs import plots  # here, because matplotlib is slow to import

    figures = spending(path)
    if figures["epsilon"] is None:
        return [f"<h2>Privacy</h2><p>ε: none ({html_text(figures['epsilon_reason'])})</p>"]
    points = accounting.curve(read(path), figures["delta"], progress)
    svg = plots.picture(plots.epsilon_curve(points, figures["delta"]), ".svg").decode()
    rdp, pld = (figures[key] for key in ("epsilon_rdp", "epsilon_pld"))
    both = ", ".join(f"{x:.3f} by {name}" for x, name in ((rdp, "RDP"), (pld, "PLD")) if x is not None)
    return [
        "<h2>Privacy</h2>",
        plots.figure(svg),
        f"<p>ε = {figures['epsilon']:.3f} at δ = {figures['delta']:g} ({both}). Assumed: "
        f"{html_text(figures['assumption'])}.</p>",
    ]
