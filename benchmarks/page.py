"""Measures the keyboard page in a real browser: speed, size and network requests.

Headless Chromium, driven by Playwright, opens the page of a run five times and then presses 500 keys of the built-in
typists' messages, alternately on a hardware keyboard and with a pointer on the page's keys. Times are the browser's:

    handled       from the time stamp of the key's event to the new suggestions in the document
    painted       to the end of the frame that shows them; a frame lasts 16.7 ms
    processor     what the page's main thread has computed for a key, its frame included; other work on the machine
                  does not count
    first usable  from the start of the navigation until the first key can be pressed: a first visit, whose service
                  worker is installed and whose store is filled before that

The model is the run's network with 8 bits per weight. In node, the page's own scripts then predict every word of
held-out typists (`page_recall.mjs`): the share of words that stand in the bar before their first letter.

    python benchmarks/page.py runs/demo
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright

from tacit.page import server as serve
from tacit.page.models import PageModels, page_models
from tacit.runs import prepare, read_config
from tacit.text.typists import Typists, TypistsConfig

KEYS, VISITS, PAUSE = 500, 5, 40  # milliseconds between keys: 25 a second, faster than people type
MESSAGES = 1500  # of held-out typists
NAMES = {" ": "Space", "'": "Apostrophe", ".": "Full stop", ",": "Comma", "\n": "Enter"}
WATCH = """(() => {
  window.times = {handled: [], painted: []};
  let began = 0;
  for (const kind of ['keydown', 'pointerup']) addEventListener(kind, e => (began = e.timeStamp), true);
  addEventListener('DOMContentLoaded', () => new MutationObserver(() => {
    if (!began) return;
    const start = began;
    began = 0;
    times.handled.push(performance.now() - start);
    requestAnimationFrame(() => {
      const after = new MessageChannel();
      after.port1.onmessage = () => times.painted.push(performance.now() - start);
      after.port2.postMessage(0);
    });
  }).observe(document.getElementById('latency'), {childList: true}));
})()"""


def script(count: int) -> str:
    """Returns the text to type: messages of held-out typists, in lower case, limited to the available keys."""
    people, typed = Typists(TypistsConfig(users=20, seed=99)), ""
    for k in range(len(people)):
        for message in people.messages(k):
            kept = "".join(c for c in message.text.lower() if c in "abcdefghijklmnopqrstuvwxyz '.,")
            typed += kept.strip() + "\n"
            if len(typed) >= count:
                return typed[:count]
    return typed


def usable(browser: Browser, address: str) -> float:
    """Returns the milliseconds until the page accepts keys, from a cold start."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    ready_at = page.evaluate("performance.getEntriesByName('tacit-ready')[0].startTime")
    context.close()
    return float(ready_at)


def press(page: Page, text: str) -> list[float]:
    """Presses every other key with a pointer at the centre of the page's key, the others on the hardware keyboard.

    Returns the processor time of each key in milliseconds.
    """
    tools = page.context.new_cdp_session(page)
    tools.send("Performance.enable", {"timeDomain": "threadTicks"})

    def spent() -> float:
        metrics = tools.send("Performance.getMetrics")["metrics"]
        return 1000 * float(next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration"))

    board = page.get_by_role("group", name="Keys")
    places = {}
    for name in {*"abcdefghijklmnopqrstuvwxyz", *NAMES}:
        box = board.get_by_role("button", name=NAMES.get(name, name), exact=True).bounding_box()
        assert box is not None
        places[name] = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    clock = [spent()]
    for i, letter in enumerate(text):
        if i % 2:
            page.mouse.click(*places[letter])
        else:
            page.keyboard.press("Enter" if letter == "\n" else letter)
        page.wait_for_timeout(PAUSE)
        clock.append(spent())
    page.wait_for_timeout(200)
    return np.diff(clock).tolist()


def percentiles(times: list[float]) -> dict[str, float]:
    return {f"p{p}": round(float(np.percentile(times, p)), 2) for p in (50, 95, 99)} | {
        "most": round(max(times), 2)
    }


def recall(run: Path, built: PageModels) -> dict[str, dict[str, float]]:
    """Returns the share of the words of held-out typists that were in the bar, by model."""
    ready = prepare(read_config(run))
    words, text = ready.vocabulary.words, ready.test
    ends = zip(text.offsets[:-1].tolist(), text.offsets[1:].tolist(), strict=True)
    messages = [[words[i] for i in text.tokens[a + 1 : b - 1].tolist()] for a, b in ends]
    chosen = np.random.default_rng(0).permutation(len(messages))[:MESSAGES]
    with TemporaryDirectory() as folder:
        paths = {}
        for model in built.models:
            if not model.compare:
                (Path(folder) / model.id).write_bytes(model.data)
                paths[model.id] = str(Path(folder) / model.id)
        asked = {"models": paths, "capitals": built.capitals, "messages": [messages[i] for i in chosen]}
        script = Path(__file__).with_name("page_recall.mjs")
        done = subprocess.run(["node", str(script)], input=json.dumps(asked), capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    found: dict[str, dict[str, float]] = json.loads(done.stdout)
    return found


def measure(run: Path) -> dict[str, Any]:
    built = page_models(run)
    models = [model for model in built.models if not model.compare]  # the page loads no others
    files = serve.site(models, capitals=built.capitals)
    own = {*serve.page_files(), serve.DICTIONARY}
    server = serve.server(files)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = serve.address(server)
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        first = [usable(browser, address) for _ in range(VISITS)]
        page = browser.new_page()
        requests: list[str] = []
        complaints: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.on(
            "console", lambda message: complaints.append(message.text) if message.type == "error" else None
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.add_init_script(WATCH)
        page.goto(address)
        page.wait_for_selector("html[data-ready]")
        loaded = len(requests)
        processor = press(page, script(KEYS))
        times = page.evaluate("times")
        version = browser.version
        browser.close()
    server.shutdown()
    assert len(times["handled"]) >= 0.99 * KEYS, f"{len(times['handled'])} of {KEYS} keys were seen"
    return {
        "chromium": version,
        "keys": len(times["handled"]),
        "handled_ms": percentiles(times["handled"]),
        "painted_ms": percentiles(times["painted"]),
        "processor_ms": percentiles(processor),
        "first_usable_ms": {"median": round(statistics.median(first), 1), "most": round(max(first), 1)},
        "page_bytes": sum(len(a.packed or a.body) for path, a in files.items() if path[1:] in own),
        "model_bytes": {model.id: len(model.data) for model in models},
        "recall": recall(run, built),
        "requests_to_load": loaded,
        "requests_after": len(requests) - loaded,
        "console_errors": complaints,
    }


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("run", type=Path, nargs="?", default=Path("runs/demo"))
    json.dump(measure(given.parse_args().run), sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
