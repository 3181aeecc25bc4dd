"""Driving the commands as a person would, in this process or in one of its own, and small text to drive them on."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.compilation_cache import compilation_cache

from tacit import cli, runs
from tacit.federated.algorithm import ServerState, Trainer
from tacit.runs import training
from tacit.runs.config import Config, resolve
from tacit.scoring.scores import Scores

PROGRAM = [  # a shell that puts the tests into the background lets them, and what they start, ignore Control-C
    sys.executable,
    "-c",
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "from tacit.__main__ import program; program()",
]
WORDS = [
    "are",
    "you",
    "coming",
    "home",
    "now",
    "i",
    "am",
    "late",
    "so",
    "see",
    "them",
    "there",
    "soon",
    "ok",
    "thanks",
    "for",
    "that",
    "really",
    "good",
    "day",
]
TINY = ("model.embedding=8", "model.hidden=8", "text.vocabulary=20", "sampling.clients=3", "client.batch=4")


class Result(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    def refused(self, *named: str) -> str:
        """The one line of an error: exit code 2, one line that begins with "tacit: ", each of `named` in it."""
        assert self.code == 2, self
        assert self.err.startswith("tacit: ") and self.err.endswith("\n") and self.err.count("\n") == 1, self
        assert "Traceback" not in self.err and "should not have happened" not in self.err, self
        for name in named:
            assert name in self.err, (name, self.err)
        return self.err


class Commands:
    """`tacit` in this process; call it with the arguments of a command line."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
        self._patch, self._capture = monkeypatch, capfd
        monkeypatch.setenv("JAX_NUM_CPU_DEVICES", str(jax.local_device_count()))  # JAX has started
        monkeypatch.delenv("TACIT_DEBUG", raising=False)

    def __call__(self, *arguments: object) -> Result:
        self._patch.setattr(sys, "argv", ["tacit", *map(str, arguments)])
        self._capture.readouterr()
        with pytest.raises(SystemExit) as end:
            cli.main()
        out, err = self._capture.readouterr()
        code = end.value.code
        return Result(0 if code is None else int(code), out, err)

    def ok(self, *arguments: object) -> str:
        """What a command prints when it goes well."""
        result = self(*arguments)
        assert result.code == 0 and not result.err, result
        return result.out

    def json(self, *arguments: object) -> object:
        """What a command prints for machines; nothing but JSON that every reader takes."""

        def refuse(constant: str) -> object:
            raise AssertionError(f"{constant} is no JSON")

        return json.loads(self.ok(*arguments, "--json"), parse_constant=refuse)


@pytest.fixture(scope="session", autouse=True)
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where JAX keeps compiled programs: the same tiny programs are asked for again and again, by both workers."""
    here = tmp_path_factory.getbasetemp()
    kept = (here.parent if "PYTEST_XDIST_WORKER" in os.environ else here) / "compiled"
    jax.config.update("jax_compilation_cache_dir", str(kept))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    compilation_cache.reset_cache()  # an earlier test may have begun without
    return kept


@pytest.fixture
def tacit(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], compiled: Path) -> Commands:
    return Commands(monkeypatch, capfd)


class Processes:
    """`tacit` in a process of its own."""

    def __init__(self, compiled: Path) -> None:
        package = str(Path(cli.__file__).parents[2])
        kept = {k: v for k, v in os.environ.items() if k not in ("TACIT_DEBUG", "TACIT_DATA")}
        self.environment = kept | {
            "PYTHONPATH": package,
            "JAX_COMPILATION_CACHE_DIR": str(compiled),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        }

    def start(self, *arguments: object) -> subprocess.Popen[str]:
        """Begin a command, and go on at once."""
        return subprocess.Popen(
            [*PROGRAM, *map(str, arguments)],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __call__(self, *arguments: object) -> Result:
        started = self.start(*arguments)
        out, err = started.communicate(timeout=600)
        return Result(started.returncode, out, err)


@pytest.fixture
def process(compiled: Path) -> Processes:
    return Processes(compiled)


class Trained(NamedTuple):
    """A finished run that tests look at and never change."""

    path: Path
    corpus: Path


ROUNDS = 3


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory, compiled: Path) -> Trained:
    here = tmp_path_factory.mktemp("trained")
    corpus = write_corpus(here / "messages.jsonl")
    runs.train(configured(corpus), here / "run")
    return Trained(here / "run", corpus)


def sets(*assignments: str) -> list[str]:
    """`--set a=1 --set b=2` from assignments."""
    return [part for a in assignments for part in ("--set", a)]


def write_corpus(path: Path, people: int = 12, messages: int = 8) -> Path:
    """User-keyed JSON lines: everybody types as many messages of five words, no two alike."""
    with path.open("w", encoding="utf-8") as file:
        for p in range(people):
            for m in range(messages):
                start = p * 7 + m * 3
                words = [WORDS[(start + i * (1 + p % 3)) % len(WORDS)] for i in range(5)]
                file.write(json.dumps({"user": f"u{p:02d}", "text": " ".join(words), "time": m}) + "\n")
    return path


def configured(corpus: Path, *more: str, preset: str = "fedavg") -> Config:
    """A small run on this corpus; where typists are read beside it, they are few."""
    settings = [*TINY, "typists.users=40", f"text.corpus={corpus}", f"training.rounds={ROUNDS}"]
    return resolve(preset, [*settings, *more])


def lasting(path: Path) -> dict[str, bytes]:
    """What must be the same however a run came to its end; timings and pages never are."""
    return {k: v for k, v in tree(path).items() if k not in ("timings.jsonl", "report.html")}


def lines(path: Path) -> list[dict[str, Any]]:
    """A file of JSON lines."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def tree(path: Path) -> dict[str, bytes]:
    """Every file under a directory, by its place."""
    return {str(p.relative_to(path)): p.read_bytes() for p in sorted(path.rglob("*")) if p.is_file()}


def leftovers(path: Path) -> list[Path]:
    """Half-written files."""
    return sorted(path.rglob("*.part"))


def stub(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trainer and a scorer that take no time, so that every moment of a run can be visited."""

    def trainer(config: Config, model: Any, ready: Any) -> Trainer:
        def step(state: ServerState, t: int) -> tuple[ServerState, dict[str, float]]:
            moved = jax.tree.map(lambda a: a * 0.5 + np.float32(t), state.params)
            return ServerState(moved, {"count": state.optimiser["count"] + 1}), {"loss": 1 / (t + 1)}

        return Trainer(lambda key: ServerState(model.init(key), {"count": jnp.int32(0)}), step)

    def scorer(model: Any, spelling: Any = None) -> Any:
        def score(params: Any, text: Any) -> Scores:
            size = abs(float(np.asarray(params["output_bias"])[0]) - 1.3)  # best in the middle of the run
            return Scores(*(np.full(len(text.offsets) - 1, v) for v in (size, 0, 5, 0, 1, 2)))

        return score

    monkeypatch.setattr(training, "make_trainer", trainer)
    monkeypatch.setattr(training, "scorer", scorer)


@contextmanager
def file_size_limit(limit: int) -> Iterator[None]:
    """The disk is full for every file longer than this (Python ignores the signal and gets an error)."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
