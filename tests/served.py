"""A federation of real processes on loopback, by the documented commands: TLS, keys, clients that can be killed."""

from __future__ import annotations

import json
import os
import re
import signal
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from safetensors.numpy import load_file

from tacit.base.files import write_atomic
from tacit.federated.objective import next_word_loss
from tacit.federated.text_cohorts import text_federation
from tacit.models import language_model
from tacit.models.base import tree_names
from tacit.network import flower
from tacit.network.person import open_device, person_text
from tacit.runs.config import algorithm
from tacit.runs.directory import read_config
from tacit.text import vocabulary
from tacit.text.encode import everybody
from tacit.text.packed import join
from tacit.text.typists import Typists, TypistsConfig

KEYS = ("model.hidden=8", "model.embedding=8", "text.vocabulary=0", "client.lr=1.0", "sampling.fraction=1.0")
LONG = 120.0
Told = Callable[[str, str], None]  # keeps for docs/reliability.md what a test has tried, and what happened
_MARK = "TACIT_TEST_MARK"  # in the environment of all processes of a federation, so that none is overlooked


def tacit(*arguments: Any) -> list[str]:
    return [sys.executable, "-m", "tacit", "federation", *map(str, arguments)]


def until(
    true: Callable[[], Any],
    what: str,
    process: subprocess.Popen[bytes] | None = None,
    seconds: float = LONG,
) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert process is None or process.poll() is None, f"{what}: the process ended"
        assert time.monotonic() < end, what
        time.sleep(0.2)


class Served:
    """A federation, its server and its clients; nothing of it is left running after `end`."""

    def __init__(
        self, place: Path, names: Sequence[str], messages: int = 12, tabs: Sequence[str] = ()
    ) -> None:
        self.folder, self.home, self.names = place, place / "home", tuple(names)
        self.people = (*names, *tabs)  # `tabs` are people with a browser
        self.port, self.pages = flower.free_port(), flower.free_port()
        self.links: dict[str, str] = {}
        self.mark = uuid.uuid4().hex
        self.processes: list[subprocess.Popen[bytes]] = []
        self.clients: dict[str, subprocess.Popen[bytes]] = {}
        self.left: dict[str, int] = {}  # exit codes of clients that have ended by themselves
        self.call("init", self.home, "--port", self.port)
        typists = Typists(TypistsConfig(users=len(self.people), messages=messages))
        words: dict[str, None] = {}
        for k, name in enumerate(self.people):
            texts = [message.text for message in typists.messages(k)]
            lines = [json.dumps({"user": name, "text": text}) + "\n" for text in texts]
            (place / f"{name}.jsonl").write_text("".join(lines), "utf-8")
            words |= dict.fromkeys(re.findall("[a-z]+", " ".join(texts).lower()))
            if name in names:
                self.call("invite", self.home, name, "--out", place / f"{name}.invitation")
            else:
                address = f"http://127.0.0.1:{self.pages}"
                self.links[name] = self.call("invite", self.home, name, "--browser", address).stdout.strip()
        (place / "words.txt").write_text("\n".join(list(words)[:40]) + "\n", "utf-8")

    @property
    def environment(self) -> dict[str, str]:
        temporary = self.folder / "tmp"
        temporary.mkdir(exist_ok=True)
        return {**os.environ, _MARK: self.mark, "TMPDIR": str(temporary)}

    def call(self, *arguments: Any, seconds: float = LONG) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            tacit(*arguments), capture_output=True, text=True, timeout=seconds, env=self.environment
        )
        assert done.returncode == 0, done
        return done

    def start(
        self, *arguments: Any, before: Sequence[str] = (), temporary: Path | None = None
    ) -> subprocess.Popen[bytes]:
        output = (self.folder / f"{arguments[0]}-{len(self.processes)}.out").open("wb")
        command = [*before, *tacit(*arguments)]
        environment = self.environment | ({"TMPDIR": str(temporary)} if temporary else {})
        started = subprocess.Popen(
            command, stdout=output, stderr=output, env=environment, start_new_session=True
        )
        self.processes.append(started)
        return started

    def said(self, process: subprocess.Popen[bytes]) -> str:
        """What a process has printed."""
        number = self.processes.index(process)
        (file,) = self.folder.glob(f"*-{number}.out")
        return file.read_text("utf-8", "replace")

    def serve(self, *more: Any) -> subprocess.Popen[bytes]:
        """Starts the server, and waits until it is open and every invited key is registered."""
        server = self.start("server", self.home, *more)
        until(self.is_open, "the gate opens", server)
        nodes = self.home / "flower/nodes.json"
        until(
            lambda: nodes.is_file() and len(json.loads(nodes.read_text())) >= len(self.names),
            "keys are registered",
            server,
        )
        return server

    def text(self, name: str) -> list[str]:
        """What a person has written, the oldest first."""
        return [json.loads(line)["text"] for line in (self.folder / f"{name}.jsonl").read_text().splitlines()]

    def join(self, *names: str, more: Sequence[Any] = ()) -> None:
        """Starts clients, each with a folder of its own for temporary files."""
        for name in names:
            invitation, data = self.folder / f"{name}.invitation", self.folder / f"{name}.jsonl"
            temporary = self.folder / f"{name}.tmp"
            temporary.mkdir(exist_ok=True)
            self.clients[name] = self.start("client", invitation, "--data", data, *more, temporary=temporary)

    def says(self, charging: bool) -> Path:
        """Writes the state of a device, for `--conditions`."""
        state = {"idle": True, "charging": charging, "unmetered": True, "memory_gb": 4}
        write_atomic(self.folder / "device.json", json.dumps(state))
        return self.folder / "device.json"

    def arrivals(self) -> int:
        """How often a client has come, since the first server's start."""
        log = self.home / "logs/superlink.log"
        return log.read_text("utf-8", "replace").count("Activated node_id")

    def until_joined(self, times: int) -> None:
        until(lambda: self.arrivals() >= times, f"clients come: {times}")

    def settings(self, rounds: int, out: Path, *more: Any) -> list[Any]:
        keys = (*KEYS, f"text.words={self.folder / 'words.txt'}")
        sets = [part for key in keys for part in ("--set", key)]
        return ["run", self.home, "fedavg", "--rounds", rounds, *sets, "--out", out, *more]

    def rounds(self, out: Path) -> list[dict[str, Any]]:
        """The rounds that a run has committed."""
        file = out / "metrics.jsonl"
        text = file.read_text("utf-8") if file.is_file() else ""
        return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]

    def journal(self, name: str) -> list[dict[str, Any]]:
        """What a client has answered."""
        file = self.folder / f"{name}.invitation.journal.jsonl"
        return [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.is_file() else []

    def trained(self, name: str) -> int:
        """How many training tasks a client has answered."""
        return sum(line["task"] == "train" and line["ended"] == "answered" for line in self.journal(name))

    def all_processes(self) -> dict[int, str]:
        """Every living process of this federation, whoever started it."""
        found = {}
        for place in Path("/proc").glob("[0-9]*"):
            try:
                environ = (place / "environ").read_bytes()
                state = (place / "stat").read_text().rpartition(")")[2].split()[0]
                command = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            except OSError:
                continue
            if f"{_MARK}={self.mark}".encode() in environ.split(b"\0") and state != "Z":
                found[int(place.name)] = command
        return found

    def pids(self, *words: str) -> list[int]:
        """The processes whose command line has all of these words."""
        return [
            pid for pid, command in self.all_processes().items() if all(word in command for word in words)
        ]

    def kill(self, *pids: int) -> None:
        """kill -9."""
        for pid in pids:
            os.kill(pid, signal.SIGKILL)

    def kill_client(self, name: str) -> None:
        """Ends a client and its SuperNode at once, as a power cut would."""
        process = self.clients.pop(name)
        nodes = [p for p in self.all_processes() if p != process.pid and _parent(p) == process.pid]
        self.kill(*nodes, process.pid)
        process.wait(10)

    def url(self, path: str) -> str:
        return f"https://127.0.0.1:{self.port}{path}"

    def answer(self, path: str, method: str = "POST", body: bytes = b"", **headers: str) -> int:
        trusted = ssl.create_default_context(cafile=str(self.home / "ca.crt"))
        request = urllib.request.Request(
            self.url(path), body if method == "POST" else None, headers, method=method
        )
        try:
            with urllib.request.urlopen(request, context=trusted, timeout=30) as reply:
                return int(reply.status)
        except urllib.error.HTTPError as error:
            return error.code

    def is_open(self) -> bool:
        try:
            return self.answer("/", "GET") == 404
        except OSError:
            return False

    def end(self) -> list[int]:
        """Asks every process to end and returns the exit codes; nothing may be left."""
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.send_signal(signal.SIGTERM)
        codes = [process.wait(40) for process in self.processes]
        try:
            until(lambda: not self.all_processes(), "every process ends", seconds=15)
        finally:
            left = self.all_processes()
            self.kill(*left)
        assert not left, left
        return codes


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def assert_like_the_simulator(served: Served, run: Path, largest: float = 1e-5) -> None:
    """The parameters of a run are those that the simulator gives on the same clients."""
    config = read_config(run)
    words = vocabulary.load(run / "vocabulary.txt")
    devices = [open_device(served.folder / f"{name}.jsonl") for name in served.people]
    texts = [person_text(everybody(d.messages, True), config, words).training for d in devices]
    model = language_model(config.model, len(words))
    trainer = text_federation(
        model.init, next_word_loss(model), algorithm(config), join(texts), config.seed, config.training.rounds
    )
    state = trainer.init(jax.random.key(config.seed))
    for t in range(config.training.rounds):
        state, _ = trainer.round(state, t)
    stored = load_file(run / "checkpoints/last.safetensors")
    for name, leaf in zip(tree_names(state.params), jax.tree.leaves(state.params), strict=True):
        np.testing.assert_allclose(stored[f"params/{name}"], leaf, atol=largest)
