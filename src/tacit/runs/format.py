"""The format number of config.toml, which says whether this Tacit can read a run.

A run's config.toml begins with `format = 2`. A run without that line was made before the keys of rules and
optimisers moved, and is refused. A configuration that a person writes needs no such line.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tacit.base import settings
from tacit.base.errors import TacitError

FORMAT = 2


def dump(config: Any) -> str:
    """Returns a configuration as the text of a run's config.toml.

    >>> from tacit.runs.config import Config
    >>> dump(Config()).splitlines()[:2]
    ['format = 2', 'name = "run"']
    """
    return f"format = {FORMAT}\n{settings.dump(config)}"


def without_format(tables: Mapping[str, Any], file: Path, required: bool) -> dict[str, Any]:
    """Returns the tables of a configuration file without their format number, which must be this Tacit's.

    Only a run's config.toml is `required` to have one.
    """
    number = tables.get("format", FORMAT)
    if isinstance(number, int) and number > FORMAT:
        raise TacitError(
            f"{file}: format = {number} is of a later Tacit, and this one reads format {FORMAT}; update Tacit"
        )
    if number != FORMAT or (required and "format" not in tables):
        raise TacitError(
            f"{file.parent}: this run was made by an earlier Tacit (its {file.name} does not say format = {FORMAT}); "
            "train it again, or use the version of Tacit that made it"
        )
    return {name: value for name, value in tables.items() if name != "format"}


def in_run(file: Path) -> bool:
    """Returns whether a configuration file is that of a run: a config.toml with a run's other files next to it."""
    written = (file.parent / name for name in ("checkpoints", "metrics.jsonl", "vocabulary.txt"))
    return file.name == "config.toml" and any(path.exists() for path in written)
