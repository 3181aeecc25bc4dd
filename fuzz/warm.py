"""A process that has imported all of Tacit, without starting JAX, and forks one process for each request.

A request is a JSON line on standard input, the answer one on standard output:

    arguments, cwd, environment              the command
    limit                                    seconds; then it is killed, and the answer says "hung"
    file_size                                the largest file it may write: a full disk
    user                                     the number of the user it runs as
    points, kill_at, log                     kills it at a point of writing (`fuzz.write_points`)
    serves_nobody                            `tacit serve` ends once it could serve
    publishes                                `tacit data get` fetches a corpus of this folder (`fuzz.corpus`)

The answer has the exit code, what the process printed, its peak memory, and the memory that it had inherited.
"""

from __future__ import annotations

import encodings
import gc
import importlib
import json
import os
import pkgutil
import resource
import select
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

MOST = 1 << 20  # bytes of output that are kept


def import_everything() -> None:
    """Imports every module of Tacit, and what Python and matplotlib import late.

    A trial that runs as another user may not be able to read Python's own files.
    """
    import tacit

    for module in pkgutil.walk_packages(tacit.__path__, "tacit."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for module in pkgutil.iter_modules(encodings.__path__, "encodings."):
        with suppress(ImportError):  # of another platform
            importlib.import_module(module.name)
    with suppress(ImportError):
        importlib.import_module("matplotlib.backends.backend_svg")
        importlib.import_module("matplotlib.figure")


def become(request: dict[str, Any], out: int, err: int) -> None:
    """Makes this forked process what a real start would be."""
    os.setsid()
    for number, opened in ((0, os.open(os.devnull, os.O_RDONLY)), (1, out), (2, err)):
        os.dup2(opened, number)
        os.close(opened)
    # the streams of the parent may have been files, which can seek
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
    os.environ.clear()
    os.environ.update(request["environment"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if "file_size" in request:
        resource.setrlimit(resource.RLIMIT_FSIZE, (request["file_size"], resource.RLIM_INFINITY))
    if "user" in request:
        os.setgroups([])
        os.setgid(request["user"])
        os.setuid(request["user"])
    os.chdir(request["cwd"])
    sys.argv = ["tacit", *request["arguments"]]
    if "serves_nobody" in request:
        import socketserver

        socketserver.BaseServer.serve_forever = lambda self, poll_interval=0.5: None  # type: ignore[method-assign]
    if "publishes" in request:
        from fuzz import corpus

        corpus.publish(Path(request["publishes"]))
    if "points" in request:
        from fuzz import write_points

        write_points.install(request["points"], request.get("kill_at", 0), request["log"])


def waited(pid: int, limit: float, streams: tuple[int, int]) -> dict[str, Any]:
    """Waits for a forked process, reads what it prints, and answers how it ended."""
    end, hung = time.monotonic() + limit, False
    printed: dict[int, bytes] = dict.fromkeys(streams, b"")
    opened = list(streams)
    number, status, usage = 0, 0, resource.getrusage(resource.RUSAGE_SELF)
    while not number or opened:
        ready, _, _ = select.select(opened, [], [], 0.0 if number else 0.01)
        for stream in ready:
            part = os.read(stream, 1 << 16)
            printed[stream] += part
            if not part:
                opened.remove(stream)
        if number and not ready:
            break  # a child of the process may hold a stream open
        if not number:
            number, status, usage = os.wait4(pid, os.WNOHANG)
        if not hung and time.monotonic() > end:
            hung = True
            _kill(pid)
        if not opened:
            time.sleep(0.01)
    _kill(pid)  # children that outlived it
    for stream in streams:
        os.close(stream)
    out, err = (printed[stream][:MOST].decode("utf-8", "replace") for stream in streams)
    inherited = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    code = os.waitstatus_to_exitcode(status)
    peak = usage.ru_maxrss / 1024
    return {"code": code, "peak_mb": peak, "inherited_mb": inherited, "hung": hung, "out": out, "err": err}


def _kill(group: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def main() -> None:
    """Answers requests until standard input ends; in a forked process it runs the command."""
    import_everything()
    # What is here is garbage of no child's: without this each of them would copy it to look through it as it ends
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for line in sys.stdin:
        request = json.loads(line)
        (out, to_out), (err, to_err) = os.pipe(), os.pipe()
        pid = os.fork()
        if not pid:
            os.close(out)
            os.close(err)
            become(request, to_out, to_err)
            break
        os.close(to_out)
        os.close(to_err)
        print(json.dumps(waited(pid, request["limit"], (out, err))), flush=True)
    else:
        return
    from tacit.__main__ import program

    program()


if __name__ == "__main__":
    main()
