"""Searches for the settings that learn best in the papers' 50 rounds, and records every trial.

The protocol is FedAtt's (papers 1 and 2): 100 clients with sentences assigned at random, ten of them a round, a tied
GRU of 300 units. A trial is a line of a text file: a preset and settings, as for `tacit train`. Each trial adds one
line to the results: its settings, the best round on validation, validation and test perplexity, seconds. Choose by
validation only; the test score is recorded so that it need not be measured again.

    python benchmarks/quality.py PATH-OF-CORPUS trials.txt results.jsonl

Trials that are already in the results are skipped, so a sweep can be stopped and resumed. With a fourth argument such
as 0/2, only every second trial is run, for two processes side by side.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import jax

from tacit import runs
from tacit.base.errors import TacitError
from tacit.runs.config import resolve

PROTOCOL = (
    "text.protocol=fedatt",
    "partition.kind=iid",
    "partition.clients=100",
    "sampling.fraction=0.1",
    "model.kind=gru",
    "model.embedding=300",
    "model.hidden=300",
    "model.tied=true",
    "model.precision=bfloat16",
    "training.rounds=50",
    "training.evaluate_every=5",
    "training.evaluate_sentences=100000",
    "training.checkpoint_every=50",
)


def trial(corpus: str, line: str, folder: Path) -> dict[str, object]:
    """Runs one trial."""
    preset, *settings = line.split()
    config = resolve(preset, [f"text.corpus={corpus}", *PROTOCOL, *settings])
    began = time.perf_counter()
    record: dict[str, object] = {
        "corpus": Path(corpus).name,
        "trial": line,
        "device": jax.devices()[0].device_kind,
    }
    try:
        summary = runs.train(config, folder, resume=False)
    except TacitError as error:  # divergence is a result, too
        return record | {"failed": str(error).partition(";")[0], "seconds": time.perf_counter() - began}
    return record | {
        "best_round": summary["best_round"],
        "valid": summary["valid"]["perplexity"],
        "test": summary["test"]["perplexity"],
        "seconds": time.perf_counter() - began,
    }


def main() -> None:
    """Runs the trials that are missing in the results."""
    corpus, trials, results, *part = sys.argv[1:]
    which, of = map(int, part[0].split("/")) if part else (0, 1)
    jax.config.update("jax_compilation_cache_dir", str(Path(tempfile.gettempdir()) / "tacit-quality-cache"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
    out = Path(results)
    done = {json.loads(line)["trial"] for line in out.read_text().splitlines()} if out.is_file() else set()
    lines = [line.strip() for line in Path(trials).read_text().splitlines()]
    for n, line in enumerate(line for line in lines if line and not line.startswith("#")):
        if n % of != which or line in done:
            continue
        with tempfile.TemporaryDirectory() as folder:
            record = trial(corpus, line, Path(folder) / "run")
        with out.open("a") as file:
            file.write(json.dumps(record) + "\n")
        print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main()
