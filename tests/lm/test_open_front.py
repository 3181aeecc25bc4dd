"""`tacit.open` from the front door: what docs/api.md says of a model, and no JAX for a file."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

import tacit
from commands import Commands, Trained, write_corpus

PAGE = Path("docs/api.md").read_text("utf-8")
NOT_ON_THE_PAGE = {"source", "bulk", "score", "case", "runtime"}  # what evaluations and reports use


def test_a_run_is_asked(trained: Trained) -> None:
    model = tacit.open(trained.path)
    words = set(tacit.Run(trained.path).vocabulary.words)
    suggestions = model.suggest("are you", k=3)
    assert len(suggestions) == 3 and all(word in words and 0 < p < 1 for word, p in suggestions)
    assert all(word.startswith("s") for word, _ in model.suggest("are you", k=3, prefix="s"))
    log_p = model.log_probs("are you coming")
    assert log_p.shape == (3,) and np.isfinite(log_p).all() and (log_p < 0).all()
    assert set(model.words) <= words and model.size > 0 and model.cased in (True, False)


def test_a_file_is_opened_without_jax(tmp_path: Path, trained: Trained, tacit: Commands) -> None:
    out = tmp_path / "ngram"
    other = write_corpus(tmp_path / "others.jsonl", people=5, messages=6)
    small = ["--sentences", 40, "--max-ngrams", 300, "--supplement", other]
    tacit.ok("distill", trained.path, "--out", out, *small)
    code = """import json, sys, tacit
model = tacit.open(sys.argv[1])
model.suggest("are you", k=3), model.log_probs("are you"), model.words, model.size
print(json.dumps(sorted(sys.modules)))"""
    command = [sys.executable, "-c", code, str(out / "model.tacit")]
    loaded = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert "jax" not in loaded and "optax" not in loaded


def test_the_page_says_what_a_model_has() -> None:
    from tacit.lm.protocol import Model

    fields = set(Model.__dataclass_fields__)
    public = {name for name in {*dir(Model), *fields} if not name.startswith("_")}
    named = set(re.findall(r"(?<![\w.])model\.([a-z_]+)", PAGE)) - {"embedding", "hidden", "toml"}
    assert named == public - NOT_ON_THE_PAGE
    assert (doc := inspect.getdoc(tacit.open)) and ("Example:" in doc or ">>>" in doc)
