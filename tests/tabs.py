"""Tabs of a real Chromium that take part in a federation: each is a browser of its own, with its own storage."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from served import until
from tacit.network.browsers import site
from tacit.network.gate import Doors, Join, gate
from tacit.network.server import _bound, _manners, _serving

PATIENCE = 60_000  # milliseconds
KEEP = """async (lines) => {
  const store = await import("/part/store.js");
  await store.agree(true);
  for (const line of lines) await store.keepSentence(line);
  dispatchEvent(new Event("focus")); // the page looks again
}"""


class Tab:
    """A person with a browser, on the page Take part."""

    def __init__(self, browser: Any, link: str, sentences: Sequence[str]) -> None:
        self.context = browser.new_context()
        self.context.set_default_timeout(PATIENCE)
        self.link, self.complaints, self.asked = link, list[str](), list[str]()
        self.context.on("request", lambda request: self.asked.append(request.url))
        self.page = self.open(link)
        self.page.evaluate(KEEP, list(sentences))

    @property
    def address(self) -> str:
        return self.link.partition("#")[0]

    def open(self, address: str = "") -> Any:
        """Opens the page in a new tab of this browser."""
        page = self.context.new_page()
        page.on("console", lambda said: self._complain(said) if said.type == "error" else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.goto(address or self.address)
        page.wait_for_selector("html[data-ready]")
        return page

    def wait(self, truth: str) -> None:
        """Waits until an expression holds in the page. (Playwright's own way needs 'unsafe-eval'.)"""
        until(lambda: self.page.evaluate(truth), truth, seconds=PATIENCE / 1000)

    def _complain(self, said: Any) -> None:
        if "Failed to load resource" not in said.text or "/v1/" not in said.location["url"]:  # a refused call
            self.complaints.append(said.text)

    def join(self) -> None:
        self.page.click("#join")
        self.page.wait_for_selector("#join", state="hidden")

    def start(self) -> None:
        self.page.click("#start")

    def until(self, state: str, seconds: float = 60.0) -> None:
        """Waits until the page is in a state of node.js."""
        self.page.wait_for_selector(f"html[data-state={state}]", timeout=1000 * seconds)

    def says(self, place: str = "state") -> str:
        return str(self.page.text_content(f"#{place}"))

    def journal(self) -> list[dict[str, Any]]:
        said = self.page.evaluate("""async () => (await import("/part/store.js")).journal()""")
        return list(said)

    def trained(self) -> int:
        """How many sums of training it was in to the end."""
        return sum(line["task"] == "train" and line["ended"] == "answered" for line in self.journal())

    def close(self) -> None:
        self.context.close()


@contextmanager
def pages(join: Join | None = None, transport: Any = None) -> Iterator[str]:
    """The pages for browsers behind a real gate; gives their address. `transport` stands for SuperLink."""
    answer = transport or httpx.MockTransport(lambda request: httpx.Response(503))
    app = gate("http://127.0.0.1:1", "", answer, Doors(pages=site(), join=join))
    with _bound("127.0.0.1", 0) as bound, _serving(_manners(Path(os.devnull), app), bound):
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
