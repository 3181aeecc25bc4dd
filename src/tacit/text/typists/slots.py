"""Maps each slot {name} of rules and lexicon entries to the function that writes it, and compiles the grammar."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from tacit.text.typists import phrases as p
from tacit.text.typists import rules, times
from tacit.text.typists.grammar import Draft, Resolve, Rule, Slot, parse_rules
from tacit.text.typists.lexicon import counts
from tacit.text.typists.phrases import BE, OBJECT, POSSESSIVE, THIRD, WAS
from tacit.text.typists.times import CLOCKS, barred
from tacit.text.typists.world import PROPER, NounClass, Topic, parse_topics
from tacit.text.typists.zipf import Ranked

Writer = Callable[[Draft, str], None]


def _from(ranked: Ranked[str]) -> Writer:
    def write(draft: Draft, _: str) -> None:
        draft.words += ranked.draw(draft.rng).split()

    return write


def _proper(kind: str) -> Writer:
    def write(draft: Draft, _: str) -> None:
        draft.words += draft.person.pick("label", kind, PROPER[kind]).split()

    return write


def _agreeing(table: dict[str, str], default: str) -> Writer:
    """Returns a writer of a word that agrees with the subject."""
    return lambda draft, _: draft.words.append(table.get(draft.subject, default))


def _about(one: str, many: str) -> Writer:
    """Returns a writer of words that agree with the thing last mentioned."""

    def write(draft: Draft, _: str) -> None:
        draft.words += (many if draft.thing == "they" else one).split()

    return write


def _possessive(draft: Draft, argument: str) -> None:
    draft.words.append(argument or POSSESSIVE[draft.subject])


def _pronoun(draft: Draft, _: str) -> None:
    draft.words.append(draft.subject)


def _verb(draft: Draft, verb: str) -> None:
    draft.words.append(p.verb_form(verb, "pres", draft.subject))


def _by_mood(draft: Draft, argument: str) -> None:
    grammar()[0][argument + draft.mood].write(draft)


SLOTS: dict[str, Writer] = {
    # people
    "subj": p.subject,
    "subj3": p.other,
    "subj1": p.single,
    "both": p.both,
    "name": p.name,
    "with": p.company,
    "they": _pronoun,
    "them": _agreeing({**OBJECT, "i": "us"}, "us"),
    "poss": _possessive,
    "who": p.role,
    # verbs
    "do": p.act,
    "event": p.event,
    "down": p.setback,
    "v": _verb,
    "be": _agreeing(BE, "are"),
    "was": _agreeing(WAS, "were"),
    "have": _agreeing(dict.fromkeys(sorted(THIRD), "has"), "have"),
    # things and comments on them
    "thing": p.thing,
    "things": p.things,
    "noun": p.noun,
    "isthing": p.be_before(p.thing),
    "arethings": p.be_before(p.things),
    "itwas": _about("it was", "they were"),
    "it3": _about("it is", "they are"),
    "was3": _about("was", "were"),
    "is3": _about("is", "are"),
    "are3": _about("is", "are"),
    "adj": p.adjective,
    "feel": p.feel,
    "s": _by_mood,
    # time, place, number
    "when": times.when,
    "day": times.day,
    "today": times.today,
    "month": times.month,
    "at": p.place,
    "num": _from(p.NUMBERS),
    "clock": _from(CLOCKS),
    "price": _from(barred(counts.PRICES)),
    "span": _from(barred(counts.SPANS)),
    "num5": _from(barred(counts.MINUTES)),
    "ord": _from(barred(counts.ORDINALS)),
    "age": _from(barred(counts.AGES)),
    **{kind: _proper(kind) for kind in PROPER},
}


def _set_subject(who: str) -> Slot:
    def slot(draft: Draft) -> None:
        draft.subject = who

    return slot


def _resolver(classes: dict[str, NounClass]) -> Resolve:
    def resolve(name: str, argument: str) -> Slot:
        bare = name.rstrip("-+")
        if bare in classes:
            return p.class_slot(classes[bare], bare != name)
        if name.startswith("="):
            return _set_subject(name[1:])
        if name in SLOTS:
            slot = SLOTS[name]
            return lambda draft: slot(draft, argument)
        return lambda draft: grammar()[0][name].write(draft)

    return resolve


@cache
def grammar() -> tuple[dict[str, Rule], Ranked[Topic]]:
    """Returns the rules and topics, compiled on first use."""
    return parse_rules(rules.TEXT, _resolver({})), parse_topics(_resolver)
