r"""Reads and writes ARPA files, the n-gram format that every toolkit reads.

    # tacit locale: tr
    \data\
    ngram 1=4
    ngram 2=3

    \1-grams:
    -99<TAB><s><TAB>-0.30103
    -0.6<TAB></s>
    …
    \2-grams:
    -0.2<TAB><s> new
    …
    \end\

A row is log10 p(w | h), the n-gram "h w", and, if "h w" is itself a history, the log10 of its backoff weight. `<s>` is
never predicted and has −99. Rows are written in the order of the word ids, so that the same model gives the same bytes
and reading a file back gives the same ids. With 12 digits, sums stay within 1e-9 of one.

The first line names the language of the text (`tacit.text.locale`); an English model has none. Other toolkits skip
it: the format allows comments before `\data\`, and KenLM wants them to begin with #.

The reader accepts the output of other toolkits:
- words in any order;
- `<UNK>` for `<unk>`, or no `<unk>` at all (its probability is then 10^−100, as in KenLM);
- missing backoff weights;
- missing suffixes (an n-gram without its first word), as after pruning in SRILM: they are added with their backed-off
  probability;
- unigrams only, which KenLM refuses.

A missing history, a wrong count, a backoff weight with no longer n-gram, or one that gives a word a probability above
one is an error, with the file, the line and what was expected.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tacit.base.arrays import Ints
from tacit.base.errors import TacitError
from tacit.base.files import write_atomic
from tacit.ngram.above_one import above_one
from tacit.ngram.automaton import Automaton, from_trie
from tacit.ngram.formats.arpa_text import LOCALE, ArpaLevel, parse
from tacit.ngram.formats.arpa_text import locale_of as locale_of
from tacit.ngram.grams import grams, words
from tacit.ngram.trie import Trie, find
from tacit.text.locale import DEFAULT
from tacit.text.vocabulary import Vocabulary

_NEVER = -99.0  # log10 p of `<s>`, and of words with probability 0
_LOG10 = np.log(10)


def write(path: Path, vocabulary: Vocabulary, model: Automaton, locale: str = DEFAULT) -> None:
    """Writes an n-gram automaton, which has one root and histories as states; `locale` is the language of its text.

    >>> import tempfile
    >>> from tacit.ngram import automaton, kneser_ney
    >>> words = Vocabulary(("<s>", "</s>", "<unk>", "hi"))
    >>> model = automaton.from_kneser_ney(kneser_ney.fit([0, 3, 1], [0, 3], vocabulary=4, order=2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(Path(folder) / "a.arpa", words, model)
    ...     same, again = read(Path(folder) / "a.arpa")
    >>> same == words, bool(np.allclose(again.log_p, model.log_p))
    (True, True)
    """
    if len(vocabulary) != model.topology.vocabulary:
        raise TacitError(
            f"{path}: the model has {model.topology.vocabulary} words, its vocabulary {len(vocabulary)}; use its own"
        )
    trie, arcs, states = grams(model.topology)
    p = np.maximum(model.log_p / _LOG10, _NEVER)
    backoff = model.log_backoff / _LOG10
    text = np.array(vocabulary.words, object)
    parts = [] if locale == DEFAULT else [f"{LOCALE}{locale}\n"]
    parts += ["\\data\\\n", *(f"ngram {n}={len(trie.keys[n])}\n" for n in range(1, trie.order + 1))]
    for n in range(1, trie.order + 1):
        parts.append(f"\n\\{n}-grams:\n")
        score = np.where(arcs[n] >= 0, p[arcs[n]], _NEVER).tolist()
        spelt = [column.tolist() for column in text[words(trie, n)].T]
        after = np.full(len(score), "", object)
        known = np.flatnonzero(states[n] >= 0)
        after[known] = [f"\t{b:.12g}" for b in backoff[states[n][known]].tolist()]
        row = "%.12g\t" + " ".join(["%s"] * n) + "%s\n"
        parts.extend(map(row.__mod__, zip(score, *spelt, after.tolist(), strict=True)))
    parts.append("\n\\end\\\n")
    write_atomic(path, "".join(parts))


def read(path: Path) -> tuple[Vocabulary, Automaton]:
    """Reads an ARPA file; returns its vocabulary (the three specials, then the order of the file) and the model."""
    vocabulary, levels = parse(path)
    v, n = len(vocabulary), 2
    tables = [_Sorted(np.arange(v), np.zeros(v, np.int64))]
    while n <= len(levels):  # missing suffixes are added one level below, which is then sorted again
        tables[n - 1 :] = [_sort(path, levels, tables, n, vocabulary)]
        missing = np.unique(levels[n - 1].words[tables[n - 1].suffix < 0][:, 1:], axis=0)
        levels[n - 2] = _with(levels[n - 2], missing)
        n += -1 if len(missing) else 1
    for (lower, _), (level, at) in pairwise(zip(levels, tables, strict=True)):
        backed_off = lower.backoff[at.keys // v] + lower.p[at.suffix]
        level.p = np.where(np.isnan(level.p), backed_off, level.p)

    empty = np.zeros(1, np.int64)
    trie = Trie(v, (empty, *(at.keys for at in tables)), (empty, *(at.suffix for at in tables)))
    follow = [np.diff(trie.starts(n)) > 0 for n in range(1, trie.order + 1)]
    for level, followed in zip(levels, follow, strict=True):
        stray = np.flatnonzero(~followed & (np.abs(level.backoff) > 1e-6))
        if len(stray):
            at = stray[0]
            raise TacitError(
                f"{path}, line {level.lines[at]}: '{_spell(vocabulary, level.words[at])}' has a backoff weight of "
                f"{level.backoff[at]:g} but no longer n-gram; expected 0 or none"
            )
    log_p = np.concatenate([levels[0].p[1:], *(level.p for level in levels[1:])])
    log_backoff = [level.backoff[followed] for level, followed in zip(levels, follow, strict=True)]
    with np.errstate(over="ignore"):  # log10 p near the largest float: infinite, and refused
        model = Automaton(from_trie(trie), log_p * _LOG10, np.concatenate([[0.0], *log_backoff]) * _LOG10)
    if wrong := above_one(model):
        histories = [
            (level, row) for level, f in zip(levels, follow, strict=True) for row in np.flatnonzero(f)
        ]
        level, row = histories[wrong[0] - 1]  # state 0 is the root, whose rows are all at most 0
        raise TacitError(
            f"{path}, line {level.lines[row]}: the backoff weight {level.backoff[row]:g} of "
            f"'{_spell(vocabulary, level.words[row])}' gives a word log10 p = {wrong[1] / _LOG10:g}; expected 0 or less"
        )
    return vocabulary, model


class _Sorted(NamedTuple):
    keys: Ints  # [grams] as in a trie
    suffix: Ints  # [grams] −1 where it is missing


def _sort(
    path: Path, levels: list[ArpaLevel], tables: list[_Sorted], n: int, vocabulary: Vocabulary
) -> _Sorted:
    """Sorts level n by its keys, given those of the levels below."""
    v, level = len(vocabulary), levels[n - 1]

    def rows(words: Ints) -> Ints:
        row = words[:, 0]
        for k in range(1, words.shape[1]):
            row = np.where(row >= 0, find(tables[k].keys, row * v + words[:, k]), -1)
        return row

    history = rows(level.words[:, :-1])
    if (history < 0).any():
        at = int(np.argmax(history < 0))
        gram, short = _spell(vocabulary, level.words[at]), _spell(vocabulary, level.words[at, :-1])
        where = f"{path}, line {level.lines[at]}: '{gram}'"
        raise TacitError(f"{where}: its history '{short}' is not among the {n - 1}-grams")
    keys = history * v + level.words[:, -1]
    by = np.argsort(keys, kind="stable")
    keys = keys[by]
    levels[n - 1] = level = ArpaLevel(level.words[by], level.p[by], level.backoff[by], level.lines[by])
    twice = np.flatnonzero(np.diff(keys) == 0)
    if len(twice):
        gram, line = _spell(vocabulary, level.words[twice[0]]), level.lines[twice[0] + 1]
        raise TacitError(f"{path}, line {line}: '{gram}' occurs a second time; expected every n-gram once")
    return _Sorted(keys, rows(level.words[:, 1:]))


def _with(level: ArpaLevel, missing: Ints) -> ArpaLevel:
    """Returns a level with n-grams added, [missing, n], whose probability is still NaN."""
    count = len(missing)
    return ArpaLevel(
        np.concatenate([level.words, missing]),
        np.concatenate([level.p, np.full(count, np.nan)]),
        np.concatenate([level.backoff, np.zeros(count)]),
        np.concatenate([level.lines, np.zeros(count, np.int64)]),
    )


def _spell(vocabulary: Vocabulary, ids: Ints) -> str:
    return " ".join(vocabulary.words[i] for i in ids)
