"""The categories of trials, one file each; a file's `CATEGORY` says what is tried.

A category is found by being here: a new file joins `make fuzz`, the quick test and the table on the page.
"""

from __future__ import annotations

import pkgutil
import random
from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

from fuzz.box import Box
from fuzz.material import Material
from fuzz.trial import Ending

Trial = Callable[[random.Random, Box, Material, int], Ending]


def _nothing(box: Box, material: Material) -> None:
    """A plain run that takes no memory beyond the imports."""


class Category(NamedTuple):
    """A kind of trials."""

    what: str  # a line of the page's table
    trial: Trial  # makes one: random numbers, the box, the material, the trial's number
    trials: int | Callable[[Material], int]  # trials of a whole `make fuzz`
    processes: bool = False  # whether each trial starts whole processes
    plain: Callable[[Box, Material], object] = _nothing  # a run on good input, whose memory is the yardstick


def names() -> list[str]:
    """Returns the names of all categories."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def find(name: str) -> Category:
    """Returns a category by its name."""
    if name not in names():
        raise SystemExit(f"there is no category '{name}'; it is one of: {', '.join(names())}")
    category: Category = import_module(f"fuzz.categories.{name}").CATEGORY
    return category


def planned(category: Category, material: Material) -> int:
    """Returns the number of trials of a whole `make fuzz`."""
    return category.trials if isinstance(category.trials, int) else category.trials(material)
