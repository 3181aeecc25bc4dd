"""Writes a distilled model in every format: compact, ARPA, OpenFst and AOSP's word list."""

from __future__ import annotations

import re
from pathlib import Path

from tacit.distillation.model import Distilled
from tacit.ngram.compact import writer
from tacit.ngram.formats import aosp, arpa, openfst
from tacit.text.locale import DEFAULT


def write_model(
    out: Path,
    distilled: Distilled,
    name: str,
    locale: str = "en",
    date: int = 0,
    skip: bool = False,
    language: str = DEFAULT,
) -> dict[str, int]:
    """Writes the files of a model into an existing directory; returns the size of each in bytes.

    `locale` goes into words.combined, perhaps with a region (pt_BR); `language` is the one whose text the model reads.
    """
    words, model = distilled.vocabulary, distilled.model
    files = {
        n: out / n for n in ("model.tacit", "model.arpa", "model.fst.txt", "model.syms", "words.combined")
    }
    description = " ".join(re.sub("[,=:]", " ", f"Tacit {name}").split())  # the header's own separators
    aosp.write(
        files["words.combined"], words, model, locale=locale, description=description, date=date, skip=skip
    )
    arpa.write(files["model.arpa"], words, model)
    openfst.write(files["model.fst.txt"], files["model.syms"], words.words, model)
    writer.write(files["model.tacit"], words, model, name=name, source="tacit distill", locale=language)
    return {n: path.stat().st_size for n, path in files.items()}
