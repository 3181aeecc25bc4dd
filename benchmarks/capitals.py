"""Measures casing accuracy (`tacit.ngram.casing`) against simpler baselines.

The last tenth of each corpus is the test, the rest is for training. A row is the share of words (those with a letter)
that are cased as in the original.

    python benchmarks/capitals.py tatoeba-en:15000 common-voice-en:20000 [--data DIR] [--out capitals.json]

The number after a corpus is the size of its uncased vocabulary. `python tools/measured.py add-casing capitals.json`
adds the output to docs/ngram.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

from tacit.ngram import casing
from tacit.text import vocabulary
from tacit.text.prepare import TextConfig
from tacit.text.supplement import find
from tacit.text.typists import TypistsConfig
from tacit.text.vocabulary import Vocabulary

Sentences = list[list[str]]


class Parts(NamedTuple):
    """A corpus: training text, test text, and the uncased vocabulary."""

    learnt: Sentences
    truth: Sentences
    words: Vocabulary


def read(name: str, size: int, data: Path | None) -> Parts:
    corpus = find(TextConfig(), TypistsConfig(), name, data)
    assert corpus is not None
    text = corpus.written()
    cut = len(text) * 9 // 10
    counts = Counter(word.lower() for sentence in text[:cut] for word in sentence)
    return Parts(text[:cut], text[cut:], vocabulary.build(counts, size))


def accuracies(own: Parts, other: Parts) -> dict[str, float]:
    """Returns the accuracy of every method; the last one learns from the other corpus."""
    lower = [[word.lower() for word in sentence] for sentence in own.truth]
    forms: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for sentence in own.learnt:
        for word in sentence:
            forms[word.lower()][word] += 1
    usual = {word: found.most_common(1)[0][0] for word, found in forms.items() if word in own.words.index}
    common = [[usual.get(word, word) for word in sentence] for sentence in lower]
    first = [[casing.capitalise(s[0]), *s[1:]] for s in common]
    rows = {
        "all in lower case": casing.accuracy(own.truth, lower),
        "the commonest form of each word": casing.accuracy(own.truth, common),
        "the same, first word of the message with a capital": casing.accuracy(own.truth, first),
    }
    for order in (1, 2, 3):
        caser = casing.fit(own.learnt, own.words, order)
        name = f"p_cap of order {order}" if order == 1 else f"order {order}"
        rows[name] = casing.accuracy(own.truth, casing.restore(caser, own.truth))
    caser = casing.fit(other.learnt, other.words)
    rows["learnt from the other corpus, order 3"] = casing.accuracy(
        own.truth, casing.restore(caser, own.truth)
    )
    return rows


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("corpora", nargs=2, metavar="NAME:WORDS")
    given.add_argument("--data", type=Path)
    given.add_argument("--out", type=Path)
    options = given.parse_args()
    named = [c.rpartition(":") for c in options.corpora]
    parts = [read(name, int(size), options.data) for name, _, size in named]
    columns = []
    for i, (name, *_) in enumerate(named):
        columns.append(accuracies(parts[i], parts[1 - i]))
        print(name, *(f"{v:.2%} {k}" for k, v in columns[i].items()), sep="\n  ", file=sys.stderr)
    line = json.dumps(
        {
            "command": f"python benchmarks/capitals.py {' '.join(options.corpora)}",
            "corpora": [name for name, *_ in named],
            "words": [int(size) for *_, size in named],
            "rows": [{"what": k, "accuracy": [c[k] for c in columns]} for k in columns[0]],
        }
    )
    if options.out:
        options.out.write_text(line + "\n", "utf-8")
    print(line)


if __name__ == "__main__":
    main()
