"""The C reader gives Python's answers: n-grams to the last bit, networks up to rounding, and the same block list."""

from __future__ import annotations

import ctypes
import unicodedata
from math import exp
from pathlib import Path

import numpy as np
import pytest
from reader_c import Typed, opened

from file_models import any_weights, kneser, saved, sentences, vocabulary
from networks8 import KINDS
from networks8 import saved as network_saved
from tacit.keyboard.suggestions import over
from tacit.lm.network8 import reader as network8
from tacit.lm.network8.model import network8_model
from tacit.models import ModelConfig
from tacit.ngram.automaton import Automaton, from_trie
from tacit.ngram.compact import reader, writer
from tacit.ngram.compact.model import CompactSource
from tacit.ngram.trie import of_words
from tacit.text.blocked import fold
from tacit.text.vocabulary import SPECIALS, Vocabulary

BLOCKED = ["GOING", "I’m", "tomorrow", "never a word", "\U0001f600"]
NORMAL = {
    "lstm, normalised": ModelConfig(kind="lstm", hidden=20, embedding=12, layer_norm=True),
    "lstm, normalised, residual": ModelConfig(
        kind="lstm", hidden=20, embedding=12, layer_norm=True, coupled=False, layers=2, residual=True
    ),
}


def test_ten_thousand_contexts_of_a_compact_file(library: ctypes.CDLL, typed: Typed) -> None:
    """Next words and completions, with a block list: the same words, and the same probabilities bit for bit."""
    stored = reader.open(typed.path)
    asked = over(CompactSource(stored), block=BLOCKED, capitals=False)
    assert len(typed.contexts) == 10_000 and len(stored.p) > 2000 and sum(stored.facts["ngrams"]) > 30_000
    letters = set()
    with opened(library, typed.path.read_bytes(), BLOCKED) as c:
        assert c.facts.cased and c.facts.order == 3 and c.facts.vocabulary == len(stored.p)
        for n, context in enumerate(typed.contexts):
            k = 1 + n % 5
            found = c.complete(context, "", k)
            assert [(c.word(i), exp(p)) for i, p in found] == asked.next_words(context, k), context
            if n % 5 == 0:
                prefix = context[-1][: 1 + n % 2] if context else ""
                letters.add(prefix)
                found = c.complete(context, prefix, 3)
                assert [(c.word(i), exp(p)) for i, p in found] == asked.complete(context, prefix, 3), context
    assert len(letters) > 100


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_small_models_of_every_order(library: ctypes.CDLL, tmp_path: Path, order: int) -> None:
    """Every word and every log p; more words than there are, prefixes of any script, words of no vocabulary."""
    size = 60
    for seed, make in enumerate((any_weights, kneser)):
        v = vocabulary(size)
        stored = saved(tmp_path, make(seed, size, order, 80), v, hidden=["be", "w7919"])
        blocked = ["BEE", "DON’T", "e\u0301te\u0301"] if seed else []
        asked = over(CompactSource(stored), block=blocked, capitals=False)
        with opened(library, (tmp_path / "m.tng").read_bytes(), blocked) as c:
            assert [c.word(i) for i in range(size)] == [stored.word(i) for i in range(size)]
            assert [c.id(w) for w in (*v.words, "w", "zzz", "")] == [
                stored.id(w) for w in (*v.words, "w", "zzz", "")
            ]
            hidden = [bool(library.tacit_hidden(c.model, i)) for i in range(size)]
            assert hidden == [asked.source.hidden(i) for i in range(size)]
            for body in sentences(seed + 1, 12, size):
                context = [v.words[i] if i > 2 else "?" for i in body]
                for k, typed in (
                    (1, ""),
                    (60, ""),
                    (3, "b"),
                    (60, "B"),
                    (3, "w1"),
                    (2, "日"),
                    (3, "É"),
                    (9, "don’"),
                ):
                    found = [(c.word(i), exp(p)) for i, p in c.complete(context, typed, k)]
                    assert found == asked.complete(context, typed, k)
                state = asked.source.state(context)
                assert (
                    c.log_p(context, range(size)) == asked.source.log_probs(state, np.arange(size)).tolist()
                )
            assert c.log_p([], [size]) == [-np.inf] and c.word(size) == ""


def test_all_favourites_may_follow_a_history(library: ctypes.CDLL, tmp_path: Path) -> None:
    """More unigrams than are kept sorted, and a history that all of these follow: then all unigrams are read."""
    size = 4200
    v = Vocabulary((*SPECIALS, *(f"{i:05}" for i in range(size - 3))))
    follow = np.arange(1, 4190)  # words that follow `<s>`
    shape = from_trie(of_words([np.stack([np.zeros_like(follow), follow], axis=1)], size))
    log_p = np.log(np.random.default_rng(1).dirichlet(np.ones(len(shape.labels))))
    writer.write(tmp_path / "m", v, Automaton(shape, log_p, np.array([0.0, -3.0])), name="x")
    stored = reader.open(tmp_path / "m")
    asked = over(CompactSource(stored), capitals=False)
    with opened(library, (tmp_path / "m").read_bytes()) as c:
        for k in (1, 3, 4190, size):
            assert [(c.word(i), exp(p)) for i, p in c.complete([], "", k)] == asked.next_words([], k)


@pytest.mark.parametrize("kind", [*KINDS, *NORMAL])
def test_networks_of_every_kind(library: ctypes.CDLL, tmp_path: Path, kind: str) -> None:
    """Contexts that grow, shrink and are longer than the longest: what the session keeps changes nothing."""
    size, worst = 50, 0.0
    path = network_saved(tmp_path / "n.tacit", (KINDS | NORMAL)[kind], size, max_words=6)
    source = network8_model(network8.open(path)).source
    asked = over(source, block=["Été"], capitals=False)
    draw, context = np.random.default_rng(0), list[str]()
    with opened(library, path.read_bytes(), ["Été"]) as c:
        assert c.facts.network and c.facts.cased and [c.word(i) for i in range(size)] == list(source.words)
        for _ in range(150):
            chance = draw.random()
            if chance < 0.9:
                context = (
                    [] if chance < 0.15 else [*context, source.words[int(draw.integers(2, size))].upper()]
                )
            else:
                context = context[:-1]
            want = source.log_probs(source.state(context), np.arange(size))
            worst = max(worst, float(np.abs(np.array(c.log_p(context, range(size))) - want).max()))
            for typed in ("", "b", "B", "日"):
                found, best = c.complete(context, typed, 3), asked.complete(context, typed, 3)
                assert [p for _, p in found] == pytest.approx([np.log(s.p) for s in best], abs=1e-5)
                for (i, _), suggestion in zip(found, best, strict=True):  # the same order, up to ties
                    assert want[i] == pytest.approx(np.log(suggestion.p), abs=1e-5)
    assert worst < 1e-5


def spellings(word: str) -> list[str]:
    forms = [word, word.upper(), word.lower(), word.title(), word.casefold()]
    return [unicodedata.normalize(form, w) for w in forms for form in ("NFC", "NFD")]


def test_a_block_list_folds_as_pythons_does(library: ctypes.CDLL, tmp_path: Path) -> None:
    """Every letter of the first planes' scripts, in all its cases and both normal forms, is blocked by one of them."""
    newer = {0x1C89, 0x1C8A}  # of Unicode 16
    ranges = [
        (0x21, 0x2100),
        (0x212A, 0x212C),
        (0x2C00, 0x2E00),
        (0x3041, 0x3100),
        (0xA640, 0xA7C0),
        (0xAB30, 0xABC0),
    ]
    ranges += [(0xAC00, 0xAC60), (0xFB00, 0xFB50), (0xFF21, 0xFF60), (0x10400, 0x10450), (0x1E900, 0x1E944)]
    letters = [chr(i) for a, b in ranges for i in range(a, b) if i not in newer]
    letters = [c for c in letters if not c.isspace() and unicodedata.category(c)[0] in "LMNPS"]
    draw = np.random.default_rng(3)
    blocked = [str(draw.choice(spellings(f"x{c}y"))) for c in letters[::2]]
    every = sorted({w for c in letters for w in (*spellings(f"x{c}y"), f"x{c}y") if len(w.split()) == 1})
    words = Vocabulary((*SPECIALS, *every))
    writer.write(tmp_path / "m", words, kneser(1, len(words), 1, 5), name="x")
    folded = {fold(word) for word in blocked}
    with opened(library, (tmp_path / "m").read_bytes(), blocked) as c:
        hidden = {c.word(i) for i in range(3, len(words)) if library.tacit_hidden(c.model, i)}
    wanted = {word for word in every if fold(word) in folded}
    assert len(wanted) > 5000
    assert sorted(hidden ^ wanted) == []


def test_words_of_a_context_are_read_in_lower_case(library: ctypes.CDLL, tmp_path: Path) -> None:
    """A word that the model has in lower case only is found in any case, final sigma and İ included."""
    plain = ["straße", "σοφός", "i\u0307stanbul", "été", "ждун", "çay", "ıhlamur", "ok", "ab"]
    v = Vocabulary((*SPECIALS, *plain, *(f"w{i}" for i in range(20))))
    stored = saved(tmp_path, kneser(5, len(v), 2, 400), v)
    asked = over(CompactSource(stored), capitals=False)
    with opened(library, (tmp_path / "m.tng").read_bytes()) as c:
        for word in (
            "STRAßE",
            "ΣΟΦΌΣ",
            "İSTANBUL",
            "Été",
            "ЖДУН",
            "ÇAY",
            "OK",
            "Ab",
            "no such word",
            "\udc80",
        ):
            found = [(c.word(i), exp(p)) for i, p in c.complete([word], "", 5)]
            assert found == asked.next_words([word], 5), word
