"""Maps words to ids and back, and reads and writes vocabulary files.

Ids 0, 1 and 2 are the start of a message, its end, and any unknown word. The other words follow by decreasing count,
ties in alphabetical order. So the same text always gives the same ids, and a smaller vocabulary is a prefix of a
larger one.

The file is UTF-8 text. Its first line is `# tacit vocabulary 1, N words`, where 1 is the version of the format. N
lines follow, with the word of id i on line i + 2. The count reveals a truncated file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tacit.base.arrays import Ints
from tacit.base.errors import TacitError
from tacit.base.files import write_atomic
from tacit.base.reading import read_regular
from tacit.text.locale import DEFAULT, find
from tacit.text.word_list import words_of

BOS, EOS, UNK = 0, 1, 2
SPECIALS = ("<s>", "</s>", "<unk>")

_VERSION = 1
_HEADER = re.compile(r"# tacit vocabulary (\d+), (\d+) words")


@dataclass(frozen=True)
class Vocabulary:
    """The words of a model; `words[i]` has id i.

    >>> v = build({"the": 5, "cat": 2, "a": 2}, size=0)
    >>> v.words
    ('<s>', '</s>', '<unk>', 'the', 'a', 'cat')
    >>> v.encode(["the", "dog"])
    array([0, 3, 2, 1], dtype=int32)
    >>> v.decode([0, 3, 2, 1])
    ['the', '<unk>']
    """

    words: tuple[str, ...]

    @cached_property
    def index(self) -> dict[str, int]:
        """Maps words to ids. The text `<unk>` has id 2; `<s>` and `</s>` in text are unknown words."""
        return {word: i for i, word in enumerate(self.words) if i >= UNK}

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, tokens: Iterable[str]) -> np.ndarray:
        """Returns the ids of one message with its start and end, [tokens + 2] int32."""
        get = self.index.get
        return np.array([BOS, *(get(token, UNK) for token in tokens), EOS], dtype=np.int32)

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Returns the words of ids, without the start and end of the message."""
        words = []
        for i in ids:
            if not 0 <= i < len(self.words):
                raise TacitError(
                    f"id {i} is outside this vocabulary, whose ids are 0 to {len(self.words) - 1}"
                )
            if i not in (BOS, EOS):
                words.append(self.words[i])
        return words

    @property
    def cased(self) -> bool:
        """Whether any word has a capital.

        >>> Vocabulary((*SPECIALS, "paris")).cased, Vocabulary((*SPECIALS, "Paris")).cased
        (False, True)
        """
        return any(word != word.lower() for word in self.words)

    def save(self, path: Path) -> None:
        """Writes the file atomically, in the format above."""
        head = f"# tacit vocabulary {_VERSION}, {len(self.words)} words"
        write_atomic(path, "\n".join([head, *self.words]) + "\n")


def build(counts: Mapping[str, int], size: int) -> Vocabulary:
    """Builds a vocabulary of the `size` most frequent words, including the three specials; 0 takes every word.

    >>> build({"b": 1, "a": 1, "c": 7}, size=5).words
    ('<s>', '</s>', '<unk>', 'c', 'a')
    """
    for word in counts:
        if not word or word.split() != [word]:
            raise TacitError(
                f"a vocabulary cannot hold {word!r}: words are not empty and have no white space"
            )
    ranked = sorted((word for word in counts if word not in SPECIALS), key=lambda word: (-counts[word], word))
    return _first(ranked, size, "the text")


def listed(
    path: Path, size: int, lower: bool, what: str = "list of words", locale: str = DEFAULT
) -> Vocabulary:
    """Builds a vocabulary from the first `size` words of a file, including the three specials; 0 takes every word.

    The file has one word a line. A tab and anything after it are ignored, so a table of counts works if its most
    frequent word comes first, and so does a file written by `save`. Lines that begin with `# ` are comments.
    """
    in_file = words_of(path, what, lambda word: word.startswith("# "))
    ranked = dict.fromkeys(map(find(locale).lower, in_file) if lower else in_file)
    words = [word for word in ranked if word not in SPECIALS]
    if not words:
        raise TacitError(f"{path}: this {what} is empty; put one word on a line")
    return _first(words, size, str(path))


def _first(ranked: list[str], size: int, where: str) -> Vocabulary:
    most = len(ranked) + len(SPECIALS)
    if size == 0:
        size = most
    if size <= len(SPECIALS):
        raise TacitError(
            f"text.vocabulary is {size}; it must be 0 (every word) or at least {len(SPECIALS) + 1}"
        )
    if size > most:
        raise TacitError(
            f"text.vocabulary is {size} but {where} has only {len(ranked)} distinct words;"
            f" set it to {most} or less (the three specials included), or to 0 for every word"
        )
    return Vocabulary(SPECIALS + tuple(ranked[: size - len(SPECIALS)]))


def load(path: Path) -> Vocabulary:
    """Reads a file written by `save`."""
    try:
        lines = read_regular(path).split(b"\n")
    except OSError as error:
        raise TacitError(f"{path}: cannot read this vocabulary ({error.strerror})") from None
    words: list[str] = []
    line = 1
    try:
        header = _HEADER.fullmatch(lines[0].decode())
        if header is None:
            raise TacitError(
                f"{path}, line 1: not a Tacit vocabulary; expected '# tacit vocabulary {_VERSION}, N words'"
            )
        if int(header[1]) != _VERSION:
            raise TacitError(
                f"{path}, line 1: format version {header[1]}, but this Tacit reads version {_VERSION}"
            )
        count = int(header[2])
        for raw in lines[1:-1]:
            line += 1
            words.append(raw.decode())
    except UnicodeDecodeError:
        raise TacitError(
            f"{path}, line {line}: not UTF-8; this file was not written by Tacit or is damaged"
        ) from None
    # A complete file ends with a line feed, so the last element is empty.
    if lines[-1] or len(words) < count:
        raise TacitError(
            f"{path}, line {len(lines)}: the file ends early, {count} words were expected; copy it again"
        )
    if len(words) > count:
        raise TacitError(f"{path}, line {count + 2}: more words than the {count} that line 1 announces")
    if tuple(words[: len(SPECIALS)]) != SPECIALS:
        raise TacitError(f"{path}, line 2: the first three words must be {', '.join(SPECIALS)}")
    seen: set[str] = set()
    for line, word in enumerate(words, start=2):
        if word.split() != [word]:
            raise TacitError(f"{path}, line {line}: {word!r} is not one word")
        if word in seen:
            raise TacitError(f"{path}, line {line}: {word!r} occurs a second time")
        seen.add(word)
    return Vocabulary(tuple(words))


class Sorted(NamedTuple):
    """A vocabulary sorted by the words' UTF-8 bytes, after the specials."""

    words: tuple[str, ...]
    ids: Ints  # [V] the new id of each old one


def by_bytes(vocabulary: Vocabulary) -> Sorted:
    """Sorts a vocabulary by UTF-8 bytes, the order of words in a compact file.

    >>> by_bytes(Vocabulary((*SPECIALS, "to", "be"))).ids.tolist()
    [0, 1, 2, 4, 3]
    """
    fixed = len(SPECIALS)
    order = sorted(range(fixed, len(vocabulary)), key=lambda i: vocabulary.words[i].encode())
    ids = np.arange(len(vocabulary))
    ids[order] = np.arange(fixed, len(vocabulary))
    return Sorted((*SPECIALS, *(vocabulary.words[i] for i in order)), ids)
