"""Commands in this process: what they print, and whether they ended as a command may."""

from __future__ import annotations

import io
import os
import sys
from contextlib import redirect_stderr, redirect_stdout

from fuzz.box import Box
from fuzz.material import environment
from fuzz.trial import Ending, Fault, check_line, control_character, shown
from tacit import cli


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


def judged(arguments: list[str], box: Box) -> Ending:
    """Runs a command: "ok", or "refused" with one line; a fault otherwise."""
    os.environ.update(environment() | {"HOME": str(box.home), "TMPDIR": str(box.temporary)})
    told = f"tacit {' '.join(arguments)}"[:400]
    try:
        code, printed, err = called(arguments)
    except Fault:
        raise
    except Exception as error:
        raise Fault("crash", f"{told!r}: {shown(error)}") from None
    if "Fault: hang" in err:  # the alarm of the worker, which the program took for a failure of its own
        raise Fault("hang", f"{told!r}: {err.strip()[:400]}")
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
