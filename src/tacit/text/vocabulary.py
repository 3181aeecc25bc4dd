"""Words to ids and back.

Ids 0, 1 and 2 are the start of a message, its end, and any word the vocabulary does not hold; the
other words follow by falling count, ties by the alphabet, so the same text always gives the same ids
and a smaller vocabulary is a prefix of a larger one.

The file is plain UTF-8 text. Its first line is `# tacit vocabulary 1, N words`, 1 being the version of
the format; N lines follow, the word with id i on line i + 2. The count tells a truncated file apart.
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
from tacit.text.word_list import words_of

BOS, EOS, UNK = 0, 1, 2
SPECIALS = ("<s>", "</s>", "<unk>")

_VERSION = 1
_HEADER = re.compile(r"# tacit vocabulary (\d+), (\d+) words")


@dataclass(frozen=True)
class Vocabulary:
    """The words a model knows, `words[i]` having id i.

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
        """Word to id. A literal `<unk>` is id 2; `<s>` and `</s>` typed by a person are unknown words."""
        return {word: i for i, word in enumerate(self.words) if i >= UNK}

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, tokens: Iterable[str]) -> np.ndarray:
        """Ids of one message with its start and end, [tokens + 2] int32."""
        get = self.index.get
        return np.array([BOS, *(get(token, UNK) for token in tokens), EOS], dtype=np.int32)

    def decode(self, ids: Iterable[int]) -> list[str]:
        """The words of ids; start and end of message are left out."""
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
        """Whether some word has a capital.

        >>> Vocabulary((*SPECIALS, "paris")).cased, Vocabulary((*SPECIALS, "Paris")).cased
        (False, True)
        """
        return any(word != word.lower() for word in self.words)

    def save(self, path: Path) -> None:
        """Write the file this module's first lines describe; it is replaced whole or not at all."""
        head = f"# tacit vocabulary {_VERSION}, {len(self.words)} words"
        write_atomic(path, "\n".join([head, *self.words]) + "\n")


def build(counts: Mapping[str, int], size: int) -> Vocabulary:
    """The vocabulary of the `size` commonest words, the three specials counted; 0 takes every word.

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


def listed(path: Path, size: int, lower: bool, what: str = "list of words") -> Vocabulary:
    """The vocabulary of the first `size` words of a file, one a line, the three specials counted; 0 takes every word.

    What follows a tab is ignored, so that counts, the commonest word first, are such a file; and so is what `save`
    wrote. Lines that begin with `# ` are comments.
    """
    found = words_of(path, what, lambda word: word.startswith("# "))
    ranked = dict.fromkeys(word.lower() if lower else word for word in found)
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
            f" set it to {most} or less (the three specials are counted), or to 0 for every word"
        )
    return Vocabulary(SPECIALS + tuple(ranked[: size - len(SPECIALS)]))


def load(path: Path) -> Vocabulary:
    """Read what `save` wrote."""
    try:
        lines = path.read_bytes().split(b"\n")
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
    # A file that ends well ends with a line feed, so the last piece is empty.
    if lines[-1] or len(words) < count:
        raise TacitError(
            f"{path}, line {len(lines)}: the file ends early, {count} words were expected; copy it again"
        )
    if len(words) > count:
        raise TacitError(f"{path}, line {count + 2}: more words than the {count} its first line tells")
    if tuple(words[: len(SPECIALS)]) != SPECIALS:
        raise TacitError(f"{path}, line 2: the first three words must be {', '.join(SPECIALS)}")
    seen: set[str] = set()
    for line, word in enumerate(words, start=2):
        if word.split() != [word]:
            raise TacitError(f"{path}, line {line}: {word!r} is not one word")
        if word in seen:
            raise TacitError(f"{path}, line {line}: {word!r} stands there a second time")
        seen.add(word)
    return Vocabulary(tuple(words))


class Sorted(NamedTuple):
    """A vocabulary in the order of its words' bytes after the specials."""

    words: tuple[str, ...]
    ids: Ints  # [V] the new id of each old one


def by_bytes(vocabulary: Vocabulary) -> Sorted:
    """The order of a compact file's words.

    >>> by_bytes(Vocabulary((*SPECIALS, "to", "be"))).ids.tolist()
    [0, 1, 2, 4, 3]
    """
    fixed = len(SPECIALS)
    order = sorted(range(fixed, len(vocabulary)), key=lambda i: vocabulary.words[i].encode())
    ids = np.arange(len(vocabulary))
    ids[order] = np.arange(fixed, len(vocabulary))
    return Sorted((*SPECIALS, *(vocabulary.words[i] for i in order)), ids)
