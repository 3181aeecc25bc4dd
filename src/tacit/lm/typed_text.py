"""Chooses the text to type in a measurement: a corpus, or the text of a run's held-out people."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Literal, NamedTuple

from tacit import runs
from tacit.base.errors import TacitError
from tacit.text.catalogue import same_corpus
from tacit.text.locale import DEFAULT
from tacit.text.prepare import TextConfig
from tacit.text.typists import TypistsConfig


class TypedText(NamedTuple):
    """The text of a measurement, as `tacit.text.typed.read` takes it."""

    config: TextConfig
    typists: TypistsConfig
    seed: int | None  # of the run whose held-out people type; None for a whole corpus


def typed_text(
    path: Path,
    case: Literal["lower", "keep"],
    corpus: str | None = None,
    held_out: Path | None = None,
    data: Path | None = None,
    locale: str = DEFAULT,
) -> TypedText:
    """Returns the text for a model at `path`: all of `corpus`, or the held-out people of a run.

    The run is `held_out`, or `path` itself if it is a run directory.
    """
    if corpus is not None and held_out is not None:
        raise TacitError("--corpus and --held-out both choose the text; give one of them")
    run = held_out or (path if path.is_dir() else None)
    if run is None:
        if corpus is None:
            raise TacitError(
                f"{path} is a file, which has no held-out text of its own; give --corpus, or --held-out RUN"
            )
        return TypedText(TextConfig(corpus=corpus, case=case, locale=locale), TypistsConfig(), None)
    config = runs.read_config(run)
    text = dataclasses.replace(config.text, case=case)
    if corpus is None or same_corpus(corpus, text.corpus, data):
        own = dataclasses.replace(text, corpus=corpus or text.corpus)
        return TypedText(own, config.typists, config.seed)
    return TypedText(text.of(corpus), config.typists, None)
