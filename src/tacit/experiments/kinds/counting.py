"""Counts words on the clients (paper 4, section 3): Table 1 over λ, and Figure 3 over rounds.

Settings of kind `text` describe the clients. Those of a count are `count.limits` (the λ that are compared),
`count.supplement`, `count.rounds`, `count.cohort`, `count.capacity` and `count.whitelist` as in `tacit count`; the row
shows `count.row`: "baseline", the supplement's own unigrams, or the name of a λ. All rows of a seed share one count.

`oov_high` is the upper end of the 95 % interval of the change of the OOV rate, `top1_clear` by how much the change of
top-1 exceeds its interval: 0 or less is no clear change. `settled` is the χ² distance of the counts at the end over
that of the first comparison after a tenth of the rounds; `late` are the new words of the last tenth.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from tacit.base.errors import TacitError
from tacit.counts.counted import Counted, CountOptions, counted_words, limit_name
from tacit.experiments import base_runs
from tacit.experiments.entry import Settings
from tacit.experiments.kinds import text
from tacit.experiments.results import Measured
from tacit.experiments.runner import Place

BASELINE = "baseline"


def check(settings: Settings) -> None:
    """Raises a TacitError for invalid settings."""
    run, own = base_runs.own(settings, "count.")
    text.check(run)
    rows = [BASELINE, *map(limit_name, _options(own).limits)]
    if own.get("row") not in rows:
        raise TacitError(f"count.row must be one of: {', '.join(rows)}")


def measure(settings: Settings, seed: int, place: Place) -> Measured:
    """Counts unless another row has, and returns what the row asks for."""
    run, own = base_runs.own(settings, "count.")
    row = own.pop("row")
    text.config_of(run, seed, place)  # a missing corpus is an error at once
    place.say("counting")
    counted = _counted(json.dumps([run, own], sort_keys=True), seed, place.data)
    table = counted.summary["table1"].get(row)
    if table is None:
        raise TacitError(f"count.row = {row} needs count.supplement, whose unigrams are the baseline")
    values: dict[str, float | None] = {name: table[name] for name in ("top1", "oov")}
    for name in ("top1", "oov"):
        values[f"{name}_change"] = table.get(f"{name}_change")
        values[f"{name}_change_ci95"] = table.get(f"{name}_change_ci95")
    if row == BASELINE:
        return Measured(values)
    if "oov_change" in table:
        values["oov_high"] = table["oov_change"] + table["oov_change_ci95"]
        values["top1_clear"] = abs(table["top1_change"]) - table["top1_change_ci95"]
    return Measured(values | _at_the_end(counted, row), _curves(counted, row))


def _options(own: dict[str, Any]) -> CountOptions:
    return CountOptions(
        tuple(float(limit) for limit in own["limits"]),
        own.get("whitelist"),
        own.get("supplement"),
        own.get("rounds", 0),
        own.get("cohort", 0),
        own.get("capacity", 0),
    )


@lru_cache(maxsize=1)
def _counted(settings: str, seed: int, data: Path | None) -> Counted:
    run, own = json.loads(settings)
    return counted_words(text.resolved(run, seed), _options(own), data)


def _at_the_end(counted: Counted, row: str) -> dict[str, float | None]:
    """Returns the last state of convergence."""
    lines, rounds = counted.lines, len(counted.lines)
    compared = [(line["round"], line["z"][row]["nested"]) for line in lines if "z" in line]
    values: dict[str, float | None] = {
        "seen": float(lines[-1]["seen"]),
        "late": float(sum(line["new"] for line in lines[rounds - max(1, rounds // 10) :])),
    }
    if compared:
        early = next(z for at, z in compared if 10 * at >= rounds)
        values |= {"distance": compared[-1][1]["distance"], "z": compared[-1][1]["statistic"]}
        values["settled"] = (
            abs(compared[-1][1]["distance"] / early["distance"]) if early["distance"] else None
        )
    return values


def _curves(counted: Counted, row: str) -> dict[str, tuple[list[float], list[float]]]:
    """Returns Figure 3: the Z-statistic and its distance, words seen, and rounds until a new one."""
    lines = counted.lines
    compared = [(line["round"], line["z"][row]["nested"]) for line in lines if "z" in line]
    waits = [line for line in lines if line["rounds_between_new"] is not None]
    at = [float(round_) for round_, _ in compared]
    return {
        "z": (at, [z["statistic"] for _, z in compared]),
        "distance": (at, [z["distance"] for _, z in compared]),
        "seen": ([float(line["round"]) for line in lines], [float(line["seen"]) for line in lines]),
        "wait": ([float(line["round"]) for line in waits], [line["rounds_between_new"] for line in waits]),
    }
