"""Compiles and expands templates, a small phrase-structure grammar whose slots are functions.

A template such as "{subj} {do.past} [30 {with}] (today|yesterday)" is compiled once into a list of words and
functions. The functions handle what a context-free grammar cannot: agreement, gender, tense, topic. They read and
change a `Draft`, the message being written.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

from tacit.text.typists.clock import Moment
from tacit.text.typists.people import Person
from tacit.text.typists.zipf import Ranked, weighted

if TYPE_CHECKING:
    from tacit.text.typists.world import Topic


@dataclass
class Draft:
    """A message being written: its words so far, and what later words must agree with."""

    person: Person
    rng: Random
    topic: Topic
    moment: Moment
    register: str  # p plain, c casual, s slang: the same for the whole message
    mood: str  # "+" or "-": the same for the whole message
    words: list[str] = field(default_factory=list)
    subject: str = "i"  # i, we, you, he, she, they: verbs and possessives agree with it
    thing: str = "it"  # it or they: the thing last mentioned


Slot = Callable[[Draft], None]
Template = list["str | Slot"]
Resolve = Callable[[str, str], Slot]

_TOKENS = re.compile(r"\{[^}]*\}[^\s\[\]()|{}]*|\[\d+|[\[\]()|]|[^\s\[\]()|{}]+")


def expand(template: Template, draft: Draft) -> None:
    """Appends a template's words to the draft."""
    words = draft.words
    for part in template:
        if type(part) is str:
            words.append(part)
        else:
            part(draft)  # type: ignore[operator]


def _optional(percent: int, inner: Template) -> Slot:
    share = percent / 100

    def slot(draft: Draft) -> None:
        if draft.rng.random() < share:
            expand(inner, draft)

    return slot


def _either(choices: list[Template]) -> Slot:
    def slot(draft: Draft) -> None:
        expand(choices[int(draft.rng.random() * len(choices))], draft)

    return slot


def _suffixed(inner: Slot, suffix: str) -> Slot:
    def slot(draft: Draft) -> None:
        inner(draft)
        draft.words[-1] += suffix

    return slot


def compile_template(text: str, resolve: Resolve) -> Template:
    """Compiles a template; `resolve(name, argument)` returns the function of a slot {name.argument}."""
    tokens = _TOKENS.findall(text)
    position = 0

    def sequence(closers: str) -> Template:
        nonlocal position
        parts: Template = []
        while position < len(tokens) and tokens[position] not in closers:
            token = tokens[position]
            position += 1
            if token.startswith("["):
                parts.append(_optional(int(token[1:]), sequence("]")))
                position += 1
            elif token == "(":
                choices = [sequence("|)")]
                while tokens[position] == "|":
                    position += 1
                    choices.append(sequence("|)"))
                position += 1
                parts.append(_either(choices))
            elif token.startswith("{"):
                inside, _, suffix = token[1:].partition("}")
                name, _, argument = inside.partition(".")
                slot = resolve(name, argument)
                parts.append(_suffixed(slot, suffix) if suffix else slot)
            else:
                parts.append(token)
        return parts

    return sequence("")


@dataclass(frozen=True)
class Rule:
    """The templates of one thing to say."""

    name: str
    kind: str  # the kind of choice (see `people`)
    options: dict[str, Ranked[Template]]  # by register

    def write(self, draft: Draft) -> None:
        """Picks a template by the person's habit and writes it."""
        key = (self.name, draft.register)
        expand(draft.person.pick(self.kind, key, self.options[draft.register]), draft)


_LINE = re.compile(r"(?:@([pcs]+) )?(?:(\d+) )?(.*)")


def parse_rules(text: str, resolve: Resolve) -> dict[str, Rule]:
    """Parses the rule format that `rules` describes."""
    rules: dict[str, Rule] = {}
    for block in text.split("\n% ")[1:]:
        header, *lines = block.strip().split("\n")
        name, kind = header.split()
        ways: dict[str, list[Any]] = {"p": [], "c": [], "s": []}
        for line in lines:
            match = _LINE.fullmatch(line)
            assert match is not None
            registers, weight, template = match.groups()
            compiled = compile_template(template, resolve)
            for register in registers or "pcs":
                ways[register].append((compiled, float(weight or 1)))
        options = {r: weighted([t for t, _ in way], [w for _, w in way]) for r, way in ways.items()}
        rules[name] = Rule(name, kind, options)
    return rules
