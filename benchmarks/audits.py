"""Audits three trainings of the same typists, without protection and with ε = 8 and 2, and writes what an attacker got.

    python benchmarks/audits.py [--docs docs/audit.md] [--rounds 60]

With --docs the tables replace the measured part of that file; without, they are printed. The words of the models come
from other typists, so that the private runs have an ε. The audits are those of `tacit audit RUN --retrain 60`.
"""

from __future__ import annotations

import argparse
import datetime
import json
import tempfile
from pathlib import Path
from typing import Any

from tacit import runs
from tacit.audit.audit import AuditOptions, audit
from tacit.base.files import write_atomic
from tacit.experiments.kinds.private import words_file
from tacit.experiments.results import machine
from tacit.privacy.planning import Wish, plan
from tacit.runs.config import resolve

USERS, CLIENTS, DELTA = 4_000, 200, 1e-4
BEGIN, END = "<!-- audits:begin -->", "<!-- audits:end -->"
SETTINGS: dict[str, Any] = {
    "typists.users": USERS,
    "typists.messages": 20,
    "text.held_out_users": 0.05,
    "text.vocabulary": 1000,
    "model.hidden": 32,
    "model.embedding": 32,
    "client.max_examples": 30,
    "sampling.clients": CLIENTS,
    "sampling.scheme": "poisson",
    "training.evaluate_every": 10,
    "server.lr": 0.05,
}


def audited(folder: Path, name: str, epsilon: float | None, rounds: int) -> dict[str, Any]:
    """Trains with this ε, or without protection, audits the run, and returns the audit with the run's recall."""
    settings = SETTINGS | {"text.words": str(words_file(folder)), "training.rounds": rounds}
    if epsilon:
        population = USERS - round(USERS * 2 * settings["text.held_out_users"])
        noise = plan(Wish(DELTA, rounds, population, epsilon, CLIENTS)).noise_multiplier
        settings |= {
            "privacy.mechanism": "gaussian",
            "privacy.delta": DELTA,
            "privacy.clip": 1.0,
            "privacy.noise": noise,
        }
    config = resolve("fedadam", [f"{key}={json.dumps(value)}" for key, value in settings.items()])
    summary = runs.train(config, folder / name)
    found = audit(folder / name, folder / f"{name}.audit", AuditOptions(retrain=rounds))
    return found | {"name": name, "top1": summary["test"]["top1"], "epsilon": summary["epsilon"]}


def tables(audits: list[dict[str, Any]]) -> str:
    """Returns what the audits found as Markdown."""
    lines = [
        "| training | ε claimed | ε that the guesses refute | right guesses | top-1 recall |",
        "|---|---|---|---|---|",
    ]
    for a in audits:
        guesses = a["guesses"]
        claimed = "none" if guesses["claimed"] is None else f"{guesses['claimed']:.2f}"
        lines.append(
            f"| {a['name']} | {claimed} | below {guesses['epsilon']:.2f} | {guesses['right']} of {guesses['guesses']} "
            f"| {a['top1']:.1%} |"
        )
    last = audits[-1]
    lines += ["", "| what the attacker sees | words that it reads, of what a person typed |", "|---|---|"]
    lines += [f"| {row['seen']} | {row['recovered']:.0%} |" for row in last["recovery"]]
    lines += ["", "| phrase typed by | exposure (chance: 0 to 2, most: 13.3) | extracted |", "|---|---|---|"]
    trained = {
        a["name"]: [row for row in a["planted"] if row["training"] == "as the run was trained"]
        for a in audits
    }
    for i, row in enumerate(trained[last["name"]]):
        rows = [trained[a["name"]][i] for a in audits]
        who = f"{row['users']} {'person' if row['users'] == 1 else 'people'}, {row['copies']} ×"
        exposures = ", ".join(f"{r['exposure']:.1f}" for r in rows)
        extracted = ", ".join(f"{r['extracted']:.0%}" for r in rows)
        lines.append(f"| {who} | {exposures} | {extracted} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--docs", type=Path)
    parser.add_argument("--rounds", type=int, default=60)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kinds = {"without protection": None, "ε = 8": 8.0, "ε = 2": 2.0}
        audits = [audited(Path(folder), name, epsilon, options.rounds) for name, epsilon in kinds.items()]
    said = tables(audits)
    said += f"\nPrinted by `python benchmarks/audits.py` on {machine()}, {datetime.date.today()}.\n"
    if options.docs is None:
        print(said)
        return
    before, _, rest = options.docs.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    write_atomic(options.docs, f"{before}{BEGIN}\n{said}{END}{after}")


if __name__ == "__main__":
    main()
