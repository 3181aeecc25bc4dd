"""Ends the program cleanly after Ctrl-C (SIGINT) or SIGTERM, at any moment.

The handlers are set before anything heavy is imported, so this module itself imports next to nothing (not even
`threading` or `typing`). A signal does one of three things:

- During an import the process ends at once with one line. An exception there could be swallowed by a module that is
  half imported, and the command would run on. Nothing is lost: files are replaced whole.
- Otherwise it raises KeyboardInterrupt: half-written files are removed, checkpoints stay, and the command line prints
  the line.
- If the process still runs `GRACE` seconds later, because the exception was swallowed or compiled code has not
  returned, a thread ends it with the same line. A second Ctrl-C does so at once.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any, NoReturn

GRACE = 3.0  # seconds that a command has to clean up
LINES = {
    signal.SIGINT: "interrupted; resume a run with --resume",
    signal.SIGTERM: "terminated; resume a run with --resume",
}
CODES = {signal.SIGINT: 2, signal.SIGTERM: 143}  # 143 is what a shell reports of a terminated process

_ONE = 0.5  # seconds in which several signals are one: `timeout` and `make` send theirs twice
_first: tuple[signal.Signals, float] | None = None  # the first signal, and when it came
_before_end: list[Callable[[str], object]] = []


def handle() -> None:
    """Sets the handlers; a signal that the parent process has set to be ignored (`nohup`, `&`) stays ignored."""
    numbers = [number for number in LINES if signal.getsignal(number) is not signal.SIG_IGN]
    for number in numbers:
        signal.signal(number, _on_signal)
    if numbers:
        sys.unraisablehook = _on_unraisable
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(
            writing, warn_on_full_buffer=False
        )  # is written to even while compiled code runs
        _thread.start_new_thread(_watch, (reading,))


def received() -> signal.Signals | None:
    """Returns the first signal that this process has received, if any."""
    return _first[0] if _first else None


def before_end(function: Callable[[str], object]) -> None:
    """Registers a function that gets the line if the process is ended without clean-up."""
    _before_end.append(function)


def finish(code: int) -> None:
    """Lets a signal end the process at once with this code, because the work is done and Python is shutting down."""
    for number in LINES:
        if signal.getsignal(number) is _on_signal:
            signal.signal(number, lambda *_: os._exit(code))


def end_now() -> NoReturn:
    """Prints the line of the signal and ends this process without clean-up."""
    number = received() or signal.SIGINT
    cursor = "\x1b[?25h" if os.isatty(2) else ""  # shows the cursor, which a progress bar hides
    try:
        for function in _before_end:
            function(LINES[number])
        os.write(2, f"{cursor}tacit: {LINES[number]}\n".encode())
    finally:
        os._exit(CODES[number])


def _on_signal(number: int, frame: FrameType | None) -> None:
    if _first and time.monotonic() - _first[1] < _ONE:
        return
    again = _first is not None
    _note(number)
    if again or _importing(frame):
        end_now()
    raise KeyboardInterrupt


def _note(number: int) -> None:
    global _first
    _first = _first or (signal.Signals(number), time.monotonic())


def _importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _on_unraisable(unraisable: Any) -> None:
    """Raises again an interrupt that came where nothing can be raised (in a destructor, in a callback of C)."""
    global _first
    if issubclass(unraisable.exc_type, KeyboardInterrupt) and _first:
        number, _first = _first[0], None
        _thread.start_new_thread(_send_again, (number,))
    else:
        sys.__unraisablehook__(unraisable)


def _send_again(number: signal.Signals) -> None:
    time.sleep(0.01)  # until the hook has returned
    os.kill(os.getpid(), number)


def _watch(pipe: int) -> None:
    """Waits for the first signal, then ends the process if it has not ended by itself."""
    while (number := os.read(pipe, 1)[0]) not in LINES:
        pass
    time.sleep(GRACE)
    _note(number)
    end_now()
