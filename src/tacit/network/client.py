"""Answers the server's tasks on a client, with its own text and the functions of the simulator.

The text never leaves the client, which does only the kinds of work in `KINDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tacit.network.person import Device, Person
from tacit.network.tasks import count, evaluate, personalize, secure, train
from tacit.network.tasks.kind import Kind
from tacit.network.work import TASK_FACTS, VERSION, Parcel, Refusal, answer_facts

KINDS: Mapping[str, Kind] = {
    "train": train.KIND,
    "evaluate": evaluate.KIND,
    "count": count.COUNT,
    "frequencies": count.FREQUENCIES,
    "personalize": personalize.KIND,
    **secure.KINDS,
}


def answering(device: Device) -> Callable[[Parcel], Parcel]:
    """Returns the function that answers tasks with this device's text; it raises `Refusal` or `TacitError`."""
    person = Person(device)
    answers = {name: kind.begin(person) for name, kind in KINDS.items()}

    def answer(task: Parcel) -> Parcel:
        facts = checked_facts(task.facts)
        return Parcel(answers[facts["kind"]](facts, task.arrays), answer_facts(facts))

    return answer


def checked_facts(facts: Any) -> Mapping[str, Any]:
    """Returns the facts of a task; refuses what this client does not know."""
    if not isinstance(facts, Mapping) or not facts.keys() >= TASK_FACTS.keys():
        raise Refusal("schema", f"a task has the facts {', '.join(TASK_FACTS)}")
    if facts["version"] != VERSION:
        raise Refusal("version", f"messages of version {facts['version']!r}, this client speaks {VERSION}")
    if not isinstance(facts["kind"], str) or facts["kind"] not in KINDS:
        raise Refusal("kind", f"a task is one of {', '.join(KINDS)}")
    wanted = {**TASK_FACTS, **KINDS[facts["kind"]].facts}
    if facts.keys() != wanted.keys():
        raise Refusal("schema", f"a task has the facts {', '.join(wanted)}")
    for name, kind in wanted.items():
        if type(facts[name]) is not kind:
            raise Refusal("schema", f"{name} is {type(facts[name]).__name__}, expected {kind.__name__}")
    if not (0 <= facts["round"] < facts["rounds"] and 0 <= facts["number"] < facts["population"] < 2**31):
        raise Refusal("schema", "its round or number is out of range")
    return facts
