"""Locales: what a keyboard and a tokeniser must know of a language. A locale is one TOML file.

    name          the language's name for itself
    script        the script of its text: Latin, Cyrillic, Devanagari, Thai or Han
    letters       its alphabet, in lower case; each letter has a key of its own or is on a long press
    [layout]      rows: the letters of each row of keys; comma and stop: marks beside the space bar
    [long_press]  KEY = "letters": what a key offers when it is held, the likeliest first
    [casing]      lower, upper: exceptions to Unicode's default rules; key: capitals that only a key types;
                  always: words that an uncased model writes with a capital
    [words]       elided: short words that an apostrophe joins to the next one, each a token of its own; segmenter: the
                  model that finds words in a script without spaces
    [sentence]    opening: marks that may stand before the first word of a sentence
    [emoji]       word = "emoji": what the keyboard offers once the word is typed

The files lie in `locales/`, and `read` takes one from anywhere. Python and the page use the same file: the server
sends it with the models.
"""

from __future__ import annotations

import tomllib
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from typing import Any

from tacit.base.errors import TacitError, nearest, shown
from tacit.base.reading import read_regular

DEFAULT = "en"
APOSTROPHE = "'"
SCRIPTS = {"Latin": "LATIN", "Cyrillic": "CYRILLIC", "Devanagari": "DEVANAGARI", "Thai": "THAI", "Han": "CJK"}
SEGMENTERS = ("th", "zh-hans", "zh-hant")

_MOST_KEYS = 100  # letters of a layout; the decoders number keys in 7 bits
_KEYS: dict[str, tuple[str, ...]] = {
    "": ("name", "script", "letters", "layout", "long_press", "casing", "words", "sentence", "emoji"),
    "layout": ("rows", "comma", "stop"),
    "casing": ("lower", "upper", "key", "always"),
    "words": ("elided", "segmenter"),
    "sentence": ("opening",),
}


@dataclass(frozen=True, eq=False)  # compared by identity, so that it can be a key of caches
class Locale:
    """A language as a keyboard sees it; the fields are those of the file."""

    code: str
    name: str
    script: str
    letters: str
    rows: tuple[str, ...]
    comma: str = ","
    stop: str = "."
    long_press: Mapping[str, str] = field(default_factory=dict)
    lower_of: Mapping[str, str] = field(default_factory=dict)
    upper_of: Mapping[str, str] = field(default_factory=dict)
    key_of: Mapping[str, str] = field(default_factory=dict)
    always: tuple[str, ...] = ()
    elided: tuple[str, ...] = ()
    segmenter: str = ""
    opening: str = ""
    emoji: Mapping[str, str] = field(default_factory=dict)

    @property
    def spaces(self) -> bool:
        """Whether spaces stand between words."""
        return not self.segmenter

    @cached_property
    def _lower(self) -> dict[int, str]:
        return {ord(a): b for a, b in self.lower_of.items()}

    @cached_property
    def _upper(self) -> dict[int, str]:
        return {ord(a): b for a, b in self.upper_of.items()}

    def lower(self, text: str) -> str:
        """Returns the text in lower case.

        >>> find("tr").lower("IŞIK İYİ"), find("de").lower("STRAẞE")
        ('ışık iyi', 'straße')
        """
        return (text.translate(self._lower) if self._lower else text).lower()

    def upper(self, text: str) -> str:
        """Returns the text in upper case.

        >>> find("tr").upper("ışık iyi"), find("de").upper("straße"), find("en").upper("is")
        ('IŞIK İYİ', 'STRASSE', 'IS')
        """
        return (text.translate(self._upper) if self._upper else text).upper()

    def capitalise(self, word: str) -> str:
        """Returns the word with a capital first letter; a letter without a capital of one letter stays.

        >>> find("tr").capitalise("istanbul"), find("sv").capitalise("öl"), find("hi").capitalise("नमस्ते")
        ('İstanbul', 'Öl', 'नमस्ते')
        """
        first = self.upper(word[:1])
        return first + word[1:] if len(first) == 1 else word

    def is_always_capital(self, word: str) -> bool:
        """Whether an uncased model's word has a capital anywhere: the English i and its short forms.

        >>> [find(code).is_always_capital(word) for code, word in (("en", "i'm"), ("en", "it"), ("pl", "i"))]
        [True, False, False]
        """
        return any(word == one or word.startswith(one + APOSTROPHE) for one in self.always)


@cache
def codes() -> tuple[str, ...]:
    """Returns the codes of the locales that come with Tacit.

    >>> "tr" in codes(), len(codes()) >= 12
    (True, True)
    """
    files = (resources.files(__package__ or "") / "locales").iterdir()
    return tuple(sorted(f.name.removesuffix(".toml") for f in files if f.name.endswith(".toml")))


@cache
def find(code: str) -> Locale:
    """Returns the locale of a code; a region, as in pt_BR or en-GB, is left out if it has no file of its own.

    >>> find("pt_BR").code, find("de").rows[0]
    ('pt', 'qwertzuiopü')
    """
    language = code.replace("_", "-").partition("-")[0].lower()
    known = code if code in codes() else language
    if known not in codes():
        raise TacitError(f"no locale '{shown(code)[1:-1]}'{nearest(code, codes())}")
    file = resources.files(__package__ or "") / "locales" / f"{known}.toml"
    return parse(file.read_text("utf-8"), f"{known}.toml", known)


def read(path: Path) -> Locale:
    """Reads a locale from a file; its code is the name of the file."""
    try:
        text = read_regular(path).decode()
    except OSError as error:
        raise TacitError(f"{path}: cannot read this locale ({error.strerror})") from None
    except UnicodeDecodeError:
        raise TacitError(f"{path}: this locale is not UTF-8; save it in UTF-8") from None
    return parse(text, str(path), path.stem)


def of(name: str) -> Locale:
    """Returns the locale of a code, or of the path of a file that ends in .toml."""
    return read(Path(name)) if name.endswith(".toml") else find(name)


def parse(text: str, where: str, code: str) -> Locale:
    """Builds a locale from the text of a file; errors name the file, `where`, and the key."""
    try:
        tables = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise TacitError(f"{where}: not valid TOML: {error}") from None
    return _File(where, tables).locale(code)


class _File:
    """The tables of a file, with checks that name the file and the key."""

    def __init__(self, where: str, tables: Mapping[str, Any]) -> None:
        self._where, self._tables = where, tables
        for table, known in _KEYS.items():
            for key in tables if not table else self._table(table):
                if key not in known:
                    raise self._wrong(
                        f"{table}.{key}".lstrip("."), f"is no key of a locale{nearest(key, known)}"
                    )

    def locale(self, code: str) -> Locale:
        """Returns the locale, checked as a whole."""
        found = Locale(
            code=code,
            name=self._string("name"),
            script=self._string("script"),
            letters=self._string("letters"),
            rows=self._strings("layout.rows"),
            comma=self._string("layout.comma", ","),
            stop=self._string("layout.stop", "."),
            long_press=self._pairs("long_press", 0),
            lower_of=self._pairs("casing.lower", 1),
            upper_of=self._pairs("casing.upper", 1),
            key_of=self._pairs("casing.key", 1),
            always=self._strings("casing.always", ()),
            elided=self._strings("words.elided", ()),
            segmenter=self._string("words.segmenter", ""),
            opening=self._string("sentence.opening", ""),
            emoji=self._pairs("emoji", None),
        )
        self._check(found)
        return found

    def _check(self, found: Locale) -> None:
        if found.script not in SCRIPTS:
            raise self._wrong("script", f"is '{found.script}'{nearest(found.script, SCRIPTS)}")
        if found.segmenter and found.segmenter not in SEGMENTERS:
            raise self._wrong(
                "words.segmenter", f"is '{found.segmenter}'{nearest(found.segmenter, SEGMENTERS)}"
            )
        keys = "".join(found.rows)
        if not 2 <= len(found.rows) <= 5 or not all(found.rows):
            raise self._wrong("layout.rows", "must be 2 to 5 rows with letters")
        if again := _repeated(keys):
            raise self._wrong("layout.rows", f"has '{again}' twice; a letter has one key")
        if len(keys) > _MOST_KEYS:
            raise self._wrong("layout.rows", f"has {len(keys)} letters; at most {_MOST_KEYS} keys work")
        if len(found.rows[-1]) > max(map(len, found.rows)) - 2:
            raise self._wrong(
                "layout.rows", "has no room for shift and backspace in its last row: shorten that by two"
            )
        for key, others in found.long_press.items():
            if key not in (*keys, APOSTROPHE, found.comma, found.stop):
                raise self._wrong(f"long_press.{key}", "is no key of layout.rows")
            if again := _repeated(key + others):
                raise self._wrong(f"long_press.{key}", f"has '{again}' twice")
        for name, letters in (("letters", found.letters), ("layout.rows", keys)):
            if found.lower(letters) != letters:
                raise self._wrong(name, "must be in lower case")
        if again := _repeated(found.letters):
            raise self._wrong("letters", f"has '{again}' twice")
        held = "".join(found.long_press.values())
        for letter in found.letters:
            if letter not in keys + held:
                raise self._wrong("letters", f"has '{letter}', which no key and no long press types")

    def _value(self, key: str, default: Any) -> Any:
        table, _, last = key.rpartition(".")
        value = (self._table(table) if table else self._tables).get(last, default)
        if value is None:
            raise self._wrong(key, "is missing")
        return value

    def _table(self, name: str) -> Mapping[str, Any]:
        table = self._tables.get(name, {})
        if not isinstance(table, Mapping):
            raise self._wrong(name, "must be a table")
        return table

    def _string(self, key: str, default: str | None = None) -> str:
        return self._text(key, self._value(key, default))

    def _strings(self, key: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
        value = self._value(key, default)
        if not isinstance(value, list | tuple):
            raise self._wrong(key, f"is {shown(value)}; give a list of strings")
        return tuple(self._text(key, item) for item in value)

    def _pairs(self, key: str, size: int | None) -> dict[str, str]:
        """Returns a table of strings; with `size` 0 its keys are one character, with 1 its values are, too."""
        value = self._value(key, {})
        if not isinstance(value, Mapping):
            raise self._wrong(key, "must be a table")
        for left, right in value.items():
            self._text(f"{key}.{left}", right)
            if (size is not None and len(left) != 1) or (size == 1 and len(right) != 1) or not right:
                one = "one character = one character" if size == 1 else "one character = several"
                raise self._wrong(
                    f"{key}.{left}", f"must be {one if size is not None else 'a word = an emoji'}"
                )
        return dict(value)

    def _text(self, key: str, value: Any) -> str:
        if not isinstance(value, str):
            raise self._wrong(key, f"is {shown(value)}; give a string")
        if any(c.isspace() for c in value) and key != "name":
            raise self._wrong(key, "has white space; leave it out")
        if value != unicodedata.normalize("NFC", value):
            raise self._wrong(
                key, f"is {shown(value)}, which is not in Unicode's form NFC; write it composed"
            )
        return value

    def _wrong(self, key: str, what: str) -> TacitError:
        return TacitError(f"{self._where}: {key} {what}")


def _repeated(characters: Iterable[str]) -> str:
    """Returns the first character that occurs a second time; "" if none does."""
    seen: set[str] = set()
    for c in characters:
        if c in seen:
            return c
        seen.add(c)
    return ""


ENGLISH = find(DEFAULT)
