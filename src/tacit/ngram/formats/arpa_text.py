r"""Parses the text of an ARPA file into arrays: sections, rows, words, numbers; `arpa.py` makes the model.

Rows are parsed in blocks: one split for a block of lines, one look-up for all its words. Every error names the file,
the line and what was expected.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tacit.base.arrays import Floats, Ints
from tacit.base.errors import TacitError
from tacit.text.locale import DEFAULT, find
from tacit.text.vocabulary import BOS, EOS, SPECIALS, UNK, Vocabulary

_UNKNOWN = -100.0  # log10 p of `<unk>` if a file lacks it, as in KenLM
_COUNT = re.compile(rb"ngram\s+(\d+)\s*=\s*(\d+)")
LOCALE = "# tacit locale: "  # begins the comment that names the language, before \\data\\
_BLOCK = 1 << 16  # lines parsed together

Lines = Iterator[bytes]


@dataclass
class ArpaLevel:
    """The n-grams of one order in the order of the file; unigrams by id."""

    words: Ints  # [grams, n]
    p: Floats  # [grams] log10 p
    backoff: Floats  # [grams] log10 of the backoff weight, 0 if there is none
    lines: Ints  # [grams] line number, 0 for n-grams that the file lacks


class _Rows(NamedTuple):
    first: int  # number of the first line
    tokens: list[bytes]  # of all rows, end to end
    starts: Ints  # [rows] the first token of each
    p: Floats  # [rows]
    backoff: Floats  # [rows]


class _Ids(dict[bytes, int]):
    """Maps words to ids; −1 for unknown words."""

    def __missing__(self, word: bytes) -> int:
        return -1


def parse(path: Path) -> tuple[Vocabulary, list[ArpaLevel]]:
    """Returns the vocabulary (the three specials, then the words in the order of the file) and every section's rows."""
    try:
        with path.open("rb") as file:
            return _sections(path, file)
    except OSError as error:
        raise TacitError(f"{path}: cannot read this ARPA file ({error.strerror})") from None


def locale_of(path: Path) -> str:
    """Returns the code of the language that a file's comment names; English if there is none."""
    mark = LOCALE.strip().encode()
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.startswith(mark):
                    code = line[len(mark) :].strip().decode(errors="replace")
                    try:
                        return find(code).code
                    except TacitError as error:
                        raise TacitError(f"{path}, line {number}: {error}") from None
                if line.strip() and not line.startswith(b"#"):
                    break
    except OSError as error:
        raise TacitError(f"{path}: cannot read this ARPA file ({error.strerror})") from None
    return DEFAULT


def _sections(path: Path, lines: Lines) -> tuple[Vocabulary, list[ArpaLevel]]:
    number, line = _next(path, lines, 0, "\\data\\")
    while line != b"\\data\\":  # some toolkits write comments before it
        number, line = _next(path, lines, number, "\\data\\")
    counts: list[int] = []
    number, line = _next(path, lines, number, "ngram 1=…")
    while match := _COUNT.fullmatch(line):
        if int(match[1]) != len(counts) + 1:
            break
        counts.append(int(match[2]))
        number, line = _next(path, lines, number, "\\1-grams:")
    if match or not counts:
        raise TacitError(f"{path}, line {number}: expected 'ngram {len(counts) + 1}=…', found {_show(line)}")
    vocabulary, ids, levels = Vocabulary(SPECIALS), _Ids(), list[ArpaLevel]()
    for n, count in enumerate(counts, start=1):
        if line != b"\\%d-grams:" % n:
            more = f"; more than the {counts[n - 2]} {n - 1}-grams announced?" if n > 1 else ""
            raise TacitError(f"{path}, line {number}: expected '\\{n}-grams:', found {_show(line)}{more}")
        if n == 1:
            vocabulary, level = _unigrams(path, lines, number, count)
            ids = _Ids({word.encode(): i for i, word in enumerate(vocabulary.words)})
            ids.setdefault(b"<UNK>", UNK)
        else:
            level = _level(path, lines, number, n, count, ids)
        levels.append(level)
        expected = f"\\{n + 1}-grams:" if n < len(counts) else "\\end\\"
        number, line = _next(path, lines, number + count, expected)
    if line != b"\\end\\":
        more = f"; more than the {counts[-1]} {len(counts)}-grams announced?"
        raise TacitError(f"{path}, line {number}: expected '\\end\\', found {_show(line)}{more}")
    return vocabulary, levels


def _rows(path: Path, lines: Lines, number: int, n: int, count: int) -> Iterator[_Rows]:
    """Yields the `count` rows after line `number`, in blocks."""
    for done in range(0, count, _BLOCK):
        block = list(islice(lines, min(_BLOCK, count - done)))
        first = number + 1 + done
        widths = _widths(block)
        bad = np.flatnonzero((widths != n + 1) & (widths != n + 2))
        if len(bad) or len(block) < min(_BLOCK, count - done):
            at = int(bad[0]) if len(bad) else len(block)
            if at == len(block) or not block[at].strip() or block[at].startswith(b"\\"):
                what = f"the {n}-grams end after {done + at} of the {count} announced"
            else:
                spelt = "1 word" if n == 1 else f"{n} words"
                what = f"expected log10 p, {spelt} and perhaps a backoff weight, found {_show(block[at])}"
            raise TacitError(f"{path}, line {first + at}: {what}")
        tokens = b"".join(block).split()
        starts = np.cumsum(widths) - widths
        p = _numbers(path, first, [tokens[i] for i in starts.tolist()])
        if (p > 0).any():
            at = int(np.argmax(p > 0))
            raise TacitError(f"{path}, line {first + at}: log10 p is {p[at]:g}; expected 0 or less")
        last = np.flatnonzero(widths == n + 2)
        backoff = np.zeros(len(block))
        backoff[last] = _numbers(path, first + last, [tokens[i] for i in (starts[last] + n + 1).tolist()])
        yield _Rows(first, tokens, starts, p, backoff)


def _widths(block: list[bytes]) -> Ints:
    """Returns the number of tokens of each line."""
    if not block:
        return np.zeros(0, np.int64)
    text = np.frombuffer(b"".join(block), np.uint8)
    space = (text == 32) | ((text >= 9) & (text <= 13))
    begins = ~space
    begins[1:] &= space[:-1]
    lengths = np.fromiter(map(len, block), np.int64, len(block))
    return np.add.reduceat(begins, np.cumsum(lengths) - lengths, dtype=np.int64)


def _numbers(path: Path, first: int | Ints, column: list[bytes]) -> Floats:
    try:
        numbers = np.fromiter(map(float, column), np.float64, len(column))
    except ValueError:
        numbers = np.fromiter(map(_float, column), np.float64, len(column))
    if not np.isfinite(numbers).all():
        at = int(np.argmin(np.isfinite(numbers)))
        line = first + at if isinstance(first, int) else first[at]
        raise TacitError(f"{path}, line {line}: expected a finite number, found {_show(column[at])}")
    return numbers


def _float(text: bytes) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan


def _unigrams(path: Path, lines: Lines, number: int, count: int) -> tuple[Vocabulary, ArpaLevel]:
    """Returns the words and their rows by id, including `<s>` and a missing `<unk>`."""
    given: dict[str, tuple[float, float, int]] = {}
    for rows in _rows(path, lines, number, 1, count):
        columns = zip(rows.starts.tolist(), rows.p.tolist(), rows.backoff.tolist(), strict=True)
        for line, (start, p, backoff) in enumerate(columns, start=rows.first):
            try:
                word = rows.tokens[start + 1].decode()
            except UnicodeDecodeError:
                raise TacitError(
                    f"{path}, line {line}: {_show(rows.tokens[start + 1])} is not UTF-8"
                ) from None
            if word in given or word.split() != [word]:
                fault = "occurs a second time" if word in given else "is not one word"
                raise TacitError(f"{path}, line {line}: {word!r} {fault}; expected every word once")
            given[word] = (p, backoff, line)
    for special in SPECIALS[:UNK]:
        if special not in given:
            raise TacitError(f"{path}, line {number}: expected a unigram for {special} in this section")
    if "<unk>" not in given:
        given["<unk>"] = given.pop("<UNK>", (_UNKNOWN, 0.0, 0))
    if len(given) <= len(SPECIALS):
        raise TacitError(
            f"{path}, line {number}: the model is empty; expected a word besides {', '.join(SPECIALS)}"
        )
    spelt = (*SPECIALS, *(word for word in given if word not in SPECIALS))
    table = np.array([given[word] for word in spelt])  # [words, 3]
    ids = np.arange(len(spelt))[:, None]
    return Vocabulary(spelt), ArpaLevel(ids, table[:, 0], table[:, 1], table[:, 2].astype(np.int64))


def _level(path: Path, lines: Lines, number: int, n: int, count: int, ids: _Ids) -> ArpaLevel:
    """Returns the rows of one order above the first."""
    blocks = [(np.zeros((0, n), np.int64), np.zeros(0), np.zeros(0))]
    for rows in _rows(path, lines, number, n, count):
        token_ids = np.fromiter(map(ids.__getitem__, rows.tokens), np.int64, len(rows.tokens))
        words = token_ids[rows.starts[:, None] + np.arange(1, n + 1)]
        strange = words < 0
        wrong = strange.any(1) | (words[:, 1:] == BOS).any(1) | (words[:, :-1] == EOS).any(1)
        if wrong.any():
            at = int(np.argmax(wrong))
            gram = rows.tokens[rows.starts[at] + 1 : rows.starts[at] + n + 1]
            why = "<s> may only be first and </s> only last"
            if strange[at].any():
                why = f"{_show(gram[int(np.argmax(strange[at]))])} is not among the unigrams"
            raise TacitError(f"{path}, line {rows.first + at}: {_show(b' '.join(gram))}: {why}")
        blocks.append((words, rows.p, rows.backoff))
    words, p, backoff = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    return ArpaLevel(words, p, backoff, number + 1 + np.arange(count))


def _next(path: Path, lines: Lines, number: int, expected: str) -> tuple[int, bytes]:
    """Returns the next line that is not blank, with its number; `number` is that of the last line read."""
    for line in lines:
        number += 1
        if line := line.strip():
            return number, line
    raise TacitError(
        f"{path}, line {number + 1}: the file ends where '{expected}' was expected; it is truncated or not an ARPA file"
    )


def _show(text: bytes) -> str:
    short = text.strip()[:60].decode(errors="replace")
    return f"'{short}'"
