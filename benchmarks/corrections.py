"""Measures what the page in Chromium makes of unknown words, misspellings, known words and spaces inside words.

    python benchmarks/corrections.py MODEL LISTS > corrections.json
    python benchmarks/corrections.py MODEL LISTS --without-browser     # the same words in Python, in a minute

MODEL is the model.tacit of `tacit distill`, or a run; LISTS the folder that `corrections_lists.py` describes. Words
follow the beginning of a message of a held-out typist. Every letter is a real click on its key: its middle plus a
normal scatter in key widths, drawn again until the key is the right one. Learning is off, so that no word changes the
next.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import corrections_lists as lists
import numpy as np
from corrections_items import developing, perfect
from playwright.sync_api import Page, sync_playwright

from tacit.keyboard import dictionary, suggestions
from tacit.keyboard.layout import centre, spell
from tacit.keyboard.measures import noise
from tacit.keyboard.suggestions import Part, Suggester
from tacit.lm.open import open as open_model
from tacit.page import server
from tacit.page.models import page_models
from tacit.text import typed
from tacit.text.locale import ENGLISH
from tacit.text.prepare import TextConfig
from tacit.text.tokens import detokenize
from tacit.text.typists import TypistsConfig

UNKNOWN, MISSPELT, KNOWN, GLIDED = 150, 200, 200, 60  # unknown: of each list
SPLIT, PAIRS = 400, 2000  # typed in Python; the page is given the first of each
OF_THEM = 0.1  # this share
BEFORE, SEED = 22, 23  # of the lists that were measured before the fit, and of these
CLEAN = 0.1  # scatter of misspellings
PLACES = """[..."qpz"].map(c => document.querySelector(`#keys .key[data-key="${c}"]`).getBoundingClientRect())
  .map(box => [box.x + box.width / 2, box.y + box.height / 2])"""


class Hands:
    """Types on the page by the mouse."""

    def __init__(self, page: Page, contexts: list[str]) -> None:
        self.page = page
        self.draw = np.random.default_rng(SEED)
        self.contexts = contexts

    def begin(self, context: str | None = None) -> str:
        """Empties the message and puts the beginning of another one there, or this one."""
        self.page.locator("#clear").click()
        if context is None:
            context = self.contexts[int(self.draw.integers(len(self.contexts)))]
        self.page.locator("#message").focus()
        self.page.keyboard.insert_text(context)
        q, p, z = self.page.evaluate(PLACES)  # the page may have moved
        self.left, self.top, self.key, self.row = *q, (p[0] - q[0]) / 9, (z[1] - q[1]) / 2
        return context

    def tap(self, word: str, scatter: float) -> None:
        for letter in word:
            x, y = centre(letter)
            at = np.array([x, y])
            off = np.array([9.0, 9.0])
            while abs(off[0]) > 0.48 or abs(off[1]) > 0.72:  # of a key of 1 by 1.5
                off = self.draw.normal(0.0, scatter, 2)
            self.click(at + off)

    def click(self, at: np.ndarray) -> None:
        self.page.mouse.click(*self.pixels(at))

    def pixels(self, at: np.ndarray) -> tuple[float, float]:
        x, y = at.tolist()
        return self.left + (x - 0.5) * self.key, self.top + (y - 0.75) / 1.5 * self.row

    def bar(self) -> list[str]:
        words = self.page.locator("#bar button").all_text_contents()
        return [word.strip("“”").lower() for word in words]

    def written(self, context: str) -> str:
        return self.page.locator("#message").input_value()[len(context) :].strip().lower()

    def word(self, word: str, scatter: float) -> tuple[str, list[str]]:
        """Types a word and a space; returns what stands there, and the bar before the space."""
        context = self.begin()
        self.tap(word, scatter)
        bar = self.bar()
        self.page.locator("#keys .key.space").click()
        return self.written(context), bar

    def parts(self, context: str, first: str, second: str) -> tuple[str, list[str]]:
        """Types two parts, a space after each; returns what stands there, and the bar before the second space."""
        self.begin(context)
        self.tap(first, CLEAN)
        self.page.locator("#keys .key.space").click()
        self.tap(second, CLEAN)
        bar = self.bar()
        self.page.locator("#keys .key.space").click()
        return self.written(context), bar

    def glide(self, word: str) -> str:
        """Glides a word; returns what stands there."""
        context = self.begin()
        trail = noise.trail(spell(word), self.draw)[:, :2]
        points = [self.pixels(at) for at in np.clip(trail, [0.1, 0.1], [9.9, 5.9])]
        self.page.mouse.move(*points[0])
        self.page.mouse.down()
        for point in points[1:]:
            self.page.mouse.move(*point)
        self.page.mouse.up()
        return self.written(context)


def contexts() -> list[str]:
    """Returns beginnings of messages of typists that no model saw, each with a space at its end."""
    people = typed.read(TextConfig(), TypistsConfig(users=20, seed=99), 0).messages
    begun = [message[: 1 + len(message) // 2] for person in people for message in person if len(message) > 1]
    texts = [detokenize(words) for words in begun if all(word.isalpha() for word in words)]
    return [f"{text} " for text in texts if text]


def chosen(model: Path, folder: Path) -> dict[str, list[Any]]:
    """Draws the words that are typed: none that the fit has seen, and none that was measured before it."""
    words = open_model(model).source.words
    known = {spell(word) for word in words} - {""}
    almost = known | {word.replace("'", "") for word in known}  # without its apostrophe a word is a slip
    american, spoken = lists.fitted_words(folder), lists.subtitle_words(folder)
    seldom = [w for w in spoken if w not in known and "'" not in w and w not in american]
    common = [w for w in spoken[:20_000] if w not in known and "'" not in w and w in american]
    names = [w for w in lists.names(folder) if w not in known and w not in american]
    web = [w for w in lists.web_words(folder) if w not in almost and (w not in american or developing(w))]
    every = {word for word in spoken if word in known and (word in american or "'" in word)}
    pairs = [
        (wrong, right) for wrong, right in lists.misspellings(folder) if right in known and wrong not in known
    ]

    def fresh(
        every: Iterable[Any], count: int, unseen: Callable[[Any], bool] = lambda one: True
    ) -> list[Any]:
        before = set(lists.draw(every, count, BEFORE))
        return lists.draw([one for one in every if one not in before and unseen(one)], count, SEED)

    return {
        "names": fresh(names, UNKNOWN),
        "seldom": fresh(seldom, UNKNOWN),
        "common": fresh(common, UNKNOWN, developing),
        "web": lists.draw(web, UNKNOWN, SEED),
        "misspelt": fresh(pairs, MISSPELT),
        "known": fresh(every, KNOWN, developing),
    }


class Fingers:
    """Types in Python what `Hands` types in the page, and offers what its bar offers (`bar.js`)."""

    def __init__(self, asked: Suggester, contexts: list[str]) -> None:
        self.asked, self.contexts = asked, contexts
        self.draw = np.random.default_rng(SEED)

    def word(self, word: str, scatter: float) -> tuple[str, list[str]]:
        """Types a word; returns what a space would write, and the bar before it, in lower case."""
        context = self.contexts[int(self.draw.integers(len(self.contexts)))]
        found = self.asked.correct(context, perfect(word, self.draw, scatter), typed=word)
        completions = [one.word for one in self.asked.complete(context, word, 6)]
        others = list(dict.fromkeys([*completions, *(one.word for one in found.words)]))
        if found.best != word:
            bar = [found.best, *[one for one in others if one not in (word, found.best)][:1]]
        else:
            bar = [one for one in others if one != word][:3]
            if not found.known and len(word) > 2 and found.words and found.words[0].word not in bar:
                bar = [*bar[:2], found.words[0].word]
        return found.best.lower(), [one.lower() for one in bar]

    def parts(self, context: str, first: str, second: str) -> tuple[str, list[str]]:
        """Types two parts, as `word` does one."""
        one, two = (perfect(part, self.draw, CLEAN) for part in (first, second))
        part = Part(one, first)
        found = self.asked.correct(context, two, typed=second, part=part)
        stands = self.asked.correct(context, one, typed=first).best
        best = found.best if found.joins else f"{stands} {found.best}"
        return best.lower(), [one.word.lower() for one in found.words]


def parted() -> tuple[list[tuple[str, str, str]], list[tuple[str, str, str]]]:
    """Draws words with a space inside and pairs of words, of typists that no model saw, each with its context."""
    draw = np.random.default_rng(SEED)
    people = typed.read(TextConfig(), TypistsConfig(users=60, seed=99), 0).messages
    places = [
        (message[:at], *map(str.lower, message[at : at + 2]))
        for person in people
        for message in person
        for at in range(len(message) - 1)
    ]
    split, pairs = list[tuple[str, str, str]](), list[tuple[str, str, str]]()
    for i in draw.permutation(len(places)).tolist():
        before, first, second = places[i]
        if not all(word.isalpha() and word == spell(word) for word in (first, second)):
            continue
        context = f"{detokenize(before)} " if before else ""
        if len(pairs) < PAIRS:
            pairs.append((context, first, second))
        elif len(split) < SPLIT and len(first) > 1:
            cut = int(draw.integers(1, len(first)))
            split.append((context, first[:cut], first[cut:]))
    return split, pairs


def typed_parts(hands: Hands | Fingers, share: float, progress: Callable[[str], None]) -> dict[str, Any]:
    """Types words with a space inside, and pairs; returns how many were mended and joined, of how many."""
    split, pairs = (every[: round(share * len(every))] for every in parted())
    figures = dict[str, Any]()
    became = [(one, *hands.parts(*one)) for one in split]
    figures["split mended"] = [sum(put == a + b for (_, a, b), put, _ in became), len(became)]
    figures["split in the bar"] = [sum(a + b in bar for (_, a, b), _, bar in became), len(became)]
    progress(f"split {figures} {[(a, b, put) for (_, a, b), put, _ in became if put != a + b]}")
    became = [(one, *hands.parts(*one)) for one in pairs]
    joined = [(*one, put) for one, put, _ in became if " " not in put]
    changed = sum(put != f"{a} {b}" for (_, a, b), put, _ in became)
    figures["pairs joined"] = [len(joined), len(became)]
    figures["pairs changed otherwise"] = [changed - len(joined), len(became)]
    progress(f"pairs joined {len(joined)} of {len(became)} {joined}")
    return figures


def typed_words(
    hands: Hands | Fingers, drawn: dict[str, list[Any]], progress: Callable[[str], None]
) -> dict[str, Any]:
    """Types the words of all lists; returns how many were replaced, changed and mended, of how many."""
    words, figures = dictionary.of_locale(ENGLISH), dict[str, Any]()
    for scatter in (0.15, 0.2):
        for kind in ("names", "seldom", "common", "web"):
            became = {word: hands.word(word, scatter)[0] for word in drawn[kind]}
            replaced = {a: b for a, b in became.items() if a != b}
            figures[f"{kind} replaced at {scatter}"] = [len(replaced), len(became)]
            has = [word for word in became if dictionary.lists(words, word, lambda stem: False)]
            figures[f"{kind} in the dictionary"] = [len(has), len(became)]
            progress(f"{kind} {scatter} {len(replaced)}/{len(became)} {replaced}")
    became = {word: hands.word(word, 0.2)[0] for word in drawn["known"]}
    changed = {a: b for a, b in became.items() if a != b}
    figures["known changed at 0.2"] = [len(changed), len(became)]
    progress(f"known {len(changed)}/{len(became)} {changed}")
    mended, shown, missed = 0, 0, {}
    for wrong, right in drawn["misspelt"]:
        put, bar = hands.word(wrong, CLEAN)
        mended += put == right
        shown += right in bar
        if put != right:
            missed[wrong] = (put, right in bar)
    figures["misspelt mended"] = [mended, len(drawn["misspelt"])]
    figures["misspelt in the bar"] = [shown, len(drawn["misspelt"])]
    progress(f"misspelt {mended} in bar {shown} of {len(drawn['misspelt'])} {missed}")
    return figures


def measure(model: Path, folder: Path, progress: Callable[[str], None]) -> dict[str, Any]:
    drawn = chosen(model, folder)
    site = server.server(server.site(page_models(model).models[:1]))
    threading.Thread(target=site.serve_forever, daemon=True).start()
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1100, "height": 900}, reduced_motion="reduce")
        page.goto(server.address(site))
        page.wait_for_selector("html[data-ready]")
        page.locator("#learn").uncheck()
        hands = Hands(page, contexts())
        figures = typed_words(hands, drawn, progress) | typed_parts(hands, OF_THEM, progress)
        for kind in ("names", "known"):
            glides = {word: hands.glide(word) for word in drawn[kind][:GLIDED]}
            figures[f"{kind} glided: nothing fits"] = [sum(not put for put in glides.values()), len(glides)]
            figures[f"{kind} glided: right"] = [sum(word == put for word, put in glides.items()), len(glides)]
        browser.close()
    site.shutdown()
    return figures


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("model", type=Path)
    given.add_argument("lists", type=Path)
    given.add_argument("--without-browser", action="store_true", help="decode in Python, not in the page")
    options = given.parse_args()

    def progress(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    if options.without_browser:
        fingers = Fingers(suggestions.open(options.model), contexts())
        found = typed_words(fingers, chosen(options.model, options.lists), progress)
        found |= typed_parts(fingers, 1.0, progress)
    else:
        found = measure(options.model, options.lists, progress)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
