"""JavaScript's own tests, run by node, on vectors that Python has just written."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import vectors

HERE = Path(__file__).parent / "js"


def test_javascript_with_nodes_own_runner(tmp_path, small, cased):
    node = shutil.which("node")
    if not node:
        pytest.skip("node is not installed; `make test` installs it where it may (apt-get install nodejs)")
    vectors.write(tmp_path, small, cased)
    done = subprocess.run(
        [node, "--test", *map(str, sorted(HERE.glob("*.test.mjs")))],
        env=os.environ | {"TACIT_VECTORS": str(tmp_path / "vectors.json")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert int(re.findall(r"pass (\d+)", done.stdout)[-1]) >= 20  # none was left out
    assert re.findall(r"(?:skipped|todo) (\d+)", done.stdout) == ["0", "0"]
