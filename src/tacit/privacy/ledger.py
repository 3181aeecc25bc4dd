"""The ledger of a run, `ledger.jsonl`: one JSON line for each release of something computed from clients' text.

A line is written and flushed to disk before what it describes is published. So a model that exists is in the ledger; a
line may describe a release that a crash prevented, which counts as if it had happened. Lines are only added. A round
that is repeated after a crash is a second release with a second line.

Nothing here needs an accounting library: training writes the ledger anywhere. `tacit.privacy.accounting` computes ε.
"""

from __future__ import annotations

import dataclasses
import math
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.base.errors import TacitError, shown
from tacit.base.files import append_line, cannot_write, check_own, sync
from tacit.base.reading import parse, read_object, read_regular

NAME = "ledger.jsonl"
MECHANISMS = ("gaussian", "laplace", "matrix", "local", "none")
SAMPLING = ("poisson", "separated", "fixed", "all")


@dataclass(frozen=True)
class Release:
    """One release: what was computed from clients' text, how it was bounded and which noise was added."""

    what: str  # "round", "counts", "bias from counts", "vocabulary", "personalisation", …
    mechanism: str  # one of MECHANISMS
    round: int | None = None  # from 1
    noise_multiplier: float | None = (
        None  # gaussian, matrix, local: std / joint L2 sensitivity; laplace: scale / L1
    )
    sampling: str = "all"  # how the clients of the release were chosen, one of SAMPLING
    rate: float = 1.0  # q of Poisson sampling
    clip: float | None = None  # norm to which a client's contribution was clipped
    participations: int | None = None  # most releases of this kind that one client takes part in
    separation: int | None = None  # least number of rounds between two of them
    sensitivity: float | None = None  # matrix: of the strategy matrix C
    noise_digest: str = ""  # short hash of the noise, so that noise used twice is seen
    denominator: float | None = None  # what the sum is divided by
    reason: str = ""  # why the release has no ε; "" if it has one
    delta: float = 0.0  # probability that the release fails beyond its noise: a threshold over open words


def append(path: Path, release: Release) -> None:
    """Adds a release to a ledger and returns when it is on disk.

    A last line without its end was never on disk, so what it describes was never published: it is removed.
    """
    record = dataclasses.asdict(release)
    if wrong := _wrong(record):
        raise TacitError(f"{path}: cannot record this release: {wrong}; report this as a defect")
    check_own(path)
    is_new = not path.exists()
    try:
        if not is_new:
            _remove_unfinished(path)
        append_line(path, record)
    except OSError as error:
        raise cannot_write(path, error) from None
    if is_new:
        sync(path.parent)


def read(path: Path) -> list[Release]:
    """Reads a ledger, checked field by field; one that does not exist is empty.

    A last line without its end is left out, for the reason that `append` gives.
    """
    if not path.exists():
        return []
    try:
        lines = read_regular(path).split(b"\n")
    except OSError as error:
        raise TacitError(f"{path}: cannot be read ({error.strerror}); restore the file") from None
    releases = []
    for number, line in enumerate(lines[:-1], start=1):
        try:
            record = parse(line)
            wrong = _wrong(record) if isinstance(record, dict) else "it is not a table"
        except ValueError:
            wrong = "it is not JSON"
        if wrong:
            raise TacitError(
                f"{path}, line {number}: not a release written by Tacit ({wrong}); restore the file, because ε cannot "
                "be known without it"
            )
        releases.append(Release(**record))
    return releases


def inherited(path: Path) -> list[Release]:
    """Returns the releases that a file, or a directory, brings with it: those of the ledger beside it.

    A model that is built on counts, or on a vocabulary, of clients' text composes with them. A run that uses such a
    file adds these releases to its own ledger. A result of Tacit without a ledger was released without noise; a file
    from elsewhere brings nothing.
    """
    folder = path if path.is_dir() else path.parent
    releases = read(folder / NAME)
    if releases:
        return releases
    try:
        reason = read_object(folder / "summary.json").get("epsilon_reason")
    except (OSError, ValueError):
        return []
    if not isinstance(reason, str) or not reason:
        return []
    return [Release("counts", "none", reason=f"{path.name} comes from a result without noise")]


def no_epsilon(releases: Sequence[Release]) -> str:
    """Returns why these releases together have no ε; "" if they have one.

    >>> no_epsilon([Release("round", "gaussian", noise_multiplier=1.0, clip=0.5)])
    ''
    >>> no_epsilon([Release("vocabulary", "none", reason="it is built from everybody's text")])
    "vocabulary: it is built from everybody's text"
    """
    if not releases:
        return "the ledger holds no release"
    seen: dict[str, Release] = {}
    for release in releases:
        name = release.what if release.round is None else f"{release.what} {release.round}"
        if release.reason:
            return f"{release.what}: {release.reason}"
        if release.mechanism == "none":
            return f"{release.what}: it was released without noise"
        if not release.clip:
            return f"{name}: nothing bounds what one client contributes (no clip)"
        if not release.noise_multiplier:
            return f"{name}: no noise was added"
        if release.mechanism == "matrix" and not (release.sensitivity and release.participations):
            return f"{name}: the matrix's sensitivity is not recorded"
        if release.noise_digest:
            first = seen.setdefault(release.noise_digest, release)
            if first is not release:
                return f"{name}: its noise was used before, so the difference of two releases has none"
    return ""


def _remove_unfinished(path: Path) -> None:
    with path.open("r+b") as file:
        content = file.read()
        whole = content.rfind(b"\n") + 1
        if whole != len(content):
            file.truncate(whole)


def _is_number(least: float, most: float = math.inf, open_: bool = False) -> Callable[[Any], bool]:
    """Returns a check for a finite number from `least` (or above it, if open) to `most`."""

    def fits(value: Any) -> bool:
        if type(value) not in (int, float) or not -1e300 < value < 1e300:  # also refuses NaN
            return False
        return (value > least if open_ else value >= least) and value <= most

    return fits


def _is_count(value: Any) -> bool:
    return type(value) is int and 1 <= value < 2**53


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= 1000


def _or_null(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or fits(value)


_positive = _or_null(_is_number(0, open_=True))
_FITS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "what": (lambda value: _is_text(value) and value != "", "a few words"),
    "mechanism": (lambda value: value in MECHANISMS, f"one of {', '.join(MECHANISMS)}"),
    "round": (_or_null(_is_count), "a whole number from 1, or null"),
    "noise_multiplier": (_or_null(_is_number(0)), "a number from 0, or null"),
    "sampling": (lambda value: value in SAMPLING, f"one of {', '.join(SAMPLING)}"),
    "rate": (_is_number(0, 1, open_=True), "a number above 0, at most 1"),
    "clip": (_positive, "a number above 0, or null"),
    "participations": (_or_null(_is_count), "a whole number from 1, or null"),
    "separation": (_or_null(_is_count), "a whole number from 1, or null"),
    "sensitivity": (_positive, "a number above 0, or null"),
    "noise_digest": (_is_text, "a hash"),
    "denominator": (_positive, "a number above 0, or null"),
    "delta": (lambda value: _is_number(0)(value) and value < 1, "a number from 0, below 1"),
    "reason": (_is_text, "a sentence"),
}
_NEEDED = tuple(f.name for f in dataclasses.fields(Release) if f.default is dataclasses.MISSING)


def _wrong(record: Mapping[str, Any]) -> str:
    """Returns what is wrong with the fields of a release; "" if nothing is."""
    for name in _NEEDED:
        if name not in record:
            return f"it has no '{name}'"
    for name, value in record.items():
        if name not in _FITS:
            return f"unknown field {shown(name)}"
        fits, wanted = _FITS[name]
        if not fits(value):
            return f"{name} = {shown(value)} must be {wanted}"
    return ""


assert set(_FITS) == set(typing.get_type_hints(Release))
