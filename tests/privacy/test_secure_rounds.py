"""Secure sums: equal to the plain sum whoever drops out, and the server's view holds nothing else."""

from __future__ import annotations

import os
import random as python_random

import numpy as np
import pytest
import secure_reference as plain
from hypothesis import given, settings
from hypothesis import strategies as st
from secure_vectors import Drawn

from tacit.base.errors import TacitError
from tacit.privacy.secure import messages, primitives
from tacit.privacy.secure.client import STAGES, Client
from tacit.privacy.secure.errors import Abandoned, Refused
from tacit.privacy.secure.graph import Rates, choose
from tacit.privacy.secure.messages import Terms
from tacit.privacy.secure.server import Server
from tacit.privacy.secure.simulated import run_round, secure_sum

ALL_WITH_ALL = Rates(dropout=0.2, colluding=0.0)  # of five: four neighbours, threshold three
SPARSE = Rates(dropout=0.25, colluding=0.0)  # of nine: six neighbours, threshold four


def inputs(clients: int, words: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**64, (clients, words), np.uint64)


def plain_sum(vectors: np.ndarray, who: set[int]) -> list[int]:
    """Python's integers, modulo 2⁶⁴."""
    return [sum(int(vectors[i, w]) for i in who) % 2**64 for w in range(vectors.shape[1])]


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("clients", [10, 40])
def test_thirty_percent_drop_at_a_stage(clients: int, stage: str) -> None:
    """All with all, and a sparse graph."""
    vectors = inputs(clients, 33)
    gone = set(np.random.default_rng(1).permutation(clients)[: 3 * clients // 10].tolist())
    opened = secure_sum(vectors, least=clients // 2, drop={stage: gone})
    left = set(range(clients)) - (gone if stage != "unmask" else set())
    assert set(opened.survivors) == left
    assert opened.total.tolist() == plain_sum(vectors, left)
    assert (choose(clients).degree < clients - 1) == (clients == 40)


@settings(max_examples=25)
@given(st.integers(3, 16), st.integers(1, 5), st.integers(0, 2**32), st.sampled_from([0.0, 0.1, 0.3]))
def test_any_drop_outs_give_the_plain_sum_or_the_reason(
    clients: int, words: int, seed: int, dropout: float
) -> None:
    """A round that is abandoned had fewer clients than asked for, or more drop-outs than its graph must bear."""
    rng = python_random.Random(seed)
    vectors = inputs(clients, words, seed)
    rates = Rates(dropout=dropout, colluding=0.0)
    share = rng.random() ** 2
    drop: dict[str, list[int]] = {stage: [] for stage in STAGES}
    for i in range(clients):
        if rng.random() < share:
            drop[rng.choice(STAGES)].append(i)
    least = rng.randint(3, clients)
    began = clients - len(drop["advertise"])
    left = set(range(clients)) - {i for stage in STAGES[:3] for i in drop[stage]}
    later = sum(len(drop[stage]) for stage in STAGES[1:])
    try:
        opened = secure_sum(vectors, least, rates, drop)
    except Abandoned:
        assert len(left) < least or later > int(dropout * began + 1e-9)
    else:
        assert len(left) >= least and set(opened.survivors) == left
        assert opened.total.tolist() == plain_sum(vectors, left)


@pytest.mark.parametrize("stage", STAGES[:3])
def test_fewer_than_the_least_number_are_refused(stage: str) -> None:
    with pytest.raises(Abandoned, match=f"7 clients are left after stage '{stage}', 8 is the least number"):
        secure_sum(inputs(10, 2), least=8, drop={stage: [0, 4, 9]})


def test_a_sum_of_one_or_two_is_never_asked_for() -> None:
    for clients, least in ((1, 1), (5, 2), (5, 6)):
        with pytest.raises(TacitError, match="least number"):
            secure_sum(inputs(clients, 2), least=least)
    with pytest.raises(Abandoned, match="1 clients are left"):
        secure_sum(inputs(5, 2), least=3, drop={"mask": [0, 1, 2, 3]})
    with pytest.raises(TacitError, match="there are none"):
        secure_sum([], least=3)
    with pytest.raises(TacitError, match=r"'masks' is no stage of a secure sum; did you mean 'mask'\?"):
        secure_sum(inputs(5, 2), least=3, drop={"masks": [0]})


def test_too_many_drop_after_the_shares() -> None:
    with pytest.raises(
        Abandoned, match=r"only \d neighbours of client \d sent their vectors, the threshold is 6"
    ):
        secure_sum(inputs(10, 2), least=3, drop={"mask": [0, 1, 2, 3, 4]})
    with pytest.raises(Abandoned, match=r"\d neighbours revealed shares of client \d, the threshold is 6"):
        secure_sum(inputs(10, 2), least=3, drop={"unmask": [0, 1, 2, 3, 4]})


@pytest.mark.parametrize("vector", [np.zeros(3), np.zeros(4, np.uint64), np.zeros((1, 3), np.uint64)])
def test_a_vector_of_another_kind(vector: np.ndarray) -> None:
    vectors = [np.zeros(3, np.uint64)] * 4 + [vector]
    with pytest.raises(TacitError, match=r"this round sums uint64 \(3,\)"):
        secure_sum(vectors, least=3)


# What the server sees.


class Round:
    """A round by hand, stage by stage, with all messages."""

    def __init__(
        self, clients: int = 5, words: int = 4, least: int = 3, name: str = "", rates: Rates = ALL_WITH_ALL
    ) -> None:
        self.terms = Terms(bytes(16), clients, words, least)
        self.drawn = [Drawn(f"{name} {i}") if name else os.urandom for i in range(clients)]
        self.clients = [Client(self.terms, i, self.drawn[i]) for i in range(clients)]
        self.server = Server(self.terms, rates, Drawn("server"))
        self.vectors = inputs(clients, words)
        self.inbox: dict[int, bytes] = dict.fromkeys(range(clients), b"")

    def made(self, i: int) -> bytes:
        """The message of a client for the present stage."""
        client = self.clients[i]
        if client.stage == "mask":
            return client.mask(self.inbox[i], self.vectors[i])
        return getattr(client, client.stage)(*([self.inbox[i]] if client.stage != "advertise" else []))

    def until(self, stage: str) -> Round:
        """All clients go on to a stage."""
        while self.server.stage != stage:
            for i in list(self.inbox):
                self.server.receive(i, self.made(i))
            self.inbox = self.server.end_stage()
        return self

    def opened(self) -> list[int]:
        for i in self.inbox:
            self.server.receive(i, self.made(i))
        return self.server.open().total.tolist()


def test_a_masked_vector_says_nothing_of_its_vector() -> None:
    """Vectors of zeros come out as words whose bits are even, and nothing alike in two rounds or two clients."""
    seen = []
    for _ in range(2):
        one = Round(words=2000).until("mask")
        one.vectors = np.zeros_like(one.vectors)
        seen += [messages.decode_masked(one.terms, i, one.made(i)) for i in range(5)]
    bits = np.unpackbits(np.stack(seen).view(np.uint8), axis=1)  # [10, 128000]
    assert np.all(np.abs(bits.mean(1) - 0.5) < 6 * 0.5 / 128_000**0.5)
    for i in range(10):
        for j in range(i):
            assert abs(np.mean(bits[i] == bits[j]) - 0.5) < 6 * 0.5 / 128_000**0.5


def test_two_vectors_under_the_same_masks_differ_by_their_difference() -> None:
    """Masks do not depend on the vector. With new random bytes nothing remains of it."""
    masked = {}
    for name in ("a", "b"):
        for which in (0, 1):
            one = Round(name=name).until("mask")
            one.vectors = inputs(5, 4, which)
            masked[name, which] = messages.decode_masked(one.terms, 2, one.made(2))
    difference = inputs(5, 4, 1)[2] - inputs(5, 4, 0)[2]
    assert (masked["a", 1] - masked["a", 0] == difference).all()
    assert not (masked["b", 1] - masked["a", 0] == difference).any()


def test_a_vector_that_comes_late_stays_hidden() -> None:
    """Client 2 counts as dropped, so its mask key is open. Its vector arrives later: its own mask hides it still."""
    one = Round(name="late").until("mask")
    late = one.made(2)
    for i in (0, 1, 3, 4):
        one.server.receive(i, one.made(i))
    one.inbox = one.server.end_stage()
    with pytest.raises(Refused, match="client 2 is out of this round"):
        one.server.receive(2, late)
    assert one.opened() == plain_sum(one.vectors, {0, 1, 3, 4})
    parties = [plain.Party(i, one.drawn[i].all, one.terms.context()) for i in range(5)]
    others = [parties[i] for i in (0, 1, 3, 4)]
    common = parties[2].masked(np.zeros(4, np.uint64), others) - plain.mask(parties[2].self_key(), 4)
    left = messages.decode_masked(one.terms, 2, late) - common  # all that the server can take away
    assert (left - plain.mask(parties[2].self_key(), 4) == one.vectors[2]).all()
    assert not (left == one.vectors[2]).any()


def test_a_client_answers_once() -> None:
    one = Round().until("unmask")
    first = one.made(0)
    other = messages.encode_survivors(one.terms, 0, {0, 1, 2, 3}, {4})
    with pytest.raises(Refused, match="its stage is 'over'"):
        one.clients[0].unmask(other)
    kinds = {answer.id: answer.kind for answer in messages.decode_revealed(one.terms, 0, first)}
    assert kinds == dict.fromkeys((1, 2, 3, 4), primitives.SEED_SHARE)


@pytest.mark.parametrize(
    ("alive", "dropped", "reason"),
    [
        ({0, 1, 2, 3, 4}, {4}, "both shares of a client"),
        ({1, 2, 3}, {0, 4}, "counts this client as absent"),
        ({0, 1}, {2, 3, 4}, "the sum would be of 2 clients, 3 is the least number"),
        ({0, 1, 2, 3}, set(), "not those whose shares it delivered"),
        ({0, 1, 2}, {3, 4}, "fewer neighbours than the threshold survive"),
    ],
)
def test_a_client_abandons_a_round_that_asks_for_too_much(
    alive: set[int], dropped: set[int], reason: str
) -> None:
    one = Round().until("unmask")
    client = one.clients[0]
    with pytest.raises(Abandoned, match=reason):
        client.unmask(messages.encode_survivors(one.terms, 0, alive, dropped))
    assert client.stage == "abandoned"
    with pytest.raises(Abandoned, match="has abandoned"):
        client.unmask(one.inbox[0])  # nor does it answer a better question now


def test_neighbours_that_are_told_different_survivors_do_not_open_both_secrets() -> None:
    """Whatever a server tells whom: no client gives both shares, and the threshold is more than half of them."""
    one = Round(clients=9, rates=SPARSE).until("unmask")
    degree, threshold = one.server.sparsity
    everyone = set(range(9))
    kinds = []
    for i in range(1, 9):
        told = (everyone, set()) if i % 2 else (everyone - {0}, {0})
        reply = one.clients[i].unmask(messages.encode_survivors(one.terms, i, *told))
        kinds += [a.kind for a in messages.decode_revealed(one.terms, i, reply) if a.id == 0]
    assert len(kinds) == degree == 6 and min(kinds.count(0), kinds.count(1)) < threshold


def test_parties_forget() -> None:
    """No secret is left in a client that has answered or abandoned, nor in a server that has opened the sum."""
    for end in ("over", "abandoned"):
        one = Round(name="forget").until("unmask")
        if end == "over":
            one.opened()
        else:
            with pytest.raises(Refused):
                one.clients[0].unmask(b"nonsense")
        held = repr(vars(one.clients[0]))
        assert one.clients[0].stage == end
        for secret in one.drawn[0].all:
            assert repr(secret)[2:-1] not in held
        if end == "over":
            assert one.server.stage == "over"
            assert not any(
                vars(one.server)["_kept"].__dict__[name] for name in ("keys", "parcels", "revealed")
            )
            with pytest.raises(Refused, match="the round is over"):
                one.server.open()


def test_an_abandoned_server_has_no_sum() -> None:
    one = Round(clients=10, rates=Rates()).until("mask")
    for i in range(4):
        one.server.receive(i, one.made(i))
    with pytest.raises(Abandoned):
        one.server.end_stage()
    kept = vars(one.server)["_kept"]
    assert one.server.stage == "abandoned" and kept.total.size == 0 and not kept.parcels and not kept.arrived
    for call in (one.server.end_stage, one.server.open, lambda: one.server.receive(5, one.made(5))):
        with pytest.raises(Refused, match="the round is abandoned"):
            call()


def test_rounds_are_carried_by_any_clients() -> None:
    """`run_round` takes parties that exist, such as those of a test or a benchmark."""
    one = Round()
    assert run_round(one.server, one.clients, one.vectors).total.tolist() == plain_sum(
        one.vectors, set(range(5))
    )
