"""The one definition of recall: when a suggestion counts as the word that was typed.

- Suggestions are words: `<s>`, `</s>` and `<unk>` are never suggested.
- Of equally likely words, the one with the lower id comes first.
- The end of a message is not a word. A word outside the vocabulary is a miss.

A word's rank is the number of words that the model suggests before it, so a word is among the first k suggestions if
its rank is below k. All functions work on numpy arrays and on JAX arrays, also under tracing.
"""

from __future__ import annotations

from typing import Any

from tacit.text.vocabulary import EOS, UNK


def is_word(targets: Any) -> Any:
    """Returns a mask of the targets that are typed words; −1 marks padding, 0 the start of a message."""
    return (targets > 0) & (targets != EOS)


def is_known(targets: Any) -> Any:
    """Returns a mask of the targets that a model can suggest.

    >>> import numpy as np
    >>> is_known(np.array([-1, 0, 1, 2, 3])).tolist()
    [False, False, False, False, True]
    """
    return targets > UNK


def ahead(scores: Any, wanted: Any, ids: Any, target: Any) -> Any:
    """Returns a mask of the words ranked before the target: likelier ones, and equally likely ones with a lower id.

    `wanted` is the target's own score.
    """
    return (scores > wanted) | ((scores == wanted) & (ids < target))


def rank(scores: Any, wanted: Any, targets: Any, allowed: Any = True) -> Any:
    """Returns the rank of each target among the scores of all words, [..., V] to [...].

    `wanted` [..., 1] are the targets' own scores. `allowed` [V] leaves out words that are never suggested.

    >>> import numpy as np
    >>> scores = np.array([[9.0, 9.0, 9.0, 1.0, 3.0, 3.0]])
    >>> rank(scores, np.array([[3.0]]), np.array([5])).tolist()
    [1]
    """
    xp = scores.__array_namespace__()
    ids = xp.arange(scores.shape[-1])
    before = ahead(scores, wanted, ids, targets[..., None])
    return xp.sum(before & is_known(ids) & allowed, axis=-1)


def rank_among(best: Any, targets: Any) -> Any:
    """Returns the rank of each target in a list of best words, [..., k] to [...]; k where it is not listed.

    >>> import numpy as np
    >>> rank_among(np.array([[4, 3], [4, 3]]), np.array([3, 9])).tolist()
    [1, 2]
    """
    xp = best.__array_namespace__()
    hit = best == targets[..., None]
    return xp.where(xp.any(hit, axis=-1), xp.argmax(hit, axis=-1), best.shape[-1])


def cells(nll: Any, rank: Any, word: Any, outside: Any, known: Any) -> list[Any]:
    """Returns the terms of `Scores` for every position of a text, in the order of its fields.

    `word` marks positions that count as a word, `outside` those outside the vocabulary, and `known` the words that can
    be suggested.
    """
    xp = nll.__array_namespace__()
    return [nll, xp.where(outside, nll, 0), word, word & outside, known & (rank < 1), known & (rank < 3)]
