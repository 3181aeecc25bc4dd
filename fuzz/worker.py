"""A process that makes the trials of one category with given numbers, and prints a JSON line for each.

    python -m fuzz.worker CATEGORY SEED FOLDER NUMBER…

Trials that run Tacit in this process are timed by an alarm, and the kernel tells how much their memory grew: by one
more plain run at most, which makes two. The runner (`fuzz.schedule`) kills a worker that an alarm does not stop.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import sys
import time
import traceback
from pathlib import Path
from types import FrameType

from fuzz import box as boxes
from fuzz import processes
from fuzz.box import Box
from fuzz.categories import Category, find
from fuzz.material import FOLDER, Material
from fuzz.trial import LIMIT, Fault, Record, drawing

MEMORY = 6 << 30  # bytes that a trial may take before it is refused: the machine has other work


def made(
    category: Category, name: str, number: int, seed: int, box: Box, material: Material, most_mb: float
) -> Record:
    """Makes one trial."""
    processes.log.clear()
    _reset_peak()
    start_mb = _peak_mb()
    begun = time.monotonic()
    if not category.processes:
        signal.setitimer(signal.ITIMER_REAL, LIMIT * processes.patience)
    told = ""
    try:
        ending: str = category.trial(drawing(name, number, seed), box, material, number)
    except Fault as fault:
        ending, told = fault.kind, fault.told
    except Exception:
        ending, told = "crash", f"the trial itself failed: {traceback.format_exc()[-1500:]}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    peak = _peak_mb()
    if not category.processes and ending in ("ok", "refused") and peak - start_mb > most_mb:
        ending, told = (
            "memory",
            f"{peak - start_mb:.0f} MB more than before, and a plain run takes {most_mb:.0f}",
        )
    seconds = time.monotonic() - begun
    started = [command for command in processes.log if command]
    return Record(name, number, ending, told, seconds, peak, len(processes.log), tuple(started))


def _reset_peak() -> None:
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # the high-water mark becomes the present size


def _peak_mb() -> float:
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _alarm(number: int, frame: FrameType | None) -> None:
    place = "".join(traceback.format_stack(frame, 3)[-1:]).strip() if frame else ""
    raise Fault("hang", f"no end after {LIMIT:.0f} s; at {' '.join(place.split())[:300]}")


def main() -> None:
    """Makes the trials of the command line."""
    name, seed, folder, *numbers = sys.argv[1:]
    category, material = find(name), Material(FOLDER / "material")
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    peaks = FOLDER / "material" / "peaks.json"
    if peaks.is_file():
        processes.plain_peaks.update(json.loads(peaks.read_text("utf-8")))
    box = boxes.make(Path(folder) / "box")
    os.chdir(box.work)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    signal.signal(signal.SIGALRM, _alarm)
    category.plain(box, material)
    most_mb = max(_peak_mb(), processes.plain_peaks.get("predict", 0.0))  # no command takes less
    for number in map(int, numbers):
        boxes.empty(box)
        print(json.dumps({"begin": number}), file=answers, flush=True)
        record = made(category, name, number, int(seed), box, material, most_mb)
        print(json.dumps(record._asdict()), file=answers, flush=True)
        if record.ending == "foreign":  # the canaries may be gone
            os.chdir(folder)
            boxes.remove(box.root)
            boxes.make(box.root)
            os.chdir(box.work)
    processes.end_helpers()
    os.chdir("/")
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
