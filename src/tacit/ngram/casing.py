"""Restores capitals: chooses the case variant of each word from its context (paper 4, section 5).

People type `i live in new york`, and the network learns from text without capitals. On the server, p_cap, a
Kneser-Ney model over cased words, learns capitals from a properly cased, public corpus. Only the ratio of p_cap among
the variants y′ of one uncased word is used,

    p_cap(y | context) / Σ_{y′: u(y′) = u(y)} p_cap(y′ | context),

and a sentence is cased by its best path of variants under p_cap (Viterbi; Beaufays & Strope 2013).

At the start of a sentence a capital says little about the word. So p_cap is estimated from text in which the first
word of a sentence is replaced by its commonest form elsewhere, if the two differ at most by the capital; otherwise it
stays. When text is cased, starts are capitalised last, as often as in the corpus (`style`, a share near 1). A start is
the first word of a message, after any punctuation, or the word right after a full stop, question mark or exclamation
mark.

The variants of a word are those of the corpus; a word that the corpus lacks has one variant, in lower case.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit.base.arrays import Bools, Floats, Ints
from tacit.base.errors import TacitError
from tacit.ngram import kneser_ney
from tacit.ngram.automaton import Automaton, from_kneser_ney
from tacit.text import vocabulary
from tacit.text.flat import cells, ends
from tacit.text.locale import ENGLISH, Locale
from tacit.text.vocabulary import BOS, EOS, SPECIALS, UNK, Vocabulary

Sentences = Sequence[Sequence[str]]  # words with their capitals

_OPENING, _WORD, _MARK, _ENDING = range(4)
_END_MARK = re.compile(r"\.|[!?]+")


@dataclass(frozen=True)
class Cased:
    """Cased words and the uncased word u(y) of each. Both vocabularies share the specials."""

    words: Vocabulary
    uncased: Vocabulary
    lower: Ints  # [cased words] u(y)
    locale: Locale = ENGLISH  # whose capitals these are

    @cached_property
    def starts(self) -> Ints:
        """Returns [uncased words + 1]: the variants of the uncased word u are `variants[starts[u]:starts[u + 1]]`."""
        return np.searchsorted(self.lower[self.variants], np.arange(len(self.uncased) + 1))

    @cached_property
    def variants(self) -> Ints:
        """Returns cased ids by uncased id, the commonest variant first, [cased words]."""
        return np.argsort(self.lower, kind="stable")  # ids are sorted by descending count

    @cached_property
    def capital(self) -> Ints:
        """Returns the id of each word with a capital first letter, or its own id if there is none, [cased words]."""
        index = self.words.index
        raised = np.array(
            [index.get(self.locale.capitalise(w), i) for i, w in enumerate(self.words.words)], np.int64
        )
        return np.where(self.lower[raised] == self.lower, raised, np.arange(len(raised)))

    @cached_property
    def kinds(self) -> Ints:
        """Returns the kind of each uncased word: `<s>`, a word, punctuation, or punctuation that ends a sentence."""
        return kinds(self.uncased.words)


@dataclass(frozen=True)
class Caser:
    """A fitted model that restores capitals."""

    cased: Cased
    model: Automaton  # p_cap over cased words; starts of sentences have the form used inside sentences
    style: float  # share of starts that are capitalised

    @cached_property
    def potential(self) -> Floats:
        """Returns Σ log w[φ] from each state to its root, [states]: differences are costs of backoff paths."""
        back = self.model.topology.backoff
        total, at = self.model.log_backoff.copy(), back
        while (at >= 0).any():
            total += np.where(at >= 0, self.model.log_backoff[np.maximum(at, 0)], 0)
            at = np.where(at >= 0, back[np.maximum(at, 0)], -1)
        return total


def capitalise(word: str) -> str:
    """Returns the word with a capital first letter; a word that does not begin with a letter is unchanged.

    >>> capitalise("don't"), capitalise("iPhone"), capitalise("'tis")
    ("Don't", 'IPhone', "'tis")
    """
    return word[:1].upper() + word[1:] if len(word[:1].upper()) == 1 else word


def fit(
    sentences: Sentences,
    uncased: Vocabulary,
    order: int = 3,
    min_count: int = 2,
    locale: Locale = ENGLISH,
) -> Caser:
    """Learns capitals from properly cased sentences, for the words of an uncased vocabulary.

    A form seen fewer than `min_count` times is a variant only if it is the commonest form of its word.

    >>> text = [["The", "cat", "likes", "Ana"], ["Ana", "saw", "the", "cat"], ["Cats", "saw", "Ana"]]
    >>> caser = fit(text, vocabulary.build(dict.fromkeys("the a cat cats ana likes saw".split(), 1), 0))
    >>> caser.style, [" ".join(s) for s in restore(caser, [["the", "cat", "saw", "ana"]])]
    (1.0, ['The cat saw Ana'])
    """
    if not 1 <= order <= 3:
        raise TacitError(f"order is {order}; capitals are learnt from n-grams of order 1 to 3")
    if not any(len(s) for s in sentences):
        raise TacitError("the cased corpus has no words; give properly cased sentences")
    for word in uncased.words:
        if word != locale.lower(word):
            raise TacitError(
                f"the vocabulary contains {word!r}, but must be lower case; train with text.case = 'lower'"
            )
    forms, at, offsets = _flat(sentences)  # `at` [tokens]: indices of forms; the specials keep their ids
    lower = _lower(uncased, forms, locale)
    settled, style = _settle(forms, at, lower, len(uncased), locale)
    cased = _variants(forms, lower, at, settled, uncased, min_count, locale)
    fitted = kneser_ney.fit(encode_forms(cased, forms)[settled], offsets, len(cased.words), order)
    return Caser(cased, from_kneser_ney(fitted), style)


def _settle(forms: list[str], at: Ints, lower: Ints, words: int, locale: Locale) -> tuple[Ints, float]:
    """Returns tokens in the form that they have inside a sentence, [tokens], and the share of capitalised starts."""
    start = sentence_starts(kinds(forms)[at])
    usual = _commonest(lower, np.bincount(at[~start], minlength=len(forms)), words)  # −1: not seen inside
    usual[: UNK + 1] = -1
    number = {form: i for i, form in enumerate(forms)}
    raised = np.array([number.get(locale.capitalise(form), -1) for form in forms], np.int64)
    wanted = np.where(start, usual[lower[at]], -1)  # [tokens] the commonest form of a start elsewhere
    telling = (wanted >= 0) & (raised[wanted] != wanted)  # starts where a capital would be visible
    given = telling & (raised[wanted] == at)
    plain = telling & (wanted == at)
    style = given.sum() / max(1, given.sum() + plain.sum()) if telling.any() else 1.0
    return np.where(given, wanted, at), float(style)


def _variants(
    forms: list[str],
    lower: Ints,
    at: Ints,
    settled: Ints,
    uncased: Vocabulary,
    min_count: int,
    locale: Locale,
) -> Cased:
    """Returns the cased vocabulary: common forms, the commonest form of every word, and words the corpus lacks."""
    inside = np.bincount(settled, minlength=len(forms))
    counts = np.maximum(np.bincount(at, minlength=len(forms)), inside)
    best = _commonest(lower, inside, len(uncased))
    kept = (counts >= min_count) | (best[lower] == np.arange(len(forms)))
    kept = np.flatnonzero(kept & (lower > UNK))
    unseen = np.setdiff1d(np.arange(UNK + 1, len(uncased)), lower[kept])
    table = {uncased.words[i]: 0 for i in unseen} | {forms[i]: int(counts[i]) for i in kept}
    words = vocabulary.build(table, 0)
    return Cased(words, uncased, _lower(uncased, words.words, locale), locale)


def encode_forms(cased: Cased, forms: Sequence[str]) -> Ints:
    """Returns the cased id of each form; a dropped variant becomes its word's commonest one, others `<unk>`."""
    first = cased.variants[cased.starts[:-1]]  # every word has a variant
    ids = np.array([cased.words.index.get(form, -1) for form in forms], np.int64)
    ids = np.where(ids >= 0, ids, first[_lower(cased.uncased, forms, cased.locale)])
    return np.array(
        [SPECIALS.index(f) if f in SPECIALS else i for f, i in zip(forms, ids, strict=True)], np.int64
    )


def encode(cased: Cased, sentences: Sentences) -> tuple[Ints, Ints]:
    """Returns cased sentences as ids, `<s> … </s>` concatenated, and their offsets: for a cased topology."""
    forms, at, offsets = _flat(sentences)
    return encode_forms(cased, forms)[at], offsets


def starting(kind: Ints) -> Bools:
    """Returns which tokens of `<s> … </s>` sentences, given by their kinds, are at the start of a sentence.

    >>> words = ["<s>", '"', "yes", ".", "no", "!", '"', "she", "said", "</s>"]
    >>> [words[i] for i in np.flatnonzero(starting(kinds(words)))]
    ['"', 'yes', 'no', '"']
    """
    clear = np.where((kind == _OPENING) | (kind == _WORD), np.arange(len(kind)), 0)
    # before: the last token that is not punctuation
    before = np.concatenate([[0], np.maximum.accumulate(clear)[:-1]])[: len(kind)]
    follows = np.concatenate([[_MARK], kind[:-1]])[: len(kind)] == _ENDING
    return (kind != _OPENING) & (follows | (kind[before] == _OPENING))


def sentence_starts(kind: Ints) -> Bools:
    """Returns which tokens are words that start a sentence."""
    return (kind == _WORD) & starting(kind)


def kinds(words: Sequence[str]) -> Ints:
    """Returns the kind of each word, [words]: `<s>`, a word, punctuation, or punctuation that ends a sentence."""
    return np.array([_kind(word) for word in words], np.int64)


def best_variants(caser: Caser, tokens: Ints, offsets: Ints) -> Ints:
    """Returns the likeliest variants of uncased sentences under p_cap, [tokens] cased ids, starts not capitalised.

    Runs Viterbi over all sentences at once, token by token. Of two histories of a sentence that lead to the same state
    of the automaton, the better one is kept.
    """
    cased, shape = caser.cased, caser.model.topology
    tokens, lengths = np.asarray(tokens, np.int64), np.diff(offsets)
    by = np.argsort(-lengths, kind="stable")
    place, state = np.arange(len(by)), np.full(len(by), shape.initial)  # [paths] kept so far; index into `by`
    score = np.zeros(len(by))
    steps: list[
        tuple[Ints, Ints, Ints]
    ] = []  # per token: the path that each continues, its variant, its place
    for i in range(1, int(lengths.max(initial=1))):
        alive = int(np.searchsorted(-lengths[by], -i, side="left"))  # sentences that have an i-th token
        on = np.flatnonzero(place < alive)
        word = tokens[offsets[by[place[on]]] + i]
        many = np.diff(cased.starts)[word]
        path = np.repeat(on, many)  # [paths · variants]
        label = cased.variants[cells(cased.starts[word], many)]
        reader, arc = shape.reading(state[path], label)
        new = score[path] + caser.model.log_p[arc] + caser.potential[state[path]] - caser.potential[reader]
        target = shape.targets[arc]
        order = np.lexsort((-new, target, place[path]))
        where, target = place[path][order], target[order]
        best = np.ones(len(order), np.bool_)
        best[1:] = (where[1:] != where[:-1]) | (target[1:] != target[:-1])
        order = order[best]
        steps.append((path[order], label[order], where[best]))
        score, state, place = new[order], np.maximum(target[best], 0), where[best]
    ids = tokens.copy()
    chosen = np.zeros(0, np.int64)  # [sentences that have the token] index of the step's best path
    for i, (path, label, where) in reversed(list(enumerate(steps, start=1))):
        alive = int(np.searchsorted(-lengths[by], -i, side="left"))
        ending = np.searchsorted(where, np.arange(len(chosen), alive))  # at `</s>` each has one path left
        chosen = np.concatenate([chosen, ending])
        ids[offsets[by[:alive]] + i] = label[chosen]
        chosen = path[chosen]
    return ids


def with_starts(caser: Caser, tokens: Ints, inside: Ints) -> Ints:
    """Capitalises the starts of sentences, if the corpus mostly does."""
    if caser.style < 0.5:
        return inside
    return np.where(sentence_starts(caser.cased.kinds[tokens]), caser.cased.capital[inside], inside)


def restore(caser: Caser, sentences: Sentences) -> list[list[str]]:
    """Restores the capitals of words. A word outside the vocabulary is only capitalised at a start."""
    cased = caser.cased
    forms, at, offsets = _flat([[cased.locale.lower(word) for word in s] for s in sentences])
    start = sentence_starts(kinds(forms)[at]) & (caser.style >= 0.5)
    inside = best_variants(caser, _lower(cased.uncased, forms, cased.locale)[at], offsets)
    words = [
        cased.words.words[i] if i > UNK else forms[f]
        for i, f in zip(inside.tolist(), at.tolist(), strict=True)
    ]
    words = [cased.locale.capitalise(w) if s else w for w, s in zip(words, start.tolist(), strict=True)]
    return [words[a + 1 : b - 1] for a, b in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)]


def accuracy(truth: Sentences, restored: Sentences) -> float:
    """Returns the share of words written as in `truth`, among words whose script has capitals."""
    right = [
        a == b
        for s, t in zip(truth, restored, strict=True)
        for a, b in zip(s, t, strict=True)
        if _has_case(a)
    ]
    return sum(right) / max(1, len(right))


def _flat(sentences: Sentences) -> tuple[list[str], Ints, Ints]:
    """Returns the distinct words, specials first; the index of each token's word, [tokens]; the sentences' offsets."""
    number = {special: i for i, special in enumerate(SPECIALS)}
    at: list[int] = []
    for sentence in sentences:
        at.append(BOS)
        at.extend(UNK if w in SPECIALS else number.setdefault(w, len(number)) for w in sentence)
        at.append(EOS)
    return list(number), np.array(at, np.int64), ends(np.array([len(s) + 2 for s in sentences], np.int64))


def _lower(uncased: Vocabulary, forms: Sequence[str], locale: Locale) -> Ints:
    """Returns u(y) of each form; specials map to themselves."""
    ids = (SPECIALS.index(f) if f in SPECIALS else uncased.index.get(locale.lower(f), UNK) for f in forms)
    return np.fromiter(ids, np.int64, len(forms))


def _commonest(group: Ints, count: Ints, groups: int) -> Ints:
    """Returns the member of each group with the highest count, ties by index, [groups]; −1 if all counts are 0."""
    by = np.lexsort((np.arange(len(group)), -count, group))
    by = by[count[by] > 0]
    commonest = np.full(groups, -1, np.int64)
    first = np.unique(group[by], return_index=True)[1]
    commonest[group[by[first]]] = by[first]
    return commonest


def _has_case(word: str) -> bool:
    return word.lower() != word.upper()


def _kind(word: str) -> int:
    if word == SPECIALS[BOS]:
        return _OPENING
    if _END_MARK.fullmatch(word):
        return _ENDING
    # isalpha accepts letters of any script; most scripts have no capitals.
    return _WORD if word == SPECIALS[UNK] or any(map(str.isalpha, word)) or word[:1].isdigit() else _MARK
