"""Command-line arguments of every command, in this process: hostile values, unknown and repeated options.

Commands that compute get something that stops them before they do, so that thousands can be tried.
"""

from __future__ import annotations

import io
import os
import random
import sys
from contextlib import redirect_stderr, redirect_stdout

from fuzz.box import Box, untouched
from fuzz.categories import Category
from fuzz.commands import PLAIN
from fuzz.material import Material, environment
from fuzz.trial import Ending, Fault, check_line, control_character, shown
from fuzz.varied import varied
from tacit import cli

_STOPS = {
    "data describe": ["--set", "typists.users=9"],  # without a corpus it would describe 400 typists
    "train": ["--set", "text.corpus=no/such.jsonl"],
    "bench": ["--executor", "none"],
    "demo": ["--set", "client.epochs=many"],
    "evaluate": ["--corpus", "no/such.jsonl"],
    "count": ["--supplement", "no/such.jsonl"],
    "distill": ["--supplement", "no/such.jsonl"],
    "personalize": ["--corpus", "no/such.jsonl"],
    "serve": ["--block", "no/such.txt"],
    "export": ["--out", "no/such/folder/x.tacit"],
    "reproduce": ["no-such-table"],
}


def called(arguments: list[str]) -> tuple[int, str, str]:
    """Runs the program in this process: its exit code and what it printed."""
    out, err = io.StringIO(), io.StringIO()
    before = sys.argv
    sys.argv = ["tacit", *arguments]
    try:
        with redirect_stdout(out), redirect_stderr(err):
            cli.main()
    except SystemExit as end:
        return int(end.code or 0), out.getvalue(), err.getvalue()
    finally:
        sys.argv = before
    return 0, out.getvalue(), err.getvalue()


def trial(draw: random.Random, box: Box, material: Material, number: int) -> Ending:
    name = draw.choice(sorted(PLAIN))
    out = box.work / f"out{PLAIN[name].suffix}"
    arguments = varied(draw, PLAIN[name].arguments(material, out), box)
    if stop := _STOPS.get(name):
        arguments += stop
    os.environ.update(environment() | {"HOME": str(box.home), "TMPDIR": str(box.temporary)})
    told = f"tacit {' '.join(arguments)}"[:400]
    with untouched(box, (box.work, box.outside / "ptb")):  # the arguments may name any path for results
        try:
            code, printed, err = called(arguments)
        except Fault:
            raise
        except Exception as error:
            raise Fault("crash", f"{told!r}: {shown(error)}") from None
    if "should not have happened" in err:
        raise Fault("internal", f"{told!r}: {err.strip()[:400]}")
    if code not in (0, 2):
        raise Fault("crash", f"{told!r}: exit code {code}")
    if bad := control_character(printed + err):
        raise Fault(
            "noise",
            f"{told!r}: the control character {bad!r} reaches the terminal: {(printed + err)[:200]!r}",
        )
    if code:
        if not err.startswith("tacit: ") or err.count("\n") != 1:
            raise Fault("noise", f"{told!r}: not one line of error: {err[:300]!r}")
        check_line(err.strip(), printed=True)
    return "refused" if code else "ok"


CATEGORY = Category(
    "command-line arguments of every command", trial, 1700, plain=lambda box, m: called(["presets"])
)
