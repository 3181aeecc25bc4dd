"""Makes the whitelist, the words that may be counted, from a file or from text that is not the clients'.

A keyboard's vocabulary is curated by hand (paper 4, section 2), so that misspellings and secrets are never
counted. Here a file or a supplemental corpus replaces it. It must not come from the clients' own text, because the list
itself would then reveal what they typed.

Words are uncased. A file has one word per line; text after a tab is ignored, so a table of counts works, as does a
vocabulary that Tacit wrote.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tacit.base.errors import TacitError
from tacit.text.corpus import SplitCorpus
from tacit.text.encode import splitter
from tacit.text.locale import DEFAULT
from tacit.text.population import Population
from tacit.text.vocabulary import SPECIALS, Vocabulary, listed


def of_words(words: Iterable[str], where: str = "the whitelist") -> Vocabulary:
    """Returns a whitelist of these words, lower-cased, each once, in this order.

    >>> of_words(["York", "new", "york", "<unk>"]).words
    ('<s>', '</s>', '<unk>', 'york', 'new')
    """
    unique = dict.fromkeys(word.lower() for word in words)
    kept = tuple(word for word in unique if word not in SPECIALS)
    if not kept:
        raise TacitError(f"{where} is empty; give at least one word to count")
    return Vocabulary(SPECIALS + kept)


def read(path: Path, locale: str = DEFAULT) -> Vocabulary:
    """Reads a whitelist from a file."""
    return listed(path, 0, lower=True, what="whitelist", locale=locale)


def word_counts(source: Population | SplitCorpus, locale: str = DEFAULT) -> Counter[str]:
    """Counts each word of a supplemental corpus, lower-cased and split as the clients' text is.

    >>> from tacit.text.corpus import from_messages
    >>> word_counts(from_messages("demo", {"ana": ["No no", "no!"]}))
    Counter({'no': 3, '!': 1})
    """
    counts: Counter[str] = Counter()
    for part in source if isinstance(source, SplitCorpus) else (source,):
        split = splitter(True, getattr(part, "pretokenized", False), locale)
        for k in range(len(part)):
            for message in part.messages(k):
                counts.update(split(message.text))
    return counts


def commonest(counts: Counter[str], size: int, where: str) -> Vocabulary:
    """Returns the `size` commonest words (0: all), ties in alphabetical order.

    >>> commonest(Counter({"b": 1, "a": 1, "c": 5}), 2, "demo").words[3:]
    ('c', 'a')
    """
    ranked = sorted((word for word in counts if word not in SPECIALS), key=lambda word: (-counts[word], word))
    if size > len(ranked):
        raise TacitError(
            f"--whitelist {size}: {where} has only {len(ranked)} different words; give at most that"
        )
    return of_words(ranked[: size or None], where)
