"""The demonstration, made tiny: three models side by side on one page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commands import TINY, Commands, sets, tree
from tacit import demo


def test_the_demo_leaves_a_report_of_three_models(
    tmp_path: Path, tacit: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "CONTEXTS", ("", "are you", "<b>"))
    out = tmp_path / "demo"
    people = ("typists.users=12", "typists.messages=8", "typists.quantity_skew=0")
    small = sets(*TINY, *people, "training.rounds=1", "central.steps=2")
    said = tacit.ok("demo", "--out", out, *small)
    page = (out / "report.html").read_text()
    for name in ("federated", "central", "Kneser-Ney 5-gram"):
        assert f"<td>{name}</td>" in page and f"<th>{name}</th>" in page and name in said
    assert page.count("<svg") == 3 and "On later messages of people it learned from" in page
    assert "&lt;b&gt;" in page and "(nothing typed yet)" in page
    assert str(out / "report.html") in said
    ngram = json.loads((out / "ngram.json").read_text())
    federated = json.loads((out / "summary.json").read_text())
    central = json.loads((out / "central/summary.json").read_text())
    for key in ("tokens", "people", "oov", "sentences"):  # all three were asked the same
        assert ngram["test"][key] == federated["test"][key] == central["test"][key]
        assert ngram["seen"][key] == federated["seen"][key] == central["seen"][key]
    assert (out / "vocabulary.txt").read_bytes() == (out / "central/vocabulary.txt").read_bytes()
    # again: what is there is not made anew, and the page is the same
    before = tree(out)
    tacit.ok("demo", "--out", out, *small)
    assert tree(out) == before
    tacit("demo", "--out", out, *small, "--set", "seed=3").refused("seed = 0, now 3")
