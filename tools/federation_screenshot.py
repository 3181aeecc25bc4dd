"""Makes docs/federation.png, the picture of `tacit federation watch` in docs/network.md.

It waits until a federation has made some rounds and has a part of the answers to the next one, and then opens the
page in headless Chromium, light and dark. Start it beside a run of a few clients:

.venv/bin/python tools/federation_screenshot.py home 4
"""

from __future__ import annotations

import io
import shutil
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import image
from playwright.sync_api import sync_playwright

from tacit.network.watch.page import Watched
from tacit.network.watch.state import state
from tacit.page import server as serve

OUT = Path("docs/federation.png")
WIDTH, HEIGHT, GAP = 760, 940, 20


def wait(place: Path, rounds: int) -> None:
    """Waits until so many rounds are made and the next one has some of its answers."""
    while True:
        said = state(place)
        now = said["now"]
        if (
            now
            and len(said["rounds"]) >= rounds
            and now["task"] == "train"
            and 0 < now["accepted"] < now["goal"]
        ):
            return
        time.sleep(0.05)


def shot(browser: Any, address: str, scheme: str) -> np.ndarray:
    """Returns the page as [height, width, 3] from 0 to 1."""
    page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=scheme)
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    return np.asarray(image.imread(io.BytesIO(page.screenshot()), format="png"))[..., :3]


def main() -> None:
    place, rounds = Path(sys.argv[1]), int(sys.argv[2])
    server = serve.server(Watched(place))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        wait(place, rounds)
        light, dark = (shot(browser, serve.address(server), scheme) for scheme in ("light", "dark"))
        browser.close()
    server.shutdown()
    between = np.ones((HEIGHT, GAP, 3))
    image.imsave(OUT, np.concatenate([light, between, dark], axis=1), pil_kwargs={"optimize": True})
    print(f"{OUT}, {OUT.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
