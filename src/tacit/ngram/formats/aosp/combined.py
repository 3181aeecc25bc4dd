"""Reads and writes AOSP's `.combined` word list, from which its `dicttool` compiles a `.dict`.

    dictionary=tacit:en,locale=en,description=Tacit,date=1700000000,version=1
     word=new,f=200
      bigram=york,f=243
     word=damn,f=180,possibly_offensive=true

The compiler stores by how much a bigram's f exceeds that of its second word, so a bigram's f is never below that. The
list cannot say which words begin a sentence; `.dict` can (`tacit.ngram.formats.aosp.binary`).

The lists of AOSP and HeliBoard can be read, too, plain or gzipped. Besides words, f and bigrams, only
`possibly_offensive` is kept of them. Shortcuts, and entries that are not words themselves, are left out and counted.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from tacit.base.errors import TacitError, shown
from tacit.base.files import write_atomic
from tacit.ngram.formats.aosp.header import Header
from tacit.ngram.formats.aosp.word_list import LONGEST, WordList
from tacit.text.flat import ends
from tacit.text.lines import blocks, lines

_MOST_WORDS = 2_000_000  # AOSP's largest list has about 200,000


class Read(NamedTuple):
    """A word list from a file, and what of the file is not in it."""

    words: WordList
    shortcuts: int  # lines that expand one text into another
    left_out: int  # entries that are not words, words that are too long, bigrams of words that are not listed


def write(path: Path, words: WordList, header: Header) -> None:
    """Writes a word list, words in their order."""
    header.check(path)
    floor = np.maximum(words.follower_f, words.f[words.followers])
    second = [
        f"  bigram={words.words[w]},f={f}\n"
        for w, f in zip(words.followers.tolist(), floor.tolist(), strict=True)
    ]
    values = sorted(header.values().items(), key=lambda pair: pair[0] != "dictionary")  # the id comes first
    text = [",".join(f"{key}={value}" for key, value in values) + "\n"]
    for i, word in enumerate(words.words):
        mark = ",possibly_offensive=true" if words.offensive[i] else ""
        text.append(f" word={word},f={words.f[i]}{mark}\n")
        text += second[words.begins[i] : words.begins[i + 1]]
    write_atomic(path, "".join(text))


def read(path: Path) -> Read:
    """Reads a word list; a second entry of a word or of a bigram is an error."""
    entries = _Entries(path)
    try:
        for block in blocks(path):
            for number, line in lines(block):
                if line.strip():
                    entries.add(number, line)
    except OSError as error:
        raise TacitError(
            f"{path}: cannot read this word list ({error.strerror}); give a .combined file"
        ) from None
    if not entries.f:
        raise TacitError(f"{path}: there are no words in this word list; give a .combined file")
    return entries.result()


class _Entries:
    """The entries of a file so far."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.f: dict[str, int] = {}
        self.offensive: set[str] = set()
        self.bigrams: dict[tuple[str, str], int] = {}
        self.last: str | None = None  # the word that bigrams follow; None if it was left out
        self.header = False
        self.shortcuts = self.left_out = 0

    def add(self, number: int, line: str) -> None:
        """Adds one line."""
        where = f"{self.path}, line {number}"
        fields = dict(part.partition("=")[::2] for part in line.strip().split(","))
        kind = next(iter(fields))
        if not self.header:
            if kind != "dictionary":
                raise TacitError(
                    f"{where}: {shown(line)} is not the header of a word list; give a .combined file"
                )
            self.header = True
        elif kind == "shortcut":
            self.shortcuts += 1
        elif kind == "word":
            self._word(where, fields)
        elif kind == "bigram":
            self._bigram(where, fields)
        else:
            raise TacitError(f"{where}: {shown(line)} is no word, bigram or shortcut; correct the line")

    def result(self) -> Read:
        """Returns the word list, in the order of the file."""
        row = {word: i for i, word in enumerate(self.f)}
        kept = [(row[a], row[b], f) for (a, b), f in self.bigrams.items() if b in row and f > 0]
        pairs = np.array(kept, np.int64).reshape(-1, 3)
        words = WordList(
            tuple(self.f),
            np.array(list(self.f.values()), np.int64),
            np.array([word in self.offensive for word in self.f], np.bool_),
            ends(np.bincount(pairs[:, 0], minlength=len(row) + 1)),
            pairs[:, 1],
            pairs[:, 2],
        )
        return Read(words, self.shortcuts, self.left_out + len(self.bigrams) - len(kept))

    def _word(self, where: str, fields: dict[str, str]) -> None:
        word, f = fields["word"], _number(where, fields)
        self.last = None
        unusable = not word or len(word) > LONGEST or min(word) < " "
        if unusable or fields.get("not_a_word") == "true":
            self.left_out += 1
            return
        if word in self.f:
            raise TacitError(f"{where}: {shown(word)} occurs a second time; keep one entry")
        if len(self.f) == _MOST_WORDS:
            raise TacitError(f"{where}: more than {_MOST_WORDS:,} words; give a smaller list")
        self.f[word] = f
        self.last = word
        if fields.get("possibly_offensive") == "true":
            self.offensive.add(word)

    def _bigram(self, where: str, fields: dict[str, str]) -> None:
        f = _number(where, fields)
        if self.last is None:
            self.left_out += 1
        elif (key := (self.last, fields["bigram"])) in self.bigrams:
            raise TacitError(
                f"{where}: {shown(key[1])} follows {shown(key[0])} a second time; keep one entry"
            )
        else:
            self.bigrams[key] = f


def _number(where: str, fields: dict[str, str]) -> int:
    text = fields.get("f", "")
    if not (text.isascii() and text.isdecimal() and len(text) <= 3 and int(text) <= 255):
        raise TacitError(f"{where}: f is {shown(text)}; it must be a whole number from 0 to 255")
    return int(text)
