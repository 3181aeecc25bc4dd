"""Finds users whose messages are copies of another user's, as happens in real corpora.

Two people rarely type the same message of several words by chance. If half of a user's longer messages are also
another user's, the two are one person under two names, or one was copied from the other. With one of them in
training and the other held out, a model is scored on text that it has memorised.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from tacit.text.population import Population

WORDS = 6  # the length of a message that counts
FEWEST = 10  # how many such messages a user needs to be compared
SHARE = 0.5  # the share of them that another user also has
MOST = 2_000_000  # the most messages of a corpus to search; all messages that count are held in memory


class Copy(NamedTuple):
    """A user who shares at least half of their longer messages with `of`, who has at least as many."""

    user: str
    of: str
    share: float


def find(population: Population) -> list[Copy]:
    """Returns all copies, the largest share first.

    >>> from tacit.text.corpus import from_messages
    >>> texts = [f"this is message number {k} of many" for k in range(30)]
    >>> others = [f"and here is another one for {k}" for k in range(30)]
    >>> people = {"ana": texts, "bo": texts[:12], "cy": others}
    >>> find(from_messages("demo", people))
    [Copy(user='bo', of='ana', share=1.0)]
    """
    long = [
        {m.text for m in population.messages(k) if len(m.text.split()) >= WORDS}
        for k in range(len(population))
    ]
    compared = [k for k, texts in enumerate(long) if len(texts) >= FEWEST]
    typed_by: dict[str, list[int]] = {}
    for k in compared:
        for text in long[k]:
            typed_by.setdefault(text, []).append(k)
    best: dict[int, tuple[float, int]] = {}
    for a in compared:
        others = Counter(
            b for text in long[a] for b in typed_by[text] if (len(long[a]), a) < (len(long[b]), b)
        )
        for b, count in others.items():
            if (share := count / len(long[a])) >= SHARE:
                best[a] = max(best.get(a, (0.0, -1)), (share, b))
    copies = [Copy(population.user(a), population.user(b), share) for a, (share, b) in best.items()]
    return sorted(copies, key=lambda c: (-c.share, c.user))
