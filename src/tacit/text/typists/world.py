"""Builds the world that the typists share: topics from the lexicon, and invented names of places, teams and shows."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from tacit.text.typists import rules
from tacit.text.typists.grammar import Resolve, Template, compile_template
from tacit.text.typists.lexicon import names, topics_days, topics_leisure, topics_people, topics_table, verbs
from tacit.text.typists.morphology import plural
from tacit.text.typists.zipf import Ranked, weighted, zipf

TOPIC_TEXTS = (topics_table.TEXT, topics_days.TEXT, topics_people.TEXT, topics_leisure.TEXT)
_FIELDS = frozenset(("emoji", "do", "mod", "good", "bad", "up", "down", "at", "who", "say"))

_UNPLANNED = tuple(start.replace("_", " ") for start in verbs.UNPLANNED.split())


class NounClass(NamedTuple):
    """Nouns that fit the same slot; `kind` is a letter of the lexicon format."""

    name: str
    kind: str
    modified: float  # probability of an adjective before the noun
    places: Ranked[int]  # indices into the two lists below
    one: list[str]  # singular
    many: list[str]  # plural


class Act(NamedTuple):
    """An act: a verb to inflect and the rest of its phrase."""

    verb: str
    rest: Template


class Event(NamedTuple):
    """An event: its subject, a verb to inflect and the rest of the phrase."""

    subject: Template
    agrees: str  # what the verb agrees with: i, we, they or it
    verb: str
    rest: Template


@dataclass(frozen=True)
class Topic:
    """A topic of messages, with its words."""

    name: str
    classes: dict[str, NounClass]
    spoken: Ranked[NounClass]  # the classes that messages comment on
    acts: Ranked[Act]
    planned: Ranked[Act]  # the acts that people would propose, without those that happen to them
    modifiers: Ranked[str]
    adjectives: dict[str, Ranked[str]]  # by mood
    events: dict[str, Ranked[Event]]  # by mood
    places: Ranked[Template]
    roles: Ranked[str]
    lines: Ranked[Template]
    emoji: dict[str, Ranked[str]]  # by mood


def words(text: str) -> list[str]:
    """Splits a list at white space; an underscore in an item becomes a space."""
    return [word.replace("_", " ") for word in text.split()]


def _noun_class(name: str, kind: str, text: str, first: bool) -> NounClass:
    one = words(text)
    many = one if kind in "mlbp" else [plural(word) for word in one]
    return NounClass(name, kind, 0.22 if first else 0.0, zipf(range(len(one))), one, many)


def _mixed(special: list[str], general: list[str], share: float) -> Ranked[str]:
    """Mixes a topic's own words, with probability `share`, with general ones."""
    a, b = zipf(special, 0.7), zipf(general, 1.0)

    def steps(ranked: Ranked[str]) -> list[float]:
        return [y - x for x, y in zip([0.0, *ranked.cdf[:-1]], ranked.cdf, strict=True)]

    weights = [share * p for p in steps(a)] + [(1 - share) * p for p in steps(b)]
    return weighted([*special, *general], weights)


def _event(text: str, compiled: Callable[[str], Template]) -> Event:
    subject, phrase = text.split("|")
    verb, _, rest = phrase.partition(" ")
    agrees = (
        "they" if subject.endswith("*") or subject == "they" else subject if subject in ("i", "we") else "it"
    )
    return Event(compiled(subject.rstrip("*")), agrees, verb, compiled(rest))


def _topic(name: str, entries: dict[str, str], resolve: Callable[[dict[str, NounClass]], Resolve]) -> Topic:
    classes: dict[str, NounClass] = {}
    for key, text in entries.items():
        if key not in _FIELDS:
            label, kind = key.split()
            classes[label] = _noun_class(label, kind, text, first=not classes)
    lookup = resolve(classes)

    def compiled(text: str) -> Template:
        return compile_template(text, lookup)

    def several(key: str) -> list[str]:
        return [part.strip() for part in entries[key].split(";")]

    acts, planned = [], []
    for text in several("do"):
        verb, _, rest = text.partition(" ")
        acts.append(Act(verb, compiled(rest)))
        if not any(f"{text} ".startswith(f"{start} ") for start in _UNPLANNED):
            planned.append(acts[-1])
    spoken = [c for c in classes.values() if c.kind in "cdmlo"]
    return Topic(
        name=name,
        classes=classes,
        spoken=weighted(spoken, [1 / (rank + 1) for rank in range(len(spoken))]),
        acts=zipf(acts, 0.7),
        planned=zipf(planned, 0.7),
        modifiers=zipf(words(entries["mod"]), 0.7),
        adjectives={
            "+": _mixed(words(entries["good"]), words(rules.GENERAL_GOOD), 0.7),
            "-": _mixed(words(entries["bad"]), words(rules.GENERAL_BAD), 0.7),
        },
        events={
            "+": zipf([_event(text, compiled) for text in several("up")], 0.5),
            "-": zipf([_event(text, compiled) for text in several("down")], 0.5),
        },
        places=zipf([compiled(text) for text in several("at")], 0.7),
        roles=zipf(words(entries["who"])),
        lines=zipf([compiled(text) for text in several("say")], 0.3),
        emoji={
            "+": _mixed(entries["emoji"].split(), rules.EMOJI_GOOD.split(), 0.55),
            "-": _mixed(entries["emoji"].split(), rules.EMOJI_BAD.split(), 0.35),
        },
    )


def parse_topics(resolve: Callable[[dict[str, NounClass]], Resolve]) -> Ranked[Topic]:
    """Parses all topics with their weights; `resolve` maps slot names to functions, a topic's noun classes first."""
    topics, weights = [], []
    for text in TOPIC_TEXTS:
        for block in text.split("\n# ")[1:]:
            header, _, body = block.partition("\n")
            name, weight = header.split()
            # an indented line continues the entry above it
            lines = re.sub(r"\n\s+", " ", body.strip()).split("\n")
            entries = dict(line.split(": ", 1) for line in lines)
            topics.append(_topic(name, entries, resolve))
            weights.append(float(weight))
    return weighted(topics, weights)


def _pairs(heads: str, tails: str, count: int, join: str, salt: str, exponent: float = 0.9) -> Ranked[str]:
    """Returns `count` invented names head + tail, in an order fixed by the salt."""
    pairs = [f"{head}{join}{tail}" for head in heads.split() for tail in tails.split()]
    rng = Random(salt)
    order = sorted(range(len(pairs)), key=lambda _: rng.random())
    return zipf([pairs[i] for i in order[:count]], exponent, 3.0)


# many towns, so that a large population has a long tail of words that only a few people use
TOWNS = _pairs(names.TOWN_HEADS, names.TOWN_TAILS, 3200, "", "towns", 0.7)
PROPER: dict[str, Ranked[str]] = {
    "town": TOWNS,
    "street": _pairs(names.STREET_HEADS, names.STREET_TAILS, 150, " ", "streets"),
    "cafe": _pairs(names.CAFE_HEADS, names.CAFE_TAILS, 140, " ", "cafes"),
    "title": _pairs(names.TITLE_HEADS, names.TITLE_TAILS, 90, " ", "titles"),
    "novel": _pairs(names.TITLE_HEADS, names.TITLE_TAILS, 60, " ", "novels"),
    "game": _pairs(names.TITLE_HEADS, names.TITLE_TAILS, 40, " ", "games"),
    "band": _pairs(names.TITLE_HEADS, names.BAND_TAILS, 70, " ", "bands"),
    "team": _pairs(" ".join(TOWNS.items[:240:6]), names.TEAM_TAILS, 50, " ", "teams"),
    "company": _pairs(names.COMPANY_HEADS, names.COMPANY_TAILS, 110, " ", "companies"),
    "petname": zipf(words(names.PETS)),
}


def _people() -> Ranked[tuple[str, str]]:
    """Returns given names with their pronouns, women's and men's alternating."""
    women, men = names.FEMALE.split(), names.MALE.split()
    both = [pair for w, m in zip(women, men, strict=False) for pair in ((w, "she"), (m, "he"))]
    rest = [(w, "she") for w in women[len(men) :]] + [(m, "he") for m in men[len(women) :]]
    return zipf(both + rest, 0.9, 4.0)


PEOPLE = _people()
