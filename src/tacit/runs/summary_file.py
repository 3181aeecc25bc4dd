"""Reads the summary.json of a run, with the types that everybody who uses it expects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tacit.base.errors import TacitError
from tacit.base.reading import is_figure, read_object

LAST_ROUND = (
    "the last round"  # what `chosen_by` says where nobody was asked to score the model; `test` is null then
)
MEASURES = ("perplexity", "top1", "top3", "sll")


def read_summary(file: Path) -> dict[str, Any]:
    """Returns the summary of a finished run; refuses a damaged one in one line that names the key."""
    try:
        summary = read_object(file)
        for key, fits in _KEYS.items():
            if key == "test" and summary[key] is None and summary["chosen_by"] == LAST_ROUND:
                continue
            if not fits(summary[key]):
                raise ValueError(f"its '{key}' is not what it should be")
    except KeyError as error:
        raise _refused(file, f"it has no {error}") from None
    except (OSError, ValueError) as error:
        raise _refused(file, getattr(error, "strerror", None) or str(error)) from None
    return summary


def _refused(file: Path, why: str) -> TacitError:
    return TacitError(f"{file}: not a summary written by Tacit ({why}); train the run again")


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_scored(value: Any) -> bool:
    """Returns whether a value is the scores of a text; null stands for a score that is not finite or not known."""
    if not isinstance(value, Mapping) or not all(key in value for key in MEASURES):
        return False
    half = value.get("ci95", {})
    if not isinstance(half, Mapping):
        return False
    figures = [*map(value.get, (*MEASURES, "people")), *map(half.get, MEASURES)]
    return all(figure is None or is_figure(figure) for figure in figures)


def _is_traffic(value: Any) -> bool:
    """Returns whether a value is the bytes of a client and round; null for central training."""
    return value is None or (
        isinstance(value, Mapping) and _is_count(value.get("up")) and _is_count(value.get("down"))
    )


_KEYS: dict[str, Callable[[Any], bool]] = {
    "best_round": _is_count,
    "chosen_by": _is_text,
    "parameters": _is_count,
    "bytes_per_client_and_round": _is_traffic,
    "clients": _is_count,
    "vocabulary": _is_count,
    "epsilon_reason": _is_text,
    "test": _is_scored,
    "seen": lambda value: value is None or _is_scored(value),
}
