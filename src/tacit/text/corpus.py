"""Reads corpora from files into flat arrays of people and their messages.

A corpus is one of the following, plain or gzipped:

- JSON lines, `{"user": ..., "text": ..., "time": ...}`: one person per distinct `user`. `time` may be missing, an ISO
  date or date-time, or a whole number. If all messages of a person have a time, they are sorted by it (numbers as
  numbers, ISO dates as text); otherwise they keep the order of the file.
- Text, one sentence a line: one person called "all", whose sentences are later assigned to clients. In a `.tsv` file
  the text is the last column.
- A pipe, such as bash's `<(zcat messages.gz)`, with JSON lines or text in it.
- A directory with train, valid and test files, as in Penn Treebank and WikiText (`train.txt`, `ptb.train.txt`,
  `wiki.train.tokens`, any of them with `.gz`). Such text is already tokenised: it is split at white space only, and
  the corpus has `pretokenized` set.

The `fedatt` protocol is that of the FedAtt papers (papers 1 and 2), as their program applies it:

- Each line, without its line feed, is cut at every " . " (space, full stop, space), which is dropped.
- Each piece is lower-cased and becomes one sequence, split at white space; blank pieces are dropped.
- A full stop at the very end of a line stays unless a space follows it. Headings are kept like any line.
- The vocabulary is taken over all three splits: 9,999 types for Penn Treebank and 28,911 for WikiText-2, including
  `<unk>`. With `<s>` and `</s>`, a full `Vocabulary` has the papers' 10,001 and 28,913 words.

A file is read once, in blocks (`lines`, `records`), and its text goes into a `Spill`. Only the names of people and 16
bytes per message stay in memory. A message becomes a Python object when it is accessed.
"""

from __future__ import annotations

import hashlib
import mmap
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple, overload

import numpy as np

from tacit.base.errors import TacitError, nearest
from tacit.base.progress import Progress, no_progress
from tacit.text import sources
from tacit.text.flat import cells, ends
from tacit.text.lines import Block, blocks, first_line
from tacit.text.parallel import cores, in_order
from tacit.text.population import Message
from tacit.text.records import Records, from_texts, json_records, text_records
from tacit.text.spill import Spill
from tacit.text.timeline import arranged

PROTOCOLS = ("plain", "fedatt")

_LARGE = 1 << 25  # bytes; for a larger file, helper processes are started
_TOGETHER = 1 << 12  # messages to decode at once when iterating
_SPLIT_WORDS = {"train": "train", "test": "test"} | dict.fromkeys(
    ("valid", "val", "validation", "dev"), "valid"
)
_SPLIT_NAME = re.compile(
    r"(?:.*[._-])?(train|valid|val|validation|dev|test)(?:\.(?:txt|tokens|raw))*(?:\.gz)?"
)


@dataclass(frozen=True, eq=False)
class Corpus:
    """A population read from a file: person k has messages `offsets[k]` to `offsets[k + 1] - 1`.

    >>> c = from_messages("demo", {"ana": ["oi", "tudo bem?"], "bo": ["hi"]})
    >>> len(c), c.user(1), c.messages(0)[1].text, c.sizes()
    (2, 'bo', 'tudo bem?', array([2, 1]))
    """

    name: str
    users: tuple[str, ...]
    offsets: np.ndarray  # [people + 1] int64
    starts: np.ndarray  # [messages] int64, where each message begins in `data`, person after person
    spans: np.ndarray  # [messages, 2] int32, lengths in bytes of time ("" if unknown) and text
    data: bytes | mmap.mmap
    pretokenized: bool = False

    def __len__(self) -> int:
        return len(self.users)

    def user(self, k: int) -> str:
        return self.users[k]

    def messages(self, k: int) -> Sequence[Message]:
        return _Messages(self, range(*self.offsets[k : k + 2].tolist()))

    def sizes(self) -> np.ndarray:
        return np.diff(self.offsets)  # [people] int64

    def without(self, users: Sequence[str]) -> Corpus:
        """Returns the corpus without these people.

        >>> from_messages("demo", {"ana": ["oi"], "bo": ["hi", "yo"]}).without(["ana"]).users
        ('bo',)
        """
        kept = np.array([user not in users for user in self.users], bool)
        sizes = self.sizes()[kept]
        messages = cells(self.offsets[:-1][kept], sizes)
        left = tuple(user for user in self.users if user not in users)
        return replace(
            self, users=left, offsets=ends(sizes), starts=self.starts[messages], spans=self.spans[messages]
        )

    def subset(self, messages: np.ndarray) -> Corpus:
        """Returns a corpus of one unnamed person with these messages, in this order, with its data in memory."""
        size = self.spans[messages].sum(axis=1)
        data = np.frombuffer(self.data, np.uint8)[cells(self.starts[messages], size)].tobytes()
        starts, spans = ends(size)[:-1], self.spans[messages]
        return Corpus(self.name, ("",), np.array([0, len(size)]), starts, spans, data, self.pretokenized)


class _Messages(Sequence[Message]):
    """The messages of a corpus, decoded on access."""

    def __init__(self, corpus: Corpus, numbers: range) -> None:
        self._corpus, self._numbers = corpus, numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[Message]:
        for first in range(0, len(self), _TOGETHER):
            yield from self[first : first + _TOGETHER]

    @overload
    def __getitem__(self, i: int) -> Message: ...
    @overload
    def __getitem__(self, i: slice) -> list[Message]: ...
    def __getitem__(self, i: int | slice) -> Message | list[Message]:
        chosen = self._numbers[i]
        return self._decode([chosen])[0] if isinstance(chosen, int) else self._decode(chosen)

    def _decode(self, numbers: Sequence[int]) -> list[Message]:
        which = np.array(numbers, np.int64)
        data, starts = self._corpus.data, self._corpus.starts[which]
        middle, end = starts + self._corpus.spans[which, 0], starts + self._corpus.spans[which].sum(axis=1)
        return [
            Message(
                data[text:stop].decode("utf-8", "surrogatepass"),
                data[time:text].decode("utf-8", "surrogatepass") if time < text else "",
            )
            for time, text, stop in zip(starts.tolist(), middle.tolist(), end.tolist(), strict=True)
        ]


class SplitCorpus(NamedTuple):
    """A corpus that comes with fixed training, validation and test splits."""

    train: Corpus
    valid: Corpus
    test: Corpus


def fingerprint(corpus: Corpus | SplitCorpus) -> str:
    """Returns a hash of a corpus: of its people's names and the lengths of their messages.

    >>> a, b = (from_messages("demo", {"ana": ["oi", text]}) for text in ("tudo bem?", "tudo bom"))
    >>> fingerprint(a) == fingerprint(a), fingerprint(a) == fingerprint(b)
    (True, False)
    """
    digest = hashlib.sha256()
    for part in corpus if isinstance(corpus, SplitCorpus) else (corpus,):
        digest.update("\0".join(part.users).encode("utf-8", "surrogatepass"))
        digest.update(np.ascontiguousarray(part.offsets, "<i8").tobytes())
        digest.update(np.ascontiguousarray(part.spans, "<i4").tobytes())
    return digest.hexdigest()[:16]


def people_fingerprint(corpus: Corpus | SplitCorpus) -> str:
    """Returns a hash of the names of a corpus's people, which says nothing about their messages.

    >>> a, b = (from_messages("demo", {name: ["oi"]}) for name in ("ana", "rui"))
    >>> people_fingerprint(a) == people_fingerprint(b), people_fingerprint(a)[:7]
    (False, 'people-')
    """
    parts = corpus if isinstance(corpus, SplitCorpus) else (corpus,)
    names = "\1".join("\0".join(part.users) for part in parts)
    return "people-" + hashlib.sha256(names.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def fits(corpus: Corpus | SplitCorpus, stored: str) -> bool:
    """Returns whether a corpus has this fingerprint, of its text or of its people alone."""
    return stored in (fingerprint(corpus), people_fingerprint(corpus))


def read(path: Path, protocol: str = "plain", progress: Progress = no_progress) -> Corpus | SplitCorpus:
    """Reads a corpus: a `SplitCorpus` from a directory, a `Corpus` from a file.

    >>> read(Path("nowhere.txt"))
    Traceback (most recent call last):
    tacit.base.errors.TacitError: nowhere.txt: no such file or directory; `tacit data list` names known corpora
    """
    if protocol not in PROTOCOLS:
        raise TacitError(f"text.protocol '{protocol}' is not known{nearest(protocol, PROTOCOLS)}")
    if not path.exists():
        raise TacitError(f"{path}: no such file or directory; `tacit data list` names known corpora")
    if path.is_dir():
        files = _split_files(path)
        parts = (
            _read_text(files[s], f"{path.name}/{s}", protocol, True, progress)
            for s in ("train", "valid", "test")
        )
        return SplitCorpus(*parts)
    kind = _kind(path)
    name = path.name.removesuffix(".gz").removesuffix(kind)
    if is_messages(path):
        if protocol != "plain":
            raise TacitError(
                f"{path}: the {protocol} protocol is for plain text; leave text.protocol at 'plain'"
            )
        return _read(path, name, json_records, '; give lines like {"user": "ana", "text": "hello"}', progress)
    _refuse_people(path)
    return _read_text(path, name, protocol, kind == ".tokens", progress)


def _refuse_people(path: Path) -> None:
    """Refuses a file with users that would otherwise be read as plain text of one person, names and all."""
    if _kind(path) == ".csv":
        raise TacitError(
            f'{path}: .csv is not read; write lines like {{"user": "ana", "text": "hello"}} to a .jsonl'
        )
    line = first_line(path)
    if line.lstrip().startswith("{") and '"user"' in line and '"text"' in line:
        raise TacitError(f"{path}: holds JSON lines, but its name is that of plain text; rename it to .jsonl")


def is_messages(path: Path) -> bool:
    """Returns whether a file holds messages by user as JSON lines, rather than plain text."""
    kind = _kind(path)
    if path.is_dir() or kind in (".txt", ".tokens", ".tsv"):
        return False
    return kind in (".jsonl", ".json", ".ndjson") or first_line(path).lstrip().startswith("{")


def _kind(path: Path) -> str:
    """Returns the last suffix of a file's name, ignoring .gz."""
    return next((suffix.lower() for suffix in reversed(path.suffixes) if suffix != ".gz"), "")


def from_messages(name: str, messages: dict[str, list[str]], pretokenized: bool = False) -> Corpus:
    """Builds a corpus from the texts of each user, oldest first."""
    return _collect(Path(name), name, [from_texts(messages)], pretokenized)


def _read_text(path: Path, name: str, protocol: str, pretokenized: bool, progress: Progress) -> Corpus:
    last_column, fedatt = _kind(path) == ".tsv", protocol == "fedatt"
    work = partial(text_records, last_column=last_column, fedatt=fedatt)
    advice = ", only blank lines; give a file with one sentence a line"
    return _read(path, name, work, advice, progress, pretokenized or fedatt)


def _read(
    path: Path,
    name: str,
    work: Callable[[Block], Records],
    advice: str,
    progress: Progress,
    pretokenized: bool = False,
) -> Corpus:
    helpers = cores() if sources.size(path) > _LARGE else 1
    corpus = _collect(path, name, in_order(work, blocks(path, progress), helpers), pretokenized)
    if not len(corpus.starts):
        raise TacitError(f"{path}: there is no text in it{advice}")
    return corpus


def _collect(path: Path, name: str, records: Iterable[Records], pretokenized: bool) -> Corpus:
    """Collects the records of all blocks into a corpus, sorted by person and time."""
    users: dict[str, int] = {}
    spill, columns = Spill(), []
    for block in chain([from_texts({})], records):
        known = np.array([users.setdefault(user, len(users)) for user in block.users], np.int32)
        columns.append((known[block.person], block.line, block.kind, block.spans))
        spill.write(block.data)
    person, line, kind, spans = (np.concatenate(column) for column in zip(*columns, strict=True))
    del columns
    everything = Records(tuple(users), person, line, kind, spans, spill.view())
    starts = ends(spans.sum(axis=1))[:-1]
    order, offsets = arranged(path, everything, starts)
    return Corpus(name, everything.users, offsets, starts[order], spans[order], everything.data, pretokenized)


def _split_files(path: Path) -> dict[str, Path]:
    files: dict[str, Path] = {}
    for file in sorted(path.iterdir()):
        match = _SPLIT_NAME.fullmatch(file.name)
        if match is None or not file.is_file():
            continue
        split = _SPLIT_WORDS[match[1]]
        if split in files:
            if file.name == files[split].name + ".gz":
                continue  # the same text gzipped; the plain file, which sorts first, is used
            raise TacitError(
                f"{path}: both {files[split].name} and {file.name} could be its {split} text; keep one"
            )
        files[split] = file
    missing = [s for s in ("train", "valid", "test") if s not in files]
    if missing:
        raise TacitError(
            f"{path}: this directory has no {' and no '.join(missing)} text; expected names like train.txt,"
            " ptb.train.txt or wiki.train.tokens (.gz too), or give the path of one file"
        )
    return files
