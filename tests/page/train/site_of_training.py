"""A server of the page's scripts and of cases, with the policy that a page with a training Worker needs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

STATIC = Path("src/tacit/page/static")
OPEN = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'; worker-src 'self'"
CLOSED = OPEN.replace(" 'wasm-unsafe-eval'", "")  # no WebAssembly

# What a page does: trains a case of this server in a Worker, and measures how late a timer of 10 ms is meanwhile.
TRAIN = """async ({name, idle, cancelAfter}) => {
  const { train } = await import("/train/trainer.js");
  const { parse, against } = await import("/js/parse.mjs");
  const [json, bytes] = await Promise.all([
    fetch(`/cases/${name}.json`).then(a => a.text()), fetch(`/cases/${name}.bin`).then(a => a.arrayBuffer())]);
  const { task, expected } = parse(json, bytes);
  const late = async (until) => {
    const delays = [];
    for (let open = true; open;) {
      const due = performance.now() + 10;
      open = await Promise.race([until.then(() => false), new Promise(go => setTimeout(() => go(true), 10))]);
      delays.push(Math.max(0, performance.now() - due));
    }
    return delays.slice(0, -1).sort((a, b) => a - b);
  };
  const before = await late(new Promise(go => setTimeout(go, idle)));
  const cancel = new AbortController(), steps = [], begun = performance.now();
  const training = train(task, {signal: cancel.signal, progress: (step, of) => {
    steps.push([step, of]);
    if (step === cancelAfter) cancel.abort();
  }});
  const during = late(training.catch(() => 0));
  try {
    const answer = await training;
    return {engine: answer.facts.engine, steps, seconds: (performance.now() - begun) / 1000, weight: answer.weight,
            before, during: await during, ...against(answer, expected)};
  } catch (error) {
    return {error: error.name, reason: error.reason, message: error.message, steps};
  }
}"""

# What the page *Take part* does: it trains and scores a model by its leaves.
TAB = """async ({name}) => {
  const { score, train, tune } = await import("/train/trainer.js");
  const { leaves, modelOf } = await import("/train/shapes.js");
  const { parse, apart } = await import("/js/parse.mjs");
  const [json, bytes] = await Promise.all([
    fetch(`/cases/${name}.json`).then(a => a.text()), fetch(`/cases/${name}.bin`).then(a => a.arrayBuffer())]);
  const { task, expected } = parse(json, bytes);
  const names = leaves(modelOf(task.config.model), task.vocabulary).map((leaf) => leaf.name);
  const { update, weight } = await train(task);
  const far = names.map((name) => apart(update[name], expected[`reply/message/0/${name}`].map((x) => x / weight)));
  const own = { model: task.config.model, vocabulary: task.vocabulary, params: task.params, rate: 1, margin: 0 };
  return { names, far: Math.max(...far), weight, scores: await score({ ...own, sentences: task.sentences.slice(-5) }),
           refused: await tune({ ...own, sentences: [] }).catch((error) => [error.name, error.reason]) };
}"""

# What the examples of docs/browser-training.md need around them: a small text and an untrained model.
AROUND = """async () => {
  const { leaves, modelOf } = await import("/train/shapes.js");
  const model = { kind: "lstm", embedding: 96, hidden: 670 }, vocabulary = 10000, { signal } = new AbortController();
  const params = {}, shares = [], bar = (share) => shares.push(share);
  for (const {name, shape} of leaves(modelOf(model), vocabulary))
    params[name] = new Float32Array(shape.reduce((a, b) => a * b)).map((_, i) => ((i * 7919) % 101) / 1000 - 0.05);
  const nine = (i) => [1, 2, 3, 4, 5, 6, 7, 8, 9].map((j) => 3 + ((i + j) % 5));
  const sentences = Array.from({ length: 12 }, (_, i) => [0, ...nine(i), 1]);
  CODE
  return { shares, RESULT };
}"""


class _Handler(SimpleHTTPRequestHandler):
    extensions_map = {  # noqa: RUF012, as in the class above it
        ".js": "text/javascript",
        ".mjs": "text/javascript",
        ".wasm": "application/wasm",
        ".json": "application/json",
        "": "application/octet-stream",
    }

    def __init__(self, *arguments: object, cases: Path, policy: str) -> None:
        self.roots = {"train": STATIC / "train", "js": Path("tests/page/train/js"), "cases": cases}
        self.policy = policy
        super().__init__(*arguments)  # type: ignore[arg-type]

    def translate_path(self, path: str) -> str:
        folder, _, name = path.lstrip("/").partition("/")
        return str(self.roots[folder] / Path(name).name) if folder in self.roots else "/missing"

    def do_GET(self) -> None:
        if self.path != "/":
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>training</title>")

    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", self.policy)
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def running(cases: Path, policy: str = OPEN) -> Iterator[str]:
    """The server in a thread; gives its address."""
    found = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, cases=cases, policy=policy))
    thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{found.server_port}/"
    finally:
        found.shutdown()
        thread.join()
        found.server_close()
