"""Asks how much of the difference between a page and Python after training is float32's rounding.

The GRU of `adam-papers` in its tenth round (`browser_training.py`) is trained by Python, by the page's WebAssembly, and
by the page's plain kernels with doubles instead of float32: for an epoch by Adam, and for one batch by Adam and by SGD.
One batch tells how exact each gradient is. Python is also trained from numbers that are one rounding step away: what it
then differs by, no other machine can be expected to avoid.

    python benchmarks/adam_rounding.py

Prints a JSON line for each pair. Needs node.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import browser_training as training
import cases

from tacit.runs.config import resolve

BATCH = ["client.max_examples=10"]
PLAIN = [
    "client.optimiser=sgd",
    "client.carry=none",
    "client.carry_form=full",
    "client.decay=0",
    "client.lr=1.0",
]
TRAINED = {"epoch": [], "batch": BATCH, "batch, SGD": [*BATCH, *PLAIN]}


def main() -> None:
    preset, settings = training.PRESETS["gru"]
    texts = training.clients()
    first = training.first_case("gru", texts[0])
    runs = [cases.client_of(first.config, text, training.VOCABULARY) for text in texts]
    tenth = training.last_case(first, runs)
    with tempfile.TemporaryDirectory() as folder:
        for name, more in TRAINED.items():
            config = resolve(preset, [*settings, *more])
            carried = [] if config.client.carry == "none" else tenth.carried
            case = tenth._replace(config=config, carried=carried, lr=config.client.lr)
            training.written(Path(folder), name, case, cases.client_of(config, texts[0], training.VOCABULARY))
        command = ["node", "--max-old-space-size=8000", "benchmarks/adam_rounding.mjs", folder, *TRAINED]
        sys.exit(subprocess.run(command, check=False).returncode)


if __name__ == "__main__":
    main()
