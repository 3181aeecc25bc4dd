"""The server answers with its own files and nothing else; which models it finds, and what it refuses."""

from __future__ import annotations

import doctest
import gzip
import json
import re
import shutil
import socket
import struct
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from page_site import running

from commands import write_corpus
from tacit import runs
from tacit.base.errors import TacitError
from tacit.keyboard import dictionary, layout, parameters
from tacit.lm.network8 import reader as network8
from tacit.lm.protocol import suggest
from tacit.ngram.compact import reader
from tacit.ngram.compact.model import CompactSource
from tacit.page import building, models, server
from tacit.page.files import POLICY, TUNING_POLICY
from tacit.page.models import PageModel, page_models
from tacit.page.models import trust as page_trust
from tacit.personal import models as personal_models
from tacit.text.locale import find

PIECES = [
    "..",
    ".",
    "%2e%2e",
    "%2E.",
    "..%2f",
    "..\\",
    "%00",
    "~",
    "etc",
    "passwd",
    "page",
    "tacit",
    "serve.py",
]
PIECES += [
    "index.html",
    "app.js",
    "models.json",
    "model-0.tacit",
    "package.json",
    "",
    "file:",
    "C:",
    "?",
    "#",
    "*",
]


def ask(
    address: str, path: bytes, host: str = "localhost", method: str = "GET", more: str = ""
) -> tuple[int, dict[str, str], bytes]:
    """A request with exactly this path, which clients would tidy up."""
    where = urlsplit(address)
    with socket.create_connection((where.hostname, where.port), timeout=60) as line:
        line.sendall(
            f"{method} ".encode()
            + path
            + f" HTTP/1.1\r\nHost: {host}\r\n{more}Connection: close\r\n\r\n".encode()
        )
        answer = b""
        while part := line.recv(65536):
            answer += part
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *rest = head.decode("latin-1").split("\r\n")
    return int(first.split()[1]), dict(line.split(": ", 1) for line in rest), body


def test_all_files_of_the_page_are_served_with_the_policy(small):
    files = server.site([PageModel("a", "A", "first", small.path.read_bytes())], ["damn"], ["no luck"])
    with running(files) as address:
        for path, wanted in files.items():
            status, head, body = ask(address, path.encode())
            assert (status, head["Content-Type"], body) == (200, wanted.kind, wanted.body)
            assert (
                head["Content-Security-Policy"] == wanted.policy
                and head["X-Content-Type-Options"] == "nosniff"
            )
            kept = "no-cache" if path.lstrip("/") in server.page_files() or path == "/" else "no-store"
            assert head["Cache-Control"] == ("max-age=31536000, immutable" if path == "/worker.js" else kept)
            assert head["Server"].startswith("tacit") and "Python" not in head["Server"]
            status, head, body = ask(address, path.encode(), method="HEAD")
            assert (status, int(head["Content-Length"]), body) == (200, len(wanted.body), b"")
        assert ask(address, b"/index.html?x=1")[0] == 200
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE"):
            assert ask(address, b"/", method=method)[0] == 501
    listed = json.loads(files["/models.json"].body)
    assert listed["models"] == [{"id": "a", "title": "A", "about": "first", "file": "model-0.tacit"}]
    assert (listed["blocked"], listed["problems"]) == (["damn"], ["no luck"])
    assert (listed["layout"], listed["parameters"]) == (layout.as_json(), parameters.as_json())
    assert files["/model-0.tacit"].body == small.path.read_bytes()


def test_text_is_sent_by_gzip_to_those_who_take_it_and_models_are_not(small):
    files = server.site([PageModel("a", "A", "first", small.path.read_bytes())])
    with running(files) as address:
        for path, wanted in files.items():
            status, head, body = ask(address, path.encode(), more="Accept-Encoding: gzip, br\r\n")
            assert status == 200 and int(head["Content-Length"]) == len(body)
            is_text = Path(path).suffix in ("", ".html", ".js", ".css", ".json")
            assert (head.get("Content-Encoding") == "gzip") == is_text == ("Vary" in head), path
            assert (gzip.decompress(body) if is_text else body) == wanted.body
            assert "Content-Encoding" not in ask(address, path.encode())[1]
    sent = [
        len(files[f"/{name}"].packed or files[f"/{name}"].body)
        for name in (*server.page_files(), server.DICTIONARY)
    ]
    assert sum(sent) <= 210_000


def test_a_locale_without_a_dictionary_names_none():
    english, german = (server.site([], locale=find(code)) for code in ("en", "de"))
    assert json.loads(english["/models.json"].body)["dictionary"] == server.DICTIONARY
    assert english[f"/{server.DICTIONARY}"].body == dictionary.raw_of(find("en"))
    assert (
        "dictionary" not in json.loads(german["/models.json"].body) and f"/{server.DICTIONARY}" not in german
    )


def test_names_of_any_bytes_reach_the_page():
    name = "\udcff\x1b[31m é"  # a file's name that is no UTF-8
    told = json.loads(server.site([PageModel("a", name, name, b"")])["/models.json"].body)
    assert told["models"][0]["title"] == told["models"][0]["about"] == name


def test_the_policy_names_no_other_host_and_allows_no_inline_script():
    assert "default-src 'none'" in POLICY and "unsafe" not in POLICY and "http" not in POLICY
    assert (
        TUNING_POLICY == "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'"
    )  # no request but for scripts
    page = server.page_files()["index.html"].body.decode()
    assert "://" not in page and "onclick" not in page and "<style" not in page and page.count("<script") == 1
    for name, answer in server.page_files().items():
        # there: the name of SVG, which is no address
        assert name == "keyboard.js" or name.endswith(".png") or b"://" not in answer.body, name


def test_a_browser_is_told_all_modules_at_once():
    files = server.page_files()
    page = files["index.html"].body.decode()
    told = re.findall(r'<link rel="modulepreload" href="(\S+)">', page)
    assert told[0] == "app.js" and len(told) == len(set(told)) > 40
    imported = {m for name in told for m in re.findall(r'from "\./(.+?)"', files[name].body.decode())}
    assert imported | {"app.js"} == set(told)
    assert set(told) == {name for name in files if name.endswith(".js")} - {"worker.js"}  # no file is idle


def test_page_and_script_are_small():
    assert sum(len(answer.body) for answer in server.page_files().values()) <= 300_000


class Plain:
    """A server and what it has; not a tuple, whose repr would fill the screen."""

    def __init__(self, files: server.Site, address: str) -> None:
        self.files, self.address = files, address


@pytest.fixture(scope="module")
def plain(small):
    files = server.site([PageModel("a", "A", "", small.path.read_bytes())])
    with running(files) as address:
        yield Plain(files, address)


@settings(max_examples=150)
@given(
    st.one_of(
        st.lists(st.sampled_from(PIECES), max_size=8).map("/".join),
        st.text(st.characters(codec="utf-8", exclude_characters="\r\n \0"), max_size=30),
    )
)
@example("/../../../../etc/passwd")
@example("//etc/passwd")
@example("/page/../index.html")
@example("/%69ndex.html")
@example("/package.json")
@example("/index.html/")
def test_no_path_leads_anywhere_but_to_its_own_files(plain, path):
    status, _, body = ask(plain.address, b"/" + path.encode())
    words = f"/{path}".encode().decode("latin-1").split()  # so Python's server reads a request's line
    name = "/" + words[0].partition("?")[0].lstrip("/")  # and makes // at the start one
    if len(words) == 1 and name in plain.files:
        assert (status, body) == (200, plain.files[name].body)
    else:
        assert status in (400, 404) and len(body) < 1000


def test_it_listens_on_this_machine_and_answers_to_its_names_only(plain):
    files, address = plain.files, plain.address
    assert address.startswith("http://127.0.0.1:")
    for host in ("localhost", "127.0.0.1:80", "[::1]", "LOCALHOST:1"):
        assert ask(address, b"/", host)[0] == 200
    for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "", "[::2]"):
        status, _, body = ask(address, b"/models.json", host)
        assert status == 421 and b"model" not in body
    with running(files, "127.0.0.2") as other:  # of this machine, too
        assert ask(other, b"/", "127.0.0.2")[0] == 200 and ask(other, b"/", "evil.example")[0] == 421
    open_to_all = server.server(files, "0.0.0.0")
    assert open_to_all.server_address[0] == "0.0.0.0"
    open_to_all.server_close()


def test_what_cannot_be_served_is_one_line(tacit, small, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        tacit("serve", small.path, "--no-open", "--port", port).refused(f"port {port} is in use", "--port")
        # what is wrong with the file is told first: it depends on the command alone, not on the machine
        tacit("serve", tmp_path / "no.tacit", "--port", port).refused("no.tacit", "there is no such file")
        tacit("serve", tmp_path, "--port", port).refused("not a run directory")
    tacit("serve", small.path, "--port", 70_000).refused("--port 70000")
    tacit("serve", small.path, "--port", 0, "--host", "203.0.113.1").refused("--host 203.0.113.1")
    tacit("serve", small.path, "--port", 0, "--host", "").refused("--host is empty")
    tacit("serve", tmp_path, "--port", 0).refused("not a run directory")
    tacit("serve", tmp_path / "no.tacit", "--port", 0).refused("no.tacit", "there is no such file")
    (tmp_path / "a.arpa").write_text("\\data\\\n")
    tacit("serve", tmp_path / "a.arpa", "--port", 0).refused(
        "a.arpa", "not a compact n-gram file", "tacit distill"
    )
    data = bytearray(small.path.read_bytes())
    struct.pack_into("<I", data, 8, 2)
    (tmp_path / "newer.tacit").write_bytes(data)
    tacit("serve", tmp_path / "newer.tacit", "--port", 0).refused("newer.tacit", "version 2", "update")
    (tmp_path / "block.txt").write_text("two words\n")
    tacit("serve", small.path, "--port", 0, "--block", tmp_path / "block.txt").refused("block.txt, line 1")
    tacit("serve", small.path, "--port", 0, "--block", tmp_path / "none.txt").refused("none.txt")


def test_the_command_serves_until_it_is_interrupted(process, small, tmp_path):
    (tmp_path / "block.txt").write_text("Damn\n")
    started = process.start("serve", small.path, "--no-open", "--port", 0, "--block", tmp_path / "block.txt")
    try:
        address = started.stdout.readline().split()[0]
        with urllib.request.urlopen(address + "models.json", timeout=60) as answer:
            listed = json.load(answer)
        assert [m["title"] for m in listed["models"]] == ["typists, lower"] and listed["blocked"] == ["damn"]
        with urllib.request.urlopen(address + listed["models"][0]["file"], timeout=60) as answer:
            assert answer.read() == small.path.read_bytes()
    finally:
        started.send_signal(2)
        out, err = started.communicate(timeout=120)
    assert (started.returncode, out, err) == (0, "", "")


@pytest.fixture
def run(trained, tmp_path) -> Path:
    """A run of its own, with one person's model: only the bias is tuned, towards one word."""
    path = Path(shutil.copytree(trained.path, tmp_path / "run"))
    tune(path, "home")
    return path


def tune(path: Path, word: str, cache: str = "0.0") -> None:
    """Leave ana's model in a run: it expects this word everywhere."""
    loaded = runs.load(path)
    bias = np.zeros(len(loaded.vocabulary), np.float32)
    bias[loaded.vocabulary.index[word]] = 6.0
    facts = {
        "user": "ana",
        "part": "bias",
        "personal": "1.0",
        "cache": cache,
        "base": runs.digest(loaded.path),
    }
    (path / "personal" / "models").mkdir(parents=True, exist_ok=True)
    personal_models.save(
        path / "personal" / "models", personal_models.Stored("ana", {"tuned": {"output_bias": bias}}, facts)
    )


def test_what_people_wrote_is_not_for_others(run, process, monkeypatch):
    monkeypatch.setattr(building, "SENTENCES", 200)
    assert {"collected", "personal-ana"} <= {
        shown.id for shown in page_models(run).models
    }  # kept, so made once
    (run / "keyboard" / "network.tacit").unlink()  # built again
    started = process.start("serve", run, "--no-open", "--port", 0, "--host", "0.0.0.0")
    try:
        told = "building a model for the page: After training …\n"  # where there is no terminal; kept ones are not told
        assert started.stdout.readline() == told
        address = started.stdout.readline().split()[0]
        with urllib.request.urlopen(address + "models.json", timeout=60) as answer:
            assert [m["id"] for m in json.load(answer)["models"]] == ["network", "federated", "untrained"]
    finally:
        started.send_signal(2)
        _, err = started.communicate(timeout=120)
    assert err == ""


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_models_are_found_made_and_kept(run, tmp_path, monkeypatch, tacit):
    monkeypatch.setattr(building, "SENTENCES", 200)
    found = {shown.id: shown for shown in page_models(run).models}
    assert list(found) == [
        "network",
        "federated",
        "untrained",
        "collected",
        "personal-ana",
    ]  # no supplement for such text
    assert [name for name, shown in found.items() if not shown.compare] == ["network", "federated"]
    network = network8.open(written(tmp_path / "network.tacit", found["network"].data))
    tacit("export", run, "--out", tmp_path / "exported.tacit", "--people", 0)
    exported = network8.open(tmp_path / "exported.tacit")
    assert network.words == exported.words and network.facts | {"source": ""} == exported.facts | {
        "source": ""
    }
    assert all((m.codes == exported.matrices[name].codes).all() for name, m in network.matrices.items())
    opened = {}
    for name, shown in list(found.items())[1:]:
        (tmp_path / f"{name}.tacit").write_bytes(shown.data)
        opened[name] = reader.open(tmp_path / f"{name}.tacit")
    words = opened["federated"].words.every()
    assert all(model.words.every() == words for model in opened.values())
    best = suggest(CompactSource(opened["personal-ana"]), ["see"], 1)[0]
    assert best[0] == "home" and best[1] > 0.5
    flat = [p for _, p in suggest(CompactSource(opened["untrained"]), ["see"], 10)]
    assert max(flat) < 2.5 * min(flat)  # an untrained network prefers nothing much
    kept = {p.name: p.stat().st_mtime_ns for p in (run / "keyboard").iterdir()}
    assert page_models(run) == (list(found.values()), [], {})
    assert kept == {p.name: p.stat().st_mtime_ns for p in (run / "keyboard").iterdir()}
    file = run / "keyboard" / "collected.tacit"
    file.write_bytes(file.read_bytes()[:-1])  # damaged: made again
    assert page_models(run) == (list(found.values()), [], {})
    tune(run, "them")  # ana's model is another one now
    (again,) = (shown for shown in page_models(run).models if shown.id == "personal-ana")
    (tmp_path / "again.tacit").write_bytes(again.data)
    assert suggest(CompactSource(reader.open(tmp_path / "again.tacit")), ["see"], 1)[0][0] == "them"
    tune(run, "them", cache="0.3")  # a mixture: its network alone is not what was accepted
    assert "personal-ana" not in [shown.id for shown in page_models(run).models]
    tune(run, "them")
    (run / "ngram").mkdir()
    (run / "ngram" / "model.tacit").write_bytes(found["collected"].data)
    others = write_corpus(tmp_path / "others.jsonl", people=3)
    summary = {"base": "another network", "supplement_corpus": str(others)}
    (run / "ngram" / "summary.json").write_text(json.dumps(summary))
    models, problems, _ = page_models(run)
    assert models[1].data == found["federated"].data and "an earlier network" in problems[0]
    assert "supplement" not in [shown.id for shown in models]  # nobody here has named that file
    assert str(others) in problems[1] and "--trust" in problems[1]
    page_trust(run)
    models, problems, _ = page_models(run)
    assert len(problems) == 1 and "supplement" in [shown.id for shown in models]
    summary["base"] = runs.digest(run)
    (run / "ngram" / "summary.json").write_text(json.dumps(summary))  # now this is the run's model,
    assert page_models(run).models[1].data == found["collected"].data
    (run / "ngram" / "summary.json").unlink()
    newer = b"TacitNG\n" + struct.pack("<IIII", 9, 0, 24, 0)
    for bad, told in (
        (found["collected"].data[:-1], "model.tacit"),
        (b"", "model.tacit"),
        (newer, "version 9"),
    ):
        (run / "ngram" / "model.tacit").write_bytes(bad)  # named, and a small one takes its place
        models, problems, _ = page_models(run)
        assert models[1].data == found["federated"].data and len(models) == len(found)
        assert len(problems) == 1 and told in problems[0] and "in its place" in problems[0]
    (run / "ngram" / "model.tacit").write_bytes(found["collected"].data)
    network = run / "checkpoints" / "best.safetensors"
    damaged = bytearray(network.read_bytes())
    damaged[-1] ^= 1
    network.write_bytes(damaged)  # and nothing else can be made any more
    models, problems, _ = page_models(run)
    assert [(shown.id, shown.data) for shown in models] == [("federated", found["collected"].data)]
    assert len(problems) == 6 and "Personal: ana" in problems[-2] and "sha256" in problems[-1]
    (run / "ngram" / "model.tacit").write_bytes(newer)
    with pytest.raises(TacitError, match="sha256"):  # nor the small one
        page_models(run)


def test_the_examples_of_the_modules_hold():
    for module in (server, models):
        assert doctest.testmod(module).failed == 0
    assert doctest.testmod(server).attempted >= 3
