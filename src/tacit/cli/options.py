"""Shared by the commands: options, parsing their values, printing tables and JSON, and JAX's settings."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console
from rich.table import Table

from tacit.base.errors import TacitError
from tacit.base.printable import printable


def path_option(name: str, help: str, metavar: str = "PATH") -> Any:
    """Returns an option for a place to write; refuses an empty path, which would mean the current directory."""

    def named(text: str | Path) -> Path:
        if not str(text):
            raise TacitError(f"{name} is empty; give it a path, or leave it out")
        return Path(text)

    return typer.Option(name, help=help, metavar=metavar, parser=named)


DataOption = Annotated[
    Path | None,
    path_option("--data", "Directory of known corpora (default: $TACIT_DATA or ~/.cache/tacit)."),
]
CorpusOption = Annotated[
    str | None, typer.Option("--corpus", help="'typists' (built in), a name of `tacit data list`, or a path.")
]
LocaleOption = Annotated[
    str | None,
    typer.Option(
        "--locale", metavar="CODE", help="Language of the text: en, de, tr … (see docs/locales.md)."
    ),
]
TrustOption = Annotated[
    bool, typer.Option("--trust", help="Read the files that a run from elsewhere names, such as its corpus.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON value.")]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="a.b=c", help="Set a key of the configuration; can be repeated."),
]
# of personalisation, in the simulator and in a federation
BatchOption = Annotated[str, typer.Option(metavar="B,…", help="Batch sizes, in sentences.")]
RateOption = Annotated[str, typer.Option(metavar="L,…", help="Learning rates.")]
MaxTokensOption = Annotated[
    int, typer.Option(help="Stop tuning after this many tokens; 0: no limit.", metavar="N", min=0)
]
EpochsOption = Annotated[int, typer.Option(help="Stop tuning after this many passes.", metavar="N", min=1)]
MarginOption = Annotated[
    float | None,
    typer.Option(help="Gain in accuracy that the gate requires (default: chosen)."),
]
SumsEpsilonOption = Annotated[
    float | None, typer.Option(metavar="ε", help="Add noise to the sums over people, for this ε of a person.")
]
SumsDeltaOption = Annotated[float | None, typer.Option(metavar="δ", help="With --epsilon (default: 1e-6).")]
MinPeopleOption = Annotated[
    int, typer.Option("--min-people", help="Suppress rows of the sums with fewer people.", metavar="N", min=0)
]
# of counts, in the simulator and in a federation
WhitelistOption = Annotated[
    str | None,
    typer.Option(
        metavar="FILE|N",
        help="Words to count: a file, or the supplement's N commonest (default: all).",
    ),
]
CountEpsilonOption = Annotated[
    float | None, typer.Option(metavar="ε", help="Add noise to the counts, for this client-level ε.")
]

Number = TypeVar("Number", int, float)


def numbers(option: str, text: str, kind: Callable[[str], Number], like: str) -> tuple[Number, ...]:
    """Reads the numbers of an option, in the order given, each once.

    >>> numbers("--batch", "5, 10,5", int, like="5,10,20")
    (5, 10)
    """
    try:
        return tuple(dict.fromkeys(kind(part) for part in text.split(",")))
    except ValueError:
        raise TacitError(f"{option} {text}: not a list of numbers; write them like {like}") from None


def one_of(option: str, value: str, allowed: Collection[str]) -> None:
    """Refuses a value that is not allowed."""
    if value not in allowed:
        raise TacitError(f"{option} {value} is not known; it is one of: {', '.join(allowed)}")


def assignments(given: Mapping[str, Any], set_: Sequence[str] | None) -> list[str]:
    """Returns the given options that stand for keys, and those of `--set`, as `key=value`.

    >>> assignments({"seed": 3, "text.corpus": None}, ["client.lr=0.5"])
    ['seed=3', 'client.lr=0.5']
    """
    keys = [f"{k}={json.dumps(v, ensure_ascii=False)}" for k, v in given.items() if v is not None]
    return [*keys, *(set_ or [])]


def say(text: str) -> None:
    """Prints a line for people."""
    typer.echo(printable(text))


def trust_runs(trust: bool, *paths: Path | None) -> None:
    """Remembers, with `--trust`, that these runs may name files outside themselves."""
    for path in paths if trust else ():
        if path is not None and path.is_dir():
            from tacit.runs import trust as trust_run

            trust_run(path)


def print_table(rows: list[list[str]], title: str | None = None) -> None:
    """Prints rows, the header first, with numbers aligned to the right."""
    rows = [[printable(cell) for cell in row] for row in rows]
    title = printable(title) if title else None
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name, *cells in zip(*rows, strict=True):
        is_number = all(cell[:1] in "0123456789-±" for cell in cells)
        table.add_column(name, justify="right" if is_number else "left", overflow="fold")
    for row in rows[1:]:
        table.add_row(*row)
    console = Console(highlight=False, emoji=False)
    if not console.is_terminal:  # a pipe has no width: never wrap lines there
        console = Console(highlight=False, emoji=False, width=1000)
    console.print(table, markup=False)


def print_models(models: Mapping[str, Mapping[str, float]]) -> None:
    """Prints recall and perplexity of models, a line each."""
    rows = [
        [name, f"{m['top1']:.2%}", f"{m['top3']:.2%}", f"{m['perplexity']:.1f}"] for name, m in models.items()
    ]
    print_table([["", "top-1", "top-3", "perplexity"], *rows])


def print_json(value: Any) -> None:
    """Prints one JSON value."""
    from tacit.base.files import to_json

    typer.echo(to_json(value))


def start_jax() -> None:
    """Spreads cohorts over the CPU's cores."""
    from tacit.base import memory
    from tacit.base.cores import use_all_cores

    memory.check_start()
    use_all_cores()


def keep_compiled() -> None:
    """Lets JAX cache compiled programs between processes, unless the user has set a directory."""
    import jax

    if jax.config.values.get("jax_compilation_cache_dir") is None and (folder := compiled_folder()):
        jax.config.update("jax_compilation_cache_dir", str(folder))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)


def compiled_folder() -> Path | None:
    """Returns this user's folder of compiled programs; None if there can be none.

    JAX runs what it finds there, so a folder that another user owns, or can write to, is not used.
    """
    if not hasattr(os, "getuid"):  # Windows: the owner of a folder is unknown
        return None
    folder = Path(tempfile.gettempdir()) / f"tacit-compiled-{os.getuid()}"
    try:
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        facts = folder.lstat()
    except OSError:  # no room
        return None
    is_own = stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.getuid() and not facts.st_mode & 0o022
    return folder if is_own else None
