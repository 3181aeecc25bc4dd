"""A hundred thousand malformed answers, through Flower's own format to the sum of a round."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from served import Told

MANY = 100_000


def test_many_malformed_answers(told: Told, record_property: Callable[[str, Any], None]) -> None:
    pytest.importorskip("flwr")
    from fuzz import messages

    sent, refused, rounds = Counter[str](), Counter[str](), 0
    while refused.total() < MANY:
        by_kind, by_reason = messages.one_round(random.Random(f"many {rounds}"))
        sent, refused, rounds = sent + by_kind, refused + by_reason, rounds + 1
    assert sent.total() == refused.total() and len(sent) >= 15
    told(
        "malformed answers, fifty or more beside an honest one in each round",
        f"{refused.total():,} refused in {rounds:,} rounds; every model has the bytes of the honest answer alone",
    )
    record_property("malformed", {"kinds": dict(sent), "reasons": dict(refused)})
