"""Text from files: people and what they typed, held in memory.

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
"""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from tacit.errors import TacitError, nearest
from tacit.text.population import Message, Population
from tacit.text.tokens import tokenize

PROTOCOLS = ("plain", "fedatt")

_SPLIT_WORDS = {"train": "train", "test": "test"} | dict.fromkeys(
    ("valid", "val", "validation", "dev"), "valid"
)
_SPLIT_NAME = re.compile(
    r"(?:.*[._-])?(train|valid|val|validation|dev|test)(?:\.(?:txt|tokens|raw))*(?:\.gz)?"
)
_DATE = re.compile(r"\d{4}-\d\d(?:-\d\d)?(?:[T ].*)?")


@dataclass(frozen=True, eq=False)
class Corpus:
    """A population in memory: person k holds messages `offsets[k]` to `offsets[k + 1]`.

    >>> c = from_messages("demo", {"ana": ["oi", "tudo bem?"], "bo": ["hi"]})
    >>> len(c), c.user(1), c.messages(0)[1].text, c.sizes()
    (2, 'bo', 'tudo bem?', array([2, 1]))
    """

    name: str
    users: tuple[str, ...]
    texts: Sequence[str]  # [messages], person after person
    times: Sequence[str]  # [messages], "" where unknown
    offsets: np.ndarray  # [people + 1] int64
    pretokenized: bool = False

    def __len__(self) -> int:
        return len(self.users)

    def user(self, k: int) -> str:
        return self.users[k]

    def messages(self, k: int) -> list[Message]:
        span = slice(*self.offsets[k : k + 2].tolist())
        return [Message(text, time) for text, time in zip(self.texts[span], self.times[span], strict=True)]

    def sizes(self) -> np.ndarray:
        return np.diff(self.offsets)  # [people] int64


class SplitCorpus(NamedTuple):
    """A corpus whose makers fixed what to train on, to choose by and to report."""

    train: Corpus
    valid: Corpus
    test: Corpus


def read(path: Path, protocol: str = "plain") -> Corpus | SplitCorpus:
    """Whatever `path` holds: a `SplitCorpus` for a directory, a `Corpus` for a file.

    >>> read(Path("nowhere.txt"))
    Traceback (most recent call last):
    tacit.errors.TacitError: nowhere.txt: no such file or directory; `tacit data list` names known corpora
    """
    if protocol not in PROTOCOLS:
        raise TacitError(f"text.protocol '{protocol}' is not known{nearest(protocol, PROTOCOLS)}")
    if not path.exists():
        raise TacitError(f"{path}: no such file or directory; `tacit data list` names known corpora")
    if path.is_dir():
        files = _split_files(path)
        parts = (_read_text(files[s], f"{path.name}/{s}", protocol, True) for s in ("train", "valid", "test"))
        return SplitCorpus(*parts)
    suffixes = [s for s in path.suffixes if s != ".gz"]
    kind = suffixes[-1].lower() if suffixes else ""
    name = path.name.removesuffix(".gz").removesuffix(kind)
    if kind in (".jsonl", ".json", ".ndjson") or (
        kind not in (".txt", ".tokens", ".tsv") and _looks_json(path)
    ):
        if protocol != "plain":
            raise TacitError(
                f"{path}: the {protocol} protocol is for plain text; leave text.protocol at 'plain'"
            )
        return _read_json(path, name)
    return _read_text(path, name, protocol, kind == ".tokens")


def from_messages(name: str, messages: dict[str, list[str]], pretokenized: bool = False) -> Corpus:
    """A corpus from texts already at hand, person by person and oldest first."""
    texts = [text for mine in messages.values() for text in mine]
    offsets = np.cumsum([0, *(len(mine) for mine in messages.values())], dtype=np.int64)  # [people + 1]
    return Corpus(name, tuple(messages), texts, [""] * len(texts), offsets, pretokenized)


def splitter(population: Population) -> Callable[[str], list[str]]:
    """How this population's messages become tokens: at white space if it came tokenised, else `tokenize`."""
    return str.split if getattr(population, "pretokenized", False) else tokenize


def word_counts(*populations: Population) -> Counter[str]:
    """How often each token occurs in all of these; give a split corpus as `word_counts(*split)`.

    >>> word_counts(from_messages("demo", {"ana": ["no no", "no!"]}))
    Counter({'no': 3, '!': 1})
    """
    counts: Counter[str] = Counter()
    for population in populations:
        split = splitter(population)
        for k in range(len(population)):
            for message in population.messages(k):
                counts.update(split(message.text))
    return counts


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines without their ends; what is wrong with the file as bytes is told here."""
    number, start = 0, 0
    try:
        with _open(path) as file:
            for number, raw in enumerate(file, start=1):
                yield number, raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
                start += len(raw)
    except UnicodeDecodeError as error:
        raise TacitError(
            f"{path}, line {number}: byte {start + error.start} is not UTF-8; save the file as UTF-8"
        ) from None
    except EOFError:
        raise TacitError(
            f"{path}, after line {number}: the gzip data ends early; copy or download it again"
        ) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise TacitError(
            f"{path}, after line {number}: damaged gzip ({error}); copy or download it again"
        ) from None
    except OSError as error:
        raise TacitError(
            f"{path}: cannot be read ({error.strerror or error}); check the file and its permissions"
        ) from None


def _open(path: Path) -> IO[bytes]:
    with path.open("rb") as file:
        zipped = path.suffix == ".gz" or file.read(2) == b"\x1f\x8b"
    # GzipFile finds its lines in Python; a buffered reader around it finds them in C.
    return io.BufferedReader(gzip.GzipFile(path), 1 << 18) if zipped else path.open("rb")


def _looks_json(path: Path) -> bool:
    for _, line in _lines(path):
        if line.strip():
            return line.lstrip().startswith("{")
    return False


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


def _read_text(path: Path, name: str, protocol: str, pretokenized: bool) -> Corpus:
    lines: Iterable[str] = (line for _, line in _lines(path))
    if path.name.removesuffix(".gz").endswith(".tsv"):
        lines = (line.rpartition("\t")[2] for line in lines)
    if protocol == "fedatt":
        pretokenized = True
        lines = (piece.lower() for line in lines for piece in line.split(" . "))
    texts = [text for line in lines if (text := line.strip())]
    if not texts:
        raise TacitError(
            f"{path}: there is no text in it, only blank lines; give a file with one sentence a line"
        )
    return Corpus(name, ("all",), texts, [""] * len(texts), np.array([0, len(texts)], np.int64), pretokenized)


def _read_json(path: Path, name: str) -> Corpus:
    people: dict[str, list[tuple[str, str | int | None, int]]] = {}  # text, time, line
    for number, line in _lines(path):
        if not line or line.isspace():
            continue
        user, text, time = _record(path, number, line)
        if text and not text.isspace():
            people.setdefault(user, []).append((text, time, number))
    if not people:
        raise TacitError(
            f'{path}: there is no text in it; give lines like {{"user": "ana", "text": "hello"}}'
        )
    texts: list[str] = []
    times: list[str] = []
    for user, mine in people.items():
        if all(time is not None for _, time, _ in mine):
            kinds = {type(time) for _, time, _ in mine}
            if len(kinds) > 1:
                line_number = next(n for _, time, n in mine if type(time) is not type(mine[0][1]))
                raise TacitError(
                    f'{path}, line {line_number}: "time" of {user!r} is both dates and numbers; use one kind'
                )
            mine.sort(key=lambda message: message[1])  # type: ignore[arg-type, return-value]  # one kind, not None
        texts.extend(text for text, _, _ in mine)
        times.extend("" if time is None else str(time) for _, time, _ in mine)
    offsets = np.cumsum([0, *(len(mine) for mine in people.values())], dtype=np.int64)  # [people + 1]
    return Corpus(name, tuple(people), texts, times, offsets)


def _record(path: Path, number: int, line: str) -> tuple[str, str, str | int | None]:
    """One checked line: user, text, time."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "too deep or too large"
        raise TacitError(
            f"{path}, line {number}: not valid JSON ({reason}); write one object a line"
        ) from None
    if not isinstance(record, dict):
        raise TacitError(
            f'{path}, line {number}: expected an object with "user" and "text", found {_kind(record)}'
        )
    for key in ("user", "text"):
        if key not in record:
            raise TacitError(f'{path}, line {number}: "{key}" is missing; each line needs "user" and "text"')
        if not isinstance(record[key], str):
            raise TacitError(f'{path}, line {number}: "{key}" must be a string, found {_kind(record[key])}')
    time = record.get("time")
    if time == "":
        time = None
    good = time is None or type(time) is int or (isinstance(time, str) and _DATE.fullmatch(time))
    if not good:
        shown = repr(time) if isinstance(time, str) else _kind(time)
        raise TacitError(
            f'{path}, line {number}: "time" must be a whole number or an ISO date (2024-05-01), not {shown}'
        )
    user, text = record["user"], record["text"]
    if "\\u" in line:  # an escape can spell half a surrogate pair, which no UTF-8 file could hold later
        user, text = (s.encode("utf-8", "surrogatepass").decode("utf-8", "replace") for s in (user, text))
    return user, text, time


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
