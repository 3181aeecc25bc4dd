"""Tabs of a real Chromium and Python clients at one server: the simulator's model, and faults within rounds."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from served import LONG, Served, Told, assert_like_the_simulator, until
from tabs import Tab

pytestmark = pytest.mark.skipif(
    os.environ.get("TACIT_FEDERATION") != "all", reason="minutes long: `make test-federation`"
)
NAMES, TABS = ("ana", "ben", "cem", "dua"), ("tom", "uta", "vic", "wim")
MASKED = ("privacy.mechanism=clipped", "privacy.clip=0.5", "privacy.secure=true", "privacy.least=5")
SETS = [part for key in (*MASKED, "training.evaluate_every=100") for part in ("--set", key)]


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server and four Python clients that have come; four people with a browser are invited."""
    pytest.importorskip("flwr")
    one = Served(tmp_path_factory.mktemp("tabs"), NAMES, tabs=TABS)
    try:
        one.serve("--browsers", one.pages)
        one.join(*NAMES)
        one.until_joined(len(NAMES))
        yield one
    finally:
        one.end()


@pytest.fixture(scope="module")
def tabs(mixed: Served, browser: Any) -> Iterator[dict[str, Tab]]:
    """Four tabs that have joined and come."""
    found = {name: Tab(browser, mixed.links[name], mixed.text(name)) for name in TABS}
    for tab in found.values():
        tab.join()
        tab.start()
    for tab in found.values():
        tab.until("waiting", 2 * LONG)
    yield found
    for tab in found.values():
        tab.close()


def follow(mixed: Served, tabs: dict[str, Tab], running: Any, seconds: float = 4 * LONG) -> None:
    """Waits until a run ends, and lets the pages' events be heard meanwhile."""

    def ended() -> bool:
        next(iter(tabs.values())).page.wait_for_timeout(200)
        return running.poll() is not None

    until(ended, "the run ends", None, seconds)
    assert running.returncode == 0, mixed.said(running)


def summary(out: Path) -> dict[str, Any]:
    said: dict[str, Any] = json.loads((out / "summary.json").read_text("utf-8"))
    return said


def test_four_tabs_and_four_clients_give_the_simulators_model(
    mixed: Served, tabs: dict[str, Tab], told: Told
) -> None:
    out = mixed.folder / "mixed"
    running = mixed.start(*mixed.settings(3, out, *SETS, "--deadline", 120))
    follow(mixed, tabs, running, 8 * LONG)
    assert "round 3/3" in mixed.said(running) and "abandoned" not in mixed.said(running)
    # the sums differ by rounding of at most 8 · 2⁻⁵⁹ · 0.5 before they become float32, and the tabs' float32 from JAX's
    assert_like_the_simulator(mixed, out, 1e-6)
    for tab in tabs.values():
        assert tab.trained() == 3 and tab.complaints == [] and tab.says("rounds") == "3"
        assert all(line["clients"] == 8 for line in tab.journal() if line["ended"] == "answered")
    assert summary(out)["refused"] == {} and summary(out)["test"]["perplexity"] > 1
    told("Four tabs and four Python clients, three masked rounds.", "The simulator's model within 1e-6.")


def test_a_tab_that_is_closed_in_the_middle_of_a_round(
    mixed: Served, tabs: dict[str, Tab], told: Told
) -> None:
    out, gone = mixed.folder / "closed", tabs["wim"]
    running = mixed.start(*mixed.settings(2, out, *SETS, "--deadline", 120))
    until(lambda: _said(gone, "Masks agreed"), "it is in the sum", running, 2 * LONG)
    gone.page.close()
    follow(mixed, tabs, running, 8 * LONG)
    assert "abandoned" not in mixed.said(running) and len(mixed.rounds(out)) == 2
    gone.page = gone.open()  # what it knew is still there
    assert gone.says("count") == str(len(mixed.text("wim"))) and "has joined as wim" in gone.says("member")
    gone.start()
    gone.until("waiting", LONG)
    told(
        "A tab is closed in the middle of a round.",
        "The round ends without it; its key and sentences are still there.",
    )


def test_a_tab_that_is_reloaded_in_the_middle_of_a_round(
    mixed: Served, tabs: dict[str, Tab], told: Told
) -> None:
    out, again = mixed.folder / "reloaded", tabs["vic"]
    before = again.trained()
    running = mixed.start(*mixed.settings(3, out, *SETS, "--deadline", 120))
    until(lambda: _said(again, "Masks agreed"), "it is in the sum", running, 2 * LONG)
    again.page.reload()
    again.page.wait_for_selector("html[data-ready]")
    again.start()
    follow(mixed, tabs, running, 8 * LONG)
    assert "abandoned" not in mixed.said(running) and len(mixed.rounds(out)) == 3
    assert again.trained() > before  # it was in a later round
    told(
        "A tab is reloaded in the middle of a round.", "The round ends without it, and it is in a later one."
    )


def test_a_server_that_goes_and_comes_back(mixed: Served, tabs: dict[str, Tab], told: Told) -> None:
    tab = tabs["tom"]
    (server,) = [one for one in mixed.processes if one.args[3:5] == ["federation", "server"]]
    mixed.call("stop", mixed.home)
    server.wait(60)
    until(lambda: _said(tab, "cannot be reached"), "it is said", None, LONG)
    assert "Nothing is lost" in tab.says()
    mixed.serve("--browsers", mixed.pages)
    until(lambda: _said(tab, "Connected again"), "it comes back by itself", None, LONG)
    told("The server goes and comes back.", "The page says so, and comes back by itself.")


def test_a_tab_that_was_removed_is_told(mixed: Served, tabs: dict[str, Tab], told: Told) -> None:
    mixed.call("remove", mixed.home, "uta")
    tabs["uta"].until("refused", LONG)
    assert "does not know this browser's key" in tabs["uta"].says()
    told("A tab's key is removed.", "The page says so in words, and stops.")


def _said(tab: Tab, words: str) -> bool:
    tab.page.wait_for_timeout(100)
    return words in tab.says()
