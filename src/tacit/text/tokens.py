"""Text to tokens, as a keyboard sees them: the units a person picks from the suggestion strip.

A word keeps its inner apostrophes and hyphens (don't, o'clock, rock'n'roll, well-known), a number its
inner points, commas and colons (3.50, 1,000, 10:30), and an emoji its skin tone, joiners and flag
partner. Emoticons, web and e-mail addresses and placeholders such as `<unk>` stay whole. Punctuation
stands alone, a run of one mark ("...", "--") being one token; "!" and "?" may mix in a run.

One regular expression does all of it. Its alternatives are tried in order, so the rare shapes that
begin like a common one come first, and its last alternative takes any single character: no input can
fail, and nothing but white space is dropped. Repeats are possessive or bounded, so time is linear.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

# Accents and vowel signs that are typed as characters of their own; `\w` alone would cut words at them.
_MARKS = "".join(chr(c) for c in range(0x300, 0x2000) if unicodedata.category(chr(c)) in ("Mn", "Mc"))
_W = rf"[\w{_MARKS}]"
_JOIN = "['\\-\u200c\u200d]"  # what may stand inside a word: apostrophe, hyphen, the two zero-width joiners

_PICTURE = (
    "[©®™‼⁉ℹ〰〽㊗㊙\u2190-\u21ff\u2300-\u23ff\u2460-\u24ff\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff"
    "\U0001f000-\U0001faff]"
)
_DRESS = "[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]"  # variation, skin tone, tag
_EMOJI = (
    "[\U0001f1e6-\U0001f1ff]{2}"  # a flag is two letters
    "|[0-9#*]\ufe0f?\u20e3"  # a keycap
    f"|{_PICTURE}{_DRESS}*+(?:\u200d{_PICTURE}{_DRESS}*+)*+"
)
_PLACEHOLDER = r"</?(?:[A-Za-z][\w-]{0,30}|#)>"
_URL = r"(?:https?://|www\.)[^\s<>]*[^\s<>.,!?;:'\"()\[\]{}…]"
_EMAIL = r"\w[\w.+-]{0,63}@\w[\w-]{0,63}(?:\.\w[\w-]{0,63})++"
_EMOTICON = (
    r"[:;=][-'^]?(?:[()\[\]]++|[/\\|*]++(?!\w))"
    r"|(?<!\w)[:;=][-'^]?[dDpPoO3sS](?!\w)"  # a letter for a mouth only where no word touches it
    r"|</?3++(?!\d)|\^[_.-]*+\^|(?<!\w)-_++-|>_++<"
)
_WORD = rf"{_W}++(?:{_JOIN}{_W}++|(?<=\d)[.,:]\d{_W}*+)*+"
_RUNS = r"[!?]++|" + "|".join(re.escape(c) + "++" for c in ".,…-–—*~=#/\\|+^&%$@:;()[]{}\"'`_")

_TOKEN = re.compile("|".join((_EMOJI, _PLACEHOLDER, _URL, _EMAIL, _EMOTICON, _WORD, _RUNS, r"\S")))

# Readable text again: which tokens lean on their neighbours.
_LEANS_LEFT = re.compile(r"[.,!?;:…]+|[)\]}»”]+|%|n't|'(?:s|re|ve|ll|d|m)", re.IGNORECASE)
_LEANS_RIGHT = re.compile(r"[(\[{«“¿¡]+|[#@$£€]")


def tokenize(text: str) -> list[str]:
    """The tokens of any text; a typographic apostrophe becomes the plain one.

    >>> tokenize("Don’t wait... it's 10:30 already!! :)")
    ["Don't", 'wait', '...', "it's", '10:30', 'already', '!!', ':)']
    """
    return _TOKEN.findall(text.replace("’", "'"))


def detokenize(tokens: Iterable[str]) -> str:
    """Readable text from tokens: marks lean on the word they belong to, quotes open and close.

    >>> detokenize(["He", "said", '"', "hi", '"', ",", "(", "twice", ")", "."])
    'He said "hi", (twice).'
    """
    parts: list[str] = []
    glued = True  # nothing stands before the first token
    open_quote = False
    for token in tokens:
        closing = token == '"' and open_quote
        if not (glued or closing or _LEANS_LEFT.fullmatch(token)):
            parts.append(" ")
        parts.append(token)
        if token == '"':
            open_quote = not open_quote
        glued = (token == '"' and open_quote) or _LEANS_RIGHT.fullmatch(token) is not None
    return "".join(parts)
