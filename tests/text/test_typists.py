"""The built-in typists: deterministic, lazy, varied, and different from one another as the knobs say."""

from __future__ import annotations

import doctest
import math
import re
import subprocess
import sys
from collections import Counter
from datetime import date
from itertools import pairwise

import numpy as np
import pytest

from tacit.base.errors import TacitError
from tacit.text import typists as package
from tacit.text.population import Population
from tacit.text.tokens import tokenize
from tacit.text.typists import Typists, TypistsConfig, morphology, people, zipf

ALIKE = {
    "feature_skew": 0.0,
    "label_skew": 0.0,
    "concept_drift": 0.0,
    "concept_shift": 0.0,
    "quantity_skew": 0.0,
}


def tokens(text: str) -> list[str]:
    return tokenize(text.lower())


@pytest.fixture(scope="module")
def texts() -> list[list[list[str]]]:
    """[people][messages][tokens] of the default population's first 200 people."""
    population = Typists()
    return [[tokens(m.text) for m in population.messages(k)] for k in range(200)]


def test_is_a_population():
    population: Population = Typists(TypistsConfig(users=3))
    assert len(population) == 3
    assert population.user(2) == "typist-000002"
    with pytest.raises(TacitError, match="no typist 3"):
        population.messages(3)


def test_same_text_in_any_order_and_process():
    config = TypistsConfig(users=20, messages=12, seed=5)
    forwards = [Typists(config).messages(k) for k in range(6)]
    one = Typists(config)
    assert [one.messages(k) for k in reversed(range(6))] == forwards[::-1]
    assert Typists(TypistsConfig(users=20, messages=12, seed=6)).messages(0) != forwards[0]
    code = (
        "from tacit.text.typists import *;"
        "print(ascii(Typists(TypistsConfig(users=20, messages=12, seed=5)).messages(3)[-1].text))"
    )
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == ascii(forwards[3][-1].text)


def test_a_person_does_not_depend_on_how_many_others_there_are():
    small, large = (Typists(TypistsConfig(users=n, messages=10)) for n in (5, 500))
    assert small.messages(4) == large.messages(4)


def test_a_million_people_cost_nothing_until_visited(monkeypatch):
    monkeypatch.setattr(Typists, "messages", lambda self, k: pytest.fail("somebody was visited"))
    population = Typists(TypistsConfig(users=1_000_000))
    sizes = population.sizes()
    monkeypatch.undo()
    assert sizes.shape == (1_000_000,) and sizes.dtype == np.int64
    assert np.median(sizes) == pytest.approx(150, rel=0.01)
    assert len(population.messages(999_999)) == sizes[999_999]


def test_sizes_are_the_numbers_of_messages():
    population = Typists(TypistsConfig(users=12, messages=9, quantity_skew=1.0, seed=2))
    assert [len(population.messages(k)) for k in range(12)] == population.sizes().tolist()


def test_times_increase():
    for k in range(5):
        times = [m.time for m in Typists().messages(k)]
        assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", t) for t in times)
        assert all(a < b for a, b in pairwise(times))


def test_text_is_clean():
    for k in range(20):
        for message in Typists().messages(k):
            assert message.topic and message.text.strip() == message.text
            assert not re.search(r"[{}\[\]|_/]|  |^[,.]", message.text), message.text


def test_vocabulary_is_large_and_zipf_like(texts):
    counts = Counter(w for person in texts for message in person for w in message if w[0].isalpha())
    assert len(counts) > 5000
    ranked = np.array(sorted(counts.values(), reverse=True), dtype=float)
    ranks = np.arange(1, len(ranked) + 1)
    slope = np.polyfit(np.log(ranks[:2000]), np.log(ranked[:2000]), 1)[0]
    assert -1.4 < slope < -0.7


def test_lengths(texts):
    lengths = np.array([len(message) for person in texts for message in person])
    assert 6 <= lengths.mean() <= 11
    assert (lengths <= 3).mean() > 0.04
    assert 0.005 < (lengths >= 25).mean() < 0.05


def test_most_messages_of_new_people_are_unseen(texts):
    seen = {tuple(message) for person in texts[:160] for message in person}
    new = [tuple(message) not in seen for person in texts[160:] for message in person]
    assert np.mean(new) >= 0.9


def test_mornings_and_weekdays_show():
    messages = [m for k in range(60) for m in Typists(TypistsConfig(**ALIKE)).messages(k)]
    early = [m for m in messages if 5 <= int(m.time[11:13]) < 11]
    rest = [m for m in messages if int(m.time[11:13]) >= 11]

    def share(some, phrase):
        return np.mean([phrase in m.text.lower() for m in some])

    assert share(early, "good morning") > 5 * share(rest, "good morning")
    weekend = [m.topic for m in messages if date.fromisoformat(m.time[:10]).weekday() > 4]
    week = [m.topic for m in messages if date.fromisoformat(m.time[:10]).weekday() < 5]
    assert week.count("work") / len(week) > 1.2 * weekend.count("work") / len(weekend)


# --- the knobs ------------------------------------------------------------------------------------


def overdispersion(counts: np.ndarray) -> float:
    """Chi-square by degrees of freedom of a [people, options] table: 1 if people are alike."""
    counts = counts[counts.sum(1) > 0][:, counts.sum(0) > 0]
    expected = counts.sum(1, keepdims=True) * counts.sum(0, keepdims=True) / counts.sum()
    return float(
        ((counts - expected) ** 2 / expected).sum() / ((counts.shape[0] - 1) * (counts.shape[1] - 1))
    )


def openings(messages):
    """How a message is written: whether it starts with a capital. P(x)."""
    return [str(m.text[0].isupper()) for m in messages if m.text[0].isalpha()]


def topics(messages):
    """What it is about, one message of each conversation or so. P(y)."""
    return [m.topic for m in messages[::5]]


WORDINGS = (
    r"\b(fancy|shall we|how about|up for|why don|free to|down to|would you like|any chance|can you|could you)"
)


def wordings(messages):
    """In which words the same thing is proposed. P(x|y)."""
    return [found for m in messages for found in re.findall(WORDINGS, m.text.lower())]


def continuations(messages):
    """What follows "see you" and which emphasis precedes an adjective. P(y|x)."""
    pattern = (
        r"\b(?:was|were|is|are) (so|really|very|pretty|quite|super|a bit|absolutely|totally|too|actually)\b"
    )
    return [found for m in messages for found in re.findall(pattern, m.text.lower())]


def measured(knob: str, value: float, measure) -> float:
    population = Typists(TypistsConfig(users=30, messages=220, **{**ALIKE, knob: value}))
    counted = [Counter(measure(population.messages(k))) for k in range(30)]
    options = sorted(set().union(*counted))
    return overdispersion(np.array([[c[o] for o in options] for c in counted], dtype=float))


@pytest.mark.parametrize(
    ("knob", "measure"),
    [
        ("feature_skew", openings),
        ("label_skew", topics),
        ("concept_drift", wordings),
        ("concept_shift", continuations),
    ],
)
def test_each_knob_moves_its_own_difference(knob, measure):
    none, some, much = (measured(knob, value, measure) for value in (0.0, 0.4, 0.9))
    assert none < 1.35
    assert some > none + 0.25
    assert much > some + 0.5


def test_quantity_skew_spreads_the_amounts():
    spreads = [
        float(np.log(Typists(TypistsConfig(users=2000, quantity_skew=s)).sizes()).std())
        for s in (0.0, 0.3, 0.6)
    ]
    assert spreads[0] == 0.0
    assert spreads[1] == pytest.approx(1.6 * 0.3, rel=0.1) and spreads[2] == pytest.approx(1.6 * 0.6, rel=0.1)


def test_urn_has_the_dirichlet_moment():
    # for p_i ~ Dirichlet(a p), two choices of a person agree with probability (1 + a sum p^2) / (1 + a)
    options = zipf.weighted(["x", "y", "z"], [5, 3, 2])
    agree = []
    for i in range(4000):
        person = people.Person(f"someone {i}", {"label": 2.0})
        agree.append(person.pick("label", "k", options) == person.pick("label", "k", options))
    assert np.mean(agree) == pytest.approx((1 + 2.0 * 0.38) / 3.0, abs=0.025)


def gain_of_a_personal_model(config: TypistsConfig) -> float:
    """Nats per token one's own earlier word counts save on one's later messages (unigrams, mixed 0.3)."""
    population = Typists(config)
    everyone = [[tokens(m.text) for m in population.messages(k)] for k in range(config.users)]
    earlier = [Counter(w for message in p[: len(p) * 4 // 5] for w in message) for p in everyone]
    common: Counter[str] = sum(earlier, Counter())
    total = sum(common.values()) + len(common)
    saved = []
    for own, person in zip(earlier, everyone, strict=True):
        size = sum(own.values())
        for message in person[len(person) * 4 // 5 :]:
            for w in message:
                shared = (common[w] + 1) / total
                saved.append(math.log(0.3 * own[w] / size + 0.7 * shared) - math.log(shared))
    return float(np.mean(saved))


def test_people_differ_in_ways_their_own_past_teaches():
    different = gain_of_a_personal_model(TypistsConfig(users=50, messages=120))
    alike = gain_of_a_personal_model(TypistsConfig(users=50, messages=120, **ALIKE))
    assert different > 0.2
    assert alike < 0.25 * different


# --- bad values and small parts -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("users", 0),
        ("messages", 0),
        ("feature_skew", -0.1),
        ("label_skew", 1.1),
        ("quantity_skew", float("nan")),
    ],
)
def test_bad_values_name_the_key(key, value):
    with pytest.raises(TacitError, match=rf"typists\.{key} is {value}; it must"):
        TypistsConfig(**{key: value})


@pytest.mark.parametrize("module", [package, morphology, zipf])
def test_examples(module):
    assert doctest.testmod(module).failed == 0


def test_inflection():
    expect = """
        bake ing baking, stop past stopped, see ing seeing, dye ing dyeing, catch s catches, carry s carries,
        play past played, go pp gone, be s is, lie ing lying, lift ing lifting, agree past agreed
    """
    for verb, form, answer in (line.split() for line in expect.split(",")):
        assert morphology.inflect(verb, form) == answer
    nouns = ["baby", "toy", "watch", "flat white", "bus", "foot"]
    assert [morphology.plural(n) for n in nouns] == [
        "babies",
        "toys",
        "watches",
        "flat whites",
        "buses",
        "feet",
    ]
    assert [morphology.compared(a, "er") for a in ("big", "nice", "easy")] == ["bigger", "nicer", "easier"]
