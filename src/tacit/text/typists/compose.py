"""Composes messages: chooses topic, mood, register and kind of message, writes the words and spells them."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from tacit.text.population import Message
from tacit.text.typists.clock import Moment, moments
from tacit.text.typists.grammar import Draft, expand
from tacit.text.typists.people import Person
from tacit.text.typists.slots import grammar
from tacit.text.typists.style import finish
from tacit.text.typists.world import Topic
from tacit.text.typists.zipf import Ranked, weighted


class Kind(NamedTuple):
    """A kind of message."""

    rule: str
    weight: float
    follow: str = ""  # the rule of a sentence that may follow
    follows: float = 0.0  # its probability


KINDS = (
    Kind("report", 20, "follow_past", 0.29),
    Kind("plan", 9, "follow_fut", 0.22),
    Kind("future", 12, "follow_fut", 0.22),
    Kind("ask", 9, "follow_ask", 0.22),
    Kind("news", 8, "follow_news", 0.3),
    Kind("request", 4, "follow_ask", 0.2),
    Kind("opinion", 6, "follow_ask", 0.2),
    Kind("habit", 3, "opinion", 0.24),
    Kind("now", 5, "follow_fut", 0.24),
    Kind("listing", 2, "opinion", 0.2),
    Kind("relay", 4, "follow_news", 0.28),
    Kind("wish", 3, "follow_fut", 0.24),
    Kind("answer", 5, "follow_past", 0.28),
    Kind("feeling", 3, "news", 0.36),
    Kind("line", 7, "ask", 0.16),
    Kind("short", 13, "answer", 0.1),
    Kind("where", 6, "short", 0.08),
    Kind("thanks", 2, "follow_past", 0.24),
    Kind("sorry", 2, "plan", 0.28),
    Kind("greet", 2, "future", 0.32),
)
_GREETING = {"morning": 5.0, "day": 1.0, "evening": 1.5, "night": 4.0}  # factors on the weight of `greet`
_MOODS = weighted(["+", "-"], [56, 44])
_REGISTERS = weighted(["p", "c", "s"], [38, 37, 25])
_STAYS = 0.7  # probability that a conversation keeps its topic from one message to the next


@cache
def _kinds(part: str, first: bool) -> Ranked[Kind]:
    weights = []
    for kind in KINDS:
        weight = kind.weight
        if kind.rule == "greet":
            weight *= _GREETING[part] if first else 0.1
        elif kind.rule in ("answer", "short") and first:
            weight *= 0.3
        elif kind.rule in ("report", "future") and part == "morning":
            weight *= 0.8 if kind.rule == "report" else 1.4
        weights.append(weight)
    return weighted(KINDS, weights)


@cache
def _timely(part: str, weekday: int) -> Ranked[Topic]:
    """Returns topics weighted by hour and weekday, for all people alike: work on weekdays, parties at the weekend."""
    _, topics = grammar()
    likely = (
        {"work": 4.0, "commute": 3.0, "school": 2.0, "coffee": 1.5}
        if weekday < 5
        else {"football": 3.0, "home": 2.0}
    )
    if part == "morning":
        likely |= {"commute": 4.0, "weather": 2.0, "coffee": 3.0, "gym": 2.0, "kids": 2.0}
    elif part == "day":
        likely |= {"food": 2.0, "shopping": 2.0}
    else:
        likely |= {"screen": 3.0, "food": 3.0, "cooking": 2.0, "games": 2.0, "love": 1.5}
    if weekday in (4, 5):
        likely |= {"party": 5.0, "coffee": 2.0}
    return weighted(topics.items, [likely.get(topic.name, 0.1) for topic in topics.items])


def _topic(person: Person, moment: Moment) -> Topic:
    if person.rng.random() < 0.2:
        return _timely(moment.part, moment.weekday).draw(person.rng)
    return person.pick("topic", "topic", grammar()[1])


def _write(draft: Draft) -> None:
    """Writes the message itself, with an optional opener, up to two follow-ups and an optional closer."""
    person, rng, moment = draft.person, draft.rng, draft.moment
    rules, _ = grammar()
    kind = person.pick("feature", ("kind", moment.part, moment.first), _kinds(moment.part, moment.first))
    long = kind.rule not in ("short", "greet", "where")
    if long and rng.random() < 0.14:
        rules["opener"].write(draft)
        if draft.register != "s":
            draft.words.append("," if rng.random() < 0.6 else "/")
    if kind.rule == "line":
        expand(person.pick("label", (draft.topic.name, "line"), draft.topic.lines), draft)
    elif kind.rule == "greet":
        rules[f"greet_{moment.part}"].write(draft)
    else:
        rules[kind.rule].write(draft)
    if rng.random() < kind.follows:
        draft.words.append("/")
        rules[kind.follow].write(draft)
        if rng.random() < 0.12:
            draft.words.append("/")
            rules[kind.follow].write(draft)
    if long and rng.random() < 0.07:
        draft.words.append("/")
        rules["closer"].write(draft)


def compose(person: Person, count: int) -> list[Message]:
    """Returns a person's messages, oldest first."""
    messages: list[Message] = []
    topic: Topic | None = None
    register = mood = ""
    rng = person.rng
    for moment in moments(person, count):
        if topic is None or moment.first or rng.random() > _STAYS:
            topic = _topic(person, moment)
            mood = _MOODS.draw(rng)
        register = person.pick("drift", "register", _REGISTERS)
        draft = Draft(person, rng, topic, moment, register, mood)
        _write(draft)
        messages.append(Message(finish(draft), moment.time.isoformat(), topic.name))
    return messages
