"""People who are copies of other people, as real corpora have them.

A message of several words is hardly ever typed twice by chance. Where half of somebody's are another person's too, the
two are one person under two names, or one was copied from the other; with one of them in training and the other held
out, a model is scored on what it has learned by heart.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from tacit.text.population import Population

WORDS = 6  # of a message that is not typed twice by chance
FEWEST = 10  # such messages that somebody must have to be judged
SHARE = 0.5  # of them that another has, too
MOST = 2_000_000  # messages of a corpus that is looked through; all longer ones are held in memory


class Copy(NamedTuple):
    """Somebody half of whose longer messages, or more, are those of another, who has at least as many."""

    user: str
    of: str
    share: float


def find(population: Population) -> list[Copy]:
    """Everybody who is a copy, the largest share first.

    >>> from tacit.text.corpus import from_messages
    >>> said = [f"this is message number {k} of many" for k in range(30)]
    >>> others = [f"and here is another one for {k}" for k in range(30)]
    >>> people = {"ana": said, "bo": said[:12], "cy": others}
    >>> find(from_messages("demo", people))
    [Copy(user='bo', of='ana', share=1.0)]
    """
    long = [
        {m.text for m in population.messages(k) if len(m.text.split()) >= WORDS}
        for k in range(len(population))
    ]
    judged = [k for k, said in enumerate(long) if len(said) >= FEWEST]
    who: dict[str, list[int]] = {}
    for k in judged:
        for text in long[k]:
            who.setdefault(text, []).append(k)
    best: dict[int, tuple[float, int]] = {}
    for a in judged:
        others = Counter(b for text in long[a] for b in who[text] if (len(long[a]), a) < (len(long[b]), b))
        for b, count in others.items():
            if (share := count / len(long[a])) >= SHARE:
                best[a] = max(best.get(a, (0.0, -1)), (share, b))
    found = [Copy(population.user(a), population.user(b), share) for a, (share, b) in best.items()]
    return sorted(found, key=lambda c: (-c.share, c.user))
