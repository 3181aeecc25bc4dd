"""The demonstration, made tiny: five models side by side on one page, and what tuning one of them does to people."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from commands import TINY, Commands, sets, tree
from html_pages import Parsed
from tacit.experiments import demo
from tacit.personal import personalised, personalize


def test_the_demo_leaves_a_report_of_five_models(
    tmp_path: Path, tacit: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "CONTEXTS", ("", "are you", "<b>"))
    monkeypatch.setattr(demo, "PERSONAL", replace(demo.PERSONAL, batches=(5,), users=6, keep=1))
    out = tmp_path / "demo"
    people = ("typists.users=12", "typists.messages=24", "typists.quantity_skew=0")
    small = sets(*TINY, *people, "training.rounds=1", "central.steps=2")
    said = tacit.ok("demo", "--out", out, *small)
    page = (out / "report.html").read_text()
    for name in ("federated", "central", "Kneser-Ney 5-gram"):
        assert f"<td>{name}</td>" in page and f"<th>{name}</th>" in page and name in said
    made = json.loads((out / "ngram/summary.json").read_text())
    told = {line.split("  ")[0].strip(): line for line in said.splitlines()}
    for name, row in (
        ("distilled 3-gram", "n-gram"),
        ("Kneser-Ney of others", "Kneser-Ney, supplement"),
    ):
        figures = made["models"][row]
        assert f"<td>{name}</td>" in page
        for cell in (f"{figures['perplexity']:.1f}", f"{figures['top1']:.2%}", f"{figures['top3']:.2%}"):
            assert f"  {cell}" in told[name] and f"<td>{cell}</td>" in page  # one person: no interval
    assert f"<td>{made['ngrams']:,}, weights from {made['sentences']} sentences of the network</td>" in page
    assert f"<td>{made['bytes']['model.tacit'] / 1e6:.2f} MB</td>" in page
    assert f"<td>{made['latency_us']['p50']:.0f} µs (99 %: {made['latency_us']['p99']:.0f} µs)</td>" in page
    assert page.count("<svg") == 4 and "Later messages of people in training" in page
    assert "&lt;b&gt;" in page and "(nothing typed yet)" in page
    assert str(out / "report.html") in said
    ngram = json.loads((out / "ngram.json").read_text())
    federated = json.loads((out / "summary.json").read_text())
    central = json.loads((out / "central/summary.json").read_text())
    distilled, others = made["models"]["n-gram"], made["models"]["Kneser-Ney, supplement"]
    for key in ("tokens", "people", "oov", "sentences"):  # all five were asked the same
        assert ngram["test"][key] == federated["test"][key] == central["test"][key]
        assert distilled[key] == others[key] == federated["test"][key]
        assert ngram["seen"][key] == federated["seen"][key] == central["seen"][key]
    assert (out / "vocabulary.txt").read_bytes() == (out / "central/vocabulary.txt").read_bytes()
    assert tacit.ok("predict", out / "ngram/model.tacit", "are you").startswith("word")
    # what tuning does is what the command of its own finds for these people
    tuned = json.loads((out / "personal/summary.json").read_text())
    assert tuned["users"] == 6 and "typists 12 to 17" in tuned["people"]
    again = ("--batch", "5", "--lr", "0.1,1,4", "--users", "6", "--out", tmp_path / "again")
    figures = json.loads(tacit.ok("personalize", out, *again, "--json"))
    assert [r["lr"] for r in figures["grid"]] == [0.1, 1.0, 4.0] and figures["gate"]["margin"] >= 0
    for row, other in zip(tuned["grid"], figures["grid"], strict=True):
        assert {k: row[k] for k in other} == other
        cells = [f"{row['delta_mean']:.4f}", f"{row['relative']:.1%}", f"{row['gain_share']:.1%}"]
        assert all(f"<td>{cell}</td>" in page for cell in cells)
    assert f"<td>{figures['gate']['worse_share_without']:.1%}</td>" in page
    assert "\n6 people fine-tune the model on their own text. " in said
    gate, before = tuned["gate"], tuned["best"]["baseline"]
    assert gate["baseline"] == pytest.approx(before, abs=1e-4)  # the same people and words
    assert f"mean accuracy is {before + gate['delta_mean']:.1%} and {gate['worse_share']:.1%}" in said
    assert f"give {before + gate['delta_mean_without']:.1%}, and {gate['worse_share_without']:.1%}" in said
    away = [link for link in Parsed(page).loads if not link.startswith("#")]
    assert away == ["personal/report.html"] and (out / away[0]).is_file()
    # again: what is there is not made anew, and the page is the same
    before = tree(out)
    monkeypatch.setattr(personalised, "personalised", None)
    tacit.ok("demo", "--out", out, *small)
    assert tree(out) == before
    tacit("demo", "--out", out, *small, "--set", "seed=3").refused("seed = 0, now 3")
    # figures of another network are none of this one's, nor are those of people with too little text
    file = out / "personal/summary.json"
    assert personalize.earlier_summary(file.parent, out) == tuned
    for other in (json.dumps(tuned | {"base": "0" * 64}), json.dumps(tuned | {"format": "?"}), "[]", "{"):
        file.write_text(other)
        assert personalize.earlier_summary(file.parent, out) is None
    texts = tmp_path / "short.jsonl"
    texts.write_text("".join(json.dumps({"user": u, "text": "are you home"}) + "\n" for u in "ab"))
    monkeypatch.setattr(demo, "PERSONAL", replace(demo.PERSONAL, corpus=str(texts)))
    assert demo.personalisation(out, tmp_path / "none") is None and not (tmp_path / "none").exists()
    # what is in the way is told before anything is trained
    shutil.rmtree(out / "checkpoints")
    file.unlink()
    tacit("demo", "--out", out, *small).refused("personal", "not left by `tacit personalize`")


def test_a_distilled_model_is_kept_while_it_is_of_this_network(tmp_path: Path) -> None:
    file = tmp_path / "summary.json"
    assert demo._made(file, "a1") is None  # none yet
    file.write_text('{"base": "a1"}')
    assert demo._made(file, "a1") == {"base": "a1"}
    for other in ('{"base": "b2"}', '{"models": {', "[]", "{}"):
        file.write_text(other)  # of a network that has learnt on since, or damaged
        assert demo._made(file, "a1") is None
