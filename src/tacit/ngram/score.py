"""Scores n-gram models with the metrics of `tacit.scoring`, like networks."""

from __future__ import annotations

import numpy as np

from tacit.ngram import automaton, kneser_ney
from tacit.ngram.automaton import Automaton
from tacit.ngram.kneser_ney import KneserNey
from tacit.ngram.suggest import top_k
from tacit.scoring import recall
from tacit.scoring.scores import Scores, of_cells
from tacit.text.packed import Packed
from tacit.text.vocabulary import BOS, UNK


def score(model: KneserNey | Automaton, text: Packed) -> Scores:
    """Scores every sentence of a text, for a Kneser-Ney model or an automaton over the text's vocabulary."""
    tokens = text.tokens.astype(np.int64)
    if isinstance(model, KneserNey):
        nll = -kneser_ney.log_probs(model, tokens, text.offsets)
        best = kneser_ney.top_k(model, tokens, text.offsets, k=3)  # [tokens, 3]
    else:
        states, read = model.topology.states_along(tokens, text.offsets), tokens != BOS
        nll, best = np.zeros(len(tokens)), np.full((len(tokens), 3), -1, np.int64)
        nll[read] = -automaton.log_probs(model, states[read], tokens[read])
        best[read] = top_k(model, states[read], k=3)
    cells = recall.cells(
        nll,
        recall.rank_among(best, tokens),
        word=recall.is_word(tokens),
        outside=tokens == UNK,
        known=recall.is_known(tokens),
    )
    return of_cells(cells, text)
