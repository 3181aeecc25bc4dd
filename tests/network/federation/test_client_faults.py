"""Clients that die, fall silent or come and go: rounds go on with the others, and none is lost or half-applied."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from served import Served, Told, until


def commits(served: Served, out: Path, process: subprocess.Popen[bytes], rounds: int) -> list[float]:
    """Waits for the end of a run; returns the clients of each round. Every round is committed once, whole."""
    code = process.wait(400)
    assert code == 0, served.said(process)
    made = served.rounds(out)
    assert [line["round"] for line in made] == list(range(1, rounds + 1))
    assert all(np.isfinite(line["valid_perplexity"]) for line in made)
    stored = load_file(out / "checkpoints/last.safetensors")
    assert all(np.isfinite(array).all() for array in stored.values() if array.dtype.kind == "f")
    assert json.loads((out / "summary.json").read_text("utf-8"))["clients"] == len(served.names)
    return [line["clients"] for line in made]


def test_a_client_that_is_killed_in_a_round(served: Served, told: Told) -> None:
    """Its SuperNode ends with it and signs off, so the round goes on with the rest before its deadline."""
    out = served.folder / "run"
    served.clients["cem"].send_signal(signal.SIGSTOP)  # so that the round is not over before the kill
    run = served.start(*served.settings(3, out, "--deadline", 90))
    until(lambda: served.trained("ana") and served.trained("ben"), "two have answered", run)
    served.kill(served.clients["cem"].pid)
    until(lambda: served.pids("flower-supernode", "tacit-client").__len__() == 2, "its SuperNode ends")
    until(lambda: served.rounds(out), "the round is committed", run, seconds=80)
    assert commits(served, out, run, 3) == [2, 2, 2]
    told(
        "kill -9 of one of three clients in a round", "rounds go on with the two others, before the deadline"
    )


def test_a_client_that_never_answers(served: Served, told: Told) -> None:
    """The round waits for its deadline and is committed with the others."""
    out = served.folder / "run"
    served.clients["ben"].send_signal(signal.SIGSTOP)
    run = served.start(*served.settings(2, out, "--deadline", 25))
    assert commits(served, out, run, 2) == [2, 2]
    told("a client that never answers (SIGSTOP)", "every round is committed with the others, at its deadline")
    served.clients["ben"].send_signal(signal.SIGCONT)


def test_all_clients_killed_at_once(served: Served, told: Told) -> None:
    """A round without enough answers is abandoned and changes nothing; clients that come back go on."""
    out = served.folder / "run"
    run = served.start(*served.settings(4, out, "--deadline", 130, "--least", 2))
    until(lambda: served.rounds(out), "the first round is committed", run)
    served.clients["cem"].send_signal(signal.SIGSTOP)
    until(lambda: served.trained("ana") >= 2 or len(served.rounds(out)) > 1, "the next round goes on", run)
    for name in served.names:
        served.kill_client(name)
    served.join(*served.names)
    clients = commits(served, out, run, 4)
    assert clients[0] == 3 and clients[-1] == 3 and set(clients) <= {0, 1, 2, 3}, clients
    assert all(served.clients[name].poll() is None for name in served.names)
    told(
        "kill -9 of all three clients at once", f"the run waits, they come back; clients by round: {clients}"
    )


def test_drop_out(served: Served, told: Told) -> None:
    """Every client drops out of a round with a probability of 0.3, by kill -9, and comes back for the next one."""
    out, draw, rounds = served.folder / "run", np.random.default_rng(3), 6
    run = served.start(*served.settings(rounds, out, "--deadline", 100))
    seen, dropped = -1, 0
    until(lambda: served.trained("ana"), "the first round begins", run)
    while run.poll() is None:
        made = len(served.rounds(out))
        if made == seen:
            time.sleep(0.2)
            continue
        seen = made
        served.join(*(name for name in served.names if name not in served.clients))
        for name in served.names if made < rounds else ():
            if draw.random() < 0.3 and served.trained(name) > 0:
                dropped += 1
                client = served.clients.pop(name)
                client.kill()  # its SuperNode signs off, so that it may come back at once
                client.wait()
    clients = commits(served, out, run, rounds)
    assert dropped >= 3 and min(clients) < len(served.names), (dropped, clients)
    told(
        "every client drops out with probability 0.3, by kill -9",
        f"{dropped} drop-outs; clients by round: {clients}",
    )
