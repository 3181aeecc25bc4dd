"""Wraps an 8-bit network as a `Model`.

A keyboard queries it after every letter, and the context grows by one word at a time. So the last state is kept: the
same context costs nothing, and one more word costs one step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.base.arrays import Floats
from tacit.base.distribution import needs_whole
from tacit.lm.along import along_rows
from tacit.lm.dense import Forward, dense
from tacit.lm.network8.forward import State, log_probs, state_after, step
from tacit.lm.network8.reader import Network8
from tacit.lm.protocol import Bulk, Model
from tacit.scoring.scores import Scores
from tacit.text.locale import DEFAULT
from tacit.text.packed import Packed


def network8_model(stored: Network8) -> Model:
    """Returns an open file as a model; only `score`, which reads much text, runs on JAX."""

    def read(rows: NDArray[np.int32]) -> NDArray[np.floating]:
        state, columns = None, []
        for ids in rows.T:
            state = step(stored, state, ids)
            columns.append(log_probs(stored, state))
        return np.stack(columns, axis=1)  # [messages, time, V]

    def score(text: Packed) -> Scores:
        needs_whole("federated", "scoring a text with a network")
        from tacit.federated.evaluation import scorer  # here, so that a keyboard loads no JAX
        from tacit.lm.network8.writer import as_model

        network, params = as_model(stored)
        return scorer(network)(params, text)

    return Model(
        source=dense(stored.words, typing_on(stored), locale=str(stored.facts.get("locale", DEFAULT))),
        bulk=Bulk(stored.vocabulary, score, along_rows(stored.vocabulary, read)),
        size=stored.size,
        case=stored.facts["case"],
        runtime="8-bit network, numpy",
    )


def typing_on(stored: Network8) -> Forward:
    """Returns a function from a context to log p of all words, which keeps the state of its last context."""
    last: list[tuple[list[str], State, Floats]] = []

    def forward(context: list[str]) -> Floats:
        known, state, log_p = last[0] if last else (None, None, None)
        if log_p is not None and known == context:
            return log_p
        if state is not None and known == context[:-1] and len(context) <= stored.longest:
            state = step(stored, state, np.array([stored.id(context[-1])]))
        else:
            state = state_after(stored, context)
        log_p = log_probs(stored, state)[0].astype(np.float64)
        last[:] = [(list(context), state, log_p)]
        return log_p

    return forward
