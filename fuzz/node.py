"""Scripts in node that answer a line of JSON for each line; each is started once in a worker."""

from __future__ import annotations

import json
import shutil
import subprocess
from functools import cache
from typing import NamedTuple

from fuzz import processes
from fuzz.material import HERE
from fuzz.trial import Fault


class Verdict(NamedTuple):
    """How a script judges its input."""

    ending: str  # "ok", "refused" or one of `trial.FAULTS`
    told: str


@cache
def _started(script: str) -> subprocess.Popen[str]:
    node = shutil.which("node")
    if not node:
        raise Fault("crash", "node is not installed: apt-get install nodejs")
    process = subprocess.Popen(
        [node, str(HERE / "fuzz" / script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    processes.helpers.append(process)
    return process


def verdict(script: str, line: str) -> Verdict:
    """Returns what a script answers to a line."""
    process = _started(script)
    assert process.stdin and process.stdout
    process.stdin.write(f"{line}\n")
    process.stdin.flush()
    answer = process.stdout.readline()
    if not answer:
        raise Fault("crash", f"{script} has died")
    return Verdict(**json.loads(answer))
