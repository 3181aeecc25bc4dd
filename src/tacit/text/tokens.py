"""Splits text into the tokens of a keyboard: the units that a suggestion strip offers.

- A word keeps its inner apostrophes and hyphens: don't, o'clock, rock'n'roll, well-known.
- A number keeps its inner points, commas and colons: 3.50, 1,000, 10:30.
- An emoji keeps its skin tone and joiners; a flag is one token.
- Emoticons, web and e-mail addresses and placeholders such as `<unk>` are one token.
- Punctuation is separate. A run of one mark ("...", "--") is one token; "!" and "?" may mix in a run.

A locale (`tacit.text.locale`) adds what differs between languages: where it elides, the elided word is a token of its
own (l'eau in French), and in a script without spaces a word ends where `tacit.text.locale_segments` says.

One regular expression does the rest. It tries its alternatives in order, so rare patterns that begin like a
common one come first. The last alternative takes any single character, so no input fails and only white space is
dropped. Repeats are possessive or bounded, so the time is linear.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache

from tacit.text.locale import APOSTROPHE, ENGLISH, Locale
from tacit.text.locale_segments import RUNS, segmenter

# Combining accents and vowel signs; `\w` alone would split words at them.
_MARKS = "".join(chr(c) for c in range(0x300, 0x2000) if unicodedata.category(chr(c)) in ("Mn", "Mc"))
_W = rf"[\w{_MARKS}]"
_JOIN = "['\\-\u200c\u200d]"  # allowed inside a word: apostrophe, hyphen, zero-width joiner and non-joiner

_PICTURE = (
    "[©®™‼⁉ℹ〰〽㊗㊙\u2190-\u21ff\u2300-\u23ff\u2460-\u24ff\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff"
    "\U0001f000-\U0001faff]"
)
_MODIFIER = "[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]"  # variation, skin tone, tag
_EMOJI = (
    "[\U0001f1e6-\U0001f1ff]{2}"  # a flag is two letters
    "|[0-9#*]\ufe0f?\u20e3"  # a keycap
    f"|{_PICTURE}{_MODIFIER}*+(?:\u200d{_PICTURE}{_MODIFIER}*+)*+"
)
_PLACEHOLDER = r"</?(?:[A-Za-z][\w-]{0,30}|#)>"
_URL = r"(?:https?://|www\.)[^\s<>]*[^\s<>.,!?;:'\"()\[\]{}…]"
_EMAIL = r"\w[\w.+-]{0,63}@\w[\w-]{0,63}(?:\.\w[\w-]{0,63})++"
_EMOTICON = (
    r"[:;=][-'^]?(?:[()\[\]]++|[/\\|*]++(?!\w))"
    r"|(?<!\w)[:;=][-'^]?[dDpPoO3sS](?!\w)"  # a letter as the mouth, only if no word character is next to it
    r"|</?3++(?!\d)|\^[_.-]*+\^|(?<!\w)-_++-|>_++<"
)
_WORD = rf"{_W}++(?:{_JOIN}{_W}++|(?<=\d)[.,:]\d{_W}*+)*+"
_RUNS = r"[!?]++|" + "|".join(re.escape(c) + "++" for c in ".,…-–—*~=#/\\|+^&%$@:;()[]{}\"'`_")

_BEFORE_WORDS = (_EMOJI, _PLACEHOLDER, _URL, _EMAIL, _EMOTICON)
_TOKEN = re.compile("|".join((*_BEFORE_WORDS, _WORD, _RUNS, r"\S")))

# Tokens that `detokenize` writes without a space before or after them.
_NO_SPACE_BEFORE = re.compile(r"[.,!?;:…]+|[)\]}»”]+|%|n't|'(?:s|re|ve|ll|d|m)", re.IGNORECASE)
_NO_SPACE_AFTER = re.compile(r"[(\[{«“¿¡]+|[#@$£€]")


def tokenize(text: str, locale: Locale = ENGLISH) -> list[str]:
    """Splits any text into tokens, after `plain`.

    >>> tokenize("Don’t wait... it's 10:30 already!! :)")
    ["Don't", 'wait', '...', "it's", '10:30', 'already', '!!', ':)']
    >>> from tacit.text.locale import find
    >>> tokenize("L'eau d'aujourd'hui, peut-être", find("fr"))
    ["L'", 'eau', "d'", "aujourd'hui", ',', 'peut-être']
    """
    text = plain(text)
    if locale.segmenter:
        return list(_segmented(_TOKEN.findall(text), locale))
    return (_eliding(locale.elided) if locale.elided else _TOKEN).findall(text)


def plain(text: str) -> str:
    """Writes text as keyboards do: composed letters, one apostrophe, one hyphen, no soft hyphens.

    >>> plain("cafe\u0301 l’eau well\u2011known soft\u00adware")
    "café l'eau well-known software"
    """
    if text.isascii():
        return text
    text = unicodedata.normalize("NFC", text.replace("\u00ad", ""))
    return text.replace("’", APOSTROPHE).replace("\u2010", "-").replace("\u2011", "-")


def is_elided(token: str, locale: Locale) -> bool:
    """Whether a token is an elided word, to which the next one is joined: l' in French.

    >>> from tacit.text.locale import find
    >>> is_elided("L'", find("fr")), is_elided("L'", find("en"))
    (True, False)
    """
    return token.endswith(APOSTROPHE) and locale.lower(token[:-1]) in locale.elided


@cache
def _eliding(elided: tuple[str, ...]) -> re.Pattern[str]:
    """Returns the expression for tokens of a language that elides; longer elided words come first."""
    short = "|".join(map(_any_case, sorted(elided, key=len, reverse=True)))
    joined = rf"(?<!{_W})(?:{short})'(?={_W}|\s|\Z)"
    return re.compile("|".join((*_BEFORE_WORDS, joined, _WORD, _RUNS, r"\S")))


def _any_case(word: str) -> str:
    return "".join(f"[{c}{c.upper()}]" if c.upper() != c else re.escape(c) for c in word)


def _segmented(tokens: Iterable[str], locale: Locale) -> Iterator[str]:
    script, split = _script(locale.segmenter), segmenter(locale.segmenter)
    for token in tokens:
        if script.search(token) and not token.startswith(("http", "www.", "<")):
            yield from split(token)
        else:
            yield token


@cache
def _script(model: str) -> re.Pattern[str]:
    return re.compile(f"[{RUNS[model]}]")


def detokenize(tokens: Iterable[str], locale: Locale = ENGLISH) -> str:
    """Joins tokens into readable text: punctuation joins its word, quotes open and close.

    >>> detokenize(["He", "said", '"', "hi", '"', ",", "(", "twice", ")", "."])
    'He said "hi", (twice).'
    >>> from tacit.text.locale import find
    >>> detokenize(["L'", "eau", "est", "là"], find("fr")), detokenize(["今天", "很", "好", "。"], find("zh"))
    ("L'eau est là", '今天很好。')
    """
    parts: list[str] = []
    joins = True  # whether the next token takes no space before it
    open_quote = False
    script = None if locale.spaces else _script(locale.segmenter)
    for token in tokens:
        closing = token == '"' and open_quote
        if not (joins or closing or _NO_SPACE_BEFORE.fullmatch(token)):
            unspaced = script and (
                token in "，。、？！：；" or (script.search(parts[-1]) and script.search(token))
            )
            if not unspaced:
                parts.append(" ")
        parts.append(token)
        if token == '"':
            open_quote = not open_quote
        joins = (token == '"' and open_quote) or _NO_SPACE_AFTER.fullmatch(token) is not None
        joins = joins or (bool(locale.elided) and is_elided(token, locale))
    return "".join(parts)
