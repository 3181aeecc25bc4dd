"""A public corpus of the material's own, on loopback: `tacit data get` fetches it where there is no network."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import os
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tacit.text import catalogue
from tacit.text.corpora import File


def publish(folder: Path, name: str = "ptb") -> None:
    """Puts files of the material in the place of a known corpus, two of them in an archive, and serves them."""
    contents = {file: (folder / file).read_bytes() for file in ("messages.jsonl", "other.jsonl", "chat.txt")}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for file in ("messages.jsonl", "other.jsonl"):
            archive.writestr(f"in/{file}", contents[file])
    served = {"/corpus.zip": packed.getvalue(), "/chat.txt": contents["chat.txt"]}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = served[self.path]
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ["no_proxy"] = "127.0.0.1"
    address = f"http://127.0.0.1:{server.server_address[1]}"
    files = tuple(
        File(
            file,
            hashlib.sha256(content).hexdigest(),
            "",
            f"{address}/{'chat.txt' if file == 'chat.txt' else 'corpus.zip'}",
            "" if file == "chat.txt" else f"in/{file}",
        )
        for file, content in contents.items()
    )
    known = (dataclasses.replace(catalogue.find(name), files=files),)
    setattr(catalogue, "ENTRIES", known)  # noqa: B010  # mypy knows the tuple by its length
