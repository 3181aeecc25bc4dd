"""Which folders can be published, and that a client keeps only the file that the manifest promises."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tacit.base.errors import TacitError
from tacit.network import federation
from tacit.network.federation import Invitation
from tacit.network.published import fetch, published


def test_what_cannot_be_published_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    with pytest.raises(TacitError, match="cannot publish"):
        published(folder)
    folder.mkdir()
    assert [*published(folder)] == ["/files/manifest.json"]
    for name in (".hidden", "a b", "manifest.json", "é"):
        (folder / name).touch()
        with pytest.raises(TacitError, match="rename it"):
            published(folder)
        (folder / name).unlink()
    (tmp_path / "secret").touch()
    (folder / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(TacitError, match="not a plain file"):
        published(folder)
    (folder / "link").unlink()
    with (folder / "huge").open("wb") as file:
        file.truncate(257 * 2**20)
    with pytest.raises(TacitError, match="at most 100 files"):
        published(folder)


@contextmanager
def serving(home: Path, files: dict[str, bytes]) -> Iterator[int]:
    """A server with the certificate of a federation, and these files."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = files.get(self.path)
            self.send_response(404 if body is None else 200)
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *arguments: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        keys = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        keys.load_cert_chain(home / "server.crt", home / "server.key")
        server.socket = keys.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def test_another_file_than_the_manifest_s_is_not_kept(tmp_path: Path) -> None:
    home, out = tmp_path / "home", tmp_path / "got"
    federation.init(home)
    (tmp_path / "models").mkdir()
    (tmp_path / "models/a").write_bytes(b"the model")
    right = published(tmp_path / "models")
    authority = (home / "ca.crt").read_text("utf-8")
    damages = {
        b"the mode!": "does not match the server's manifest",
        b"the mod": "does not match the server's manifest",
        b"the model and more": "larger than the server's manifest says",
    }
    for damaged, why in damages.items():
        with serving(home, right | {"/files/a": damaged}) as port:
            with pytest.raises(TacitError, match=why):
                fetch(Invitation("ana", f"127.0.0.1:{port}", authority, ""), "a", out)
            assert not out.exists()
    for manifest in (
        b"[]",
        b"{",
        json.dumps({"files": {"a": {"bytes": -1, "sha256": ""}}}).encode(),
        b"[" * 60_000,
        b'{"files": {"a": {"bytes": Infinity, "sha256": "' + b"0" * 64 + b'"}}}',
        b'{"files": {"a": {"bytes": 1, "sha256": ["\\u001b[2J"]}}}',
    ):
        with (
            serving(home, {"/files/manifest.json": manifest}) as port,
            pytest.raises(TacitError, match="a manifest that cannot be read"),
        ):
            fetch(Invitation("ana", f"127.0.0.1:{port}", authority, ""), "a", out)
    federation.init(tmp_path / "other")
    other = (tmp_path / "other/ca.crt").read_text("utf-8")
    with serving(home, right) as port:
        with pytest.raises(TacitError, match="CERTIFICATE_VERIFY_FAILED"):
            fetch(Invitation("ana", f"127.0.0.1:{port}", other, ""), "a", out)
        invitation = Invitation("ana", f"127.0.0.1:{port}", authority, "")
        with pytest.raises(TacitError, match="does not publish b; it publishes a"):
            fetch(invitation, "b", out)
        assert fetch(invitation, "a", out).bytes == 9 and out.read_bytes() == b"the model"
        with pytest.raises(TacitError, match="exists"):
            fetch(invitation, "a", out)
