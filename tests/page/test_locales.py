"""The page in each locale: the same answers as Python's, and ten sentences typed in Chromium."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import locale_vectors
import pytest
from hands import bar, glide, key, text, until
from page_site import running

import locale_models
from locale_sentences import sentences
from tacit.keyboard import layout
from tacit.page import server
from tacit.page.models import PageModel
from tacit.text import locale
from tacit.text.tokens import tokenize

CODES = locale.codes()
MANY = {"th": 1000, "zh": 1000}  # drawn sentences; 200 of the others


def test_javascript_agrees_in_every_locale(tmp_path):
    node = shutil.which("node")
    if not node:
        pytest.skip("node is not installed; `make test` installs it where it may (apt-get install nodejs)")
    vectors = {code: locale_vectors.of(code, MANY.get(code, 200)) for code in CODES}
    assert all(len(vectors[code]["tokens"]) == 1010 for code in MANY)
    (tmp_path / "vectors.json").write_text(json.dumps(vectors), "utf-8")
    done = subprocess.run(
        [node, "--test", str(Path(__file__).parent / "js" / "locales.mjs")],
        env=os.environ | {"TACIT_VECTORS": str(tmp_path / "vectors.json")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert int(re.findall(r"pass (\d+)", done.stdout)[-1]) == 4 * len(CODES) + 4


TYPE = """([text, held]) => {
  const find = (c) => [...document.querySelectorAll("#keys .key")].find((key) => key.dataset.key === c);
  for (const c of text) {
    const key = find(c) ?? find(held[c]);
    if (find(c)) { key.click(); continue; }
    key.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowUp", altKey: true, bubbles: true, cancelable: true }));
    [...document.querySelectorAll(".held button")].find((item) => item.dataset.key === c).click();
  }
}"""


@pytest.fixture
def typing(visit, tmp_path) -> Iterator[Callable[[str], Any]]:
    """Opens the page of a locale with a model of its ten sentences; nothing may have been complained of."""
    with ExitStack() as servers:
        seen = []

        def go(code: str) -> Any:
            model = PageModel(code, code, "", locale_models.write(tmp_path, code).read_bytes())
            address = servers.enter_context(running(server.site([model], locale=locale.find(code))))
            seen.append(visit(address))
            return seen[-1].page

        yield go
        assert [one.complaints for one in seen] == [[]]


def as_written(sentence: str, found: locale.Locale) -> str:
    """A sentence with the capitals that the page gives it."""
    words = [found.capitalise(w) if found.is_always_capital(w) else w for w in sentence.split(" ")]
    return found.capitalise(" ".join(words))


@pytest.mark.parametrize("code", [code for code in CODES if code != "zh"])
def test_ten_sentences_in_chromium(typing, code):
    """Every letter by its key, or from the row above a key; then one by a real hold, and a word by a real glide."""
    found, page = locale.find(code), typing(code)
    held = {c: key for key, letters in found.long_press.items() for c in letters}
    held |= layout.held_letters(found)
    for sentence in sentences(code):
        page.evaluate(TYPE, [f"{sentence}\n", held])
    assert text(page).split("\n") == [*(as_written(sentence, found) for sentence in sentences(code)), ""]
    page.get_by_role("button", name="Clear the message").click()
    page.evaluate(TYPE, [found.letters, held])
    assert found.lower(text(page)) == found.letters
    assert text(page)[1:] == found.letters[1:]  # one capital at most, at the start

    page.get_by_role("button", name="Clear the message").click()
    letter, under = next(iter(layout.held_letters(found).items()))
    at = key(page, under).bounding_box()
    page.mouse.move(at["x"] + at["width"] / 2, at["y"] + at["height"] / 2)
    page.mouse.down()
    offered = page.get_by_role("menu").get_by_role("menuitem")
    offered.first.wait_for()
    assert [one.get_attribute("data-key") for one in offered.all()] == list(found.long_press[under])
    last = offered.last.bounding_box()
    wanted = found.long_press[under][-1]
    page.mouse.move(last["x"] + last["width"] / 2, last["y"] + last["height"] / 2)
    page.mouse.up()
    assert found.lower(text(page)) == found.lower(wanted) and letter in found.long_press[under]

    page.get_by_role("button", name="Clear the message").click()
    keys = {w: layout.spell(w, layout.of_locale(found)) for s in sentences(code) for w in tokenize(s, found)}
    word = max((w for w in keys if len(set(keys[w])) > 2), key=len)
    glide(page, keys[word].replace("'", ""))
    assert found.lower(text(page)).rstrip() == word


def test_chinese_is_suggested_word_by_word(typing):
    """The first word comes from an input method, the others from the bar, and no space comes between them."""
    page, found = typing("zh"), locale.find("zh")
    count = 0
    for sentence in sentences("zh"):
        first, *others = words = tokenize(sentence, found)
        beginnings = ("".join(words[:i]) for i in range(1, len(words)))
        if any(tokenize(begun, found) != words[:i] for i, begun in enumerate(beginnings, start=1)):
            continue  # what follows would cut it otherwise
        count += 1
        page.keyboard.insert_text(first)
        for word in others:
            until(page, lambda word=word: word in bar(page))
            page.get_by_role("group", name="Suggestions").get_by_role("button", name=word, exact=True).click()
        assert text(page) == sentence
        page.get_by_role("button", name="Clear the message").click()
    assert count >= 6


def test_a_slow_glide_is_no_long_press(typing):
    """A finger that rests, and then moves away from the row of letters, glides."""
    page = typing("pl")
    at = key(page, "l").bounding_box()
    page.mouse.move(at["x"] + at["width"] / 2, at["y"] + at["height"] / 2)
    page.mouse.down()
    page.get_by_role("menu").wait_for()
    page.mouse.move(at["x"], at["y"] + 200, steps=4)
    assert page.get_by_role("menu").count() == 0
    page.mouse.up()
    assert "ł" not in text(page)


def test_the_row_of_letters_by_keyboard(typing):
    page = typing("pl")
    key(page, "z").focus()
    page.keyboard.press("Alt+ArrowUp")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.dataset.key") == "ź"
    page.keyboard.press("Escape")
    assert page.get_by_role("menu").count() == 0
    assert page.evaluate("document.activeElement.dataset.key") == "z"
    page.keyboard.press("Alt+ArrowUp")
    page.keyboard.press("Enter")
    assert text(page) == "Ż"
