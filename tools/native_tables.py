"""Prints the Unicode tables of native/unicode.c, for the part between "tables: begin" and "tables: end".

    python tools/native_tables.py

- LOWER: runs of letters whose lower case is one character: first, last, step, difference.
- FOLDS: letters that a block list folds further than to lower case: the letter, then what it becomes.
- MARKED: letters that are another one with a mark: for each mark, the letter and the one without it, in turns.
- SAME: characters that are another one, such as the sign Å for the letter.
- CLASSES: the order of marks after a letter: first, last, combining class. Scripts of phones' keyboards only.
"""

from __future__ import annotations

import sys
import textwrap
import unicodedata

WIDTH = 110
EVERY = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
IDEOGRAPHS = (0xF900, 0xFB00)  # a thousand signs that no keyboard writes
SCRIPTS = (
    (0x300, 0x370),
    (0x591, 0x670),
    (0x93C, 0x1000),
    (0x1DC0, 0x1E00),
    (0x20D0, 0x2100),
    (0x3099, 0x309B),
)


def lower_runs() -> list[tuple[int, int, int, int]]:
    """Returns the runs of LOWER."""
    lower = {c: ord(chr(c).lower()) for c in EVERY if len(chr(c).lower()) == 1 and chr(c).lower() != chr(c)}
    runs, letters, at = [], sorted(lower), 0
    while at < len(letters):
        first, away = letters[at], lower[letters[at]] - letters[at]
        ends = []
        for step in (1, 2):
            end = at
            while letters[end] + step in lower and letters[end + 1 : end + 2] == [letters[end] + step]:
                if lower[letters[end] + step] - letters[end] - step != away:
                    break
                end += 1
            ends.append((end, step))
        end, step = max(ends, key=lambda found: found[0])
        runs.append((first, letters[end], step, away))
        at = end + 1
    return runs


def folds() -> list[str]:
    """Returns the items of FOLDS. Letters with a canonical decomposition are folded after it."""
    found = []
    for c in EVERY:
        folded = unicodedata.normalize("NFD", chr(c).casefold())
        whole = unicodedata.normalize("NFD", chr(c)) == chr(c) or c == 0x345
        cherokee = "CHEROKEE" in unicodedata.name(chr(c), "")  # the only ones that fold to capitals
        if whole and not cherokee and folded != chr(c).lower():
            found.append(chr(c) + folded)
    return found


def decompositions() -> tuple[dict[int, str], str]:
    """Returns MARKED and SAME."""
    marked: dict[int, str] = {}
    same = ""
    for c in range(0x10000):  # above are signs of music and a few scripts of few
        parts = unicodedata.decomposition(chr(c)).split()
        ideograph = IDEOGRAPHS[0] <= c < IDEOGRAPHS[1] and len(parts) == 1
        if not parts or parts[0].startswith("<") or ideograph:
            continue
        to = [chr(int(part, 16)) for part in parts]
        if len(to) == 1:
            same += chr(c) + to[0]
        else:
            marked[ord(to[1])] = marked.get(ord(to[1]), "") + chr(c) + to[0]
    return marked, same


def classes() -> list[tuple[int, int, int]]:
    """Returns the runs of CLASSES."""
    runs: list[tuple[int, int, int]] = []
    for c in (c for first, last in SCRIPTS for c in range(first, last)):
        if order := unicodedata.combining(chr(c)):
            if runs and runs[-1][1:] == (c - 1, order):
                runs[-1] = (runs[-1][0], c, order)
            else:
                runs.append((c, c, order))
    return runs


def quoted(text: str) -> str:
    """Returns C string literals of UTF-8 bytes, a few on a line; signs that are not letters are escaped."""
    made, line = [], ""
    for c in text:
        plain = c in "'" or (
            c.isalpha() and unicodedata.category(c) != "Lm" and unicodedata.bidirectional(c) == "L"
        )
        piece = c if plain else "".join(f"\\{byte:03o}" for byte in c.encode())
        if len(line) + len(piece) > WIDTH - 6:
            made.append(f'"{line}"')
            line = ""
        line += piece
    return "\n    ".join([*made, f'"{line}"'])


def numbers(rows: list[tuple[int, ...]]) -> str:
    """Returns the rows as one list of numbers."""
    text = ", ".join(",".join(map(str, row)) for row in rows)
    return textwrap.indent(textwrap.fill(text, WIDTH, break_long_words=False), "    ")


def main() -> None:
    """Prints the tables."""
    marked, same = decompositions()
    sys.stdout.write(f"/* Unicode {unicodedata.unidata_version}, by tools/native_tables.py */\n")
    sys.stdout.write(f"static const int32_t LOWER[] = {{\n{numbers(lower_runs())}}};\n")
    sys.stdout.write(f"static const int32_t CLASSES[] = {{\n{numbers(classes())}}};\n")
    sys.stdout.write(f"static const char FOLDS[] =\n    {quoted(' '.join(folds()))};\n")
    sys.stdout.write(f"static const char SAME[] =\n    {quoted(same)};\n")
    sys.stdout.write("static const struct { uint32_t mark; const char *pairs; } MARKED[] = {\n")
    line = "   "
    for mark, pairs in sorted(marked.items()):
        row = f" {{{mark:#x}, {quoted(pairs)}}},"
        if line.strip() and ("\n" in row or len(line) + len(row) > WIDTH):
            sys.stdout.write(f"{line}\n")
            line = "   "
        line += row
        if "\n" in row:
            sys.stdout.write(f"{line}\n")
            line = "   "
    sys.stdout.write(f"{line}}};\n")


if __name__ == "__main__":
    main()
