"""Sends tasks to clients and decides which answers the server accepts.

A `Courier` carries parcels: Flower's grid (`grid`), or a plain call in a test. A wrong answer is counted by its reason,
and the server continues with the rest.
"""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from tacit.network.settings import config_text, words_array
from tacit.network.work import VERSION, Parcel, Refusal, check_facts
from tacit.runs.config import Config
from tacit.text.vocabulary import Vocabulary

_LOOK = 1.0  # seconds between looks for clients


class Post(Protocol):
    """Carries tasks without rounds: more can be sent at any time, and answers come one by one."""

    def send(self, number: int, task: Parcel, seconds: float) -> None:
        """Sends a task to a client, which may answer for so many seconds."""
        ...

    def receive(self, seconds: float) -> tuple[int, Parcel | Refusal] | None:
        """Returns the next answer and whose it is; None if none comes in so many seconds."""
        ...


class Courier(Protocol):
    """Carries tasks to clients and their answers back."""

    def present(self) -> Sequence[int]:
        """Returns the numbers of the clients that can be asked now."""
        ...

    def ask(self, tasks: Mapping[int, Parcel], seconds: float) -> Iterator[tuple[int, Parcel | Refusal]]:
        """Sends a task to each client and gives answers as they arrive, for at most so many seconds.

        Closing the iterator abandons the tasks that are not answered yet.
        """
        ...

    def post(self) -> Post:
        """Returns a post for tasks without rounds; its answers are apart from those of `ask`."""
        ...


class Terms(NamedTuple):
    """Holds how long a round waits, and for how many clients."""

    deadline: float = 600.0  # seconds
    over: float = 1.3  # clients that are asked, for each that is needed
    least: int = 1  # answers without which a round is abandoned
    max_weight: float = 1e6  # of one client's update


class Question(NamedTuple):
    """Holds the state of a question to clients, in counts only."""

    task: str
    asked: int
    goal: int  # answers that it waits for
    accepted: int
    ends: float  # its deadline, in seconds since 1970


def no_report(question: Question) -> None:
    """Does nothing."""


class Office(NamedTuple):
    """The server's side of a federation."""

    courier: Courier
    config: Config
    words: Vocabulary
    population: int
    terms: Terms
    refused: Counter[str]  # reasons, over all rounds
    tell: Callable[[Question], None] = no_report  # called whenever a question's counts change

    def present(self) -> np.ndarray:
        """Returns the numbers of the clients that can be asked now; waits until the deadline for enough of them."""
        until = time.monotonic() + self.terms.deadline
        while True:
            numbers = np.sort(np.asarray(self.courier.present(), np.int64))
            if len(numbers) >= min(self.terms.least, self.population) or time.monotonic() >= until:
                return numbers
            time.sleep(_LOOK)

    def tasks(
        self, kind: str, t: int, arrays: Mapping[str, np.ndarray], who: Sequence[int], **more: Any
    ) -> dict[int, Parcel]:
        """Returns the task of each client; all share their arrays. `more` are the facts of this kind of work."""
        shared = {**arrays, "words": words_array(self.words)}
        facts = {
            "version": VERSION,
            "kind": kind,
            "round": t,
            "population": self.population,
            "rounds": self.config.training.rounds,
            "seed": self.config.seed,
            "config": config_text(self.config),
            **more,
        }
        return {n: Parcel(shared, {**facts, "number": n, "secret": secrets.token_hex(16)}) for n in who}

    def answers(
        self, tasks: Mapping[int, Parcel], goal: int, check: Callable[[Parcel], Any]
    ) -> Iterator[tuple[int, Any]]:
        """Yields the result of `check` for every accepted answer, until there are `goal` of them or time is up."""
        waiting, accepted = set(tasks), 0
        kinds = sorted({str(task.facts["kind"]) for task in tasks.values()})
        stands = Question(" ".join(kinds), len(tasks), goal, 0, time.time() + self.terms.deadline)
        self.tell(stands)
        replies = self.courier.ask(tasks, self.terms.deadline)
        for number, answer in replies:
            try:
                if number not in tasks:
                    raise Refusal("foreign", "nobody asked this client")
                if number not in waiting:
                    raise Refusal("replay", "this client has answered already")
                if isinstance(answer, Refusal):
                    waiting.discard(number)
                    raise answer
                check_facts(answer.facts, tasks[number].facts)
                value = check(answer)
            except Refusal as refusal:
                self.refused[refusal.reason] += 1
                self.tell(stands._replace(accepted=accepted))
                if not waiting:
                    break
                continue
            waiting.discard(number)
            accepted += 1
            self.tell(stands._replace(accepted=accepted))
            yield number, value
            if accepted == goal or not waiting:
                break
