"""Makes docs/keyboard.png, the screenshot of the keyboard page in the README.

It serves a run and opens it in headless Chromium: on the left a light desktop with suggestions for the next word, on
the right a dark phone in the middle of a glide.

make demo && .venv/bin/python tools/screenshot.py runs/demo
"""

from __future__ import annotations

import io
import shutil
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import image
from playwright.sync_api import Page, sync_playwright

from tacit.page import server as serve
from tacit.page.models import page_models

OUT = Path("docs/keyboard.png")
HEIGHT, DESKTOP, PHONE, GAP = 800, 1060, 360, 28


def opened(browser: Any, address: str, width: int, scheme: str) -> Page:
    context = browser.new_context(viewport={"width": width, "height": HEIGHT}, color_scheme=scheme)
    page: Page = context.new_page()
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    return page


def write(page: Page, text: str) -> None:
    """Types a message, taking each word as soon as it is suggested."""
    for word in text.split():
        for letter in (*word, " "):
            offered = [w.lower() for w in page.locator("#bar button").all_text_contents()]
            if word in offered:
                page.keyboard.press(f"Alt+Digit{offered.index(word) + 1}")
                break
            page.keyboard.type(letter)


def desktop(browser: Any, address: str) -> bytes:
    page = opened(browser, address, DESKTOP, "light")
    for line in ("thanks for the coffee", "do you want to come round for dinner tonight"):
        write(page, line)
        page.keyboard.press("Enter")
    write(page, "i will be at the")
    page.mouse.move(2, 2)
    page.wait_for_timeout(400)
    return page.screenshot()


def phone(browser: Any, address: str) -> bytes:
    page = opened(browser, address, PHONE, "dark")
    write(page, "are you coming home for")
    keys = page.get_by_role("group", name="Keys")
    spots = []
    for letter in "lunch":
        box = keys.get_by_role("button", name=letter, exact=True).bounding_box()
        assert box is not None
        spots.append((box["x"] + box["width"] / 2, box["y"] + box["height"] / 2))
    page.mouse.move(*spots[0])
    page.mouse.down()
    for x, y in spots[1:]:
        page.mouse.move(x, y, steps=12)
    return page.screenshot()


def pixels(png: bytes) -> np.ndarray:
    """Returns an image as [height, width, 3] from 0 to 1."""
    return np.asarray(image.imread(io.BytesIO(png), format="png"))[..., :3]


def main() -> None:
    run = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("runs/demo")
    models, _, capitals = page_models(run)
    server = serve.server(serve.site(models, capitals=capitals))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        left, right = (pixels(shot(browser, serve.address(server))) for shot in (desktop, phone))
        browser.close()
    server.shutdown()
    between = np.ones((HEIGHT, GAP, 3))
    image.imsave(OUT, np.concatenate([left, between, right], axis=1), pil_kwargs={"optimize": True})
    print(f"{OUT}, {OUT.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
