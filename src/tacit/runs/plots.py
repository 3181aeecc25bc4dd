"""Plots as inline SVG: they open without network, scale, and can be read in the page's source."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib import ticker

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


def _plain(name: str) -> str:
    """A name as it is: a dollar sign in it is no formula."""
    return name.replace("$", r"\$")


def _svg(figure: Any) -> str:
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)
    return re.sub(r"^.*?(?=<svg)", "", buffer.getvalue(), count=1, flags=re.DOTALL)


def curves(
    lines: Mapping[str, Curve],
    ylabel: str,
    levels: Mapping[str, float] | None = None,
    log: bool = False,
    xlabel: str = "round",
    percent: bool = False,
) -> str:
    """Lines over rounds, with dashed levels for what has no rounds (an n-gram)."""
    with plt.rc_context(_STYLE):
        figure, axes = plt.subplots(figsize=(5.2, 3.1))
        for colour, (name, (x, y)) in zip(COLOURS * 4, lines.items(), strict=False):
            axes.plot(
                x,
                y,
                color=colour,
                label=_plain(name),
                linewidth=1.6,
                marker="o" if len(x) < 3 else None,
                markersize=3,
            )
        others = (COLOURS * 4)[len(lines) :]  # a name has the colour that it has among bars
        for colour, (name, value) in zip(others, (levels or {}).items(), strict=False):
            axes.axhline(value, color=colour, linestyle="--", linewidth=1.2, label=_plain(name))
        if log:
            axes.set_yscale("log")
            axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
            axes.yaxis.set_major_formatter(ticker.FormatStrFormatter("%g"))
            axes.yaxis.set_minor_formatter(ticker.NullFormatter())
        if percent:
            axes.yaxis.set_major_formatter(ticker.PercentFormatter(1.0, decimals=0))
        axes.set_xlabel(xlabel)
        axes.set_ylabel(ylabel)
        if len(lines) + len(levels or {}) > 1:
            axes.legend()
        return _svg(figure)


def bars(values: Mapping[str, float], label: str, errors: Mapping[str, float] | None = None) -> str:
    """One bar for each name, from top to bottom, with error bars where given."""
    with plt.rc_context(_STYLE):
        names = list(values)
        figure, axes = plt.subplots(figsize=(5.2, 0.8 + 0.4 * len(names)))
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
    """Bars side by side: one cluster for each group, one colour for each series."""
    with plt.rc_context(_STYLE):
        figure, axes = plt.subplots(figsize=(5.2, 3.1))
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
