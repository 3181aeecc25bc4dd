"""Describes the header of an AOSP dictionary: what keyboards show of it, and which dictionary it replaces."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tacit.base.errors import TacitError

_LOCALE = re.compile(r"[A-Za-z]{2,8}([_-][A-Za-z0-9]{1,8})*")
_VALUE = re.compile(
    r"[^\s,=:#\x1f][^,=:\r\n\x00-\x1f]*"
)  # a keyboard looks for the first colon after the type


@dataclass(frozen=True)
class Header:
    """Holds what keyboards show of a dictionary.

    `type` and locale are its id. A keyboard keeps one dictionary for each id: `main:en` would replace the keyboard's
    own English list, and `tacit:en` is used in addition to it.
    """

    locale: str
    description: str
    date: int  # seconds since 1970; a parameter, so that equal models give equal bytes
    version: int = 1
    type: str = "tacit"

    def check(self, path: Path) -> None:
        """Raises a TacitError if a keyboard would misread a value."""
        values = {"locale": self.locale, "description": self.description, "type": self.type}
        for key, value in values.items():
            if not _VALUE.fullmatch(value):
                raise TacitError(
                    f"{path}: {key} is {value!r}; it must not be empty or contain , = : or a line end"
                )
        check_locale(path, self.locale)

    def values(self) -> dict[str, str]:
        """Returns keys and values.

        >>> Header("en", "Tacit demo", 1_700_000_000).values()["dictionary"]
        'tacit:en'
        """
        return {
            "date": str(self.date),
            "dictionary": f"{self.type}:{self.locale}",
            "description": self.description,
            "locale": self.locale,
            "version": str(self.version),
        }


def check_locale(path: Path, locale: str) -> None:
    """Raises a TacitError if this is not a locale."""
    if not _LOCALE.fullmatch(locale):
        raise TacitError(f"{path}: locale is {locale!r}; write it like en or en_GB")
