"""Computes the keyboard measures of five models: n-gram, server and federated network (paper 5), and files for phones.

    python benchmarks/keyboard_measures.py RUN CENTRAL > keyboard.json
    python tools/measured_keyboard.py add-measures keyboard.json

RUN is a federated run from `make demo` with its n-gram; CENTRAL is the same network trained on the pooled text. The
benchmark fits the Kneser-Ney 5-gram of the pooled text. All models are measured on RUN's held-out people.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from tacit import runs
from tacit.experiments.demo import fit_ngram
from tacit.keyboard.measures import report
from tacit.lm import evaluate, export
from tacit.ngram.automaton import from_kneser_ney
from tacit.ngram.compact import writer
from tacit.runs.data import prepare

KEPT = ("people", "messages", "words", "characters", "keys", "tapped", "glided", "runtime", "model_bytes")


def kept(measured: dict[str, Any]) -> dict[str, Any]:
    """Returns the figures without people's names."""
    numbers = {k: round(measured[k], 5) for k in measured["ci95"]}
    halves = {k: round(v, 5) for k, v in measured["ci95"].items()}
    spread = {
        k: {q: round(v, 4) for q, v in percentiles.items()}
        for k, percentiles in measured["by_person"].items()
    }
    rest = {k: measured[k] for k in KEPT}
    return {**numbers, "ci95": halves, "by_person": spread, "latency_ms": measured["latency_ms"], **rest}


def main() -> None:
    run, central = map(Path, sys.argv[1:3])
    config = runs.read_config(run)
    ready = prepare(config)
    with tempfile.TemporaryDirectory() as folder:
        pooled, small = Path(folder) / "pooled.tacit", Path(folder) / "network.tacit"
        fitted, figures = fit_ngram(ready, order=5)
        writer.write(pooled, ready.vocabulary, from_kneser_ney(fitted), name="pooled text")
        export.export_network(run, small, people=0)
        models = {
            "n-gram": pooled,
            "server": central,
            "federated": run,
            "federated, 8 bits": small,
            "federated, 3-gram": run / "ngram" / "model.tacit",
        }
        measured = {}
        for name, path in models.items():
            print(name, file=sys.stderr)
            measured[name] = kept(report.measure(path, held_out=run))
    caches = {"n-gram": figures["seen"]}
    caches |= {
        name: evaluate.evaluate(path)["seen"] for name, path in (("server", central), ("federated", run))
    }
    later = {name: [round(c["top1"], 5), round(c["ci95"]["top1"], 5)] for name, c in caches.items()}
    print(json.dumps({"models": measured, "caches": later, "cores": os.cpu_count()}, indent=1))


if __name__ == "__main__":
    main()
