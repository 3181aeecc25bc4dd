"""Keys that people look for: caps lock, marks, emoji, two spaces; a high tap, a small phone, arrows between keys."""

from __future__ import annotations

import pytest
from hands import bar, erase, key, learnt, tap, text, until
from network_vectors import network
from page_site import running

from tacit.lm.network8 import reader, writer
from tacit.models import ModelConfig
from tacit.page import server
from tacit.page.models import PageModel
from tacit.text.vocabulary import BOS


def test_shift_pressed_twice_is_caps_lock_also_at_the_start_of_a_sentence(page):
    key(page, "Shift").dblclick()
    assert key(page, "Caps lock").get_attribute("aria-pressed") == "true"
    tap(page, "no way ")
    assert text(page) == "NO WAY " and all(word == word.upper() for word in bar(page))
    key(page, "Caps lock").click()
    tap(page, "ok")
    assert text(page) == "NO WAY ok"


def test_two_spaces_are_a_full_stop_that_backspace_takes_back(page):
    tap(page, "see you  ")
    assert text(page) == "See you. "
    tap(page, "ok")
    assert text(page) == "See you. Ok"  # a sentence starts
    for _ in range(2):
        key(page, "Backspace").click()
    tap(page, " ")  # not after a full stop, nor later
    assert text(page) == "See you.  "
    page.get_by_role("button", name="Clear the message").click()
    page.keyboard.type("see you  ")
    assert text(page) == "See you. "
    page.keyboard.press("Backspace")
    assert text(page) == "See you  "
    page.keyboard.type(" ")
    assert text(page) == "See you   "
    page.keyboard.press("Control+z")
    assert text(page) == "See you  "


@pytest.mark.parametrize("layers", [["123"], ["123", "more"]])
def test_marks_are_on_the_keys(page, layers):
    marks = {"123": "1234567890-/:;()$&@\"?!#%*_£,'.", "more": "[]{}<>^~|\\+=€¥¢°…–•`"}[layers[-1]]
    for layer in layers:
        page.locator(f".key[data-key='{layer}']").click()
    for mark in marks:
        box = page.locator("#keys .key").and_(
            page.locator(f'[data-key="{mark}"]' if mark not in '"\\' else "*")
        )
        found = [e for e in box.all() if e.get_attribute("data-key") == mark]
        found[0].click()
    assert text(page) == marks
    page.locator(".key[data-key='abc']").click()
    tap(page, "a")
    assert text(page).endswith("a")


def test_the_emoji_key_shows_those_that_the_model_expects_first(visit, tmp_path):
    file = network(tmp_path / "plain.tacit", ModelConfig(hidden=8, embedding=8), 30)
    stored = reader.open(file)
    words, config = stored.vocabulary, ModelConfig(hidden=8, embedding=8)
    _, params = writer.as_model(stored)
    bias = params["output_bias"]
    params["output_bias"] = bias.at[words.index["🙂"]].set(float(bias.max()) + 3)
    expecting = tmp_path / "expecting.tacit"
    writer.write(expecting, words, config, params, name="likes to smile")
    shown = [PageModel("a", "A", "", expecting.read_bytes()), PageModel("b", "B", "", file.read_bytes())]
    with running(server.site(shown)) as address:
        page = visit(address).page
        assert "🙂" in bar(page)  # by its own probability
        page.locator(".key[data-key='emoji']").click()
        keys = page.locator("#keys .key.mark")
        assert keys.first.get_attribute("data-key") == "🙂" and keys.count() == 32
        keys.first.click()
        keys.nth(1).click()
        second = keys.nth(1).get_attribute("data-key")
        assert text(page) == f"🙂{second}"
        key(page, "Backspace").click()
        assert text(page) == "🙂"  # as a person sees it
        key(page, "Letters").click()
        tap(page, "a")
        assert reader.open(expecting).words[BOS] == "<s>"


def test_a_high_tap_on_the_top_row_hits_its_key(page):
    for name in "qtp":
        box, holder = key(page, name).bounding_box(), page.locator("#bar").bounding_box()
        page.mouse.click(box["x"] + box["width"] / 2, holder["y"] + holder["height"] - 6)
    assert text(page) == "Qtp"
    middle = page.locator("#bar button").nth(1)
    offered = middle.text_content()
    box = middle.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert not offered or text(page).strip().endswith(offered.strip("“”"))


@pytest.mark.parametrize("size", [(320, 568), (360, 640), (390, 844), (320, 500)])
def test_a_phone_shows_the_text_the_bar_and_all_rows(visit, address, size):
    page = visit(address, viewport={"width": size[0], "height": size[1]}).page
    for part in ("#message", "#bar", "#keys"):
        box = page.locator(part).bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] <= size[1], part
    last = key(page, "Space").bounding_box()
    assert last["height"] >= 40 and last["y"] + last["height"] <= size[1]
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    for word in page.locator("#bar button").all():
        assert word.bounding_box()["height"] >= 40


def test_the_keys_are_one_tab_stop_and_arrows_go_between_them(page):
    stops = "[...document.querySelectorAll('#keys .key')].filter(key => key.tabIndex === 0).length"
    assert page.evaluate(stops) == 1
    name = "document.activeElement.getAttribute('aria-label')"
    key(page, "g").focus()
    for press, wanted in (
        ("ArrowRight", "h"),
        ("ArrowUp", "y"),
        ("ArrowUp", "y"),
        ("ArrowDown", "g"),
        ("ArrowDown", "v"),
        ("ArrowDown", "Space"),
        ("End", "Enter"),
        ("ArrowRight", "Enter"),
        ("Home", "Numbers and marks"),
        ("ArrowUp", "Shift"),
    ):
        page.keyboard.press(press)
        assert page.evaluate(name) == wanted, press
    assert page.evaluate(stops) == 1
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert text(page) == "Z" and page.evaluate(name) == "z"
    page.keyboard.press("Tab")
    assert not page.evaluate("document.activeElement.closest('#keys') !== null")
    page.keyboard.press("Shift+Tab")
    assert page.evaluate(name) == "z"  # where one was
    reached = 0
    page.locator("#theme").focus()
    while page.evaluate("document.activeElement !== document.body") and reached < 40:
        page.keyboard.press("Tab")
        reached += 1
    assert reached < 20


def test_erase_asks_first_and_one_word_can_be_forgotten(page):
    page.keyboard.type("my secret is safe with my friend\n")
    count = int(learnt(page))
    page.get_by_role("button", name="Erase", exact=True).click()
    assert f"all {count} words" in page.locator("#sure").text_content()
    page.keyboard.press("Enter")  # the safe answer has the focus
    assert int(learnt(page)) == count and page.locator("#sure").is_hidden()
    page.locator("#inside summary").click()
    page.get_by_role("button", name="Forget secret").click()
    assert int(learnt(page)) == count - 1
    until(page, lambda: "secret" not in (page.evaluate("localStorage.getItem('tacit.words')") or "secret"))
    assert "secret" not in page.locator("#contents").text_content()
    assert page.get_by_role("button", name="Forget friend").count() == 1
    erase(page)
    assert page.evaluate("localStorage.getItem('tacit.words')") is None
    page.get_by_role("button", name="Erase", exact=True).click()
    assert page.locator("#sure").is_hidden() and "nothing" in page.locator("#said").text_content()


def test_names_have_their_capitals(visit, small):
    files = server.site(
        [PageModel("a", "A", "", small.path.read_bytes())], capitals={"monday": "Monday", "you": "You"}
    )
    with running(files) as address:
        page = visit(address).page
        tap(page, "on monda")
        assert "Monday" in bar(page)
        tap(page, "y ")
        assert text(page) == "On Monday "
        page.keyboard.type("see ")
        assert "You" in bar(page)
