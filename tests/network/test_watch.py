"""What people see of a federation: counts of the present round, a log of rounds, a page and a terminal view."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from page.page_site import running
from tacit.base.files import append_line
from tacit.federated.algorithm import Trainer
from tacit.network import federation
from tacit.network.board import Board
from tacit.network.office import Office, Question, Terms
from tacit.network.watch.page import Watched
from tacit.network.watch.state import state
from tacit.network.watch.terminal import picture
from tacit.network.work import Parcel, Refusal, answer_facts
from tacit.privacy import ledger
from tacit.privacy.ledger import Release
from tacit.runs.config import resolve
from tacit.text.vocabulary import SPECIALS, Vocabulary

CLIENTS = ("carmen", "dietrich", "eleni", "farid")
ORDER = "20261118-120000-abcd"


class Courier:
    """Carries the answers of four clients; the clock goes on by 0.4 s with each."""

    def __init__(self) -> None:
        self.now = 1000.0

    def present(self) -> Sequence[int]:
        return range(4)

    def ask(self, tasks: Mapping[int, Parcel], seconds: float) -> Iterator[tuple[int, Parcel | Refusal]]:
        for number, task in tasks.items():
            self.now += 0.4
            if number == 1:
                yield number, Refusal("client", "it has no text")
            else:
                yield number, Parcel({"update": np.zeros(10, np.float32)}, answer_facts(task.facts))


def ask(home: Path, courier: Courier) -> tuple[Board, list[dict[str, Any]]]:
    """Asks the clients once, as a round would; returns what progress.json said after each answer."""
    order = home / "runs" / ORDER
    order.mkdir()
    board = Board(home, order, lambda: courier.now)
    config = resolve("fedavg", ["training.rounds=3"])
    board.callback().begin(config, 0, 10)
    office = Office(
        board.watched(courier), config, Vocabulary(SPECIALS), 4, Terms(), board.refused, board.tell
    )
    assert isinstance(office.refused, Counter)
    seen = []

    def look() -> None:
        seen.append(json.loads((order / "progress.json").read_text()))

    def round_(state: Any, t: int) -> tuple[Any, dict[str, Any]]:
        who = list(office.courier.present())
        tasks = office.tasks("train", t, {"params": np.zeros(10, np.float32)}, who, lr=1.0)
        for _ in office.answers(tasks, 3, lambda answer: answer):
            look()
        look()
        return state, {"clients": 3, "dropped": 1}

    _, facts = board.counted(Trainer(lambda key: None, round_)).round(None, 0)
    assert facts == {
        "clients": 3,
        "dropped": 0,
        "refused": 1,
        "bytes_up": board.up,
        "bytes_down": board.down,
    }
    board.callback().round({"round": 1, "clients": 3, "loss": 2.5})
    board.callback().round({"round": 2, "clients": 0})
    board.log("ended", state="done")
    return board, seen


@pytest.fixture
def home(tmp_path: Path) -> Path:
    place = tmp_path / "home"
    federation.init(place)
    for name in CLIENTS:
        federation.invite(place, name, tmp_path / f"{name}.invitation")
    return place


@pytest.fixture
def trained(home: Path) -> Path:
    """A federation with a run of two rounds, as `tacit federation run` leaves it."""
    ask(home, Courier())
    out = home.parent / "run"
    out.mkdir()
    (out / "config.toml").touch()
    config = {"name": "fedavg\x1b[31m", "training": {"rounds": 3}}
    (home / "runs" / ORDER / "order.json").write_text(json.dumps({"out": str(out), "config": config}))
    for line in (
        {"round": 1, "clients": 3, "loss": 2.5, "valid_perplexity": 31.25, "bytes_up": 9000},
        {"round": 2, "clients": 0, "valid_perplexity": 31.25, "bytes_up": 0},
    ):
        append_line(out / "metrics.jsonl", line)
    return home


def test_the_board_counts_a_round(home: Path) -> None:
    board, seen = ask(home, Courier())
    # at 1000.4 one answer: too soon after the beginning. At 1001.2 (a second later) two, and at the goal, three.
    assert [said["accepted"] for said in seen] == [0, 2, 3, 3]
    last = seen[-1]
    assert (last["asked"], last["goal"], last["round"], last["rounds"]) == (4, 3, 1, 3)
    assert last["refused"] == {"client": 1} and last["connected"] == 4
    assert board.up == 3 * (40 + len("train") + 32 + 2 * 8)  # update, kind, secret, version and round
    assert last["bytes_up"] == board.up and last["bytes_down"] == board.down > 4 * 40
    lines = [json.loads(line) for line in (home / "logs/rounds.jsonl").read_text().splitlines()]
    assert [line["event"] for line in lines] == ["begun", "committed", "abandoned", "ended"]
    assert lines[1]["answered"] == 3 and lines[1]["refused"] == {"client": 1} and lines[1]["seconds"] == 1.6
    assert lines[1]["bytes_up"] == board.up and lines[2]["bytes_up"] == 0 and lines[2]["refused"] == {}


def test_the_board_counts_a_masked_round_and_tells_it_from_an_abandoned_one(home: Path) -> None:
    """A private round does not say in its line how many were in it, and has a second sum, of scores."""
    order = home / "runs" / ORDER
    order.mkdir(exist_ok=True)
    board = Board(home, order)
    board.callback().begin(resolve("fedavg", ["training.rounds=3"]), 0, 10)
    for task, asked, accepted in (
        ("advertise", 6, 5),
        ("share", 5, 5),
        ("mask", 5, 5),
        ("unmask", 5, 4),
        ("advertise", 6, 6),
        ("unmask", 6, 6),
    ):
        board.tell(Question(task, asked, asked, accepted, 0.0))
    board.callback().round({"round": 1})
    board.callback().round({"round": 2, "abandoned": 1})
    lines = [json.loads(line) for line in (home / "logs/rounds.jsonl").read_text().splitlines()][1:]
    assert [line["event"] for line in lines] == ["committed", "abandoned"]
    assert [(line["asked"], line["goal"], line["answered"]) for line in lines] == [(6, 6, 4), (0, 0, 0)]


def test_the_state_is_of_the_latest_run_and_names_nobody(trained: Path) -> None:
    said = state(trained)
    assert (said["invited"], said["served"]) == (4, False)
    assert (said["run"]["state"], said["run"]["made"], said["run"]["rounds"]) == ("cut off", 2, 3)
    assert [r["round"] for r in said["rounds"]] == [1, 2] and said["now"]["accepted"] == 3
    assert [e["event"] for e in said["events"]] == ["ended", "abandoned", "committed", "begun"]
    assert said["epsilon"] is None and said["epsilon_reason"] == "no privacy mechanism was used"
    written = json.dumps(said) + (trained / "logs/rounds.jsonl").read_text()
    assert not [name for name in CLIENTS if name in written]


def test_epsilon_follows_the_ledger(trained: Path) -> None:
    pytest.importorskip("dp_accounting")
    out = trained.parent / "run"
    assert state(trained)["epsilon"] is None
    spent = []
    for number in (1, 2):
        one = Release("round", "gaussian", round=number, noise_multiplier=4.0, sampling="fixed", clip=1.0)
        ledger.append(out / ledger.NAME, one)
        spent.append(state(trained)["epsilon"])
    assert 0 < spent[0] < spent[1]


def test_the_page_answers_on_loopback(trained: Path) -> None:
    with running(Watched(trained)) as address:
        with urllib.request.urlopen(f"{address}state.json") as answer:
            assert json.load(answer)["run"]["made"] == 2
        with urllib.request.urlopen(address) as answer:
            assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
            assert b"watch.js" in answer.read()
        for path in ("server.key", "../home/server.key", "state.jso", "runs"):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                urllib.request.urlopen(f"{address}{path}")
        with pytest.raises(urllib.error.HTTPError, match="421"):
            urllib.request.urlopen(urllib.request.Request(address, headers={"Host": "evil.example"}))
        (trained / "federation.json").unlink()
        with urllib.request.urlopen(f"{address}state.json") as answer:
            assert "is not a federation" in json.load(answer)["error"]


def test_the_terminal_shows_the_rounds(trained: Path) -> None:
    output = StringIO()
    said = state(trained)
    said["run"]["state"] = "running"
    said["time"] = said["now"]["ends"] - 61
    Console(file=output, width=100).print(picture(said))
    shown = output.getvalue()
    for part in ("3 of 3 answers, 4 asked", "1:01 left", "client 1", "31.2", "4 clients invited"):
        assert part in shown, (part, shown)
    assert "\x1b[31m" not in shown  # a name's control characters do nothing


def test_the_page_draws_what_it_is_told(trained: Path, browser: Any) -> None:
    with running(Watched(trained)) as address:
        grounds = []
        for scheme in ("light", "dark"):
            page = browser.new_page(color_scheme=scheme)
            asked, complaints = [], []
            page.on("request", lambda request, asked=asked: asked.append(request.url))
            page.on("console", lambda message, complaints=complaints: complaints.append(message.text))
            page.goto(address)
            page.wait_for_selector("html[data-ready]")
            assert page.locator("#rounds tbody tr").count() == 2
            assert page.locator("#refused").text_content() == "client: 1"
            assert "31.3 in round 1" in page.get_by_role("img", name="Perplexity").get_attribute("aria-label")
            assert all(url.startswith(address) for url in asked) and complaints == []
            grounds.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
            page.close()
    assert grounds[0] != grounds[1]


def test_a_private_round_in_which_a_client_refused_does_not_say_who_was_there(home: Path) -> None:
    """Its facts have no count of clients, and get none."""
    order = home / "runs" / "private"
    order.mkdir()
    board = Board(home, order)

    def round_(state: Any, t: int) -> tuple[Any, dict[str, Any]]:
        board.refused["conditions"] += 1
        return state, {"lr": 1.0}

    _, facts = board.counted(Trainer(lambda key: None, round_)).round(None, 0)
    assert facts == {"lr": 1.0, "bytes_up": 0, "bytes_down": 0}
