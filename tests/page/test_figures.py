"""The figures on docs/page.md are those that were measured."""

from __future__ import annotations

import importlib
from pathlib import Path


def test_the_page_says_what_was_measured(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend("tools")
    tool = importlib.import_module("measured_page")
    assert Path(tool.PAGE).read_text("utf-8") == tool.page(), "run `python tools/measured_page.py`"
    found = tool.read(tool.FILE)
    tool.store(tool.FILE, {**found, "requests_after": 7}, tmp_path)
    assert tool.page(tmp_path) != tool.page()  # a changed figure shows
    assert found["requests_after"] == 0 and found["console_errors"] == []
    assert found["page_bytes"] + sum(found["model_bytes"].values()) <= 1_200_000
    assert list(found["model_bytes"]) == ["network", "federated"]
    assert found["recall"]["network"]["top3"] >= 0.45 > found["recall"]["federated"]["top3"]
    assert found["keys"] >= 500 and found["handled_ms"]["p95"] <= 20 and found["processor_ms"]["p95"] <= 20
    assert found["first_usable_ms"]["median"] <= 1500
