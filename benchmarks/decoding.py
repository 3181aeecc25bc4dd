"""Measures error rates of simulated taps and glides at three levels of noise, by the keys alone and with a model.

    python benchmarks/decoding.py RUN > decoding.json            # RUN from `make demo`
    python tools/measured_keyboard.py add-decoding decoding.json

Each figure is over 2,000 words of RUN's held-out people, without those outside the vocabulary; the noise is that of
`tacit.keyboard.measures.noise`.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tacit import runs
from tacit.keyboard import suggestions
from tacit.keyboard.measures import accuracy, noise
from tacit.text import typed

LEVELS = (0.7, 1.0, 1.2)


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("run", type=Path)
    run = given.parse_args().run
    config = runs.read_config(run)
    people = typed.read(config.text, config.typists, config.seed).messages
    rows = []
    for model, path in (("compact 3-gram", run / "ngram" / "model.tacit"), ("network", run)):
        asked = suggestions.open(path)
        for level in LEVELS:
            taps = accuracy.tap_accuracy(asked, people, noise.TAPPING._replace(level=level)).figures()
            glides = accuracy.glide_accuracy(asked, people, noise.GLIDING._replace(level=level)).figures()
            row = {"model": model, "level": level}
            for name, outcome in (("taps", taps), ("glides", glides)):
                row[name] = {k: round(outcome[k], 5) for k in ("words", "spatial_errors", "errors")}
            rows.append(row)
            print(row, file=sys.stderr)
    print(json.dumps({"rows": rows}, indent=1))


if __name__ == "__main__":
    main()
