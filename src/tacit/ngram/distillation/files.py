"""The directory that `tacit distill` leaves.

    model.tacit        Tacit's compact file (tacit.ngram.compact.reader)
    model.arpa         for KenLM and other n-gram tools
    model.fst.txt      for OpenFst, with model.syms
    words.combined     AOSP's word list with bigrams, which HeliBoard, OpenBoard and FUTO compile
    summary.json       how large and how good, beside the network and beside plain n-gram models of the same size

They come together: where something is wrong with the input, or the disk is full, none of them is left and an earlier
model stays what it was.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.base.errors import TacitError
from tacit.base.files import check_place
from tacit.ngram.compact import writer
from tacit.ngram.formats import aosp, arpa, openfst

if TYPE_CHECKING:
    from tacit.ngram.distillation.distill import Distilled


def check(out: Path) -> None:
    """The directory must be new or one that may be filled again, and there must be a place for it."""
    other = (out / "summary.json").exists() and not (out / "model.tacit").exists()
    if other or (out / "config.toml").exists():
        raise TacitError(f"{out} holds a run or other figures already; choose another --out")
    check_place(out)


def write(
    out: Path, found: Distilled, name: str, locale: str = "en", date: int = 0, skip: bool = False
) -> dict[str, int]:
    """The files of a model in an existing directory; returns their bytes. Each is written whole or not at all."""
    words, model = found.vocabulary, found.model
    files = {
        n: out / n for n in ("model.tacit", "model.arpa", "model.fst.txt", "model.syms", "words.combined")
    }
    description = " ".join(re.sub("[,=:]", " ", f"Tacit {name}").split())  # what its header can hold
    aosp.write(
        files["words.combined"], words, model, locale=locale, description=description, date=date, skip=skip
    )
    arpa.write(files["model.arpa"], words, model)
    openfst.write(files["model.fst.txt"], files["model.syms"], words.words, model)
    writer.write(files["model.tacit"], words, model, name=name, source="tacit distill")
    return {n: path.stat().st_size for n, path in files.items()}
