"""Files of the page beside the keyboard: the folders `part` (the page *Take part*) and `train` (training).

`tacit serve` does not serve them: they need the gate of a federation (`tacit.network.browsers`).
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from tacit.page.server import Answer

FOLDERS = ("part", "train")
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css",
    ".js": "text/javascript",
    ".wasm": "application/wasm",
}


def part_files() -> dict[str, Answer]:
    """Returns the files of these folders that a browser loads, by the path of the request.

    >>> part_files()["/part/index.html"].kind
    'text/html; charset=utf-8'
    """
    here = Path(str(resources.files("tacit.page") / "static"))
    return {
        f"/{file.relative_to(here).as_posix()}": Answer(TYPES[file.suffix], file.read_bytes())
        for folder in FOLDERS
        for file in sorted((here / folder).rglob("*"))
        if file.suffix in TYPES
    }
