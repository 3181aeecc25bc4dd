"""Corrections of the C reader against the formulas of docs/native.md, by brute force over all words."""

from __future__ import annotations

import ctypes
import re
import unicodedata
from math import inf

import numpy as np
import pytest
from reader_c import Key, Reader, Taps, Typed, opened

from tacit.ngram.compact import reader
from tacit.ngram.compact.model import CompactSource

ROWS = (("qwertyuiop", 0.5, 0.75), ("asdfghjkl", 1.0, 2.25), ("zxcvbnm", 2.0, 3.75), ("'", 7.0, 5.25))
QWERTY = {c: (left + i, y) for letters, left, y in ROWS for i, c in enumerate(letters)}
Points = list[tuple[float, float]]


def spelt(word: str) -> str:
    """The letters of the keys that type a word; "" if one has none."""
    plain = unicodedata.normalize("NFD", re.sub("(?<=[^-])-(?=[^-])", "", word.lower()).replace("’", "'"))
    plain = "".join(c for c in plain if not unicodedata.category(c).startswith("M"))
    return plain if all(c in QWERTY for c in plain) else ""


def tap_cost(tap: tuple[float, float], letter: str, n: Taps) -> float:
    x, y = QWERTY[letter]
    return 0.5 * (((tap[0] - x) / n.sigma_x) ** 2 + ((tap[1] - y) / n.sigma_y) ** 2)


def word_cost(letters: str, taps: Points, price: dict[str, list[float]], n: Taps) -> float:
    """D(letters, taps) as the recursion is written."""

    d = [[inf] * (len(taps) + 1) for _ in range(len(letters) + 1)]
    for i, row in enumerate(d):
        for j in range(len(row)):
            ways = [row[j] if i or j else 0.0]
            if i:
                ways.append(d[i - 1][j] + (n.apostrophe if letters[i - 1] == "'" else n.omission))
            if j:
                ways.append(row[j - 1] + n.insertion)
            if i and j:
                ways.append(d[i - 1][j - 1] + price[letters[i - 1]][j - 1])
            if i > 1 and j > 1:
                crossed = price[letters[i - 1]][j - 2] + price[letters[i - 2]][j - 1]
                ways.append(d[i - 2][j - 2] + n.transposition + crossed)
            row[j] = min(ways)
    return d[-1][-1]


def by_formulas(
    words: dict[str, float], typed: str, taps: Points, n: Taps, blocked: bool
) -> tuple[str | None, bool, bool, list[tuple[str, float, float]]]:
    """What the page says of words with these log p: the word to write, known, clear, and every candidate."""
    least = [min(tap_cost(tap, c, n) for c in QWERTY) for tap in taps]
    price = {c: [tap_cost(tap, c, n) for tap in taps] for c in QWERTY}
    low = sum(min(cost, n.insertion) for cost in least)
    near = []
    for word, log_p in words.items():
        letters = spelt(word)
        far = (len(letters.replace("'", "")) - len(taps)) * n.omission > n.beam
        possible = letters and taps and not far and log_p > -inf
        cost = word_cost(letters, taps, price, n) - low if possible else inf
        if cost <= n.beam:
            near.append((-cost + n.language * log_p, letters, word, cost))
    near.sort(key=lambda found: (-found[0], found[1]))
    clear = all(cost <= n.clear for cost in least)
    known = spelt(typed) in {letters for _, letters, _, _ in near}
    count = sum(cost <= n.clear for cost in least)
    over = sum(max(cost - n.insertion, 0) for cost in least)
    stays = -(n.unknown + n.letter * count + n.unclear * (len(taps) - count) + over)
    word = None
    if near and not (clear and blocked):
        if known and clear:
            word = next(w for _, letters, w, _ in near if letters == spelt(typed))
        elif known or near[0][0] > stays:
            word = near[0][2]
    return word, known, clear, [(w, score, cost) for score, _, w, cost in near]


def agree(
    c: Reader, words: dict[str, float], context: list[str], typed: str, taps: Points | None, n: Taps
) -> bool:
    at = [QWERTY[letter] for letter in spelt(typed)] if taps is None else taps
    found = c.correct(context, typed, taps, k=8)
    i = c.id(typed) if c.id(typed) != 2 else c.id(typed.lower())
    blocked = i != 2 and bool(c.c.tacit_hidden(c.model, i))
    word, known, clear, near = by_formulas(words, typed, at, n, blocked)
    assert (found.known, found.clear) == (known, clear), typed
    assert found.word == word, (context, typed, taps)
    price = {w: (score, cost) for w, score, cost in near}
    assert [score for _, score, _ in found.candidates] == pytest.approx([score for _, score, _ in near[:8]])
    for w, score, cost in found.candidates:  # in the same order, up to ties
        assert (score, cost) == pytest.approx(price[w], abs=1e-9)
    return word is not None and word != typed


def test_corrections_are_those_of_the_formulas(library: ctypes.CDLL, typed: Typed) -> None:
    """Misspelt words without taps, mistapped ones with them, in contexts; capitals, accents and a blocked word."""
    stored = reader.open(typed.path)
    source = CompactSource(stored)
    draw, corrected, kept = np.random.default_rng(2), 0, 0
    with opened(library, typed.path.read_bytes(), ["tonight"]) as c:
        c.open_keys()
        n = library.tacit_default_taps()
        shown = [i for i in range(3, len(stored.p)) if not library.tacit_hidden(c.model, i)]
        short = [i for i in shown if len(stored.word(i)) < 9]
        for trial in range(25):
            context = typed.contexts[trial][-4:]
            state = source.state(context)
            words = dict(
                zip([stored.word(i) for i in shown], source.log_probs(state, np.array(shown)), strict=True)
            )
            word = stored.word(int(draw.choice(short)))
            letters, taps = list(spelt(word)), None
            if not letters:
                continue
            match trial % 5:
                case 0:
                    letters.insert(int(draw.integers(len(letters) + 1)), str(draw.choice(list("etaoin"))))
                case 1:
                    letters.pop(int(draw.integers(len(letters))))
                case 2:
                    at = int(draw.integers(max(1, len(letters) - 1)))
                    letters[at : at + 2] = letters[at : at + 2][::-1]
                case 3:
                    taps = [
                        (QWERTY[x][0] + draw.normal(0, 0.45), QWERTY[x][1] + draw.normal(0, 0.5))
                        for x in letters
                    ]
                case _:
                    letters = list(word)
            text = "".join(letters) or "a"
            changed = agree(c, words, context, text, taps, n)
            corrected, kept = corrected + changed, kept + (not changed)
        agree(c, words, context, "Tonight", None, n)
        agree(c, words, context, "7:30", None, n)
        agree(c, words, context, "x", [(-3.0, 99.0)], n)
    assert corrected > 1 and kept > 4


def test_other_keys_and_other_numbers(library: ctypes.CDLL, typed: Typed) -> None:
    """A layout of two keys types words of these letters only; a price of nothing finds what a high one does not."""
    with opened(library, typed.path.read_bytes()) as c:
        c.open_keys([("o", 0.0, 0.0), ("n", 1.0, 0.0)])
        assert {spelt(w) for w, _, _ in c.correct([], "on", k=50).candidates} <= {
            "on",
            "no",
            "o",
            "n",
            "noo",
            "noon",
        }
        c.c.tacit_keys_close(c.keys)
        taps = library.tacit_default_taps()
        taps.beam = 0.5
        c.open_keys(taps=taps)
        strict = {w for w, _, _ in c.correct([], "goung", k=50).candidates}
        c.c.tacit_keys_close(c.keys)
        c.open_keys()
        assert "going" in {w for w, _, _ in c.correct([], "goung", k=50).candidates} and not strict
        assert c.correct([], "a" * 60).word is None
        with pytest.raises(Exception, match="a tap is no point"):
            c.correct([], "no", [(float("nan"), 1.0)])
        with pytest.raises(Exception, match="give 1 to 255 keys"):
            c._do(
                c.c.tacit_keys_open(
                    c.model, (Key * 1)(), 0, None, ctypes.byref(c.keys), ctypes.byref(c.error)
                )
            )
