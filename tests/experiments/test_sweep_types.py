"""Sweep files with values of other types than their keys have: one line each, and no internal error."""

from __future__ import annotations

import pytest

from tacit.base.errors import TacitError
from tacit.experiments.entry import find

GOOD = """
[settings]
preset = "fedadam"
[[grid]]
label = "rate {server.lr}"
"server.lr" = [0.01, 0.05]
[[metrics]]
name = "perplexity"
label = "test perplexity"
form = "{:.1f}"
"""


def test_the_plain_file_is_read(tmp_path):
    (tmp_path / "mine.toml").write_text(GOOD)
    assert [row.label for row in find(str(tmp_path / "mine.toml")).rows] == ["rate 0.01", "rate 0.05"]


@pytest.mark.parametrize(
    "change",
    [
        ('[settings]\npreset = "fedadam"', "settings = 3"),
        ('[settings]\npreset = "fedadam"', 'title = 3\n[settings]\npreset = "fedadam"'),
        ('[settings]\npreset = "fedadam"', 'seeds = "many"\n[settings]\npreset = "fedadam"'),
        ('[settings]\npreset = "fedadam"', 'seeds = 99999999999\n[settings]\npreset = "fedadam"'),
        ('[settings]\npreset = "fedadam"', "quick = [1]"),
        ('[settings]\npreset = "fedadam"', "choices = {a = 3}"),
        ('[settings]\npreset = "fedadam"', "published = {perplexity = 3}"),
        ('label = "rate {server.lr}"', "label = 3"),
        ('label = "rate {server.lr}"', "label = [1]"),
        ('label = "rate {server.lr}"', ""),
        ('name = "perplexity"', "name = 3"),
        ('name = "perplexity"', "name = [1]"),
        ('form = "{:.1f}"', "form = 1"),
        ('form = "{:.1f}"', "better = 1"),
        ('"server.lr" = [0.01, 0.05]', "\n".join(f'"a{i}" = {list(range(50))}' for i in range(9))),
        ('"server.lr" = [0.01, 0.05]', f'"server.lr" = {"9" * 5000}'),
        ('"server.lr" = [0.01, 0.05]', f'"server.lr" = {"[" * 5000}'),
    ],
)
def test_other_types_are_told(tmp_path, change):
    assert change[0] in GOOD
    (tmp_path / "mine.toml").write_text(GOOD.replace(*change))
    with pytest.raises(TacitError, match="experiment 'mine'") as error:
        find(str(tmp_path / "mine.toml"))
    assert "\n" not in str(error.value)
