"""The slots of the grammar: noun phrases, verb phrases, subjects and times that agree with one another.

Each function writes words onto a `Draft`. What it must remember (who is spoken about, what was mentioned)
stays on the draft, so a pronoun many words later still has the right gender and a verb the right number.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from tacit.text.typists import rules
from tacit.text.typists.clock import DAY_NAMES, MONTH_NAMES
from tacit.text.typists.grammar import Draft, Resolve, Rule, Slot, expand, parse_rules
from tacit.text.typists.morphology import article, compared, inflect
from tacit.text.typists.world import PEOPLE, PROPER, Event, NounClass, Topic, parse_topics, words
from tacit.text.typists.zipf import Ranked, weighted, zipf

OPPOSITE = {"+": "-", "-": "+"}
POSSESSIVE = {"i": "my", "we": "our", "you": "your", "he": "his", "she": "her", "they": "their", "it": "its"}
OBJECT = {"i": "me", "we": "us", "you": "you", "he": "him", "she": "her", "they": "them", "it": "it"}
BE = {"i": "am", "he": "is", "she": "is", "it": "is"}
WAS = {"i": "was", "he": "was", "she": "was", "it": "was"}
THIRD = frozenset(("he", "she", "it"))

KIN = zipf([(word.replace("_", " "), "she" if sex == "f" else "he") for sex, word in
            (entry.split(":") for entry in rules.KIN.split())])  # fmt: skip
FEEL = {"+": zipf(words(rules.FEEL_GOOD), 0.8), "-": zipf(words(rules.FEEL_BAD), 0.8)}
NUMBERS = zipf(["two", "three", "2", "3", "four", "five", "10", "six", "4", "5", "20", "ten", "seven", "eight", "12",
                "30", "15", "6", "50", "nine", "100", "25", "twenty", "40", "7", "8", "a million"])  # fmt: skip
CLOCKS = zipf(["7", "8", "6", "5", "9", "7:30", "1", "10", "12", "6:30", "half 7", "2", "8:30", "4", "7pm", "3", "11",
               "5:30", "8pm", "half 8", "midday", "9:30", "6pm", "2:30", "noon", "half 5", "4:30", "10am", "9am",
               "midnight", "3:15", "11:45", "1:20", "5:45", "10:15", "7:45"])  # fmt: skip
PRICES = zipf(["£20", "£10", "£50", "£5", "£100", "$20", "$50", "£15", "$10", "£30", "$100", "£40", "£200", "$5", "£8",
               "£25", "$40", "a tenner", "a fiver", "£500", "$15", "$200", "$30", "£1000", "£12.50"])  # fmt: skip
SPANS = zipf(["all day", "an hour", "the whole day", "two hours", "ages", "all morning", "the whole weekend",
              "three hours", "half an hour", "the afternoon", "20 minutes", "all night", "a week", "months"])  # fmt: skip
SUBJECTS = weighted(["i", "we", "name", "kin", "me and", "role", "both"], [46, 13, 15, 13, 5, 4, 3])
OTHERS = weighted(["name", "kin", "role", "both"], [8, 7, 2, 2])
DETERMINERS = {
    "c": weighted(["a", "the", "own", "that", "this", "another", "many", "some many", "number many", "the many"],
                  [34, 15, 11, 5, 3, 6, 9, 7, 4, 4]),
    "d": weighted(["the", "own", "a", "that", "this", "the many"], [46, 30, 9, 6, 4, 4]),
    "m": weighted(["", "some", "the", "own", "more", "loads of"], [36, 26, 16, 8, 8, 5]),
    "l": weighted(["the many", "some many", "own many", "many", "more many", "those many"], [30, 22, 17, 18, 6, 6]),
}  # fmt: skip
DEFINITE = {
    "c": weighted(["the", "that", "own", "this", "the many", "those many"], [48, 15, 14, 8, 10, 5]),
    "d": weighted(["the", "own", "that", "this"], [56, 32, 6, 5]),
    "m": weighted(["the", "that", "own", "this"], [60, 15, 14, 8]),
    "l": weighted(["the many", "those many", "own many", "these many"], [58, 14, 18, 9]),
}


def _say(draft: Draft, text: str) -> None:
    draft.words += text.split()


# --- noun phrases ---------------------------------------------------------------------------------


def _noun(draft: Draft, nouns: NounClass) -> int:
    """Which noun of a class: the person's favourites. Gives its place in the class."""
    return draft.person.pick("label", (draft.topic.name, "noun", nouns.name), _places(len(nouns.one.items), nouns.one))


@cache
def _numbers(count: int) -> range:
    return range(count)


def _places(count: int, ranked: Ranked[str]) -> Ranked[int]:
    return Ranked(_numbers(count), ranked.cdf)


def _phrase(draft: Draft, nouns: NounClass, determiners: Ranked[str], modified: float) -> None:
    """A noun with its determiner and perhaps an adjective, remembered as what was last spoken about."""
    place = _noun(draft, nouns)
    rng = draft.rng
    form = determiners.draw(rng)
    many = form.endswith("many")
    noun = nouns.many[place] if many else nouns.one.items[place]
    if rng.random() < modified:
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
    """The slot {class}, a noun phrase, or {class-}, the noun alone."""
    if bare or nouns.kind not in DETERMINERS:

        def slot(draft: Draft) -> None:
            _say(draft, nouns.one.items[_noun(draft, nouns)])

    else:
        determiners = DETERMINERS[nouns.kind]

        def slot(draft: Draft) -> None:
            _phrase(draft, nouns, determiners, 0.15)

    return slot


def thing(draft: Draft, _: str) -> None:
    nouns = draft.topic.spoken.draw(draft.rng)
    _phrase(draft, nouns, DEFINITE[nouns.kind], 0.15)


def things(draft: Draft, _: str) -> None:
    nouns = draft.topic.spoken.draw(draft.rng)
    place = _noun(draft, nouns)
    if draft.rng.random() < 0.12:
        _say(draft, draft.topic.modifiers.draw(draft.rng))
    _say(draft, nouns.many[place])
    draft.thing = "it" if nouns.kind == "m" else "they"


def noun(draft: Draft, _: str) -> None:
    nouns = next(c for c in draft.topic.spoken.items if c.kind in "cd")
    _say(draft, nouns.one.items[_noun(draft, nouns)])


def _before(inner: Callable[[Draft, str], None]) -> Callable[[Draft, str], None]:
    """is/are in front of a noun phrase that is not yet written: "are the shoes"."""

    def slot(draft: Draft, argument: str) -> None:
        at = len(draft.words)
        inner(draft, argument)
        draft.words.insert(at, "are" if draft.thing == "they" else "is")

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
        draft.words.append("and")
        name(draft, "")
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


def _verb(verb: str, form: str, who: str) -> str:
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
    draft.words.append(_verb(chosen.verb, form, who))
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
    draft.words.append(_verb(chosen.verb, form, chosen.agrees))
    expand(chosen.rest, draft)
    draft.subject = before


def event(draft: Draft, form: str) -> None:
    key = (draft.topic.name, "event", draft.mood)
    _happen(draft, draft.person.pick("label", key, draft.topic.events[draft.mood]), form)


def setback(draft: Draft, form: str) -> None:
    key = (draft.topic.name, "event", "-")
    _happen(draft, draft.person.pick("label", key, draft.topic.events["-"]), form)


# --- time and place -------------------------------------------------------------------------------


@cache
def _whens(tense: str, part: str, weekday: int) -> Ranked[str]:
    """Time words that fit the hour and the day on which they are typed."""
    if tense == "past":
        options = {"yesterday": 6.0, "last night": 5.0 if part == "morning" else 3.0, "last week": 2, "the other day": 2,
                   "earlier": 0.0 if part == "morning" else 3.0, "this morning": 0.0 if part == "morning" else 4.0,
                   "at the weekend": 5.0 if weekday < 2 else 1.0, "two days ago": 1, "a few weeks ago": 1, "last month": 1,
                   "at lunch": 2.0 if part in ("day", "evening") else 0.5, "ages ago": 0.5, "last year": 0.5}  # fmt: skip
        days = {f"on {DAY_NAMES[(weekday - back) % 7]}": 1.0 for back in (2, 3, 4)}
    else:
        options = {"tomorrow": 6.0, "tonight": 0.5 if part == "night" else 5.0, "later": 3.0, "next week": 2.0,
                   "this weekend": 6.0 if weekday in (3, 4) else 1.0, "after work": 0.2 if weekday > 4 else 2.5,
                   "this afternoon": 3.0 if part == "morning" else 0.0, "in the morning": 3.0 if part == "night" else 1.0,
                   "tomorrow night": 1.0, "at lunch": 2.0 if part == "morning" else 0.0, "next month": 0.7,
                   "soon": 1.0, "one day": 0.4, "in the summer": 0.6, "next year": 0.4}  # fmt: skip
        days = {f"on {DAY_NAMES[(weekday + ahead) % 7]}": 1.0 for ahead in (2, 3, 4)}
    kept = {word: weight for word, weight in {**options, **days}.items() if weight > 0}
    return weighted(list(kept), list(kept.values()))


def when(draft: Draft, tense: str) -> None:
    options = _whens(tense, draft.moment.part, draft.moment.weekday)
    _say(draft, options.draw(draft.rng))
    if tense == "fut" and draft.rng.random() < 0.12:
        _say(draft, f"at {CLOCKS.draw(draft.rng)}")


def place(draft: Draft, _: str) -> None:
    expand(draft.person.pick("label", (draft.topic.name, "place"), draft.topic.places), draft)


def day(draft: Draft, _: str) -> None:
    draft.words.append(DAY_NAMES[int(draft.rng.random() * 7)])


def today(draft: Draft, _: str) -> None:
    draft.words.append(DAY_NAMES[draft.moment.weekday])


def month(draft: Draft, _: str) -> None:
    draft.words.append(MONTH_NAMES[int(draft.rng.random() * len(MONTH_NAMES))])


# --- the table of slots ---------------------------------------------------------------------------


def _from(ranked: Ranked[str]) -> Callable[[Draft, str], None]:
    return lambda draft, _: _say(draft, ranked.draw(draft.rng))


def _proper(kind: str) -> Callable[[Draft, str], None]:
    return lambda draft, _: _say(draft, draft.person.pick("label", kind, PROPER[kind]))


def _agreeing(table: dict[str, str], default: str) -> Callable[[Draft, str], None]:
    return lambda draft, _: draft.words.append(table.get(draft.subject, default))


def _about(one: str, many: str) -> Callable[[Draft, str], None]:
    """Words that agree with what was last spoken about."""
    return lambda draft, _: _say(draft, many if draft.thing == "they" else one)


def _possessive(draft: Draft, argument: str) -> None:
    draft.words.append(argument or POSSESSIVE[draft.subject])


def _by_mood(draft: Draft, argument: str) -> None:
    grammar()[0][argument + draft.mood].write(draft)


SLOTS: dict[str, Callable[[Draft, str], None]] = {
    "subj": subject, "subj3": other, "subj1": single, "name": name, "with": company,
    "they": lambda draft, _: draft.words.append(draft.subject),
    "them": _agreeing({k: v for k, v in OBJECT.items() if k not in "i"}, "us"),
    "poss": _possessive,
    "do": act, "event": event, "down": setback,
    "v": lambda draft, verb: draft.words.append(_verb(verb, "pres", draft.subject)),
    "be": _agreeing(BE, "are"), "was": _agreeing(WAS, "were"),
    "have": _agreeing(dict.fromkeys(THIRD, "has"), "have"), "would": lambda draft, _: draft.words.append("would"),
    "thing": thing, "things": things, "noun": noun, "isthing": _before(thing), "arethings": _before(things),
    "itwas": _about("it was", "they were"), "it3": _about("it is", "they are"),
    "was3": _about("was", "were"), "is3": _about("is", "are"), "are3": _about("is", "are"),
    "adj": adjective, "feel": feel, "who": role, "s": _by_mood,
    "when": when, "at": place, "day": day, "today": today, "month": month,
    "num": _from(NUMBERS), "clock": _from(CLOCKS), "price": _from(PRICES), "span": _from(SPANS),
    "num5": _from(zipf(["5", "10", "15", "20", "two", "30", "five", "2", "ten", "45", "25", "12"])),
    "ord": _from(zipf(["second", "third", "fourth", "fifth", "hundredth"])),
    "age": _from(zipf(["30", "40", "50", "18", "21", "60", "70", "1", "80", "16", "90", "13", "65"])),
    **{kind: _proper(kind) for kind in PROPER},
}  # fmt: skip


def _set_subject(who: str) -> Slot:
    def slot(draft: Draft) -> None:
        draft.subject = who

    return slot


def _resolver(classes: dict[str, NounClass]) -> Resolve:
    def resolve(name: str, argument: str) -> Slot:
        bare = name.rstrip("-+")
        if bare in classes:
            return class_slot(classes[bare], bare != name)
        if name.startswith("="):
            return _set_subject(name[1:])
        if name in SLOTS:
            slot = SLOTS[name]
            return lambda draft: slot(draft, argument)
        return lambda draft: grammar()[0][name].write(draft)

    return resolve


@cache
def grammar() -> tuple[dict[str, Rule], Ranked[Topic]]:
    """The rules and topics, compiled on first use."""
    return parse_rules(rules.TEXT, _resolver({})), parse_topics(_resolver)
