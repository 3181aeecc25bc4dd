"""Opens any trained model: the only module that distinguishes kinds of files.

    a run directory            its network; with `user`, a person's network, stored by `tacit personalize`
    "TacitNG" in the first 8 bytes   a compact n-gram file, from `tacit distill`
    "TacitNN" in the first 8 bytes   an 8-bit network, from `tacit export`
    anything else              an ARPA file, from any n-gram tool

Files need no JAX; a run directory loads it.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Literal

from tacit.base.distribution import needs_whole
from tacit.base.errors import TacitError
from tacit.lm.network8 import reader as network8
from tacit.lm.network8.model import network8_model
from tacit.lm.protocol import Model
from tacit.ngram.compact import reader as compact
from tacit.ngram.compact.model import compact_model
from tacit.ngram.formats import arpa
from tacit.ngram.model import automaton_model
from tacit.text.locale import find

Kind = Literal["run", "compact", "network8", "arpa"]


def open(path: str | os.PathLike[str], user: str | None = None) -> Model:
    """Opens a run directory, a compact or ARPA n-gram file, or an 8-bit network.

    With `user`, opens that person's model, which `tacit personalize` stored in the run directory.

    Example:
        model = tacit.open("runs/mine")
        model.suggest("see you", k=3)
    """
    path = Path(path)
    kind = kind_of(path)
    if kind == "run":
        needs_whole("runs", f"{path}: a run directory")
        from tacit import runs  # loads JAX
        from tacit.lm.network import run_model

        return run_model(runs.load(path), user)
    if user is not None:
        raise TacitError(f"{path} is a file and has no personal models; give a run directory with --user")
    model = _of_file(path, kind)
    try:
        find(model.source.locale)
    except TacitError as error:  # of a newer Tacit
        raise TacitError(f"{path}: {error}") from None
    return model


def _of_file(path: Path, kind: Kind) -> Model:
    if kind == "compact":
        return compact_model(compact.open(path), path.stat().st_size)
    if kind == "network8":
        return network8_model(network8.open(path))
    return automaton_model(*arpa.read(path), size=path.stat().st_size, locale=arpa.locale_of(path))


def kind_of(path: Path) -> Kind:
    """Returns the kind of model at a path; a missing path is judged by its name.

    >>> kind_of(Path("no/such/run"))
    'run'
    """
    try:
        if not (path.exists() or path.suffix in (".tacit", ".arpa")) or path.is_dir():
            return "run"
        if not stat.S_ISREG(path.stat().st_mode):  # it is read more than once
            raise TacitError(f"{path}: is neither a file nor a directory; copy the model into a file")
        with path.open("rb") as file:
            magic = file.read(8)
    except FileNotFoundError:
        raise TacitError(
            f"{path}: there is no such file; `tacit distill RUN` makes n-gram models, `tacit export RUN` network files"
        ) from None
    except OSError as error:  # also of a name that is too long
        raise TacitError(f"{path}: cannot read this file ({error.strerror})") from None
    if magic == network8.MAGIC:
        return "network8"
    return "compact" if magic == compact.MAGIC or path.suffix == ".tacit" else "arpa"
