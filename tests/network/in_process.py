"""A federation in one process: real clients, and a courier that calls them and keeps what it carries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from test_exchange import SMALL

from tacit.base.errors import TacitError
from tacit.federated.objective import next_word_loss
from tacit.federated.text_cohorts import text_federation
from tacit.models import language_model
from tacit.network.person import Device, person_text
from tacit.network.training import networked
from tacit.network.work import Parcel, Refusal
from tacit.runs.config import Config, algorithm, resolve
from tacit.text.corpus import from_messages
from tacit.text.encode import everybody
from tacit.text.packed import Packed, join
from tacit.text.typists import Typists, TypistsConfig
from tacit.text.vocabulary import SPECIALS, Vocabulary

PEOPLE = 6
# all clients have batches of one shape, so that one program is compiled for all of them
ALIKE = (
    *SMALL,
    "text.vocabulary=0",
    "text.max_words=4",
    "client.max_examples=4",
    "sampling.fraction=1.0",
    "training.rounds=2",
)
Client = Callable[[Parcel], Parcel]


class Post:
    """A courier to clients in this process; it keeps all that it carries, and some clients fall silent."""

    def __init__(self, clients: Sequence[Client], silent: Mapping[str, Sequence[int]] | None = None) -> None:
        self.clients, self.silent = clients, dict(silent or {})
        self.asked: list[tuple[int, Parcel]] = []
        self.said: list[tuple[int, Parcel]] = []

    def present(self) -> Sequence[int]:
        return range(len(self.clients))

    def ask(self, tasks: Mapping[int, Parcel], seconds: float) -> Iterator[tuple[int, Parcel | Refusal]]:
        for number in np.random.default_rng(len(self.asked)).permutation(sorted(tasks)).tolist():
            self.asked.append((number, tasks[number]))
            if number not in self.silent.get(str(tasks[number].facts["kind"]), ()):
                yield number, self.answer(number, tasks[number])

    def answer(self, number: int, task: Parcel) -> Parcel | Refusal:
        try:
            answer = self.clients[number](task)
        except (Refusal, TacitError) as refusal:
            return Refusal("client", str(refusal))
        self.said.append((number, answer))
        return answer


def devices_of(people: int) -> list[Device]:
    """As many people, each with a few messages."""
    typists = Typists(TypistsConfig(users=people, messages=8))
    texts = [[message.text for message in typists.messages(k)] for k in range(people)]
    return [Device(from_messages(f"p{k}", {"me": said})) for k, said in enumerate(texts)]


def words_of(devices: Sequence[Device]) -> Vocabulary:
    """The first words of everybody's text, as a public list."""
    texts = [everybody(device.messages, True) for device in devices]
    found = dict.fromkeys(text.types[i] for text in texts for i in text.ids.tolist())
    return Vocabulary((*SPECIALS, *[word for word in found if word.isalpha()][:36]))


def world(devices: Sequence[Device], *keys: str) -> tuple[Config, Vocabulary, Packed]:
    config, words = networked(resolve("fedavg", [*ALIKE, *keys])), words_of(devices)
    texts = [person_text(everybody(device.messages, True), config, words).training for device in devices]
    return config, words, join(texts)


def simulated(config: Config, words: Vocabulary, text: Any) -> Any:
    """The simulator's state after the rounds of a configuration."""
    model = language_model(config.model, len(words))
    rounds = config.training.rounds
    trainer = text_federation(model.init, next_word_loss(model), algorithm(config), text, config.seed, rounds)
    state = trainer.init(jax.random.key(config.seed))
    for t in range(rounds):
        state, _ = trainer.round(state, t)
    return state


def write_words(path: Path, devices: Sequence[Device]) -> Path:
    """Writes the words of `words_of` as a list that a run can name."""
    listed = "\n".join(words_of(devices).words[len(SPECIALS) :]) + "\n"
    path.write_text(listed, "utf-8")
    return path
