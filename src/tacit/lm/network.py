"""Wraps the network of a run as a `Model`: the run's own, or one fine-tuned for a person.

Each call reads the whole context, padded to one of a few lengths so that few programs are compiled. A
network over word-pieces suggests words of one piece, as everywhere in Tacit.
"""

from __future__ import annotations

import jax
import numpy as np
from numpy.typing import NDArray

from tacit import runs
from tacit.base.arrays import Floats
from tacit.base.errors import TacitError
from tacit.lm.along import along_rows
from tacit.lm.dense import DenseSource, dense
from tacit.lm.protocol import Bulk, Model
from tacit.personal import models as personal_models
from tacit.personal.models import Personal
from tacit.scoring.scores import Scores
from tacit.text.packed import Packed, bucket
from tacit.text.pieces import MARKER
from tacit.text.vocabulary import BOS, EOS, SPECIALS, UNK

_RECENT = 30  # words that are read if the run has no limit


def run_model(run: runs.Run, user: str | None = None) -> Model:
    """Returns a run's network as a model; with `user`, that person's network, stored by `tacit personalize`."""
    personal = Personal(run.params) if user is None else personal_models.load(run, user)
    read = jax.jit(personal_models.reading(run, personal))

    def score(text: Packed) -> Scores:
        if user is not None:
            raise TacitError(
                "a person's network is scored on that person's text only; use `tacit personalize`"
            )
        return run.score(text)

    def read_rows(rows: NDArray[np.int32]) -> NDArray[np.floating]:
        padded = np.full((bucket(len(rows)), bucket(rows.shape[1])), BOS, np.int32)
        padded[: len(rows), : rows.shape[1]] = rows
        return np.array(jax.nn.log_softmax(read(padded)))

    return Model(
        source=network_source(run, personal),
        bulk=Bulk(run.encoder, score, along_rows(run.vocabulary, read_rows)),
        size=(run.path / runs.BEST).stat().st_size,
        case=run.config.text.case,
        runtime="network, JAX",
    )


def network_source(run: runs.Run, personal: Personal | None = None) -> DenseSource:
    """Returns the word source of a run's network, or of a person's."""
    read = personal_models.reading(run, personal or Personal(run.params))
    recent = run.config.text.max_words or _RECENT
    last_scores = jax.jit(lambda ids, place: read(ids)[0, place])

    def forward(context: list[str]) -> Floats:
        ids = run.encoder.encode(context[-recent:])
        ids = ids[ids != EOS]
        padded = np.zeros((1, bucket(len(ids))), np.int32)
        padded[0, : len(ids)] = ids
        scores = np.asarray(last_scores(padded, len(ids) - 1), np.float64)
        highest = scores.max()
        if not np.isfinite(highest):  # also if one of them is NaN
            raise TacitError(
                f"{run.path}: its weights are too large to compute with; restore its checkpoints, or train again"
            )
        return scores - (highest + np.log(np.exp(scores - highest).sum()))

    words, locale = list(run.vocabulary.words), run.config.text.locale
    if run.spelling is None:
        return dense(words, forward, locale=locale)
    whole = [i for i in np.flatnonzero(run.spelling.pieces.whole).tolist() if i > UNK]
    columns = [*range(len(SPECIALS)), *whole]
    return dense([*SPECIALS, *(words[i].removesuffix(MARKER) for i in whole)], forward, columns, locale)
