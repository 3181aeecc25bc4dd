"""Measures training in the browser against Python's: differences, processor time, and how late the page becomes.

A client of the built-in typists trains an epoch of 400 sentences: `gboard` (SGD) and the GRU of `adam-papers` (Adam,
whose second moment travels, and dropout), each in a first round and in a tenth, before which two clients of Python
trained for nine.
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
from collections.abc import Callable, Sequence
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
from tacit.federated.local import Reply, carried_mean
from tacit.models import language_model
from tacit.runs.config import resolve
from tacit.text.packed import Packed
from tacit.text.prepare import prepare

SENTENCES, VOCABULARY, CLIENTS, ROUNDS, TIMES, IDLE = 400, 10_000, 2, 10, 3, 3000  # IDLE: milliseconds
PRESETS = {
    "gboard": ("gboard", []),
    "gru": ("adam-papers", ["text.corpus=typists", "text.protocol=plain", "text.vocabulary=10000"]),
}


def clients() -> list[Packed]:
    """Returns clients with 400 sentences of the typists; their words are among the first 10,000."""
    config = resolve("gboard", ["typists.users=200", f"typists.messages={SENTENCES}", "text.vocabulary=0"])
    ready = prepare(config.text, config.partition, config.typists, seed=0)
    return [_cut(ready.clients.gather(which[None])) for which in np.argsort(-ready.clients.sizes)[:CLIENTS]]


def _cut(text: Packed) -> Packed:
    kept = min(SENTENCES, int(text.sizes[0]))
    return text.take(np.arange(kept), np.array([0, kept]), text.names)


def first_case(name: str, text: Packed) -> cases.Case:
    """Returns the task of a preset's first round."""
    preset, settings = PRESETS[name]
    config = resolve(preset, settings)
    params = language_model(config.model, VOCABULARY).init(jax.random.key(config.seed))
    carried = list(first_moments(config.client, params))
    return cases.Case(config, text, VOCABULARY, params, carried, 3, 0, config.client.lr)


def last_case(case: cases.Case, runs: Sequence[Callable[[cases.Case], Reply]]) -> cases.Case:
    """Returns the task of the tenth round, after nine in which Python's clients trained."""
    for round_ in range(1, ROUNDS):
        replies = [run(case._replace(number=case.number + i)) for i, run in enumerate(runs)]
        update, weight = jax.tree.map(lambda *parts: sum(parts), *[reply.message for reply in replies])
        moments = carried_mean(jax.tree.map(lambda *parts: sum(parts), *[reply.carried for reply in replies]))
        params = jax.tree.map(lambda w, u, by=weight: np.asarray(w + u / by, np.float32), case.params, update)
        carried = [np.asarray(moment, np.float32) for moment in moments]
        case = case._replace(params=params, carried=carried, round=round_)
    return case


def python_rounds(folder: Path, name: str, texts: Sequence[Packed]) -> list[str]:
    """Writes two rounds of a preset, prints Python's processor time, and returns the names of the cases."""
    case = first_case(name, texts[0])
    runs = [cases.client_of(case.config, text, VOCABULARY) for text in texts]
    written(folder, f"{name}-first", case, runs[0])
    seconds = []
    for _ in range(TIMES):
        begun = time.process_time()
        runs[0](case)
        seconds.append(time.process_time() - begun)
    written(folder, f"{name}-tenth", last_case(case, runs), runs[0])
    count = sum(leaf.size for leaf in jax.tree.leaves(case.params))
    say(name=name, engine="jax", parameters=count, processor_s=statistics.median(seconds))
    return [f"{name}-first", f"{name}-tenth"]


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
        texts = clients()
        say(sentences=len(texts[0].lengths), words=int(texts[0].lengths.sum()), vocabulary=VOCABULARY)
        names = [case for name in PRESETS for case in python_rounds(Path(folder), name, texts)]
        in_node(Path(folder), names)
        in_chromium(Path(folder), names[::2])


if __name__ == "__main__":
    main()
