"""Defines a small table for notebooks: a dict of columns that displays as a table.

It is a dict of equally long lists. It subclasses `dict` so that `pandas.DataFrame` accepts it. It does not need pandas
itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from tacit.base.printable import html_text

_MOST = 20  # rows that are shown; of a longer table the first and the last


class Table(dict[str, list[Any]]):
    """Holds columns by name, all of one length; a missing value is None.

    >>> table = Table({"round": [1, 2], "loss": [4.1962, None]})
    >>> table
    round   loss
        1  4.196
        2
    >>> table.rows
    [{'round': 1, 'loss': 4.1962}, {'round': 2, 'loss': None}]
    """

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The table as a list of rows, each a dict.

        >>> Table({"a": [1, 2]}).rows
        [{'a': 1}, {'a': 2}]
        """
        return [dict(zip(self, values, strict=True)) for values in zip(*self.values(), strict=True)]

    def __repr__(self) -> str:
        lines = [list(self), *_shown(self)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        numbers = [all(_is_number(value) for value in values) for values in self.values()]
        return "\n".join(
            "  ".join(
                cell.rjust(width) if number else cell.ljust(width)
                for cell, width, number in zip(line, widths, numbers, strict=True)
            ).rstrip()
            for line in lines
        )

    def _repr_html_(self) -> str:
        """The table as IPython shows it."""

        def line(cells: Iterable[str], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{html_text(cell)}</{tag}>" for cell in cells) + "</tr>"

        body = "".join(line(cells, "td") for cells in _shown(self))
        return f"<table><thead>{line(self, 'th')}</thead><tbody>{body}</tbody></table>"


def from_rows(rows: Iterable[Mapping[str, Any]], first: str = "") -> Table:
    """Makes a table of rows that may lack some columns; the column `first` is there in any case and comes first.

    >>> from_rows([{"a": 1}, {"a": 2, "b": 3}])
    a  b
    1
    2  3
    """
    kept = list(rows)
    names = dict.fromkeys([first] if first else [])
    for row in kept:
        names |= dict.fromkeys(row)
    return Table({name: [row.get(name) for row in kept] for name in names})


def _shown(table: Table) -> list[list[str]]:
    rows = [[_cell(value) for value in values] for values in zip(*table.values(), strict=True)]
    if len(rows) <= _MOST:
        return rows
    half = _MOST // 2
    return [*rows[:half], ["…"] * len(table), *rows[-half:]]


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))
