"""Firefox by WebDriver BiDi, its own protocol over a WebSocket: no driver beside the browser is needed.

https://www.w3.org/TR/webdriver-bidi/. Only what the tests need: open an address, and evaluate functions in the page.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PATIENCE = 120.0  # seconds


class Page:
    """A tab of Firefox."""

    def __init__(self, firefox: Firefox, context: str) -> None:
        self._firefox, self._context = firefox, context

    def goto(self, address: str) -> None:
        self._firefox.call("browsingContext.navigate", context=self._context, url=address, wait="complete")

    def evaluate(self, function: str, argument: Any = None) -> Any:
        """Returns what a function of the page returns, or what an expression is; both go through JSON."""
        given = json.dumps(json.dumps(argument))
        value = f"const value = ({function}), given = JSON.parse({given});"
        result = "JSON.stringify(await (typeof value === 'function' ? value(given) : value))"
        made = f"(async () => {{ {value} return {result}; }})()"
        said = self._firefox.call(
            "script.evaluate", expression=made, target={"context": self._context}, awaitPromise=True
        )
        assert said["type"] == "success", said.get("exceptionDetails", {}).get("text")
        text = said["result"].get("value")
        return None if text is None else json.loads(text)

    def wait(self, truth: str, seconds: float = PATIENCE) -> None:
        """Waits until an expression holds in the page."""
        end = time.monotonic() + seconds
        while not self.evaluate(truth):
            assert time.monotonic() < end, truth
            time.sleep(0.1)

    def close(self) -> None:
        self._firefox.call("browsingContext.close", context=self._context)


class Firefox:
    """A Firefox without a window, with a new profile."""

    def __init__(self, program: str, profile: Path) -> None:
        from websockets.sync.client import connect

        log = profile / "firefox.log"
        command = [
            program,
            "--headless",
            "--no-remote",
            "--profile",
            str(profile),
            "--remote-debugging-port",
            "0",
        ]
        with log.open("wb") as said:
            self._process = subprocess.Popen(command, stdout=said, stderr=said)
        try:
            end = time.monotonic() + PATIENCE
            while not (found := re.search(r"WebDriver BiDi listening on (ws://\S+)", log.read_text("utf-8"))):
                assert self._process.poll() is None and time.monotonic() < end, log.read_text("utf-8")
                time.sleep(0.1)
            self._socket = connect(f"{found[1]}/session", max_size=None, open_timeout=PATIENCE)
            self._next = 0
            self.call("session.new", capabilities={})
        except BaseException:
            self._process.kill()
            raise

    def call(self, method: str, **params: Any) -> Any:
        """Sends a command and returns its result; events in between are left out."""
        self._next += 1
        self._socket.send(json.dumps({"id": self._next, "method": method, "params": params}))
        while True:
            said = json.loads(self._socket.recv(timeout=PATIENCE))
            if said.get("id") == self._next:
                assert said["type"] == "success", said
                return said["result"]

    def page(self) -> Page:
        """Opens a tab."""
        return Page(self, self.call("browsingContext.create", type="tab")["context"])

    def close(self) -> None:
        self._socket.close()
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@pytest.fixture(scope="session")
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    """Without Firefox the test skips."""
    pytest.importorskip("websockets.sync.client")
    found = shutil.which("firefox-esr") or shutil.which("firefox")
    if not found:
        pytest.skip("Firefox is not installed (apt-get install firefox-esr)")
    started = Firefox(found, tmp_path_factory.mktemp("firefox"))
    yield started
    started.close()
