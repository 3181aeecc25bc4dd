"""Packed rows: read back, they are exactly the sentences that went in."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.text.packed import Packed, batch_rows, bucket, pack, place

words = st.lists(st.integers(1, 9).filter(lambda w: w != 1), max_size=6)
people = st.lists(st.lists(words, max_size=4), min_size=1, max_size=5)


def packed_from(text) -> Packed:
    return pack(
        [[np.array([0, *s, 1]) for s in person] for person in text], [str(i) for i in range(len(text))]
    )


def sentences_of(packed: Packed) -> list[list[list[int]]]:
    found = []
    for c in range(len(packed)):
        numbers = range(packed.owners[c], packed.owners[c + 1])
        found.append([packed.tokens[packed.offsets[i] : packed.offsets[i + 1]].tolist() for i in numbers])
    return found


@given(people)
def test_pack_keeps_everything(text):
    packed = packed_from(text)
    assert sentences_of(packed) == [[[0, *s, 1] for s in person] for person in text]
    assert packed.sizes.tolist() == [len(person) for person in text]
    assert packed.lengths.tolist() == [len(s) + 1 for person in text for s in person]
    assert len(packed) == len(text) and packed.tokens.dtype == np.int32


@given(people, st.data())
def test_gather_is_these_clients_in_this_order(text, data):
    packed = packed_from(text)
    chosen = np.array(data.draw(st.lists(st.integers(0, len(text) - 1), max_size=6)), np.int64)
    some = packed.gather(chosen)
    assert sentences_of(some) == [sentences_of(packed)[c] for c in chosen]
    assert some.names == tuple(str(c) for c in chosen)


@given(people, st.data())
def test_take_is_these_sentences_for_other_people(text, data):
    packed = packed_from(text)
    flat = [s for person in sentences_of(packed) for s in person]
    if not flat:
        return
    numbers = data.draw(st.lists(st.integers(0, len(flat) - 1), max_size=8))
    cut = data.draw(st.integers(0, len(numbers)))
    other = packed.take(np.array(numbers, np.int64), np.array([0, cut, len(numbers)]), ["x", "y"])
    assert sentences_of(other) == [[flat[i] for i in numbers[:cut]], [flat[i] for i in numbers[cut:]]]


@given(people, st.integers(1, 5), st.integers(1, 3), st.data())
def test_rows_read_back_are_the_sentences(text, width, batches, data):
    packed = packed_from(text)
    flat = [s for person in sentences_of(packed) for s in person]
    if not flat:
        return
    number = st.integers(-1, len(flat) - 1)
    chosen = np.array(
        data.draw(
            st.lists(st.lists(number, min_size=width, max_size=width), min_size=batches, max_size=batches)
        )
    )
    rows, owner = batch_rows(packed, chosen)
    assert rows.inputs.shape == rows.targets.shape == owner.shape
    assert rows.inputs.shape[:-2] == (batches,)
    assert rows.inputs.dtype == rows.targets.dtype == np.int32
    np.testing.assert_array_equal(owner >= 0, rows.targets >= 0)
    for b in range(batches):
        found = {}
        for r in range(rows.inputs.shape[1]):
            before = -1
            for t in range(rows.inputs.shape[2]):
                place_, x, y = int(owner[b, r, t]), int(rows.inputs[b, r, t]), int(rows.targets[b, r, t])
                if place_ < 0:
                    assert x == 0  # an empty cell forgets, like a start
                    before = -1
                    continue
                if place_ != before:
                    assert place_ not in found and x == 0  # a sentence lies in one piece, opened by <s>
                    found[place_] = [0]
                assert x == found[place_][-1]
                found[place_].append(y)
                before = place_
        wanted = {place_: flat[i] for place_, i in enumerate(chosen[b].tolist()) if i >= 0}
        assert found == wanted


def test_more_axes_and_nobody_at_all():
    packed = packed_from([[[5], [6, 7]]])
    rows, _ = batch_rows(packed, np.array([[[0, 1], [-1, -1]], [[1, 1], [0, -1]]]))
    assert rows.inputs.shape[:2] == (2, 2)
    assert (rows.targets[0, 1] == -1).all()
    rows, owner = batch_rows(packed, np.full((2, 3), -1))
    assert (rows.targets == -1).all() and (owner == -1).all()
    rows, owner = batch_rows(packed_from([[]]), np.full((2, 3), -1))  # and of people without a word
    assert (rows.targets == -1).all() and rows.targets.shape[0] == 2


def test_a_row_too_short_is_refused_and_not_written_over_its_neighbour():
    packed = packed_from([[[5, 6, 7, 8], [6]]])
    with pytest.raises(ValueError, match="time"):
        batch_rows(packed, np.array([[0, 1]]), time=4)
    with pytest.raises(ValueError, match="rows"):
        batch_rows(packed, np.array([[0, 0, 0], [1, -1, -1]]), time=5, rows=2)


@given(
    st.lists(st.lists(st.integers(0, 8), min_size=4, max_size=4), min_size=1, max_size=4), st.integers(8, 12)
)
def test_place_never_overfills_a_row_and_wastes_little(lengths, time):
    lengths = np.array(lengths)
    row, column, needed = place(lengths, time)
    for b in range(len(lengths)):
        used: dict[int, list[tuple[int, int]]] = {}
        for s, length in enumerate(lengths[b]):
            if length:
                used.setdefault(int(row[b, s]), []).append((int(column[b, s]), int(column[b, s] + length)))
        for spans in used.values():
            spans.sort()
            assert spans[0][0] == 0 and spans[-1][1] <= time
            assert all(a[1] == b_[0] for a, b_ in itertools.pairwise(spans))  # no gap, no overlap
        assert len(used) == needed[b]
        full = [spans[-1][1] for spans in used.values()]
        assert sum(x <= time / 2 for x in full) <= 1  # first fit: two half-empty rows would have been one


@given(st.integers(1, 100_000))
def test_bucket_bounds(n):
    b = bucket(n)
    assert n <= b <= max(n, (n - 1) * 3 / 2 + 1)
    assert bucket(b) == b
    assert b & (b - 1) == 0 or (b % 3 == 0 and (b // 3) & (b // 3 - 1) == 0)


def test_few_buckets():
    assert len({bucket(n) for n in range(1, 1025)}) == 20
    assert bucket(0) == 1
