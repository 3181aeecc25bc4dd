"""Questions with Python's answers, for JavaScript to answer: what both must agree on."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from file_models import any_weights, vocabulary
from tacit.base.errors import TacitError
from tacit.base.sections import HEADER, map_file
from tacit.keyboard import dictionary, layout, parameters, suggestions
from tacit.keyboard.capitals import starts_sentence, written
from tacit.lm.protocol import suggest
from tacit.ngram.compact import reader, writer
from tacit.ngram.compact.model import CompactSource
from tacit.text.locale import ENGLISH
from tacit.text.packed import Packed
from tacit.text.tokens import tokenize
from tacit.text.vocabulary import BOS, EOS, Vocabulary

TEXTS = (
    "Don’t wait... it's 10:30 already!! :)",
    "mail a.b@example.org or see https://example.org/a?b=c). www.x.y",
    "👍🏽👩‍👩‍👧‍👦🇬🇧1️⃣ ok <3 </3 :-D :p x:p ^_^ -_- >_< ://a :/ :/x",
    "<unk> <s> </s> <#> a-b 'tis rock'n'roll 3.50 1,000 3. x² été e\u0301te\u0301",
    "שלום עולם مرحبا بالعالم 日本語 ひらがな हिन्दी",
    "\t\n  \u2009 \x1c \x85 a",
    "za\u0301z\u0307o\u0142c\u0301 well\u2011known foot\u2010ball soft\u00adware e\u00ad\u0301 \u0958\u0941 \u212b",
    "...--??!!,,** $$ #tag @you _x_ a_b ~= \\|/ {}[]()",
)


def contexts(words: Vocabulary, text: Packed, count: int, seed: int) -> Iterator[list[str]]:
    """Places in text of people the model never saw; some words are exchanged for unknown ones."""
    draw = np.random.default_rng(seed)
    places = draw.choice(np.flatnonzero(text.tokens != BOS), count)
    starts = text.offsets[np.searchsorted(text.offsets, places, side="right") - 1]
    for first, place in zip(starts.tolist(), places.tolist(), strict=True):
        found = [words.words[i] for i in text.tokens[first + 1 : place].tolist()]
        yield [w if draw.random() > 0.03 else "qqzzy" for w in found]


def suggested(stored: reader.Compact, words: Vocabulary, text: Packed, count: int) -> list[Any]:
    """Next words and completions straight from the file: context, prefix, words and probabilities."""
    draw, found = np.random.default_rng(1), []
    for i, context in enumerate(contexts(words, text, count, 0)):
        word = words.words[int(draw.integers(3, len(words)))]
        prefix = word[: int(draw.integers(1, 4))] if i % 4 == 0 else ""
        found.append([context, prefix, suggest(CompactSource(stored), context, 3, prefix)])
    return found


def completed(suggester: suggestions.Suggester, words: Vocabulary, text: Packed, count: int) -> list[Any]:
    """The same through the one interface, with capitals."""
    draw, found = np.random.default_rng(2), []
    for context in contexts(words, text, count, 3):
        prefix = words.words[int(draw.integers(3, len(words)))][: int(draw.integers(0, 4))]
        prefix = [prefix, prefix.capitalize(), prefix.upper()][int(draw.integers(0, 3))]
        found.append([context, prefix, suggester.complete(context, prefix, 3)])
    return found


def typeable(words: Vocabulary, text: Packed) -> list[tuple[list[str], str]]:
    """Words of the text that keys can type letter by letter, each with what comes before it."""
    found = []
    for first, last in zip(text.offsets[:-1].tolist(), text.offsets[1:].tolist(), strict=True):
        line = [words.words[i] for i in text.tokens[first + 1 : last].tolist() if i != EOS]
        found += [(line[:i], w) for i, w in enumerate(line) if layout.spell(w) and "-" not in w]
    return found


def decoded(suggester: suggestions.Suggester, words: Vocabulary, text: Packed) -> dict[str, Any]:
    """Taps and trails with noise, and what Python makes of them."""
    draw = np.random.default_rng(4)
    every = typeable(words, text)
    chosen = [every[i] for i in draw.choice(len(every), 240)]
    taps, glides, parts = [], [], []
    for i, (context, word) in enumerate(chosen):
        at = np.array([layout.centre(c) for c in layout.spell(word)])
        noisy = at + draw.normal(size=at.shape) * (0.0 if i % 5 == 0 else 0.35)
        if i % 7 == 3 and len(noisy) > 2:
            noisy = np.delete(noisy, 1, axis=0)
        if i % 11 == 5:  # two words without their space
            noisy = np.concatenate([noisy, [layout.centre(c) for c in "the"]])
        noisy = noisy.round(4)
        typed = layout.nearest(noisy)
        typed = typed.capitalize() if i % 3 == 0 else typed
        meant = suggester.correct(context, noisy, k=3, typed=typed)
        ranked = [[c.word, c.score, c.cost] for c in meant.words]
        taps.append([context, noisy.tolist(), typed, meant.best, meant.known, ranked])
        if len(noisy) > 1:  # a space inside, or between two words
            parts.append(
                parted(
                    suggester, context, noisy, typed, len(word) if i % 11 == 5 else 1 + i % (len(noisy) - 1)
                )
            )
        line = np.repeat(at, 6, axis=0)[: 6 * len(at)] + draw.normal(size=(6 * len(at), 2)) * 0.12
        trail = line.round(4)
        drawn = suggester.glide(context, trail, k=3)
        glides.append([context, trail.tolist(), [[c.word, c.score, c.cost] for c in drawn]])
    return {"taps": taps, "glides": glides, "parts": parts}


def parted(
    suggester: suggestions.Suggester, context: list[str], taps: np.ndarray, typed: str, at: int
) -> list[Any]:
    """Taps with a space before number `at`, and what Python makes of both parts."""
    at = min(at, len(taps) - 1)
    part = suggestions.Part(taps[:at], typed[:at])
    found = suggester.correct(context, taps[at:], k=3, typed=typed[at:], part=part)
    ranked = [[c.word, c.score, c.cost, c.joins] for c in found.words]
    return [context, taps.tolist(), typed, at, found.best, found.joins, ranked]


def token_vectors(count: int) -> list[Any]:
    """Text of awkward pieces, and its tokens."""
    draw = np.random.default_rng(5)
    pieces = [
        *"ab'’-.,:!?<>/3_^*@#é ",
        " ",
        "\n",
        "http://",
        "www.",
        "🙂",
        "👍🏽",
        "🇬🇧",
        "\u200d",
        "日",
        "ש",
        "\u0301",
        "\u00ad",
        "\u2011",
        "12",
    ]
    random = ["".join(draw.choice(pieces, int(draw.integers(0, 24))).tolist()) for _ in range(count)]
    return [[text, tokenize(text)] for text in (*TEXTS, *random)]


def listed(folder: Path) -> dict[str, Any]:
    """The English dictionary as a file, and whether spellings are in it, some of them words and some of them not."""
    raw, words = dictionary.raw_of(ENGLISH), dictionary.of_locale(ENGLISH)
    (folder / "dictionary.hashes").write_bytes(raw)
    draw = np.random.default_rng(9)
    noise = ["".join(draw.choice([*"aeinorst"], int(draw.integers(3, 8))).tolist()) for _ in range(2000)]
    some = (
        "kettle",
        "kettles",
        "kettle's",
        "churchs",
        "rosemary",
        "zaphod",
        "zaphods",
        "yes",
        "é",
        "'s",
        "s",
        "",
    )
    asked = [[word, dictionary.lists(words, word, {"zaphod"}.__contains__)] for word in (*some, *noise)]
    return {"file": str(folder / "dictionary.hashes"), "known": "zaphod", "asked": asked}


def capital_vectors(words: Vocabulary, text: Packed) -> list[Any]:
    """Starts of sentences, and forms."""
    found: list[Any] = []
    for context in contexts(words, text, 300, 6):
        found.append([context, starts_sentence(context)])
    for context in (
        [],
        ['"'],
        ["!"],
        ["yes", "!", '"'],
        ["a"] * 70,
        ["."] * 70,
        ["", "a", "."],
        ["7"],
        ["日本"],
        ["मैं", "कल"],
    ):
        found.append([context, starts_sentence(context)])
    forms = [
        [w, cased, start, typed, written(w, cased, start, typed)]
        for w in ("i", "i'm", "the", "Paris", "été", "ß", "'tis", "in")
        for cased in (False, True)
        for start in (False, True)
        for typed in ("", "t", "T", "TH", "Th", "'t", "é", "É")
    ]
    return [found, forms]


def crafted(folder: Path, count: int) -> dict[str, Any]:
    """A file, and copies with other numbers and a CRC that fits: the bytes to change, and what Python says of it."""
    path, copy = folder / "plain.tacit", folder / "crafted.tacit"
    writer.write(path, vocabulary(20), any_weights(3, 20, 4), name="plain")
    data, places = map_file(path, reader.FORM)
    draw = np.random.default_rng(8)

    def number(name: str, at: int, value: float, kind: str) -> list[Any]:
        raw = np.array([value], kind).tobytes()
        return [[places[name][0] + at * len(raw) + i, byte] for i, byte in enumerate(raw)]

    def anywhere(first: int, size: int) -> list[Any]:
        return [[int(first + draw.integers(0, size)), int(draw.integers(0, 256))]]

    values = (*(0.2 * k for k in range(-3, 30)), 50, 300, 3e38, np.inf, -np.inf, np.nan, -0.0, 1e-5, 2e-4)
    changes: list[Any] = [[]]
    for name in ("b1", "b2", "b3"):
        codes = np.unique(np.frombuffer(data, np.uint8, *places[name][::-1]))
        changes += [number(f"t{name}", int(draw.choice(codes)), x, "<f4") for x in values]
    changes += [number(f"tp{n}", 200, x, "<f4") for n in (1, 2, 3, 4) for x in values[-9:]]
    changes += [anywhere(HEADER.size, 16 * len(places)) for _ in range(count)]
    for offset, size in places.values():
        changes += [anywhere(offset, size) for _ in range(count // 10)]
    told = []
    for change in changes:
        raw = bytearray(data)
        for at, byte in change:
            raw[at] = byte
        raw[20:24] = struct.pack("<I", zlib.crc32(raw[HEADER.size :], zlib.crc32(raw[:20])))
        copy.write_bytes(raw)
        try:
            reader.open(copy)
            told.append([change, ""])
        except TacitError as error:
            told.append([change, str(error)])
    assert 50 < sum(not error for _, error in told) < len(told) - 50
    return {"file": str(path), "changes": told}


def write(folder: Path, small: Any, cased: Any) -> None:
    """The files that tests/page/js reads."""
    made: dict[str, Any] = {
        "layout": layout.as_json(),
        "parameters": parameters.as_json(),
        "tokens": token_vectors(1500),
        "dictionary": listed(folder),
        "capitals": capital_vectors(small.vocabulary, small.test),
    }
    for name, model, count in (("small", small, 10_000), ("cased", cased, 1000)):
        stored = reader.open(model.path)
        suggester = suggestions.open(model.path)
        made[name] = {
            "file": str(model.path),
            "suggested": suggested(stored, model.vocabulary, model.test, count),
            "completed": completed(suggester, model.vocabulary, model.test, count // 10),
            **decoded(suggester, model.vocabulary, model.test),
        }
    made["crafted"] = crafted(folder, 80)
    (folder / "vectors.json").write_text(json.dumps(made), "utf-8")
