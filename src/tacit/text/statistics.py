"""Measures a population and how much its people differ; `tacit data describe` prints the result.

A data point is a context x and the word y typed after it. Paper 5, §2.1, names five ways in which P_i(x, y) can
differ between people. Each has one number here.

- Feature skew, P_i(x): how people write. The context is the shapes of the last two tokens (lower, Capital, CAPS,
  digits; punctuation and emoji unchanged; start of message), not the words, so that it does not repeat label skew.
- Label skew, P_i(y): which words (lower-cased) people write, and which topics, if the source provides topics.
- Concept drift, P_i(x | y): which word comes before a given word, over the frequent words.
- Concept shift, P_i(y | x): which word comes after a given word, over the frequent words.
- Quantity skew: the Gini coefficient and the log-sd of messages per person.

The first four are Jensen-Shannon divergences in bits between one person and all people, averaged over people. A
person with few messages differs from the rest by chance alone. So the same divergence is measured with the text
assigned to people at random, with sizes kept, and subtracted: identical people score 0.

For the marginals, whole messages are reassigned. For the conditionals, the occurrences of a given word are reassigned
among the people who wrote it, so that how often people use a word (label skew) does not count as how they use it.
A word can recur in one message, so identical people then score slightly above 0, by a few thousandths of a bit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tacit.base.errors import TacitError
from tacit.text.encode import splitter
from tacit.text.locale import DEFAULT, find
from tacit.text.locale_script import remark
from tacit.text.population import Population

_SHUFFLES = 3  # random assignments to average for the null
_FREQUENT = 100  # words whose neighbours are compared
_START, _END = 0, 1  # ids of the start and end of a message, among words and shapes


@dataclass(frozen=True)
class Statistics:
    """Numbers about a population. Those about text refer to the people and messages that were read."""

    name: str
    people: int
    messages: int
    people_read: int
    messages_read: int
    tokens: int
    word_types: int  # distinct tokens, lower-cased
    messages_median: float  # messages per person
    messages_p90: float
    messages_max: int
    message_length: float  # mean, in tokens
    once: float  # share of messages whose text occurs once
    unseen: float | None  # share of held-out people's messages that nobody else wrote; None for one person
    feature_skew: float  # bits
    label_skew: float  # bits
    topic_skew: float | None  # bits; None if the source has no topics
    concept_drift: float  # bits
    concept_shift: float  # bits
    quantity_gini: float  # 0 if all have the same amount; near 1 if one person has everything
    quantity_log_sd: float
    locale: str  # code of the language whose rules split and lower-cased the text
    remark: str  # a line if the text is in another script than the locale's, else ""


def describe(
    population: Population,
    *,
    people: int = 400,
    messages: int = 200,
    seed: int = 0,
    locale: str = DEFAULT,
) -> Statistics:
    """Reads at most `people` people and `messages` messages of each, chosen by `seed`, and measures them.

    If there are fewer people, more messages of each are read, so that the total stays the same. Text is split and
    lower-cased by the rules of `locale`, a code.

    >>> from tacit.text.corpus import from_messages
    >>> s = describe(from_messages("demo", {"ana": ["oi tudo bem", "oi"], "bo": ["hello there", "hello"]}))
    >>> s.people, s.messages, s.tokens, s.word_types, s.quantity_gini
    (2, 4, 7, 5, 0.0)
    """
    if len(population) == 0:
        raise TacitError(f"{population.name}: has no people to describe; give a corpus with messages")
    if people < 1 or messages < 1:
        raise TacitError(f"describe needs at least 1 person and 1 message, not {people} and {messages}")
    rng = np.random.default_rng(seed)
    sizes = np.asarray(population.sizes(), np.int64)  # [people]
    who = _sample(len(population), people, rng)
    text = _read(population, who, messages * people // len(who), rng, locale)
    word = text.next != _END  # [positions]
    held = sizes[sizes > 0]
    return Statistics(
        name=population.name,
        people=len(population),
        messages=int(sizes.sum()),
        people_read=text.people,
        messages_read=len(text.texts),
        tokens=int(text.length.sum()),
        word_types=len(text.words),
        messages_median=float(np.median(sizes)),
        messages_p90=float(np.quantile(sizes, 0.9)),
        messages_max=int(sizes.max()),
        message_length=float(text.length.mean()) if len(text.texts) else 0.0,
        once=_once(text),
        unseen=_unseen(text, rng),
        feature_skew=_marginal_skew(text, text.shapes, text.message, rng),
        label_skew=_marginal_skew(text, text.next[word], text.message[word], rng),
        topic_skew=_topic_skew(text, rng),
        concept_drift=_conditional_skew(text, text.next, text.previous, rng),
        concept_shift=_conditional_skew(text, text.previous, text.next, rng),
        quantity_gini=gini(sizes),
        quantity_log_sd=float(np.std(np.log(held))) if held.size else 0.0,
        locale=find(locale).code,
        remark=remark(text.words, find(locale)),
    )


def rows(s: Statistics) -> list[tuple[str, str]]:
    """Returns names and values with units, in print order."""
    read = "" if (s.people, s.messages) == (s.people_read, s.messages_read) else " (of those read)"
    table = [("people", f"{s.people:,}"), ("messages", f"{s.messages:,}")]
    if read:
        table.append(("read", f"{s.messages_read:,} messages of {s.people_read:,} people"))
    table += [
        ("tokens", f"{s.tokens:,}{read}"),
        ("word types, lower-cased", f"{s.word_types:,}{read}"),
        (
            "messages per person",
            f"median {s.messages_median:g}, p90 {s.messages_p90:g}, max {s.messages_max:,}",
        ),
        ("message length", f"{s.message_length:.1f} tokens"),
        ("messages that occur once", f"{s.once:.1%}"),
    ]
    if s.unseen is not None:
        table.append(("messages of held-out people unseen in others", f"{s.unseen:.1%}"))
    table.append(("feature skew P(x)", f"{s.feature_skew:.3f} bits"))
    table.append(("label skew P(y), words", f"{s.label_skew:.3f} bits"))
    if s.topic_skew is not None:
        table.append(("label skew P(y), topics", f"{s.topic_skew:.3f} bits"))
    table.append(("concept drift P(x|y)", f"{s.concept_drift:.3f} bits"))
    table.append(("concept shift P(y|x)", f"{s.concept_shift:.3f} bits"))
    table.append(("quantity skew", f"Gini {s.quantity_gini:.3f}, log-sd {s.quantity_log_sd:.2f}"))
    return table


def gini(sizes: np.ndarray) -> float:
    """Returns the Gini coefficient: the mean difference between two amounts over twice their mean.

    >>> gini(np.array([3, 3, 3])), gini(np.array([0, 0, 0, 8]))
    (0.0, 0.75)
    """
    n, total = len(sizes), float(np.sum(sizes))
    if total == 0:
        return 0.0
    rank = np.arange(1, n + 1)
    return float(np.sum((2 * rank - n - 1) * np.sort(sizes)) / (n * total))


def divergence(group: np.ndarray, category: np.ndarray, base: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the Jensen-Shannon divergence in bits of each group's categories from those of its base.

    `category` [events] and `group` [events] have one entry per event. `base` [groups] is the base of each group; its
    distribution is that of the events of all its groups. Returns the divergence and the number of events of each
    group, both [groups]; a group without events gets 0.

    Only the categories that occur in a group are visited: each of the others adds half its probability in the base.
    """
    groups, width = len(base), int(category.max(initial=0)) + 1
    cells, counts = np.unique(group * width + category, return_counts=True)  # [cells], sparse
    of = cells // width
    size = np.bincount(group, minlength=groups)  # [groups]
    inverse = np.unique(base[of] * width + cells % width, return_inverse=True)[1]  # [cells]
    pooled = np.bincount(inverse, weights=counts)  # [distinct (base, category)]
    base_size = np.bincount(base, weights=size)
    p = counts / size[of]
    q = pooled[inverse] / base_size[base[of]]
    m = (p + q) / 2
    seen = np.bincount(of, weights=p * np.log2(p / m) + q * np.log2(q / m) - q, minlength=groups)
    return np.where(size > 0, (seen + 1) / 2, 0.0), size


class _Text(NamedTuple):
    """The text that was read, as flat arrays, from which all the numbers are computed.

    A position is a place in a message that precedes a word or the end.
    """

    texts: list[str]  # [messages]
    topics: list[str]  # [messages]
    people: int
    words: tuple[str, ...]  # distinct tokens, lower-cased
    person: np.ndarray  # [messages], who wrote it
    length: np.ndarray  # [messages], in tokens
    message: np.ndarray  # [positions]
    previous: np.ndarray  # [positions], the word before
    next: np.ndarray  # [positions], the word or end after
    shapes: np.ndarray  # [positions], the two shapes before, as one id


def _read(population: Population, who: np.ndarray, most: int, rng: np.random.Generator, locale: str) -> _Text:
    split = splitter(False, getattr(population, "pretokenized", False), locale)
    lower = find(locale).lower
    words: dict[str, int] = {"\n<s>": _START, "\n</s>": _END}  # no token contains a line feed
    shapes: dict[str, int] = {"\n<s>": _START}
    known: dict[str, tuple[int, int]] = {}  # token to its word and shape
    word_ids: list[int] = []
    shape_ids: list[int] = []
    lengths: list[int] = []
    person: list[int] = []
    texts: list[str] = []
    topics: list[str] = []
    for i, k in enumerate(who.tolist()):
        messages = population.messages(k)
        for j in _sample(len(messages), most, rng).tolist():
            tokens = split(messages[j].text)
            for token in tokens:
                ids = known.get(token)
                if ids is None:
                    word = words.setdefault(lower(token), len(words))
                    ids = known[token] = word, shapes.setdefault(_shape(token), len(shapes))
                word_ids.append(ids[0])
                shape_ids.append(ids[1])
            lengths.append(len(tokens))
            person.append(i)
            texts.append(messages[j].text)
            topics.append(messages[j].topic)
    length = np.array(lengths, np.int64)
    ends = np.cumsum(length)
    first = ends - length + np.arange(len(length))  # [messages], the position each message starts at
    coming = np.insert(np.array(word_ids, np.int64), ends, _END)  # [positions]
    shape = np.insert(np.array(shape_ids, np.int64), ends, _START)  # the shape of the end is never used

    def before(ids: np.ndarray) -> np.ndarray:
        earlier = np.roll(ids, 1)
        earlier[first] = _START
        return earlier

    return _Text(
        texts=texts,
        topics=topics,
        people=len(who),
        words=tuple(words)[2:],
        person=np.array(person, np.int64),
        length=length,
        message=np.repeat(np.arange(len(length)), length + 1),
        previous=before(coming),
        next=coming,
        shapes=before(before(shape)) * len(shapes) + before(shape),
    )


def _shape(token: str) -> str:
    """Returns the shape of a token: punctuation and emoji unchanged, words and numbers as a pattern."""
    if not any(c.isalnum() for c in token):
        return token
    if any(c.isdigit() for c in token):
        return "\n0a" if any(c.isalpha() for c in token) else "\n0"
    joint = "'" if "'" in token else ""
    if token.islower():
        return "\na" + joint
    if token.isupper():
        return ("\nA" if len(token) == 1 else "\nAA") + joint
    return ("\nAa" if token[0].isupper() else "\naA") + joint


def _sample(n: int, most: int, rng: np.random.Generator) -> np.ndarray:
    """Returns all of 0..n-1, or a random `most` of them in order."""
    return np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))


def _once(text: _Text) -> float:
    counts = Counter(text.texts)
    return sum(c == 1 for c in counts.values()) / max(1, len(text.texts))


def _unseen(text: _Text, rng: np.random.Generator) -> float | None:
    """Holds out a fifth of the people; returns the share of their messages that none of the others wrote."""
    if text.people < 2:
        return None
    out = np.zeros(text.people, bool)
    out[rng.choice(text.people, max(1, text.people // 5), replace=False)] = True
    held = out[text.person]  # [messages]
    others = {t for t, h in zip(text.texts, held.tolist(), strict=True) if not h}
    theirs = [t for t, h in zip(text.texts, held.tolist(), strict=True) if h]
    return sum(t not in others for t in theirs) / len(theirs) if theirs else None


def _beyond_chance(measure: Callable[[], float], shuffled: Callable[[], float]) -> float:
    return measure() - sum(shuffled() for _ in range(_SHUFFLES)) / _SHUFFLES


def _marginal_skew(text: _Text, category: np.ndarray, message: np.ndarray, rng: np.random.Generator) -> float:
    """Returns how far people's distributions of `category` are from the overall one; the null shuffles messages."""
    category = np.unique(category, return_inverse=True)[1]

    def mean(person: np.ndarray) -> float:
        bits, size = divergence(person[message], category, np.zeros(text.people, np.int64))
        return float(bits[size > 0].mean()) if np.any(size > 0) else 0.0

    return _beyond_chance(lambda: mean(text.person), lambda: mean(rng.permutation(text.person)))


def _topic_skew(text: _Text, rng: np.random.Generator) -> float | None:
    known = np.array([topic != "" for topic in text.topics], bool)  # [messages]
    if not known.any():
        return None
    names = {topic: i for i, topic in enumerate(dict.fromkeys(text.topics))}
    topics = np.array([names[topic] for topic in text.topics], np.int64)
    return _marginal_skew(text, topics[known], np.flatnonzero(known), rng)


def _conditional_skew(
    text: _Text, given: np.ndarray, category: np.ndarray, rng: np.random.Generator
) -> float:
    """Returns how far people's `category` next to each frequent word is from the overall one, weighted by use."""
    person = text.person[text.message]
    uses = np.bincount(given, minlength=2)
    uses[[_START, _END]] = 0  # the words next to a start or an end are marginals: openers and closers
    frequent = np.zeros(len(uses), bool)
    frequent[np.argsort(-uses, kind="stable")[:_FREQUENT]] = True
    kept = frequent[given] & (uses[given] > 0)
    given, category, person = given[kept], category[kept], person[kept]
    if given.size == 0:
        return 0.0
    category = np.unique(category, return_inverse=True)[1]
    pairs, group = np.unique(given * text.people + person, return_inverse=True)
    base = pairs // text.people  # [groups], the given word of each (word, person)
    by_word = np.argsort(given, kind="stable")  # groups the events of each given word

    def mean(category: np.ndarray) -> float:
        bits, size = divergence(group, category, base)
        return float(np.average(bits, weights=size))

    def shuffled() -> float:
        mixed = np.empty_like(category)
        mixed[by_word] = category[np.lexsort((rng.random(given.size), given))]
        return mean(mixed)

    return _beyond_chance(lambda: mean(category), shuffled)
