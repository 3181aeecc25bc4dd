"""How much a browser loads to take part: the page, its Workers and all that they import, by gzip.

    python tools/part_size.py

Nothing else is loaded: the page's content-security policy allows its own origin only.
"""

from __future__ import annotations

import gzip
import re
from pathlib import Path

STATIC = Path(__file__).parents[1] / "src/tacit/page/static"
# the page, the Worker of the node, and the Worker of training with its kernels
FIRST = (
    "part/index.html",
    "part/part.css",
    "part/part.js",
    "part/worker.js",
    "train/worker.js",
    "train/kernels.wasm",
)
_IMPORT = re.compile(r'^(?:import|export|\}).*? from "(\.{1,2}/[\w./]+)";$', re.MULTILINE)


def loaded() -> dict[str, bytes]:
    """Returns every file."""
    found = [STATIC / name for name in FIRST]
    for file in found:
        if file.suffix == ".js":
            imported = [(file.parent / name).resolve() for name in _IMPORT.findall(file.read_text("utf-8"))]
            found += [one for one in imported if one not in found]
    return {file.relative_to(STATIC).as_posix(): file.read_bytes() for file in dict.fromkeys(found)}


def packed(content: bytes) -> int:
    """Returns the bytes of a content by gzip."""
    return len(gzip.compress(content, 9, mtime=0))


def main() -> None:
    """Prints the sizes of the files, the largest first, their sum, and the size of all in one archive."""
    files = loaded()
    sizes = {name: packed(content) for name, content in files.items()}
    for name, size in sorted(sizes.items(), key=lambda one: -one[1]):
        print(f"{size:7,}  {name}")
    print(f"{sum(sizes.values()):7,}  {len(sizes)} files, each by itself")
    print(f"{packed(b''.join(files.values())):7,}  all in one")


if __name__ == "__main__":
    main()
