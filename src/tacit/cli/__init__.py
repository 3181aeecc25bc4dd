"""The program `tacit`. Each command parses its arguments, calls one function and prints the result; no logic here.

Every command exits with 0, or with 2 and one line on standard error: what is wrong, where, and what to do.
"""

from __future__ import annotations

import os
import sys
import traceback
from typing import Annotated, NoReturn

import typer

from tacit import __version__
from tacit.base.errors import TacitError
from tacit.cli import evaluation, experiments, export, keyboard, ngram, personal, training
from tacit.cli.data import data

app = typer.Typer(
    help="Keyboards that learn from what people type without anyone collecting it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.add_typer(data, name="data")
for room in (training, evaluation, ngram, personal, keyboard, export, experiments):
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


def _fail(message: str, end: type[SystemExit] = SystemExit) -> NoReturn:
    _tell_the_job(message)
    print(f"tacit: {' '.join(message.split())}", file=sys.stderr)
    raise end(2)


def _tell_the_job(message: str) -> None:
    """Ends the other processes of a distributed run; without JAX loaded there are none."""
    if "jax" in sys.modules:
        from tacit.federated import hosts

        hosts.fail(message)


def program() -> None:
    """Runs `tacit` as a process."""
    try:
        main()
    except Interrupted as end:
        sys.stdout.flush()
        sys.stderr.flush()
        # an ordinary exit could crash: JAX's threads may still compute while Python shuts down
        os._exit(int(str(end)))


def main() -> None:
    """Runs one command from the arguments of this process; raises SystemExit if something is wrong."""
    try:
        code = app(prog_name="tacit", standalone_mode=False)
        if code == 130:  # typer's exit code for Ctrl-C
            raise KeyboardInterrupt
    except TacitError as error:
        _fail(str(error))
    except KeyboardInterrupt:
        _fail("interrupted; resume a run with --resume", Interrupted)
    except MemoryError:
        _fail(_NO_MEMORY)
    except BrokenPipeError:
        _tell_the_job("standard output was closed")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(2) from None
    except Exception as error:
        if hasattr(error, "format_message"):  # a usage error of click, or of typer's copy of it
            if message := error.format_message().strip().rstrip("."):
                _fail(
                    f"{message} See `tacit --help`"
                    if message.endswith("?")
                    else f"{message}; see `tacit --help`"
                )
            raise SystemExit(0) from None  # a bare `tacit` has shown its help
        if "RESOURCE_EXHAUSTED" in str(error):  # JAX is out of memory
            _fail(_NO_MEMORY)
        if type(error).__name__ == "Exit":
            raise SystemExit(getattr(error, "exit_code", 2)) from None
        if isinstance(error, OSError) and error.strerror:
            _fail(
                f"{error.filename or 'standard output'}: {error.strerror}; check the path, its permissions and space"
            )
        if os.environ.get("TACIT_DEBUG"):
            traceback.print_exc()
            _tell_the_job(str(error))
            raise SystemExit(2) from None
        _fail(f"this should not have happened: {type(error).__name__}: {error} (TACIT_DEBUG=1 shows where)")
    raise SystemExit(code or 0)
