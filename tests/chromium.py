"""One Chromium for all tests of a process: Playwright cannot be started twice in one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

PATIENCE = 60_000  # milliseconds


def path() -> str:
    """Where the system's Chromium is."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    pytest.skip(
        "Chromium is not installed; `make browser` installs it where it may (apt-get install chromium)"
    )


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A Chromium without a window. Without Chromium or Playwright the test skips."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        pytest.skip("Playwright is not installed: pip install -e '.[dev]'")
    found = path()
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"], timeout=PATIENCE)
        yield started
        started.close()
