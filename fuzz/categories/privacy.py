"""Privacy plans, as a training reads them, and ledgers, of which `privacy show` computes ε."""

from __future__ import annotations

import dataclasses
import json
import random

from fuzz import called, mutate
from fuzz.box import Box, untouched
from fuzz.categories import Category
from fuzz.material import Material
from fuzz.trial import Ending, refusable
from tacit.privacy.ledger import NAME, Release
from tacit.runs import privacy
from tacit.runs.config import resolve

_RELEASES = (
    [Release("round", "gaussian", r, 1.1, "poisson", 0.01, 0.5, noise_digest=f"{r:016x}") for r in (1, 2, 3)],
    [Release("counts", "laplace", None, 2.0, clip=10.0, delta=1e-9)],
    [Release("round", "local", 1, 4.0, "fixed", 0.1, 0.5)],
    [
        Release(
            "round", "matrix", r, 2.0, "separated", clip=1.0, participations=2, separation=2, sensitivity=1.5
        )
        for r in (1, 2, 3, 4)
    ],
    [Release("vocabulary", "none", reason="it is built from everybody's text")],
)
_FIGURES = (
    0,
    -1,
    1,
    1e-300,
    1e-12,
    0.5,
    1 - 1e-12,
    3,
    1e6,
    1e300,
    2**53 - 1,
    2**53,
    10**400,
    float("nan"),
    None,
)


def _plan(draw: random.Random, box: Box, material: Material) -> None:
    good = material.plan.read_bytes()
    path = box.work / "plan.json"
    if draw.random() < 0.5:
        record = json.loads(good)
        record[draw.choice(sorted(record))] = draw.choice(
            (*_FIGURES, "1, 0.5", "decay 0.9 scale 0.1", [1.0] * 3)
        )
        path.write_text(json.dumps(record), "utf-8")
    else:
        text = mutate.json_text(draw, json.loads(good)).encode("utf-8", "surrogatepass")
        path.write_bytes(text if draw.random() < 0.7 else mutate.data(draw, good))
    mechanism = draw.choice(("gaussian", "matrix", "local"))
    settings = [
        f"privacy.plan={path}",
        f"privacy.mechanism={mechanism}",
        "privacy.clip=0.5",
        "training.rounds=2",
    ]
    config = resolve("fedavg", [*settings, "sampling.clients=3", "sampling.fraction=0"])
    privacy.planned(config, privacy.plan_of(config, box.work))


def _ledger(draw: random.Random, box: Box) -> list[str]:
    """Writes a ledger; returns the command that shows its ε."""
    spent = box.work / "spent"
    spent.mkdir()
    releases = [release for group in draw.sample(_RELEASES, draw.choice((1, 1, 2))) for release in group]
    records = [dataclasses.asdict(release) for release in releases]
    for _ in range(draw.choice((1, 1, 2))):
        record = draw.choice(records)
        field = draw.choice(sorted(record))
        record[field] = draw.choice((*_FIGURES, mutate.text(draw)))
    lines = [json.dumps(record).encode() for record in records]
    if draw.random() < 0.3:
        place = draw.randrange(len(lines))
        lines[place] = mutate.json_text(draw, records[place]).encode("utf-8", "surrogatepass")
    content = b"\n".join(lines) + b"\n"
    (spent / NAME).write_bytes(mutate.data(draw, content) if draw.random() < 0.2 else content)
    if draw.random() < 0.3:
        (spent / "summary.json").write_text(json.dumps({"delta": draw.choice(_FIGURES)}), "utf-8")
    more = draw.choice(([], [], ["--json"], ["--delta", mutate.number(draw)]))
    return ["privacy", "show", str(spent), *more]


def trial(draw: random.Random, box: Box, material: Material, number: int) -> Ending:
    with untouched(box, (box.work,)):
        if number % 2:
            return refusable(lambda: _plan(draw, box, material))
        return called.judged(_ledger(draw, box), box)


CATEGORY = Category(
    "privacy plans, and ledgers of which ε is computed",
    trial,
    600,
    plain=lambda box, m: called.judged(["privacy", "show", str(m.run)], box),
)
