"""A real federation on loopback: Flower's own programs, TLS, keys, two clients, two rounds."""

from __future__ import annotations

import hashlib
import json
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from served import LONG, Served, assert_like_the_simulator, tacit, until
from tacit.network import federation
from tacit.network.gate import FLEET

pytest.importorskip("flwr")
NAMES = ("ana", "ben")
MODEL = bytes(range(256)) * 5


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    one = Served(tmp_path_factory.mktemp("federation"), NAMES)
    try:
        (one.folder / "models").mkdir()
        (one.folder / "models/network.tacit").write_bytes(MODEL)
        one.serve("--publish", one.folder / "models")
        one.join("ana", more=["--conditions", one.says(charging=True)])
        one.join("ben")
        yield one
    finally:
        codes = one.end()
    assert codes == [143, *(one.left.get(name, 143) for name in NAMES)]


@pytest.fixture(scope="module")
def run(served: Served) -> Path:
    """Two rounds by the documented command."""
    served.until_joined(2)
    out = served.folder / "run"
    said = served.call(*served.settings(2, out))
    assert "round 2/2  2 clients" in said.stdout
    return out


def test_the_federation_gives_the_simulators_model(served: Served, run: Path) -> None:
    assert_like_the_simulator(served, run)


def test_the_run_is_an_ordinary_run(served: Served, run: Path) -> None:
    summary = json.loads((run / "summary.json").read_text("utf-8"))
    assert summary["clients"] == 2 and summary["refused"] == {} and summary["epsilon"] is None
    told = [json.loads(line) for line in (run / "metrics.jsonl").read_text("utf-8").splitlines()]
    assert [line["clients"] for line in told] == [2, 2] and told[-1]["valid_perplexity"] > 1
    status = json.loads(served.call("status", served.home, "--json").stdout)
    assert status["served"] and status["clients"] == list(NAMES)
    made = [(r["state"], r["rounds"]) for r in status["runs"] if r["work"] == "train"]
    assert made == [("done", 2)]
    log = (served.home / "logs/rounds.jsonl").read_text("utf-8")
    lines = [json.loads(line) for line in log.splitlines()]
    assert [line["event"] for line in lines[:4]] == ["begun", "committed", "committed", "ended"]
    assert lines[1]["answered"] == 2 and 0 < told[0]["bytes_up"] < lines[1]["bytes_up"]
    assert not [name for name in NAMES if name in log]
    seen = served.call("watch", served.home, "--terminal").stdout
    assert "done, 2 of 2 rounds" in seen and "2 clients invited" in seen
    journal = json.loads(served.call("log", served.folder / "ana.invitation", "--json").stdout)
    assert [line["round"] for line in journal if line["task"] == "train"] == [1, 2]
    assert {line["ended"] for line in journal} == {"answered"}


def test_text_stays_with_its_client(served: Served, run: Path) -> None:
    """No message of anybody is in a file of the server or of the run."""
    texts = [json.loads(line)["text"] for n in NAMES for line in (served.folder / f"{n}.jsonl").open()]
    kept = b"".join(p.read_bytes() for top in (served.home, run) for p in top.rglob("*") if p.is_file())
    assert not [text for text in texts if len(text) > 20 and text.encode() in kept]


def test_the_gate_forwards_the_calls_of_clients_and_nothing_else(served: Served) -> None:
    from flwr.superlink.main import create_app  # noqa: F401  (the routes below are those of the installed version)
    from flwr.superlink.routers.control.router import router as control
    from flwr.superlink.routers.fleet.router import router as fleet

    others = [str(getattr(route, "path", "")) for route in control.routes]
    assert len(others) > 5
    calls = {str(getattr(route, "path", "")).rsplit("/", 1)[-1] for route in fleet.routes}
    assert set(FLEET) <= calls  # contract: Flower still has every call that the gate forwards
    for path in [
        *others,
        "/v1/runtime/acquire-task",
        "/v1/fleet/register-node",
        "/docs",
        "/openapi.json",
        "/",
    ]:
        assert served.answer(path) == 404, path
        assert served.answer(path, "GET") == 404, path
    assert served.answer("/v1/fleet/pull-messages", "GET") == 404
    assert served.answer("/v1/fleet/pull-messages?x=1") == 404
    assert served.answer("/v1/fleet/pull-messages") not in (200, 404)  # forwarded, and refused without a key
    assert served.answer("/v1/fleet/push-object", body=bytes(9 * 2**20)) == 413


def test_the_gate_hands_out_the_files_of_its_start_and_no_others(served: Served, tmp_path: Path) -> None:
    invitation, folder = served.folder / "ana.invitation", served.folder / "models"
    (folder / "later.tacit").write_bytes(b"later")
    (folder / "network.tacit").write_bytes(b"changed")
    listed = served.call("fetch", invitation).stdout
    assert listed.split() == ["network.tacit", "1,280", "bytes", "sha256", hashlib.sha256(MODEL).hexdigest()]
    served.call("fetch", invitation, "network.tacit", "--out", tmp_path / "got")
    assert (tmp_path / "got").read_bytes() == MODEL
    names = (
        "later.tacit",
        "../home/server.key",
        "..%2fhome%2fserver.key",
        "%2e%2e/ana.jsonl",
        "",
        "network.tacit/",
    )
    for path in (
        *(f"/files/{name}" for name in names),
        "/files",
        "/files/network.tacit?x=1",
        "//files/network.tacit",
    ):
        assert served.answer(path, "GET") == 404, path
    assert served.answer("/files/network.tacit", "GET") == 200
    assert served.answer("/files/network.tacit") == served.answer("/files/network.tacit", "PUT") == 404


def test_a_key_that_nobody_invited_is_refused(served: Served) -> None:
    from tacit.network.keys import client_keys

    stranger = federation.read_invitation(served.folder / "ana.invitation")._replace(
        private=client_keys().private.decode(), name="eve"
    )
    file = served.folder / "eve.invitation"
    file.write_text(json.dumps({"format": 1, **stranger._asdict()}), "utf-8")
    said = subprocess.run(
        tacit("client", file, "--data", served.folder / "ana.jsonl"),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert said.returncode == 2 and said.stderr.startswith("tacit: Flower's SuperNode ended"), said
    assert said.stderr.count("\n") == 1 and "invitation" in said.stderr


def test_a_server_with_another_certificate_is_refused(served: Served, tmp_path: Path) -> None:
    federation.init(tmp_path / "other")
    wrong = federation.read_invitation(served.folder / "ana.invitation")._replace(
        authority=(tmp_path / "other/ca.crt").read_text("utf-8")
    )
    trusted = ssl.create_default_context(cadata=wrong.authority)
    with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
        urllib.request.urlopen(served.url("/"), context=trusted, timeout=30)


def test_clients_count_words_over_the_network(served: Served, run: Path) -> None:
    """The counts are those of all but the latest tenth of each client's messages, over the list."""
    from collections import Counter

    from tacit.text.tokens import tokenize

    out, listed = served.folder / "counts", served.folder / "words.txt"
    served.call("count", served.home, "--whitelist", listed, "--lambda", "inf", "--out", out)
    expected: Counter[str] = Counter()
    for name in NAMES:
        texts = [json.loads(line)["text"] for line in (served.folder / f"{name}.jsonl").open()]
        for text in texts[: len(texts) - round(0.1 * len(texts))]:
            expected.update(tokenize(text.lower()))
    found = dict(line.split("\t") for line in (out / "counts.tsv").read_text("utf-8").splitlines())
    words = listed.read_text("utf-8").split()
    assert found == {word: str(expected[word]) for word in words if expected[word]}
    status = json.loads(served.call("status", served.home, "--json").stdout)
    assert ("count", "done") in [(r["work"], r["state"]) for r in status["runs"]]


def test_a_client_keeps_nothing_on_disk(served: Served, run: Path) -> None:
    """No update, no text and, once it is connected, no key: in its temporary files and beside its invitation."""
    for name in NAMES:
        texts = [json.loads(line)["text"] for line in (served.folder / f"{name}.jsonl").open()]
        key = federation.read_invitation(served.folder / f"{name}.invitation").private.splitlines()[2]
        kept = [p for p in (served.folder / f"{name}.tmp").rglob("*") if p.is_file()]
        journal = served.folder / f"{name}.invitation.journal.jsonl"
        content = b"".join(p.read_bytes() for p in [*kept, journal])
        assert len([p for p in kept if p.name == "ca.crt"]) == 1
        assert b"NUMPY" not in content and key.encode() not in content
        assert not [text for text in texts if len(text) > 20 and text.encode() in content]
        assert len(content) < 20_000 and not [p for p in kept if p.stat().st_size and "cache" in p.name]


def test_a_client_whose_conditions_do_not_hold_trains_nothing(served: Served, run: Path) -> None:
    served.says(charging=False)
    out = served.folder / "without-ana"
    said = served.call(*served.settings(1, out))
    served.says(charging=True)
    assert "round 1/1  1 clients" in said.stdout
    summary = json.loads((out / "summary.json").read_text("utf-8"))
    assert summary["refused"] == {"conditions": 3}  # training, and the two evaluations
    journal = json.loads(served.call("log", served.folder / "ana.invitation", "--json").stdout)
    assert [line["ended"] for line in journal[-3:]] == ["refused: conditions: the device is not charging"] * 3


def test_a_client_leaves_for_good(served: Served, run: Path) -> None:
    invitation = served.folder / "ana.invitation"
    process = served.clients["ana"]
    asked = time.monotonic()
    assert "ana has left the federation for good" in served.call("leave", invitation).stdout
    assert process.wait(30) == 0
    assert time.monotonic() - asked < 30
    served.left["ana"] = 0
    assert served.said(process).endswith("ana has left the federation for good\n")
    again = subprocess.run(
        tacit("client", invitation, "--data", served.folder / "ana.jsonl"), capture_output=True, text=True
    )
    assert again.returncode == 2 and again.stderr.count("\n") == 1 and "has left" in again.stderr
    assert not any((served.folder / "ana.tmp").iterdir())
    assert "left the federation" in served.call("log", invitation).stdout  # its journal stays


def test_a_removed_client_is_locked_out(served: Served, run: Path) -> None:
    served.call("remove", served.home, "ben")
    nodes = served.home / "flower/nodes.json"
    until(lambda: "ben" not in json.loads(nodes.read_text()), "the key is locked out")
    assert served.clients["ben"].wait(LONG) == 2
    served.left["ben"] = 2
    line = served.said(served.clients["ben"]).splitlines()[-1]
    assert line.startswith("tacit: ") and "the invitation is still valid" in line
    assert "ben" not in json.loads(served.call("status", served.home, "--json").stdout)["clients"]
