"""The page in a real browser asks nobody for anything once it is there, and says what is wrong with a model."""

from __future__ import annotations

import struct

import pytest
from hands import bar, glide, tap, text
from page_site import Counted, running

from tacit.keyboard import suggestions
from tacit.page import server
from tacit.page.files import tuning
from tacit.page.models import PageModel


def test_no_request_after_loading_and_the_browser_refuses_any(visit, small):
    files = Counted(server.site([PageModel("a", "A", "", small.path.read_bytes())]))
    with running(files) as address:
        seen = visit(address)
        loaded, asked = list(seen.requests), len(files.asked)
        assert {url.removeprefix(address) for url in loaded if url.startswith("http")} == {
            name.removeprefix("/") for name in files.keys() - tuning().keys() - {"/index.html", "/worker.js"}
        }
        tap(seen.page, "see you ")
        glide(seen.page, "thanks")
        seen.page.get_by_role("button", name="Clear the message").click()
        assert seen.requests == loaded and seen.complaints == [] and len(files.asked) == asked
        assert seen.page.locator("#requests").text_content() == "0"
        tries = seen.page.evaluate(
            """async () => {
              const failed = promise => promise.then(() => 'went through', () => 'refused');
              const image = new Image();
              const drawn = new Promise((yes, no) => { image.onload = yes; image.onerror = no; });
              image.src = 'data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=';
              return [await failed(fetch('models.json')), await failed(fetch('https://example.org/')),
                await failed(import('./words.js?again')), await failed(drawn),
                await failed((async () => { new WebSocket('ws://127.0.0.1:1/'); throw 0; })()),
                navigator.sendBeacon('models.json', 'secret') ? 'queued' : 'refused'];
            }"""
        )
        assert tries[:4] == ["refused"] * 4
        seen.page.wait_for_timeout(100)
        assert len(files.asked) == asked, "a request reached the server"


def test_nothing_can_be_typed_before_the_door_is_shut(browser, address):
    context = browser.new_context()
    try:
        page, held = context.new_page(), []
        page.route("**/model-1.tacit", lambda route: held.append(route))  # a model that takes its time
        page.goto(address, wait_until="commit")
        page.locator("#keys button").first.wait_for()
        page.locator("#message").click(force=True)
        page.keyboard.type("secret")
        page.locator("[data-key=h]").click(force=True)
        assert text(page) == "" and page.locator("meta[http-equiv]").count() == 0
        while not held:
            page.wait_for_timeout(20)
        held[0].continue_()
        page.wait_for_selector("html[data-ready]")
        page.keyboard.type("secret")
        assert text(page) == "Secret" and page.locator("meta[http-equiv]").count() == 1
    finally:
        context.close()


def test_it_works_on_after_the_server_is_gone(visit, small, cased):
    shown = [PageModel(n, n, "", m.path.read_bytes()) for n, m in (("small", small), ("cased", cased))]
    with running(server.site(shown)) as address:
        seen = visit(address)
    tap(seen.page, "see you")
    tap(seen.page, " ")
    assert all(bar(seen.page))
    seen.page.get_by_role("radio", name="cased").check()
    asked = suggestions.open(cased.path)
    assert bar(seen.page) == [s.word for s in asked.next_words("See you ", 3)]
    glide(seen.page, "thanks")
    assert "hanks" in text(seen.page) and seen.complaints == []


def test_models_that_cannot_be_used_are_named_and_the_others_work(visit, small):
    good = small.path.read_bytes()
    newer = bytearray(good)
    struct.pack_into("<I", newer, 8, 2)
    shown = [
        PageModel("newer", "Newer", "", bytes(newer)),
        PageModel("cut", "Cut", "", good[:-10]),
        PageModel("empty", "Empty", "", b""),
        PageModel("good", "Good", "", good),
    ]
    with running(server.site(shown, problems=["Something else"])) as address:
        seen = visit(address)
    alert = seen.page.get_by_role("alert").first
    said = alert.text_content()
    for part in ("Something else", "“Newer”", "version 2", "“Cut”", "“Empty”", "is empty"):
        assert part in said
    assert "“Good”" not in said
    tap(seen.page, "see ")
    assert all(bar(seen.page)) and seen.complaints == []


@pytest.mark.parametrize("broken", ["no models", "no list", "a model is missing"])
def test_without_any_model_the_keys_still_type(visit, small, broken):
    files = dict(
        server.site([] if broken == "no models" else [PageModel("a", "A", "", small.path.read_bytes())])
    )
    if broken == "no list":
        del files["/models.json"]
    if broken == "a model is missing":
        del files["/model-0.tacit"]
    with running(files) as address:
        seen = visit(address)
    said = seen.page.get_by_role("alert").first.text_content()
    assert {"no models": "No model", "no list": "list of models", "a model is missing": "404"}[broken] in said
    tap(seen.page, "hi ")
    glide(seen.page, "thanks")
    assert text(seen.page).lower().startswith("hi ") and bar(seen.page) == ["", "", ""]
    assert all("404" in complaint for complaint in seen.complaints)  # the browser's own note of the answer
