"""Writes the numbers of tacit.keyboard.parameters into native/correct.c, between "numbers: begin" and "numbers: end".

    python tools/native_taps.py

An operation that Python's keyboard does not have costs INFINITY: it is left out.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from tacit.keyboard.parameters import DEFAULT

FIELDS = (
    *("sigma_x", "sigma_y", "steady", "usual"),
    *("omission", "single", "apostrophe", "insertion", "double", "edge", "transposition", "move", "slip"),
    *("vowel", "wrong", "space", "gap", "beam", "unknown", "letter", "listed", "spelt", "stays", "language"),
)  # of tacit_taps, in order
SOURCE = Path("native/correct.c")


def numbers() -> str:
    """Returns the source with the numbers in place."""
    values = ", ".join(str(getattr(DEFAULT.taps, name, "INFINITY")) for name in FIELDS)
    lines = textwrap.indent(textwrap.fill(values, 110), " " * 8)
    return re.sub(
        r"(numbers: begin \*/\n).*?( */\* numbers: end)",
        lambda match: f"{match[1]}{lines},\n{match[2]}",
        SOURCE.read_text("utf-8"),
        flags=re.DOTALL,
    )


if __name__ == "__main__":
    SOURCE.write_text(numbers(), "utf-8")
