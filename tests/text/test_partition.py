"""Partitions: nothing lost, nothing doubled, nobody empty; and each has the skew its name promises."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.base.errors import TacitError
from tacit.text import partition


def whole(p, n, clients):
    assert p.order.dtype == p.offsets.dtype == np.int64
    assert sorted(p.order.tolist()) == list(range(n))
    assert len(p.offsets) == clients + 1
    assert p.offsets[0] == 0
    assert p.offsets[-1] == n
    assert np.all(np.diff(p.offsets) >= 1)


labels_and_clients = st.lists(st.integers(-3, 5), min_size=1, max_size=80).flatmap(
    lambda xs: st.tuples(st.just(np.array(xs)), st.integers(1, len(xs)), st.integers(0, 2**32))
)


@given(labels_and_clients, st.floats(1e-6, 1e6), st.floats(0, 100), st.integers(1, 5))
def test_every_way_of_dealing_is_whole(drawn, alpha, sigma, pieces):
    labels, clients, seed = drawn
    n = len(labels)
    rng = np.random.default_rng(seed)
    whole(partition.iid(n, clients, rng), n, clients)
    whole(partition.shards(labels, clients, pieces, rng=rng), n, clients)
    whole(partition.dirichlet(labels, clients, alpha, rng), n, clients)
    whole(partition.quantity(n, clients, sigma, rng), n, clients)


def test_iid_sizes_within_one():
    sizes = np.diff(partition.iid(1003, 10, np.random.default_rng(0)).offsets)
    assert sizes.max() - sizes.min() <= 1


def test_shards_is_mcmahans_split():
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(10), 6000))
    p = partition.shards(labels, 100, 2, rng=np.random.default_rng(1))
    assert np.all(np.diff(p.offsets) == 600)
    kinds = [len(set(labels[p.client(k)].tolist())) for k in range(100)]
    assert max(kinds) == 2
    # 20 shards of each digit: a shard never holds two, since 6000 is a multiple of 300.
    held = np.array([[np.sum(labels[p.client(k)] == d) for d in range(10)] for k in range(100)])
    assert set(np.unique(held)) <= {0, 300, 600}
    one = partition.shards(np.zeros(100, int), 10, 1, rng=np.random.default_rng(2))
    assert max(np.ptp(one.client(k)) for k in range(10)) > 9  # no runs of neighbours: a shard is drawn, too


def test_dirichlet_goes_from_one_label_each_to_all_alike():
    labels = np.repeat(np.arange(10), 1000)

    def top_share(alpha):
        p = partition.dirichlet(labels, 10, alpha, np.random.default_rng(3))
        tops = [np.bincount(labels[p.client(k)]).max() / len(p.client(k)) for k in range(10)]
        return np.mean(tops)

    assert top_share(1e6) < 0.11
    assert 0.15 < top_share(1.0) < 0.5
    assert top_share(0.01) > 0.7


def test_quantity_is_log_normal():
    sizes = np.diff(partition.quantity(1_000_000, 2000, 1.0, np.random.default_rng(0)).offsets)
    assert np.std(np.log(sizes)) == pytest.approx(1.0, abs=0.06)
    equal = np.diff(partition.quantity(1001, 10, 0.0, np.random.default_rng(0)).offsets)
    assert equal.max() - equal.min() <= 1


def test_what_rounding_leaves_goes_to_the_largest_remainders():
    sizes = np.diff(partition.quantity(103, 7, 1.0, np.random.default_rng(4)).offsets)
    weights = np.exp(np.random.default_rng(4).standard_normal(7))
    exact = weights / weights.sum() * (103 - 7)  # beside the one that each has
    up = sizes - 1 > exact
    assert 0 < up.sum() < 7 and (exact % 1)[up].min() > (exact % 1)[~up].max()


def test_same_seed_same_partition():
    labels = np.arange(100) % 7
    for make in (
        lambda r: partition.iid(100, 9, r),
        lambda r: partition.shards(labels, 9, rng=r),
        lambda r: partition.dirichlet(labels, 9, 0.3, r),
        lambda r: partition.quantity(100, 9, 1.0, r),
    ):
        a, b = make(np.random.default_rng(5)), make(np.random.default_rng(5))
        assert np.array_equal(a.order, b.order)
        assert np.array_equal(a.offsets, b.offsets)


@pytest.mark.parametrize("clients", [0, -1, 2.5, True, 11])
def test_bad_clients(clients):
    rng, labels = np.random.default_rng(0), np.zeros(10, int)
    for call in (
        lambda: partition.iid(10, clients, rng),
        lambda: partition.shards(labels, clients, rng=rng),
        lambda: partition.dirichlet(labels, clients, 1.0, rng),
        lambda: partition.quantity(10, clients, 1.0, rng),
    ):
        with pytest.raises(TacitError, match=r"partition\.clients"):
            call()


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_bad_alpha_and_sigma(value):
    rng = np.random.default_rng(0)
    with pytest.raises(TacitError, match=r"partition\.alpha"):
        partition.dirichlet(np.zeros(10, int), 2, value, rng)
    with pytest.raises(TacitError, match=r"partition\.sigma"):
        partition.quantity(10, 2, value, rng)
    with pytest.raises(TacitError, match=r"partition\.alpha"):
        partition.dirichlet(np.zeros(10, int), 2, 0.0, rng)


def test_bad_shards_and_labels():
    rng = np.random.default_rng(0)
    with pytest.raises(TacitError, match=r"partition\.shards"):
        partition.shards(np.zeros(10, int), 2, 0, rng=rng)
    with pytest.raises(TacitError, match="one whole number per example"):
        partition.dirichlet(np.zeros(10), 2, 1.0, rng)
    with pytest.raises(TacitError, match="one whole number per example"):
        partition.dirichlet(np.zeros((2, 2), int), 2, 1.0, rng)
