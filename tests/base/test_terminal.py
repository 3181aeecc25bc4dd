"""Progress on a terminal: what a bar shows, that it fits 80 columns, and what is loaded for it."""

from __future__ import annotations

import io
import re
import subprocess
import sys

import pytest
from rich.console import Console

from commands import Processes
from tacit.base import terminal
from tacit.base.progress import stage


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What a terminal of 80 columns shows."""
    written = io.StringIO()
    narrow = Console(file=written, force_terminal=True, highlight=False, emoji=False, width=80)
    monkeypatch.setattr(terminal, "console", narrow)
    monkeypatch.setattr(terminal, "_WAIT", -1)
    return written


def lines(written: io.StringIO) -> list[str]:
    """The lines of a screen without colours and movements of the cursor."""
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written.getvalue())
    return re.split(r"[\r\n]", shown)


def test_a_bar_shows_what_is_done_and_how_much(screen: io.StringIO) -> None:
    with terminal.progress_bar() as progress:
        progress("round 3 of 4: 12 words, 2 new", 0.75)
    assert any("round 3 of 4: 12 words, 2 new" in line and "75%" in line for line in lines(screen))


def test_words_like_markup_are_words_on_the_bar(screen: io.StringIO) -> None:
    with terminal.progress_bar() as progress:
        progress("[/x] [bold]:cat:", 0.5)
    bar = terminal.rounds_bar()
    with bar:
        bar.add_task("loss [red]:dog:", name="[/y]", total=2)
    shown = "\n".join(lines(screen))
    assert "[/x] [bold]:cat:" in shown and "[/y]" in shown and "loss [red]:dog:" in shown


def test_bars_fit_80_columns(screen: io.StringIO) -> None:
    with terminal.progress_bar() as progress:
        progress("a long account of what is being done " * 4, 0.5)
    bar = terminal.rounds_bar()
    with bar:
        bar.add_task("loss 3.217  perplexity 151.3  top-1 12.3%", name="fedavg", total=1000, completed=100)
    shown = lines(screen)
    assert any("…" in line for line in shown) and all(len(line) <= 80 for line in shown)
    assert any("100/1000" in line and "top-1 12.3%" in line for line in shown)  # nothing is cut there


def test_a_bar_comes_back_for_the_next_work(screen: io.StringIO) -> None:
    with terminal.progress_bar() as progress:
        progress("reading", 0.5)
        progress("reading", 1.0)
        before = len(screen.getvalue())
        progress("splitting", 0.25)
    after = "\n".join(lines(io.StringIO(screen.getvalue()[before:])))
    assert "splitting" in after and "25%" in after


def test_a_stage_reports_its_part_of_the_whole() -> None:
    heard: list[tuple[str, float]] = []
    whole = stage(lambda what, share: heard.append((what, share)), 0.25, 0.75, "all")
    stage(whole, 0.5, 1.0, "inner")("work", 0.5)
    assert heard == [("all", 0.625)]


def test_a_progress_callback_loads_neither_jax_nor_rich(process: Processes) -> None:
    program = "import sys; sys.modules['jax'] = sys.modules['rich'] = None; import tacit.base.progress"
    subprocess.run([sys.executable, "-c", program], env=process.environment, check=True)
    program = "import sys; sys.modules['jax'] = None; import tacit.base.terminal"
    subprocess.run([sys.executable, "-c", program], env=process.environment, check=True)


def test_without_a_terminal_each_stage_is_a_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal, "console", Console(file=io.StringIO(), force_terminal=False))
    monkeypatch.setattr(terminal, "_APART", 0.0)
    with terminal.progress_lines() as progress:
        for what, share in (("one", 0.0), ("one", 0.3), ("two", 0.5), ("three", 1.0)):
            progress(what, share)
    assert capsys.readouterr() == ("one …\ntwo …\n", "")
    monkeypatch.setattr(terminal, "_APART", 1000.0)
    with terminal.progress_lines() as progress:
        for k in range(100):
            progress(f"step {k}", k / 100)
    assert capsys.readouterr() == ("step 0 …\n", "")
