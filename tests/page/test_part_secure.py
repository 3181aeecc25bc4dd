"""Secure sums in Chromium's own WebCrypto: the tests of js/secure.mjs, which node runs too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from page_site import running

from tacit.page.server import Answer

ROOT = Path(__file__).parents[2]
PART = ROOT / "src/tacit/page/static/part"
VECTORS = ROOT / "tests/privacy/vectors"
BLANK = Answer("text/html; charset=utf-8", b"<!doctype html><title>tests</title>")
RUN = """async ([round, fixed]) => {
  const { secureTests } = await import("/tests/page/js/secure.mjs");
  const failed = [];
  const tests = Object.entries(secureTests(round, fixed));
  for (const [name, test] of tests) {
    try { await test(); } catch (error) { failed.push(`${name}: ${error.message}`); }
  }
  return [tests.length, failed];
}"""


def test_every_byte_and_refusal_of_a_secure_sum(browser: Any) -> None:
    files = [*PART.rglob("*.js"), ROOT / "tests/page/js/secure.mjs"]
    site = {f"/{file.relative_to(ROOT)}": Answer("text/javascript", file.read_bytes()) for file in files}
    given = [
        json.loads((VECTORS / f"{name}.json").read_text("utf-8")) for name in ("secure-round", "fixed-point")
    ]
    with running({"/": BLANK, **site}) as address:
        page = browser.new_page()
        try:
            page.goto(address)
            count, failed = page.evaluate(RUN, given)
        finally:
            page.close()
    assert failed == [] and count >= 29
