"""What JavaScript must answer as Python does, for each locale: tokens, capitals, spellings, keys."""

from __future__ import annotations

import random
from typing import Any

from locale_sentences import sentences
from tacit.keyboard import layout
from tacit.keyboard.capitals import starts_sentence, written
from tacit.page.server import locale_json
from tacit.text.locale import Locale, find
from tacit.text.tokens import tokenize

BETWEEN = [*"，。!a’'-\n…😂“”", "", "", "", "", " ", " ", " 5 ", "12", " OK "]


def drawn_sentences(locale: Locale, count: int) -> list[str]:
    """Sentences of the locale's own words in any order, with marks, digits and Latin words in between."""
    draw = random.Random(locale.code)
    words = [word for line in sentences(locale.code) for word in tokenize(line, locale)]
    join = "" if not locale.spaces else " "
    found = []
    for _ in range(count):
        parts = []
        for word in draw.choices(words, k=draw.randint(2, 14)):
            parts += [word, join if draw.random() < 0.8 else draw.choice(BETWEEN)]
        found.append("".join(parts))
    return found


def of(code: str, count: int) -> dict[str, Any]:
    locale = find(code)
    keys = layout.of_locale(locale)
    texts = [*sentences(code), *drawn_sentences(locale, count)]
    words = sorted(
        {word for text in texts[:200] for word in tokenize(text, locale)} | {"well-known", "-a", "Ǆ", "ﬁ"}
    )
    forms = [form for word in words for form in {word, locale.upper(word), locale.capitalise(word)}]
    asked = [(word, typed) for word in words[::5] for typed in ("", word[:1], locale.upper(word[:2]))]
    return {
        "locale": locale_json(locale),
        "layout": layout.as_json(keys),
        "tokens": [[text, tokenize(text, locale)] for text in texts],
        "case": [[form, locale.lower(form), locale.upper(form), locale.capitalise(form)] for form in forms],
        "spelt": [[form, layout.spell(form, keys)] for form in forms],
        "written": [
            [word, cased, start, typed, written(word, cased, start, typed, locale)]
            for word, typed in asked
            for cased in (False, True)
            for start in (False, True)
        ],
        "starts": [
            [context, starts_sentence(context, locale)]
            for context in ([], ["a", "."], ["a", ".", "¿"], ["¡"], ["a", "¿"], ["a", "!", "¡", "¿"], ["a"])
        ],
    }
