"""Runs a program that ends with the process that started it, however that process ends: `python tether.py PROGRAM …`.

A process cannot clean up after kill -9. So this one watches its starter: standard input is a pipe that only the starter
holds open. When the pipe closes, the program is asked to end, so a SuperNode can sign off from its server. What is left
of its process group a little later is killed. This file imports nothing of Tacit, so it starts at once.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading
import time

_ENDS = 5.0  # seconds to end by itself


def _watch() -> None:
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_ENDS)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    del sys.argv[0]
    threading.Thread(target=_watch, daemon=True).start()
    runpy.run_path(sys.argv[0], run_name="__main__")
