"""An n-gram judged by the same measures as the neural models."""

from __future__ import annotations

import numpy as np

from tacit.ngram import suggest
from tacit.ngram.automaton import Automaton
from tacit.ngram.kneser_ney import KneserNey, log_probs, top_k
from tacit.scoring.scores import Scores
from tacit.text.packed import Packed
from tacit.text.vocabulary import BOS, EOS, UNK


def score(model: KneserNey | Automaton, text: Packed) -> Scores:
    """What `evaluation.scorer` measures of each sentence, for a Kneser-Ney model or an automaton over words."""
    if isinstance(model, Automaton):
        return suggest.score(model, text)
    tokens = text.tokens
    best = top_k(model, tokens, text.offsets, k=3)  # [tokens, 3]
    nll = -log_probs(model, tokens, text.offsets)
    sentence = np.repeat(np.arange(len(text.offsets) - 1), np.diff(text.offsets))
    word, oov = (tokens != BOS) & (tokens != EOS), tokens == UNK
    hit = (best == tokens[:, None]) & (word & ~oov)[:, None]
    cells = [nll, nll * oov, word, oov, hit[:, 0], hit.any(axis=1)]
    count = len(text.offsets) - 1
    return Scores(*(np.bincount(sentence, np.asarray(cell, float), minlength=count) for cell in cells))
