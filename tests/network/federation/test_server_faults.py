"""A server that dies or whose disk is full: nothing committed is lost, and a resumed run ends with the same bytes."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from served import Served, Told, until

NAMES, ROUNDS = ("ana", "ben", "cem"), 3
FILES = ("metrics.jsonl", "vocabulary.txt", "checkpoints/last.safetensors", "checkpoints/best.safetensors")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Three clients and a server, for all tests here."""
    pytest.importorskip("flwr")
    one = Served(tmp_path_factory.mktemp("federation"), NAMES)
    try:
        one.serve()
        one.join(*NAMES)
        one.until_joined(len(NAMES))
        yield one
    finally:
        one.end()


@pytest.fixture(scope="module")
def undisturbed(shared: Served) -> dict[str, bytes]:
    """The files of a run that nothing disturbs."""
    out = shared.folder / "undisturbed"
    shared.call(*shared.settings(ROUNDS, out, "--least", len(NAMES)), seconds=400)
    return {name: (out / name).read_bytes() for name in FILES}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 kB, where this user may mount one."""
    where = tmp_path / "disk"
    where.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(where)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("may not mount a file system")
    yield where
    subprocess.run(["umount", str(where)], check=True)


def ended(shared: Served, run: subprocess.Popen[bytes], *words: str) -> None:
    """A run that was cut off says so in one line."""
    assert run.wait(90) == 2
    errors = [line for line in shared.said(run).splitlines() if line.startswith("tacit:")]
    assert len(errors) == 1 and all(word in errors[0] for word in words), shared.said(run)
    assert "Traceback" not in shared.said(run)


def resumed(shared: Served, out: Path) -> dict[str, bytes]:
    """The files of a run after `--resume`."""
    shared.call(*shared.settings(ROUNDS, out, "--least", len(NAMES), "--resume"), seconds=400)
    assert not [path for path in out.rglob("*") if path.name.endswith(".part")]
    return {name: (out / name).read_bytes() for name in FILES}


def test_the_server_is_killed_in_a_round(shared: Served, told: Told, undisturbed: dict[str, bytes]) -> None:
    out, before = shared.folder / "killed", shared.trained("ana")
    run = shared.start(*shared.settings(ROUNDS, out, "--least", len(NAMES)))
    until(lambda: shared.rounds(out), "the first round is committed", run)
    shared.clients["cem"].send_signal(signal.SIGSTOP)
    until(lambda: shared.trained("ana") == before + 2, "the second round goes on", run)
    ours = {process.pid for process in shared.clients.values()} | {run.pid}
    dead = {p: c for p, c in shared.all_processes().items() if p not in ours and "flower-supernode" not in c}
    assert any("flower-superlink" in c for c in dead.values())
    shared.kill(*dead)
    ended(shared, run, "resume with --resume")
    assert len(shared.rounds(out)) == 1
    shared.clients["cem"].send_signal(signal.SIGCONT)
    shared.serve()
    assert resumed(shared, out) == undisturbed
    told(
        "kill -9 of the server and all of its programs in a round",
        "the run ends with one line; `server` again and `run --resume`: the bytes of an undisturbed run",
    )


def test_superlink_is_killed(shared: Served, told: Told, undisturbed: dict[str, bytes]) -> None:
    """The server ends with one line and leaves nothing; the next one goes on with the same clients."""
    server = next(p for p in reversed(shared.processes) if p.args[4] == "server")  # type: ignore[index]
    out = shared.folder / "superlink"
    run = shared.start(*shared.settings(ROUNDS, out, "--least", len(NAMES)))
    until(lambda: shared.rounds(out), "the first round is committed", run)
    (superlink,) = (p for p, c in shared.all_processes().items() if "/flower-superlink" in c)
    shared.kill(superlink)
    assert server.wait(60) == 2 and "Flower's SuperLink ended" in shared.said(server)
    ended(shared, run)
    until(lambda: len(shared.all_processes()) == 2 * len(NAMES), "all but the clients have ended")
    shared.serve()
    assert resumed(shared, out) == undisturbed
    told(
        "kill -9 of SuperLink in a run",
        "server and run end with one line, nothing is left; after `--resume` the same bytes",
    )


def test_a_full_disk(shared: Served, told: Told, undisturbed: dict[str, bytes], small_disk: Path) -> None:
    """The run ends with one line; once there is room again it goes on as if nothing had been."""
    out = small_disk / "run"
    run = shared.start(*shared.settings(ROUNDS, out, "--least", len(NAMES)))
    until(lambda: shared.rounds(out), "the first round is committed", run)
    with pytest.raises(OSError, match="No space left"), (small_disk / "other").open("wb", 0) as other:
        while True:
            other.write(bytes(1024))
    ended(shared, run, "cannot write", "No space left")
    (small_disk / "other").unlink()
    assert resumed(shared, out) == undisturbed
    told("a disk that is full at the server", "the run ends with one line; after `--resume` the same bytes")
