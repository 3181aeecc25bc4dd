"""Makes the English dictionary of the corrector (`src/tacit/keyboard/dictionaries/en.hashes`) from three packages.

    mkdir sources && cd sources
    apt-get download scowl=2020.12.07-2 && dpkg-deb -x scowl_*.deb scowl
    pip download --no-deps faker==40.54.0 && unzip -q -d faker faker-*.whl
    pip download --no-deps symspellpy==6.10.1 && unzip -q -d symspellpy symspellpy-*.whl
    cd .. && python tools/dictionary.py sources

- SCOWL 2020.12.07 (Kevin Atkinson, a permissive licence): English, American and British words up to level 50, names up
  to level 80.
- symspellpy 6.10.1 (MIT): words of SCOWL that are found in Google's books.
- Faker 40.54.0 (MIT): first and last names of the English-speaking countries.

Words have 3 to 12 letters from a to z. Regular plurals of other words are left out (`dictionary.stem`). Nothing here is
random, so the same packages give the same bytes. The licences are in LICENSES.txt beside the file.
"""

from __future__ import annotations

import argparse
import ast
import re
import unicodedata
from pathlib import Path

from tacit.keyboard import dictionary

OUT = Path(__file__).parents[1] / "src" / "tacit" / "keyboard" / "dictionaries" / "en.hashes"
LEVELS = (10, 20, 35, 40, 50, 55, 60, 70, 80)
MOST = {"words": 50, "upper": 80, "proper-names": 80}  # level of each kind
REGIONS = ("english", "american", "british")
PER_WORD = 92  # one in so many other spellings passes for a word
_WORD = re.compile("[a-z]{3,12}")


def scowl(folder: Path) -> set[str]:
    """Returns SCOWL's words and names."""
    files = [
        folder / f"{region}-{kind}.{level}"
        for region in REGIONS
        for kind, most in MOST.items()
        for level in LEVELS
        if level <= most
    ]
    words = [
        word for file in files if file.is_file() for word in file.read_text("latin-1").lower().splitlines()
    ]
    return {word for word in words if _WORD.fullmatch(word)}


def books(file: Path) -> set[str]:
    """Returns the words of symspellpy's list, each of which stands before its count."""
    words = [line.split()[0].lower() for line in file.read_text("utf-8-sig").splitlines()]
    return {word for word in words if _WORD.fullmatch(word)}


def names(folder: Path) -> set[str]:
    """Returns the names in Faker's English providers, read from the source and without accents."""
    found = set()
    for file in sorted(folder.glob("en*/__init__.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Assign | ast.AnnAssign):
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                name = target.id if isinstance(target, ast.Name) else ""
                if "first_name" in name or "last_name" in name:
                    found |= {c.value for c in ast.walk(node) if isinstance(c, ast.Constant)}
    parts = [part for name in found if isinstance(name, str) for part in re.split(r"[\s'-]+", name.lower())]
    plain = {
        "".join(c for c in unicodedata.normalize("NFD", p) if not unicodedata.combining(c)) for p in parts
    }
    return {name for name in plain if _WORD.fullmatch(name)}


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("sources", type=Path)
    folder = given.parse_args().sources
    words = scowl(folder / "scowl" / "usr" / "share" / "dict" / "scowl")
    read = books(folder / "symspellpy" / "symspellpy" / "frequency_dictionary_en_82_765.txt")
    people = names(folder / "faker" / "faker" / "providers" / "person")
    every = words | read | people
    kept = {word for word in every if dictionary.stem(word) not in every}
    data = dictionary.to_bytes(dictionary.build(kept, PER_WORD))
    OUT.write_bytes(data)
    counts = f"SCOWL {len(words):,}, symspellpy {len(read):,}, Faker {len(people):,}"
    print(f"{counts}; {len(kept):,} kept, {len(data):,} bytes")


if __name__ == "__main__":
    main()
