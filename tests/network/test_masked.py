"""Rounds under masks over a network: the simulator's sums, drop-outs at each stage, and nothing of one client in clear.

The courier calls real clients in this process. What it carries is looked at as bytes.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest
from in_process import PEOPLE, Client, Post, devices_of, simulated, world, write_words
from test_exchange import furthest, over_the_network

from tacit.base.errors import TacitError
from tacit.federated.algorithm import round_key
from tacit.federated.cohort_sums import CohortSums
from tacit.federated.local import Broadcast, Reply, Sending
from tacit.federated.rounds import rounds_of
from tacit.models import language_model
from tacit.network.client import answering
from tacit.network.exchange import exchange
from tacit.network.masked import ABANDONED, masked_scores
from tacit.network.office import Office, Terms
from tacit.network.person import Device, person_text
from tacit.network.tasks import secure as tasks
from tacit.network.training import train
from tacit.network.work import Parcel, Refusal
from tacit.privacy.secure import codec
from tacit.privacy.secure.client import STAGES
from tacit.runs.config import algorithm
from tacit.text.encode import everybody

pytest.importorskip("cryptography")
CLIPPED = ("privacy.mechanism=clipped", "privacy.clip=0.5")
MASKED = (*CLIPPED, "privacy.secure=true", "privacy.least=5")
# five of six clients, which a round chooses
ATTENTIVE = ("aggregation.rule=attentive", "sampling.fraction=0", "sampling.clients=5")


@pytest.fixture(scope="module")
def devices() -> list[Device]:
    return devices_of(PEOPLE)


@pytest.fixture(scope="module")
def clients(devices: list[Device]) -> list[Client]:
    return [answering(device) for device in devices]


@pytest.mark.parametrize("keys", [(), ATTENTIVE], ids=["mean", "attentive"])
def test_masked_rounds_are_the_simulators(
    devices: list[Device], clients: list[Client], keys: tuple[str, ...]
) -> None:
    """Over the network under masks, over the network without, and in the simulator with and without masks."""
    config, words, text = world(devices, *MASKED, *keys)
    plain, _, _ = world(devices, *CLIPPED, *keys)
    masked, said, office = over_the_network(config, words, Post(clients), Terms(over=1.0))
    assert not office.refused and "abandoned" not in said[0]
    model = language_model(config.model, len(words))
    assert furthest(masked.params, model.init(jax.random.key(config.seed))) > 1e-3
    assert furthest(masked.params, simulated(config, words, text).params) < 1e-6
    if not keys:
        assert furthest(masked.params, simulated(plain, words, text).params) < 1e-6
        unmasked, _, _ = over_the_network(plain, words, Post(clients))
        assert furthest(masked.params, unmasked.params) < 1e-6


def test_gaussian_noise_on_a_masked_sum_is_the_simulators(
    devices: list[Device],
    clients: list[Client],
) -> None:
    """The noise is repeatable here; the simulator adds it to a sum without masks."""
    keys = (
        "privacy.mechanism=gaussian",
        "privacy.clip=0.5",
        "privacy.noise=0.3",
        "privacy.noise_source=seed",
    )
    config, words, _ = world(devices, *keys, "privacy.secure=true", "privacy.least=5")
    plain, _, text = world(devices, *keys)
    masked, said, office = over_the_network(config, words, Post(clients))  # type: ignore[arg-type]
    assert not office.refused and said[0].keys() == {"lr", "release"}
    assert furthest(masked.params, simulated(plain, words, text).params) < 1e-5


class Sums(NamedTuple):
    """Rounds of masked sums, without the server's step."""

    office: Office
    round: Callable[[int], Reply]
    silence: Reply


def sums_of(devices: Sequence[Device], post: Post, *keys: str) -> Sums:
    config, words, _ = world(devices, *MASKED, *keys)
    model = language_model(config.model, len(words))
    office = Office(post, config, words, PEOPLE, Terms(), Counter())
    shapes = jax.eval_shape(model.init, jax.random.key(0))
    kept: list[tuple[CohortSums, Reply]] = []
    real = exchange(office, shapes)

    def masked(sending: Sending, silence: Reply) -> CohortSums:
        kept.append((real.masked(sending, silence), silence))
        return kept[0][0]

    rounds_of(
        model.init,
        algorithm(config),
        real._replace(masked=masked),
        config.seed,
        config.training.rounds,
        PEOPLE,
    )
    sent = Broadcast(model.init(jax.random.key(1)), (), np.float32(config.privacy.clip))

    def round_(t: int) -> Reply:
        return kept[0][0].program(sent, kept[0][0].ready(t).laid, np.float32(1), round_key(config.seed, t))

    return Sums(office, round_, kept[0][1])


@pytest.fixture
def vectors(monkeypatch: pytest.MonkeyPatch) -> list[tuple[codec.Schema, np.ndarray, Any]]:
    """What every client has made into a vector, in the order in which they did: layout, vector, message."""
    kept: list[tuple[codec.Schema, np.ndarray, Any]] = []
    encode = codec.encode

    def spy(schema: codec.Schema, message: Any) -> Any:
        vector = encode(schema, message)
        kept.append((schema, vector, message))
        return vector

    monkeypatch.setattr(codec, "encode", spy)
    return kept


def trained_by(post: Post) -> list[int]:
    """Who has made a vector, in that order."""
    return [number for number, answer in post.said if answer.facts["kind"] == "advertise"]


def assert_sum_of(reply: Reply, post: Post, vectors: list[Any], who: set[int]) -> None:
    """The reply is numpy's sum of what these clients have trained, within the stated rounding."""
    schema = vectors[0][0]
    parts = [m for n, (_, _, m) in zip(trained_by(post), vectors, strict=True) if n in who]
    assert len(parts) == len(who) == int(reply.report.clients)
    exact = jax.tree.map(lambda *xs: np.sum(np.float64(xs), axis=0), *parts)
    for a, b, off in zip(
        *map(jax.tree.leaves, (reply.message, exact, schema.rounding(len(who)))), strict=True
    ):
        assert np.all(np.abs(a - b) <= off + 2.0**-23 * np.abs(b))  # the sum goes on as float32
        assert off < 1e-12


@pytest.mark.parametrize("stage", STAGES)
def test_a_client_may_drop_out_at_any_stage(
    devices: list[Device], clients: list[Client], vectors: list[Any], stage: str
) -> None:
    post = Post(clients, {stage: [2]})
    reply = sums_of(devices, post).round(0)
    assert_sum_of(reply, post, vectors, set(range(PEOPLE)) - ({2} if stage != "unmask" else set()))


def test_the_first_who_are_ready_form_the_group(
    devices: list[Device], clients: list[Client], vectors: list[Any]
) -> None:
    """Five of six are needed: the slowest is left out, and is no drop-out."""
    post = Post(clients)
    sums = sums_of(devices, post, *ATTENTIVE)
    reply = sums.round(0)
    assert len(trained_by(post)) == 5 and not sums.office.refused
    assert_sum_of(reply, post, vectors, set(trained_by(post)))


def test_too_few_survivors_leave_the_model_and_the_next_round_goes_on(
    devices: list[Device], clients: list[Client]
) -> None:
    config, words, _ = world(devices, *MASKED)
    model = language_model(config.model, len(words))
    for stage in STAGES[:3]:
        post = Post(clients, {stage: [1, 2]})
        office = Office(post, config, words, PEOPLE, Terms(), Counter())
        trainer = rounds_of(
            model.init,
            algorithm(config),
            exchange(office, jax.eval_shape(model.init, jax.random.key(0))),
            config.seed,
            config.training.rounds,
            PEOPLE,
        )
        before = trainer.init(jax.random.key(config.seed))
        after, said = trainer.round(before, 0)
        assert furthest(after.params, before.params) == 0 and said["abandoned"] == 1, stage
        assert office.refused == {ABANDONED: 1}
    post.silent = {}
    later, said = trainer.round(after, 1)
    assert furthest(later.params, after.params) > 1e-3 and "abandoned" not in said


def every_piece(leaf: Any) -> set[bytes]:
    """Two neighbouring numbers of a message as they lie in memory, for all that are not nearly 0."""
    row = np.ascontiguousarray(leaf).reshape(-1)
    large = row[np.abs(row.astype(np.float64)) > 1e-6]
    return {large[i : i + 2].tobytes() for i in range(len(large) - 1)}


def test_nothing_of_one_client_is_carried(
    devices: list[Device], clients: list[Client], vectors: list[Any]
) -> None:
    """Every two numbers of each update, and the same as integers, are looked for in all that clients sent."""
    post = Post(clients)
    sums_of(devices, post).round(0)
    pieces: set[bytes] = set()
    for _, vector, message in vectors:
        pieces |= {vector[i : i + 1].tobytes() for i in np.flatnonzero(vector)}
        for leaf in jax.tree.leaves(message):
            pieces |= every_piece(np.float32(leaf))
    assert len(pieces) > 1000
    carried = b"".join(array.tobytes() for _, answer in post.said for array in answer.arrays.values())
    assert len(carried) > 6 * 8 * vectors[0][0].words
    assert {name for _, answer in post.said for name in answer.arrays} == {"message"}
    assert {name for _, answer in post.said for name in answer.facts} == {
        "version",
        "kind",
        "round",
        "secret",
    }
    found = [piece for piece in pieces if piece in carried]
    assert not found
    assert next(iter(every_piece(np.float32(vectors[0][2].rule["output_bias"])))) in b"..".join(
        np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(vectors[0][2])
    )  # the search does find an update that is not masked


class Twice(Post):
    """Gives every task to its client a second time, and keeps what it says then."""

    def __init__(self, clients: Sequence[Client]) -> None:
        super().__init__(clients)
        self.again: list[tuple[str, Any]] = []

    def answer(self, number: int, task: Parcel) -> Parcel | Refusal:
        answer = super().answer(number, task)
        if number == 3:
            try:
                self.again.append((str(task.facts["kind"]), self.clients[number](task)))
            except (Refusal, TacitError) as refusal:
                self.again.append((str(task.facts["kind"]), str(refusal)))
        return answer


def test_no_stage_is_answered_twice(devices: list[Device], clients: list[Client], vectors: list[Any]) -> None:
    post = Twice(clients)
    reply = sums_of(devices, post).round(0)
    assert [stage for stage, _ in post.again] == list(STAGES)
    for (_, said), why in zip(
        post.again, ("replay: ", "asked to share", "asked to mask", "replay: "), strict=True
    ):
        assert isinstance(said, str) and why in said
    assert_sum_of(reply, post, vectors, set(range(PEOPLE)))


def test_a_task_of_another_sum_is_refused(devices: list[Device], clients: list[Client]) -> None:
    """Tasks of a sum before this one, of a sum that never was, and of another round."""
    first, second = Post(clients), Post(clients, {"share": range(PEOPLE)})
    sums_of(devices, first).round(0)
    sums_of(devices, second).round(1)  # everybody waits for the second stage of it
    old = next(task for number, task in first.asked if number == 0 and task.facts["kind"] == "share")
    new = next(task for number, task in second.asked if number == 0 and task.facts["kind"] == "share")
    for task, reason in (
        (old, "stale"),
        (new._replace(facts={**new.facts, "sum": "0" * 32}), "stale"),
        (new._replace(facts={**new.facts, "round": 0}), "stale"),
        (new._replace(arrays={"message": np.zeros(3, np.float32)}), "schema"),
        (new._replace(arrays={**new.arrays, "more": np.zeros(3, np.uint8)}), "schema"),
    ):
        with pytest.raises(Refusal) as refused:
            clients[0](task)
        assert refused.value.reason == reason
    assert clients[0](new).arrays["message"].dtype == np.uint8  # and the right one is answered
    with pytest.raises(TacitError, match="asked to share"):
        clients[0](new)


FIRST = {
    "work": ("read", "kind"),
    "sum": ("zz", "schema"),
    "group": (2, "schema"),
    "place": (PEOPLE, "schema"),
    "seconds": (float("nan"), "schema"),
    "schema": ("0" * 64, "schema"),
    "lr": (1, "schema"),
}


@pytest.fixture(scope="module")
def first_task(devices: list[Device], clients: list[Client]) -> Parcel:
    """A task of the first stage that nobody has answered."""
    post = Post(clients, {"advertise": range(PEOPLE)})
    sums_of(devices, post).round(0)
    return post.asked[0][1]


@pytest.mark.parametrize("fact", FIRST)
def test_wrong_terms_are_refused(clients: list[Client], first_task: Parcel, fact: str) -> None:
    value, reason = FIRST[fact]
    more = {"sum": "ab" * 16} if fact == "schema" else {}
    with pytest.raises(Refusal) as refused:
        clients[0](first_task._replace(facts={**first_task.facts, **more, fact: value}))
    assert refused.value.reason == reason


@pytest.mark.parametrize("kind", ["train", "evaluate"])
def test_a_run_under_masks_is_never_answered_in_clear(
    clients: list[Client], first_task: Parcel, kind: str
) -> None:
    more = {"sum", "group", "place", "schema", "seconds", "work"} | ({"lr"} if kind == "evaluate" else set())
    facts = {k: v for k, v in first_task.facts.items() if k not in more}
    with pytest.raises(Refusal, match="without one"):
        clients[0](first_task._replace(facts={**facts, "kind": kind}))


def test_a_client_forgets_a_sum_whose_time_is_up(clients: list[Client], first_task: Parcel) -> None:
    soon = first_task._replace(facts={**first_task.facts, "sum": "cd" * 16, "seconds": 0.01})
    clients[0](soon)
    later = {k: v for k, v in soon.facts.items() if k not in tasks.KINDS["advertise"].facts}
    # of another round: it is refused for that while the sum is held, and changes nothing
    other = Parcel(
        {"message": np.zeros(9, np.uint8)}, {**later, "kind": "share", "sum": "cd" * 16, "round": 1}
    )
    end, reason = time.monotonic() + 30, ""
    while reason != "replay":
        with pytest.raises(Refusal) as refused:
            clients[0](other)
        reason = refused.value.reason
        assert reason in ("stale", "replay") and time.monotonic() < end
        time.sleep(0.01)


class Forging(Post):
    """Spoils what one client says at a stage."""

    def __init__(self, clients: Sequence[Client], stage: str, spoil: Callable[[bytes], bytes]) -> None:
        super().__init__(clients)
        self.stage, self.spoil = stage, spoil

    def answer(self, number: int, task: Parcel) -> Parcel | Refusal:
        answer = super().answer(number, task)
        if number != 4 or task.facts["kind"] != self.stage or isinstance(answer, Refusal):
            return answer
        spoilt = self.spoil(answer.arrays["message"].tobytes())
        return answer._replace(arrays={"message": np.frombuffer(spoilt, np.uint8)})


def as_another(message: bytes) -> bytes:
    """The message with the id of client 1."""
    return message[:22] + (1).to_bytes(4) + message[26:]


@pytest.mark.parametrize(
    ("stage", "spoil"),
    [
        ("advertise", as_another),
        ("share", as_another),
        ("mask", lambda message: message[:-8]),
        ("mask", as_another),
        ("mask", lambda message: b""),
        ("unmask", lambda message: message[:-1] + bytes([message[-1] ^ 1])),
    ],
    ids=["id of keys", "id of shares", "short vector", "id of a vector", "nothing", "forged share"],
)
def test_a_wrong_message_is_counted_and_its_sender_drops_out(
    devices: list[Device],
    clients: list[Client],
    vectors: list[Any],
    stage: str,
    spoil: Callable[[bytes], bytes],
) -> None:
    post = Forging(clients, stage, spoil)
    sums = sums_of(devices, post)
    reply = sums.round(0)
    assert sums.office.refused == {"protocol": 1}
    assert_sum_of(reply, post, vectors, set(range(PEOPLE)) - ({4} if stage != "unmask" else set()))


def test_scores_under_masks_are_their_sum(
    devices: list[Device], clients: list[Client], vectors: list[Any]
) -> None:
    config, words, _ = world(devices, *MASKED)
    params = language_model(config.model, len(words)).init(jax.random.key(1))
    post = Post(clients)
    found = masked_scores(Office(post, config, words, PEOPLE, Terms(), Counter()), params)
    assert found is not None and {answer.facts["kind"] for _, answer in post.said} == set(STAGES)
    assert {message["scores/sentences"].shape for _, _, message in vectors} == {(1,)}
    for name, value in vars(found).items():
        exact = np.sum([message[f"scores/{name}"] for _, _, message in vectors], axis=0)
        np.testing.assert_allclose(value, exact, rtol=0, atol=1e-6)
    texts = [person_text(everybody(d.messages, True), config, words).held_out for d in devices]
    assert found.sentences[0] == sum(int(text.sizes[0]) for text in texts)
    few = Office(Post(clients, {"mask": [0, 1]}), config, words, PEOPLE, Terms(), Counter())
    assert masked_scores(few, params) is None and few.refused == {ABANDONED: 1}


class Lost(Post):
    """Loses two clients in the second and third sum but one: a round, and the evaluation after it."""

    def __init__(self, clients: Sequence[Client]) -> None:
        super().__init__(clients)
        self.sums: list[tuple[str, int]] = []

    def ask(self, tasks: Mapping[int, Parcel], seconds: float) -> Iterator[tuple[int, Parcel | Refusal]]:
        facts = next(iter(tasks.values())).facts
        if facts["kind"] == "advertise":
            self.silent = {"mask": [0, 1]} if len(self.sums) in (2, 3) else {}
            self.sums.append((facts["work"], facts["round"]))
        return super().ask(tasks, seconds)


def test_a_masked_run_has_scores_and_says_which_rounds_were_abandoned(
    tmp_path: Path, devices: list[Device], clients: list[Client]
) -> None:
    listed = write_words(tmp_path / "words.txt", devices)
    config, _, _ = world(devices, *MASKED, f"text.words={listed}")
    post = Lost(clients)
    summary = train(config, tmp_path / "run", post, lambda: PEOPLE, Terms())
    rounds = [("train", 0), ("evaluate", 0), ("train", 1), ("evaluate", 0)]
    assert post.sums == [*rounds, ("evaluate", 0)]  # the last is of the best round
    lines = (tmp_path / "run/metrics.jsonl").read_text("utf-8").splitlines()
    first, second = map(json.loads, lines)
    assert first["valid_perplexity"] > 1 and "abandoned" not in first
    assert second["abandoned"] == 1 and "valid_perplexity" not in second
    assert summary["best_round"] == 1 and summary["refused"] == {"sum abandoned": 2}
    assert summary["test"]["perplexity"] == pytest.approx(first["valid_perplexity"])
    assert summary["epsilon"] is None and "no noise" in summary["epsilon_reason"]


def test_fewer_present_than_the_least_number_train_nothing(
    devices: list[Device], clients: list[Client]
) -> None:
    post = Post(clients[:4])
    sums = sums_of(devices, post)
    assert sums.round(0) is sums.silence and not post.asked
