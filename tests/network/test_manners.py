"""A client works only when its conditions hold, at most once a period, and leaves for good: without any process."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from commands import Commands
from tacit.base.errors import TacitError
from tacit.federated.local import Broadcast
from tacit.models import language_model
from tacit.network import conditions, federation, journal
from tacit.network.client import answering
from tacit.network.conditions import OPEN, Conditions, Required, State, from_file, of_system, unmet
from tacit.network.leaving import has_left, leave, overwrite
from tacit.network.manners import Manners, mannered, seconds
from tacit.network.office import Office, Terms
from tacit.network.person import Device
from tacit.network.work import Parcel, Refusal, answer_facts, broadcast_arrays
from tacit.runs.conditions import ConditionsConfig
from tacit.runs.config import resolve
from tacit.text.corpus import from_messages
from tacit.text.vocabulary import build

WELL = {"idle": True, "charging": True, "unmetered": True, "memory_gb": 3.7}
WORDS = build(Counter({"see": 3, "you": 2, "soon": 1}), 0)
TINY = ("model.hidden=8", "model.embedding=8", "text.vocabulary=0", "client.batching=sentences")


def task(*keys: str, kind: str = "train", t: int = 0, arrays: Any = None) -> Parcel:
    office = Office(None, resolve("fedavg", [*TINY, *keys]), WORDS, 2, Terms(), Counter())  # type: ignore[arg-type]
    more = {"lr": 1.0} if kind == "train" else {}
    return office.tasks(kind, t, arrays or {}, [0], **more)[0]


def echo(parcel: Parcel) -> Parcel:
    """Work that takes no time; a mannered client does not know what it is."""
    return Parcel({}, answer_facts(parcel.facts))


def refusal(answer: Any, parcel: Parcel) -> Refusal:
    with pytest.raises(Refusal) as refused:
        answer(parcel)
    return refused.value


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"idle": False}, "the device is in use"),
        ({"charging": False}, "the device is not charging"),
        ({"unmetered": False}, "the network is metered"),
        ({"memory_gb": 1.9}, "the device has 1.9 GB of memory, and 2 GB are needed"),
        ({"idle": None}, "it is not known whether the device is idle"),
        ({"memory_gb": None}, "the device has memory that is not known, and 2 GB are needed"),
    ],
)
def test_each_condition_is_needed(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    file = tmp_path / "device.json"
    file.write_text(json.dumps(WELL), "utf-8")
    answer = mannered(echo, Manners(from_file(file)), tmp_path / "journal")
    answer(task())
    now = {k: v for k, v in (WELL | change).items() if v is not None}
    file.write_text(json.dumps(now), "utf-8")  # is read before each task
    said = refusal(answer, task())
    assert (said.reason, said.detail) == ("conditions", words)
    file.write_text(json.dumps(WELL), "utf-8")
    answer(task())


@pytest.mark.parametrize(
    ("state", "asked", "holds"),
    [
        ({"language": "de-AT"}, {"language": "de"}, True),
        ({"language": "DE"}, {"language": "de"}, True),
        ({"language": "de"}, {"language": "de-AT"}, False),
        ({"language": "den"}, {"language": "de"}, False),
        ({}, {"language": "de"}, False),
        ({"region": "at"}, {"region": "AT"}, True),
        ({"region": "DE"}, {"region": "AT"}, False),
        ({}, {"region": "AT"}, False),
        ({"version": "2.10"}, {"version": "2.9"}, True),
        ({"version": "2.9"}, {"version": "2.9.0"}, True),
        ({"version": "2.9"}, {"version": "2.9.1"}, False),
        ({}, {"version": "1"}, False),
        ({}, {}, True),
    ],
)
def test_a_run_may_ask_for_more(state: dict[str, str], asked: dict[str, str], holds: bool) -> None:
    """By the table [conditions], which travels in the text of the configuration."""
    keys = [f"conditions.{name}='{value}'" for name, value in asked.items()]
    answer = mannered(echo, Manners(OPEN._replace(state=lambda: State(**state))), Path())  # type: ignore[arg-type]
    if holds:
        answer(task(*keys))
    else:
        assert refusal(answer, task(*keys)).reason == "conditions"


def test_with_nothing_set_a_client_always_takes_part(tmp_path: Path) -> None:
    answer = mannered(echo, Manners(), tmp_path / "journal")
    for t in range(3):
        answer(task(t=t))
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ('{"idle": 1}', "idle = 1 must be true or false"),
        ('{"charging": null}', "charging = None must be true or false"),
        ('{"memory_gb": "4"}', "memory_gb = '4' must be a number of at least 0"),
        ('{"memory_gb": -1}', "memory_gb = -1 must be a number of at least 0"),
        ('{"memory_gb": NaN}', "memory_gb = nan must be a number of at least 0"),
        ('{"memory_gb": true}', "memory_gb = True must be a number of at least 0"),
        ('{"language": 3}', "language = 3 must be a string"),
        ('{"region": "Austria"}', "region = 'Austria' is no region"),
        ('{"version": "two"}', "version = 'two' is no version"),
        ('{"chargin": true}', "unknown key 'chargin'; did you mean 'charging'?"),
        ("[]", "it is not a table"),
        ("{", "is not a device's state"),
        ("[" * 100_000, "nested too deeply"),
        ("", "is not a device's state"),
        (None, "is missing"),
    ],
)
def test_a_state_that_is_wrong_is_refused_in_a_line(tmp_path: Path, content: str | None, line: str) -> None:
    file = tmp_path / "device.json"
    if content is not None:
        file.write_text(content, "utf-8")
    with pytest.raises(TacitError) as refused:
        from_file(file)
    assert line in str(refused.value) and str(file) in str(refused.value) and "\n" not in str(refused.value)
    file.write_text(json.dumps(WELL), "utf-8")
    answer = mannered(echo, Manners(from_file(file)), tmp_path / "journal")
    file.unlink()
    if content is not None:  # in the middle of a run: the client rests, and does not end
        file.write_text(content, "utf-8")
    assert refusal(answer, task()).reason == "conditions"
    file.write_text(json.dumps(WELL), "utf-8")
    answer(task())


@pytest.mark.parametrize("key", ["language='d e'", "region=Austria", "version=two"])
def test_a_run_that_asks_for_nonsense_is_refused(key: str) -> None:
    with pytest.raises(TacitError, match=r"conditions\.\w+ = '.*' is no"):
        resolve("fedavg", [f"conditions.{key}"])


def _supplies(place: Path, **supplies: dict[str, str]) -> Path:
    for name, facts in supplies.items():
        (place / name).mkdir(parents=True)
        for fact, value in facts.items():
            (place / name / fact).write_text(value + "\n", "utf-8")
    return place


@pytest.mark.parametrize(
    ("supplies", "charging"),
    [
        ({}, True),  # a desktop
        (
            {"BAT0": {"type": "Battery", "status": "Discharging"}, "AC": {"type": "Mains", "online": "0"}},
            False,
        ),
        ({"BAT0": {"type": "Battery", "status": "Charging"}}, True),
        ({"BAT0": {"type": "Battery", "status": "Full"}, "AC": {"type": "Mains", "online": "1"}}, True),
        ({"BAT0": {"type": "Battery", "status": "Unknown"}, "AC": {"type": "Mains", "online": "1"}}, True),
        ({"BAT0": {"type": "Battery", "status": "Unknown"}, "AC": {"type": "Mains", "online": "0"}}, False),
        ({"mouse": {"type": "Battery", "scope": "Device", "status": "Discharging"}}, True),
    ],
)
def test_what_linux_tells(tmp_path: Path, supplies: dict[str, dict[str, str]], charging: bool) -> None:
    (tmp_path / "meminfo").write_text("MemTotal:        2000000 kB\nMemFree: 1 kB\n", "utf-8")
    power = _supplies(tmp_path / "power", **supplies)
    state = of_system(tmp_path / "meminfo", power, "de_AT.UTF-8")
    assert (state.charging, state.memory_gb, state.language, state.region) == (charging, 2.048, "de-AT", "AT")
    assert (state.idle, state.unmetered) == (None, None)  # nothing is claimed of them
    assert of_system(tmp_path / "meminfo", power, "C.UTF-8").language == ""
    with pytest.raises(TacitError, match="which this system does not have"):
        of_system(tmp_path / "none", power)


def test_this_system_has_a_state() -> None:
    given = conditions.named("system")
    assert given.state().memory_gb and not given.required.idle
    assert not [w for w in unmet(given.state(), given.required, ConditionsConfig()) if "known" in w]


class Clock:
    now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


class Client:
    """A client with a period of a day, which writes its journal as a real one does."""

    def __init__(self, folder: Path) -> None:
        self.clock, self.file = Clock(), folder / "journal.jsonl"
        self.restart()

    def restart(self) -> None:
        self.answer = mannered(echo, Manners(period=seconds("24h")), self.file, self.clock)

    def works(self, kind: str = "train") -> bool:
        try:
            self.answer(task(kind=kind))
        except Refusal as refused:
            assert refused.reason == "period"
            return False
        journal.write(self.file, self.clock(), {"task": kind, "round": 0, "ended": journal.ANSWERED})
        return True


@pytest.mark.parametrize("restarts", [False, True])
def test_each_kind_of_work_is_done_once_a_period(tmp_path: Path, restarts: bool) -> None:
    client = Client(tmp_path)
    worked = []
    for _ in range(10):  # every six hours
        worked.append(client.works())
        client.clock.now += 6 * 3600
        if restarts:
            client.restart()
    assert [k for k, did in enumerate(worked) if did] == [0, 4, 8]
    assert client.works("evaluate") and not client.works("evaluate")


def test_a_task_that_is_refused_does_not_count(tmp_path: Path) -> None:
    charging = [False]
    state = Conditions(lambda: State(charging=charging[0]), Required(False, True, False, 0.0))
    answer = mannered(echo, Manners(state, seconds("24h")), tmp_path / "journal")
    assert refusal(answer, task()).reason == "conditions"
    charging[0] = True
    answer(task())
    assert refusal(answer, task()).reason == "period"


def test_a_clock_that_goes_back_costs_one_period_at_most(tmp_path: Path) -> None:
    client = Client(tmp_path)
    client.clock.now += 1000 * 86400  # set wrongly
    assert client.works()
    client.clock.now -= 1000 * 86400  # and right again
    worked = []
    for _ in range(6):
        client.restart()
        worked.append(client.works())
        client.clock.now += 6 * 3600
    assert [k for k, did in enumerate(worked) if did] == [4]


def test_a_damaged_journal_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    client = Client(tmp_path)
    assert client.works()
    before = client.file.read_bytes()
    client.file.write_bytes(b'\xff\n[]\n{"time": 3}\n' + before + b'{"time": "20')
    client.restart()
    assert not client.works()


@pytest.mark.parametrize("period", ["", "h", "24", "-1h", "1.5h", "24 h", "1w", "9999999h"])
def test_a_period_that_is_none_is_refused(period: str) -> None:
    with pytest.raises(TacitError, match="is no length of time"):
        seconds(period)


@pytest.fixture
def invited(tmp_path: Path) -> Path:
    federation.init(tmp_path / "home")
    federation.invite(tmp_path / "home", "ana", tmp_path / "ana.invitation")
    return tmp_path / "ana.invitation"


def test_leaving_destroys_the_key(invited: Path) -> None:
    key = federation.read_invitation(invited).private.splitlines()[2].encode()
    with invited.open("rb") as before:  # the file's own blocks, whatever is at its name later
        assert key in before.read() and not has_left(invited)
        assert leave(invited, invited.with_name("ana.journal")) == "ana"
        before.seek(0)
        assert key not in before.read()
    assert has_left(invited) and key not in invited.read_bytes()
    with pytest.raises(TacitError, match="has left the federation for good"):
        federation.read_invitation(invited)
    with pytest.raises(TacitError, match="has left the federation for good"):
        leave(invited, invited.with_name("ana.journal"))
    assert "left the federation" in invited.with_name("ana.journal").read_text("utf-8")


@pytest.mark.parametrize("command", ["leave", "log"])
def test_an_invitation_without_a_name_is_refused(tacit: Commands, command: str) -> None:
    tacit("federation", command, "").refused("is not an invitation")


def test_overwriting_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"secret" * 100)
    overwrite(tmp_path / "key")
    assert (tmp_path / "key").read_bytes() == b""


def test_a_removed_client_keeps_its_number(tmp_path: Path) -> None:
    home = tmp_path / "home"
    federation.init(home)
    for name in ("ana", "ben", "cem"):
        federation.invite(home, name, tmp_path / name)
    federation.remove(home, "ben")
    assert [(c.name, c.removed) for c in federation.read(home).clients] == [
        ("ana", False),
        ("ben", True),
        ("cem", False),
    ]
    with pytest.raises(TacitError, match="has no client 'ben'"):
        federation.remove(home, "ben")
    with pytest.raises(TacitError, match="did you mean 'ana'"):
        federation.remove(home, "anna")
    with pytest.raises(TacitError, match="choose another name"):
        federation.invite(home, "ben", tmp_path / "again")


_opened: list[str] | None = None


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if _opened is not None and event == "open" and isinstance(arguments[2], int):
        written = arguments[2] & 3 or (isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"))
        if written:
            _opened.append(str(arguments[0]))


@contextlib.contextmanager
def opened_for_writing() -> Iterator[list[str]]:
    """Gives the names of files that this process opens to write."""
    global _opened
    if not _HOOKED:
        sys.addaudithook(_note)  # lasts as long as the process
        _HOOKED.append(True)
    _opened = []
    try:
        yield _opened
    finally:
        _opened = None


_HOOKED: list[bool] = []


def test_a_client_writes_its_journal_and_nothing_else(tmp_path: Path) -> None:
    """No update on disk: the files that are opened while a task is answered, through Flower's message and back."""
    pytest.importorskip("flwr")
    from flwr.app import Message
    from flwr.app.metadata import Metadata

    from tacit.network.grid import from_records, to_records
    from tacit.network.node import reply_to

    texts = [f"see you soon number {k}" for k in range(6)]
    device = Device(from_messages("p", {"me": texts}))
    file = tmp_path / "journal"
    answer = mannered(answering(device), Manners(OPEN, seconds("1d")), file)
    params = language_model(resolve("fedavg", TINY).model, len(WORDS)).init(jax.random.key(0))
    sent = task(arrays=broadcast_arrays(Broadcast(params)))
    metadata = Metadata(1, "task", 1, 2, "", "", time.time(), 60.0, "train")
    message = Message(content=to_records(sent), metadata=metadata)
    with opened_for_writing() as opened:
        reply = reply_to(message, answer, lambda line: journal.write(file, 0.0, line))
        again = reply_to(message, answer, lambda line: journal.write(file, 0.0, line))
    cache = jax.config.values.get(
        "jax_compilation_cache_dir"
    )  # of this process of tests: programs without numbers
    assert [name for name in opened if not (cache and name.startswith(cache))] == [str(file)] * 2
    update = from_records(reply.content).arrays
    assert max(float(np.abs(a).max()) for a in update.values()) > 0
    assert again.has_error() and again.error.reason == "period"
    kept = file.read_bytes()
    assert not [text for text in texts if text.encode() in kept] and len(kept) < 400
