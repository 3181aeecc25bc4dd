"""Models, servers and a browser for the tests of the page. Without Chromium or Playwright the browser's tests skip."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hands import PATIENCE
from page_site import Small, Visit, kneser_ney, running

from tacit.page import building, server
from tacit.page.models import PageModel


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Small:
    return kneser_ney(tmp_path_factory.mktemp("page") / "small.tacit", "lower")


@pytest.fixture(scope="session")
def cased(tmp_path_factory: pytest.TempPathFactory) -> Small:
    return kneser_ney(tmp_path_factory.mktemp("page") / "cased.tacit", "keep", users=20)


@pytest.fixture(scope="session")
def exported(trained: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The 8-bit network of a run, as `tacit export` writes it."""
    file = tmp_path_factory.mktemp("network") / "network.tacit"
    assert building.exported(trained.path, file)
    return file


@pytest.fixture(scope="session")
def address(small: Small, cased: Small) -> Iterator[str]:
    """The page with two models, one word blocked."""
    shown = [
        PageModel("small", "Small", "without capitals", small.path.read_bytes()),
        PageModel("cased", "Cased", "with capitals", cased.path.read_bytes()),
    ]
    with running(server.site(shown, blocked=["tomorrow"])) as found:
        yield found


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Visit]]:
    """Open the page of an address and wait until it can be typed on."""
    contexts = []

    def go(address: str, **options: Any) -> Visit:
        plain = {"viewport": {"width": 1100, "height": 900}, "reduced_motion": "reduce"}
        options = {**plain, "service_workers": "block", **options}  # test_installed.py lets them work
        context = browser.new_context(**options)
        contexts.append(context)
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        seen = Visit(page, [], [])
        page.on("request", lambda request: seen.requests.append(request.url))
        page.on("console", lambda said: seen.complaints.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: seen.complaints.append(str(error)))
        page.goto(address)
        page.wait_for_selector("html[data-ready]")
        return seen

    yield go
    for context in contexts:
        context.close()


@pytest.fixture
def page(visit, address):
    seen = visit(address)
    yield seen.page
    assert seen.complaints == []
