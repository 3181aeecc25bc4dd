"""Several processes that train as one, in real processes of JAX on this machine.

One pair of processes makes three runs in a row (starting and compiling is what takes time); a second goes on with
one of them as `tacit train --resume` would; in a third, process 0 fails. They are held against the same runs in
this process, with as many devices and with one.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np
import pytest

from commands import PROGRAM, TINY, Commands, Processes, Result, leftovers, sets, tree, write_corpus
from tacit import runs
from tacit.base.errors import TacitError
from tacit.federated import devices, hosts
from tacit.runs import training
from tacit.runs.config import resolve
from tacit.runs.data import prepare

ROUNDS, SHORT = 4, 2
RULES = {"mean": "fedavg", "attentive": "fedatt"}
SETTINGS = [*TINY, "sampling.clients=5"]
# moments that travel are a second sum over the devices of all processes
ADAM = ["client.optimiser=adam", "client.carry=m,v", "client.lr=0.01", "client.eps=1e-3"]
MORE: dict[str, list[str]] = {"mean": [], "attentive": ADAM, "short": []}

# A process that joins a job and makes one run after another; its arguments: number, corpus, directory.
SEVERAL = f"""
import sys
from pathlib import Path
from tacit import runs
from tacit.federated import hosts
from tacit.runs.config import resolve

address, number, corpus, out = sys.argv[1:]
hosts.join(address, 2, int(number), wait=60)
for name, preset, rounds in {[*[(k, v, ROUNDS) for k, v in RULES.items()], ("short", "fedavg", SHORT)]}:
    settings = [*{SETTINGS}, *{MORE}[name], f"text.corpus={{corpus}}", f"training.rounds={{rounds}}"]
    runs.train(resolve(preset, settings), Path(out) / number / name)
hosts.leave()
"""

# `tacit`, but the disk is full when the second line of the metrics is written.
FULL_DISK = """
import errno
from tacit.cli import main
from tacit.base.files import append_line, cannot_write
from tacit.runs import training

def full(path, record):
    if record["round"] == 2:
        raise cannot_write(path, OSError(errno.ENOSPC, "No space left on device"))
    append_line(path, record)

training.append_line = full
main()
"""


def together(process: Processes, *commands: list[object]) -> list[Result]:
    """Start these at once, every "ADDRESS" in them one that is free, and see how each ends."""
    environment = process.environment | {"JAX_NUM_CPU_DEVICES": "1"}
    for _ in range(3):
        with socket.create_server(("localhost", 0)) as free:
            address = f"localhost:{free.getsockname()[1]}"
        started = [
            subprocess.Popen(
                [address if part == "ADDRESS" else str(part) for part in command],
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for command in commands
        ]
        try:
            said = [p.communicate(timeout=300) for p in started]
        finally:
            for p in started:
                p.kill()
        ended = [Result(p.returncode, *both) for p, both in zip(started, said, strict=True)]
        if not any("already in use" in result.err for result in ended):  # somebody was quicker: another one
            return ended
    raise AssertionError("no free port")


def member(number: int, processes: int = 2) -> list[object]:
    return ["--coordinator", "ADDRESS", "--processes", processes, "--process", number]


class Made(NamedTuple):
    """What the first pair of processes left."""

    corpus: Path
    first: Path
    second: Path
    ended: list[Result]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, compiled: Path) -> Made:
    here = tmp_path_factory.mktemp("hosts")
    corpus = write_corpus(here / "messages.jsonl")
    commands = [[sys.executable, "-c", SEVERAL, "ADDRESS", k, corpus, here] for k in (0, 1)]
    return Made(corpus, here / "0", here / "1", together(Processes(compiled), *commands))


@pytest.fixture(scope="module")
def alone(made: Made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same runs in this process, on its two devices."""
    here = tmp_path_factory.mktemp("alone")
    for rule in RULES:
        train_alone(made.corpus, rule, here / rule)
    return here


def train_alone(corpus: Path, rule: str, out: Path) -> None:
    settings = [*SETTINGS, *MORE[rule], f"text.corpus={corpus}", f"training.rounds={ROUNDS}"]
    runs.train(resolve(RULES[rule], settings), out)


def lasting(path: Path) -> dict[str, bytes]:
    return {k: v for k, v in tree(path).items() if k not in ("timings.jsonl", "report.html")}


def test_two_processes_are_quiet_and_only_the_first_writes(made: Made) -> None:
    assert [result.code for result in made.ended] == [0, 0], made.ended
    assert [result.out + result.err for result in made.ended] == ["", ""]
    assert not made.second.exists()
    assert {p.name for p in made.first.iterdir()} == {*RULES, "short"} and not leftovers(made.first)


@pytest.mark.parametrize("rule", RULES)
def test_two_processes_give_the_bytes_of_one_with_two_devices(made: Made, alone: Path, rule: str) -> None:
    if len(jax.devices()) != 2:
        pytest.skip("needs two devices")
    assert lasting(made.first / rule) == lasting(alone / rule)  # every parameter, metric and setting


@pytest.mark.parametrize("rule", RULES)
def test_two_processes_give_the_model_of_one_device(
    made: Made, rule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jax, "local_devices", lambda: jax.devices()[:1])
    train_alone(made.corpus, rule, tmp_path / rule)
    found, expected = runs.load(made.first / rule).params, runs.load(tmp_path / rule).params
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert np.linalg.norm(a - b) <= 1e-6 * np.linalg.norm(b)


def test_a_run_is_resumed_by_two_processes_to_the_same_bytes(
    made: Made, tmp_path: Path, process: Processes
) -> None:
    """The second process has no run directory at all: what it needs to go on, process 0 tells it."""
    shutil.copytree(made.first / "short", tmp_path / "run")
    common = ["train", "fedavg", "--corpus", made.corpus, "--rounds", ROUNDS, *sets(*SETTINGS), "--resume"]
    outs = [tmp_path / "run", tmp_path / "elsewhere"]
    ended = together(process, *([*PROGRAM, *common, "--out", outs[k], *member(k)] for k in (0, 1)))
    assert [result.code for result in ended] == [0, 0] and not any(r.err for r in ended), ended
    assert lasting(outs[0]) == lasting(made.first / "mean")
    assert not outs[1].exists() and ended[1].out == ""
    assert f"resumed after round {SHORT}" in ended[0].out and "Gloo" not in ended[0].out
    assert (outs[0] / "report.html").is_file()


def test_when_process_0_fails_the_other_ends_and_says_why(
    made: Made, tmp_path: Path, process: Processes
) -> None:
    common = ["train", "fedavg", "--corpus", made.corpus, "--rounds", ROUNDS, *sets(*SETTINGS)]
    ended = together(
        process,
        [sys.executable, "-c", FULL_DISK, *common, "--out", tmp_path / "run", *member(0)],
        [*PROGRAM, *common, "--out", tmp_path / "elsewhere", *member(1)],
    )
    ended[0].refused("cannot write", "metrics.jsonl", "No space left")
    ended[1].refused("process 0 of the job failed", "cannot write", "No space left")
    assert not (tmp_path / "elsewhere").exists()
    # what was written is whole, and the run can go on, in one process as well
    left = (tmp_path / "run/metrics.jsonl").read_bytes()
    assert left.count(b"\n") == 1 and (made.first / "mean/metrics.jsonl").read_bytes().startswith(left)


def test_files_may_lie_elsewhere_on_each_host(tmp_path):
    """What processes compare is what was read, not where it lies."""
    said = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "words").write_text("see\nyou\n")
        config = resolve(
            "fedavg", ["text.vocabulary=0", f"text.words={tmp_path / name / 'words'}", "typists.users=12"]
        )
        ready = prepare(config)
        said.append(training._identity(config, ready))
    assert said[0] == said[1] != {}


def test_processes_that_were_given_different_things_do_not_begin(
    made: Made, tmp_path: Path, process: Processes
) -> None:
    common = ["train", "fedavg", "--corpus", made.corpus, *sets(*SETTINGS), "--out", tmp_path / "run"]
    ended = together(process, *([*PROGRAM, *common, "--seed", k, *member(k)] for k in (0, 1)))
    ended[1].refused("process 1 has other settings than process 0")
    ended[0].refused("process 1 of the job failed", "other settings")
    assert not (tmp_path / "run").exists()


def test_nobody_waits_forever_for_processes_that_do_not_come(tmp_path: Path, process: Processes) -> None:
    common = [*PROGRAM, "train", "fedavg", "--out", tmp_path / "run", "--wait", 1]
    missing, nowhere = together(process, [*common, *member(1)], [*common, "--coordinator", "auto"])
    [alone] = together(process, [*common, *member(0)])
    missing.refused("not all processes", "within 1 s", "--wait")
    alone.refused("not all processes", "within 1 s", "--wait")
    nowhere.refused("--coordinator auto finds no cluster", "HOST:PORT")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ("--processes 2", "--processes goes with --coordinator"),
        ("--process 0", "--process goes with --coordinator"),
        ("--wait 5", "--wait goes with --coordinator"),
        ("--coordinator localhost:1234", "needs --processes"),
        ("--coordinator localhost:1234 --processes 2", "needs --process "),
        ("--coordinator localhost:1234 --processes 0 --process 0", "at least one"),
        ("--coordinator localhost:1234 --processes 2 --process 2", "--process 2 is out of range"),
        ("--coordinator localhost:1234 --processes 2 --process -1", "0 to 1"),
        ("--coordinator localhost --processes 2 --process 1", "not HOST:PORT"),
        ("--coordinator localhost:port --processes 2 --process 1", "not HOST:PORT"),
        ("--coordinator localhost:99999 --processes 2 --process 1", "not HOST:PORT"),
        ("--coordinator localhost:1234 --processes 2 --process 1 --wait 0", "1 to 604800 seconds"),
        ("--coordinator localhost:1234 --processes 2 --process 1 --wait 99999999999", "1 to 604800 seconds"),
        ("--coordinator auto --process 1", "leave out --process"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    tacit: Commands, tmp_path: Path, options: str, named: str
) -> None:
    tacit("train", "fedavg", "--out", tmp_path / "run", *options.split()).refused(named)
    assert not (tmp_path / "run").exists()


def test_a_port_that_is_taken_is_told(tacit: Commands, tmp_path: Path) -> None:
    with socket.create_server(("", 0)) as taken:
        address = f"localhost:{taken.getsockname()[1]}"
        line = ["train", "fedavg", "--out", tmp_path / "run", "--coordinator", address]
        tacit(*line, "--processes", 2, "--process", 0).refused("already in use")


@pytest.mark.parametrize(
    "setting", ["training.mode=central", "training.executor=slow"]
)  # on one device: nothing to share
def test_what_runs_on_one_device_is_refused(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    settings = [*SETTINGS, f"text.corpus={made.corpus}", setting]
    monkeypatch.setattr(hosts, "together", lambda: True)
    monkeypatch.setattr(hosts, "agree", lambda facts: None)
    with pytest.raises(TacitError, match="is for one process; leave out --coordinator"):
        runs.train(resolve("fedavg", settings), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_process_lays_out_its_own_share(monkeypatch: pytest.MonkeyPatch) -> None:
    class Device(NamedTuple):
        process_index: int
        id: int

    monkeypatch.setattr(hosts, "together", lambda: True)
    monkeypatch.setattr(jax, "devices", lambda: [Device(p, i) for i in (1, 0) for p in (2, 0, 1)])
    assert [(d.process_index, d.id) for d in devices.devices()] == [(p, i) for p in range(3) for i in (0, 1)]
    for p in range(3):
        monkeypatch.setattr(jax, "process_index", lambda p=p: p)
        assert devices.local_slice(24) == slice(8 * p, 8 * p + 8)


def test_alone_nothing_is_asked_of_others() -> None:
    params = {"w": np.float32([-0.0, 1.0])}
    assert hosts.first() and not hosts.together() and hosts.least(7) == 7
    assert hosts.from_first(params) is params
    hosts.agree({"settings": b"any"})
    hosts.fail("nobody hears this")
    hosts.leave()
