"""Batches of like numbers of words: nothing lost, nothing doubled, nothing that does not fit, little waste."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.federated.batching import Grid, balanced_work, grid
from tacit.federated.client_config import ClientConfig
from tacit.text.packed import Packed, batch_rows, pack


def people(sizes: list[int], seed: int = 0, longest: int = 12) -> Packed:
    draw = np.random.default_rng(seed)
    lengths = [[int(draw.integers(1, longest)) for _ in range(n)] for n in sizes]
    text = [[np.array([0, *draw.integers(3, 50, n - 1), 1], np.int32) for n in mine] for mine in lengths]
    return pack(text, [str(k) for k in range(len(sizes))])


def chosen(work, c: int) -> list[int]:
    flat = work.schedule[c][: work.steps[c]].ravel()
    return sorted(flat[flat >= 0].tolist())


@given(
    st.lists(st.integers(1, 30), min_size=1, max_size=5),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(0, 5),
    st.integers(0, 99),
)
def test_every_sentence_once_an_epoch_and_every_batch_fits(sizes, epochs, rows, most, seed):
    text, shape = people(sizes, seed), Grid(rows, 12)
    client = ClientConfig(epochs=epochs, max_examples=most)
    work = balanced_work(text, np.arange(len(sizes)) + 7, client, seed, 1, shape)
    for c, n in enumerate(sizes):
        used = min(n, most) if most else n
        seen, counts = np.unique(chosen(work, c), return_counts=True)
        assert len(seen) == used and (counts == epochs).all() and seen.max() < n
        real = (work.schedule[c][: work.steps[c]] >= 0).any(axis=1)
        assert (
            real.all() and (work.schedule[c][work.steps[c] :] == -1).all()
        )  # no empty step, none after the last
    sentences = np.where(work.schedule >= 0, work.schedule + text.owners[:-1, None, None], -1)
    batch_rows(text, sentences, shape.time, shape.rows)  # raises where a batch does not fit


def test_a_client_does_alone_what_it_does_in_a_crowd():
    text, shape = people([9, 25, 4, 17]), Grid(2, 12)
    ids, client = np.array([3, 11, 12, 40]), ClientConfig(epochs=2, max_examples=15)
    crowd = balanced_work(text, ids, client, 5, 3, shape)
    for c in range(4):
        alone = balanced_work(text.gather(np.array([c])), ids[c : c + 1], client, 5, 3, shape)
        assert alone.steps[0] == crowd.steps[c]
        ours, theirs = crowd.schedule[c], alone.schedule[0]
        for i in range(alone.steps[0]):
            assert ours[i][ours[i] >= 0].tolist() == theirs[i][theirs[i] >= 0].tolist()
    other = balanced_work(text, ids, client, 5, 4, shape)
    assert not np.array_equal(crowd.schedule[1], other.schedule[1])  # another round, another deal


def test_every_epoch_is_dealt_anew():
    work = balanced_work(people([60]), np.arange(1), ClientConfig(epochs=2), 0, 0, Grid(2, 12))
    batches = [frozenset(batch[batch >= 0].tolist()) for batch in work.schedule[0, : work.steps[0]]]
    assert len(set(batches)) > 0.8 * len(batches)


def test_a_grid_leaves_a_tenth_of_its_cells_free():
    assert grid(np.full(100, 8), batch=10) == Grid(rows=11, time=8)
    assert grid(np.full(100, 8), batch=10, longest=12) == Grid(rows=7, time=12)


@pytest.mark.parametrize("batch", [5, 10, 20])
def test_little_is_wasted_and_batches_have_about_the_size_asked_for(batch):
    text = people([60, 150, 90, 200], longest=24)
    shape = grid(text.lengths, batch)
    work = balanced_work(text, np.arange(4), ClientConfig(batch=batch), 0, 0, shape)
    assert text.lengths.sum() / (work.steps.sum() * shape.rows * shape.time) > 0.75
    assert 0.6 * batch < len(text.lengths) / work.steps.sum() < 1.6 * batch


def test_stragglers_stop_early():
    text = people([40] * 50)
    full = balanced_work(text, np.arange(50), ClientConfig(), 0, 0, Grid(2, 12))
    lazy = balanced_work(text, np.arange(50), ClientConfig(stragglers=0.5), 0, 0, Grid(2, 12))
    fewer = lazy.steps < full.steps
    assert 10 < fewer.sum() < 40 and (lazy.steps >= 1).all() and (lazy.steps <= full.steps).all()
