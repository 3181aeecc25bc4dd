"""Run directories: damaged and missing files, foreign ones in their place, links, FIFOs, names of outside files."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import tacit
from fuzz import mutate
from fuzz.box import SECRET, Box, untouched
from fuzz.categories import Category
from fuzz.material import Material
from fuzz.models import ask
from fuzz.trial import Ending, Fault, refusable
from tacit.page import models as page_models
from tacit.runs import report

_JSON = ("summary.json", "ngram/summary.json", "personal/summary.json")
_LINES = ("metrics.jsonl", "timings.jsonl")
_WRITTEN = ("report.html", "keyboard", "keyboard/network.tacit", "keyboard/made.json")


def _damage(draw: random.Random, run: Path, box: Box) -> bool:
    """Damages a run; returns whether it now names files outside itself."""
    files = sorted(p for p in run.rglob("*") if p.is_file() and p.name != "report.html")
    kind = draw.randrange(12)
    if kind < 3:
        file = run / draw.choice([name for name in _JSON if (run / name).is_file()])
        text = mutate.json_text(draw, json.loads(file.read_bytes()))
        file.write_bytes(text.encode("utf-8", "surrogatepass"))
    elif kind < 5:
        file = run / draw.choice(_LINES)
        lines = file.read_text("utf-8").splitlines()
        place = draw.randrange(len(lines))
        lines[place] = mutate.json_text(draw, json.loads(lines[place]))
        file.write_bytes(("\n".join(lines) + "\n").encode("utf-8", "surrogatepass"))
    elif kind < 7:
        config = run / "config.toml"
        config.write_bytes(mutate.lines(draw, config.read_bytes()))
    elif kind == 7:
        secret = box.outside / "secret.jsonl"
        name = draw.choice(('corpus = "', 'words = "', 'inventory = "'))
        rows = (run / "config.toml").read_text("utf-8").splitlines()
        rows = [f'{name}{secret}"' if row.startswith(name) else row for row in rows]
        (run / "config.toml").write_text("\n".join(rows) + "\n", "utf-8")
        summary = json.loads((run / "ngram" / "summary.json").read_text("utf-8"))
        summary["supplement_corpus"] = draw.choice(
            (str(secret), "/proc/self/environ", str(box.work / "fifo"))
        )
        (run / "ngram" / "summary.json").write_text(json.dumps(summary), "utf-8")
        os.mkfifo(box.work / "fifo")
    else:
        file = draw.choice(files)
        if kind == 8:
            file.unlink()
        elif kind == 9:
            file.unlink()
            if draw.random() < 0.5:
                os.mkfifo(file)
            else:
                file.mkdir()
        elif kind == 10:
            file.unlink()
            file.symlink_to(
                draw.choice((box.outside / "secret.jsonl", file, Path("nowhere"), Path("/proc/self/mem")))
            )
        else:
            others = [p.read_bytes() for p in draw.sample(files, 2)]
            file.write_bytes(mutate.data(draw, file.read_bytes(), others))
    return kind == 7


def _lead_out(draw: random.Random, run: Path, box: Box) -> None:
    """Puts a link in a place that is written, to a file or folder of others."""
    place = run / draw.choice(_WRITTEN)
    if place.parent != run:
        place.parent.mkdir()
        (place.parent / "made.json").write_text("{}\n", "utf-8")
    place.unlink(missing_ok=True)
    place.symlink_to(box.outside / draw.choice(("docs", "page.html", "secret.jsonl", "nothing")))


def trial(draw: random.Random, box: Box, material: Material, number: int) -> Ending:
    run = box.work / "run"
    shutil.copytree(material.run, run)
    shutil.copytree(material.ngram, run / "ngram")
    leads_out = number % 10 == 9
    is_hostile = False if leads_out else _damage(draw, run, box)
    if leads_out:
        _lead_out(draw, run, box)

    def look() -> None:
        opened = tacit.Run(run)
        repr(opened), opened.metrics, opened.summary

    def serve() -> None:
        for model in page_models.page_models(run).models:
            if SECRET.split()[-1].encode() in model.data:
                raise Fault("foreign", f"the model {model.id} holds words of a file outside the run")

    uses: dict[str, Callable[[], object]] = {
        "ask": lambda: ask(run),
        "look": look,
        "compare": lambda: tacit.compare(run, run),
        "entry": lambda: report.entry_of(tacit.Run(run)),
        "plot": lambda: tacit.Run(run).report(),
        "personal": lambda: ask(run, "u21"),
        "prepare": lambda: tacit.Run(run).prepare(),
        "serve": serve,
    }
    # a page for a run whose n-grams are damaged distils new ones, which takes long
    names = sorted(uses) if is_hostile else sorted(set(uses) - {"serve"})
    use = draw.choice(names) if draw.random() < 0.7 or not is_hostile else "serve"
    use = draw.choice(("plot", "serve")) if leads_out else use
    ours = {"plot": (run / "report.html",), "serve": (run / "keyboard",)}.get(use, ())
    with untouched(box, ours):
        return refusable(uses[use])


CATEGORY = Category(
    "damaged run directories: summaries, logs, links, FIFOs, names of outside files",
    trial,
    800,
    plain=lambda box, m: ask(m.run),
)
