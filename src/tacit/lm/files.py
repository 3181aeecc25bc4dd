"""An n-gram model from a file, whichever of the two formats it is in: Tacit's compact one, or ARPA."""

from __future__ import annotations

from pathlib import Path

from tacit.base.errors import TacitError
from tacit.ngram.automaton import Automaton
from tacit.ngram.compact import reader
from tacit.ngram.formats import arpa
from tacit.text.vocabulary import Vocabulary


def is_model_file(path: Path) -> bool:
    """Whether a path means an n-gram file and not a run directory; one that is missing is known by its name.

    >>> is_model_file(Path("no/such/model.arpa")), is_model_file(Path("no/such/run"))
    (True, False)
    """
    return path.is_file() or (path.suffix in (".tacit", ".arpa") and not path.is_dir())


def is_compact(path: Path) -> bool:
    """Whether a file is a compact one: its first bytes say."""
    try:
        with path.open("rb") as file:
            return file.read(len(reader.MAGIC)) == reader.MAGIC
    except FileNotFoundError:
        raise TacitError(
            f"{path}: there is no such file; `tacit distill RUN` makes n-gram models, `tacit export RUN` network files"
        ) from None
    except OSError as error:
        raise TacitError(f"{path}: cannot read this file ({error.strerror})") from None


def read(path: Path) -> tuple[Vocabulary, Automaton]:
    """The words and the model of a file."""
    return (
        reader.open(path).to_automaton() if is_compact(path) or path.suffix == ".tacit" else arpa.read(path)
    )
