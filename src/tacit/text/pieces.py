"""Trains and applies an inventory of word-pieces (paper 4, section 6): a small set of strings that spell every word.

The inventory is Kudo's unigram model (2018). sentencepiece trains it on a table of word counts, which federated
counting provides, so nobody's text is needed. A word is encoded by its most probable segmentation.

The last piece of a word ends with the marker `▁`; no other piece contains it. So no word's pieces are a prefix of
another's, and a word is complete as soon as its last piece is read. This makes the lexicon transducer sequential
(`tacit.distillation.lexicon`). With the usual leading marker, half the words are a prefix of another.

Ids 0, 1, 2 are `<s>`, `</s>`, `<unk>`, as in every vocabulary here. `<unk>` is a whole word with a character outside
the inventory. The file is sentencepiece's `.model` format; equal counts give equal bytes.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tacit.base.errors import TacitError
from tacit.base.reading import read_regular
from tacit.text import sources
from tacit.text.vocabulary import BOS, EOS, SPECIALS, UNK, Vocabulary

if TYPE_CHECKING:
    import sentencepiece  # loaded where it is used: a keyboard needs numpy only

MARKER = "▁"

_LINES = 50_000  # lines of the table for sentencepiece, unless there are more words
_MOST = 2**40  # the largest count passed to sentencepiece; sums must stay below 2⁶³


@dataclass(frozen=True)
class Pieces:
    """An inventory of word-pieces, stored as the bytes of its file.

    >>> few = train({"low": 5, "lower": 4, "lowest": 3, "newest": 6, "wide": 2}, size=18)
    >>> few.decode(few.encode(["lowest", "new"]))
    ['lowest', 'new']
    >>> few.encode(["x"]).tolist()
    [0, 2, 1]
    """

    proto: bytes

    @cached_property
    def _processor(self) -> sentencepiece.SentencePieceProcessor:
        import sentencepiece

        return sentencepiece.SentencePieceProcessor(model_proto=self.proto)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The pieces by id."""
        processor = self._processor
        return Vocabulary(tuple(processor.id_to_piece(i) for i in range(processor.get_piece_size())))

    @cached_property
    def ends(self) -> NDArray[np.bool_]:
        """Whether each piece ends a word, [pieces]."""
        pieces = self.vocabulary.words
        return np.array([i <= UNK or piece.endswith(MARKER) for i, piece in enumerate(pieces)], np.bool_)

    @cached_property
    def whole(self) -> NDArray[np.bool_]:
        """Whether each piece is a whole word if a word begins with it, [pieces]; such pieces can be suggested."""
        pieces = self.vocabulary.words
        return np.array([piece.endswith(MARKER) and piece != MARKER for piece in pieces], np.bool_)

    @cached_property
    def _memory(self) -> dict[str, tuple[int, ...]]:
        return dict.fromkeys(SPECIALS, (UNK,))  # in text they are unknown words

    def __len__(self) -> int:
        return len(self.vocabulary)

    def segment(self, words: Sequence[str]) -> list[tuple[int, ...]]:
        """Returns the pieces of each word; (2,) if the inventory lacks one of its characters."""
        known = self._memory
        new = [word for word in dict.fromkeys(words) if word not in known]
        spelt = self._processor.encode(new) if new else []  # a call is slow even without words
        for word, ids in zip(new, spelt, strict=True):
            whole = MARKER not in word and "".join(self.vocabulary.words[i] for i in ids) == word + MARKER
            known[word] = tuple(ids) if whole else (UNK,)
        return [known[word] for word in words]

    def encode(self, words: Iterable[str]) -> np.ndarray:
        """Returns the ids of a message's pieces with its start and end, [pieces + 2] int32, as `Vocabulary.encode`."""
        pieces = [piece for word in self.segment(list(words)) for piece in word]
        return np.array([BOS, *pieces, EOS], np.int32)

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Returns the words of pieces; an unfinished last word is returned as far as it goes."""
        text = "".join(
            SPECIALS[UNK] + MARKER if i == UNK else self.vocabulary.words[i] for i in ids if i > EOS
        )
        return [word for word in text.split(MARKER) if word]

    def words_in(self, tokens: NDArray) -> NDArray[np.int64]:
        """Returns the index of the word that each token belongs to, [tokens] from 0; `<s>` and `</s>` are words."""
        over = self.ends[tokens]
        return np.cumsum(over) - over

    def outside(self, words: Vocabulary, tokens: NDArray) -> NDArray[np.bool_]:
        """Returns which pieces of `<s> … </s>` sentences belong to words outside a word vocabulary, [tokens].

        Words are compared by a 64-bit hash of their pieces. A word in another segmentation than the most probable one
        counts as outside; `encode` never produces one.
        """
        segments = [s for s in self.segment(words.words[UNK + 1 :]) if s != (UNK,)]
        sizes = np.array([len(s) for s in segments], np.int64)
        flat = np.array([piece for s in segments for piece in s], np.int64)
        inside = _hashes(flat, np.repeat(np.arange(len(sizes)), sizes))
        special = np.asarray(tokens) <= EOS
        number = self.words_in(tokens)
        return ~np.isin(_hashes(tokens, number), inside)[number] & ~special


@dataclass(frozen=True)
class Spelling:
    """How a piece model reads text: its pieces, and the vocabulary of the word model that it is compared with.

    The words do not affect training. A comparison with the word model leaves out the terms of all other words.
    """

    pieces: Pieces
    words: Vocabulary

    def encode(self, words: Iterable[str]) -> np.ndarray:
        """Returns the ids of one message's pieces with its start and end, [pieces + 2] int32."""
        return self.pieces.encode(words)

    def outside(self, tokens: NDArray) -> NDArray[np.bool_]:
        """Returns which pieces belong to words outside the word model's vocabulary, [tokens]."""
        return self.pieces.outside(self.words, tokens)


def train(counts: Mapping[str, float], size: int) -> Pieces:
    """Trains an inventory of `size` pieces, including `<s>`, `</s>` and `<unk>`, on word counts.

    Counts may be fractions, as clipped counts are; they are then scaled so that the smallest is 1.
    """
    for word, count in counts.items():
        if not count >= 0 or count == float("inf"):
            raise TacitError(f"the count of {word!r} is {count}; counts are numbers from 0 up")
    used = {w: float(c) for w, c in counts.items() if c > 0 and w not in SPECIALS and MARKER not in w}
    if not used:
        raise TacitError("an inventory of pieces needs counted words and there are none; count words first")
    whole = all(c.is_integer() for c in used.values())
    unit = 1.0 if whole and max(used.values()) <= _MOST else min(used.values())
    unit = max(unit, max(used.values()) / _MOST)
    return from_table(_lines(used, unit), size)


def from_table(lines: Sequence[str], size: int, by_script: bool = False) -> Pieces:
    """Trains an inventory on lines `word<TAB>count`; `by_script` splits pieces where the script changes."""
    import sentencepiece

    file = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),  # not a file: its path would be written into the model
            model_writer=file,
            input_format="tsv",
            model_type="unigram",
            vocab_size=size,
            character_coverage=1.0,
            normalization_rule_name="identity",
            treat_whitespace_as_suffix=True,
            split_by_unicode_script=by_script,  # off by default: the tokeniser keeps words such as don't whole
            bos_id=BOS,
            eos_id=EOS,
            unk_id=UNK,
            num_threads=16,  # sets the order of sums and so the bytes, whatever the number of cores
            minloglevel=2,
        )
    except (RuntimeError, OSError) as error:
        raise _refused(str(error), size) from None
    return Pieces(file.getvalue())


def _lines(counts: Mapping[str, float], unit: float) -> list[str]:
    """Returns the table for sentencepiece, `word<TAB>count`, with frequent words on many lines.

    sentencepiece ranks its first candidates, strings of several characters, by the number of lines that contain them,
    but single characters by their counts. With one line per word, `a` and the marker begin so much likelier than `a▁`
    that the most frequent words would always be two pieces. The lines are shuffled, because equal neighbours are slow;
    for the same reason one word has at most half of them, whatever its count.
    """
    words = sorted(counts, key=lambda word: (-counts[word], word))
    amount = np.array([counts[word] / unit for word in words])
    times = np.minimum(amount, np.round(amount * (_LINES / amount.sum()))).astype(np.int64).clip(1)
    times[0] = min(times[0], max(1, times[1:].sum()))
    each = np.maximum(1, np.round(amount / times)).astype(np.int64)
    mixed = np.random.default_rng(0).permutation(np.repeat(np.arange(len(words)), times))
    return [f"{words[i]}\t{each[i]}" for i in mixed.tolist()]


def read_counts(path: Path) -> dict[str, float]:
    """Reads a table of counts, `word<TAB>count` a line; lines that begin with `#` and have no tab are comments."""
    counts: dict[str, float] = {}
    try:
        lines = sources.read(path).decode("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        raise TacitError(f"{path}: cannot read these counts ({reason})") from None
    for number, line in enumerate(lines, start=1):
        if not line or (line.startswith("#") and "\t" not in line):
            continue
        word, _, count = line.partition("\t")
        try:
            counts[word] = float(count)
        except ValueError:
            raise TacitError(f"{path}, line {number}: expected word<TAB>count, found {line[:60]!r}") from None
    return counts


def load(path: Path) -> Pieces:
    """Reads an inventory from a `.model` file."""
    try:
        data = read_regular(path)
        if not data:
            raise RuntimeError("empty")
        pieces = Pieces(data)
        words = pieces.vocabulary.words
    except OSError as error:
        raise TacitError(f"{path}: cannot read this inventory of pieces ({error.strerror})") from None
    except (RuntimeError, UnicodeDecodeError):
        raise TacitError(f"{path}: not an inventory of pieces, or a damaged one; make it again") from None
    if words[: len(SPECIALS)] != SPECIALS or any(w.startswith(MARKER) and w != MARKER for w in words):
        raise TacitError(
            f"{path}: this inventory marks the beginning of words or has other specials; make one with Tacit"
        )
    return pieces


def inventory(path: Path, size: int) -> Pieces:
    """Returns the inventory that `text.inventory` names: loads a `.model` file, or trains `size` pieces on counts.

    In a directory of a run or of `tacit count`, the file is pieces.model or counts.tsv.
    """
    if path.is_dir():
        path = path / ("pieces.model" if (path / "pieces.model").is_file() else "counts.tsv")
    if path.suffix != ".model":
        return train(read_counts(path), size)
    pieces = load(path)
    if len(pieces) != size:
        raise TacitError(
            f"{path} has {len(pieces)} pieces, but text.pieces is {size}; set it to {len(pieces)}"
        )
    return pieces


def _refused(reason: str, size: int) -> TacitError:
    """Turns sentencepiece's error message into one line that says what to do."""
    if most := re.search(r"too high.*<= (\d+)", reason):
        return TacitError(
            f"{size} pieces are too many: the counts allow {most[1]}; ask for fewer or count more"
        )
    if least := re.search(r"required_chars\. \d+ vs (\d+)", reason):
        return TacitError(f"{size} pieces are too few: the characters alone need {least[1]}; ask for more")
    return TacitError(f"sentencepiece could not make {size} pieces: {' '.join(reason.split())[:200]}")


def _hashes(tokens: NDArray, number: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Returns a hash of each run of tokens, [runs]; `number` is 0, 1, … without gaps."""
    first = np.searchsorted(number, np.arange(number[-1] + 1 if len(number) else 0))
    place = np.arange(len(number)) - first[number]
    with np.errstate(over="ignore"):
        powers = np.cumprod(np.full(int(place.max(initial=0)) + 1, 0x9E3779B97F4A7C15, np.uint64))
        terms = (np.asarray(tokens).astype(np.uint64) + np.uint64(1)) * powers[place]
        return np.add.reduceat(terms, first) if len(first) else terms
