"""Time never runs backwards: what a part holds, who is left out, and why."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
import talkers
from hypothesis import given
from hypothesis import strategies as st

from tacit.base.errors import TacitError
from tacit.personal import split as splitting
from tacit.personal.split import (
    LEAST_MESSAGES,
    LEAST_WORDS,
    REASONS,
    check_shares,
    shortened,
    split,
    subset,
    text_of_parts,
    words_in,
)
from tacit.text.packed import pack

lengths = st.lists(st.integers(1, 40), min_size=1, max_size=40)


def numbered(people: list[list[int]]):
    """Text whose words tell the message they stand in: message m holds the word 3 + m."""
    text = [[np.array([0, *[3 + m] * n, 1]) for m, n in enumerate(person)] for person in people]
    return pack(text, [f"p{k}" for k in range(len(people))])


@given(st.lists(lengths, min_size=1, max_size=5))
def test_parts_are_runs_of_messages_in_time_order(people):
    users = split(numbered(people))
    assert len(users) + sum(users.left_out.values()) == len(people)
    parts = [text_of_parts(users, i, i + 1) for i in range(3)]
    earlier = text_of_parts(users, 0, 2)
    for k, number in enumerate(users.ids.tolist()):
        found = [[int(s[1]) - 3 for s in talkers.messages(p, k)] for p in parts]
        assert [*found[0], *found[1], *found[2]] == list(
            range(len(people[number]))
        )  # all of it, once, oldest first
        assert all(found)
        both = [int(s[1]) - 3 for s in talkers.messages(earlier, k)]
        assert both == found[0] + found[1] and max(both) < min(found[2])
        words = np.array(people[number])
        middle = (np.cumsum(words) - words / 2) / words.sum()
        assert all(middle[m] < 0.64 for m in found[0]) and all(middle[m] >= 0.8 for m in found[2])
        assert all(0.64 <= middle[m] < 0.8 for m in found[1])
        assert users.text.names[k] == f"p{number}"


@given(st.lists(lengths, min_size=1, max_size=6))
def test_who_is_left_out_is_told_by_reason(people):
    left_out = split(numbered(people)).left_out
    short = sum(len(p) < LEAST_MESSAGES for p in people)
    brief = sum(len(p) >= LEAST_MESSAGES and sum(p) < LEAST_WORDS for p in people)
    assert (left_out[REASONS[0]], left_out[REASONS[1]], left_out[REASONS[3]]) == (short, brief, 0)


def test_a_part_without_a_known_word():
    typed = [np.array([0, *[5] * 10, 1])] * 20
    unknown = [np.array([0, *[2] * 10, 1])] * 20
    silent_end = [*typed[:16], *unknown[:4]]
    silent_gate = [*typed[:13], *unknown[:3], *typed[:4]]
    users = split(pack([typed, silent_end, silent_gate, unknown], list("abcd")))
    assert users.text.names == ("a",) and users.left_out["a part without a known word"] == 3


@given(st.lists(lengths, min_size=1, max_size=4), st.sampled_from([(40, 40, 20), (10, 10, 80), (98, 1, 1)]))
def test_parts_have_the_shares_that_were_asked_for(people, shares):
    users = split(numbered(people), shares=shares)
    for k, number in enumerate(users.ids.tolist()):
        words = np.array(people[number])
        middle = 100 * (np.cumsum(words) - words / 2) / words.sum()
        found = [int((middle < shares[0]).sum()), int((middle < shares[0] + shares[1]).sum())]
        assert (users.cuts[k, 1:3] - users.cuts[k, 0]).tolist() == found


@pytest.mark.parametrize("shares", [(80, 20), (64, 16, 21), (100, 0, 0), (50, 25, 20, 5)])
def test_shares_that_are_none(shares):
    with pytest.raises(TacitError, match="--split"):
        check_shares(shares)


@given(st.lists(st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=20), max_size=25), max_size=4))
def test_pieces_are_split_by_their_words(people):
    """Each word of one to four pieces, against the same messages with words of one id each."""
    ends = np.array([True, True, True, True, False])  # 3 ends a word, 4 does not
    spelt = pack(
        [
            [np.array([0, *(p for n in words for p in [4] * (n - 1) + [3]), 1]) for words in person]
            for person in people
        ],
        [str(k) for k in range(len(people))],
    )
    plain = pack(
        [[np.array([0, *[3] * len(words), 1]) for words in person] for person in people],
        [str(k) for k in range(len(people))],
    )
    found, expected = split(spelt, ends=ends), split(plain)
    assert found.left_out == expected.left_out and found.cuts.tolist() == expected.cuts.tolist()
    short, cut = shortened(spelt, 3, ends), shortened(plain, 3)
    assert short.owners.tolist() == cut.owners.tolist()
    if len(spelt.offsets) > 1:
        assert words_in(short, ends).tolist() == words_in(cut).tolist()
        inner = [x for x in spelt.tokens.tolist() if x > 1]
        assert [x for x in short.tokens.tolist() if x > 1] == inner


def test_a_middle_that_falls_on_a_cut_is_in_the_later_part():
    assert split(numbered([[60, 8, *[4] * 8]])).cuts.tolist() == [
        [0, 1, 5, 10]
    ]  # the second message's is at 64 %


def test_some_people_are_drawn_and_the_others_counted():
    text = numbered([[12] * 20] * 30)
    users = split(text, most=7, seed=1)
    assert len(users) == 7 and users.left_out["not drawn"] == 23
    assert users.ids.tolist() == sorted(users.ids.tolist()) != split(text, most=7, seed=2).ids.tolist()
    few = subset(users, np.array([4, 1]))
    assert few.ids.tolist() == users.ids[[4, 1]].tolist()
    for a, b in ((0, 4), (1, 1)):
        for i in range(3):
            same = zip(
                talkers.messages(text_of_parts(few, i, i + 1), a),
                talkers.messages(text_of_parts(users, i, i + 1), b),
                strict=True,
            )
            assert all((x == y).all() for x, y in same)


@given(lengths, st.integers(0, 7))
def test_long_messages_are_cut_and_nothing_is_lost(words, limit):
    text = numbered([words])
    short = shortened(text, limit)
    found = talkers.messages(short, 0)
    assert all(s[0] == 0 and s[-1] == 1 for s in found)
    if limit:
        assert max(len(s) - 2 for s in found) <= limit
    said = np.concatenate([s[1:-1] for s in found])
    np.testing.assert_array_equal(said, np.concatenate([s[1:-1] for s in talkers.messages(text, 0)]))
    assert len(found) == (sum(-(-n // limit) for n in words) if limit else len(words))


def test_examples():
    assert doctest.testmod(splitting).failed == 0
