"""Everything that comes in is checked: wrong stage, round, size, id; forged and duplicated shares. Nothing is taken."""

from __future__ import annotations

import random as python_random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_secure_rounds import SPARSE, Round, plain_sum

from tacit.base.errors import TacitError
from tacit.privacy.secure import messages, primitives, shamir
from tacit.privacy.secure.client import STAGES, Client
from tacit.privacy.secure.errors import Abandoned, Refused
from tacit.privacy.secure.messages import Answer, Terms

HEADER = 26


def changed(message: bytes, at: int, to: bytes) -> bytes:
    return message[:at] + to + message[at + len(to) :]


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda m: b"", "is cut short"),
        (lambda m: m[:-1], "cut short|instead of|and has"),
        (lambda m: m + b"\0", "instead of|and has"),
        (lambda m: changed(m, 0, b"X"), "no message of a secure sum"),
        (lambda m: changed(m, 4, b"\2"), "has version 2; this program reads 1"),
        (lambda m: changed(m, 5, b"\2"), "not what this stage takes: it is of the kind 'roster'"),
        (lambda m: changed(m, 5, b"\xff"), "of the kind 'type 255'"),
        (lambda m: changed(m, 6, b"\1"), "belongs to another round"),
        (lambda m: changed(m, 25, b"\3"), "carries the id of client 3"),
    ],
)
def test_a_damaged_message_is_refused_and_the_right_one_still_taken(
    stage: str, damage: Callable[[bytes], bytes], reason: str
) -> None:
    one = Round().until(stage)
    message = one.made(1)
    with pytest.raises(Refused, match=reason):
        one.server.receive(1, damage(message))
    one.server.receive(1, message)
    with pytest.raises(Refused, match=f"client 1 has already sent what stage '{stage}' takes"):
        one.server.receive(1, message)
    for stranger in (-1, 5):
        with pytest.raises(Refused, match="is not in the group of 5"):
            one.server.receive(stranger, message)
    for i in list(one.inbox):
        if i != 1:
            one.server.receive(i, one.made(i))
    if stage != "unmask":
        one.inbox = one.server.end_stage()
        assert one.until("unmask").opened() == plain_sum(one.vectors, set(range(5)))
    else:
        assert one.server.open().total.tolist() == plain_sum(one.vectors, set(range(5)))


def test_a_message_of_a_stage_that_is_over() -> None:
    one = Round()
    keys = one.made(0)
    for i in range(1, 5):
        one.server.receive(i, one.made(i))
    one.server.end_stage()
    with pytest.raises(Refused, match="client 0 is out of this round"):
        one.server.receive(0, keys)


def test_stages_in_their_order() -> None:
    one = Round()
    for call in (
        one.clients[0].share,
        one.clients[0].unmask,
        lambda m: one.clients[0].mask(m, one.vectors[0]),
    ):
        with pytest.raises(Refused, match="its stage is 'advertise'"):
            call(b"")
    with pytest.raises(TacitError, match="opens after stage 'unmask'"):
        one.server.open()
    one.until("unmask")
    with pytest.raises(TacitError, match="ends with open"):
        one.server.end_stage()
    assert one.opened() == plain_sum(one.vectors, set(range(5)))  # nothing of this has done harm


# Keys.


def test_keys_that_are_not_ones_own_or_no_keys() -> None:
    one = Round()
    first, second = one.made(0), one.made(1)
    one.server.receive(0, first)
    copied = messages.encode_keys(one.terms, 1, first[HEADER : HEADER + 32], second[-32:])
    with pytest.raises(Refused, match="client 1 advertises a key that is already in use"):
        one.server.receive(1, copied)
    with pytest.raises(Refused, match="client 1 advertises one key for two uses"):
        one.server.receive(1, messages.encode_keys(one.terms, 1, second[-32:], second[-32:]))
    with pytest.raises(Refused, match="client 1 advertises a point of small order"):
        one.server.receive(1, messages.encode_keys(one.terms, 1, bytes(32), second[-32:]))
    one.server.receive(1, second)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"clients": 2}, "2 clients advertise keys, this round takes 3 to 5"),
        ({"clients": 6}, "6 clients advertise keys"),
        ({"threshold": 2}, "threshold 2 must be more than half of 4"),
        ({"threshold": 5}, "threshold 5 must be"),
        ({"degree": 1, "neighbours": slice(1)}, "1 neighbours among 5 clients, 2 is the least number"),
    ],
)
def test_a_roster_that_would_not_hide_the_client(change: dict, reason: str) -> None:
    one = Round().until("share")
    roster = messages.decode_roster(one.terms, 0, one.inbox[0])
    assert roster.degree == 4
    if "neighbours" in change:
        change = change | {"neighbours": roster.neighbours[change["neighbours"]]}
    with pytest.raises(Abandoned, match=reason):
        one.clients[0].share(messages.encode_roster(one.terms, 0, roster._replace(**change)))
    assert one.clients[0].stage == "abandoned"


@pytest.mark.parametrize(
    ("ids", "reason"),
    [
        ([1, 2, 3, 5], "names client 5, who is not in the group"),
        ([0, 1, 2, 3], "names the client itself"),
        ([1, 2, 2, 3], "names client 2 twice or out of order"),
        ([2, 1, 3, 4], "names client 1 twice or out of order"),
    ],
)
def test_a_roster_of_wrong_ids(ids: list[int], reason: str) -> None:
    one = Round().until("share")
    roster = messages.decode_roster(one.terms, 0, one.inbox[0])
    near = [keys._replace(id=i) for i, keys in zip(ids, roster.neighbours, strict=True)]
    with pytest.raises(Refused, match=reason):
        one.clients[0].share(messages.encode_roster(one.terms, 0, roster._replace(neighbours=near)))


def test_a_roster_with_a_key_twice() -> None:
    one = Round().until("share")
    roster = messages.decode_roster(one.terms, 0, one.inbox[0])
    near = [*roster.neighbours[:3], roster.neighbours[3]._replace(mask_key=roster.neighbours[0].mask_key)]
    with pytest.raises(Abandoned, match="two of the public keys are the same"):
        one.clients[0].share(messages.encode_roster(one.terms, 0, roster._replace(neighbours=near)))


def test_neighbours_that_know_different_mask_keys() -> None:
    """Their masks would not cancel, and the sum would be wrong: their shares do not open."""
    one = Round().until("share")
    roster = messages.decode_roster(one.terms, 0, one.inbox[0])
    other = primitives.public_key(bytes(range(32)))
    near = [roster.neighbours[0]._replace(mask_key=other), *roster.neighbours[1:]]
    one.inbox[0] = messages.encode_roster(one.terms, 0, roster._replace(neighbours=near))
    one.until("mask")
    with pytest.raises(Abandoned, match=r"client 0 abandons .* shares of client 1 cannot be opened"):
        one.made(0)
    with pytest.raises(Abandoned, match=r"client 1 abandons .* shares of client 0 cannot be opened"):
        one.made(1)


# Shares.


def test_shares_for_others_than_the_neighbours() -> None:
    one = Round().until("share")
    commitment, parcels = messages.decode_shares(one.terms, 0, one.made(0))
    with pytest.raises(Refused, match="client 0 sends shares to others than its neighbours"):
        one.server.receive(0, messages.encode_shares(one.terms, 0, commitment, parcels[:-1]))
    twice = [parcels[0], parcels[0], *parcels[2:]]
    with pytest.raises(Refused, match="names client 1 twice"):
        one.server.receive(0, messages.encode_shares(one.terms, 0, commitment, twice))


@pytest.mark.parametrize("field", ["sealed", "seed_digest", "key_digest"])
def test_forged_shares_are_found_by_who_gets_them(field: str) -> None:
    one = Round().until("share")
    for i in one.inbox:
        message = one.made(i)
        if i == 3:
            commitment, parcels = messages.decode_shares(one.terms, 3, message)
            forged = parcels[0]._replace(**{field: changed(getattr(parcels[0], field), 5, b"forged")})
            message = messages.encode_shares(one.terms, 3, commitment, [forged, *parcels[1:]])
        one.server.receive(i, message)
    one.inbox = one.server.end_stage()
    with pytest.raises(
        Abandoned, match=r"client 0 abandons the round: the shares of client 3 (cannot|are not)"
    ):
        one.made(0)
    one.made(1)  # the others have nothing to complain about


def test_shares_of_one_who_is_no_neighbour() -> None:
    one = Round(clients=9, rates=SPARSE).until("mask")
    assert one.server.sparsity.degree < 8
    parcels = messages.decode_delivery(one.terms, 0, one.inbox[0])
    stranger = next(i for i in range(1, 9) if i not in {parcel.id for parcel in parcels})
    more = sorted([parcels[0]._replace(id=stranger), *parcels[1:]])
    with pytest.raises(Abandoned, match=f"client {stranger} is no neighbour"):
        one.clients[0].mask(messages.encode_delivery(one.terms, 0, more), one.vectors[0])


def test_too_few_shares_delivered() -> None:
    one = Round().until("mask")
    parcels = messages.decode_delivery(one.terms, 0, one.inbox[0])
    with pytest.raises(Abandoned, match="only 1 neighbours sent shares, the threshold is 3"):
        one.clients[0].mask(messages.encode_delivery(one.terms, 0, parcels[:1]), one.vectors[0])


@pytest.mark.parametrize(
    ("forge", "reason"),
    [
        (
            lambda a: [a[0]._replace(share=(7).to_bytes(33)), *a[1:]],
            "client 4 reveals a forged share of client 0",
        ),
        (
            lambda a: [a[0]._replace(kind=1), *a[1:]],
            "client 4 reveals the wrong one of its shares of client 0",
        ),
        (lambda a: a[1:], "client 4 reveals shares of others than it was asked for"),
        (lambda a: [a[0], a[0], *a[1:]], "names client 0 twice"),
        (lambda a: [a[0]._replace(kind=2), *a[1:]], "something that is no share, about client 0"),
        (lambda a: [a[0]._replace(share=b"\xff" * 33), *a[1:]], "something that is no share, about client 0"),
        (lambda a: [a[0]._replace(share=a[1].share), *a[1:]], "client 4 reveals a forged share of client 0"),
        (lambda a: [*a[:-1], a[-1]._replace(id=77)], "names client 77, who is not in the group"),
    ],
)
def test_a_forged_answer_is_refused_and_named_and_the_sum_still_opens(
    forge: Callable[[list[Answer]], list[Answer]], reason: str
) -> None:
    one = Round().until("unmask")
    for i in one.inbox:
        message = one.made(i)
        if i == 4:
            answers = forge(messages.decode_revealed(one.terms, 4, message))
            with pytest.raises(Refused, match=reason):
                one.server.receive(4, messages.encode_revealed(one.terms, 4, answers))
        else:
            one.server.receive(i, message)
    assert one.server.open().total.tolist() == plain_sum(one.vectors, set(range(5)))


@pytest.mark.parametrize(
    ("absent", "reason"),
    [(False, "the seed it committed to"), (True, "the key it advertised")],
)
def test_a_dealer_of_shares_of_another_secret_is_named(
    monkeypatch: pytest.MonkeyPatch, absent: bool, reason: str
) -> None:
    """The shares agree with their digests, so only the secret itself shows the fraud."""
    one = Round().until("share")
    honest = shamir.split
    for i in one.inbox:
        with monkeypatch.context() as patch:
            if i == 2:
                patch.setattr(shamir, "split", lambda secret, *rest: honest(bytes(reversed(secret)), *rest))
            one.server.receive(i, one.made(i))
    one.inbox = one.server.end_stage()
    for i in one.inbox:
        if not (absent and i == 2):
            one.server.receive(i, one.made(i))
    one.inbox = one.server.end_stage()
    with pytest.raises(Abandoned, match=f"client 2 dealt shares that do not give {reason}"):
        one.opened()
    assert one.server.stage == "abandoned"


def test_a_dealer_of_shares_of_no_secret_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Round().until("share")

    def constant(secret: bytes, xs: list[int], *_: object) -> dict[int, bytes]:
        return {x: (2**256 + 5).to_bytes(33) for x in xs}  # a polynomial whose secret has 257 bits

    for i in one.inbox:
        with monkeypatch.context() as patch:
            if i == 2:
                patch.setattr(shamir, "split", constant)
            one.server.receive(i, one.made(i))
    one.inbox = one.server.end_stage()
    one.until("unmask")
    with pytest.raises(Abandoned, match="client 2 dealt shares that belong to no secret"):
        one.opened()


@pytest.mark.parametrize("words", [0, 1, 3, 5])
def test_a_masked_vector_of_another_length(words: int) -> None:
    """One of a single word would be added to every word of the sum."""
    one = Round().until("mask")
    message = messages.encode_masked(one.terms, 1, np.zeros(words, np.uint64))
    with pytest.raises(Refused, match=f"has {words} words instead of 4"):
        one.server.receive(1, message)
    assert one.until("unmask").opened() == plain_sum(one.vectors, set(range(5)))


def test_survivors_beyond_the_group() -> None:
    one = Round().until("unmask")
    with pytest.raises(Refused, match="names client 7, who is not in the group"):
        one.clients[0].unmask(changed(one.inbox[0], HEADER + 4, b"\xf9"))
    with pytest.raises(Refused, match="is of 6 clients instead of 5"):
        one.clients[1].unmask(changed(one.inbox[1], HEADER + 3, b"\6"))


@pytest.mark.parametrize(
    "terms",
    [
        Terms(bytes(15), 5, 4, 3),
        Terms(bytes(16), 5, 0, 3),
        Terms(bytes(16), 5, 4, 2),
        Terms(bytes(16), 5, 4, 6),
        Terms(bytes(16), 5, 4, 3, b"short"),
    ],
)
def test_terms_that_are_none(terms: Terms) -> None:
    with pytest.raises(TacitError):
        Client(terms, 0)


def test_a_client_outside_the_group() -> None:
    with pytest.raises(TacitError, match="client 5 is not one of the 5"):
        Client(Terms(bytes(16), 5, 4, 3), 5)


@settings(max_examples=120)
@given(st.integers(0, 2**32))
def test_one_changed_byte_anywhere_never_gives_a_wrong_sum(seed: int) -> None:
    """In any message but a masked vector, whose words are all possible. Nothing but `TacitError` is raised."""
    rng = python_random.Random(seed)
    stage, to_server = rng.choice(STAGES), rng.random() < 0.5

    def struck(message: bytes) -> bytes:
        at = rng.randrange(HEADER if stage == "mask" and to_server else len(message))
        return changed(message, at, bytes([message[at] ^ 1 << rng.randrange(8)]))

    one = Round(words=2)
    one.until(stage)
    try:
        for i in list(one.inbox):
            if i == 2 and not to_server and stage != "advertise":
                one.inbox[2] = struck(one.inbox[2])
            message = one.made(i)
            one.server.receive(i, struck(message) if i == 2 and to_server else message)
        if stage != "unmask":
            one.inbox = one.server.end_stage()
            one.until("unmask")
            total = one.opened()
        else:
            total = one.server.open().total.tolist()
    except TacitError as error:
        assert "\n" not in str(error) and str(error)
    else:
        assert total == plain_sum(one.vectors, set(range(5)))


def test_no_message_holds_anothers_secret() -> None:
    """What goes to the server before the end has neither a private key, nor a seed, nor a share, nor a vector."""
    one = Round(name="scan")
    sent = b""
    for stage in ("share", "mask", "unmask"):
        for i in list(one.inbox):
            message = one.made(i)
            sent += message
            one.server.receive(i, message)
        one.inbox = one.server.end_stage()
        assert one.server.stage == stage
    for i in range(5):
        for secret in one.drawn[i].all:
            assert secret not in sent
        assert np.ascontiguousarray(one.vectors[i]).tobytes() not in sent
