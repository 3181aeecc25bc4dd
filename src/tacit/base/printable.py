"""Makes any text safe to show: control characters become escapes, and markup becomes text.

A file's name or a word may contain characters that move the cursor, set the title of the window, or reverse a line
(bidi overrides). Everything that commands print for people passes through `printable`, and all text of a page through
`html_text`. JSON escapes such characters itself.
"""

from __future__ import annotations

import html
import re

_LONGEST = 4000  # characters of an error; a path can have that many

# C0 without newline and tab, DEL, C1, line and paragraph separators, bidi controls, and bytes that are no UTF-8
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def printable(text: str) -> str:
    r"""Returns the text with an escape in place of each control character; newlines and tabs stay.

    >>> print(printable("a\x1b[31m\u202eb"))
    a\x1b[31m\u202eb
    """
    return _UNSAFE.sub(lambda match: _escape(ord(match[0])), text)


def one_line(text: str) -> str:
    r"""Returns printable text on one line: white space becomes single spaces, the middle of a long text an ellipsis.

    >>> one_line("a \n b\x07")
    'a b\\x07'
    """
    line = printable(" ".join(text.split()))
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST // 2]} … {line[-_LONGEST // 2 :]}"


def html_text(text: str) -> str:
    """Returns printable text as HTML, also for an attribute in quotes.

    >>> html_text("<b> & \\x00")
    '&lt;b&gt; &amp; \\\\x00'
    """
    return html.escape(printable(text))


def _escape(code: int) -> str:
    if 0xDC80 <= code <= 0xDCFF:  # Python's stand-in for a byte of a file's name
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
