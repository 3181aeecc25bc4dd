"""Statistics: each number against its definition, and each kind of skew seen by its own number."""

from dataclasses import asdict

import numpy as np
import pytest

from tacit.base.errors import TacitError
from tacit.text.corpus import from_messages
from tacit.text.encode import everybody
from tacit.text.population import Message
from tacit.text.statistics import describe, divergence, gini, rows


class Made:
    """A population from lists of messages."""

    name = "made"

    def __init__(self, people):
        self.people = people

    def __len__(self):
        return len(self.people)

    def user(self, k):
        return str(k)

    def messages(self, k):
        return self.people[k]

    def sizes(self):
        return np.array([len(p) for p in self.people], np.int64)


def population(write, people=60, messages=40, seed=0):
    """`write(rng, person)` makes one message's words."""
    rng = np.random.default_rng(seed)
    return Made([[Message(" ".join(write(rng, k))) for _ in range(messages)] for k in range(people)])


WORDS = [f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(200)]
ZIPF = 1 / np.arange(1, 201)
ZIPF /= ZIPF.sum()


def plain(rng, k):
    return list(rng.choice(WORDS, 8, p=ZIPF))


def skews(p):
    s = describe(p)
    return np.array([s.feature_skew, s.label_skew, s.concept_drift, s.concept_shift])


def jsd(p, q):
    """The definition, in bits."""
    m = (p + q) / 2

    def kl(a):
        return sum(x * np.log2(x / y) for x, y in zip(a, m, strict=True) if x > 0)

    return (kl(p) + kl(q)) / 2


def test_divergence_is_the_definition():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 6, 500)
    group[group == 4] = 3  # group 4 is empty
    base = np.array([0, 1, 0, 1, 1, 0])
    category = rng.integers(0, 9, 500) * (group % 3 != 0) + rng.integers(0, 2, 500)
    bits, size = divergence(group, category, base)
    for g in range(6):
        mine = np.bincount(category[group == g], minlength=12)
        all_ = np.bincount(category[base[group] == base[g]], minlength=12)
        assert size[g] == mine.sum()
        expected = jsd(mine / mine.sum(), all_ / all_.sum()) if mine.sum() else 0.0
        assert bits[g] == pytest.approx(expected, abs=1e-12)


def test_gini_is_the_mean_difference():
    x = np.random.default_rng(0).lognormal(0, 1, 50)
    assert gini(x) == pytest.approx(np.abs(x[:, None] - x).mean() / (2 * x.mean()))
    assert gini(np.array([4, 4, 4])) == 0
    assert gini(np.zeros(3)) == 0


def test_counts():
    s = describe(from_messages("demo", {"a": ["Hi there", "hi!", "ok"], "b": ["ok"], "c": []}))
    assert (s.people, s.messages, s.people_read, s.messages_read) == (3, 4, 3, 4)
    assert (s.tokens, s.word_types) == (6, 4)
    assert (s.messages_median, s.messages_max) == (1.0, 3)
    assert s.messages_p90 == pytest.approx(np.quantile([3, 1, 0], 0.9))
    assert s.message_length == 1.5
    assert s.once == 0.5  # "ok" occurs twice
    assert s.quantity_log_sd == pytest.approx(np.std(np.log([3, 1])))
    assert s.topic_skew is None


def test_unseen_share():
    same = from_messages("same", {str(k): ["hello", "bye"] for k in range(10)})
    own = from_messages("own", {str(k): [f"hello {k}", f"bye {k}"] for k in range(10)})
    assert describe(same).unseen == 0.0
    assert describe(own).unseen == 1.0
    assert (describe(same).once, describe(own).once) == (0.0, 1.0)


def test_people_alike_read_zero():
    assert np.all(np.abs(skews(population(plain))) < 0.01)


def test_people_alike_of_uneven_sizes_read_zero():
    rng = np.random.default_rng(1)
    sizes = rng.lognormal(2.5, 1, 80).astype(int) + 1
    p = Made([[Message(" ".join(plain(rng, k))) for _ in range(n)] for k, n in enumerate(sizes)])
    assert np.all(np.abs(skews(p)) < 0.02)
    assert describe(p).quantity_gini > 0.3


def test_feature_skew_is_style():
    def write(rng, k):
        words = plain(rng, k)
        return [w.upper() for w in words] if k % 3 == 0 else [*words, "!!"] if k % 3 == 1 else words

    feature, label, _, _ = skews(population(write))
    assert feature > 0.2
    assert label < feature / 3  # only the "!!" is a word


def test_label_skew_is_vocabulary():
    def write(rng, k):
        return list(rng.choice(np.roll(WORDS, 50 * (k % 4)), 8, p=ZIPF))

    feature, label, _, _ = skews(population(write))
    assert label > 0.1
    assert abs(feature) < 0.01


def test_concept_skews_see_pairs_that_marginals_do_not():
    # Everybody writes the same words equally often; which word follows which is a person's own habit.
    def write(rng, k):
        i = int(rng.integers(0, 20))
        return [f"x{chr(97 + i)}", f"y{chr(97 + (i + k % 5) % 20)}"]

    feature, label, drift, shift = skews(population(write, messages=80))
    assert min(drift, shift) > 0.1
    assert abs(feature) < 0.01
    assert abs(label) < 0.01


def test_label_skew_alone_is_not_concept_drift():
    # Topics differ in how often they are picked, and words inside a topic follow one law for everybody.
    def write(rng, k):
        topic = int(rng.random() < (0.95 if k % 2 else 0.05))
        return [f"t{topic}", *(f"t{topic}{c}" for c in rng.choice(list("abcdef"), 4))]

    _, label, drift, _ = skews(population(write))
    assert label > 0.2
    assert abs(drift) < 0.15 * label


def test_topics():
    rng = np.random.default_rng(0)
    alike = Made([[Message("x", topic=str(rng.integers(4))) for _ in range(50)] for _ in range(30)])
    apart = Made([[Message("x", topic=str(k % 4)) for _ in range(50)] for k in range(30)])
    assert abs(describe(alike).topic_skew) < 0.01
    assert describe(apart).topic_skew > 0.4


def test_topics_are_numbered_by_the_alphabet():
    """And not by who is read first: the same messages are dealt alike in whatever order they come."""
    people = Made([[Message("x", topic="sun"), Message("y", topic="cat")], [Message("z", topic="egg")]])
    assert everybody(people, lower=True).topics.tolist() == [2, 0, 1]


def test_same_seed_same_numbers_and_caps_hold():
    p = population(plain, people=50, messages=30)
    a, b = describe(p, people=10, messages=5), describe(p, people=10, messages=5)
    assert asdict(a) == asdict(b)
    assert (a.people, a.messages, a.people_read, a.messages_read) == (50, 1500, 10, 50)
    one = describe(from_messages("one", {"all": [f"line {i}" for i in range(100)]}), people=10, messages=5)
    assert one.messages_read == 50  # one person: as much is read in all
    assert (one.unseen, one.label_skew, one.concept_shift) == (None, 0.0, 0.0)


def test_rows_have_names_and_units():
    s = describe(population(plain, people=50, messages=30), people=10)
    table = dict(rows(s))
    assert table["messages"] == "1,500"
    assert table["label skew P(y), words"].endswith(" bits")
    assert "read" in table
    assert "label skew P(y), topics" not in table


@pytest.mark.parametrize("people", [{}, {"a": []}, {"a": [" "], "b": ["..."]}])
def test_tiny_populations(people):
    if not people:
        with pytest.raises(TacitError, match="has no people"):
            describe(from_messages("none", people))
    else:
        assert describe(from_messages("tiny", people)).label_skew == pytest.approx(0.0, abs=1.0)


def test_bad_caps():
    with pytest.raises(TacitError, match="at least 1"):
        describe(from_messages("x", {"a": ["b"]}), people=0)


def test_a_population_of_the_demo_s_size():
    rng = np.random.default_rng(0)
    words = rng.choice(WORDS, (400, 150, 10), p=ZIPF)
    p = Made([[Message(" ".join(m)) for m in person] for person in words])
    assert describe(p).messages_read == 60_000
