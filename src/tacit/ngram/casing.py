"""Capitals put back: which case variant of a word is right where it stands (paper 4, section 5).

People type `i live in new york`; the network learns from text without capitals. On the server, a corpus that
is properly cased (and is nobody's private text) tells how words are written: p_cap, a Kneser-Ney model over
cased words. Of the variants y′ of one uncased word only their ratio is ever used,

    p_cap(y | context) / Σ_{y′: u(y′) = u(y)} p_cap(y′ | context),

and a whole sentence is cased by its best path of variants under p_cap (Viterbi; Beaufays & Strope 2013).

The start of a sentence says little about a word: its capital may be due to the place alone. So p_cap is
estimated from text in which a word that starts a sentence is written as it mostly is elsewhere, if that and a
capital would give what was found, and as found otherwise. When text is cased, its starts get their capital
last, as often as the corpus gives it to them (`style`, a share near 1). A start is the first word of a message,
not counting marks, or one right after a full stop, question mark or exclamation mark.

The variants of a word are those of the corpus; a word without any is its own, in lower case.
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
from tacit.text.vocabulary import BOS, EOS, SPECIALS, UNK, Vocabulary

Sentences = Sequence[Sequence[str]]  # words as they are written

_OPENING, _WORD, _MARK, _ENDING = range(4)
_END_MARK = re.compile(r"\.|[!?]+")


@dataclass(frozen=True)
class Cased:
    """Cased words and the uncased word u(y) of each. The specials are the same in both."""

    words: Vocabulary
    uncased: Vocabulary
    lower: Ints  # [cased words] u(y)

    @cached_property
    def starts(self) -> Ints:
        """The variants of the uncased word u are `variants[starts[u]:starts[u + 1]]`, [uncased words + 1]."""
        return np.searchsorted(self.lower[self.variants], np.arange(len(self.uncased) + 1))

    @cached_property
    def variants(self) -> Ints:
        """Cased ids by uncased id, the commonest variant first, [cased words]."""
        return np.argsort(self.lower, kind="stable")  # ids go by falling count

    @cached_property
    def capital(self) -> Ints:
        """The same word with a capital first letter, [cased words]; itself where the vocabulary has none."""
        index = self.words.index
        found = np.array([index.get(capitalise(w), i) for i, w in enumerate(self.words.words)], np.int64)
        return np.where(self.lower[found] == self.lower, found, np.arange(len(found)))

    @cached_property
    def kinds(self) -> Ints:
        """What each uncased word is to a sentence: its opening, a word, a mark, or a mark that ends it."""
        return kinds(self.uncased.words)


@dataclass(frozen=True)
class Caser:
    """All that is needed to put capitals back."""

    cased: Cased
    model: Automaton  # p_cap over cased words, starts of sentences written as elsewhere
    style: float  # how often a start gets its capital

    @cached_property
    def potential(self) -> Floats:
        """Σ log w[φ] from each state to its root, [states]: a difference is the cost of a backoff path."""
        back = self.model.topology.backoff
        total, at = self.model.log_backoff.copy(), back
        while (at >= 0).any():
            total += np.where(at >= 0, self.model.log_backoff[np.maximum(at, 0)], 0)
            at = np.where(at >= 0, back[np.maximum(at, 0)], -1)
        return total


def capitalise(word: str) -> str:
    """The word with a capital first letter, the rest as it is; words that begin with no letter stay.

    >>> capitalise("don't"), capitalise("iPhone"), capitalise("'tis")
    ("Don't", 'IPhone', "'tis")
    """
    return word[:1].upper() + word[1:] if len(word[:1].upper()) == 1 else word


def fit(sentences: Sentences, uncased: Vocabulary, order: int = 3, min_count: int = 2) -> Caser:
    """Learn capitals from properly cased sentences, for the words of an uncased vocabulary.

    A form seen fewer than `min_count` times is no variant unless it is the commonest of its word.

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
        if word != word.lower():
            raise TacitError(
                f"the vocabulary has {word!r}; capitals are put on one without any: text.case = 'lower'"
            )
    forms, at, offsets = _flat(sentences)  # `at` [tokens]: numbers of forms, the specials' being their ids
    lower = _lower(uncased, forms)
    settled, style = _settle(forms, at, lower, len(uncased))
    cased = _variants(forms, lower, at, settled, uncased, min_count)
    fitted = kneser_ney.fit(encode_forms(cased, forms)[settled], offsets, len(cased.words), order)
    return Caser(cased, from_kneser_ney(fitted), style)


def _settle(forms: list[str], at: Ints, lower: Ints, words: int) -> tuple[Ints, float]:
    """Tokens as they would be written inside a sentence, [tokens], and how often starts get their capital."""
    start = sentence_starts(kinds(forms)[at])
    usual = _commonest(lower, np.bincount(at[~start], minlength=len(forms)), words)  # −1: not seen inside
    usual[: UNK + 1] = -1
    number = {form: i for i, form in enumerate(forms)}
    raised = np.array([number.get(capitalise(form), -1) for form in forms], np.int64)
    wanted = np.where(start, usual[lower[at]], -1)  # [tokens] the form that a start mostly has elsewhere
    told = (wanted >= 0) & (raised[wanted] != wanted)  # starts that show whether they get a capital
    given = told & (raised[wanted] == at)
    plain = told & (wanted == at)
    style = given.sum() / max(1, given.sum() + plain.sum()) if told.any() else 1.0
    return np.where(given, wanted, at), float(style)


def _variants(
    forms: list[str], lower: Ints, at: Ints, settled: Ints, uncased: Vocabulary, min_count: int
) -> Cased:
    """The cased vocabulary: forms that are common enough, the commonest of every word, and words without any."""
    inside = np.bincount(settled, minlength=len(forms))
    counts = np.maximum(np.bincount(at, minlength=len(forms)), inside)
    best = _commonest(lower, inside, len(uncased))
    kept = (counts >= min_count) | (best[lower] == np.arange(len(forms)))
    kept = np.flatnonzero(kept & (lower > UNK))
    unseen = np.setdiff1d(np.arange(UNK + 1, len(uncased)), lower[kept])
    table = {uncased.words[i]: 0 for i in unseen} | {forms[i]: int(counts[i]) for i in kept}
    words = vocabulary.build(table, 0)
    return Cased(words, uncased, _lower(uncased, words.words))


def encode_forms(cased: Cased, forms: Sequence[str]) -> Ints:
    """The cased id of each form; a case variant that is not kept is its word's commonest, others are `<unk>`."""
    first = cased.variants[cased.starts[:-1]]  # every word has a variant
    found = np.array([cased.words.index.get(form, -1) for form in forms], np.int64)
    found = np.where(found >= 0, found, first[_lower(cased.uncased, forms)])
    return np.array(
        [SPECIALS.index(f) if f in SPECIALS else i for f, i in zip(forms, found, strict=True)], np.int64
    )


def encode(cased: Cased, sentences: Sentences) -> tuple[Ints, Ints]:
    """Cased sentences as ids, `<s> … </s>` laid end to end, and where each starts: for a cased topology."""
    forms, at, offsets = _flat(sentences)
    return encode_forms(cased, forms)[at], offsets


def starting(kind: Ints) -> Bools:
    """Before which tokens of `<s> … </s>` sentences, given by their kinds, a sentence is about to start.

    >>> words = ["<s>", '"', "yes", ".", "no", "!", '"', "she", "said", "</s>"]
    >>> [words[i] for i in np.flatnonzero(starting(kinds(words)))]
    ['"', 'yes', 'no', '"']
    """
    clear = np.where((kind == _OPENING) | (kind == _WORD), np.arange(len(kind)), 0)
    before = np.concatenate([[0], np.maximum.accumulate(clear)[:-1]])[: len(kind)]  # last that is no mark
    follows = np.concatenate([[_MARK], kind[:-1]])[: len(kind)] == _ENDING
    return (kind != _OPENING) & (follows | (kind[before] == _OPENING))


def sentence_starts(kind: Ints) -> Bools:
    """Which of these tokens are words that start a sentence."""
    return (kind == _WORD) & starting(kind)


def kinds(words: Sequence[str]) -> Ints:
    """What each word is to a sentence, [words]."""
    return np.array([_kind(word) for word in words], np.int64)


def best_variants(caser: Caser, tokens: Ints, offsets: Ints) -> Ints:
    """The likeliest variants of uncased sentences under p_cap, [tokens] cased ids, starts as inside a sentence.

    Viterbi over all sentences at once, token by token. Two histories of a sentence that lead to one state of the
    automaton have the same future: the better one is kept.
    """
    cased, shape = caser.cased, caser.model.topology
    tokens, lengths = np.asarray(tokens, np.int64), np.diff(offsets)
    by = np.argsort(-lengths, kind="stable")
    place, state = np.arange(len(by)), np.full(len(by), shape.initial)  # [paths] kept so far; place in `by`
    score = np.zeros(len(by))
    steps: list[tuple[Ints, Ints, Ints]] = []  # per token: the path each continues, its variant, its place
    for i in range(1, int(lengths.max(initial=1))):
        alive = int(np.searchsorted(-lengths[by], -i, side="left"))  # sentences that have an i-th token
        on = np.flatnonzero(place < alive)
        word = tokens[offsets[by[place[on]]] + i]
        many = np.diff(cased.starts)[word]
        path = np.repeat(on, many)  # [paths · variants]
        label = cased.variants[cells(cased.starts[word], many)]
        found, arc = shape.reading(state[path], label)
        new = score[path] + caser.model.log_p[arc] + caser.potential[state[path]] - caser.potential[found]
        target = shape.targets[arc]
        order = np.lexsort((-new, target, place[path]))
        where, target = place[path][order], target[order]
        best = np.ones(len(order), np.bool_)
        best[1:] = (where[1:] != where[:-1]) | (target[1:] != target[:-1])
        order = order[best]
        steps.append((path[order], label[order], where[best]))
        score, state, place = new[order], np.maximum(target[best], 0), where[best]
    found_ids = tokens.copy()
    chosen = np.zeros(0, np.int64)  # [sentences that have the token] which of the step's paths is theirs
    for i, (path, label, where) in reversed(list(enumerate(steps, start=1))):
        alive = int(np.searchsorted(-lengths[by], -i, side="left"))
        over = np.searchsorted(where, np.arange(len(chosen), alive))  # at `</s>` one path is left of each
        chosen = np.concatenate([chosen, over])
        found_ids[offsets[by[:alive]] + i] = label[chosen]
        chosen = path[chosen]
    return found_ids


def with_starts(caser: Caser, tokens: Ints, inside: Ints) -> Ints:
    """Variants as they are written: starts of sentences get their capital if the corpus mostly gives it."""
    if caser.style < 0.5:
        return inside
    return np.where(sentence_starts(caser.cased.kinds[tokens]), caser.cased.capital[inside], inside)


def restore(caser: Caser, sentences: Sentences) -> list[list[str]]:
    """Words with their capitals put back. A word outside the vocabulary stays, but for its capital at a start."""
    cased = caser.cased
    forms, at, offsets = _flat([[word.lower() for word in s] for s in sentences])
    start = sentence_starts(kinds(forms)[at]) & (caser.style >= 0.5)
    inside = best_variants(caser, _lower(cased.uncased, forms)[at], offsets)
    words = [
        cased.words.words[i] if i > UNK else forms[f]
        for i, f in zip(inside.tolist(), at.tolist(), strict=True)
    ]
    words = [capitalise(w) if s else w for w, s in zip(words, start.tolist(), strict=True)]
    return [words[a + 1 : b - 1] for a, b in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)]


def accuracy(truth: Sentences, found: Sentences) -> float:
    """The share of words, of those that have capitals, that are written as in the truth."""
    right = [
        a == b for s, t in zip(truth, found, strict=True) for a, b in zip(s, t, strict=True) if _has_case(a)
    ]
    return sum(right) / max(1, len(right))


def _flat(sentences: Sentences) -> tuple[list[str], Ints, Ints]:
    """The different words, the specials first; the number of each token's, [tokens]; where sentences start."""
    number = {special: i for i, special in enumerate(SPECIALS)}
    at: list[int] = []
    for sentence in sentences:
        at.append(BOS)
        at.extend(UNK if w in SPECIALS else number.setdefault(w, len(number)) for w in sentence)
        at.append(EOS)
    return list(number), np.array(at, np.int64), ends(np.array([len(s) + 2 for s in sentences], np.int64))


def _lower(uncased: Vocabulary, forms: Sequence[str]) -> Ints:
    """u(y) of each form, the specials being their own."""
    found = (SPECIALS.index(f) if f in SPECIALS else uncased.index.get(f.lower(), UNK) for f in forms)
    return np.fromiter(found, np.int64, len(forms))


def _commonest(group: Ints, count: Ints, groups: int) -> Ints:
    """The member of each group that counts most, the earliest of equals, [groups]; −1 where none counts."""
    by = np.lexsort((np.arange(len(group)), -count, group))
    by = by[count[by] > 0]
    found = np.full(groups, -1, np.int64)
    first = np.unique(group[by], return_index=True)[1]
    found[group[by[first]]] = by[first]
    return found


def _has_case(word: str) -> bool:
    return word.lower() != word.upper()


def _kind(word: str) -> int:
    if word == SPECIALS[BOS]:
        return _OPENING
    if _END_MARK.fullmatch(word):
        return _ENDING
    # a letter of any script: most have no capitals
    return _WORD if word == SPECIALS[UNK] or any(map(str.isalpha, word)) or word[:1].isdigit() else _MARK
