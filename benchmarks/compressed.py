"""Measures what each form of compression saves, and what it costs in recall.

Every form trains the same small federation of the built-in typists from the same seeds, with client Adam whose factored
second moment travels. The model of the last round is scored on held-out people. The bytes are those of the payload that
a client sends in a round; they are counted for this model and for the `gboard` preset with the same client optimiser.

    python benchmarks/compressed.py benchmarks/results/compressed.json --seeds 3
    python benchmarks/compressed.py benchmarks/results/compressed.json --table

Forms and seeds that are already in the file are skipped, so it can be stopped and resumed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

import jax

from tacit.federated.evaluation import scorer
from tacit.federated.message_sizes import bytes_of_a_client
from tacit.federated.objective import next_word_loss
from tacit.federated.text_cohorts import text_federation
from tacit.models import language_model
from tacit.runs.config import Config, algorithm, resolve
from tacit.runs.data import prepare
from tacit.scoring.scores import overall

OPTIMISER = ("client.optimiser=adam", "client.carry=v", "client.carry_form=factored")
SMALL = (
    "typists.users=150",
    "text.vocabulary=2000",
    "model.hidden=64",
    "model.embedding=64",
    "model.bias=zero",
    "sampling.clients=12",
    "training.rounds=25",
)
FORMS = {
    "none": (),
    "int8": ("form=int8",),
    "top-k, 10 %": ("form=top-k", "share=0.1"),
    "random mask, 25 %": ("form=random-mask", "share=0.25"),
    "sketch, 4 bits": ("form=sketch", "share=1.0", "bits=4"),
    "sketch, 25 % in 4 bits": ("form=sketch", "share=0.25", "bits=4"),
    "bf16": ("form=bf16",),
}


def config(form: str, preset: str, *keys: str) -> Config:
    """Returns a configuration with a form of compression."""
    return resolve(preset, [*OPTIMISER, *keys, *(f"compression.{key}" for key in FORMS[form])])


def trained(form: str, seed: int) -> dict[str, float]:
    """Trains with a form and returns the scores on held-out people."""
    chosen = config(form, "demo", *SMALL, f"seed={seed}")
    ready = prepare(chosen)
    model = language_model(chosen.model, len(ready.vocabulary))
    rounds = chosen.training.rounds
    began = time.perf_counter()
    trainer = text_federation(
        model.init, next_word_loss(model), algorithm(chosen), ready.clients, seed, rounds
    )
    state = trainer.init(jax.random.key(seed))
    for t in range(rounds):
        state, _ = trainer.round(state, t)
    figures = overall(scorer(model)(state.params, ready.test))
    seconds = time.perf_counter() - began
    return {"top1": figures["top1"], "perplexity": figures["perplexity"], "seconds": round(seconds, 1)}


def sizes(form: str) -> dict[str, int]:
    """Returns the bytes up of a client and round, of the small model and of Gboard's."""
    found = {}
    for name, chosen, words in (
        ("small", config(form, "demo", *SMALL), 2_000),
        ("gboard", config(form, "gboard", "client.beta1=0.0"), 10_000),
    ):
        shapes = jax.eval_shape(language_model(chosen.model, words).init, jax.random.key(0))
        found[name] = bytes_of_a_client(algorithm(chosen), shapes)["up"]
    return found


def table(results: dict[str, Any]) -> str:
    """Returns the results as a table in Markdown; relative figures are means over the seeds of both."""
    lines = [
        "| form | bytes up, small | bytes up, gboard | top-1 recall | relative | perplexity | relative | seeds |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    plain = results["runs"]["none"]
    for form, runs in results["runs"].items():
        seeds = [seed for seed in runs if seed in plain]
        cells = [f"{results['bytes_up'][form][size]:,}" for size in ("small", "gboard")]
        for measure, shown in (("top1", "{:.2%}"), ("perplexity", "{:.1f}")):
            values = [runs[seed][measure] for seed in seeds]
            ratios = [runs[seed][measure] / plain[seed][measure] - 1 for seed in seeds]
            spread = f" ± {statistics.stdev(ratios):.1%}" if len(seeds) > 1 else ""
            cells += [shown.format(statistics.mean(values)), f"{statistics.mean(ratios):+.1%}{spread}"]
        lines.append(f"| {form} | {' | '.join(cells)} | {len(seeds)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--forms", nargs="+", choices=FORMS, default=list(FORMS))
    parser.add_argument("--table", action="store_true", help="print what is there, and train nothing")
    given = parser.parse_args()
    results: dict[str, Any] = {"bytes_up": {}, "runs": {}}
    if given.out.is_file():
        results = json.loads(given.out.read_text())
    results |= {"keys": ["demo", *OPTIMISER, *SMALL], "bytes_up": {form: sizes(form) for form in FORMS}}
    for seed in range(0 if given.table else given.seeds):
        for form in given.forms:
            runs = results["runs"].setdefault(form, {})
            if str(seed) not in runs:
                runs[str(seed)] = trained(form, seed)
                given.out.write_text(json.dumps(results, indent=1) + "\n")
    print(table(results))


if __name__ == "__main__":
    main()
