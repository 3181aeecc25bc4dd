"""Words of scripts without spaces, by BudouX (https://github.com/google/budoux, Apache 2.0).

BudouX's model is a table of scores for the characters around a place: one, two or three of them, up to three to the
left and three to the right. With b the base score, minus half the sum of the table, a word ends at the place if

    b + Σ score(characters around it) > 0.

The table is JSON and the rule a few additions, so the page computes the same with the same table (static/segments.js).
A mark is never cut from its letter.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from functools import cache
from importlib import resources, util
from itertools import pairwise
from typing import Any

from tacit.base.errors import TacitError

_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
RUNS = {
    "th": "\u0e00-\u0e7f",
    "zh-hans": _HAN,
    "zh-hant": _HAN,
}  # the characters that each model knows, as a class


def table(model: str) -> dict[str, dict[str, int]]:
    """Returns BudouX's table of a model, for the page."""
    if not util.find_spec("budoux"):
        raise TacitError(
            "words of a script without spaces are found by BudouX: pip install budoux, or 'tacit[segments]'"
        )
    text = (resources.files("budoux") / "models" / f"{model}.json").read_text("utf-8")
    found: dict[str, dict[str, int]] = json.loads(text)
    return found


@cache
def segmenter(model: str) -> Callable[[str], list[str]]:
    """Returns the function that splits a token of text without spaces into words.

    >>> segmenter("zh-hans")("今天天气很好"), segmenter("th")("ฉันชอบกินข้าว"), segmenter("zh-hans")("买iPhone了")
    (['今天', '天气', '很', '好'], ['ฉัน', 'ชอบ', 'กิน', 'ข้าว'], ['买', 'iPhone', '了'])
    """
    scores = table(model)
    from budoux import Parser  # present, or `table` has refused

    parser: Any = Parser(scores)
    run = re.compile(f"[{RUNS[model]}]+|[^{RUNS[model]}]+")
    inside = re.compile(f"[{RUNS[model]}]")

    def words(text: str) -> list[str]:
        found: list[str] = []
        for piece in run.findall(text):
            if not inside.match(piece):
                found.append(piece)
                continue
            chunks = parser.parse(piece)
            starts = [i for i, chunk in enumerate(chunks) if i == 0 or not _is_mark(chunk[0])]
            found += ["".join(chunks[a:b]) for a, b in pairwise([*starts, len(chunks)])]
        return found

    return words


def _is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("M")
