"""The page with its service worker: it loads without its server, asks for nothing in between, and can be installed."""

from __future__ import annotations

import base64
import json
from urllib.parse import unquote

import pytest
from hands import bar, text, until
from page_site import Counted, running

from tacit.page import server
from tacit.page.files import Answer, tuning
from tacit.page.models import Mix, PageModel

WORKS = {"service_workers": "allow"}


@pytest.fixture
def site(small, cased):
    files = server.site(
        [
            PageModel("a", "Small", "first", small.path.read_bytes(), made="2026-11-09"),
            PageModel("b", "Cased", "other", cased.path.read_bytes(), compare=True),
        ],
        capitals={"london": "London"},
    )
    return Counted(files)


def test_it_loads_again_without_its_server_and_says_how_old_it_is(visit, site, monkeypatch):
    monkeypatch.setattr(server, "SECONDS", 3.0)  # a thread that is left over answers no longer
    with running(site) as address:
        seen = visit(address, **WORKS)
        page = seen.page
        assert "November 9, 2026" in page.locator("#age").text_content()
        assert "/model-0.tacit" in site.asked and site.asked.count("/worker.js") == 1
        for _ in range(2):  # the worker sees the second load and keeps it anew
            asked = len(site.asked)
            page.wait_for_timeout(2500)  # a browser looks for a newer worker a second after a load
            assert len(site.asked) == asked, site.asked[asked:]
            page.reload()
            page.wait_for_selector("html[data-ready]")
        page.wait_for_timeout(2500)
        assert site.asked.count("/worker.js") == 1
    page.wait_for_timeout(3500)
    page.reload()  # the server is gone
    page.wait_for_selector("html[data-ready]")
    page.keyboard.type("see ")
    assert text(page) == "See " and all(bar(page))
    said = page.locator("#age").text_content()
    assert "The server did not answer" in said and "today" in said
    assert page.locator("meta[http-equiv]").count() == 1  # and nothing can be asked for here, either
    assert all("ERR_CONNECTION_REFUSED" in complaint for complaint in seen.complaints), seen.complaints
    assert page.evaluate("fetch('models.json').then(() => 'went through', () => 'refused')") == "refused"


def test_the_store_holds_the_files_of_the_page_and_no_more(visit, site):
    with running(site) as address:
        page = visit(address, **WORKS).page
        page.keyboard.type("my secret ")
        stored = (
            "caches.open('tacit-page').then(s => s.keys()).then(all => all.map(r => new URL(r.url).pathname))"
        )
        wanted = site.keys() - {"/index.html", "/worker.js", "/model-1.tacit", *tuning()}
        assert set(page.evaluate(stored)) == wanted
        page.goto(f"{address}?compare")
        page.wait_for_selector("html[data-ready]")
        until(page, lambda: set(page.evaluate(stored)) == wanted | {"/model-1.tacit"})
        site["/again"] = Answer("text/plain", b"hello")
        assert page.evaluate("navigator.serviceWorker.controller.scriptURL").startswith(
            f"{address}worker.js?"
        )
        page.goto(address)
        page.wait_for_selector("html[data-ready]")
        until(page, lambda: set(page.evaluate(stored)) == wanted)  # a model that is not shown is removed


def test_it_can_be_installed(visit, site):
    with running(site) as address:
        page = visit(address, **WORKS).page
        told = page.locator("link[rel=manifest]").get_attribute("href")
        facts = json.loads(unquote(told.partition(",")[2]))
        assert facts["start_url"] == facts["scope"] == address and facts["display"] == "standalone"
        icon = base64.b64decode(facts["icons"][0]["src"].partition(",")[2])
        assert icon == server.page_files()["icon.png"].body
        tools = page.context.new_cdp_session(page)
        found = tools.send("Page.getAppManifest")
        assert found["errors"] == [] and "Tacit keyboard" in found["data"]
        missing = [e["errorId"] for e in tools.send("Page.getInstallabilityErrors")["installabilityErrors"]]
        assert [e for e in missing if e != "in-incognito"] == []


def test_models_to_compare_with_are_loaded_when_they_are_wanted(visit, small, cased):
    data = small.path.read_bytes()
    shown = [
        PageModel("a", "Small", "", data),
        PageModel("b", "Cased", "", cased.path.read_bytes(), compare=True),
        PageModel("m", "Mixed", "", b"", compare=True, mix=Mix("a", "b", 0.3)),  # neither is a network
    ]
    with running(server.site(shown)) as address:
        seen = visit(address)
        page = seen.page
        assert page.get_by_role("radio").count() == 1 and not any("model-1" in url for url in seen.requests)
        page.get_by_role("link", name="Load 2 more to compare with").click()
        page.wait_for_selector("html[data-ready]")
        assert page.get_by_role("radio").count() == 2 and page.locator("#others").is_hidden()
        assert seen.complaints == []
