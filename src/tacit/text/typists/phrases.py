"""Writes the slots of the grammar: noun phrases, verb phrases, subjects and places that agree with one another.

Each function appends words to a `Draft`. The draft stores the subject and the thing last mentioned, so that a later
pronoun has the right gender and a later verb the right number.
"""

from __future__ import annotations

from collections.abc import Callable

from tacit.text.typists import rules
from tacit.text.typists.grammar import Draft, Slot, expand
from tacit.text.typists.lexicon import counts
from tacit.text.typists.morphology import article, compared, inflect
from tacit.text.typists.times import barred
from tacit.text.typists.world import PEOPLE, Event, NounClass, words
from tacit.text.typists.zipf import weighted, zipf

OPPOSITE = {"+": "-", "-": "+"}
POSSESSIVE = {"i": "my", "we": "our", "you": "your", "he": "his", "she": "her", "they": "their", "it": "its"}
OBJECT = {"i": "me", "we": "us", "you": "you", "he": "him", "she": "her", "they": "them", "it": "it"}
BE = {"i": "am", "he": "is", "she": "is", "it": "is"}
WAS = {"i": "was", "he": "was", "she": "was", "it": "was"}
THIRD = frozenset(("he", "she", "it"))

_KIN = [entry.split(":") for entry in rules.KIN.split()]
KIN = zipf([(word.replace("_", " "), "she" if sex == "f" else "he") for sex, word in _KIN])
FEEL = {"+": zipf(words(rules.FEEL_GOOD), 0.8), "-": zipf(words(rules.FEEL_BAD), 0.8)}
NUMBERS = barred(counts.NUMBERS)
SUBJECTS = weighted(["i", "we", "name", "kin", "me and", "role", "both"], [46, 13, 15, 13, 5, 4, 3])
OTHERS = weighted(["name", "kin", "role", "both"], [8, 7, 2, 2])
# "own" is the subject's possessive; a form that ends in "many" takes the plural.
_FORMS = ["a", "the", "own", "many", "some many", "another", "that", "number many", "the many", "this"]
DETERMINERS = {
    "o": weighted(["own"], [1]),
    "c": weighted(_FORMS, [34, 15, 11, 9, 7, 6, 5, 4, 4, 3]),
    "d": weighted(["the", "own", "a", "that", "this", "the many"], [46, 30, 9, 6, 4, 4]),
    "m": weighted(["", "some", "the", "own", "more", "loads of"], [36, 26, 16, 8, 8, 5]),
    "l": weighted(["the many", "some many", "many", "own many", "those many"], [30, 24, 20, 17, 6]),
}
DEFINITE = {
    "o": weighted(["own"], [1]),
    "c": weighted(["the", "that", "own", "the many", "this", "those many"], [48, 15, 14, 10, 8, 5]),
    "d": weighted(["the", "own", "that", "this"], [56, 32, 6, 5]),
    "m": weighted(["the", "that", "own", "this"], [60, 15, 14, 8]),
    "l": weighted(["the many", "own many", "those many", "these many"], [58, 18, 14, 9]),
}


def _say(draft: Draft, text: str) -> None:
    draft.words += text.split()


# --- noun phrases ---------------------------------------------------------------------------------


def _noun(draft: Draft, nouns: NounClass) -> int:
    """Picks a noun of a class by the person's habit and returns its index."""
    return draft.person.pick("label", (draft.topic.name, "noun", nouns.name), nouns.places)


def _phrase(draft: Draft, nouns: NounClass, definite: bool) -> None:
    """Writes a noun with its determiner and perhaps an adjective, and stores it as the thing last mentioned."""
    place = _noun(draft, nouns)
    rng = draft.rng
    determiners = (DEFINITE if definite else DETERMINERS)[nouns.kind]
    form = draft.person.pick("turn", ("determiner", nouns.kind, definite), determiners)
    many = form.endswith("many")
    noun = nouns.many[place] if many else nouns.one[place]
    if rng.random() < nouns.modified:
        key = (draft.topic.name, "modifier")
        noun = f"{draft.person.pick('label', key, draft.topic.modifiers)} {noun}"
    first = form.removesuffix("many").strip()
    if first == "own":
        first = POSSESSIVE[draft.subject]
    elif first == "a":
        first = article(noun)
    elif first == "number":
        first = NUMBERS.draw(rng)
    _say(draft, f"{first} {noun}")
    draft.thing = "they" if many else "it"


def class_slot(nouns: NounClass, bare: bool) -> Slot:
    """Returns the slot {class}, a noun phrase, or {class-}, the noun alone."""
    if bare or nouns.kind not in DETERMINERS:

        def slot(draft: Draft) -> None:
            _say(draft, nouns.one[_noun(draft, nouns)])

    else:

        def slot(draft: Draft) -> None:
            _phrase(draft, nouns, definite=False)

    return slot


def thing(draft: Draft, _: str) -> None:
    nouns = draft.topic.spoken.draw(draft.rng)
    _phrase(draft, nouns, definite=True)


def things(draft: Draft, _: str) -> None:
    nouns = draft.topic.spoken.draw(draft.rng)
    place = _noun(draft, nouns)
    if draft.rng.random() < nouns.modified:
        _say(draft, draft.topic.modifiers.draw(draft.rng))
    _say(draft, nouns.many[place])
    draft.thing = "it" if nouns.kind == "m" else "they"


def noun(draft: Draft, _: str) -> None:
    nouns = next(c for c in draft.topic.spoken.items if c.kind in "cdo")
    _say(draft, nouns.one[_noun(draft, nouns)])


def be_before(inner: Callable[[Draft, str], None]) -> Callable[[Draft, str], None]:
    """Writes is or are before a noun phrase, to agree with it: "are the shoes"."""

    def slot(draft: Draft, argument: str) -> None:
        start = len(draft.words)
        inner(draft, argument)
        draft.words.insert(start, "are" if draft.thing == "they" else "is")

    return slot


def adjective(draft: Draft, argument: str) -> None:
    mood = OPPOSITE[draft.mood] if argument == "opp" else draft.mood
    key = (draft.topic.name, "adjective", mood)
    word = draft.person.pick("shift", key, draft.topic.adjectives[mood])
    _say(draft, compared(word, argument) if argument in ("er", "est") else word)


def feel(draft: Draft, argument: str) -> None:
    mood = OPPOSITE[draft.mood] if argument == "opp" else draft.mood
    _say(draft, draft.person.pick("shift", ("feel", mood), FEEL[mood]))


def role(draft: Draft, _: str) -> None:
    _say(draft, draft.person.pick("label", (draft.topic.name, "role"), draft.topic.roles))


# --- people ---------------------------------------------------------------------------------------


def name(draft: Draft, _: str) -> None:
    word, draft.subject = draft.person.pick("label", "name", PEOPLE)
    draft.words.append(word)


def _subject(draft: Draft, who: str) -> None:
    if who in ("i", "we"):
        draft.words.append(who)
        draft.subject = who
    elif who == "name":
        name(draft, "")
    elif who == "kin":
        word, draft.subject = draft.person.pick("label", "kin", KIN)
        _say(draft, f"my {word}")
    elif who == "role":
        _say(draft, "the")
        role(draft, "")
        draft.subject = "she" if draft.rng.random() < 0.5 else "he"
    elif who == "me and":
        _say(draft, "me and")
        name(draft, "")
        draft.subject = "we"
    else:
        name(draft, "")
        first = draft.words[-1]
        draft.words.append("and")
        name(draft, "")
        while draft.words[-1] == first:  # the two names must differ
            draft.words[-1] = PEOPLE.draw(draft.rng)[0]
        draft.subject = "they"


def subject(draft: Draft, argument: str) -> None:
    if argument == "obj":
        draft.words.append(OBJECT[draft.subject])
    else:
        _subject(draft, draft.person.pick("feature", "subject", SUBJECTS))


def other(draft: Draft, _: str) -> None:
    _subject(draft, OTHERS.draw(draft.rng))


def single(draft: Draft, _: str) -> None:
    _subject(draft, "name" if draft.rng.random() < 0.5 else "kin")


def both(draft: Draft, _: str) -> None:
    _subject(draft, "both")


def company(draft: Draft, _: str) -> None:
    before = draft.subject
    draft.words.append("with")
    if draft.rng.random() < 0.6:
        name(draft, "")
    else:
        word, _sex = draft.person.pick("label", "kin", KIN)
        _say(draft, f"{POSSESSIVE[before]} {word}")
    draft.subject = before


# --- verbs ----------------------------------------------------------------------------------------


def verb_form(verb: str, form: str, who: str) -> str:
    if form == "pres":
        return BE.get(who, "are") if verb == "be" else inflect(verb, "s" if who in THIRD else "base")
    if form == "past" and verb == "be":
        return WAS.get(who, "were")
    return inflect(verb, form)


def act(draft: Draft, form: str) -> None:
    done = form in ("past", "pp")
    key = (draft.topic.name, "act", done)
    chosen = draft.person.pick("label", key, draft.topic.acts if done else draft.topic.planned)
    who = draft.subject
    draft.words.append(verb_form(chosen.verb, form, who))
    expand(chosen.rest, draft)
    draft.subject = who


def _happen(draft: Draft, chosen: Event, form: str) -> None:
    before = draft.subject
    draft.subject = chosen.agrees if chosen.agrees in ("i", "we") else "i"
    expand(chosen.subject, draft)
    draft.subject = "i" if draft.subject not in ("i", "we") else draft.subject
    if form == "perf":
        draft.words.append("has" if chosen.agrees == "it" else "have")
        draft.words += ["just"] if draft.rng.random() < 0.5 else []
        form = "pp"
    draft.words.append(verb_form(chosen.verb, form, chosen.agrees))
    expand(chosen.rest, draft)
    draft.subject = before


def event(draft: Draft, form: str) -> None:
    key = (draft.topic.name, "event", draft.mood)
    _happen(draft, draft.person.pick("label", key, draft.topic.events[draft.mood]), form)


def setback(draft: Draft, form: str) -> None:
    key = (draft.topic.name, "event", "-")
    _happen(draft, draft.person.pick("label", key, draft.topic.events["-"]), form)


# --- place ----------------------------------------------------------------------------------------


def place(draft: Draft, _: str) -> None:
    expand(draft.person.pick("label", (draft.topic.name, "place"), draft.topic.places), draft)
