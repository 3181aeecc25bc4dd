"""`tacit federation demo`: a person opens the link, types a few sentences, and trains with four typists."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from served import LONG, Told, until
from tabs import KEEP, Tab

pytestmark = pytest.mark.skipif(
    os.environ.get("TACIT_FEDERATION") != "all", reason="minutes long: `make test-federation`"
)
LINES = [
    "see you at the lake tomorrow",
    "i am late again",
    "bring the red towel",
    "thanks a lot",
    "good night",
]


@contextmanager
def demo(place: Path, rounds: int) -> Iterator[tuple[subprocess.Popen[bytes], str, Path]]:
    """The command, the person's link, and what it has printed."""
    out = place / "said"
    command = [sys.executable, "-m", "tacit", "federation", "demo", "--no-open", "--rounds", str(rounds)]
    with out.open("wb") as said:
        running = subprocess.Popen([*command, "--out", str(place / "demo")], stdout=said, stderr=said)
        try:
            until(lambda: "#join=" in out.read_text("utf-8"), "the link", running, 4 * LONG)
            (link,) = re.findall(r"http://127\.0\.0\.1:\d+/part/#join=\S+", out.read_text("utf-8"))
            yield running, link, out
        finally:
            if running.poll() is None:
                running.send_signal(signal.SIGINT)
            running.wait(60)


def test_a_person_trains_with_four_typists(tmp_path: Path, browser: Any, told: Told) -> None:
    began = time.monotonic()
    with demo(tmp_path, 2) as (running, link, out):
        tab = Tab(browser, link, [])
        tab.page.evaluate(KEEP, LINES)
        tab.join()
        tab.start()

        def trained() -> bool:
            tab.page.wait_for_timeout(200)
            return tab.trained() >= 1

        until(trained, "a round", running, 4 * LONG)
        took = time.monotonic() - began
        until(
            lambda: (tab.page.wait_for_timeout(200), running.poll() is not None)[1],
            "the end",
            None,
            4 * LONG,
        )
    text = out.read_text("utf-8")
    assert running.returncode == 0 and "round 2/2" in text and "abandoned" not in text
    assert "perplexity" in tab.says("after")
    told("The demo, with a person in a browser.", f"Their first round has ended after {took:.0f} s.")


def test_a_person_with_firefox_trains_with_four_typists(tmp_path: Path, firefox: Any, told: Told) -> None:
    with demo(tmp_path, 1) as (running, link, out):
        page = firefox.page()
        page.goto(link)
        page.wait("'ready' in document.documentElement.dataset")
        page.evaluate(KEEP, LINES)
        page.evaluate("() => document.getElementById('join').click()")
        page.wait("document.getElementById('join').hidden && !document.getElementById('start').disabled")
        page.evaluate("() => document.getElementById('start').click()")
        until(
            lambda: page.evaluate("document.getElementById('rounds').textContent") == "1",
            "a round",
            running,
            4 * LONG,
        )
        until(lambda: running.poll() is not None, "the end", None, 4 * LONG)
        page.close()
    assert running.returncode == 0 and "round 1/1" in out.read_text("utf-8")
    told("The demo, with a person in Firefox.", "They trained in a round.")
