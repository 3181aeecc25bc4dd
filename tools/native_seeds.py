"""Writes small models of every kind and a dictionary, the seeds of native/fuzz.c.

PYTHONPATH=tests python tools/native_seeds.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import networks8
from file_models import any_weights, kneser, vocabulary
from tacit.keyboard import dictionary
from tacit.ngram.compact import writer


def main() -> None:
    """Writes the files."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for seed, (size, order, count) in enumerate(
        [(20, 3, 40), (40, 2, 40), (30, 4, 40), (25, 1, 40), (300, 4, 900)]
    ):
        model = (any_weights if seed % 2 else kneser)(seed + 1, size, order, count)
        writer.write(folder / f"compact{seed}", vocabulary(size), model, name="seed", hidden=["be"])
    words = [f"{a}{b}" for a in "abcdefgh" for b in "ijklmn"]
    (folder / "dictionary").write_bytes(dictionary.to_bytes(dictionary.build(words, 64)))
    for number, kind in enumerate(networks8.KINDS.values()):
        networks8.saved(folder / f"network{number}", kind, 30, max_words=4)


if __name__ == "__main__":
    main()
