"""A run whose clients compress what they send: it resumes with their residuals, and says what they sent."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from commands import configured, lasting, lines, write_corpus
from tacit import runs

TOP_K = ("compression.form=top-k", "compression.share=0.05")


def test_it_resumes_with_what_clients_have_not_sent_yet(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "messages.jsonl")
    runs.train(configured(corpus, *TOP_K, "training.rounds=2"), tmp_path / "run")
    kept = load_file(tmp_path / "run/checkpoints/last.safetensors")
    residuals = {name: a for name, a in kept.items() if name.startswith("residuals/")}
    people = len(next(iter(residuals.values())))
    asked = [np.any(a.reshape(people, -1), axis=1) for a in residuals.values()]
    assert 3 <= np.any(asked, axis=0).sum() <= 6 < people  # two rounds of three clients each
    longer = configured(corpus, *TOP_K, "training.rounds=4")
    runs.train(longer, tmp_path / "run", resume=True)
    runs.train(longer, tmp_path / "straight")
    assert lasting(tmp_path / "run") == lasting(tmp_path / "straight")
    sent = json.loads((tmp_path / "run/summary.json").read_text())["bytes_per_client_and_round"]
    assert sent["up"] < 0.1 * sent["down"]
    for record in lines(tmp_path / "run/metrics.jsonl"):
        assert record["bytes_up"] == 3 * sent["up"] and record["bytes_down"] == 3 * sent["down"]
