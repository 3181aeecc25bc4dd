"""One's own model on the keyboard page, in Chromium: tuned on one's lines, used if it is better, and forgotten."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hands
import numpy as np
import pytest
from hands import bar
from page_site import Counted, running

from tacit.lm.network8 import reader
from tacit.lm.network8.forward import log_probs, state_after
from tacit.lm.network8.writer import as_model
from tacit.page import models, server
from tacit.personal import split, trial
from tacit.personal.strategies import Strategy
from tacit.text.encode import splitter
from tacit.text.packed import pack
from tacit.text.typists import Typists, TypistsConfig

KEEP = """async (lines) => {
  const store = await import("/sentences.js");
  store.agree(true);
  await store.eraseSentences();
  for (const line of lines) await store.keepSentence(line);
  dispatchEvent(new Event("focus")); // the page looks again
}"""
LINES = "async () => (await import('/sentences.js')).sentences()"


@pytest.fixture(scope="module")
def site(exported: Any) -> Counted:
    return Counted(server.site(*models.page_models(exported)[:1]))


@pytest.fixture(scope="module")
def words(exported: Any) -> list[str]:
    """Four words of the model."""
    return [word for word in reader.open(exported).words[3:] if re.fullmatch("[a-z]{3,}", word)][:4]


@pytest.fixture(scope="module")
def habit(words: list[str]) -> list[str]:
    return [" ".join(words)] * 250


@pytest.fixture
def page(visit: Any, site: Counted) -> Iterator[Any]:
    with running(site) as address:
        seen = visit(address)
        seen.page.wait_for_selector("#lines")
        yield seen.page
        assert seen.complaints == []


def until(page: Any, truth: str) -> None:
    """Waits until an expression holds in the page."""
    hands.until(page, lambda: page.evaluate(truth))


def says(page: Any) -> str:
    return str(page.text_content("#own-result"))


def tune(page: Any, lines: list[str]) -> str:
    """Keeps lines and presses the button; returns what the page says at the end."""
    page.evaluate(KEEP, lines)
    page.wait_for_selector("#own-make:enabled")
    page.click("#own-make")
    page.wait_for_url("**/?own", wait_until="commit")
    page.wait_for_selector("html[data-ready]")
    until(page, "document.getElementById('own-progress').hidden")
    until(page, "!/Tuning on/.test(document.getElementById('own-result').textContent)")
    return says(page)


def chosen(page: Any) -> str:
    return str(page.locator("#models .model:has(input:checked) .title").text_content())


def test_a_model_of_ones_own_is_tuned_used_kept_and_forgotten(
    page: Any, site: Counted, habit: list[str], words: list[str]
) -> None:
    shared = chosen(page)
    said = tune(page, habit)
    assert said.startswith("Yours is better: ") and "It is used from now on." in said
    before, after = (float(part.split(" %")[0].split()[-1]) for part in said.split(" → "))
    assert after > before and chosen(page) == "Yours"
    assert page.text_content("#requests") == "0" and "own" not in page.url
    asked = len(site.asked)
    page.fill("#message", "")
    page.keyboard.type(" ".join(words[:3]) + " ")
    assert bar(page)[0] == words[3]
    assert len(site.asked) == asked  # tuning asked for nothing once the page had loaded
    page.reload()
    page.wait_for_selector("html[data-ready]")
    until(page, "document.querySelector('#models .title').textContent === 'Yours'")
    assert says(page) == said and chosen(page) == "Yours"
    page.click("#own-forget")
    until(page, "document.getElementById('own-forget').hidden")
    assert chosen(page) == shared and "forgotten" in says(page)
    assert page.text_content("#lines-kept").startswith("250 lines")  # they stay until they are erased
    page.click("#lines-erase")
    until(page, "/^0 lines/.test(document.getElementById('lines-kept').textContent)")
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert chosen(page) == shared


def gate_of(file: Path, lines: list[str]) -> tuple[dict[str, int], dict[str, int]]:
    """What the gate of `tacit personalize` counts on the second and the third part, with an exported network."""
    stored = reader.open(file)
    split_line = splitter(stored.facts["case"] == "lower", pretokenized=False)
    ids = [np.array([0, *map(stored.id, split_line(line)), 1]) for line in lines]
    model, params = as_model(stored)
    options = trial.Tuning(max_words=stored.facts["max_words"], batching="sentences")
    ready = trial.prepare(model, params, split.split(pack([ids], ["me"])), options)
    strategy = Strategy(5, (1.0,))
    names = ("words", "before", "won", "lost")
    second, third = trial.look(ready, [strategy])[strategy]
    return tuple({name: int(getattr(part, name)[0]) for name in names} for part in (second, third))


def test_the_gate_is_that_of_tacit_personalize(page: Any, exported: Path, habit: list[str]) -> None:
    """The page and Python split, tune and count the same: the words of both parts, and those won and lost."""
    typed = [message.text for message in Typists(TypistsConfig(users=1, messages=120)).messages(0)]
    every = [line for said, often in zip(typed, habit, strict=False) for line in (said, said, often)]
    every += [" ".join([*typed[:8], habit[0]])] * 3  # too long for one sequence
    stored = reader.open(exported)
    guess = stored.words[3 + int(np.argmax(log_probs(stored, state_after(stored, []))[0, 3:]))]
    every += [
        line for typing in every[:40] for line in (typing, guess)
    ]  # what the shared model has right is lost
    tune(page, every)
    kept = page.evaluate("async () => (await import('/sentences.js')).keptOwn()")
    gate, last = gate_of(exported, every)
    assert (kept["gate"], kept["last"]) == (gate, last)
    assert gate["won"] and gate["lost"], gate  # words on which the two models differ
    assert (kept["params"] is not None) == (gate["won"] - gate["lost"] >= 0.01 * gate["words"])


def test_a_model_that_is_not_better_is_not_used_and_the_reason_is_said(page: Any, words: list[str]) -> None:
    shared = chosen(page)
    first, *others = words
    said = tune(page, [f"{first} {first} {first} {first} {first}"] * 20 + [" ".join(others)] * 20)
    assert said.startswith("Not used, because it is not better") and chosen(page) == shared
    assert page.text_content("#requests") == "0"
    assert tune(page, [" ".join(words)] * 11).startswith("No model yet: 44 words, and 100 are needed")


def test_lines_are_kept_with_consent_only(page: Any) -> None:
    assert page.is_disabled("#own-make") and page.text_content("#lines-kept") == "Nothing is kept."
    page.keyboard.type("said before\n")
    page.check("#lines")
    page.focus("#message")
    page.keyboard.type("said after\n")
    until(page, "/^1 line, in this browser only/.test(document.getElementById('lines-kept').textContent)")
    assert page.text_content("#lines-kept").endswith("A model needs at least 10.")
    page.uncheck("#lines")
    page.focus("#message")
    page.keyboard.type("taken back\n")
    assert [line.lower() for line in page.evaluate(LINES)] == ["said after"]
    # they stay until they are erased, and the page says so
    assert page.text_content("#lines-kept").startswith("1 line, in this browser only.")
    page.click("#lines-inside summary")
    until(page, "document.querySelectorAll('#lines-list li').length === 1")
    assert page.text_content("#lines-list").lower() == "said after"
    with page.expect_download() as download:
        page.click("#lines-export")
    kept = json.loads(Path(download.value.path()).read_text("utf-8"))
    assert [line.lower() for line in kept] == ["said after"]
    page.click("#lines-erase")
    until(page, "document.querySelectorAll('#lines-list li').length === 0")
    assert page.evaluate(LINES) == [] and page.is_disabled("#lines-export")
    assert page.text_content("#requests") == "0"


def test_a_newer_model_ends_ones_own(page: Any, habit: list[str]) -> None:
    tune(page, habit)
    page.evaluate("""async () => {
      const store = await import("/sentences.js");
      await store.keepOwn({ ...(await store.keptOwn()), mark: "1-2" });
    }""")
    page.reload()
    page.wait_for_selector("html[data-ready]")
    until(page, "/shared model has changed/.test(document.getElementById('own-result').textContent)")
    assert chosen(page) != "Yours"
