"""An 8-bit network behind the one interface for suggestions.

Whoever types asks after every letter, and the context grows by a word: the last state is kept, so that the same
context costs nothing and one word more costs one step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.lm.network8.forward import State, log_probs, state_after, step
from tacit.lm.network8.reader import Network8
from tacit.lm.sources import DenseSource, dense


def of_network8(stored: Network8) -> DenseSource:
    """A source from an open file."""
    held: list[tuple[list[str], State, NDArray[np.float64]]] = []  # the last context, if there was one

    def forward(context: list[str]) -> NDArray[np.float64]:
        known, state, found = held[0] if held else (None, None, None)
        if found is not None and known == context:
            return found
        if state is not None and known == context[:-1] and len(context) <= stored.longest:
            state = step(stored, state, np.array([stored.id(context[-1])]))
        else:
            state = state_after(stored, context)
        found = log_probs(stored, state)[0].astype(np.float64)
        held[:] = [(list(context), state, found)]
        return found

    return dense(stored.words, forward)
