"""Makes docs/federation-demo.webp, the moving picture of `tacit federation demo` in the README.

It runs the demo, plays its person in headless Chromium on the page *Take part* (left), and looks at the page of
`tacit federation watch` (right). Of the frames, those are kept in which most has changed, so waiting is short.

.venv/bin/python tools/federation_demo_picture.py
"""

from __future__ import annotations

import io
import queue
import shutil
import tempfile
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from playwright.sync_api import sync_playwright

from tacit.network.demo import demo
from tacit.network.watch.page import Watched
from tacit.page import server as serve

OUT = Path("docs/federation-demo.webp")
WIDTH, HEIGHT, GAP = 620, 760, 12
WIDER = 1.5  # the federation's page is shown smaller, so that there is more of it
ROUNDS = 3
MOST, LENGTH, LAST = 40, 450, 4000  # frames; milliseconds of each, and of the last
EVERY = 0.4  # seconds between looks
LINES = [
    "see you at the lake tomorrow",
    "i am late again",
    "bring the red towel",
    "thanks a lot",
    "good night",
]


def opened(browser: Any, address: str, wider: float = 1.0) -> Any:
    size = {"width": int(WIDTH * wider), "height": int(HEIGHT * wider)}
    page = browser.new_page(viewport=size, color_scheme="light")
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    return page


class Film:
    """The frames so far: both pages side by side."""

    def __init__(self, left: Any, right: Any) -> None:
        self._pages, self.frames = (left, right), list[Image.Image]()

    def look(self) -> None:
        """Keeps what is to be seen now, if it is new."""
        frame = Image.new("RGB", (2 * WIDTH + GAP, HEIGHT), "white")
        for i, page in enumerate(self._pages):
            seen = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
            frame.paste(seen.resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS), (i * (WIDTH + GAP), 0))
        small = frame.resize((frame.width * 3 // 4, HEIGHT * 3 // 4), Image.Resampling.LANCZOS)
        if not self.frames or self._changed(self.frames[-1], small):
            self.frames.append(small)

    @staticmethod
    def _changed(before: Image.Image, after: Image.Image) -> float:
        """How much two frames differ."""
        return float(np.abs(np.asarray(before, np.int16) - np.asarray(after, np.int16)).mean())

    def save(self, out: Path) -> None:
        """Writes the frames; of more than the most, those go that change least."""
        changes = [self._changed(a, b) for a, b in pairwise(self.frames)]
        least = sorted(changes, reverse=True)[: MOST - 1][-1]
        kept = [
            self.frames[0],
            *(f for f, change in zip(self.frames[1:-1], changes, strict=False) if change >= least),
        ]
        kept.append(self.frames[-1])
        lengths = [LENGTH] * (len(kept) - 1) + [LAST]
        kept[0].save(
            out, save_all=True, append_images=kept[1:], duration=lengths, loop=0, quality=40, method=4
        )
        size = f"{out.stat().st_size:,} bytes"
        print(f"{out}, {len(kept)} of {len(self.frames)} frames, {sum(lengths) / 1000:.0f} s, {size}")


def play(film: Film, page: Any) -> None:
    """What the person does: agree, type five sentences, join, take part."""
    film.look()
    page.check("#consent")
    for line in LINES:
        page.type("#line", line)
        film.look()
        page.press("#line", "Enter")
        page.wait_for_timeout(150)
        film.look()
    page.click("#join")
    page.wait_for_selector("#join", state="hidden")
    film.look()
    page.click("#start")
    page.evaluate("document.getElementById('member').closest('section').scrollIntoView()")


def main() -> None:
    links: queue.Queue[str] = queue.Queue()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "demo"
        training = threading.Thread(target=demo, args=(place, ROUNDS, links.put), daemon=True)
        training.start()
        link = links.get(timeout=300)
        watched = serve.server(Watched(place / "home"))
        threading.Thread(target=watched.serve_forever, daemon=True).start()
        program = (
            shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        )
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
            page = opened(browser, link)
            film = Film(page, opened(browser, serve.address(watched), WIDER))
            play(film, page)
            while training.is_alive() and page.get_attribute("html", "data-state") != "away":
                film.look()
                time.sleep(EVERY)
            film.frames.pop()  # in which the demo may have ended
            browser.close()
        watched.shutdown()
    film.save(OUT)


if __name__ == "__main__":
    main()
