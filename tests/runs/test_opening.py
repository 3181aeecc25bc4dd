"""The opening of a report: a hundred squares, and nothing said that the summary does not say."""

from __future__ import annotations

import re

import pytest

from tacit.runs import plots
from tacit.runs.opening import hundred, opening

TEST = {"top1": 0.333, "top3": 0.4713, "people": 80}


@pytest.mark.parametrize("shares", [(1.0, 0.0, 0.0), (0.005, 0.005, 0.99), (1 / 3, 1 / 3, 1 / 3)])
def test_squares_are_a_hundred_and_none_is_a_square_away_from_its_share(shares: tuple[float, ...]) -> None:
    counts = hundred(dict(zip("abc", shares, strict=True)))
    assert sum(counts.values()) == 100
    assert all(abs(counts[name] - 100 * share) < 1 for name, share in zip("abc", shares, strict=True))


def test_the_picture_and_the_sentence_say_the_same() -> None:
    page = opening(TEST, {"up": 2_214_000, "down": 1}, "ε: none (why)", False, "demo", keys_saved=0.453)
    assert page.count('class="p0"') == 33 + 1 and page.count('class="p1"') == 14 + 1  # and the legend
    assert "offers 47 before" in page and "33 as its first" in page and "presses 55 keys" in page
    assert "2.21 MB a round" in page and "tacit serve demo" in page


def test_only_a_run_without_noise_is_warned_of() -> None:
    def said(private: bool, sent: dict[str, int] | None) -> str:
        return opening(TEST, sent, "ε", private, "<b> $x", None)

    sent = {"up": 1, "down": 1}
    assert "give away" in said(False, sent) and "give away" not in said(True, sent)
    assert "pooled text" in said(False, None) and "no text" not in said(False, None)
    assert "<b> $x" not in said(True, sent) and "keys instead" not in said(True, sent)


def test_a_plot_follows_the_colours_of_its_page() -> None:
    svg = plots.curves({"one": ([1, 2], [3.0, 4.0]), "two": ([1, 2], [4.0, 3.0])}, "y")
    themed = plots.themed(svg)
    assert "#ffffff" in svg and not re.search("#(ffffff|000000)", themed)
    named = set(re.findall(r"var\((--c\d)\)", themed))
    assert named == {"--c0", "--c1"} and all(f"{name}: " in plots.colour_variables() for name in named)
