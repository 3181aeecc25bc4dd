"""Draws plots: inline SVG for pages, which needs no network, and figures for notebooks.

Figures are made as objects, never through pyplot, which would change the plots of the calling notebook.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import re
import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

# matplotlib reports a home directory that cannot be written, but only to those who listen: standard error is for errors
logging.getLogger("matplotlib").addHandler(logging.NullHandler())

# A backend that matplotlib does not know fails its import. It is of no use here, where no window is drawn; a notebook
# that imports pyplot later gets the one that it asks for.
_backend = os.environ.pop("MPLBACKEND", "") if "matplotlib" not in sys.modules else ""

from tacit.base.errors import TacitError  # noqa: E402
from tacit.base.printable import printable  # noqa: E402

try:
    from matplotlib import rc_context, rcParams, ticker
    from matplotlib.figure import Figure
except (OSError, ValueError) as error:  # matplotlib reads its settings while it is imported
    raise TacitError(
        f"matplotlib cannot read its settings ({error}); mend or remove the file matplotlibrc, which it looks for in "
        "the current directory first"
    ) from None

if _backend:
    os.environ["MPLBACKEND"] = _backend
    with contextlib.suppress(ValueError):
        rcParams["backend"] = _backend

PICTURE = "a picture by Tacit"
COLOURS = ("#0b6e99", "#c4572a", "#5b8c3a", "#7b5ea7", "#8a6d3b", "#3a7d7c", "#b03a6b", "#555555")
_STYLE: Any = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "tacit",  # the same plot gives the same bytes
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "legend.frameon": False,
}

Curve = tuple[Sequence[float], Sequence[float]]


class NotebookFigure(Figure):
    """A figure that a notebook displays, even if pyplot was never imported."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=100, bbox_inches="tight")
        return buffer.getvalue()


def _plain(name: str) -> str:
    """Escapes control characters, and dollar signs, which matplotlib would read as a formula."""
    return printable(name).replace("$", r"\$")


def _svg(figure: Any) -> str:
    buffer = io.StringIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the browser has its own fonts
        figure.savefig(buffer, format="svg", metadata={"Date": None}, bbox_inches="tight")
    return re.sub(r"^.*?(?=<svg)", "", buffer.getvalue(), count=1, flags=re.DOTALL)


def themed(svg: str) -> str:
    """Makes the SVG of a plot follow the colours of the page around it, in light and dark.

    Black becomes the page's text colour, white becomes transparent, and each line's colour a variable that
    `tacit.runs.report` sets.

    >>> themed('<svg><g style="fill: #ffffff; stroke: #000000"/><g style="stroke: #0b6e99"/></svg>')
    '<svg fill="currentColor"><g style="fill: none; stroke: currentColor"/><g style="stroke: var(--c0)"/></svg>'
    """
    svg = svg.replace("#ffffff", "none").replace("#000000", "currentColor")
    for i, colour in enumerate(COLOURS):
        svg = svg.replace(colour, f"var(--c{i})")
    return svg.replace("<svg", '<svg fill="currentColor"', 1)


def colour_variables() -> str:
    """Returns the CSS variables of `themed`: each line's colour, mixed with white on a dark page."""
    return " ".join(
        f"--c{i}: light-dark({colour}, color-mix(in srgb, {colour} 55%, white));"
        for i, colour in enumerate(COLOURS)
    )


def figure(svg: str) -> str:
    """Returns a plot as a figure of a page, in the page's colours."""
    return f"<figure>{themed(svg)}</figure>"


def curves(
    lines: Mapping[str, Curve],
    ylabel: str,
    levels: Mapping[str, float] | None = None,
    log: bool = False,
    xlabel: str = "round",
    percent: bool = False,
) -> str:
    """Draws lines over rounds as SVG, with dashed levels for models without rounds (an n-gram)."""
    with rc_context(_STYLE):
        figure = Figure(figsize=(5.2, 3.1))
        axes = figure.subplots()
        for colour, (name, (x, y)) in zip(COLOURS * 4, lines.items(), strict=False):
            _line(axes, x, y, colour, name)
        others = (COLOURS * 4)[len(lines) :]  # a name has the same colour as in `bars`
        for colour, (name, value) in zip(others, (levels or {}).items(), strict=False):
            axes.axhline(value, color=colour, linestyle="--", linewidth=1.2, label=_plain(name))
        _scale(axes, ylabel, log, percent, xlabel)
        if len(lines) + len(levels or {}) > 1:
            axes.legend()
        return _svg(figure)


def learning_curves(metrics: Mapping[str, Sequence[Any]], title: str) -> Figure:
    """Plots validation perplexity and recall over rounds, from the columns of a run's metrics.

    >>> metrics = {"round": [1, 2], "valid_perplexity": [90.0, 80.0], "valid_top1": [0.1, None]}
    >>> [axes.get_ylabel() for axes in learning_curves(metrics, "a run").axes]
    ['validation perplexity', 'validation recall']
    """
    with rc_context(_STYLE):
        figure = NotebookFigure(figsize=(9.2, 3.1), layout="constrained")
        figure.suptitle(_plain(title))
        left, right = figure.subplots(1, 2)
        _line(left, *_measured(metrics, "valid_perplexity"), COLOURS[0], "perplexity")
        _scale(left, "validation perplexity", log=True)
        _line(right, *_measured(metrics, "valid_top1"), COLOURS[0], "top-1")
        _line(right, *_measured(metrics, "valid_top3"), COLOURS[1], "top-3")
        _scale(right, "validation recall")
        right.yaxis.set_major_formatter(ticker.PercentFormatter(1.0))
        right.legend()
        return figure


def epsilon_curve(points: Sequence[tuple[int, float]], delta: float) -> Figure:
    """Plots the ε of a ledger over rounds.

    >>> epsilon_curve([(1, 0.5), (2, 0.7)], 1e-6).axes[0].get_ylabel()
    'ε at δ = 1e-06'
    """
    with rc_context(_STYLE):
        figure = NotebookFigure(figsize=(5.2, 3.1))
        axes = figure.subplots()
        _line(axes, [x for x, _ in points], [y for _, y in points], COLOURS[0], "ε")
        _scale(axes, f"ε at δ = {delta:g}")
        axes.set_ylim(bottom=0)
        return figure


def picture(figure: Figure, suffix: str) -> bytes:
    """Returns a figure as the content of an .svg or .png file, with a mark by which Tacit recognises its own files."""
    with rc_context(_STYLE):
        if suffix == ".svg":
            return f"<!-- {PICTURE} -->\n{_svg(figure)}".encode()
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=150, bbox_inches="tight", metadata={"Software": PICTURE})
        return buffer.getvalue()


def _measured(metrics: Mapping[str, Sequence[Any]], key: str) -> Curve:
    """Returns the rounds in which a measure was taken, and its values."""
    values = metrics.get(key, [])
    points = [(x, y) for x, y in zip(metrics["round"], values, strict=False) if y is not None]
    return [x for x, _ in points], [y for _, y in points]


def _line(axes: Any, x: Sequence[float], y: Sequence[float], colour: str, name: str) -> None:
    marker = "o" if len(x) < 3 else None  # a short line is hard to see
    axes.plot(x, y, color=colour, label=_plain(name), linewidth=1.6, marker=marker, markersize=3)


def _scale(axes: Any, ylabel: str, log: bool = False, percent: bool = False, xlabel: str = "round") -> None:
    if log:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(ticker.FormatStrFormatter("%g"))
        axes.yaxis.set_minor_formatter(ticker.NullFormatter())
    if percent:
        axes.yaxis.set_major_formatter(ticker.PercentFormatter(1.0))
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)


def bars(values: Mapping[str, float], label: str, errors: Mapping[str, float] | None = None) -> str:
    """Draws one bar per name as SVG, from top to bottom, with error bars if given."""
    with rc_context(_STYLE):
        names = list(values)
        figure = Figure(figsize=(5.2, 0.8 + 0.4 * len(names)))
        axes = figure.subplots()
        axes.barh(
            [_plain(n) for n in names],
            [values[n] for n in names],
            xerr=[errors.get(n, 0.0) for n in names] if errors else None,
            color=[COLOURS[i % len(COLOURS)] for i in range(len(names))],
            height=0.6,
            capsize=4,
        )
        axes.invert_yaxis()
        axes.xaxis.set_major_formatter(ticker.PercentFormatter(1.0, decimals=0))
        axes.set_xlabel(label)
        axes.grid(visible=False, axis="y")
        return _svg(figure)


def clusters(
    groups: Sequence[str], series: Mapping[str, Sequence[float | None]], xlabel: str, ylabel: str
) -> str:
    """Draws bars side by side as SVG, one cluster per group and one colour per series."""
    with rc_context(_STYLE):
        figure = Figure(figsize=(5.2, 3.1))
        axes = figure.subplots()
        width = 0.8 / max(1, len(series))
        for i, (colour, (name, values)) in enumerate(zip(COLOURS, series.items(), strict=False)):
            x = [k + (i - (len(series) - 1) / 2) * width for k in range(len(groups))]
            axes.bar(x, [0 if v is None else v for v in values], width, color=colour, label=name)
        axes.axhline(0, color="#555", linewidth=0.8)
        axes.set_xticks(range(len(groups)), groups, fontsize=7)
        axes.set_xlabel(xlabel)
        axes.set_ylabel(ylabel)
        axes.grid(visible=False, axis="x")
        if len(series) > 1:
            axes.legend()
        return _svg(figure)
