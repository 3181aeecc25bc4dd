"""Writes contexts for native/bench.c, one a line: the messages of typists that no model has seen, cut after every word.

python tools/native_contexts.py FILE
"""

from __future__ import annotations

import sys
from pathlib import Path

from tacit.text.tokens import tokenize
from tacit.text.typists import Typists, TypistsConfig

PEOPLE, MESSAGES, MOST = 40, 30, 10_000


def main() -> None:
    """Writes the file."""
    people = Typists(TypistsConfig(users=PEOPLE, messages=MESSAGES, quantity_skew=0.0, seed=987))
    messages = [tokenize(m.text.lower()) for k in range(PEOPLE) for m in people.messages(k)]
    contexts = [" ".join(m[:i]) for m in messages for i in range(len(m))][:MOST]
    Path(sys.argv[1]).write_text("\n".join(contexts) + "\n", "utf-8")


if __name__ == "__main__":
    main()
