"""Measures training in the browser against Python's: differences, processor time, and how late the page becomes.

A client of the built-in typists trains an epoch of 400 sentences: `gboard` (SGD) and the GRU of `adam-papers` (Adam,
whose second moment travels, and dropout) in a first round; `gboard` also in a tenth, which begins where Python's ninth
one ended, and the GRU with second moments as a run that has gone on has them.
The same tasks are trained by Python, by the WebAssembly in node, by plain JavaScript in node (the first only), and in a
Worker of Chromium, while the page's main thread runs a timer of 10 ms. Differences are the largest of a parameter after
the epoch. Beside them is Python's own difference if every number that it begins with is moved by one rounding step:
what two machines may differ by.

    python benchmarks/browser_training.py

Prints a JSON line for each measurement. Needs node and Chromium (`make browser`).
"""

from __future__ import annotations

import gzip
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np

sys.path.insert(0, "tests/page")
sys.path.insert(0, "tests/page/train")
import cases
import site_of_training as training_site
from page_site import chromium
from playwright.sync_api import sync_playwright

from tacit.federated.client_optimisers import first_moments
from tacit.federated.local import Reply
from tacit.models import language_model
from tacit.runs.config import resolve
from tacit.text.packed import Packed
from tacit.text.prepare import prepare

SENTENCES, VOCABULARY, ROUNDS, TIMES, IDLE = 400, 10_000, 10, 3, 3000  # IDLE: milliseconds
PRESETS = {
    "gboard": ("gboard", []),
    "gru": ("adam-papers", ["text.corpus=typists", "text.protocol=plain", "text.vocabulary=10000"]),
}


def one_client() -> Packed:
    """Returns a client with 400 sentences of the typists; its words are among the first 10,000."""
    config = resolve("gboard", ["typists.users=200", f"typists.messages={SENTENCES}", "text.vocabulary=0"])
    ready = prepare(config.text, config.partition, config.typists, seed=0)
    most = int(np.argmax(ready.clients.sizes))
    text = ready.clients.gather(np.array([most]))
    kept = min(SENTENCES, int(text.sizes[0]))
    return text.take(np.arange(kept), np.array([0, kept]), text.names)


def python_rounds(folder: Path, name: str, text: Packed) -> list[str]:
    """Writes two rounds of a preset, prints Python's processor time, and returns the names of the cases."""
    preset, settings = PRESETS[name]
    config = resolve(preset, settings)
    model = language_model(config.model, VOCABULARY)
    params = model.init(jax.random.key(config.seed))
    count = sum(leaf.size for leaf in jax.tree.leaves(params))
    run = cases.client_of(config, text, VOCABULARY)
    case = cases.Case(config, text, VOCABULARY, params, [], 3, 0, config.client.lr)
    case = case._replace(carried=list(first_moments(config.client, params)))
    written(folder, f"{name}-first", case, run)
    if case.carried:
        written(folder, f"{name}-settled", settled(case, count), run)
        return [f"{name}-first", f"{name}-settled"]
    seconds = []
    for round_ in range(ROUNDS - 1):
        begun = time.process_time()
        update, weight = run(case).message
        seconds.append(time.process_time() - begun)
        params = jax.tree.map(lambda w, u, by=weight: np.asarray(w + u / by, np.float32), case.params, update)
        case = case._replace(params=params, round=round_ + 1)
    written(folder, f"{name}-tenth", case, run)
    say(name=name, engine="jax", parameters=count, processor_s=statistics.median(seconds))
    return [f"{name}-first", f"{name}-tenth"]


def settled(case: cases.Case, count: int) -> cases.Case:
    """Returns the task with moments of a run that has gone on: of the size that a gradient of norm 1 has, ± a half."""
    draw = np.random.default_rng(0)
    moments = [
        np.asarray(400 if np.ndim(m) == 0 else draw.uniform(0.5, 1.5, np.shape(m)) / count, np.float32)
        for m in case.carried
    ]
    return case._replace(carried=moments)


def written(folder: Path, name: str, case: cases.Case, run: Callable[[cases.Case], Reply]) -> None:
    """Writes a case, and prints how far Python is from itself when it begins one rounding step away."""
    reply = run(case)
    cases.write(folder, name, case, reply)
    nearby = jax.tree.map(lambda w: np.nextafter(np.asarray(w), np.float32(np.inf)), case.params)
    other, (update, weight) = run(case._replace(params=nearby)).message[0], reply.message
    apart = jax.tree.map(lambda a, b: float(np.max(np.abs(a - b))), other, update)
    far = max(jax.tree.leaves(apart)) / float(weight)
    say(name=name, engine="jax, begun one rounding step away", update=far)


def in_node(folder: Path, names: list[str]) -> None:
    """Trains in node, with and without WebAssembly."""
    command = ["node", "benchmarks/browser_training.mjs", str(folder), str(TIMES), *names]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as node:
        assert node.stdout
        for line in node.stdout:
            found = json.loads(line)
            seconds = found.pop("seconds")
            say(**found, processor_s=statistics.median(seconds))
    if node.returncode:
        raise SystemExit(f"node ended with {node.returncode}")


def in_chromium(folder: Path, names: list[str]) -> None:
    """Trains in a Worker of Chromium; how late the page's timer is, idle and meanwhile."""
    with training_site.running(folder) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        for name in names:
            page = browser.new_page()
            page.set_default_timeout(300_000)
            page.goto(address)
            found = page.evaluate(training_site.TRAIN, {"name": name, "idle": IDLE})
            late = {when: found.pop(when) for when in ("before", "during")}
            found["steps"] = len(found["steps"])
            for when, delays in late.items():
                found |= {f"{when}_ms_p{q}": round(float(np.percentile(delays, q)), 2) for q in (50, 95, 99)}
            say(name=name, browser=f"Chromium {browser.version}", **found)
            page.close()
        browser.close()


def say(**facts: Any) -> None:
    print(json.dumps(facts), flush=True)


def main() -> None:
    if not shutil.which("node"):
        raise SystemExit("node is not installed: make browser")
    loaded = [f for f in sorted((training_site.STATIC / "train").iterdir()) if f.suffix in (".js", ".wasm")]
    say(files=len(loaded), gzip_bytes=sum(len(gzip.compress(f.read_bytes(), 9)) for f in loaded))
    with tempfile.TemporaryDirectory() as folder:
        text = one_client()
        say(sentences=len(text.lengths), words=int(text.lengths.sum()), vocabulary=VOCABULARY)
        names = [case for name in PRESETS for case in python_rounds(Path(folder), name, text)]
        in_node(Path(folder), names)
        in_chromium(Path(folder), names[::2])


if __name__ == "__main__":
    main()
