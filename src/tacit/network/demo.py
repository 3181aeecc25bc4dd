"""Runs a federation to try: a server, four of the built-in typists, and a person in a browser, on this machine.

A secure sum needs at least five clients, so no round is made before the person takes part. Everything is in one
directory, and all processes end with this one.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tacit.base.errors import TacitError
from tacit.network import federation, flower
from tacit.network.links import link
from tacit.network.office import Terms
from tacit.network.orders import run
from tacit.network.training import networked
from tacit.runs.config import resolve
from tacit.text.typists import Typists, TypistsConfig

NAMES = ("ana", "ben", "cem", "dua")
PERSON = "you"
RUN = "run"
_OTHERS, _MESSAGES = 8, 60  # typists whose words are the list, and messages of each
_LEAST = 5  # of a secure sum
_SETTINGS = (
    "text.vocabulary=0",
    "text.max_words=16",
    "text.held_out_text=0.2",  # three sentences are enough to tell whether the model gets better on them
    "model.embedding=24",
    "model.hidden=24",
    "client.lr=2.0",
    "client.epochs=3",
    "sampling.fraction=1.0",
    "privacy.mechanism=clipped",
    "privacy.clip=3.0",
    "privacy.secure=true",
    f"privacy.least={_LEAST}",
    "training.evaluate_every=1000",  # the page measures every model for its person
)


def demo(
    place: Path,
    rounds: int,
    invited: Callable[[str], None],
    on_round: Callable[[dict[str, Any]], None] = lambda record: None,
) -> Path:
    """Makes a federation in an empty directory and trains; returns the run. `invited` gets the person's link."""
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise TacitError(f"{place} exists and is not empty; choose another --out")
    home, pages = place / "home", flower.free_port()
    federation.init(home, port=flower.free_port())
    words = _write_texts(place)
    for name in NAMES:
        federation.invite(home, name, place / f"{name}.invitation")
    address = link(f"http://127.0.0.1:{pages}", federation.invite_browser(home, PERSON))
    with ExitStack() as processes:
        log = place / "server.log"
        started = processes.enter_context(_program(place, log, "server", str(home), "--browsers", str(pages)))
        flower.wait_for_port(started, pages, log)
        for name in NAMES:
            given = (str(place / f"{name}.invitation"), "--data", str(place / f"{name}.jsonl"))
            processes.enter_context(_program(place, place / f"{name}.log", "client", *given))
        invited(address)
        keys = [*_SETTINGS, f"text.words={words}", f"training.rounds={rounds}"]
        terms = Terms(deadline=3600.0, over=1.0, least=_LEAST)
        run(home, networked(resolve("fedavg", keys)), place / RUN, terms, on_round=on_round)
    return place / RUN


def _write_texts(place: Path) -> Path:
    """Writes the four typists' text, and a list of the words of others."""
    typists = Typists(TypistsConfig(users=len(NAMES) + _OTHERS, messages=_MESSAGES))
    for number, name in enumerate(NAMES):
        lines = [
            json.dumps({"user": name, "text": message.text}) + "\n" for message in typists.messages(number)
        ]
        (place / f"{name}.jsonl").write_text("".join(lines), "utf-8")
    counts: Counter[str] = Counter()
    for number in range(len(NAMES), len(NAMES) + _OTHERS):
        for message in typists.messages(number):
            counts.update(word for word in message.text.lower().split() if word.isalpha())
    file = place / "words.txt"
    file.write_text("\n".join(word for word, _ in counts.most_common()) + "\n", "utf-8")
    return file


@contextmanager
def _program(place: Path, log: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Runs `tacit federation …` until the end of the block, or of this process."""
    started = flower.start("tacit", ["federation", *arguments], place, log)
    try:
        yield started
    finally:
        flower.stop(started)
