"""What the page learns from typing, in a real browser: only what was typed, and only until it is erased."""

from __future__ import annotations

import json

import pytest
from hands import bar, erase, learnt, settle, text, until


def test_the_cache_learns_stays_is_shown_exported_and_erased(visit, address, tmp_path):
    seen = visit(address)
    page = seen.page
    page.wait_for_timeout(500)  # longer than the page takes to store what it began with
    for _ in range(8):
        page.keyboard.type("grzmblf 1234 ")
    page.keyboard.press("Enter")
    page.keyboard.type("gr")
    assert "Grzmblf" in bar(page)  # a word that no model knows
    page.locator("#inside summary").click()
    page.locator("#contents p").first.wait_for()
    assert "grzmblf8" in page.locator("#contents").text_content()
    assert "1234" not in page.locator("#contents").text_content()  # numbers are not kept
    with page.expect_download() as download:
        page.locator("#export").click()
    download.value.save_as(tmp_path / "words.json")
    exported = json.loads((tmp_path / "words.json").read_text())
    assert exported["format"] == "tacit personal cache 1" and len(exported["entries"]) == 8
    stored = "localStorage.getItem('tacit.words')"  # soon, not only when the page is left
    until(page, lambda: "grzmblf" in (page.evaluate(stored) or ""))
    page.reload()
    page.wait_for_selector("html[data-ready]")
    page.keyboard.type("gr")
    assert "Grzmblf" in bar(page)  # it stayed in the browser
    page.get_by_label("Learn from what I type here").uncheck()
    assert "Grzmblf" not in bar(page)
    page.get_by_label("Learn from what I type here").check()
    erase(page)
    assert "Grzmblf" not in bar(page) and page.evaluate("localStorage.getItem('tacit.words')") is None
    assert seen.complaints == []


def test_a_list_that_is_cut_says_so(visit, address):
    page = visit(address).page
    letters = "abcdefghijklmnop"
    entries = [["", f"{a}{b}zx"] for a in letters for b in letters]
    entries.append(["aazx", "abzx"])
    stored = json.dumps({"format": "tacit personal cache 1", "entries": entries})
    page.evaluate("stored => localStorage.setItem('tacit.words', stored)", stored)
    page.reload()
    page.wait_for_selector("html[data-ready]")
    page.locator("#inside summary").click()
    page.locator("#contents p").first.wait_for()
    shown = page.locator("#contents p").all_text_contents()
    assert len(shown) == 202 and shown[200:] == ["… and 56 more words; Export has all", "aazx abzx1"]


def test_no_other_tab_brings_back_what_was_erased(visit, address):
    first = visit(address).page
    first.keyboard.type("my secret diagnosis is known ")
    until(first, lambda: first.evaluate("localStorage.getItem('tacit.words')"))
    second = first.context.new_page()
    second.goto(address)
    second.wait_for_selector("html[data-ready]")
    assert learnt(second) == "5"
    erase(first)
    second.get_by_text("Nothing yet").wait_for()
    for page in (first, second):
        page.goto("about:blank")
    first.goto(address)
    first.wait_for_selector("html[data-ready]")
    assert first.evaluate("localStorage.getItem('tacit.words')") is None and learnt(first) == "Nothing yet"


def test_the_switch_stays_off_and_reaches_other_tabs(visit, address):
    first = visit(address).page
    first.get_by_label("Learn from what I type here").uncheck()
    first.reload()
    first.wait_for_selector("html[data-ready]")
    first.keyboard.type("my secret ")
    assert (
        not first.get_by_label("Learn from what I type here").is_checked() and learnt(first) == "Nothing yet"
    )
    second = first.context.new_page()
    second.goto(address)
    second.wait_for_selector("html[data-ready]")
    switch = second.get_by_label("Learn from what I type here")
    assert not switch.is_checked()
    first.get_by_label("Learn from what I type here").check()
    until(second, switch.is_checked)
    second.keyboard.type("hello ")
    assert learnt(second) == "1"
    first.get_by_label("Learn from what I type here").uncheck()
    until(second, lambda: not switch.is_checked())
    second.keyboard.type("my secret ")
    assert learnt(second) == "1"


@pytest.mark.parametrize(
    "how",
    [
        ["Control+Backspace"],
        ["Shift+Control+ArrowLeft", "Delete"],
        ["Shift+Control+ArrowLeft", "Backspace"],
        ["Shift+Control+ArrowLeft", "x"],
        ["Shift+ArrowLeft"] * 5 + ["Control+x"],
    ],
)
def test_words_deleted_at_once_are_unlearnt(page, how):
    page.keyboard.type("my secret ")
    assert learnt(page) == "2"
    for name in how[:-1]:
        page.keyboard.press(name)
        settle(page)  # the browser tells of it
        assert learnt(page) == "2"  # a selection changes nothing
    page.keyboard.press(how[-1])
    assert learnt(page) == "1" and text(page).startswith("My ")
    page.keyboard.type("own ")
    assert learnt(page) == "2"


def test_only_the_latest_words_are_unlearnt(page):
    page.keyboard.type("one two three ")
    box = page.get_by_label("Message", exact=True)
    box.evaluate("box => box.setSelectionRange(0, 4)")  # others follow, and stay
    settle(page)
    page.keyboard.press("Delete")
    assert text(page) == "two three " and learnt(page) == "3"
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    page.keyboard.type("four ")
    page.keyboard.press("Control+Backspace")
    assert learnt(page) == "3"
    page.keyboard.press(
        "Control+Backspace"
    )  # back in the line before, whose words were not learnt as it stands
    page.keyboard.press("Control+Backspace")
    assert learnt(page) == "3"
    page.keyboard.press("Control+a")
    page.keyboard.insert_text("short")  # a paste over all of it
    page.keyboard.type(" mine ")
    assert text(page) == "short mine " and learnt(page) == "4"
    page.keyboard.press("Control+a")
    settle(page)
    page.keyboard.press("Delete")
    assert learnt(page) == "3"


def test_moving_the_caret_changes_no_count(page):
    page.keyboard.type("one two three ")
    assert learnt(page) == "3"
    for name in ("Home", "End", "ArrowLeft", "Control+ArrowLeft", "End"):
        page.keyboard.press(name)
        settle(page)  # the browser tells of it
        assert learnt(page) == "3", name
    page.keyboard.press("Enter")
    page.keyboard.type("four five ")
    for name in ("ArrowUp", "Home", "End", "ArrowDown", "Home", "End") * 2:
        page.keyboard.press(name)
        settle(page)
        assert learnt(page) == "5", name
    switch = page.get_by_label("Learn from what I type here")
    switch.uncheck()
    page.keyboard.type("six seven ")
    switch.check()
    page.get_by_label("Message", exact=True).focus()
    for name in ("Home", "End"):
        page.keyboard.press(name)
        settle(page)
        assert learnt(page) == "5", name
    erase(page)
    page.get_by_label("Message", exact=True).focus()
    for name in ("Home", "ArrowUp", "End"):
        page.keyboard.press(name)
        settle(page)
        assert learnt(page) == "Nothing yet", name


@pytest.mark.parametrize("back", ["Backspace", "Control+z"])
def test_a_correction_by_enter_that_is_taken_back_is_unlearnt(page, back):
    page.keyboard.type("tjanks")
    page.keyboard.press("Enter")
    assert text(page) == "Thanks\n" and learnt(page) == "1"
    page.keyboard.press(back)
    assert text(page) == "Tjanks" and learnt(page) == "Nothing yet"


def test_a_line_that_comes_back_is_known(page):
    page.keyboard.type("tjanks")
    page.keyboard.press("Enter")
    page.keyboard.press("Backspace")
    page.keyboard.press("Enter")
    assert text(page) == "Tjanks\n" and learnt(page) == "1"  # what was wanted is learnt instead
    page.keyboard.type("all ")
    assert learnt(page) == "2"
    for _ in range(len("all \n")):
        page.keyboard.press("Backspace")
    assert text(page) == "Tjanks" and learnt(page) == "Nothing yet"  # it is in progress again
    page.keyboard.press("Enter")
    assert learnt(page) == "1"


def test_no_part_of_an_address_is_learnt_or_corrected(page):
    page.keyboard.type("see http://x.org/teh www.teh.org jane@teh.org @jane mine ")
    assert text(page) == "See http://x.org/teh www.teh.org jane@teh.org @jane mine "
    page.keyboard.press("Enter")
    page.keyboard.type("http://x.org/teh ")  # with a capital, by itself
    page.locator("#inside summary").click()
    page.locator("#contents p").first.wait_for()
    words = page.locator("#contents p").all_text_contents()
    assert words == ["mine1", "see1", "start · see1"]


def test_what_was_pasted_is_never_learnt(page):
    page.keyboard.insert_text("hunter alpha beta")
    page.keyboard.press("Space")
    for _ in range(8):  # back into it and out again
        page.keyboard.press("ArrowLeft")
    page.keyboard.press("End")
    page.keyboard.type("mine ")
    page.locator("#inside summary").click()
    assert page.locator("#contents p").first.text_content() == "mine1"
    assert not any(w in page.locator("#contents").text_content() for w in ("hunter", "alpha", "beta"))
    page.get_by_role("button", name="Clear the message").click()
    page.keyboard.insert_text("pasted ")
    for _ in range(7):
        page.keyboard.press("Backspace")
    page.keyboard.type("this that they them ")
    assert page.locator("#saved").text_content() == "-35 %"  # 27 keys for 20 characters


@pytest.mark.parametrize("pasted", ["swordfish ", "correct horse ", "john.smith@mail", "one--two"])
@pytest.mark.parametrize("end", ["Enter", ","])
def test_what_was_pasted_is_not_learnt_after_backspace_either(page, pasted, end):
    page.keyboard.insert_text(pasted)
    for _ in range(len("@mail") if "@" in pasted else 1):
        page.keyboard.press("Backspace")
    page.keyboard.press(end)
    assert learnt(page) == "Nothing yet"
    page.keyboard.type(" mine ")
    assert learnt(page) == "1"


def test_a_word_that_is_finished_twice_was_typed_once(page):
    page.keyboard.type("grzmblf ")
    for name in ("Home", "End"):
        page.keyboard.press(name)
        settle(page)  # the browser tells of it
    page.keyboard.press("Backspace")
    page.keyboard.type(", ")
    assert learnt(page) == "1"


def test_a_line_that_was_too_long_for_a_while_teaches_nothing_of_what_was_pasted(page):
    page.keyboard.insert_text("secret " * 284)  # 1,988 characters; 2,000 are looked at
    page.keyboard.type("one two three")
    assert learnt(page) == "2"
    for _ in range(len(" three")):
        page.keyboard.press("Backspace")
    page.keyboard.type(". x ")
    assert learnt(page) == "3"  # it goes on with what is typed now


def test_blocked_words_are_never_offered(page):
    page.keyboard.type("tomorro")
    assert "tomorrow" not in [w.lower() for w in bar(page)]


def test_the_english_i_keeps_its_capital_once_it_is_learnt(page):
    page.keyboard.type("so i think i know i ")
    assert text(page) == "So I think I know I "
    page.keyboard.type("and i'm i ")
    assert text(page).endswith("and I'm I ")


def test_own_words_keep_their_capitals_and_mend_slips(page):
    page.keyboard.type("see Zrajesh and Zrajesh ")
    assert text(page) == "See Zrajesh and Zrajesh "
    page.keyboard.type("and zrajesh ")
    assert text(page).endswith("and Zrajesh ")
    page.keyboard.type("and zrajseh ")
    assert text(page).endswith("and Zrajesh ")  # a word like the model's
    page.keyboard.type("and zra")
    assert "Zrajesh" in bar(page)
    page.keyboard.press("Control+Backspace")
    erase(page)
    page.keyboard.type("zrajesh ")
    assert text(page).endswith("and zrajesh ")
