"""Puts counted unigrams into a backoff n-gram model, over a larger vocabulary (paper 4, section 3.3).

A model's higher orders cover the commonest words; a keyboard also needs the rest, from unigrams alone. The
counted distribution u replaces the unigram part of the model (the arcs of its root), or is mixed into it:

    root(x) = M · [(1 − α) root₀(x) / M₀ + α u(x)]        M₀, M: what the root gives to words, before and after

for every word x of either vocabulary. `</s>` and `<unk>`, which are not counted, keep their probabilities; that of
`<unk>` can be set with `unknown`, because it included the words that are added. New words are arcs from the root back
to the root. Arcs of higher states stay as they are; every state's backoff weight is recomputed, so that it sums to one:

    w_q[φ] = (1 − Σ_{x∈L[q]} w_q[x]) / (1 − Σ_{x∈L[q]} w_backoff(q)[x])

Counts are uncased. A cased model takes them distributed over the case variants of each word, p(York | york).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tacit.base.arrays import Floats
from tacit.base.errors import TacitError
from tacit.distillation.pruning import with_backoffs
from tacit.ngram.automaton import Automaton, Topology
from tacit.ngram.validity import require
from tacit.text.locale import ENGLISH, Locale
from tacit.text.vocabulary import EOS, UNK, Vocabulary


def spread_case(
    counts: Mapping[str, float],
    variants: Mapping[str, Mapping[str, float]],
    locale: Locale = ENGLISH,
) -> dict[str, float]:
    """Spreads uncased counts over case variants by p(variant | uncased word); a word without variants stays.

    >>> spread_case({"york": 10.0, "so": 3.0}, {"york": {"York": 0.75, "york": 0.25}})
    {'York': 7.5, 'york': 2.5, 'so': 3.0}
    """
    spread: dict[str, float] = {}
    for word, count in counts.items():
        shares = variants.get(word) or {word: 1.0}
        if any(not p >= 0 for p in shares.values()) or abs(sum(shares.values()) - 1) > 1e-6:
            raise TacitError(f"the case variants of {word!r} must have probabilities that add up to one")
        for variant, p in shares.items():
            if locale.lower(variant) != word:
                raise TacitError(
                    f"{variant!r} is not a case variant of {word!r}; variants differ in capitals only"
                )
            spread[variant] = count * p
    return spread


def with_unigrams(
    model: Automaton,
    words: Vocabulary,
    counts: Mapping[str, float],
    weight: float = 1.0,
    variants: Mapping[str, Mapping[str, float]] | None = None,
    unknown: float | None = None,
    locale: Locale = ENGLISH,
) -> tuple[Automaton, Vocabulary]:
    """Returns the model with counted unigrams, and its vocabulary: its own words, then others by falling count.

    `weight` is α, 1 for replacing. A word of the model that was never counted gets half the count of the rarest counted
    word, so that every word keeps a probability. `unknown` is the probability of `<unk>` at the root.

    >>> from tacit.ngram import automaton, kneser_ney
    >>> pairs = automaton.from_kneser_ney(kneser_ney.fit([0, 3, 4, 1, 0, 3, 1], [0, 4, 7], vocabulary=5, order=2))
    >>> words = Vocabulary(("<s>", "</s>", "<unk>", "good", "day"))
    >>> larger, all_words = with_unigrams(pairs, words, {"day": 6.0, "night": 3.0, "good": 1.0})
    >>> all_words.words[3:]
    ('good', 'day', 'night')
    >>> automaton.distribution(larger, 0).round(3).tolist(), round(float(automaton.distribution(larger, 1).sum()), 9)
    ([0.0, 0.375, 0.125, 0.05, 0.3, 0.15], 1.0)
    """
    shape = model.topology
    roots = np.flatnonzero(shape.backoff < 0)
    if len(roots) != 1:
        raise TacitError(
            f"the automaton has {len(roots)} roots; only that of an n-gram model over words has one"
        )
    if len(words) != shape.vocabulary:
        raise TacitError(
            f"the vocabulary has {len(words)} words, the automaton {shape.vocabulary} labels; give its own"
        )
    require(shape, words)
    if not 0 < weight <= 1:
        raise TacitError(
            f"the weight of the counted unigrams is {weight:g}; it must be above 0 and at most 1"
        )
    if unknown is not None and not 0 < unknown < 1:
        raise TacitError(f"the probability of <unk> is {unknown:g}; it must lie between 0 and 1")
    spread = spread_case(counts, variants, locale) if variants else counts
    counts = {word: n for word, n in spread.items() if n > 0}
    if not counts:
        raise TacitError("no word has a count above 0; a unigram distribution needs at least one")
    new = sorted((word for word in counts if word not in words.index), key=lambda word: (-counts[word], word))
    larger = Vocabulary(words.words + tuple(new))
    shape, log_p = _more_words(model, int(roots[0]), len(new))
    arcs = slice(shape.starts[roots[0]], shape.starts[roots[0] + 1])
    log_p[arcs] = _mixed(shape.labels[arcs], np.exp(log_p[arcs]), larger, counts, weight, unknown)
    return with_backoffs(shape, log_p), larger


def _more_words(model: Automaton, root: int, more: int) -> tuple[Topology, Floats]:
    """Adds arcs from the root to itself for `more` words, with the next labels and no probability yet."""
    shape, end = model.topology, int(model.topology.starts[root + 1])
    starts = shape.starts.copy()
    starts[root + 1 :] += more
    new = np.arange(shape.vocabulary, shape.vocabulary + more)
    wider = dataclasses.replace(
        shape,
        vocabulary=shape.vocabulary + more,
        starts=starts,
        labels=np.insert(shape.labels, end, new),
        targets=np.insert(shape.targets, end, np.full(more, root)),
    )
    return wider, np.insert(model.log_p, end, np.full(more, -np.inf))


def _mixed(
    labels: NDArray[np.int64],
    p: Floats,
    words: Vocabulary,
    counts: Mapping[str, float],
    weight: float,
    unknown: float | None,
) -> Floats:
    """Returns the logarithms of the root's new weights, [root arcs]; the weights sum to one."""
    p = p / p.sum()
    if unknown is not None:
        p[labels == UNK] = unknown
    typed = (labels != EOS) & (labels != UNK)
    rarest = min(counts.values())
    u = np.array([counts.get(words.words[i], 0.5 * rarest) for i in labels[typed].tolist()])
    mass = 1.0 - p[~typed].sum()  # M
    if not mass > 0:
        raise TacitError(f"</s> and <unk> take {1 - mass:.3g} at the root, which leaves nothing for words")
    if weight < 1 and p[typed].any():
        u = weight * u / u.sum() + (1 - weight) * p[typed] / p[typed].sum()
    p[typed] = mass * u / u.sum()
    with np.errstate(divide="ignore"):  # a model without <unk>
        return np.log(p)
