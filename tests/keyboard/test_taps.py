"""Taps: the search against every alignment of every word, and what must and must not be corrected."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from alignments import cheapest
from hypothesis import given, settings
from hypothesis import strategies as st
from key_models import flat, model_of, talk, taps_of

from tacit.base.errors import TacitError
from tacit.keyboard import decode, spelling, taps
from tacit.keyboard.layout import QWERTY, centre, spell
from tacit.keyboard.lexicon import build
from tacit.keyboard.parameters import DEFAULT, Parameters, Taps
from tacit.ngram.automaton import log_probs

LETTERS = st.sampled_from("aeqwsz'")
WORDS = st.lists(st.text(LETTERS, min_size=1, max_size=5), min_size=1, max_size=25, unique=True)
POINTS = st.lists(st.tuples(st.floats(0, 4), st.floats(0, 6)), min_size=1, max_size=5)


SLIPS = st.sampled_from(
    [
        {"omission": 1, "transposition": 4, "edge": 0.5},
        {"omission": 4.6, "transposition": 0.5, "single": 0.5, "double": 8},
        {"omission": 2, "transposition": 2, "wrong": 1, "vowel": 0.5, "steady": 0.5},
        {"single": 1, "double": 0.5, "apostrophe": 3, "usual": 0.3},
        {"move": 0.5, "slip": 0.5, "transposition": 3, "omission": 6, "insertion": 6},
    ]
)


@given(WORDS, POINTS, st.sampled_from([0.0, 3.0, 8.0, 17.0]), SLIPS)
@settings(max_examples=150)
def test_the_search_finds_what_brute_force_finds(words, points, beam, slips):
    rules = DEFAULT.taps._replace(beam=beam, **slips)
    lexicon = build(words, range(len(words)))
    found = taps.search(lexicon, taps.points(points), rules)
    wanted = {w: cheapest(w, points, rules) for w in words}
    got = dict(zip((lexicon.spellings[i] for i in found.words), found.costs, strict=True))
    for word, cost in wanted.items():
        if abs(cost - beam) > 1e-6:
            assert (word in got) == (cost < beam)
        if word in got:
            assert got[word] == pytest.approx(cost, abs=1e-9)
    assert set(got) <= set(wanted)


def test_swapped_letters_are_found_though_the_first_of_them_is_out_of_reach():
    rules = Taps(beam=3.0, transposition=0.5)  # e for q, or q left out, costs more than the beam
    assert taps.search(build(["qe"], [0]), taps_of("eq"), rules).costs.tolist() == [0.5]


def test_words_of_as_many_taps_as_are_looked_up():
    for count, found in ((taps.MOST, 1), (taps.MOST + 1, 0)):
        assert len(taps.search(build(["a" * count], [0]), taps_of("a" * count)).words) == found


def test_an_unknown_literal_has_the_probability_of_its_letters_and_pays_for_taps_that_hit_no_key():
    lexicon, rules = build(["cat"], [0]), DEFAULT.taps
    for far in (0.0, 20.0):
        points = taps_of("tac") - np.array([0.0, far])
        found = decode.tapped(lexicon, points, lambda ids: np.zeros(len(ids)), DEFAULT)
        beyond = np.maximum(taps.tap_costs(points, QWERTY).min(axis=1) - rules.insertion, 0).sum()
        prior = spelling.log_p(lexicon.letters, found.literal)
        assert (beyond > 5) == (far > 0)
        assert found.score == pytest.approx(-rules.unknown + rules.letter * prior - beyond)


def test_the_letters_of_words_are_a_trigram_model():
    """Against the formula over lists of n-grams; all strings of up to 9 letters have nearly all probability."""
    words = ["aba", "abb", "b", "abab"]
    counts, kappa = spelling.count(sorted([*words, "b"]), "ab"), spelling.SMOOTHING
    grams = [list(zip(f"##{w}#", f"#{w}#", f"{w}#", strict=False)) for w in words]
    triples = [gram for word in grams for gram in word]

    def p(gram: tuple[str, str, str]) -> float:
        a, b, c = gram
        one = (sum(t[2] == c for t in triples) + 1) / (len(triples) + 3)
        two = (sum(t[1:] == (b, c) for t in triples) + kappa * one) / (
            sum(t[1] == b for t in triples) + kappa
        )
        first = sum(t[:2] == (a, b) for t in triples)
        return (triples.count(gram) + kappa * two) / (first + kappa)

    for word in ("", "a", "ab", "bba", "abab"):
        wanted = sum(math.log(p(g)) for g in zip(f"##{word}#", f"#{word}#", f"{word}#", strict=False))
        assert spelling.log_p(counts, word) == pytest.approx(wanted)
    every = ("".join(w) for n in range(10) for w in product("ab", repeat=n))
    assert 0.9 < sum(math.exp(spelling.log_p(counts, w)) for w in every) < 1


def test_taps_and_glides_have_their_own_weight_of_the_language():
    for weights in ((0.0, 2.0), (3.0, 0.0)):
        rules = Parameters(
            DEFAULT.taps._replace(language=weights[0]), DEFAULT.glide._replace(language=weights[1])
        )
        asked = talk(parameters=rules)
        both = asked.correct("the", taps_of("cat")).words, asked.glide("the", taps_of("cat"))
        for language, found in zip(weights, both, strict=True):
            assert found and all(c.score == pytest.approx(-c.cost + language * math.log(c.p)) for c in found)


def test_words_of_one_spelling_are_all_found():
    lexicon = build(["cafe", "café", "Cafe", "cab"], [10, 11, 12, 13])
    found = taps.search(lexicon, taps_of("cafe"))
    assert sorted(lexicon.ids[found.words[found.costs == 0]].tolist()) == [10, 11, 12]


def test_a_score_is_the_formula():
    words, model = model_of()
    asked = talk()
    points = taps_of("cat") + np.array([(0.1, 0.2), (-0.1, 0.1), (-0.45, 0.0)])
    found = asked.correct("the", points, k=50)
    ids = words.encode(["the"]).astype(np.int64)
    state = model.topology.states_along(ids, np.array([0, len(ids)]))[-1:]
    rules = asked.parameters.taps
    assert {"cat", "car", "sat"} <= {c.word for c in found.words}
    for c in found.words:
        log_p = log_probs(model, state, np.array([words.index[c.word.lower()]]))[0]
        cost = cheapest(spell(c.word), points.tolist(), rules)
        assert (c.p, c.cost, c.score) == pytest.approx(
            (math.exp(log_p), cost, -cost + rules.language * log_p)
        )
    assert [c.score for c in found.words] == sorted((c.score for c in found.words), reverse=True)


@given(st.data())
def test_clean_taps_give_the_word_itself(data):
    asked = talk()
    word = data.draw(st.sampled_from(sorted(asked.lexicon.spellings)))
    context = data.draw(st.lists(st.sampled_from([*asked.lexicon.spellings, ",", "😀"]), max_size=3))
    shift = np.array(data.draw(st.lists(st.floats(-0.2, 0.2), min_size=2, max_size=2)))
    found = asked.correct(context, taps_of(word) + shift)
    assert found.known and found.best.lower() == word


@pytest.mark.parametrize("name", ["bjorn", "nkechi", "cato", "varpu", "xiu", "zoe"])
def test_a_name_that_is_typed_clearly_stays(name):
    found = talk().correct("i know", taps_of(name), typed=name.capitalize())
    assert (found.best, found.known) == (name.capitalize(), False)


def test_a_known_word_that_is_typed_clearly_stays_whatever_is_likelier():
    asked = talk(30 * "they drove the car\n" + "a cat")
    found = asked.correct("they drove the", taps_of("cat"))
    assert found.best == "cat" and found.words[1].word == "car"
    blurred = asked.correct("they drove the", taps_of("cat") + np.array([(0, 0), (0, 0), (-0.45, 0)]))
    assert blurred.best == "car"


def test_slips_are_corrected_where_the_word_is_likely():
    asked = talk()
    assert asked.correct("the best", taps_of("vlaue"), typed="vlaue").best == "value"  # swapped
    assert asked.correct("good value for", taps_of("mony")).best == "money"  # one missing
    assert asked.correct("good value for", taps_of("moneyy")).best == "money"  # one too many
    assert asked.correct("i", taps_of("dont")).best == "don't"
    assert asked.correct("i", taps_of("don't")).best == "don't"


def test_two_words_without_their_space_are_two_words():
    asked = talk()
    found = asked.correct("we", taps_of("wantto"), typed="Wantto")
    assert (found.best, found.known) == ("Want to", False)
    want, to = asked.log_probs("we", ["want", "to"])
    rules = asked.parameters.taps
    assert found.words[0].score == pytest.approx(rules.language * (want + to) - rules.space)
    assert asked.correct("we", taps_of("wanto"), typed="wanto").words[0].word != "wan to"  # wan is no word


def test_the_context_decides_between_neighbours():
    between = taps_of("car")
    between[2] = (np.array(centre("r")) + centre("t")) / 2
    asked = talk()
    assert asked.correct("they drove the", between).best == "car"
    assert asked.correct("from the", between).best == "cat"


def test_the_shift_key_is_respected():
    asked, points = talk(), taps_of("vlaue")
    for typed, wanted in (("vlaue", "value"), ("Vlaue", "Value"), ("VLAUE", "VALUE")):
        assert asked.correct("the best", points, typed=typed).best == wanted
    assert asked.correct("", taps_of("good")).best == "Good"  # a sentence starts, and nobody said otherwise
    assert asked.correct("", taps_of("good"), typed="good").best == "good"
    assert asked.correct("well", taps_of("i"), typed="i").best == "I"


def test_nothing_typed_and_far_too_much():
    asked = talk()
    assert asked.correct("the", []) == ("", "", False, [], False)
    long = "a" * 60
    assert asked.correct("the", taps_of(long)).best == long
    far = asked.correct("the", [(1e300, -1e300)] * 3)
    assert far.literal == "ppp"
    assert flat([]).correct("", taps_of("hm")).best == "Hm"


@pytest.mark.parametrize("taps_", [[1, 2, 3], [(1,)], [(1, math.nan)], ["ab"], [[(1, 2)]], [(1, 2, 3, 4)]])
def test_what_is_no_tap_is_refused(taps_):
    with pytest.raises(TacitError, match="taps are not points; give numbers"):
        talk().correct("", taps_)
