"""Networks as sources of suggestions: a run's own model, and a person's that `tacit personalize` left there.

The whole context is read anew for each question, padded to one of a few lengths so that few programs are compiled. A
model over word-pieces suggests words of one piece, as everywhere in Tacit.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from tacit import runs
from tacit.base.arrays import Floats
from tacit.lm.sources import DenseSource, dense
from tacit.personal import models
from tacit.personal.models import Personal
from tacit.text.packed import bucket
from tacit.text.pieces import MARKER
from tacit.text.vocabulary import EOS, SPECIALS, UNK

_RECENT = 30  # words read, where the run says no limit


def of_run(run: runs.Run, user: str | None = None) -> DenseSource:
    """A source from a run's network; with `user`, from that person's."""
    own = Personal(run.params) if user is None else models.load(run, user)
    read = models.reading(run, own)

    @jax.jit
    def scores(tokens: Any, place: Any) -> Any:
        return read(tokens)[0, place]

    recent = run.config.text.max_words or _RECENT

    def forward(context: list[str]) -> Floats:
        ids = run.encoder.encode(context[-recent:])
        ids = ids[ids != EOS]
        padded = np.zeros((1, bucket(len(ids))), np.int32)
        padded[0, : len(ids)] = ids
        found = np.asarray(scores(padded, len(ids) - 1), np.float64)
        highest = found.max()
        return found - (highest + np.log(np.exp(found - highest).sum()))

    words = list(run.vocabulary.words)
    if run.spelling is None:
        return dense(words, forward)
    whole = [i for i in np.flatnonzero(run.spelling.pieces.whole).tolist() if i > UNK]
    columns = [*range(len(SPECIALS)), *whole]
    return dense([*SPECIALS, *(words[i].removesuffix(MARKER) for i in whole)], forward, columns)
