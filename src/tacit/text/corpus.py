"""Text from files: people and what they typed, in flat arrays.

Three shapes of file are read, plain or gzipped, always line by line:

- JSON lines, `{"user": ..., "text": ..., "time": ...}` each: one person per distinct `user`. `time` may
  be missing, an ISO date or date-time, or a whole number. A person whose messages all have a time is
  put in time order (numbers as numbers, ISO dates as the text they are); any other keeps the order of
  the file.
- Text, one sentence a line: one person called "all", to be dealt to clients later. In a `.tsv` file the
  text is what follows the last tab.
- A directory with train, valid and test files, as Penn Treebank and WikiText come (`train.txt`,
  `ptb.train.txt`, `wiki.train.tokens`, any of them with `.gz`). Such text is tokenised already, so its
  tokens are what white space separates, and the corpus says so by `pretokenized`.

The `fedatt` protocol is the one of the FedAtt papers (papers 1 and 2), as their program applies it.
Each line, less its line feed, is cut at every " . " (space, full stop, space; the full stop goes with
the cut); each piece is lower-cased; pieces with nothing but white space are dropped; each other piece is
one sequence, split at white space. A full stop at the very end of a line stays unless a space follows
it, and headings are kept like any line. The vocabulary is taken over all three splits together: 9,999
types for Penn Treebank and 28,911 for WikiText-2, `<unk>` counted among them, so that with `<s>` and
`</s>` a full `Vocabulary` has the papers' 10,001 and 28,913 words.

A file is read once, in blocks (`lines`, `records`); its text goes into a `Spill`, and what stays in memory is
the names of people and 16 bytes for each message. A message becomes a Python object when it is looked at.
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
from tacit.text.flat import cells, ends
from tacit.text.lines import Block, blocks, first_line
from tacit.text.parallel import cores, in_order
from tacit.text.population import Message
from tacit.text.records import Records, from_texts, json_records, text_records
from tacit.text.spill import Spill
from tacit.text.timeline import arranged

PROTOCOLS = ("plain", "fedatt")

_LARGE = 1 << 25  # bytes of a file that is worth starting helpers for
_TOGETHER = 1 << 12  # messages that are made at once when many are looked at
_SPLIT_WORDS = {"train": "train", "test": "test"} | dict.fromkeys(
    ("valid", "val", "validation", "dev"), "valid"
)
_SPLIT_NAME = re.compile(
    r"(?:.*[._-])?(train|valid|val|validation|dev|test)(?:\.(?:txt|tokens|raw))*(?:\.gz)?"
)


@dataclass(frozen=True, eq=False)
class Corpus:
    """A population read from a file: person k holds messages `offsets[k]` to `offsets[k + 1]`.

    >>> c = from_messages("demo", {"ana": ["oi", "tudo bem?"], "bo": ["hi"]})
    >>> len(c), c.user(1), c.messages(0)[1].text, c.sizes()
    (2, 'bo', 'tudo bem?', array([2, 1]))
    """

    name: str
    users: tuple[str, ...]
    offsets: np.ndarray  # [people + 1] int64
    starts: np.ndarray  # [messages] int64, where in `data` a message begins, person after person
    spans: np.ndarray  # [messages, 2] int32, bytes of its time ("" where unknown) and of its text
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
        """The same corpus less these people.

        >>> from_messages("demo", {"ana": ["oi"], "bo": ["hi", "yo"]}).without(["ana"]).users
        ('bo',)
        """
        kept = np.array([user not in users for user in self.users], bool)
        sizes = self.sizes()[kept]
        some = cells(self.offsets[:-1][kept], sizes)
        left = tuple(user for user in self.users if user not in users)
        return replace(
            self, users=left, offsets=ends(sizes), starts=self.starts[some], spans=self.spans[some]
        )

    def alone(self, messages: np.ndarray) -> Corpus:
        """A corpus of nobody's but these messages, in this order, with its data in memory."""
        size = self.spans[messages].sum(axis=1)
        data = np.frombuffer(self.data, np.uint8)[cells(self.starts[messages], size)].tobytes()
        starts, spans = ends(size)[:-1], self.spans[messages]
        return Corpus(self.name, ("",), np.array([0, len(size)]), starts, spans, data, self.pretokenized)


class _Messages(Sequence[Message]):
    """Messages of a corpus, made when they are looked at."""

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
        return self._made([chosen])[0] if isinstance(chosen, int) else self._made(chosen)

    def _made(self, numbers: Sequence[int]) -> list[Message]:
        some = np.array(numbers, np.int64)
        data, starts = self._corpus.data, self._corpus.starts[some]
        middle, end = starts + self._corpus.spans[some, 0], starts + self._corpus.spans[some].sum(axis=1)
        return [
            Message(
                data[text:stop].decode("utf-8", "surrogatepass"),
                data[time:text].decode("utf-8", "surrogatepass") if time < text else "",
            )
            for time, text, stop in zip(starts.tolist(), middle.tolist(), end.tolist(), strict=True)
        ]


class SplitCorpus(NamedTuple):
    """A corpus whose makers fixed what to train on, to choose by and to report."""

    train: Corpus
    valid: Corpus
    test: Corpus


def fingerprint(found: Corpus | SplitCorpus) -> str:
    """Tells a corpus from others: its people, and how long each of their messages is.

    >>> a, b = (from_messages("demo", {"ana": ["oi", text]}) for text in ("tudo bem?", "tudo bom"))
    >>> fingerprint(a) == fingerprint(a), fingerprint(a) == fingerprint(b)
    (True, False)
    """
    marks = hashlib.sha256()
    for part in found if isinstance(found, SplitCorpus) else (found,):
        marks.update("\0".join(part.users).encode("utf-8", "surrogatepass"))
        marks.update(np.ascontiguousarray(part.offsets, "<i8").tobytes())
        marks.update(np.ascontiguousarray(part.spans, "<i4").tobytes())
    return marks.hexdigest()[:16]


def read(path: Path, protocol: str = "plain", progress: Progress = no_progress) -> Corpus | SplitCorpus:
    """Whatever `path` holds: a `SplitCorpus` for a directory, a `Corpus` for a file.

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
    """A file with people in it that would be read as one voice, their names as words, is a mistake."""
    if _kind(path) == ".csv":
        raise TacitError(
            f'{path}: .csv is not read; write lines like {{"user": "ana", "text": "hello"}} to a .jsonl'
        )
    line = first_line(path)
    if line.lstrip().startswith("{") and '"user"' in line and '"text"' in line:
        raise TacitError(f"{path}: these are JSON lines, and its name says plain text; rename it to .jsonl")


def is_messages(path: Path) -> bool:
    """Whether a file holds people's messages as JSON lines, and not plain text."""
    kind = _kind(path)
    if path.is_dir() or kind in (".txt", ".tokens", ".tsv"):
        return False
    return kind in (".jsonl", ".json", ".ndjson") or first_line(path).lstrip().startswith("{")


def _kind(path: Path) -> str:
    """What the name says a file is: its last suffix, but for .gz."""
    return next((suffix.lower() for suffix in reversed(path.suffixes) if suffix != ".gz"), "")


def from_messages(name: str, messages: dict[str, list[str]], pretokenized: bool = False) -> Corpus:
    """A corpus from texts already at hand, person by person and oldest first."""
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
    helpers = cores() if path.stat().st_size > _LARGE else 1
    found = _collect(path, name, in_order(work, blocks(path, progress), helpers), pretokenized)
    if not len(found.starts):
        raise TacitError(f"{path}: there is no text in it{advice}")
    return found


def _collect(path: Path, name: str, found: Iterable[Records], pretokenized: bool) -> Corpus:
    """Everybody's messages, person after person, each person's in the order of time."""
    users: dict[str, int] = {}
    spill, columns = Spill(), []
    for block in chain([from_texts({})], found):
        known = np.array([users.setdefault(user, len(users)) for user in block.users], np.int32)
        columns.append((known[block.person], block.line, block.kind, block.spans))
        spill.write(block.data)
    person, line, kind, spans = (np.concatenate(column) for column in zip(*columns, strict=True))
    del columns
    everything = Records(tuple(users), person, line, kind, spans, spill.look())
    starts = ends(spans.sum(axis=1))[:-1]
    order, offsets = arranged(path, everything, starts)
    return Corpus(name, everything.users, offsets, starts[order], spans[order], everything.data, pretokenized)


def _split_files(path: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for file in sorted(path.iterdir()):
        match = _SPLIT_NAME.fullmatch(file.name)
        if match is None or not file.is_file():
            continue
        split = _SPLIT_WORDS[match[1]]
        if split in found:
            if file.name == found[split].name + ".gz":
                continue  # the same text packed; the plain one, sorted first, is taken
            raise TacitError(
                f"{path}: both {found[split].name} and {file.name} could be its {split} text; keep one"
            )
        found[split] = file
    missing = [s for s in ("train", "valid", "test") if s not in found]
    if missing:
        raise TacitError(
            f"{path}: this directory has no {' and no '.join(missing)} text; expected names like train.txt,"
            " ptb.train.txt or wiki.train.tokens (.gz too), or give the path of one file"
        )
    return found
