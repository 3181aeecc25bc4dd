"""What is printed: nothing of a name or a word reaches the terminal as a command to it, nor a page as markup."""

from __future__ import annotations

import doctest
import re
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit as package
from commands import Commands, Trained
from tacit.base import errors, printable
from tacit.cli.options import print_table
from tacit.runs import plots

NASTY = "a\x1b]0;title\x07\x9b31m\u202e<b>\udcff"
SHOWN = r"a\x1b]0;title\x07\x9b31m\u202e<b>\xff"


@given(st.text(st.characters(), max_size=20))
def test_nothing_that_controls_a_terminal_is_left(text: str) -> None:
    shown = printable.printable(text)
    assert all(c in "\n\t" or (ord(c) >= 32 and not 127 <= ord(c) < 160) for c in shown)
    shown.encode()  # no half of a character
    assert not re.search("[\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]", shown)
    assert printable.printable(shown) == shown
    if text.isprintable():
        assert shown == text
    line = printable.one_line(text)
    assert len(line.splitlines()) <= 1 and "<" not in printable.html_text(text)


def test_the_examples_of_these_modules_hold() -> None:
    assert doctest.testmod(printable).failed == doctest.testmod(errors).failed == 0
    assert len(printable.one_line("x" * 10**6)) < 5000


def test_commands_print_names_escaped(
    tmp_path: Path, tacit: Commands, trained: Trained, capfd: pytest.CaptureFixture[str]
) -> None:
    tacit("evaluate", tmp_path / NASTY).refused(SHOWN)
    tacit("train", NASTY).refused()
    run = tmp_path / NASTY
    shutil.copytree(trained.path, run)
    out = tacit.ok("compare", run, "--out", run / "page.html")
    assert out.count(SHOWN) == 2 and not set("\x1b\x07\x9b\u202e") & set(out)
    page = (run / "page.html").read_text("utf-8")
    assert not set("\x1b\x07\x9b\u202e") & set(page) and "<b>" not in page and page.count("a\\x1b]0;") >= 2
    print_table([["word"], [NASTY]], title=NASTY)
    assert capfd.readouterr().out.count(SHOWN) == 2


def test_everything_that_commands_print_is_made_printable() -> None:
    """Printing is done in one place; JSON escapes by itself, and the version is ours."""
    cli = Path(package.__file__).parent / "cli"
    lines = [
        line.strip() for file in sorted(cli.glob("*.py")) for line in file.read_text("utf-8").splitlines()
    ]
    printing = [line for line in lines if re.search(r"\becho\(|\bprint\(", line)]
    assert printing == [
        "typer.echo(__version__)",
        'print(f"tacit: {one_line(message)}", file=sys.stderr, flush=True)',
        "typer.echo(printable(text))",
        "console.print(table, markup=False)",
        "typer.echo(to_json(value))",
    ]
    escaping = [file for file in cli.parent.rglob("*.py") if "html.escape(" in file.read_text("utf-8")]
    assert [file.name for file in escaping] == ["printable.py"]


def test_a_plot_of_names_that_no_font_has_is_silent(recwarn: pytest.WarningsRecorder) -> None:
    svg = plots.bars({"日本語😀": 0.5, NASTY: 0.25, "$x$": 0.1}, "label")
    assert "日本語😀" in svg and not recwarn.list and "<b>" not in svg


def test_an_error_is_one_line_whatever_it_quotes() -> None:
    from tacit.base.errors import TacitError

    assert str(TacitError("no file 'a\nb\x1b[2J'")) == "no file 'a b\\x1b[2J'"
