"""Notices text in another script than its locale's, such as Russian text that is read as English, and keys that are."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable

from tacit.text.locale import SCRIPTS, Locale
from tacit.text.vocabulary import SPECIALS

_FEW = 20  # letters; fewer say nothing


def letters_by_script(words: Iterable[str]) -> Counter[str]:
    """Counts letters by script, as Unicode's names of characters begin.

    >>> letters_by_script(["да", "ok", "7"])
    Counter({'CYRILLIC': 2, 'LATIN': 2})
    """
    every = Counter(c for word in words for c in word if c.isalpha())
    scripts: Counter[str] = Counter()
    for letter, count in every.items():
        scripts[unicodedata.name(letter, "?").split(" ")[0].split("-")[0]] += count
    return scripts


def remark(words: Iterable[str], locale: Locale) -> str:
    """Returns one line if most letters of a text's words are of another script than the locale's; else "".

    >>> from tacit.text.locale import find
    >>> remark(["привет", "как", "дела", "сегодня", "хорошо"], find("en"))
    'the text is mostly in Cyrillic letters, and text.locale is en (Latin); set text.locale (--locale) to its language'
    >>> remark(["привет", "как", "дела", "сегодня", "хорошо"], find("ru"))
    ''
    """
    scripts = letters_by_script(word for word in words if word not in SPECIALS)
    total = scripts.total()
    if total < _FEW or scripts[SCRIPTS[locale.script]] * 2 >= total:
        return ""
    most = max(scripts, key=lambda script: scripts[script])
    name = next((name for name, known in SCRIPTS.items() if known == most), most)
    return (
        f"the text is mostly in {name} letters, and text.locale is {locale.code} ({locale.script}); "
        "set text.locale (--locale) to its language"
    )


def keys_remark(locale: Locale) -> str:
    """Returns one line if the keys of a locale type no letter of its script; else "".

    >>> from tacit.text.locale import find
    >>> keys_remark(find("zh"))
    'the keys of zh type no Han characters: take words from the suggestions, or from an input method of the device'
    >>> keys_remark(find("ru"))
    ''
    """
    if letters_by_script(locale.rows)[SCRIPTS[locale.script]]:
        return ""
    return (
        f"the keys of {locale.code} type no {locale.script} characters: take words from the suggestions, "
        "or from an input method of the device"
    )
