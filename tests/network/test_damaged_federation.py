"""Files of a federation that are not as Tacit writes them: one line that names the file, and no waiting."""

from __future__ import annotations

import json
import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tacit import cli
from tacit.base.errors import TacitError
from tacit.base.files import append_line
from tacit.network import federation, journal
from tacit.network.keys import public_of
from tacit.network.leaving import has_left, leave
from tacit.network.status import PID, status, stop
from tacit.network.watch.state import state
from tacit.network.watch.terminal import picture

ORDER = "20260131-211500-0a1b"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    place = tmp_path / "home"
    federation.init(place)
    federation.invite(place, "ana", tmp_path / "ana.invitation")
    (place / "runs" / ORDER).mkdir()
    (place / "runs" / ORDER / "order.json").write_text(json.dumps({"out": "runs/x", "config": {}}))
    return place


@pytest.mark.parametrize("content", [b"[]", b"\xff", b'{"out": "runs/x",', b"[" * 100_000])
@pytest.mark.parametrize("name", ["order.json", "ended.json"])
def test_a_damaged_order_is_named(home: Path, name: str, content: bytes) -> None:
    (home / "runs" / ORDER / name).write_bytes(content)
    for read in (status, state):
        with pytest.raises(TacitError, match=rf"{ORDER}/{name} is not as Tacit writes it \(.*\); restore it"):
            read(home)


@pytest.mark.parametrize("folder", ["clients", "flower", "runs", "logs"])
def test_a_missing_folder_is_named(home: Path, folder: str) -> None:
    shutil.rmtree(home / folder)
    for read in (federation.read, status, state):
        with pytest.raises(TacitError, match=f"has no folder {folder}, which every federation has"):
            read(home)


@pytest.mark.parametrize(
    "config", [None, 3, {"training": 3}, {"training": {"rounds": "many"}}, {"name": [], "training": {}}]
)
def test_a_watched_run_may_have_any_configuration(home: Path, config: object) -> None:
    order = home / "runs" / ORDER
    (order / "order.json").write_text(json.dumps({"out": "runs/x", "work": "count", "config": config}))
    assert state(home)["run"]["rounds"] == 0


@pytest.mark.parametrize("wrong", [{}, {"ends": "soon"}, {"refused": 3}, {"task": None}, {"goal": True}])
def test_progress_that_tells_nothing_is_not_shown(home: Path, wrong: dict[str, object]) -> None:
    names = [
        "asked",
        "goal",
        "accepted",
        "ends",
        "round",
        "rounds",
        "time",
        "connected",
        "bytes_down",
        "bytes_up",
    ]
    whole = {"task": "train", "refused": {"schema": 1}} | dict.fromkeys(names, 1)
    file = home / "runs" / ORDER / "progress.json"
    file.write_text(json.dumps(whole))
    assert state(home)["now"] == whole
    file.write_text(json.dumps(whole | wrong if wrong else {"round": 1}))
    assert state(home)["now"] is None
    picture(state(home))


@pytest.mark.parametrize(
    "address", ["", "here", "127.0.0.1:x", "127.0.0.1:99999", "127.0.0.1:-1", "[::1:9", "a@b:9"]
)
def test_an_invitation_has_an_address(home: Path, tmp_path: Path, address: str) -> None:
    file = tmp_path / "ana.invitation"
    for right in ("127.0.0.1:9092", "[::1]:9", "keyboards.example.org:443"):
        file.write_text(json.dumps(json.loads(file.read_text()) | {"address": right}))
        assert federation.read_invitation(file).address == right
    file.write_text(json.dumps(json.loads(file.read_text()) | {"address": address}))
    with pytest.raises(TacitError, match=r"is not an invitation \(.*\); ask for another"):
        federation.read_invitation(file)


def test_a_journal_keeps_what_can_be_read(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "ana.invitation.journal.jsonl"
    journal.write(file, 1_700_000_000, {"task": "train", "round": 0, "ended": journal.ANSWERED})
    whole = file.read_bytes()
    file.write_bytes(b'{"time": "\xff"}\n[1]\n{"task": }\n' + whole + whole[:20])
    assert [line["task"] for line in journal.lines(file)] == ["train"]
    assert journal.last_answers(file) == {"train": 1_700_000_000}
    monkeypatch.setattr(
        "sys.argv", ["tacit", "federation", "log", str(tmp_path / "ana.invitation"), "--json"]
    )
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert not ended.value.code and json.loads(capsys.readouterr().out)[0]["round"] == 1


def test_a_log_that_is_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    pipe = tmp_path / "journal.jsonl"
    os.mkfifo(pipe)
    seen: list[str] = []

    def write() -> None:
        try:
            append_line(pipe, {"a": 1})
        except TacitError as error:
            seen.append(str(error))

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    thread.join(5)
    assert seen and seen[0].startswith(f"cannot write {pipe}: ")


def test_an_invitation_that_was_not_registered_is_taken_up(home: Path, tmp_path: Path) -> None:
    """What a kill between the invitation and its registration leaves; everything else that exists is refused."""
    before = federation.read(home)
    out = tmp_path / "cleo.invitation"
    given = federation.invite(home, "cleo", out)
    assert out.stat().st_mode & 0o777 == 0o600
    federation._write(before)
    content = out.read_bytes()
    assert federation.invite(home, "cleo", out) == given and out.read_bytes() == content
    assert federation.read(home).clients[-1].public == public_of(given.private)
    for name in ("cleo", "dan"):
        with pytest.raises(TacitError, match="exists; choose another --out"):
            federation.invite(home, name, out)
    assert [client.name for client in federation.read(home).clients] == ["ana", "cleo"]


def test_a_certificate_that_is_none_is_named(home: Path, tmp_path: Path) -> None:
    for spoil in (lambda file: file.write_bytes(b"\xff"), lambda file: file.unlink(), os.mkfifo):
        spoil(home / "ca.crt")
        with pytest.raises(TacitError, match=r"ca\.crt: cannot be read \(.*\); restore it"):
            federation.invite(home, "cleo", tmp_path / "cleo.invitation")


@pytest.mark.parametrize("said", ["-1", "0", "1", "", "x", "9" * 5000])
def test_only_a_server_is_stopped(home: Path, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A number that is none of a process would end others."""
    ended: list[int] = []
    monkeypatch.setattr(os, "kill", lambda number, which: ended.append(number))
    monkeypatch.setattr("tacit.network.status.is_locked", lambda directory: not ended)
    (home / PID).write_text(said)
    with pytest.raises(TacitError, match=r"server\.pid does not name the server's process"):
        stop(home)
    assert not ended
    (home / PID).write_text("4194305\n")
    assert stop(home) and ended == [4194305]


def test_leaving_is_one_write(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill after it leaves the note, filled up with spaces, and nothing of the key."""
    invited = tmp_path / "ana.invitation"
    private = federation.read_invitation(invited).private

    def killed(number: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", killed)
        with pytest.raises(KeyboardInterrupt):
            leave(invited, tmp_path / "journal")
    assert has_left(invited) and private.splitlines()[1] not in invited.read_text("utf-8")


@pytest.mark.parametrize("port", ["Infinity", "1e309", "0", "65536", "true", '"9092"', "null", "9" * 400])
def test_a_federation_has_a_port(home: Path, port: str) -> None:
    text = (home / federation.NAME).read_text().replace('"port": 9092', f'"port": {port}')
    (home / federation.NAME).write_text(text)
    with pytest.raises(
        TacitError, match=r"federation\.json is not as Tacit writes it \(it has no host and port\)"
    ):
        federation.read(home)


@pytest.mark.parametrize(
    "host", ["", "a..b", "-", "x,y", "a b", "127.1", "é", "\x1b[2J", "a" * 64, "[::1]", "*"]
)
def test_a_host_that_no_client_can_reach_is_refused(tmp_path: Path, host: str) -> None:
    with pytest.raises(TacitError, match="is neither a host name nor an address"):
        federation.init(tmp_path / "home", host)
    assert not (tmp_path / "home").exists()


def test_a_certificate_that_is_no_text_of_ascii_is_refused(tmp_path: Path) -> None:
    federation.init(tmp_path / "home")
    given = federation.invite(tmp_path / "home", "ana", tmp_path / "ana.invitation")
    said = {"format": 1, **given._asdict(), "authority": given.authority + "é"}
    (tmp_path / "ana.invitation").write_text(json.dumps(said))
    with pytest.raises(TacitError, match="its certificate is no PEM"):
        federation.read_invitation(tmp_path / "ana.invitation")


def test_two_who_join_at_once_both_do(tmp_path: Path) -> None:
    home = tmp_path / "home"
    federation.init(home)
    names = [f"n{i}" for i in range(8)]
    with ThreadPoolExecutor(8) as pool:
        tokens = list(pool.map(lambda name: federation.invite_browser(home, name), names))
    assert len(set(tokens)) == 8 and sorted(c.name for c in federation.read(home).clients) == names
