"""Gliding over the keys of the page in a real browser."""

from __future__ import annotations

from itertools import pairwise

from hands import bar, glide, key, tap, text, until

TINY = {"viewport": {"width": 360, "height": 740}}


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


def test_a_glide_inside_a_word_takes_its_place(page):
    page.keyboard.type("so wonderful, ")
    for _ in range(5):
        page.keyboard.press("ArrowLeft")
    glide(page, "thanks")
    assert text(page) == "So thanks, "
    others = [w for w in bar(page)[1:] if w]
    page.get_by_role("group", name="Suggestions").get_by_role("button", name=others[0], exact=True).click()
    assert text(page) == f"So {others[0]}, "
    key(page, "Backspace").click()
    assert text(page) == "So wonderful, "


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
    ends = [(spot["x"] + 9, spot["y"] + 20) for spot in spots]
    inked = """c => c.getContext('2d').getImageData(0, 0, c.width, c.height).data
        .filter((v, i) => i % 4 == 3 && v).length"""
    page.mouse.move(*ends[0])
    assert page.locator("#trail").evaluate(inked) == 0
    page.mouse.down()

    def drawn() -> bool:
        """Whether there is a trail while the finger goes there and back: it fades, so one look may be too late."""
        for end in (ends[1], ends[0]):
            page.mouse.move(*end, steps=30)
            if page.locator("#trail").evaluate(inked) > 200:
                return True
        return False

    until(page, drawn)
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
    until(seen.page, lambda: text(seen.page) != "Hi")
    assert text(seen.page) == "Hi thanks "
    assert seen.page.evaluate("document.documentElement.scrollWidth <= 360")  # nothing sticks out
    assert seen.complaints == []
