"""Compiles the page's kernels, kernels.c and products.c of src/tacit/page/static/train, into kernels.wasm beside them.

    python tools/build_kernels.py

The compiled file is in the repository: nobody needs a compiler to use the page. A test builds it again and compares the
bytes, where the version of clang is that of VERSION; another version may order instructions otherwise.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "src/tacit/page/static/train"
SOURCES = ("kernels.c", "products.c")
BUILT = FOLDER / "kernels.wasm"
VERSION = "14.0.6"  # of clang and wasm-ld, as in Debian 12: apt-get install clang lld
FLAGS = [
    *("--target=wasm32", "-std=c99", "-O2", "-msimd128", "-mbulk-memory", "-fno-math-errno"),
    *("-ffreestanding", "-nostdlib", "-Wall", "-Wextra", "-Werror", "-Wl,--no-entry", "-Wl,--import-memory"),
    *("-Wl,--export=__heap_base", "-Wl,-z,stack-size=16384", "-Wl,--strip-all"),
]


def missing() -> str:
    """Returns why the kernels cannot be built here with the same bytes, or "" if they can."""
    for tool in ("clang", "wasm-ld"):
        if not shutil.which(tool):
            return f"{tool} is not installed (apt-get install clang lld)"
    said = subprocess.run(["clang", "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"version (\S+?)(?:-|\s|$)", said)
    version = found[1] if found else "?"
    return "" if version == VERSION else f"clang is {version}, and kernels.wasm was built by {VERSION}"


def build(to: Path) -> None:
    """Compiles the kernels into a file."""
    subprocess.run(["clang", *FLAGS, "-o", str(to), *SOURCES], cwd=FOLDER, check=True)
    to.chmod(0o644)


if __name__ == "__main__":
    if why := missing():
        sys.exit(f"{why}; install clang {VERSION} and lld")
    build(BUILT)
    print(f"{BUILT.relative_to(Path.cwd())}: {BUILT.stat().st_size:,} bytes")
