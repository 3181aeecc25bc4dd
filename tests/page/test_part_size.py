"""What a browser loads to take part stays small, and the list of what it loads is what a browser asks for."""

from __future__ import annotations

from typing import Any

import pytest

from tabs import Tab, pages

ASKED = 80_000  # bytes by gzip


def test_taking_part_takes_little(browser: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend("tools")
    from part_size import loaded, packed

    files = loaded()
    assert packed(b"".join(files.values())) <= ASKED
    assert sum(map(packed, files.values())) <= 1.1 * ASKED  # a server that packs each file by itself
    with pages() as address:
        tab = Tab(browser, f"{address}/part/", [])
        tab.page.evaluate("""async () => {
            const policy = trustedTypes.createPolicy("tacit-part", { createScriptURL: (url) => url });
            for (const url of ["/part/worker.js", "/train/worker.js"]) {
                const worker = new Worker(policy.createScriptURL(url), { type: "module" });
                const said = new Promise((yes) => (worker.onmessage = yes));
                worker.postMessage({ start: true, work: "none" });
                await said;
            }
        }""")
        asked = {url.removeprefix(f"{address}/") for url in tab.asked} - {"part/"}
        tab.close()
    assert asked == files.keys() - {"part/index.html"}
