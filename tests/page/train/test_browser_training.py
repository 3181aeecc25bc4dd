"""Training on a page: the same parameters as Python's client, in node and in real Chromium."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import cases
import jax
import numpy as np
import pytest
import site_of_training

from tacit.base.randomness import bits, stream, uniform
from tacit.federated.batching import order_of_work
from tacit.federated.client_config import ClientConfig
from tacit.federated.evaluation import client_sums, scorer
from tacit.models import language_model
from tacit.personal import gate, split, trial
from tacit.personal.strategies import Strategy
from tacit.personal.sums import Outcome
from tacit.runs.config import resolve
from tacit.text.packed import bucket, pack

HERE = Path(__file__).parent / "js"
SMALL = ["model.embedding=8", "model.hidden=8", "client.batch=5"]
LSTM = ["model.kind=lstm", "model.embedding=8", "model.hidden=12", "client.batch=5"]
# name: preset, settings, second moments of the server
CASES: dict[str, tuple[str, list[str], float]] = {
    "gru-sgd": ("fedavg", [*SMALL, "client.lr=0.5"], 0.0),
    "gru-adam-papers": ("adam-papers", [*SMALL, "text.protocol=plain", "sampling.weight=words"], 1e-4),
    "gru-demo-full": ("demo", [*SMALL, "client.carry='m,v'", "client.carry_form=full"], 1e-4),
    "gru-printed": (
        "fedprox",
        ["model.hidden=12", "model.embedding=8", "model.tied=false", "model.variant=printed", "model.layers=2",
         "client.batch=5", "client.lr=0.5", "client.prox=0.1", "client.stragglers=0.9"],
        0.0,
    ),
    "gru-momentum": ("fedavg", [*SMALL, "client.batch=0", "client.momentum=0.9", "client.carry=m",
                                "client.decay=0.01", "model.dropout=0.4", "model.layers=2"], 1e-3),
    "gboard": ("gboard", [*LSTM, "client.max_examples=17"], 0.0),
    "lstm-groups": (
        "fedavg",
        [*LSTM, "model.groups=2", "model.coupled=false", "model.layer_norm=true", "model.residual=true",
         "model.layers=2", "model.dropout=0.2", "client.lr=0.5"],
        0.0,
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tasks with the replies of Python's client, and draws of its random numbers."""
    made = tmp_path_factory.mktemp("cases")
    fill(made)
    return made


def fill(made: Path) -> None:
    for name, (preset, settings, moments) in CASES.items():
        text = cases.sentences(23, 40, seed=1)
        case = cases.case(resolve(preset, settings), text, 40, moments=moments)
        cases.write(made, name, case, cases.trained(case))
    write_own(made)
    (made / "names.json").write_text(json.dumps(sorted(CASES)), "utf-8")
    (made / "random.json").write_text(json.dumps(draws()), "utf-8")


def write_own(made: Path) -> None:
    """A person whom the gate accepts, and Python's decision; and the scores of the model on all of the text."""
    rng = np.random.default_rng(4)
    habit = rng.integers(3, 40, 6)  # what this person says again and again
    lines = [
        np.array([0, *(habit[: rng.integers(2, 7)] if i % 3 else rng.integers(2, 40, 5)), 1])
        for i in range(60)
    ]
    text = pack([lines], ["a"])
    config = resolve("gboard", [*LSTM, "model.dropout=0.2"])
    model = language_model(config.model, 40)
    params = model.init(jax.random.key(1))
    options = trial.Tuning(max_tokens=150, epochs=2, max_words=4, batching="sentences", seed=5)
    strategy = Strategy(4, (1.0,))
    ready = trial.prepare(model, params, split.split(text), options)
    second, third = trial.look(ready, [strategy])[strategy]
    (tuned,) = trial.tuned_models(ready, strategy, np.array([0]))
    weight = np.float32(1)  # an update as a reply has it
    update = jax.tree.map(lambda a, b: np.asarray(a) - np.asarray(b), tuned, params)
    case = cases.Case(config, text, 40, params, [], 0, 0, 1.0)
    cases.write(made, "own", case, {"message": [update, weight]})

    def told(part: Outcome) -> dict[str, int]:
        return {name: int(getattr(part, name)[0]) for name in ("words", "before", "won", "lost")}

    sums = client_sums(scorer(model), params, text)
    facts = {
        "task": {
            "rate": 1.0,
            "batch": 4,
            "epochs": 2,
            "maxTokens": 150,
            "maxWords": 4,
            "seed": 5,
            "number": 0,
        },
        "cuts": split.split(text).cuts[0, 1:3].tolist(),
        "gate": told(second),
        "last": told(third),
        "passes": [
            [m, bool(gate.passes(second.won, second.lost, second.words, m)[0])] for m in (0.0, 0.2, 0.4, 0.9)
        ],
        "mcnemar": [
            [a, b, float(gate.mcnemar(np.array([a]), np.array([b]))[0])]
            for a, b in ((5, 0), (0, 4), (30, 17))
        ],
        "scores": {field.name: float(getattr(sums, field.name)[0]) for field in dataclasses.fields(sums)},
    }
    assert facts["gate"]["won"] > facts["gate"]["lost"]
    (made / "own-facts.json").write_text(json.dumps(facts), "utf-8")


def draws() -> dict[str, object]:
    """Random numbers and batches of Python, for JavaScript to find again."""
    key = jax.random.fold_in(jax.random.fold_in(jax.random.key(7), 3), 2**31 - 1)
    clients = [
        ClientConfig(epochs=2, batch=4, max_examples=9),
        ClientConfig(epochs=3, batch=0),
        ClientConfig(epochs=1, batch=5, stragglers=0.7),
    ]
    works = []
    for client in clients:
        for size, number, seed in ((1, 0, 0), (11, 5, 3), (14, 40_000, 2**31 - 1)):
            work = order_of_work(np.array([size]), np.array([number]), client, seed, 6)
            steps = [[int(i) for i in step if i >= 0] for step in work.schedule[0]]
            table = {"epochs": client.epochs, "batch": client.batch, "max_examples": client.max_examples,
                     "stragglers": client.stragglers}  # fmt: skip
            works.append([size, table, seed, 6, number, [s for s in steps if s], int(work.steps[0])])
    return {
        "streams": {name: hex(stream(name)) for name in ("local shuffle", "stragglers")},
        "bits": [
            [list(at), hex(int(bits(*at)))]
            for at in ((0,), (1, 2, 3), (2**31 - 1, stream("stragglers") % 2**53))
        ],
        "uniform": float(uniform(5, 6)),
        "key": jax.random.key_data(key).tolist(),
        "kept": np.asarray(jax.random.bernoulli(key, 0.7, (3, 5, 7))).ravel().tolist(),
        "buckets": [bucket(n) for n in range(1, 200)],
        "works": works,
    }


def test_node_trains_what_python_s_client_trains(folder: Path) -> None:
    node = shutil.which("node")
    if not node:
        pytest.skip("node is not installed; `make test` installs it where it may (apt-get install nodejs)")
    done = subprocess.run(
        [node, "--test", *map(str, sorted(HERE.glob("*.test.mjs")))],
        env=os.environ | {"TACIT_CASES": str(folder)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert int(re.findall(r"pass (\d+)", done.stdout)[-1]) >= 2 * len(CASES)
    assert re.findall(r"(?:skipped|todo) (\d+)", done.stdout) == ["0", "0"]


def test_the_compiled_kernels_are_those_of_the_source(tmp_path: Path) -> None:
    sys.path.insert(0, "tools")
    try:
        import build_kernels
    finally:
        sys.path.remove("tools")
    if why := build_kernels.missing():
        pytest.skip(why)
    build_kernels.build(tmp_path / "kernels.wasm")
    built, kept = ((tmp_path / "kernels.wasm").read_bytes(), build_kernels.BUILT.read_bytes())
    assert hashlib.sha256(built).digest() == hashlib.sha256(kept).digest(), "run tools/build_kernels.py"


@pytest.fixture
def opened(browser, folder: Path) -> Callable[..., object]:
    """What a page of a policy finds when it trains a case."""

    def go(
        name: str,
        policy: str = site_of_training.OPEN,
        cancel_after: int = -1,
        script: str = site_of_training.TRAIN,
    ) -> object:
        with site_of_training.running(folder, policy) as address:
            page = browser.new_page()
            try:
                page.goto(address)
                asked = {"name": name, "idle": 0, "cancelAfter": cancel_after}
                return page.evaluate(script, asked)
            finally:
                page.close()

    return go


@pytest.mark.parametrize(
    ("policy", "engine"), [(site_of_training.OPEN, "wasm"), (site_of_training.CLOSED, "javascript")]
)
def test_a_worker_of_chromium_trains_the_same(opened, policy: str, engine: str) -> None:
    found = opened("lstm-groups", policy)
    assert found["engine"] == engine
    assert found["update"] < 1e-5 < found["largest"]
    assert found["weight"] == 23
    assert found["steps"] == [[i + 1, 10] for i in range(10)]


def test_a_training_is_cancelled_and_leaves_nothing(opened) -> None:
    found = opened("gru-sgd", cancel_after=2)
    assert found["error"] == "AbortError"
    assert len(found["steps"]) < 10


def test_a_page_trains_scores_and_tunes(opened, folder: Path) -> None:
    found = opened("gboard", script=site_of_training.TAB)
    case = json.loads((folder / "gboard.json").read_text("utf-8"))
    names = [name.removeprefix("params/") for name, _, _ in case["arrays"] if name.startswith("params/")]
    assert found["names"] == names
    assert found["far"] < 1e-5
    assert found["weight"] == 17
    assert found["scores"]["sentences"] == 5
    assert found["scores"]["words"] == sum(len(s) - 2 for s in case["sentences"][-5:])
    assert found["refused"] == ["TaskError", "conditions"]


def test_the_examples_of_the_docs(opened) -> None:
    page = Path("docs/browser-training.md").read_text("utf-8")
    train, tune = re.findall(r"```js\n(.*?)```", page, re.DOTALL)

    def run(code: str, result: str) -> dict[str, object]:
        code = re.sub(r'import (\{.*?\}) from "\./(.*?)";', r'const \1 = await import("/\2");', code)
        return opened("", script=site_of_training.AROUND.replace("CODE", code).replace("RESULT", result))

    found = run(train, "names: Object.keys(answer.update), weight: answer.weight, report: answer.report")
    assert found["shares"] == [0.5, 1]
    assert found["weight"] == 12
    assert found["names"][0] == "embedding"
    assert found["report"]["words"] == 120
    own = run(tune, "used: own.used, same: inUse === (own.params ?? params), last: own.last")
    assert own["same"]
    assert own["last"]["words"] > 0


def test_page_code_is_small() -> None:
    sent = [f for f in (site_of_training.STATIC / "train").iterdir() if f.suffix in (".js", ".wasm")]
    assert sum(len(gzip.compress(f.read_bytes(), 9)) for f in sent) < 40_000
