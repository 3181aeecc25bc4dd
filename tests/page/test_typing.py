"""Typing on the page in a real browser: by key, finger and hardware keyboard."""

from __future__ import annotations

import re

import numpy as np
from hands import bar, erase, glide, key, learnt, settle, tap, text, until

from tacit.keyboard import layout, suggestions


def test_typing_on_the_keys_completes_and_suggests(page, small):
    tap(page, "see")
    assert text(page) == "See"  # a sentence starts
    asked = suggestions.open(small.path, block=["tomorrow"])
    tap(page, " ")
    assert bar(page) == [s.word for s in asked.next_words("See ", 3)]
    first = bar(page)[0]
    page.get_by_role("group", name="Suggestions").get_by_role("button").first.click()
    assert text(page) == f"See {first} "
    tap(page, ".")
    assert text(page) == f"See {first}."  # the mark leans on the word
    tap(page, " ")
    key(page, "Shift").click()  # off: no capital here
    tap(page, "a")
    assert text(page) == f"See {first}. a"
    tap(page, " ")
    for presses, wanted in ((1, "Bb"), (2, "BB")):  # once, and locked
        for _ in range(presses):
            key(page, "Shift").click()
        tap(page, "bb")
        assert text(page).endswith(f" {wanted}")
        page.keyboard.press("Backspace")
        page.keyboard.press("Backspace")
    key(page, "Question mark").click()
    assert text(page).endswith(" ?")  # what shift makes of a full stop


def test_a_hardware_keyboard_types_the_same(page, small):
    page.keyboard.type("see you ")
    asked = suggestions.open(small.path, block=["tomorrow"])
    assert text(page) == "See you " and bar(page) == [s.word for s in asked.next_words("See you ", 3)]
    page.keyboard.press("Alt+Digit2")
    assert text(page) == f"See you {asked.next_words('See you ', 3)[1].word} "
    page.keyboard.press("Enter")
    assert text(page).endswith("\n")
    page.get_by_role("button", name="Clear the message").click()
    page.keyboard.type("so i ")
    assert text(page) == "So I "
    page.keyboard.type("tHe ")
    assert text(page) == "So I tHe "  # capitals that were typed are meant
    for _ in range(2):
        page.keyboard.press("ArrowLeft")
    page.keyboard.type("jx ")
    assert text(page) == "So I tHjx e "  # nothing is corrected in the middle of a word
    page.get_by_role("button", name="Clear the message").click()
    page.get_by_role("radio").first.focus()
    page.keyboard.type("x")  # wherever the focus is
    assert text(page) == "X"


def test_a_mistyped_word_is_corrected_on_space_and_brought_back_by_backspace(page, small):
    asked = suggestions.open(small.path, block=["tomorrow"])
    centres = [layout.centre(c) for c in "tjanks"]
    assert asked.correct([], centres, typed="Tjanks").best == "Thanks"
    tap(page, "tjanks")
    assert bar(page)[:2] == ["“Tjanks”", "Thanks"]
    tap(page, " ")
    assert text(page) == "Thanks "
    key(page, "Backspace").click()
    assert text(page) == "Tjanks"
    tap(page, " ")
    assert text(page) == "Tjanks "  # it is not corrected again
    key(page, "Backspace").click()
    assert text(page) == "Tjanks"


def test_a_space_inside_a_word_is_taken_out_and_comes_back(page, small):
    part = suggestions.Part([layout.centre(c) for c in "th"], "Th")
    asked = suggestions.open(small.path, block=["tomorrow"])
    found = asked.correct([], [layout.centre("e")], typed="e", part=part)
    assert (found.best, found.joins) == ("The", True)
    tap(page, "th ")
    stood = text(page)  # perhaps corrected by itself
    tap(page, "e")
    assert bar(page)[:2] == [f"“{stood}e”", "The"]
    tap(page, " ")
    assert text(page) == "The "
    key(page, "Backspace").click()
    assert text(page) == f"{stood}e"  # both parts
    tap(page, " ")
    assert text(page) == f"{stood}e "  # they are not joined again
    page.get_by_role("button", name="Clear the message").click()
    tap(page, "pe ople")
    page.get_by_role("group", name="Suggestions").get_by_role("button", name="People", exact=True).click()
    assert text(page) == "People "
    page.keyboard.press("Control+z")
    assert text(page).split()[1] == "ople"
    page.get_by_role("button", name="Clear the message").click()
    erase(page)
    for words in ("to me", "see you", "in the"):
        tap(page, f"{words} ")
        assert text(page).lower() == f"{words} "
        page.get_by_role("button", name="Clear the message").click()
    tap(page, "see yo urs\n")  # Enter ends a word, too
    assert learnt(page) == str(len(text(page).split()) + 6)


def test_only_what_was_just_typed_is_corrected(page):
    page.keyboard.insert_text("tjanks")
    assert "“tjanks”" not in bar(page)  # nothing is promised either
    page.keyboard.press("Space")
    assert text(page) == "tjanks "  # pasted
    page.get_by_role("button", name="Clear the message").click()
    page.keyboard.insert_text("tjanks ok")
    for _ in " ok":
        page.keyboard.press("ArrowLeft")
    page.keyboard.press(",")
    assert text(page) == "tjanks, ok"  # it stood there
    page.get_by_role("button", name="Clear the message").click()
    page.keyboard.type("than ")
    assert text(page) == "Than "
    page.keyboard.press("Backspace")  # the space was too early
    page.keyboard.type("js ")
    assert text(page) == "Thanks "


def test_a_correction_that_was_undone_does_not_come_back(page):
    page.keyboard.type("tjanks ")
    page.keyboard.press("Control+z")
    assert text(page) == "Tjanks"
    page.keyboard.type(" tjanks ")
    assert text(page) == "Tjanks tjanks "


def test_what_was_corrected_comes_back_in_an_address(page):
    page.keyboard.type("tjanks.tjanks.smith@")
    assert text(page) == "Tjanks.tjanks.smith@"
    page.keyboard.press("Control+z")  # with what made it an address
    assert text(page) == "Thanks.thanks.smith"
    page.get_by_role("button", name="Clear the message").click()
    page.keyboard.type("tjanks.tjanks.smith@mail.org tjanks.")
    assert text(page) == "Tjanks.tjanks.smith@mail.org thanks."
    page.keyboard.press("Backspace")
    page.keyboard.type("@x.org tjanks ")
    assert text(page) == "Tjanks.tjanks.smith@mail.org tjanks@x.org tjanks "  # taken back by hand: it is kept


def test_a_caret_that_was_moved_is_noticed_by_the_very_next_key(page):
    tap(page, "see\ntjanks")
    assert bar(page)[:2] == ["“Tjanks”", "Thanks"]  # space would write it
    page.evaluate(
        "document.getElementById('message').setSelectionRange(3, 3);"
        "document.querySelector('[data-key=\" \"]').click()"  # before the browser tells of the move
    )
    assert text(page) == "See \nTjanks"


def test_a_suggestion_inside_a_word_takes_its_place(page):
    page.keyboard.type("thanks for ")
    for _ in range(8):
        page.keyboard.press("ArrowLeft")
    first = page.get_by_role("group", name="Suggestions").get_by_role("button").first
    first.filter(has_text=re.compile("^tha", re.IGNORECASE)).wait_for()  # carets are told of later
    word = bar(page)[0]
    first.click()
    assert text(page) == f"{word} for "
    page.keyboard.type("x ")
    assert text(page) == f"{word} x for "


def test_where_a_finger_falls_counts(page, small):
    """Words typed with an unsteady finger become what Python makes of the same taps."""
    asked, draw = suggestions.open(small.path, block=["tomorrow"]), np.random.default_rng(3)
    page.get_by_label("Learn from what I type here").uncheck()
    written, corrected = [], 0
    for word in ("thanks", "for", "dinner", "yesterday", "morning", "people", "station", "please"):
        taps = np.array([layout.centre(c) for c in word]) + draw.uniform(
            [-0.6, -0.3], [0.6, 0.3], (len(word), 2)
        )
        taps[:, 0] = taps[:, 0].clip(0.05, 9.95)
        board = page.locator("#keys").bounding_box()
        for x, y in taps:
            page.mouse.click(board["x"] + x / 10 * board["width"], board["y"] + y / 6 * board["height"])
        expected = len(" ".join([*written, word]))
        until(page, lambda many=expected: len(text(page)) == many)
        typed = text(page).split(" ")[-1]
        assert typed.lower() == layout.nearest(taps)
        best = asked.correct(written, taps, typed=typed).best
        assert bar(page)[1] == best or best == typed
        tap(page, " ")
        written.append(best)
        corrected += best != typed
        assert text(page) == " ".join(written) + " "
    assert corrected >= 2


def test_a_word_that_brings_its_space_needs_no_other(page):
    glide(page, "thanks")
    tap(page, " ")
    assert text(page) == "Thanks "
    page.keyboard.press("Alt+Digit1")
    word = text(page).split()[1]
    page.keyboard.press("Space")
    assert text(page) == f"Thanks {word} "
    page.keyboard.press("Space")
    assert text(page) == f"Thanks {word}  "  # a second one is meant


def test_a_word_between_others_takes_the_space_that_stands_there(page):
    page.keyboard.type("hello friend")
    for name in ("Home", "Control+ArrowRight"):
        page.keyboard.press(name)
    while page.evaluate("document.getElementById('message').selectionStart") > 5:
        page.keyboard.press("ArrowLeft")
    glide(page, "thanks")
    assert text(page) == "Hello thanks friend"
    tap(page, ",")
    assert text(page) == "Hello thanks, friend"
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+z")
    assert text(page) == "Hello friend"
    page.get_by_role("button", name="Clear the message").click()
    page.keyboard.type("hello friend")
    page.evaluate("document.getElementById('message').setSelectionRange(5, 5)")
    page.keyboard.press("Alt+Digit1")
    assert "  " not in text(page) and text(page).endswith(" friend")


def test_undo_takes_back_what_was_typed_and_garbles_nothing(page):
    page.keyboard.type("hello world ok")
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    page.keyboard.type("see you")
    seen = []
    for _ in range(7):
        page.keyboard.press("Control+z")
        seen.append(text(page))
    assert seen == ["See ", "", "Hello world ok", "Hello world ", "Hello ", "", ""]
    for wanted in ("Hello ", "Hello world ", "Hello world ok", "", "See ", "See you", "See you"):
        page.keyboard.press("Control+Shift+z")
        assert text(page) == wanted
    page.keyboard.press("Control+y")
    page.get_by_role("button", name="Clear the message").click()
    page.keyboard.press("Control+z")
    assert text(page) == "See you"
    line = page.context.new_cdp_session(page)  # the browser's own undo knows of the deletion alone
    line.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", "commands": ["undo"]})  # as from a menu
    assert text(page) == "See "
    page.evaluate("document.execCommand('undo')")
    assert text(page) == ""
    page.keyboard.press("Control+a")
    page.keyboard.type("tjanks ")
    page.keyboard.press("Control+z")
    assert text(page) == "Tjanks"  # the correction
    page.get_by_role("button", name="Clear the message").click()
    erase(page)
    page.get_by_label("Message", exact=True).focus()
    page.keyboard.insert_text("hunter")
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+y")
    page.keyboard.type(" mine ")
    assert text(page) == "hunter mine " and learnt(page) == "1"  # what came back was pasted
    page.keyboard.press("Control+z")
    assert text(page) == "hunter " and learnt(page) == "Nothing yet"


def test_awkward_text_is_taken_as_it_comes(page):
    box = page.get_by_label("Message", exact=True)
    page.keyboard.insert_text("😀👩‍👩‍👧‍👦 שלום עולם ")
    assert len(bar(page)) == 3 and page.locator("#saved").text_content() == "–"  # no key typed it
    key(page, "Backspace").click()
    key(page, "Backspace").click()
    assert text(page) == "😀👩‍👩‍👧‍👦 שלום עול"
    page.get_by_role("button", name="Clear the message").click()
    page.keyboard.type("ß")
    assert text(page) == "ß"  # no capital of one letter
    box.fill("grzmblf " * 10_000)  # a context of 10,000 words, none of them known
    tap(page, "th")
    assert text(page).endswith("grzmblf th") and any(bar(page))
    assert page.locator("#alerts p").count() == 0
    for megabyte in ("x" * 1_000_000, "see you " * 125_000):
        box.fill(megabyte)
        tap(page, " se")
        page.keyboard.type(" é")
        page.keyboard.press("Enter")
        page.keyboard.press("Alt+Digit1")
        assert len(text(page)) == 100_000 and any(bar(page))
        assert page.get_by_role("alert").first.text_content().count("A message holds 100,000 characters") == 1
    key(page, "Backspace").click()
    assert page.locator("#alerts p").count() == 0  # there is room again
    tap(page, "ab")
    page.get_by_role("alert").first.get_by_role("button", name="Close").click()
    assert page.locator("#alerts p").count() == 0 and len(text(page)) == 100_000
    page.keyboard.type("x")
    assert page.locator("#alerts p").count() == 1
    page.get_by_role("button", name="Clear the message").click()
    assert page.locator("#alerts p").count() == 0 and all(bar(page))


def test_the_caret_stays_in_sight_in_the_middle_of_a_long_message(page):
    box = page.get_by_label("Message", exact=True)
    words = "a few words that need more than one line of the field, and then some "
    page.keyboard.insert_text("\n".join(f"{i}: {words}" for i in range(40)))

    def seen() -> bool:
        """Whether the field would scroll on its own account to show the caret, as it does when it gets the focus."""
        settle(page)
        before = box.evaluate("box => box.scrollTop")
        box.evaluate("box => { box.blur(); box.focus(); }")
        settle(page)
        return abs(box.evaluate("box => box.scrollTop") - before) <= 8  # half a line's margin

    box.evaluate(
        "b => { const at = b.value.indexOf('20:'); b.setSelectionRange(at, at); b.blur(); b.focus(); }"
    )
    settle(page)
    for _ in range(12):
        key(page, "Enter").click()
    assert seen()
    page.keyboard.type(words * 3)
    assert seen()
    top = box.evaluate("box => box.scrollTop")
    box.evaluate("box => box.scrollTop = 0")
    tap(page, "x")
    assert seen() and abs(box.evaluate("box => box.scrollTop") - top) < 200
    box.evaluate("box => box.scrollTop = box.scrollHeight")
    page.keyboard.press("Control+z")
    assert seen()


def test_holding_backspace_repeats(page):
    tap(page, "hello there")
    box = key(page, "Backspace").bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    began = page.evaluate("performance.now()")
    page.mouse.down()
    until(page, lambda: not text(page))
    page.mouse.up()
    held = page.evaluate("performance.now()") - began
    took = page.locator("#latency").text_content()
    assert float(took.removesuffix(" ms")) < held / 2, "the clock did not start anew at each"


def test_numbers_and_marks_are_on_the_second_layer(page):
    key(page, "Numbers and marks").click()
    for name in ("1", "Hyphen", "Question mark", "Space"):
        key(page, name).click()
    key(page, "Letters").click()
    tap(page, "ok")
    assert text(page) == "1-? Ok"


def test_shift_is_the_same_on_both_layers(page):
    page.keyboard.type("hi ")
    key(page, "Shift").click()
    for name in ("Numbers and marks", "Letters"):
        key(page, name).click()
    assert key(page, "Shift").get_attribute("aria-pressed") == "true"
    shown = key(page, "Exclamation mark").locator("span").text_content()
    key(page, "Exclamation mark").click()
    assert shown == "!" and text(page) == "Hi !"
