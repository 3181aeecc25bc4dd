"""Measures the effect of giving sentencepiece many lines for a common word (`tacit.text.pieces`) instead of one.

Inventories are trained on the word counts of some sentences and measured on as many others: the number of pieces of a
word, and its log-probability under the unigram probabilities of its pieces. Words with a character that the inventory
lacks are left out.

    python benchmarks/inventory.py tatoeba-en [--sentences 100000] [--size 4000] [--data DIR] [--out inventory.json]

`python tools/measured.py add-inventory inventory.json` adds the output to docs/ngram.md.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

import sentencepiece

from tacit.text.pieces import Pieces, from_table, train
from tacit.text.prepare import TextConfig
from tacit.text.supplement import find
from tacit.text.typists import TypistsConfig
from tacit.text.vocabulary import UNK


def figures(inventory: Pieces, counts: Counter[str]) -> dict[str, float]:
    """Returns the mean number of pieces and the mean log p of a word, over all typed words."""
    scores = sentencepiece.SentencePieceProcessor(model_proto=inventory.proto)
    words = list(counts)
    spelt = [(counts[w], s) for w, s in zip(words, inventory.segment(words), strict=True) if s != (UNK,)]
    total = sum(n for n, _ in spelt)
    return {
        "pieces": sum(n * len(s) for n, s in spelt) / total,
        "log_p": sum(n * sum(scores.get_score(i) for i in s) for n, s in spelt) / total,
    }


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("corpus")
    given.add_argument("--sentences", type=int, default=100_000)
    given.add_argument("--size", type=int, default=4000)
    given.add_argument("--data", type=Path)
    given.add_argument("--out", type=Path)
    options = given.parse_args()
    corpus = find(TextConfig(), TypistsConfig(), options.corpus, options.data)
    assert corpus is not None
    text, n = corpus.written(), options.sentences
    if len(text) < 2 * n:
        given.error(f"{options.corpus} has {len(text):,} sentences; --sentences must be half of that at most")
    counted, others = (
        Counter(word.lower() for sentence in part for word in sentence)
        for part in (text[:n], text[n : 2 * n])
    )
    table = [f"{word}\t{count}" for word, count in counted.most_common()]
    made = {
        "a line a word, split between scripts": from_table(table, options.size, by_script=True),
        "a line a word": from_table(table, options.size),
        "as here": train(counted, options.size),
    }
    line = json.dumps(
        {
            "command": f"python benchmarks/inventory.py {options.corpus} --sentences {n} --size {options.size}",
            "corpus": options.corpus,
            "sentences": n,
            "size": options.size,
            "rows": [{"what": k, **figures(inventory, others)} for k, inventory in made.items()],
        }
    )
    if options.out:
        options.out.write_text(line + "\n", "utf-8")
    print(line)


if __name__ == "__main__":
    main()
