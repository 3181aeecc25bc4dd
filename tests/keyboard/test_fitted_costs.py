"""The costs in use are those that the fit has printed (`benchmarks/corrections_fit.py`)."""

from __future__ import annotations

import json
from pathlib import Path

from tacit.keyboard.parameters import DEFAULT

FITTED = Path(__file__).parents[2] / "benchmarks" / "results" / "corrections-fit.json"


def test_the_costs_of_taps_are_those_of_the_fit():
    fitted = json.loads(FITTED.read_text("utf-8"))["costs"]
    rest = set(DEFAULT.taps._fields) - set(fitted)
    assert rest == {"beam", "language"}
    assert {name: getattr(DEFAULT.taps, name) for name in fitted} == fitted
