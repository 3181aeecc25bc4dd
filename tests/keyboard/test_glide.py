"""Glides: the cost against its formula, point by point, and the words that only the context can tell apart."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from key_models import flat, talk, taps_of

from tacit.base.errors import TacitError
from tacit.keyboard import glide
from tacit.keyboard.layout import QWERTY, centre
from tacit.keyboard.lexicon import build, polyline
from tacit.keyboard.measures import noise
from tacit.keyboard.parameters import DEFAULT, Glide

LETTERS = st.sampled_from("asdfghjklerio'")
WORDS = st.lists(st.text(LETTERS, min_size=1, max_size=6), min_size=1, max_size=20, unique=True)
LINE = st.lists(st.tuples(st.floats(0, 10), st.floats(0, 6)), min_size=1, max_size=8)


def walk(line: list[tuple[float, float]], count: int) -> list[tuple[float, float]]:
    """Points at equal distances, found by walking along the line with a measuring tape."""
    whole = sum(math.dist(a, b) for a, b in pairwise(line))
    found = []
    for i in range(count):
        left, at = whole * i / (count - 1), line[0]
        for a, b in pairwise(line):
            step = math.dist(a, b)
            if left <= step:
                share = left / step if step else 0.0
                at = (a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1]))
                break
            left, at = left - step, b
        found.append(at)
    return found


def formula(word: str, line: list[tuple[float, float]], rules: Glide) -> float:
    """The cost of one word as the page and the module write it; infinite if it is not looked at."""

    def form(points):
        x, y = zip(*points, strict=True)
        size = max(max(x) - min(x), max(y) - min(y), 1.0)
        return [((a - sum(x) / len(x)) / size, (b - sum(y) / len(y)) / size) for a, b in points]

    def apart(a, b):
        return sum(math.dist(p, q) for p, q in zip(a, b, strict=True)) / len(a)

    best = math.inf
    for keys in {polyline(word, True), polyline(word, False)} - {""}:
        ideal = [centre(c) for c in keys]
        ours = sum(math.dist(a, b) for a, b in pairwise(line))
        theirs = sum(math.dist(a, b) for a, b in pairwise(ideal))
        if max(ours, theirs) > rules.stretch * min(ours, theirs) + rules.slack:
            continue
        if math.dist(line[0], ideal[0]) > rules.reach or math.dist(line[-1], ideal[-1]) > rules.reach:
            continue
        u, w = walk(line, rules.points), walk(ideal, rules.points)
        location, shape = apart(u, w) / rules.sigma_location, apart(form(u), form(w)) / rules.sigma_shape
        ends = (math.dist(line[0], ideal[0]) ** 2 + math.dist(line[-1], ideal[-1]) ** 2) / rules.sigma_ends**2
        best = min(best, (location**2 + shape**2 + ends) / 2)
    return best


@given(WORDS, st.data())
def test_the_search_is_the_formula(words, data):
    keys = data.draw(st.sampled_from(words))
    away = st.tuples(st.floats(-0.9, 0.9), st.floats(-0.9, 0.9))
    line = [(x + dx, y + dy) for (x, y), (dx, dy) in ((centre(c), data.draw(away)) for c in keys)]
    rules = Glide(beam=1e9, stretch=3.0)
    lexicon = build(words, range(len(words)))
    found = glide.search(glide.paths(lexicon, rules), np.array(line), rules)
    got = dict(zip((lexicon.spellings[i] for i in found.words), found.costs, strict=True))
    wanted = {w: cost for w in words if (cost := formula(w, line, rules)) < math.inf}
    assert got == pytest.approx(wanted, rel=1e-3, abs=1e-3)  # paths are kept in single precision


@given(LINE, st.integers(2, 40))
def test_points_at_equal_distances(line, count):
    assert np.allclose(glide.resample(np.array(line), count), walk(line, count), atol=1e-6)


def test_the_beam_is_above_the_best_however_far_that_is():
    lexicon = build(["hello"], [0])
    found = glide.search(glide.paths(lexicon), taps_of("hello") + np.array([1.5, 0.0]))
    assert len(found.words) == 1 and found.costs[0] > Glide().beam


def test_a_trail_that_fits_no_word_well_gives_nothing():
    asked = talk()
    trail = taps_of("money") + np.array([0.0, 0.3])
    (found, *_) = asked.glide("value for", trail)
    assert found.word == "money"
    for above, kept in ((0.1, 1), (-0.1, 0)):
        rules = DEFAULT._replace(glide=DEFAULT.glide._replace(nothing=above - found.score))
        assert len(talk(parameters=rules).glide("value for", trail, k=1)) == kept
    assert asked.glide("value for", taps_of("poilkjhgfdsa")) == []  # no word is near


@pytest.mark.parametrize(
    ("word", "by_way", "past"),
    [
        ("don't", "don't", "dont"),
        ("she'll", "she'l", "shel"),
        ("d'etat", "d'etat", "detat"),
        ("too", "to", "to"),
    ],
)
def test_keys_that_a_glide_passes(word, by_way, past):
    assert (polyline(word, True), polyline(word, False)) == (by_way, past)


@given(st.data())
@settings(max_examples=100)
def test_a_trail_through_the_keys_gives_the_word_or_one_of_the_same_path(data):
    asked = talk()
    word = data.draw(st.sampled_from(sorted(set(asked.lexicon.spellings))))
    past = data.draw(st.booleans())
    keys = polyline(word, not past)
    found = asked.glide("😀", taps_of(keys))
    same = [c.word.lower() for c in found if c.cost < 1e-6]
    assert word in same
    assert {polyline(w, not past) for w in same} == {keys} or "'" in "".join(same)
    nothing = flat(sorted(set(asked.lexicon.spellings))).glide("", taps_of(keys))
    assert polyline(nothing[0].word.lower(), False) == polyline(word, False)


def test_vampire_and_value():
    """Paper 4, Figure 1: trails that are alike, and the language model decides. Here it is one trail between both."""
    vampire, value = (glide.resample(taps_of(word), 64) for word in ("vampire", "value"))
    between = 0.5 * vampire + 0.5 * value
    asked = talk()
    costs = {c.word: c.cost for c in asked.glide("the", between, k=50)}
    assert abs(costs["vampire"] - costs["value"]) < 4  # the trail alone hardly tells
    assert asked.glide("the count is a", between)[0].word == "vampire"
    assert asked.glide("it is the best", between)[0].word == "value"


def test_the_context_tells_words_of_one_path_apart():
    asked, trail = talk(), taps_of("to")
    costs = {c.word: c.cost for c in asked.glide("x", trail, k=9)}
    assert costs["to"] == costs["too"] < 1e-9
    assert asked.glide("we want", trail)[0].word == "to"
    assert asked.glide("me", trail)[0].word == "too"


def test_single_letters_and_apostrophes():
    asked = talk()
    for trail in (taps_of("a"), taps_of("a") + np.array([0.1, 0.1]), np.repeat(taps_of("a"), 3, axis=0)):
        assert asked.glide("the count is", trail)[0].word == "a"
    for keys in ("dont", "don't"):
        assert asked.glide("i", taps_of(keys))[0].word == "don't"
    assert asked.glide("", taps_of("dont"))[0].word == "Don't"
    assert asked.glide("", taps_of("dont"), shift=False)[0].word == "don't"
    assert asked.glide("i", taps_of("go"), shift=True)[0].word == "Go"
    assert asked.glide("", taps_of("i"), shift=False)[0].word == "I"


def test_a_trail_to_nowhere():
    asked = talk()
    assert asked.glide("", []) == [] and asked.glide("", [(500.0, -1e300)]) == []
    assert asked.glide("", [(-9.0, 0.0), (30.0, 6.0)]) == []
    assert flat([]).glide("", taps_of("hi")) == []
    with pytest.raises(TacitError, match="trail's points are not points"):
        asked.glide("", [(0.0, math.inf)])


@given(st.text(st.sampled_from(QWERTY.letters), min_size=1, max_size=9), st.integers(0, 2**31))
def test_simulated_hands_are_seeded_and_near_the_keys(keys, seed):
    for make, kind in ((noise.tap, noise.TAPPING), (noise.trail, noise.GLIDING)):
        draw = [make(keys, np.random.default_rng(seed), kind) for _ in range(2)]
        assert np.array_equal(*draw) and np.isfinite(draw[0]).all()
    still = noise.trail(keys, np.random.default_rng(seed), noise.GLIDING._replace(level=0.0, apostrophes=1.0))
    assert np.allclose(still[0, :2], centre(keys[0])) and np.allclose(still[-1, :2], centre(keys[-1]))
    assert (np.diff(still[:, 2]) > 0).all()
    exact = noise.TAPPING._replace(level=0.0, extra=0.0, missed=0.0, swapped=0.0, apostrophes=1.0)
    assert np.allclose(noise.tap(keys, np.random.default_rng(seed), exact), taps_of(keys))


def test_noise_spreads_as_it_says():
    draw = np.random.default_rng(0)
    plain = noise.TAPPING._replace(wild=0.0, extra=0.0)
    taps = np.concatenate([noise.tap("g", draw, plain) for _ in range(4000)]) - centre("g")
    assert taps.std(axis=0) == pytest.approx([plain.spread_x, plain.spread_y], rel=0.05)
    assert np.abs(taps.mean(axis=0)).max() < 0.03
    own = np.array([noise.offset(1, person, 0.16) for person in range(2000)])
    assert own.std(axis=0) == pytest.approx([0.16, 0.16], rel=0.06)
