"""Asks how much of the difference between a page and Python after an epoch of Adam is float32's rounding.

The GRU of `adam-papers` with second moments as after many rounds (`browser_training.py`) is trained by Python, by the
page's WebAssembly, and by the page's plain kernels with doubles instead of float32. If both float32 trainings are as
far from the doubles as from each other, neither is wrong. An ε above the root of the second moments tells whether small
moments are the cause.

    python benchmarks/adam_rounding.py

Prints a JSON line for each pair and each ε. Needs node.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import browser_training as training
import cases
import jax

from tacit.federated.client_optimisers import first_moments
from tacit.models import language_model
from tacit.runs.config import resolve

EPSILONS = (1e-8, 1e-3)


def main() -> None:
    text = training.one_client()
    preset, settings = training.PRESETS["gru"]
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for eps in EPSILONS:
            config = resolve(preset, [*settings, f"client.eps={eps}"])
            model = language_model(config.model, training.VOCABULARY)
            params = model.init(jax.random.key(config.seed))
            count = sum(leaf.size for leaf in jax.tree.leaves(params))
            carried = list(first_moments(config.client, params))
            case = cases.Case(config, text, training.VOCABULARY, params, carried, 3, 0, config.client.lr)
            run = cases.client_of(config, text, training.VOCABULARY)
            names.append(f"eps {eps:g}")
            training.written(Path(folder), names[-1], training.settled(case, count), run)
        command = ["node", "--max-old-space-size=8000", "benchmarks/adam_rounding.mjs", folder, *names]
        sys.exit(subprocess.run(command, check=False).returncode)


if __name__ == "__main__":
    main()
