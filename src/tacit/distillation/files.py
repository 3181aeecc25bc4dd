"""Writes a distilled model in every format: compact, ARPA, OpenFst and AOSP's dictionary and word list."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.base.errors import TacitError
from tacit.distillation.model import Distilled
from tacit.ngram.compact import writer
from tacit.ngram.formats import arpa, openfst
from tacit.ngram.formats.aosp import binary, combined, merge, word_list
from tacit.ngram.formats.aosp.header import Header, check_locale
from tacit.text import blocked
from tacit.text.locale import DEFAULT

NAMES = ("model.tacit", "model.arpa", "model.fst.txt", "model.syms", "words.combined", "words.dict")


@dataclass(frozen=True)
class Dictionary:
    """Holds the inputs of the Android dictionary, words.dict and words.combined, besides the model."""

    locale: str = "en"
    date: int = 0  # seconds since 1970
    skip: bool = False  # leave out words that words.combined cannot hold
    block: frozenset[str] = frozenset()  # words that are never suggested (`tacit.text.blocked`)
    merge: combined.Read | None = None  # another word list


def dictionary(
    folder: Path, locale: str, date: int, skip: bool, block: Path | None, merge: Path | None
) -> Dictionary:
    """Reads the inputs of a dictionary besides the model, to refuse bad ones before minutes of work."""
    check_locale(folder / "words.dict", locale)
    words = blocked.read(block) if block else frozenset[str]()
    if block and not words:
        raise TacitError(f"--block {block}: this block list is empty; put one word on a line")
    return Dictionary(locale, date, skip, words, combined.read(merge) if merge else None)


def write_model(
    out: Path, distilled: Distilled, name: str, given: Dictionary, language: str = DEFAULT
) -> tuple[dict[str, int], dict[str, Any]]:
    """Writes the files of a model into an existing directory; returns sizes in bytes, and facts of the dictionary.

    `language` is the locale whose text the model reads; that of the dictionary may have a region, too (pt_BR).
    """
    words, model = distilled.vocabulary, distilled.model
    files = {n: out / n for n in NAMES}
    facts = _write_dictionary(files["words.dict"], files["words.combined"], distilled, name, given)
    arpa.write(files["model.arpa"], words, model, language)
    openfst.write(files["model.fst.txt"], files["model.syms"], words.words, model)
    writer.write(files["model.tacit"], words, model, name=name, source="tacit distill", locale=language)
    return {n: path.stat().st_size for n, path in files.items()}, facts


def _write_dictionary(
    file: Path, text: Path, distilled: Distilled, name: str, given: Dictionary
) -> dict[str, Any]:
    listed = word_list.listed(text, distilled.vocabulary, distilled.model, skip=given.skip, block=given.block)
    words, merged = listed.words, None
    if given.merge:
        words = merge.merged(words, given.merge.words, given.block)
        merged = {
            "words": len(given.merge.words.words),
            "shortcuts_left_out": given.merge.shortcuts,
            "entries_left_out": given.merge.left_out,
        }
    description = " ".join(re.sub("[,=:]", " ", f"Tacit {name}").split())  # the header's own separators
    header = Header(given.locale, description, given.date)
    binary.write(file, words, header)
    combined.write(text, words, header)
    begins = words.begins
    return {
        "words": len(words.words),
        "bigrams": int(begins[-2]),
        "sentence_starts": int(begins[-1] - begins[-2]),
        "possibly_offensive": int(words.offensive.sum()),
        "no_words": listed.no_words,
        "skipped": listed.skipped,
        "merged": merged,
    }
