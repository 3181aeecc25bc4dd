"""Inflects English verbs, nouns and adjectives and chooses a or an, so that the lexicon lists each word once.

Spelling rules cover the regular forms (try/tried, bake/baking, box/boxes); `lexicon.verbs` lists the others.
"""

from __future__ import annotations

from functools import cache

from tacit.text.typists.lexicon import verbs

_VOWELS = "aeiou"


def _table(text: str) -> dict[str, list[str]]:
    pairs = (entry.split(":") for entry in text.split())
    return {base: forms.split(",") for base, forms in pairs}


_IRREGULAR = _table(verbs.IRREGULAR)
_PLURALS = _table(verbs.PLURALS)
_COMPARED = _table(verbs.COMPARED)
_DOUBLING = frozenset(verbs.DOUBLING.split())


def _stem(verb: str) -> str:
    """Returns the stem before an ending with a vowel: doubled (stop: stopp) or without its e (bake: bak)."""
    if verb in _DOUBLING:
        return verb + verb[-1]
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")):
        return verb[:-1]
    return verb


@cache
def inflect(verb: str, form: str) -> str:
    """Returns a verb in one of the forms base, s, past, pp, ing.

    >>> [inflect("try", form) for form in ("base", "s", "past", "pp", "ing")]
    ['try', 'tries', 'tried', 'tried', 'trying']
    >>> inflect("forget", "ing"), inflect("write", "pp"), inflect("swap", "past")
    ('forgetting', 'written', 'swapped')
    """
    if form == "base":
        return verb
    if form == "s":
        return {"be": "is", "have": "has"}.get(verb) or plural(verb, noun=False)
    if form == "ing":
        return {"lie": "lying", "die": "dying", "be": "being"}.get(verb) or _stem(verb) + "ing"
    if verb in _IRREGULAR:
        return _IRREGULAR[verb][0 if form == "past" else -1]
    if verb.endswith("y") and verb[-2] not in _VOWELS:
        return verb[:-1] + "ied"
    if verb.endswith(("ee", "oe", "ye")):
        return verb + "d"
    return _stem(verb) + "ed"


@cache
def plural(word: str, noun: bool = True) -> str:
    """Returns the plural of a noun, or with noun=False the -s form of a verb.

    >>> plural("box"), plural("pastry"), plural("shelf"), plural("go", noun=False)
    ('boxes', 'pastries', 'shelves', 'goes')
    """
    if noun and word in _PLURALS:
        return _PLURALS[word][0]
    if noun and " " in word:
        head, _, last = word.rpartition(" ")
        return f"{head} {plural(last)}"
    if word.endswith("y") and word[-2:-1] not in _VOWELS:
        return word[:-1] + "ies"
    if word.endswith(("s", "x", "z", "ch", "sh")) or (not noun and word.endswith("o")):
        return word + "es"
    return word + "s"


@cache
def compared(adjective: str, degree: str) -> str:
    """Returns an adjective's comparative ("er") or superlative ("est"), with more or most if it is long.

    >>> compared("tidy", "er"), compared("good", "est"), compared("delicious", "er")
    ('tidier', 'best', 'more delicious')
    """
    if adjective in _COMPARED:
        return _COMPARED[adjective][0 if degree == "er" else 1].replace("_", " ")
    syllables = sum(
        c in "aeiouy" and (i == 0 or adjective[i - 1] not in "aeiouy") for i, c in enumerate(adjective)
    ) - adjective.endswith("e")
    more = "more" if degree == "er" else "most"
    if syllables > 2 or adjective.endswith(
        ("ed", "ing", "ful", "less", "ous", "ive", "ant", "ent", "en", "ic", "al")
    ):
        return f"{more} {adjective}"
    if adjective.endswith("y") and adjective[-2] not in _VOWELS:
        return f"{adjective[:-1]}i{degree}"
    if syllables > 1:
        return f"{more} {adjective}"
    if adjective.endswith("e"):
        return adjective + degree[1:]
    if adjective[-1] not in "wxy" and adjective[-2] in _VOWELS and adjective[-3:-2] not in tuple(_VOWELS):
        return adjective + adjective[-1] + degree
    return adjective + degree


def article(word: str) -> str:
    """Returns a or an, by the sound that the word starts with.

    >>> article("hour"), article("unique"), article("omelette")
    ('an', 'a', 'an')
    """
    lower = word.lower()
    if lower.startswith(("uni", "use", "uku", "euro", "one")):
        return "a"
    if lower.startswith(("hour", "honest", "heir", "x-ray")):
        return "an"
    return "an" if lower[:1] in _VOWELS else "a"
