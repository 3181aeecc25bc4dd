"""The program `tacit`. Each command parses its arguments, calls one function and prints the result; no logic here.

Every command exits with 0, or with 2 and one line on standard error: what is wrong, where, and what to do. After
SIGTERM it exits with 143 and one line.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import traceback
from typing import Annotated, NoReturn

import typer

from tacit import __version__
from tacit.base import interrupts
from tacit.base.cores import cannot_start, check_devices
from tacit.base.errors import TacitError, described
from tacit.base.printable import one_line
from tacit.cli import audit, evaluation, experiments, export, keyboard, ngram, personal, training
from tacit.cli.data import data
from tacit.cli.federation import federation
from tacit.cli.privacy import privacy

app = typer.Typer(
    help="Train next-word models of keyboards on what people type, without collecting it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.add_typer(data, name="data")
app.add_typer(privacy, name="privacy")
app.add_typer(federation, name="federation")
for room in (training, evaluation, ngram, personal, audit, keyboard, export, experiments):
    room.register(app)


@app.callback(invoke_without_command=True)
def _version(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit


_NO_MEMORY = (
    "out of memory; lower model.hidden, model.embedding or text.vocabulary, client.batch or central.batch, "
    "sampling.clients or typists.users (on an accelerator also training.lanes_mb)"
)


class Interrupted(SystemExit):
    """Raised when a command was interrupted."""


def _fail(message: str, end: type[SystemExit] = SystemExit, code: int = 2) -> NoReturn:
    _tell_the_job(message)
    if sys.stderr is not None:
        with contextlib.suppress(OSError):  # nobody reads it
            print(f"tacit: {one_line(message)}", file=sys.stderr, flush=True)
    raise end(code)


def _tell_the_job(message: str) -> None:
    """Ends the other processes of a distributed run; without JAX loaded there are none."""
    if "jax" in sys.modules:
        from tacit.federated import hosts

        hosts.fail(message)


def program() -> None:
    """Runs `tacit` as a process, whose signals are handled already (`tacit.__main__`)."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal may lack characters such as ±
    try:
        main()
    except Interrupted as end:
        if sys.stdout is not None:
            with contextlib.suppress(OSError):
                sys.stdout.flush()
        # an ordinary exit could crash: JAX's threads may still compute while Python shuts down
        os._exit(int(str(end)))
    except SystemExit as end:
        interrupts.finish(end.code if isinstance(end.code, int) else 0)
        raise


def main() -> None:
    """Runs one command from the arguments of this process; raises SystemExit in any case."""
    try:
        code = app(prog_name="tacit", standalone_mode=False)
        if code == 130:  # typer's exit code for Ctrl-C
            raise KeyboardInterrupt
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) or interrupts.received():  # whatever became of the exception
            number = interrupts.received() or signal.SIGINT
            _fail(interrupts.LINES[number], Interrupted, interrupts.CODES[number])
        _explain(error)
    raise SystemExit(code or 0)


def _explain(error: BaseException) -> NoReturn:
    """Prints the one line of an error, and exits."""
    if isinstance(error, TacitError):
        _fail(str(error))
    closed = isinstance(error, SystemExit) and error.code == 1  # typer and rich turn a closed pipe into this
    if closed or isinstance(error, BrokenPipeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python would fail to flush it at the end
        _fail("standard output was closed before the command was done; read all of it, or print to a file")
    if isinstance(error, SystemExit):
        raise error
    if isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in described(error):  # the second is JAX's
        _fail(_NO_MEMORY)
    if hasattr(error, "format_message"):  # a usage error of click, or of typer's copy of it
        if message := error.format_message().strip().rstrip("."):
            _fail(
                f"{message} See `tacit --help`" if message.endswith("?") else f"{message}; see `tacit --help`"
            )
        raise SystemExit(0) from None  # a bare `tacit` has shown its help
    if type(error).__name__ == "Exit":
        raise SystemExit(getattr(error, "exit_code", 2)) from None
    if type(error).__name__ == "Abort" and error.__cause__:  # typer turns an EOFError into this
        error = error.__cause__
    if isinstance(error, OSError) and error.strerror:
        _fail(
            f"{error.filename or 'standard output'}: {error.strerror}; check the path, its permissions and space"
        )
    if isinstance(error, ValueError) and "embedded null" in str(error):
        _fail("a path has a NUL character in it, which no path has; remove it")
    _name_the_cause(error)
    if os.environ.get("TACIT_DEBUG"):
        traceback.print_exception(error)
        _tell_the_job(described(error))
        raise SystemExit(2) from None
    _fail(f"this should not have happened: {described(error)} (TACIT_DEBUG=1 shows where)")


def _name_the_cause(error: BaseException) -> None:
    """Exits with the cause of an unexpected error, if it is a rule's file or an environment without JAX's device."""
    rules = os.environ.get("TACIT_RULES", "").split(os.pathsep)
    for frame, line in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename in rules:
            _fail(f"TACIT_RULES: {frame.f_code.co_filename}, line {line}: {described(error)}")
    if any(name.partition(".")[0] == "jax" for name in sys.modules):
        try:
            check_devices()
        except TacitError:
            _fail(str(cannot_start(error)))
