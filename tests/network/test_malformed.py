"""Malformed answers: each kind is refused for the reason that an operator would expect, and changes no byte."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

pytest.importorskip("flwr")

from fuzz import malformed, messages
from fuzz.categories import tasks
from fuzz.trial import drawing

from tacit.network.work import Parcel, Refusal, answer_facts, check_facts

REASONS: dict[Callable, set[str]] = {
    malformed.values: {
        "not finite",
        "too large",
        "schema",
    },  # an integer that cannot be so large has another type
    malformed.shapes: {"shape"},
    malformed.dtypes: {"dtype", "schema"},
    malformed.weights: {"weight", "not finite", "too large"},
    malformed.reports: {"report", "not finite", "too large"},
    malformed.names: {"schema"},
    malformed.wrong_facts: {"schema", "stale", "secret"},
    malformed.secrets: {"secret"},
    malformed.rounds: {"stale"},
    malformed.pickles: {"schema", "dtype"},
    malformed.headers: {"schema", "dtype", "shape"},
    malformed.other_records: {"schema", "client"},
    malformed.objects: {"schema", "size"},
}


def test_every_kind_has_its_reasons() -> None:
    assert set(REASONS) == set(malformed.KINDS)


@pytest.mark.parametrize("kind", malformed.KINDS, ids=lambda kind: kind.__name__)
def test_the_reasons_of_a_kind(kind: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(malformed, "KINDS", (kind,))
    sent, refused = messages.one_round(random.Random(7))
    assert sent[kind.__name__.replace("_", " ")] > 30
    assert set(refused) <= REASONS[kind] | {"foreign", "replay"}, refused


def test_an_honest_answer_is_no_malformed_one() -> None:
    """The judge of the trials would see an answer that is taken."""
    world = messages.world()
    facts = answer_facts({"version": 1, "kind": "train", "round": 0, "secret": "0" * 32})
    answer = messages.read(malformed.stored(malformed.records(world.arrays, facts)))
    assert isinstance(answer, Parcel) and messages._same(answer, Parcel(world.arrays, facts))
    check_facts(answer.facts, facts)
    other = Parcel({**world.arrays, "reply/message/1": world.arrays["reply/message/1"] + 1}, facts)
    assert not messages._same(answer, other) and not isinstance(answer, Refusal)


def test_a_hostile_server_gets_refusals(tmp_path_factory: pytest.TempPathFactory) -> None:
    from fuzz import box as boxes

    box = boxes.make(tmp_path_factory.mktemp("box"))
    endings = [tasks.trial(drawing("tasks", n, 1), box, None, n) for n in range(40)]  # type: ignore[arg-type]
    assert endings.count("refused") > 30
