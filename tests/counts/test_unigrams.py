"""Federated counts against a plain loop over clients, and the diagnostics against the formula as printed."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.base.errors import TacitError
from tacit.counts import whitelist
from tacit.counts.convergence import compared_at, halves, rounds_between_new, z_statistic
from tacit.counts.unigrams import (
    Tally,
    chosen_words,
    clipped_counts,
    counting,
    linear_loss,
    tally,
    whole_counts,
)
from tacit.federated.aggregation import is_plain_sum, total
from tacit.federated.sampling import SamplingConfig, choose
from tacit.text.packed import Packed, pack
from tacit.text.vocabulary import BOS, EOS, UNK

LIMITS = (1.0, 3.0, 20.0, math.inf)
V = 12


def people(seed: int, count: int = 9) -> Packed:
    """Clients of very different size; about a third of what they type is outside the whitelist."""
    draw = np.random.default_rng(seed)
    text = []
    for _ in range(count):
        sentences = [
            np.array([BOS, *draw.choice([UNK, UNK, *range(3, V)], int(draw.integers(0, 9))), EOS])
            for _ in range(int(draw.integers(1, 2 ** int(draw.integers(1, 6)))))
        ]
        text.append(sentences)
    return pack(text, [f"p{i}" for i in range(count)])


def raw_counts(text: Packed, client: int) -> Counter[int]:
    mine = text.gather(np.array([client])).tokens.tolist()
    return Counter(token for token in mine if token > UNK)


def by_hand(text: Packed, clients: list[int], limit: float) -> list[float]:
    """U = Σ_i w_i C_i with w_i = λ / max(λ, Σ C_i), word by word and client by client."""
    u = [0.0] * V
    for client in clients:
        c = raw_counts(text, client)
        w = 1.0 if math.isinf(limit) else limit / max(limit, sum(c.values()))
        for word, n in c.items():
            u[word] += w * n
    return u


@pytest.mark.parametrize("executor", ["map", "vmap", "slow"])
def test_rounds_are_those_of_a_loop_over_clients(executor: str) -> None:
    text, sampling = people(1), SamplingConfig(clients=5, dropout=0.3)
    count = counting(text, V, LIMITS, sampling, seed=4, executor=executor)  # type: ignore[arg-type]
    asked = set()
    for t in range(3):
        chosen = choose(sampling, text.sizes, 4, t)
        reported = chosen.ids[chosen.present].tolist()
        asked |= set(reported)
        found = count(t)
        assert (found.clients, found.dropped) == (len(reported), 5 - len(reported))
        for row, limit in zip(found.counts, LIMITS, strict=True):
            np.testing.assert_allclose(row, by_hand(text, reported, limit), rtol=1e-6)
        assert found.counts[-1].tolist() == by_hand(text, reported, math.inf)  # whole numbers are exact
    assert len(asked) > 5  # another cohort each round


def test_a_round_depends_on_seed_and_number_alone() -> None:
    text = people(2)

    def rounds(order: list[int], seed: int) -> dict[int, bytes]:
        count = counting(text, V, LIMITS, SamplingConfig(clients=4), seed)
        return {t: count(t).counts.tobytes() for t in order}

    assert rounds([0, 1, 2], 7) == rounds([2, 0, 1], 7)
    assert rounds([0, 1, 2], 7) != rounds([0, 1, 2], 8)


@settings(max_examples=25)
@given(seed=st.integers(0, 9999), limit=st.sampled_from([0.5, 1.0, 7.0, 1e6, math.inf]))
def test_the_message_is_the_clipped_count(seed: int, limit: float) -> None:
    text = people(seed, count=1)
    c = np.array([raw_counts(text, 0)[i] for i in range(V)], np.float32)
    said = clipped_counts([limit]).message(None, jnp.asarray(c), jnp.float32(3.0))
    assert is_plain_sum(said)
    np.testing.assert_allclose(said[0], by_hand(text, [0], limit), rtol=1e-6)
    assert float(said.sum()) <= min(limit, c.sum()) * (1 + 1e-6)


def test_lambda_one_weighs_everybody_alike_and_infinity_gives_true_counts() -> None:
    text = people(3)
    everybody = counting(text, V, (1.0, math.inf), SamplingConfig(clients=9), seed=0)(0).counts
    shares = np.zeros(V)
    for client in range(9):
        c = raw_counts(text, client)
        for word, n in c.items():
            shares[word] += n / sum(c.values())
    np.testing.assert_allclose(everybody[0], shares, rtol=1e-6)
    np.testing.assert_array_equal(everybody[1], np.bincount(text.tokens, minlength=V) * (np.arange(V) > UNK))


def test_the_sum_does_not_depend_on_the_order_of_clients() -> None:
    text = people(4)
    messages = [
        clipped_counts(LIMITS).message(
            None, jnp.array([float(raw_counts(text, c)[i]) for i in range(V)]), None
        )
        for c in range(9)
    ]
    forth, back = total(jnp.stack(messages)), total(jnp.stack(messages[::-1]))
    np.testing.assert_allclose(forth, back, rtol=1e-6)
    np.testing.assert_array_equal(forth[-1], back[-1])
    shuffled = text.gather(np.array([5, 0, 8, 2, 7, 1, 6, 4, 3]))
    sampling = SamplingConfig(clients=9)
    one, other = (counting(t, V, LIMITS, sampling, seed=0)(0).counts for t in (text, shuffled))
    np.testing.assert_allclose(one, other, rtol=1e-6)


def test_words_outside_the_whitelist_never_leave_the_client() -> None:
    """The secret word is typed most of all; two texts that differ in it alone say the same."""
    secret = pack([[np.array([BOS, 3, UNK, UNK, UNK, 4, UNK, EOS])]], ["a"])
    clean = pack([[np.array([BOS, 3, 4, EOS])]], ["a"])
    said = [counting(t, V, LIMITS, SamplingConfig(clients=1), seed=0)(0).counts for t in (secret, clean)]
    np.testing.assert_array_equal(said[0], said[1])
    assert not said[0][:, : UNK + 1].any() and said[0].shape == (len(LIMITS), V)
    held = tally(secret, V)
    assert held.words.tolist() == [3, 4] and held.counts.tolist() == [1, 1]


def test_counting_is_training_at_rate_one() -> None:
    batch = Tally(jnp.array([3, 5, 0]), jnp.array([2.0, 1.0, 0.0]))
    gradient = jax.grad(lambda w: linear_loss(w, batch, None)[0])(jnp.zeros(V))
    assert (-gradient).tolist() == [0, 0, 0, 2, 0, 1, 0, 0, 0, 0, 0, 0]


def test_no_count_is_lost_over_many_rounds() -> None:
    """In float32 a sum of 2²⁴ takes no further 1; the server adds in float64."""
    from tacit.counts.counted import collect
    from tacit.counts.unigrams import Round

    big = np.zeros((1, V))
    big[0, 3] = 2.0**24
    small = np.zeros((1, V))
    small[0, 3] = 1
    totals, _ = collect(
        lambda t: Round(small if t % 2 else big, 1, 0), [math.inf], V, 6, lambda done, words: None
    )
    assert totals[0, 3] == 3 * (2**24 + 1)


def test_sums_too_large_for_float32_are_refused() -> None:
    text = pack([[np.array([BOS, *[3] * 40, EOS])]] * 3, list("abc"))
    import tacit.counts.unigrams as unigrams

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unigrams, "_EXACT", 100)
        count = counting(text, V, [math.inf], SamplingConfig(clients=3), seed=0)
        with pytest.raises(TacitError, match="word 3 was counted 120 times in round 1"):
            count(0)
        patch.setattr(unigrams, "_EXACT", 40)
        with pytest.raises(TacitError, match="one client has 40 words"):
            counting(text, V, [1.0], SamplingConfig(clients=3), seed=0)(0)


@pytest.mark.parametrize(
    ("limits", "sampling", "why"),
    [
        ([0.0], SamplingConfig(clients=2), "λ is 0"),
        ([-1.0], SamplingConfig(clients=2), "λ is -1"),
        ([math.nan], SamplingConfig(clients=2), "λ is nan"),
        ([], SamplingConfig(clients=2), "no λ"),
        ([1.0], SamplingConfig(clients=10), "more than the population of 9"),
        ([1.0], SamplingConfig(clients=2, scheme="II"), "'uniform'"),
    ],
)
def test_what_cannot_be_counted_is_refused(limits: list[float], sampling: SamplingConfig, why: str) -> None:
    with pytest.raises(TacitError, match=why):
        counting(people(0), V, limits, sampling, seed=0)


def test_a_round_nobody_reports_in_is_empty() -> None:
    text = people(5)
    sampling = SamplingConfig(clients=1, dropout=0.99)
    found = [counting(text, V, LIMITS, sampling, seed=0)(t) for t in range(4)]
    assert sum(r.clients for r in found) < 4  # one of them at least stayed away
    for r in found:
        assert r.clients or not r.counts.any()


def literal_z(x: list[float], y: list[float]) -> float:
    m1, m2, z = sum(x), sum(y), 0.0
    for a, b in zip(x, y, strict=True):
        if a + b == 0:
            continue
        z += ((m2 * a - m1 * b) ** 2 - (m2**2 * a + m1**2 * b)) / (a + b)
    return z


@given(
    st.lists(
        st.tuples(st.integers(0, 400).map(lambda n: n / 4), st.integers(0, 400).map(lambda n: n / 4)),
        min_size=1,
        max_size=20,
    )
)
def test_z_is_the_formula(pairs: list[tuple[float, float]]) -> None:
    x, y = (np.array(column) for column in zip(*pairs, strict=True))
    expected = literal_z(x.tolist(), y.tolist()) if x.any() and y.any() else 0.0
    assert z_statistic(x, y).statistic == pytest.approx(
        expected, rel=1e-9, abs=1e-6 * (x.sum() + y.sum()) ** 2
    )
    both = halves(x, x + y)
    if x.any() and y.any():
        assert both["disjoint"].statistic == pytest.approx(z_statistic(x, y).statistic, rel=1e-9, abs=1e-3)
        assert both["nested"].statistic == pytest.approx(
            literal_z(x.tolist(), (x + y).tolist()), rel=1e-9, abs=1e-3
        )


def test_z_is_unbiased_on_disjoint_samples_and_below_zero_on_nested_ones() -> None:
    draw = np.random.default_rng(0)
    p = 1 / np.arange(1, 201)
    p /= p.sum()
    found: dict[str, list[float]] = {"nested": [], "disjoint": []}
    for _ in range(300):
        first, second = draw.poisson(4000 * p).astype(float), draw.poisson(4000 * p).astype(float)
        for which, z in halves(first, first + second).items():
            found[which].append(z.distance)
    for which, low, high in (("disjoint", -3, 3), ("nested", -math.inf, -20)):
        spread = np.std(found[which]) / math.sqrt(300)
        assert low < np.mean(found[which]) / spread < high, which


def test_the_distance_is_the_chi_squared_distance() -> None:
    """For samples of two distributions, large enough that chance does not matter."""
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.4, 0.3, 0.3])
    m1, m2 = 3e6, 1e6
    mixture = (m1 * p + m2 * q) / (m1 + m2)
    assert z_statistic(m1 * p, m2 * q).distance == pytest.approx(np.sum((p - q) ** 2 / mixture), rel=1e-3)


@given(st.lists(st.integers(0, 2), min_size=1, max_size=40), st.integers(1, 12))
def test_rounds_between_new_words_is_a_mean_over_the_window(new: list[int], window: int) -> None:
    found = rounds_between_new(np.array(new), window)
    for k in range(1, len(new) + 1):
        last = new[max(0, k - window) : k]
        hits = sum(n > 0 for n in last)
        assert found[k - 1] == (len(last) / hits if hits else math.inf)


def test_rounds_to_compare_are_even_few_and_end_with_the_last() -> None:
    for rounds in (1, 2, 3, 50, 999, 3000):
        found = compared_at(rounds, most=20)
        assert len(found) <= 20 and all(k % 2 == 0 and 0 < k <= rounds for k in found)
        assert found == sorted(set(found)) and (rounds < 2 or found[-1] == rounds - rounds % 2)


def test_the_commonest_words_never_include_an_unseen_one() -> None:
    counts = np.array([0, 0, 0, 1.5, 0, 9, 9])
    assert chosen_words(counts, 2).tolist() == [5, 6] and chosen_words(counts, 9).tolist() == [5, 6, 3]


@given(st.lists(st.floats(1e-7, 1e7), min_size=1, max_size=20))
def test_whole_counts_keep_their_proportions(counts: list[float]) -> None:
    whole, scale = whole_counts(np.array(counts))
    assert whole.min() >= 1
    np.testing.assert_allclose(whole / scale, counts, rtol=0.05)


class TestWhitelist:
    def test_a_file(self, tmp_path: Path) -> None:
        file = tmp_path / "words.txt"
        file.write_text("The\n\nyork\t12\nthe\n<unk>\n#\n", "utf-8")
        assert whitelist.read(file).words[3:] == ("the", "york", "#")

    def test_a_vocabulary_of_tacit(self, tmp_path: Path) -> None:
        whitelist.of_words(["b", "a"]).save(tmp_path / "vocabulary.txt")
        assert whitelist.read(tmp_path / "vocabulary.txt").words[3:] == ("b", "a")

    @pytest.mark.parametrize(
        ("content", "why"),
        [
            (b"new\nnew york\n", "line 2: 'new york' is not one word"),
            (b"\n \n", "is empty"),
            (b"<s>\n", "is empty"),
            (b"ok\n\xff\n", "byte 3 is not UTF-8"),
        ],
    )
    def test_bad_files(self, tmp_path: Path, content: bytes, why: str) -> None:
        file = tmp_path / "words.txt"
        file.write_bytes(content)
        with pytest.raises(TacitError, match=why):
            whitelist.read(file)

    def test_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(TacitError, match="No such file"):
            whitelist.read(tmp_path / "none.txt")

    def test_more_words_than_there_are(self) -> None:
        with pytest.raises(TacitError, match="has only 1 different words"):
            whitelist.commonest(Counter({"a": 2, "<unk>": 5}), 2, "demo")
