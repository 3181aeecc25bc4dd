"""What a person does on the page, and sees there."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 60_000  # milliseconds until what is waited for has failed; a busy machine takes its time


def until(page, holds: Callable[[], object]) -> None:
    """Wait for what the page does in its own time."""
    end = time.monotonic() + PATIENCE / 1000
    while not holds():
        assert time.monotonic() < end, "the page did not do it"
        page.wait_for_timeout(20)


def settle(page) -> None:
    """Wait until the browser has told the page of what was done, and has drawn it: two frames, and what they began."""
    page.evaluate(
        "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))"
    )


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


def glide(page, word: str) -> None:
    spots = [key(page, c).bounding_box() for c in word]
    middles = [(b["x"] + b["width"] / 2, b["y"] + b["height"] / 2) for b in spots]
    page.mouse.move(*middles[0])
    page.mouse.down()
    for x, y in middles[1:]:
        page.mouse.move(x, y, steps=8)
    page.mouse.up()


def learnt(page) -> str:
    """How many words the page says it has learnt."""
    return page.locator("#memory").text_content().split(" words")[0].split(".")[0]


def erase(page) -> None:
    page.get_by_role("button", name="Erase", exact=True).click()
    if page.locator("#sure").is_visible():  # there is something to erase
        page.get_by_role("button", name="Erase them").click()
