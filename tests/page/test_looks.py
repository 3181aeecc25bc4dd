"""What the page looks like and says of itself in a real browser: names, contrast, sizes, the panel."""

from __future__ import annotations

import pytest
from hands import bar, key, tap, text, until

from tacit.keyboard import layout, suggestions


def test_screen_readers_press_buttons_without_a_pointer(page):
    for name in ("h", "i", "Space"):
        key(page, name).evaluate("button => button.click()")
    key(page, "o").focus()
    page.keyboard.press("Enter")
    assert text(page) == "Hi o"


def test_keys_are_named_by_what_they_do_now(page):
    page.keyboard.type("hi ")
    assert [key(page, name).count() for name in ("Comma", "Full stop", "Exclamation mark")] == [1, 1, 0]
    key(page, "Shift").click()
    assert [key(page, name).count() for name in ("Comma", "Exclamation mark", "Question mark")] == [0, 1, 1]
    key(page, "Shift").click()
    assert key(page, "Caps lock").get_attribute("aria-pressed") == "true"
    key(page, "Caps lock").click()
    assert key(page, "Shift").get_attribute("aria-pressed") == "false" and key(page, "Comma").count() == 1


def test_the_other_layer_keeps_the_focus(page):
    key(page, "Numbers and marks").focus()
    for name in ("Letters", "Numbers and marks"):
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.getAttribute('aria-label')") == name
    page.get_by_label("Message", exact=True).focus()
    key(page, "Numbers and marks").click()  # a finger leaves it in the message
    assert page.evaluate("document.activeElement.id") == "message"


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
        # colours have changed; not by wait_for_function, which evaluates text in the page, and its policy forbids that
        until(seen.page, lambda: seen.page.evaluate("document.getAnimations().length === 0"))
    assert seen.complaints == []


def test_on_its_side_a_phone_shows_the_text_the_bar_and_all_keys(visit, address):
    page = visit(address, viewport={"width": 740, "height": 360}).page
    tap(page, "see you ")
    for part in ("#message", "#bar", "#keys"):
        box = page.locator(part).bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] <= 360, part
    assert page.locator("#message").bounding_box()["height"] >= 40  # a line and more
    assert page.evaluate("scrollY === 0 && document.documentElement.scrollWidth <= 740")


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


def test_with_forced_colours_keys_have_edges_and_show_when_they_are_pressed(visit, address):
    page = visit(address, forced_colors="active").page
    page.keyboard.type("see you ")
    style = "(e, name) => getComputedStyle(e)[name]"
    face = key(page, "h").locator("span")
    assert (
        face.evaluate(style, "borderTopStyle") == "solid" and face.evaluate(style, "borderTopWidth") != "0px"
    )
    grounds = [key(page, "Shift").locator("span").evaluate(style, "backgroundColor")]
    key(page, "Shift").click()
    page.mouse.move(1, 1)
    grounds.append(key(page, "Shift").locator("span").evaluate(style, "backgroundColor"))
    key(page, "h").evaluate("e => e.classList.add('down')")
    grounds.append(face.evaluate(style, "backgroundColor"))
    assert grounds[0] != grounds[1] == grounds[2]
    assert page.evaluate(PRESSED, CONTRAST) == []
    bar_of = page.locator("#thoughts li i").first
    behind = bar_of.evaluate("e => getComputedStyle(document.body).backgroundColor")
    colours = [bar_of.evaluate(style, name) for name in ("backgroundColor", "borderBottomColor")]
    assert (
        any(colour != behind for colour in colours) and bar_of.evaluate(style, "borderBottomStyle") == "solid"
    )
