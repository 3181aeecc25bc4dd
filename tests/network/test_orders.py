"""A command waits for its run as long as Flower works on it, and says at once when Flower has given up."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tacit.base.errors import TacitError
from tacit.network import flower, orders
from tacit.network.office import Terms


def test_a_run_that_ends_before_it_begins_is_said_and_a_slow_one_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = tmp_path / "runs/order"
    order.mkdir(parents=True)
    said = [False, False, True]  # what Flower says of it, each time that it is asked
    monkeypatch.setattr(flower, "has_ended", lambda place, number: said.pop(0))
    monkeypatch.setattr(orders, "_ASKS", 0.01)
    monkeypatch.setattr(orders, "_LOOK", 0.02)
    with pytest.raises(TacitError, match=r"the run ended before it began; .*superlink.log may say why"):
        orders._watch(tmp_path, order, 7, tmp_path / "out", lambda record: None)
    assert said == []


def test_flower_says_whether_a_run_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def command(place: Path, *arguments: str) -> dict[str, object]:
        asked.append(arguments)
        return {"success": True, "runs": [{"run-id": "7", "status": states.pop(0)}]}

    states = ["pending", "running", "finished:failed"]
    monkeypatch.setattr(flower, "command", command)
    assert [flower.has_ended(Path(), 7) for _ in range(3)] == [False, False, True]
    assert asked[0] == ("list", "here", "--run-id", "7")


@pytest.mark.parametrize(
    ("terms", "named"),
    [
        (Terms(deadline=math.nan), "--deadline nan"),
        (Terms(deadline=math.inf), "--deadline inf"),
        (Terms(over=math.nan), "--over nan"),
    ],
)
def test_a_round_waits_for_no_endless_time(tmp_path: Path, terms: Terms, named: str) -> None:
    with pytest.raises(TacitError, match=named):
        orders.give(tmp_path, "evaluate", {}, tmp_path / "out", terms)
    assert not any(tmp_path.iterdir())
