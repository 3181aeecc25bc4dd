"""The catalogue: its data hold together, and downloads from a real server end whole or not at all."""

import functools
import gzip
import hashlib
import http.server
import io
import re
import threading
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from tacit.base.errors import TacitError
from tacit.text import catalogue, corpus
from tacit.text.corpora import LAYOUTS, Entry, File

TEXT = {"train.txt": b"a b c\n", "valid.txt": b"d e\n", "test.txt": b"f\n"}


class Quiet(http.server.SimpleHTTPRequestHandler):
    seen: list[str] = []  # noqa: RUF012  (the test's own log of what was asked for)

    def log_message(self, *args):
        pass

    def do_GET(self):
        Quiet.seen.append(self.path)
        if self.path == "/cut.txt":  # announces more than it sends
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"a b c\n")
        else:
            super().do_GET()


@pytest.fixture
def server(tmp_path, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    root = tmp_path / "served"
    root.mkdir()
    for name, content in TEXT.items():
        (root / name).write_bytes(content)
        (root / (name + ".gz")).write_bytes(gzip.compress(content))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in TEXT.items():
            archive.writestr(f"in/{name}", content)
    (root / "all.zip").write_bytes(packed.getvalue())
    Quiet.seen.clear()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=root)) as httpd:
        thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{httpd.server_address[1]}/"
        httpd.shutdown()
        thread.join()


def entry(files, kind="split"):
    return Entry(
        "demo", "a demo", kind, "demo", tuple(files), "https://example.org", "data", "CC0", {"lines": 3}
    )


def made(address_of, member_of=lambda name: ""):
    return entry(
        File(name, hashlib.sha256(content).hexdigest(), "", address_of(name), member_of(name))
        for name, content in TEXT.items()
    )


def said(call):
    with pytest.raises(TacitError) as error:
        call()
    message = str(error.value)
    assert "\n" not in message
    return message


def test_the_data_hold_together():
    names = [e.name for e in catalogue.entries()]
    assert len(names) == len(set(names))
    assert {"ptb", "wikitext-2", "nus-sms", "ubuntu-irc", "shakespeare"} <= set(names)
    places = [(e.folder, f.name) for e in catalogue.entries() for f in e.files]
    assert len(places) == len(set(places))
    for e in catalogue.entries():
        assert e.what and e.licence and e.path and e.counts and e.files
        assert e.source.startswith("https://")
        assert e.kind in LAYOUTS
        assert e.files[0].name in e.layout
        for f in e.files:
            assert re.fullmatch("[0-9a-f]{64}", f.sha256)
            assert re.fullmatch("[0-9a-f]{64}", f.sha256_gzip)
            assert f.address == "" or f.address.startswith("https://")


def test_find():
    assert catalogue.find("ptb").kind == "split"
    assert "did you mean 'wikitext-2'" in said(lambda: catalogue.find("wikitext2"))
    assert "it is one of: common-voice-en" in said(lambda: catalogue.find("zzzz"))


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_fetch_files(server, tmp_path, suffix):
    e = made(lambda name: server + name + suffix)
    path = catalogue.fetch(e, tmp_path / "data")
    assert path == tmp_path / "data" / "demo"
    assert {p.name: p.read_bytes() for p in path.iterdir()} == TEXT
    assert [[m.text for m in c.messages(0)] for c in corpus.read(path)] == [["a b c"], ["d e"], ["f"]]
    Quiet.seen.clear()
    assert catalogue.fetch(e, tmp_path / "data") == path
    assert Quiet.seen == []  # what is there and right is not asked for again


def test_fetch_from_one_zip_asks_once(server, tmp_path):
    e = made(lambda name: server + "all.zip", lambda name: f"in/{name}")
    path = catalogue.fetch(e, tmp_path)
    assert {p.name: p.read_bytes() for p in path.iterdir()} == TEXT
    assert Quiet.seen == ["/all.zip"]


def test_a_file_with_other_content_is_kept(server, tmp_path):
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "train.txt").write_bytes(b"mine, or damaged")
    (tmp_path / "demo" / "test.txt.gz").write_bytes(gzip.compress(TEXT["test.txt"]))
    assert "train.txt: this is not train.txt of 'demo'" in said(
        lambda: catalogue.fetch(made(lambda name: server + name), tmp_path)
    )
    assert (tmp_path / "demo" / "train.txt").read_bytes() == b"mine, or damaged"
    (tmp_path / "demo" / "train.txt").unlink()
    (tmp_path / "demo" / ".demo.tacit.part").mkdir()  # of a killed download
    (tmp_path / "demo" / ".demo.tacit.part" / "half").write_bytes(b"half")
    catalogue.fetch(made(lambda name: server + name), tmp_path)
    assert sorted(p.name for p in (tmp_path / "demo").iterdir()) == ["test.txt.gz", "train.txt", "valid.txt"]
    assert (tmp_path / "demo" / "train.txt").read_bytes() == TEXT["train.txt"]
    assert "/test.txt" not in Quiet.seen  # the packed copy was right


def test_one_file_is_its_own_path(server, tmp_path):
    e = replace(made(lambda name: server + name), kind="sentences")
    e = replace(e, files=e.files[:1])
    assert catalogue.fetch(e, tmp_path) == tmp_path / "demo" / "train.txt"


def nothing_kept(folder):
    return not folder.exists() or list(folder.iterdir()) == []


def test_wrong_content_keeps_nothing(server, tmp_path):
    e = made(lambda name: server + "train.txt")  # right for train only
    message = said(lambda: catalogue.fetch(e, tmp_path / "data"))
    assert "sha256" in message
    assert "--corpus PATH" in message
    assert nothing_kept(tmp_path / "data" / "demo")


@pytest.mark.parametrize(
    ("address", "member", "part"),
    [
        ("missing.txt", "", "answered 404"),
        ("cut.txt", "", "broke off"),
        ("all.zip", "in/none.txt", "not what was expected"),
        ("train.txt", "in/train.txt", "not what was expected"),
    ],
)
def test_other_failures(server, tmp_path, address, member, part):
    e = made(lambda name: server + address, lambda name: member)
    message = said(lambda: catalogue.fetch(e, tmp_path / "data"))
    assert part in message
    assert "a directory with train.txt, valid.txt, test.txt" in message
    assert nothing_kept(tmp_path / "data" / "demo")


def test_no_network(tmp_path, monkeypatch):
    # A proxy that nobody listens at stands for a machine without network: nothing leaves this one.
    for name in ("https_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    message = said(lambda: catalogue.get("ptb", tmp_path))
    assert "the network could not be reached" in message
    assert "--corpus PATH, a directory with train.txt, valid.txt, test.txt" in message


def test_by_hand(tmp_path):
    message = said(lambda: catalogue.get("nus-sms", tmp_path))
    assert "https://github.com/kite1988/nus-sms-corpus" in message
    assert "--corpus PATH" in message
    assert "nus_sms_en.jsonl" in message
    assert nothing_kept(tmp_path)


def test_unwritable_target(server, tmp_path):
    (tmp_path / "data").write_text("a file where a directory should be")
    assert "cannot write there" in said(
        lambda: catalogue.fetch(made(lambda n: server + n), tmp_path / "data")
    )


def test_resolve_paths(tmp_path):
    file = tmp_path / "mine.txt"
    file.write_text("hello")
    assert catalogue.resolve(str(file)) == file
    assert "no such file" in said(lambda: catalogue.resolve(str(tmp_path / "none.txt")))
    assert "did you mean 'typists'" in said(lambda: catalogue.resolve("typist"))


def test_resolve_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = tmp_path / "data"
    (data / "ptb").mkdir(parents=True)
    (data / "ubuntu-irc").mkdir()
    for split in ("train", "valid", "test"):
        (data / "ptb" / f"{split}.txt.gz").write_bytes(gzip.compress(b"x\n"))
    (data / "ubuntu-irc" / "ubuntu_irc_small.jsonl.gz").write_bytes(b"")
    assert catalogue.resolve("ptb", data) == data / "ptb"
    assert catalogue.resolve("ubuntu-irc-small", data) == data / "ubuntu-irc" / "ubuntu_irc_small.jsonl.gz"
    monkeypatch.setenv("TACIT_DATA", str(data))
    assert catalogue.resolve("ptb") == data / "ptb"
    message = said(lambda: catalogue.resolve("wikitext-2"))
    assert str(data) in message
    assert "tacit data get wikitext-2" in message
    assert "by hand" in said(lambda: catalogue.resolve("ubuntu-irc"))
    monkeypatch.delenv("TACIT_DATA")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert str(Path("home", ".cache", "tacit")) in said(lambda: catalogue.resolve("ptb"))
