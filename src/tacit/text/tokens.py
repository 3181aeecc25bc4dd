"""Splits text into the tokens of a keyboard: the units that a suggestion strip offers.

- A word keeps its inner apostrophes and hyphens: don't, o'clock, rock'n'roll, well-known.
- A number keeps its inner points, commas and colons: 3.50, 1,000, 10:30.
- An emoji keeps its skin tone and joiners; a flag is one token.
- Emoticons, web and e-mail addresses and placeholders such as `<unk>` are one token.
- Punctuation is separate. A run of one mark ("...", "--") is one token; "!" and "?" may mix in a run.

One regular expression does all of this. It tries its alternatives in order, so rare patterns that begin like a
common one come first. The last alternative takes any single character, so no input fails and only white space is
dropped. Repeats are possessive or bounded, so the time is linear.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

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

_TOKEN = re.compile("|".join((_EMOJI, _PLACEHOLDER, _URL, _EMAIL, _EMOTICON, _WORD, _RUNS, r"\S")))

# Tokens that `detokenize` writes without a space before or after them.
_NO_SPACE_BEFORE = re.compile(r"[.,!?;:…]+|[)\]}»”]+|%|n't|'(?:s|re|ve|ll|d|m)", re.IGNORECASE)
_NO_SPACE_AFTER = re.compile(r"[(\[{«“¿¡]+|[#@$£€]")


def tokenize(text: str) -> list[str]:
    """Splits any text into tokens; a typographic apostrophe becomes a plain one.

    >>> tokenize("Don’t wait... it's 10:30 already!! :)")
    ["Don't", 'wait', '...', "it's", '10:30', 'already', '!!', ':)']
    """
    return _TOKEN.findall(text.replace("’", "'"))


def detokenize(tokens: Iterable[str]) -> str:
    """Joins tokens into readable text: punctuation joins its word, quotes open and close.

    >>> detokenize(["He", "said", '"', "hi", '"', ",", "(", "twice", ")", "."])
    'He said "hi", (twice).'
    """
    parts: list[str] = []
    joins = True  # whether the next token takes no space before it
    open_quote = False
    for token in tokens:
        closing = token == '"' and open_quote
        if not (joins or closing or _NO_SPACE_BEFORE.fullmatch(token)):
            parts.append(" ")
        parts.append(token)
        if token == '"':
            open_quote = not open_quote
        joins = (token == '"' and open_quote) or _NO_SPACE_AFTER.fullmatch(token) is not None
    return "".join(parts)
