"""Makes docs/federation-demo.webp, the moving picture of `tacit federation demo` in the README.

It runs the demo, plays its person in headless Chromium on the page *Take part* (left), and looks at the page of
`tacit federation watch` (right). A frame is kept where something has changed; waiting is shortened.

.venv/bin/python tools/federation_demo_picture.py
"""

from __future__ import annotations

import io
import queue
import shutil
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from PIL import Image, ImageChops
from playwright.sync_api import sync_playwright

from tacit.network.demo import demo
from tacit.network.watch.page import Watched
from tacit.page import server as serve

OUT = Path("docs/federation-demo.webp")
WIDTH, HEIGHT, GAP = 620, 860, 12
ROUNDS = 3
LONGEST, LAST = 900, 4000  # milliseconds of a frame, and of the last
EVERY = 0.4  # seconds between looks
LINES = [
    "see you at the lake tomorrow",
    "i am late again",
    "bring the red towel",
    "thanks a lot",
    "good night",
]


def opened(browser: Any, address: str) -> Any:
    page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    return page


class Film:
    """The frames so far: both pages side by side, and how long each is shown."""

    def __init__(self, left: Any, right: Any) -> None:
        self._pages, self.frames, self.lengths = (left, right), list[Image.Image](), list[int]()

    def look(self, length: int = 0) -> None:
        """Keeps what is to be seen now, if it is new."""
        frame = Image.new("RGB", (2 * WIDTH + GAP, HEIGHT), "white")
        for i, page in enumerate(self._pages):
            frame.paste(Image.open(io.BytesIO(page.screenshot())), (i * (WIDTH + GAP), 0))
        if self.frames and not ImageChops.difference(self.frames[-1], frame).getbbox():
            self.lengths[-1] = min(LONGEST, self.lengths[-1] + 300)
            return
        self.frames.append(frame)
        self.lengths.append(length or 400)

    def save(self, out: Path) -> None:
        self.lengths[-1] = LAST
        small = [
            frame.resize((frame.width * 3 // 4, HEIGHT * 3 // 4), Image.Resampling.LANCZOS)
            for frame in self.frames
        ]
        small[0].save(
            out, save_all=True, append_images=small[1:], duration=self.lengths, loop=0, quality=55, method=6
        )


def play(film: Film, page: Any) -> None:
    """What the person does: agree, type five sentences, join, take part."""
    film.look(1200)
    page.check("#consent")
    for line in LINES:
        page.type("#line", line)
        film.look()
        page.press("#line", "Enter")
        page.wait_for_timeout(150)
        film.look()
    page.click("#join")
    page.wait_for_selector("#join", state="hidden")
    film.look(900)
    page.click("#start")


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
            film = Film(page, opened(browser, serve.address(watched)))
            play(film, page)
            while training.is_alive():
                film.look()
                time.sleep(EVERY)
            film.look()
            browser.close()
        watched.shutdown()
    film.save(OUT)
    print(f"{OUT}, {len(film.frames)} frames, {sum(film.lengths) / 1000:.0f} s, {OUT.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
