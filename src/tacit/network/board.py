"""Writes the state of the present round for those who watch a federation, in counts only.

    runs/ORDER/progress.json     the present question: goal, answers, refusals, deadline, bytes
    logs/rounds.jsonl            a line when a run begins, commits a round, abandons a round, or ends

The app that makes the rounds writes both, and `watch` reads them. Neither has a line about a single client. The first
is written at most once a second, and a run does not need it.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tacit.base.errors import TacitError
from tacit.base.files import append_line, write_atomic
from tacit.federated.algorithm import Trainer
from tacit.network.office import Courier, Post, Question
from tacit.network.work import Parcel, Refusal
from tacit.privacy.secure.client import STAGES
from tacit.runs.callbacks import Callback
from tacit.runs.config import Config

PROGRESS, ROUNDS = "progress.json", "rounds.jsonl"
_EVERY = 1.0  # seconds between writes
_NOTHING = Question("", 0, 0, 0, 0.0)


class Board:
    """Reports one run of a federation; `home` is the federation's directory, `order` the run's directory in it."""

    def __init__(self, home: Path, order: Path, clock: Callable[[], float] = time.time) -> None:
        self.home, self.order, self.clock = home, order, clock
        self.connected = self.down = self.up = self.done = self.rounds = 0
        self.refused: Counter[str] = Counter()
        self._trained = _NOTHING  # the last question of this round's training
        self._measuring = False  # whether the sum that is under way is of scores
        self._written, self._ends, self._began = -math.inf, -math.inf, clock()
        self._before: tuple[int, int, Counter[str]] = (0, 0, Counter())  # the round

    def watched(self, courier: Courier) -> Courier:
        """Returns a courier that counts bytes, answers and connected clients."""
        return _Counted(courier, self)

    def counted(self, trainer: Trainer) -> Trainer:
        """Returns a trainer that adds the bytes and refusals of a round's training to its line of metrics."""

        def round_(state: Any, t: int) -> tuple[Any, dict[str, Any]]:
            down, up, refused = self.down, self.up, self.refused.total()
            state, facts = trainer.round(state, t)
            said = {"bytes_down": self.down - down, "bytes_up": self.up - up}
            count = self.refused.total() - refused
            if count and "dropped" in facts:  # a private round does not say who was there
                said |= {"refused": count, "dropped": max(0, int(facts["dropped"]) - count)}
            return state, facts | said

        return trainer._replace(round=round_)

    def tell(self, question: Question) -> None:
        """Writes how a question stands: when it begins and ends, and between at most once a second."""
        self._note(question)
        now, is_new = self.clock(), question.ends != self._ends
        if not is_new and now - self._written < _EVERY and question.accepted != question.goal:
            return
        self._written, self._ends = now, question.ends
        said = {**question._asdict(), "round": min(self.done + 1, self.rounds), "rounds": self.rounds}
        said |= {"time": now, "connected": self.connected, "refused": dict(self.refused)}
        said |= {"bytes_down": self.down, "bytes_up": self.up}
        with contextlib.suppress(TacitError):  # a full disk: the round itself may still be made
            write_atomic(self.order / PROGRESS, json.dumps(said) + "\n")

    def _note(self, question: Question) -> None:
        """Keeps how training stands: of a secure sum whom its first stage asked, and who answered its latest."""
        if question.task == "train":
            self._trained = question
        elif question.task == STAGES[0]:
            self._measuring = self._trained.task == STAGES[-1]  # the second sum of a round is of scores
            self._trained = self._trained if self._measuring else question
        elif question.task in STAGES and not self._measuring:
            self._trained = question._replace(asked=self._trained.asked, goal=self._trained.goal)

    def callback(self) -> Callback:
        """Returns the callback that logs rounds."""

        def begin(config: Config, done: int, parameters: int) -> None:
            self.done, self.rounds, self._began = done, config.training.rounds, self.clock()
            self.log("begun", round=done, rounds=self.rounds, parameters=parameters)

        return Callback(begin, self._after_round)

    def log(self, event: str, **more: Any) -> None:
        """Appends a line to the log of rounds."""
        now = datetime.datetime.fromtimestamp(self.clock(), datetime.UTC).isoformat(timespec="seconds")
        append_line(
            self.home / "logs" / ROUNDS, {"time": now, "run": self.order.name, "event": event, **more}
        )

    def _after_round(self, record: dict[str, Any]) -> None:
        asked, (down, up, refused) = self._trained, self._before
        empty = "abandoned" in record or not record.get("clients", 1)  # a private round does not say how many
        self.log(
            "abandoned" if empty else "committed",
            round=record["round"],
            connected=self.connected,
            asked=asked.asked,
            goal=asked.goal,
            answered=asked.accepted,
            refused=dict(self.refused - refused),
            bytes_down=self.down - down,  # of its evaluation, too
            bytes_up=self.up - up,
            seconds=round(self.clock() - self._began, 3),
        )
        self.done, self._began = record["round"], self.clock()
        self._before = self.down, self.up, Counter(self.refused)
        self._trained, self._measuring = _NOTHING, False


class _Counted:
    """Carries parcels and reports them to a board."""

    def __init__(self, courier: Courier, board: Board) -> None:
        self._courier, self._board = courier, board

    def present(self) -> Sequence[int]:
        found = self._courier.present()
        self._board.connected = len(found)
        return found

    def ask(self, tasks: Mapping[int, Parcel], seconds: float) -> Iterator[tuple[int, Parcel | Refusal]]:
        self._board.down += sum(map(size, tasks.values()))
        for number, answer in self._courier.ask(tasks, seconds):
            self._board.up += size(answer)
            yield number, answer

    def post(self) -> Post:
        return _CountedPost(self._courier.post(), self._board)


class _CountedPost:
    """Carries tasks without rounds and reports them to a board."""

    def __init__(self, post: Post, board: Board) -> None:
        self._post, self._board = post, board

    def send(self, number: int, task: Parcel, seconds: float) -> None:
        self._board.down += size(task)
        self._post.send(number, task, seconds)

    def receive(self, seconds: float) -> tuple[int, Parcel | Refusal] | None:
        came = self._post.receive(seconds)
        if came:
            self._board.up += size(came[1])
        return came


def size(parcel: Parcel | Refusal) -> int:
    """Returns the bytes of a parcel's arrays and texts, without what Flower and TLS add.

    >>> import numpy as np
    >>> size(Parcel({"w": np.zeros(3, np.float32)}, {"kind": "train", "round": 1}))
    25
    """
    if isinstance(parcel, Refusal):
        return 0
    texts = sum(len(fact.encode()) if isinstance(fact, str) else 8 for fact in parcel.facts.values())
    return texts + sum(getattr(array, "nbytes", 0) for array in parcel.arrays.values())
