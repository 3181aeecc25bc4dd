"""Reads an entry: the TOML file that describes one table or figure of a paper.

    title, paper, where, about      what it is; `kind` names the module of `tacit.experiments.kinds` that measures it
    data, takes, seeds              datasets, duration of a full run, number of seeds
    scale                           what is smaller here than in the paper, printed in every report of the entry
    note                            remarks, printed below the table
    [settings]                      settings of all rows
    [[rows]]                        one row: a label and its settings
    [[grid]]                        many rows: a label that contains {key}, and a list of values for each key
    [choices.KEY.VALUE]             settings that replace KEY = VALUE
    [published.METRIC]              the paper's values, by row label
    [[metrics]]                     the measured values to show, and their format
    [[claims]]                      claims of the paper; `why` is printed if the measurement disagrees
    [[plot]]                        curves of the rows, or one metric over a setting
    [quick]                         rows and smaller settings for a run of a few seconds; `like` names a group of
                                    settings in quick.toml that several entries share

`tacit reproduce FILE.toml` measures a custom entry: it needs rows (or a grid) and metrics; `kind` is "text" by default,
and the rest is optional.

An unknown key is an error. Quick settings override those of the row, these override the choices, and these override
the common settings.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any

from tacit.base.errors import TacitError, nearest, shown
from tacit.federated import plugins
from tacit.federated.code_hash import short_hash
from tacit.text import sources

Settings = Mapping[str, Any]

MOST_SEEDS = 10_000
_KEYS = {
    "title", "paper", "where", "about", "kind", "data", "takes", "seeds", "scale", "note", "plot", "settings", "rows",
    "grid", "choices", "published", "metrics", "claims", "quick",
}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """Holds one row of a table: its settings and the published values."""

    label: str
    settings: Settings
    published: Mapping[str, float]
    files: str = ""  # hashes of the files that a custom entry uses

    def hash(self, kind: str) -> str:
        """Returns a hash of the settings, independent of how the file is written."""
        text = json.dumps([kind, self.settings, *([self.files] if self.files else [])], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Metric:
    """Describes a measured value and its format."""

    name: str
    label: str
    form: str = "{:.2f}"
    better: str = "low"  # or "high"

    def shown(self, value: float | None) -> str:
        """Formats a value; a missing one (a target never reached) is a dash.

        >>> Metric("top1", "top-1", "{:.1%}").shown(0.1234)
        '12.3%'
        """
        return "—" if value is None else self.form.format(value)


@dataclass(frozen=True)
class Claim:
    """Describes a checkable claim of a paper: an order of rows, similar rows, or one row compared with a number."""

    says: str
    metric: str
    order: tuple[str, ...] = ()  # labels, the better row first
    by: float = 1.0  # order: the factor by which a row is better; below 1 it may be slightly worse
    alike: float = 0.0  # order: in any order, but within this factor of one another
    flattens: tuple[str, ...] = ()  # three labels: the second step is smaller than the first
    row: str = ""
    at_most: float | None = None
    at_least: float | None = None
    why: str = ""  # printed if the measurement disagrees
    ours: bool = False  # a target of Tacit, stated in no paper

    @property
    def labels(self) -> tuple[str, ...]:
        """Returns the labels of the rows that the claim compares."""
        return self.order or self.flattens or (self.row,)


@dataclass(frozen=True)
class Plot:
    """Describes a plot of the rows' curves, or of one metric over a setting."""

    curve: str = ""  # name of the curve
    also: str = ""  # a second curve of the same rows
    metric: str = ""  # or name of the metric
    over: str = ""  # metric: the settings key on the horizontal axis
    by: str = ""  # metric: the settings key with one line for each value
    xlabel: str = "round"
    ylabel: str = ""
    log: bool = False
    percent: bool = False
    rows: tuple[str, ...] = ()  # curve: only these
    name: str = ""


@dataclass(frozen=True)
class Entry:
    """Describes one table or figure."""

    name: str
    title: str
    paper: int
    where: str
    kind: str
    about: str
    takes: str
    rows: tuple[Row, ...]
    metrics: tuple[Metric, ...]
    data: tuple[str, ...] = ()
    seeds: int = 3
    scale: str = ""  # of a table measured at a smaller scale than the paper's
    note: str = ""
    claims: tuple[Claim, ...] = ()
    plots: tuple[Plot, ...] = ()
    quick: Settings = field(default_factory=dict)

    def row(self, label: str) -> Row:
        """Returns the row with this label."""
        for row in self.rows:
            if row.label == label:
                return row
        raise TacitError(f"{self.name}: no row '{label}'{nearest(label, [r.label for r in self.rows])}")

    def metric(self, name: str) -> Metric:
        """Returns the metric with this name."""
        return next(m for m in self.metrics if m.name == name)

    def quickly(self) -> Entry:
        """Returns the entry scaled down: fewer rows, smaller settings, one seed."""
        smaller = self.quick.get("settings", {})
        rows = [self.row(label) for label in self.quick.get("rows", [r.label for r in self.rows[:2]])]
        few = tuple(Row(r.label, {**r.settings, **smaller}, {}) for r in rows)
        return replace(self, rows=few, seeds=1, claims=(), plots=())

    def hash(self) -> str:
        """Returns a hash of the settings of all rows."""
        parts = [row.hash(self.kind) for row in self.rows]
        return hashlib.sha256(" ".join(parts).encode()).hexdigest()[:12]


def names() -> list[str]:
    """Returns the names of all entries, sorted.

    >>> "quadratic" in names()
    True
    """
    files = resources.files("tacit.experiments").joinpath("entries").iterdir()
    return sorted(f.name.removesuffix(".toml") for f in files if f.name.endswith(".toml"))


def entries() -> list[Entry]:
    """Returns all entries, sorted by paper and name."""
    return sorted((find(name) for name in names()), key=lambda e: (e.paper, e.name))


def find(name: str) -> Entry:
    """Reads the entry with this name, or a custom one from a .toml file.

    >>> find("quadratic").paper
    5
    """
    if name.endswith(".toml"):
        return _custom(Path(name))
    if name not in names():
        raise TacitError(f"no experiment '{name}'{nearest(name, names())}; or give a custom .toml file")
    text = resources.files("tacit.experiments").joinpath("entries", f"{name}.toml").read_text("utf-8")
    return parse(name, text)


def _custom(path: Path) -> Entry:
    """Reads an entry from a file outside the package."""
    if path.stem in names():
        raise TacitError(
            f"{path}: '{path.stem}' is the name of a built-in experiment; give the file another name"
        )
    try:
        text = sources.read(path).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TacitError(f"cannot read the experiment {path}: {error}") from None
    defaults = {"title": path.stem, "paper": 0, "where": path.stem, "kind": "text", "about": "", "takes": ""}
    entry = parse(path.stem, text, defaults)
    rows = tuple(replace(row, files=_hash_of_files(row.settings)) for row in entry.rows)
    return replace(entry, rows=rows)


def _hash_of_files(settings: Settings) -> str:
    """Returns hashes of the preset's file and of custom rules, so that a row is measured again if they change."""
    preset = Path(str(settings.get("preset", "")))
    own = [short_hash(sources.read(preset))] if preset.suffix == ".toml" and preset.is_file() else []
    return " ".join([*own, *plugins.code_hashes()])


def parse(name: str, text: str, defaults: Mapping[str, Any] | None = None) -> Entry:
    """Parses the text of an entry's file; `defaults` are values of keys that the file may omit."""
    try:
        tables = {**(defaults or {}), **tomllib.loads(text)}
    except (ValueError, RecursionError) as error:
        raise TacitError(f"experiment '{name}' is not valid TOML: {error}") from None
    for key in tables.keys() - _KEYS:
        raise TacitError(f"experiment '{name}': unknown key '{key}'{nearest(key, _KEYS)}")
    for key in ("rows", "grid", "metrics", "claims", "plot"):
        many = tables.get(key, [])
        if not isinstance(many, list) or not all(isinstance(one, dict) for one in many):
            raise TacitError(
                f"experiment '{name}': '{key}' must be an array of tables; write [[{key}]] above each"
            )
    _check_types(name, tables)
    try:
        rows = _rows(tables)
        entry = Entry(
            name=name,
            rows=tuple(rows),
            metrics=tuple(Metric(**m) for m in tables["metrics"]),
            claims=tuple(
                Claim(**{**c, **{k: tuple(c.get(k, ())) for k in ("order", "flattens")}})
                for c in tables.get("claims", [])
            ),
            plots=tuple(Plot(**{**p, "rows": tuple(p.get("rows", ()))}) for p in tables.get("plot", [])),
            data=tuple(tables.get("data", ())),
            quick=_quick(tables.get("quick", {})),
            **{k: tables[k] for k in ("title", "paper", "where", "kind", "about", "takes")},
            **{k: tables[k] for k in ("seeds", "scale", "note") if k in tables},
        )
    except (KeyError, TypeError) as error:
        raise TacitError(f"experiment '{name}': {error} is missing or unknown in its file") from None
    except (AttributeError, ValueError) as error:
        raise _of_other_type(name, error) from None
    try:
        _check(entry, tables)
    except (AttributeError, TypeError, ValueError) as error:
        raise _of_other_type(name, error) from None
    return entry


def _of_other_type(name: str, error: Exception) -> TacitError:
    return TacitError(f"experiment '{name}': a value has the wrong type ({error})")


_MOST_ROWS = 10_000  # of a sweep: each is trained, and a grid of ten axes would never end

_TYPES: dict[str, tuple[type, str]] = {
    **dict.fromkeys(("title", "where", "kind", "about", "takes", "scale", "note"), (str, "a string")),
    **dict.fromkeys(("paper", "seeds"), (int, "a whole number")),
    **dict.fromkeys(("settings", "choices", "published", "quick"), (dict, "a table")),
    "data": (list, "a list"),
}


def _check_types(name: str, tables: Mapping[str, Any]) -> None:
    """Refuses a value of another type than its key has, and a grid of too many rows."""
    for key, (kind, what) in _TYPES.items():
        if key in tables and type(tables[key]) is not kind:
            raise TacitError(f"experiment '{name}': {key} = {shown(tables[key])} must be {what}")
    for key in ("choices", "published"):
        for inner, value in tables.get(key, {}).items():
            if not isinstance(value, dict):
                raise TacitError(f"experiment '{name}': {key}.{inner} = {shown(value)} must be a table")
    for row in (*tables.get("rows", []), *tables.get("grid", [])):
        if not isinstance(row.get("label"), str):
            raise TacitError(f"experiment '{name}': label = {shown(row.get('label'))} must be a string")
    sizes = [
        math.prod(len(v) if isinstance(v, list) else 1 for v in _flat(grid).values())
        for grid in tables.get("grid", [])
    ]
    if sum(sizes) > _MOST_ROWS:
        raise TacitError(
            f"experiment '{name}': its grid has {sum(sizes):,} rows; give at most {_MOST_ROWS:,}"
        )


def _quick(table: Mapping[str, Any]) -> Settings:
    """Returns the rows and settings of a quick run, including the shared settings of quick.toml."""
    if "like" not in table:
        return table
    shared = tomllib.loads(resources.files("tacit.experiments").joinpath("quick.toml").read_text("utf-8"))
    settings = {**shared[table["like"]], **table.get("settings", {})}
    return {"rows": table["rows"], "settings": settings}


def _flat(settings: Mapping[str, Any], where: str = "") -> dict[str, Any]:
    """Returns settings by their dotted keys, whether or not the keys are quoted in the file.

    >>> _flat({"server.lr": 1, "server": {"decay": 0.1}})
    {'server.lr': 1, 'server.decay': 0.1}
    """
    flat: dict[str, Any] = {}
    for key, value in settings.items():
        flat |= _flat(value, f"{where}{key}.") if isinstance(value, dict) else {f"{where}{key}": value}
    return flat


def _rows(tables: Mapping[str, Any]) -> list[Row]:
    common = _flat(tables.get("settings", {}))
    choices = {
        key: {name: _flat(settings) for name, settings in named.items()}
        for key, named in tables.get("choices", {}).items()
    }

    def made(label: str, own: Mapping[str, Any]) -> Row:
        settings = dict(common)
        for key, value in own.items():
            settings |= choices.get(key, {}).get(str(value), {})
        settings |= {k: v for k, v in own.items() if str(v) not in choices.get(k, {})}
        published = {m: by[label] for m, by in tables.get("published", {}).items() if label in by}
        return Row(label, settings, published)

    rows = [
        made(r["label"], _flat({k: v for k, v in r.items() if k != "label"})) for r in tables.get("rows", [])
    ]
    for grid in tables.get("grid", []):
        over = _flat({k: v for k, v in grid.items() if k != "label"})
        axes = {k: v if isinstance(v, list) else [v] for k, v in over.items()}
        for values in itertools.product(*axes.values()):
            own = dict(zip(axes, values, strict=True))
            label = grid["label"]
            for key, value in own.items():
                label = label.replace(f"{{{key}}}", f"{value:g}" if isinstance(value, float) else str(value))
            rows.append(made(label, own))
    return rows


def _check(entry: Entry, tables: Mapping[str, Any]) -> None:
    """Raises a TacitError if row labels are not unique, or if a claim or plot names an unknown row or metric."""
    labels = [row.label for row in entry.rows]
    if len(set(labels)) != len(labels) or not labels:
        raise TacitError(f"experiment '{entry.name}': needs at least one row, and row labels must be unique")
    if not isinstance(entry.seeds, int) or not 1 <= entry.seeds <= MOST_SEEDS:
        raise TacitError(
            f"experiment '{entry.name}': seeds = {shown(entry.seeds)} must be a whole number from 1 to {MOST_SEEDS:,}"
        )
    known = {m.name for m in entry.metrics}
    for claim in entry.claims:
        bounded = bool(claim.row) and (claim.at_most, claim.at_least) != (None, None)
        if [len(claim.order) > 1, len(claim.flattens) == 3, bounded].count(True) != 1:
            raise TacitError(
                f"experiment '{entry.name}': the claim '{claim.says}' needs an order of rows, three rows in flattens, "
                "or a row with at_most or at_least"
            )
    for metric in entry.metrics:
        if metric.better not in ("low", "high"):
            raise TacitError(f"experiment '{entry.name}': {metric.name}: better must be 'low' or 'high'")
        try:
            metric.form.format(1.0)
            "".join((metric.name, metric.label))
        except (TypeError, ValueError, LookupError, AttributeError):
            raise TacitError(
                f"experiment '{entry.name}': {metric.name}: name and label must be strings, form one like '{{:.2f}}'"
            ) from None
    claimed = [label for c in entry.claims for label in c.labels]
    drawn = [label for p in entry.plots for label in p.rows]
    published = [label for by in tables.get("published", {}).values() for label in by]
    for label in (*claimed, *drawn, *published, *entry.quick.get("rows", ())):
        entry.row(label)
    named = [c.metric for c in entry.claims] + list(tables.get("published", {}))
    for name in (*named, *(p.metric for p in entry.plots if p.metric)):
        if name not in known:
            raise TacitError(f"experiment '{entry.name}': no metric '{name}'{nearest(name, known)}")
