"""One server and eight clients, from nothing to five committed rounds, by the documented commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from served import Served, Told, assert_like_the_simulator

ROUNDS = 5


def test_eight_clients_give_the_simulators_model(tmp_path: Path, told: Told) -> None:
    pytest.importorskip("flwr")
    served = Served(tmp_path, [f"person{k}" for k in range(8)])
    try:
        served.serve()
        served.join(*served.names)
        served.until_joined(8)
        out = tmp_path / "run"
        run = served.start(*served.settings(ROUNDS, out, "--least", 8))
        assert run.wait(500) == 0, served.said(run)
        assert [(line["round"], line["clients"]) for line in served.rounds(out)] == [
            (t + 1, 8) for t in range(ROUNDS)
        ]
        assert json.loads((out / "summary.json").read_text("utf-8"))["refused"] == {}
        assert [served.trained(name) for name in served.names] == [ROUNDS] * 8
        assert_like_the_simulator(served, out)
    finally:
        codes = served.end()
    assert codes == [143] * 9 + [0]
    told(
        "one server and eight clients, from nothing to five rounds", "the simulator's parameters within 1e-5"
    )
