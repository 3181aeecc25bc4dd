"""The page in a real browser: typing by key, finger and screen reader; offline; what it says of what is wrong."""

from __future__ import annotations

import json
import re
import struct
import time
from itertools import pairwise

import numpy as np
import pytest
from page_site import running

from tacit.commands import serve
from tacit.keyboard import layout, suggestions

TINY = {"viewport": {"width": 360, "height": 740}}


def text(page) -> str:
    return page.get_by_label("Message", exact=True).input_value()


def bar(page) -> list[str]:
    return page.get_by_role("group", name="Suggestions").get_by_role("button").all_text_contents()


def key(page, name: str):
    return page.get_by_role("group", name="Keys").get_by_role("button", name=name, exact=True)


def tap(page, letters: str) -> None:
    names = {" ": "Space", "'": "Apostrophe", ".": "Full stop", ",": "Comma", "\n": "Enter"}
    for letter in letters:
        key(page, names.get(letter, letter)).click()


@pytest.fixture
def page(visit, address):
    seen = visit(address)
    yield seen.page
    assert seen.complaints == []


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
    tap(page, ".")
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


def test_a_caret_that_was_moved_is_noticed_by_the_very_next_key(page):
    tap(page, "see\ntjanks")
    assert bar(page)[:2] == ["“Tjanks”", "Thanks"]  # space would write it
    page.evaluate(
        "document.getElementById('message').setSelectionRange(3, 3);"
        "document.querySelector('[data-key=\" \"]').click()"  # before the browser tells of the move
    )
    assert text(page) == "See \nTjanks"


def test_where_a_finger_falls_counts(page, small):
    """Words typed with an unsteady finger become what Python makes of the same taps."""
    asked, draw = suggestions.open(small.path, block=["tomorrow"]), np.random.default_rng(3)
    page.get_by_label("Learn from what I type here").uncheck()
    board, written, corrected = page.locator("#keys").bounding_box(), [], 0
    for word in ("thanks", "for", "dinner", "yesterday", "morning", "people", "station", "please"):
        taps = np.array([layout.centre(c) for c in word]) + draw.uniform(
            [-0.6, -0.3], [0.6, 0.3], (len(word), 2)
        )
        taps[:, 0] = taps[:, 0].clip(0.05, 9.95)
        for x, y in taps:
            page.mouse.click(board["x"] + x / 10 * board["width"], board["y"] + y / 6 * board["height"])
        typed = text(page).split(" ")[-1]
        assert typed.lower() == layout.nearest(taps)
        best = asked.correct(written, taps, typed=typed).best
        assert bar(page)[1] == best or best == typed
        tap(page, " ")
        written.append(best)
        corrected += best != typed
        assert text(page) == " ".join(written) + " "
    assert corrected >= 2


def glide(page, word: str) -> None:
    spots = [key(page, c).bounding_box() for c in word]
    middles = [(b["x"] + b["width"] / 2, b["y"] + b["height"] / 2) for b in spots]
    page.mouse.move(*middles[0])
    page.mouse.down()
    for x, y in middles[1:]:
        page.mouse.move(x, y, steps=8)
    page.mouse.up()


def test_a_glide_writes_a_word_and_offers_others(page):
    glide(page, "thanks")
    assert text(page) == "Thanks " and bar(page)[0] == "Thanks"
    assert page.get_by_role("group", name="Suggestions").get_by_role("button", name="Thanks").count() == 1
    glide(page, "for")
    assert text(page) == "Thanks for "
    others = [w for w in bar(page)[1:] if w]
    assert others  # there are other ways to read it
    page.get_by_role("group", name="Suggestions").get_by_role("button", name=others[0], exact=True).click()
    assert text(page) == f"Thanks {others[0]} "
    key(page, "Backspace").click()
    assert text(page).rstrip() == "Thanks"  # a drawn word goes as it came
    page.get_by_role("button", name="Clear the message").click()
    key(page, "Shift").click()  # off
    assert all(word == word.lower() for word in bar(page) if word not in ("I", "I'm", "I'll"))
    glide(page, "thanks")
    assert text(page) == "thanks "


def test_a_glide_that_fits_no_word_says_so_where_it_is_seen(page):
    glide(page, "qpqpqpqp")
    note = page.locator("#note")
    assert text(page) == "" and note.is_visible() and note.text_content() == "No word fits that trail"
    assert "fits that trail" in page.locator("#said").text_content()
    tap(page, "a")
    assert note.text_content() == ""


def test_a_glide_leaves_a_trail_over_the_keys(visit, address):
    page = visit(address, reduced_motion="no-preference").page
    spots = [key(page, c).bounding_box() for c in "qp"]
    page.mouse.move(spots[0]["x"] + 9, spots[0]["y"] + 20)
    page.mouse.down()
    page.mouse.move(spots[1]["x"] + 9, spots[1]["y"] + 20, steps=30)
    page.wait_for_timeout(40)
    inked = page.locator("#trail").evaluate(
        "c => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.filter((v, i) => i % 4 == 3 && v).length"
    )
    assert inked > 200
    page.mouse.up()


def test_touch_types_and_glides_without_the_systems_own_keyboard(visit, address):
    seen = visit(address, has_touch=True, is_mobile=True, **TINY)
    key(seen.page, "h").tap()
    key(seen.page, "i").tap()
    assert text(seen.page) == "Hi" and seen.page.locator("#message").get_attribute("inputmode") == "none"
    line = seen.page.context.new_cdp_session(seen.page)
    spots = [key(seen.page, c).bounding_box() for c in "thanks"]
    path = [(b["x"] + b["width"] / 2, b["y"] + b["height"] / 2) for b in spots]
    for (x0, y0), (x1, y1) in pairwise(path):
        for i in range(8):
            kind = "touchMove" if (x0, y0) != path[0] or i else "touchStart"
            at = {"x": x0 + (x1 - x0) * i / 8, "y": y0 + (y1 - y0) * i / 8}
            line.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [at]})
    line.send(
        "Input.dispatchTouchEvent",
        {"type": "touchMove", "touchPoints": [dict(zip("xy", path[-1], strict=True))]},
    )
    line.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    assert text(seen.page) == "Hi thanks "
    assert seen.page.evaluate("document.documentElement.scrollWidth <= 360")  # nothing sticks out
    assert seen.complaints == []


def test_screen_readers_press_buttons_without_a_pointer(page):
    for name in ("h", "i", "Space"):
        key(page, name).evaluate("button => button.click()")
    key(page, "o").focus()
    page.keyboard.press("Enter")
    assert text(page) == "Hi o"


def test_everything_has_its_name_and_the_letters_stand_where_the_decoders_think(page):
    assert page.get_by_label("Message", exact=True).count() == 1
    assert page.get_by_role("group", name="Suggestions").get_by_role("button").count() == 3
    board = page.locator("#keys").bounding_box()
    for place in layout.as_json()["keys"]:
        name = "Apostrophe" if place["letter"] == "'" else place["letter"]
        box = key(page, name).bounding_box()
        x = (box["x"] + box["width"] / 2 - board["x"]) / board["width"] * 10
        y = (box["y"] + box["height"] / 2 - board["y"]) / board["height"] * 6
        assert (x, y) == pytest.approx((place["x"], place["y"]), abs=0.02), name
    page.keyboard.type("grzmblfgrzmblf")  # nothing to suggest: the three buttons are there and have names
    assert bar(page).count("") > 0
    unnamed = page.evaluate(
        "[...document.querySelectorAll('button, input, textarea, summary')].filter(e =>"
        " !(e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.length)).length"
    )
    assert unnamed == 0


CONTRAST = """() => {
  const lum = c => { const f = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    return 0.2126 * f(c[0]) + 0.7152 * f(c[1]) + 0.0722 * f(c[2]); };
  const pen = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
  const over = (colour, ground) => { pen.fillStyle = `rgb(${ground.slice(0, 3)})`; pen.fillRect(0, 0, 1, 1);
    pen.fillStyle = colour; pen.fillRect(0, 0, 1, 1); return [...pen.getImageData(0, 0, 1, 1).data]; };
  const ground = e => { const chain = []; for (; e; e = e.parentElement) chain.unshift(e);
    return chain.reduce((g, x) => over(getComputedStyle(x).backgroundColor, g), [255, 255, 255]); };
  const bad = []; let seen = 0;
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n; (n = walk.nextNode());) {
    const e = n.parentElement;
    if (!n.textContent.trim() || e.closest('noscript, .unseen') || !e.getClientRects().length) continue;
    const fill = e.matches('.key small') ? e.previousElementSibling : e.closest('li')?.querySelector('i');
    const below = ground(fill && fill.getBoundingClientRect().width > 1 ? fill : e);
    const [a, b] = [lum(over(getComputedStyle(e).color, below)), lum(below)];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); seen++;
    if (ratio < 4.5) bad.push(`${n.textContent.trim().slice(0, 20)} ${ratio.toFixed(2)}`);
  }
  return {bad, seen};
}"""

PRESSED = """contrast => {
  const check = new Function(`return (${contrast})()`), bad = [];
  for (const down of [true, false]) {
    check(); // what is shown now is where a change of colour starts from
    document.querySelectorAll('.key').forEach(key => key.classList.toggle('down', down));
    bad.push(...check().bad);
  }
  return bad;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_is_enough_in_both_themes_and_the_switch_turns_them(visit, address, scheme):
    seen = visit(address, color_scheme=scheme, reduced_motion="no-preference")
    seen.page.keyboard.type("tjanks")
    for _ in range(2):  # as the system has it, and switched
        found = seen.page.evaluate(CONTRAST)
        assert found["bad"] == [] and found["seen"] > 60
        assert seen.page.evaluate(PRESSED, CONTRAST) == []  # keys that are pressed and let go
        seen.page.locator("#bar .chosen").hover()
        seen.page.mouse.down()
        assert seen.page.evaluate(CONTRAST)["bad"] == []
        seen.page.mouse.move(1, 1)  # away, so that it is not taken
        seen.page.mouse.up()
        before = seen.page.evaluate("getComputedStyle(document.body).backgroundColor")
        seen.page.locator("#theme").click()
        assert seen.page.evaluate("getComputedStyle(document.body).backgroundColor") != before
        seen.page.wait_for_timeout(200)
    assert seen.complaints == []


def test_on_its_side_a_phone_shows_the_text_the_bar_and_all_keys(visit, address):
    page = visit(address, viewport={"width": 740, "height": 360}).page
    tap(page, "see you ")
    for part in ("#message", "#bar", "#keys"):
        box = page.locator(part).bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] <= 360, part
    assert page.locator("#message").bounding_box()["height"] >= 40  # a line and more
    assert page.evaluate("scrollY === 0 && document.documentElement.scrollWidth <= 740")


class Counted(dict):
    """Files of a server that remember what was asked for."""

    def __init__(self, files: serve.Site) -> None:
        super().__init__(files)
        self.asked: list[str] = []

    def get(self, path, default=None):
        self.asked.append(path)
        return super().get(path, default)


def test_no_request_after_loading_and_the_browser_refuses_any(visit, small):
    files = Counted(serve.site([serve.Shown("a", "A", "", small.path.read_bytes())]))
    with running(files) as address:
        seen = visit(address)
        loaded, asked = list(seen.requests), len(files.asked)
        assert {url.removeprefix(address) for url in loaded if url.startswith("http")} == {
            name.removeprefix("/") for name in files if name != "/index.html"
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


def test_it_works_on_after_the_server_is_gone(visit, small, cased):
    shown = [serve.Shown(n, n, "", m.path.read_bytes()) for n, m in (("small", small), ("cased", cased))]
    with running(serve.site(shown)) as address:
        seen = visit(address)
    tap(seen.page, "see you")
    tap(seen.page, " ")
    assert all(bar(seen.page))
    seen.page.get_by_role("radio", name="cased").check()
    asked = suggestions.open(cased.path)
    assert bar(seen.page) == [s.word for s in asked.next_words("See you ", 3)]
    glide(seen.page, "thanks")
    assert "hanks" in text(seen.page) and seen.complaints == []


def test_the_panel_shows_what_the_model_thinks(page, small):
    page.keyboard.type("see you ")
    asked = suggestions.open(small.path, block=["tomorrow"])
    learnt = 0.3 * 2 / 52  # two words were typed: the cache has this weight
    rows = page.locator("#thoughts li")
    best = asked.next_words("See you ", 1)[0]
    shown = rows.first.locator("span").all_text_contents()
    assert shown[0] == best.word and shown[1].endswith("3-gram")
    assert float(shown[2].removesuffix(" %")) == pytest.approx(100 * (1 - learnt) * best.p, abs=0.06)
    assert page.locator("#context .used").all_text_contents() == ["See", "you"]
    assert "2 of 2" in page.locator("#depth").text_content()
    assert page.locator("#saved").text_content() == "0 %"
    page.keyboard.press("Alt+Digit1")
    length = len(text(page))
    assert page.locator("#saved").text_content() == f"{100 * (1 - 9 / length):.0f} %"
    assert page.locator("#latency").text_content().endswith(" ms")
    assert page.locator("#size").text_content() == f"{small.path.stat().st_size / 1000:.0f} kB"
    page.get_by_role("radio", name="Cased").check()
    assert page.locator("#size").text_content() != f"{small.path.stat().st_size / 1000:.0f} kB"


def test_the_cache_learns_stays_is_shown_exported_and_erased(visit, address, tmp_path):
    seen = visit(address)
    page = seen.page
    page.wait_for_timeout(500)  # longer than the page takes to store what it began with
    for _ in range(8):
        page.keyboard.type("grzmblf 1234 ")
    page.keyboard.press("Enter")
    page.keyboard.type("gr")
    assert bar(page)[0] == "Grzmblf"  # a word that no model knows
    page.get_by_text("Look at them").click()
    page.locator("#contents p").first.wait_for()
    assert "grzmblf8" in page.locator("#contents").text_content()
    assert "1234" not in page.locator("#contents").text_content()  # numbers are not kept
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    download.value.save_as(tmp_path / "words.json")
    exported = json.loads((tmp_path / "words.json").read_text())
    assert exported["format"] == "tacit personal cache 1" and len(exported["entries"]) == 8
    for _ in range(100):  # it is stored soon, not only when the page is left
        if "grzmblf" in (page.evaluate("localStorage.getItem('tacit.words')") or ""):
            break
        page.wait_for_timeout(50)
    else:
        pytest.fail("the cache was not stored")
    page.reload()
    page.wait_for_selector("html[data-ready]")
    page.keyboard.type("gr")
    assert bar(page)[0] == "Grzmblf"  # it stayed in the browser
    page.get_by_label("Learn from what I type here").uncheck()
    assert "Grzmblf" not in bar(page)
    page.get_by_label("Learn from what I type here").check()
    page.get_by_role("button", name="Erase").click()
    assert "Grzmblf" not in bar(page) and page.evaluate("localStorage.getItem('tacit.words')") is None
    assert seen.complaints == []


def learnt(page) -> str:
    """How many words the page says it has learnt."""
    return page.locator("#memory").text_content().split(" words")[0].split(".")[0]


def test_moving_the_caret_changes_no_count(page):
    page.keyboard.type("one two three ")
    assert learnt(page) == "3"
    for name in ("Home", "End", "ArrowLeft", "Control+ArrowLeft", "End"):
        page.keyboard.press(name)
        page.wait_for_timeout(10)  # the browser tells of it
        assert learnt(page) == "3", name
    page.keyboard.press("Enter")
    page.keyboard.type("four five ")
    for name in ("ArrowUp", "Home", "End", "ArrowDown", "Home", "End") * 2:
        page.keyboard.press(name)
        page.wait_for_timeout(10)
        assert learnt(page) == "5", name
    switch = page.get_by_label("Learn from what I type here")
    switch.uncheck()
    page.keyboard.type("six seven ")
    switch.check()
    page.get_by_label("Message", exact=True).focus()
    for name in ("Home", "End"):
        page.keyboard.press(name)
        page.wait_for_timeout(10)
        assert learnt(page) == "5", name
    page.get_by_role("button", name="Erase").click()
    page.get_by_label("Message", exact=True).focus()
    for name in ("Home", "ArrowUp", "End"):
        page.keyboard.press(name)
        page.wait_for_timeout(10)
        assert learnt(page) == "Nothing yet", name


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
    page.get_by_role("button", name="Erase").click()
    page.get_by_label("Message", exact=True).focus()
    page.keyboard.insert_text("hunter")
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+y")
    page.keyboard.type(" mine ")
    assert text(page) == "hunter mine " and learnt(page) == "1"  # what came back was pasted
    page.keyboard.press("Control+z")
    assert text(page) == "hunter " and learnt(page) == "Nothing yet"


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


def test_no_part_of_an_address_is_learnt_or_corrected(page):
    page.keyboard.type("see http://x.org/teh www.teh.org jane@teh.org @jane mine ")
    assert text(page) == "See http://x.org/teh www.teh.org jane@teh.org @jane mine "
    page.keyboard.press("Enter")
    page.keyboard.type("http://x.org/teh ")  # with a capital, by itself
    page.get_by_text("Look at them").click()
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
    page.get_by_text("Look at them").click()
    assert page.locator("#contents p").first.text_content() == "mine1"
    assert not any(w in page.locator("#contents").text_content() for w in ("hunter", "alpha"))
    page.get_by_role("button", name="Clear the message").click()
    page.keyboard.insert_text("pasted ")
    for _ in range(7):
        page.keyboard.press("Backspace")
    page.keyboard.type("abcd efgh ijkl mnop ")
    assert page.locator("#saved").text_content() == "-35 %"  # 27 keys for 20 characters


def test_blocked_words_are_never_offered(page):
    page.keyboard.type("tomorro")
    assert "tomorrow" not in [w.lower() for w in bar(page)]


def test_awkward_text_is_taken_as_it_comes(page):
    box = page.get_by_label("Message", exact=True)
    page.keyboard.insert_text("😀👩‍👩‍👧‍👦 שלום עולם ")
    assert len(bar(page)) == 3 and page.locator("#saved").text_content() == "–"  # no key typed it
    key(page, "Backspace").click()
    key(page, "Backspace").click()
    assert text(page) == "😀👩‍👩‍👧‍👦 שלום עול"
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


def test_models_that_cannot_be_used_are_named_and_the_others_work(visit, small):
    good = small.path.read_bytes()
    newer = bytearray(good)
    struct.pack_into("<I", newer, 8, 2)
    shown = [
        serve.Shown("newer", "Newer", "", bytes(newer)),
        serve.Shown("cut", "Cut", "", good[:-10]),
        serve.Shown("empty", "Empty", "", b""),
        serve.Shown("good", "Good", "", good),
    ]
    with running(serve.site(shown, problems=["Something else"])) as address:
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
        serve.site([] if broken == "no models" else [serve.Shown("a", "A", "", small.path.read_bytes())])
    )
    if broken == "no list":
        del files["/models.json"]
    if broken == "a model is missing":
        del files["/model-0.tacit"]
    with running(files) as address:
        seen = visit(address)
    said = seen.page.get_by_role("alert").first.text_content()
    assert {"no models": "no model", "no list": "list of models", "a model is missing": "404"}[broken] in said
    tap(seen.page, "hi ")
    glide(seen.page, "thanks")
    assert text(seen.page).lower().startswith("hi ") and bar(seen.page) == ["", "", ""]
    assert all("404" in complaint for complaint in seen.complaints)  # the browser's own note of the answer


def test_holding_backspace_repeats(page):
    tap(page, "hello there")
    box = key(page, "Backspace").bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down()
    deadline = time.monotonic() + 8
    while text(page) and time.monotonic() < deadline:
        page.wait_for_timeout(50)
    page.mouse.up()
    assert text(page) == ""
    took = page.locator("#latency").text_content()
    assert float(took.removesuffix(" ms")) < 400, "the clock did not start anew at each"


def test_numbers_and_marks_are_on_the_second_layer(page):
    key(page, "Numbers and marks").click()
    for name in ("1", "Hyphen", "Question mark", "Space"):
        key(page, name).click()
    key(page, "Letters").click()
    tap(page, "ok")
    assert text(page) == "1-? Ok"
