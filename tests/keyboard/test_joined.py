"""A space inside a word: the joined reading against every word tried by hand, and what it must leave alone."""

from __future__ import annotations

import math

import numpy as np
import pytest
from alignments import cheapest
from hypothesis import given, settings
from hypothesis import strategies as st
from key_models import TALK, flat, talk, taps_of

from tacit.keyboard import spelling
from tacit.keyboard.dictionary import EMPTY, build
from tacit.keyboard.layout import nearest
from tacit.keyboard.parameters import DEFAULT
from tacit.keyboard.suggestions import Part, Suggester, over

TALKING = talk()
WORDS = sorted({word for word in TALK.split() if len(word) > 1 and "'" not in word})


def score_of_what_is_written(asked: Suggester, context: list[str], points: np.ndarray, typed: str) -> float:
    found = asked.correct(context, points, k=999, typed=typed)
    for candidate in found.words:
        if candidate.word == found.best:
            return candidate.score
    rules = asked.parameters.taps
    return -rules.unknown + rules.letter * spelling.log_p(asked.lexicon.letters, found.literal)


def parts(draw: st.DataObject) -> tuple[np.ndarray, np.ndarray]:
    """Taps near the letters of a word or of two, and where the space is."""
    letters = draw.draw(st.sampled_from(WORDS)) + draw.draw(st.sampled_from(["", "", *WORDS]))
    at = draw.draw(st.integers(1, len(letters) - 1))
    off = draw.draw(st.lists(st.floats(-0.4, 0.4), min_size=2 * len(letters), max_size=2 * len(letters)))
    points = taps_of(letters) + np.array(off).reshape(-1, 2)
    return points[:at], points[at:]


@given(st.data(), st.sampled_from([1.0, 4.0, 9.0]), st.sampled_from([0.0, 5.0]))
@settings(max_examples=60, deadline=None)
def test_the_joined_word_is_that_of_brute_force(data, gap, stays):
    rules = DEFAULT.taps._replace(gap=gap, stays=stays)
    asked = Suggester(TALKING.source, parameters=DEFAULT._replace(taps=rules))  # without a dictionary
    context = data.draw(st.sampled_from([["so"], ["the", "best"], ["we"], ["from", "the"]]))
    one, two = parts(data)
    first = asked.correct(context, one, typed=nearest(one))
    found = asked.correct(context, two, k=999, typed=nearest(two), part=Part(one, nearest(one)))
    alone = asked.correct([*context, *first.best.split()], two, k=999, typed=nearest(two))
    if " " in first.best:  # two words already
        assert found == alone
        return
    before = score_of_what_is_written(asked, context, one, nearest(one))
    after = score_of_what_is_written(asked, [*context, first.best], two, nearest(two))
    log_p = asked.log_probs(context, asked.lexicon.spellings)
    every = [
        (cheapest(word, np.concatenate([one, two]).tolist(), rules), float(p), word)
        for word, p in zip(asked.lexicon.spellings, log_p, strict=True)
    ]
    near = [
        (-gap - cost + rules.language * p - before, -cost, p, word)
        for cost, p, word in every
        if cost <= rules.beam
    ]
    if not near:
        assert found == alone
        return
    score, cost, p, word = max(near)
    assert [c.word.lower() for c in found.words if c.joins] == [word]
    (shown,) = (c for c in found.words if c.joins)
    assert (shown.score, shown.cost, shown.p) == pytest.approx((score, gap - cost, math.exp(p)))
    words = all(nearest(taps) in asked.lexicon.spellings for taps in (one, two))
    lead = score - words * min(gap - cost, stays) - after
    if abs(lead) > 1e-6:
        assert found.joins == (lead > 0)
    assert found.best.lower() == (word if found.joins else alone.best.lower())
    assert [c for c in found.words if not c.joins] == alone.words


def joined(asked: Suggester, context: str, first: str, second: str) -> str | None:
    """What replaces both parts, each typed on the middles of its keys; None if they stay apart."""
    found = asked.correct(context, taps_of(second), typed=second, part=Part(taps_of(first), first))
    return found.best if found.joins else None


def test_a_space_inside_a_word_is_taken_out():
    asked = talk()
    assert joined(asked, "we", "wa", "nt") == "want"
    assert joined(asked, "the best", "val", "ue") == "value"
    assert joined(asked, "a", "vam", "pier") == "vampire"  # with a slip besides
    assert joined(asked, "", "Th", "e") == "The"
    assert joined(asked, "we", "WA", "NT") == "WANT"


def test_two_words_stay_two_words():
    asked = talk()
    lines = [line.split() for line in TALK.splitlines()]
    for line in lines:
        for i in range(len(line) - 1):
            assert joined(asked, " ".join(line[:i]), line[i], line[i + 1]) is None, line


def test_two_known_words_are_joined_only_if_the_word_is_ahead_by_stays():
    asked = flat(["to", "day", "today"])
    rules = asked.parameters.taps
    apart = 2 * rules.language * math.log(1 / 4)
    together = rules.language * math.log(1 / 4) - rules.gap
    for stays, gain in ((rules.stays, 0.0), (0.0, apart - together + 0.01)):
        taps = rules._replace(stays=stays, gap=rules.gap - gain if gain else rules.gap)
        free = over(asked.source, parameters=DEFAULT._replace(taps=taps))
        assert (joined(free, "x", "to", "day") is not None) == (gain > 0)
    offered = asked.correct("x", taps_of("day"), part=Part(taps_of("to"))).words
    assert [c.word for c in offered if c.joins] == ["today"]  # it may be chosen


def test_a_word_of_the_dictionary_is_a_word_here_too():
    words = ["to", "morrow", "tomorrow"]
    asked = over(flat(["to", "tomorrow"]).source)
    for dictionary, wanted in ((EMPTY, "tomorrow"), (build(words, 64), None)):
        some = Suggester(asked.source, dictionary=dictionary)
        assert joined(some, "see you", "to", "morrow") == wanted


def test_what_must_not_be_joined():
    found = talk(block=["want"]).correct("we", taps_of("nt"), k=99, part=Part(taps_of("wa"), "wa"))
    assert "want" not in {c.word for c in found.words if c.joins}
    assert joined(talk(), "we", "", "want") is None and joined(talk(), "we", "want", "") is None
    assert joined(talk(), "we", "wà", "nt") is None  # a letter of a long press is meant
    assert joined(talk(), "we", "wantto", "go") is None  # two words already
    assert joined(talk(), "we", "w" * 47, "nt") is None  # too long to decode
