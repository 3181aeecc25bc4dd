"""Measures who is under-represented when not everybody can be asked, and what it costs them.

One model is trained for each row, on the same 320 built-in typists, and scored on every typist's latest messages, which
nobody trained on. Typists are ranked by the mean length of their messages, since those of long and short messages write
differently; a quarter is a quarter of the ranks, the shortest messages first.

    everybody        20 clients a round, all of whom report
    night            the same; 48 rounds, an hour apart, in two days of eight time zones, with ranks by chance
    drop-out         0.45 of the clients drop out, all with the same probability
    long drop out    as many, but from 0 of the shortest to 0.9 of the longest
    short excluded   the devices of the 0.3 with the shortest messages never meet the conditions

    python benchmarks/availability.py [--out availability.json] [--seeds 3] [--rounds 24]

A row has, for each quarter, its share of the reports and its top-1 recall. Then it has the difference of recall to the
row that it is compared with, for the people that it leaves out and for the others, each with a 95 % interval over
people (jackknife). Figures are means over seeds, which set the model's beginning and who is chosen.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import re
import tempfile
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np

from tacit.federated.availability import ranks
from tacit.federated.evaluation import scorer
from tacit.federated.text_cohorts import choosing
from tacit.models import language_model
from tacit.runs.config import Config, algorithm, resolve
from tacit.runs.data import prepare
from tacit.runs.training import make_trainer
from tacit.scoring.jackknife import half_width
from tacit.scoring.scores import Sums
from tacit.text.packed import Packed
from tacit.text.prepare import Prepared

SMALL = (
    "typists.messages=60",
    "text.vocabulary=1000",
    "model.embedding=48",
    "model.hidden=48",
    "client.max_examples=50",
)
NIGHTS = "availability.model=nights"
ALL_DAY = (NIGHTS, "availability.day=1.0", "availability.night=1.0", "availability.by=length")
# the settings of a row, the row it is compared with, and whom it leaves out, by rank
ROWS: dict[str, tuple[tuple[str, ...], str, tuple[float, float]]] = {
    "everybody": ((), "", (0, 1)),
    "night": ((NIGHTS, "availability.zones=8"), "everybody", (0, 1)),
    "drop-out": ((*ALL_DAY, "sampling.dropout=0.45"), "everybody", (0, 1)),
    "long drop out": (
        (*ALL_DAY, "sampling.dropout=0.45", "availability.dropout_spread=0.45"),
        "drop-out",
        (0.75, 1),
    ),
    "short excluded": ((*ALL_DAY, "availability.excluded=0.3"), "everybody", (0, 0.3)),
}


def configured(row: str, seed: int, rounds: int) -> Config:
    """Returns the configuration of a row."""
    return resolve("demo", [*SMALL, f"training.rounds={rounds}", f"seed={seed}", *ROWS[row][0]])


def ranked(clients: Packed) -> np.ndarray:
    """Returns each client's rank by the mean length of its messages."""
    return ranks(np.array([part.mean() for part in np.split(clients.lengths, clients.owners[1:-1])]), 0)


def trained(config: Config, ready: Prepared) -> tuple[Sums, np.ndarray]:
    """Trains a row; returns the scores of each client's latest messages and how often it reported."""
    model = language_model(config.model, len(ready.vocabulary))
    trainer = make_trainer(config, model, ready)
    state = trainer.init(jax.random.key(config.seed))
    reports = np.zeros(len(ready.clients))
    who = choosing(ready.clients, algorithm(config), config.seed)
    for t in range(config.training.rounds):
        state, facts = trainer.round(state, t)
        chosen = who(t).chosen
        reports[chosen.ids[chosen.present]] += 1
        assert facts["clients"] == chosen.present.sum()
    text = ready.seen
    assert text is not None
    scores = scorer(model)(state.params, text)
    return scores.sums(np.repeat(np.arange(len(text)), text.sizes), len(text)), reports


def recall(sums: Sums, people: np.ndarray) -> float:
    """Returns the top-1 recall over all words of some people."""
    return float(sums.top1[people].sum() / sums.words[people].sum())


def without_one(sums: Sums, people: np.ndarray) -> np.ndarray:
    """Returns the recall of some people, each of them left out once."""
    hits, words = sums.top1[people], sums.words[people]
    return np.asarray((hits.sum() - hits) / (words.sum() - words))


def compared(pairs: list[tuple[Sums, Sums]], people: np.ndarray) -> dict[str, Any]:
    """Returns the difference of recall between two rows for some people, with its interval."""
    differences = [recall(a, people) - recall(b, people) for a, b in pairs]
    without = [without_one(a, people) - without_one(b, people) for a, b in pairs]
    return {
        "people": len(people),
        "top1_difference": float(np.mean(differences)),
        "ci95": half_width(np.mean(without, axis=0)),
        "by_seed": differences,
    }


def measure(seeds: int, rounds: int) -> dict[str, Any]:
    """Trains every row with every seed."""
    began = time.perf_counter()
    # the rows are one program: it is compiled once
    with tempfile.TemporaryDirectory() as folder:
        jax.config.update("jax_compilation_cache_dir", folder)
        return _measured(seeds, rounds, began)


def _measured(seeds: int, rounds: int, began: float) -> dict[str, Any]:
    ready = prepare(configured("everybody", 0, rounds))
    clients = ready.clients
    assert isinstance(clients, Packed)
    rank = ranked(clients)
    quarter = np.minimum((rank * 4).astype(int), 3)
    made: dict[str, list[tuple[Sums, np.ndarray]]] = {row: [] for row in ROWS}
    for seed in range(seeds):
        for row in ROWS:
            made[row].append(trained(configured(row, seed, rounds), ready))
            print(f"{time.perf_counter() - began:6.1f} s  seed {seed}: {row}", flush=True)
    rows = []
    for row, (_, other, (low, high)) in ROWS.items():
        few = np.flatnonzero((rank >= low) & (rank <= high if high == 1 else rank < high))
        line: dict[str, Any] = {
            "row": row,
            "reports": float(np.mean([reports.sum() for _, reports in made[row]])),
            "never_reported": float(np.mean([(reports == 0).mean() for _, reports in made[row]])),
            "share_of_reports": [
                float(np.mean([r[quarter == q].sum() / r.sum() for _, r in made[row]])) for q in range(4)
            ],
            "top1": [
                float(np.mean([recall(s, np.flatnonzero(quarter == q)) for s, _ in made[row]]))
                for q in range(4)
            ],
        }
        if other:
            pairs = [(a, b) for (a, _), (b, _) in zip(made[row], made[other], strict=True)]
            rest = np.setdiff1d(np.arange(len(rank)), few)
            line |= {"compared_with": other, "left_out": compared(pairs, few)}
            if len(rest):
                line["others"] = compared(pairs, rest)
        rows.append(line)
    info = Path("/proc/cpuinfo").read_text("utf-8")
    name = re.search(r"model name\s*:\s*(.+)", info)
    return {
        "command": f"python benchmarks/availability.py --seeds {seeds} --rounds {rounds}",
        "machine": f"{name[1] if name else platform.machine()}, {os.cpu_count()} cores",
        "date": datetime.date.today().isoformat(),
        "clients": len(rank),
        "seconds": round(time.perf_counter() - began, 1),
        "settings": list(SMALL),
        "rows": rows,
    }


def main() -> None:
    """Measures, prints a table and writes the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("availability.json"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=48)
    options = parser.parse_args()
    figures = measure(options.seeds, options.rounds)
    for line in figures["rows"]:
        shares, recalls = (" ".join(f"{100 * x:5.1f}" for x in line[k]) for k in ("share_of_reports", "top1"))
        told = [line[k] for k in ("left_out", "others") if k in line]
        cost = " ".join(f"{100 * x['top1_difference']:+.2f} ± {100 * x['ci95']:.2f}" for x in told)
        print(f"{line['row']:15} {line['reports']:5.0f} reports {shares} | {recalls} | {cost}")
    options.out.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
