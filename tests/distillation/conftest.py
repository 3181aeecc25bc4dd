"""A trained run, and what `tacit distill` makes of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from distilled_runs import PEOPLE, SENTENCES, Make

from commands import TINY, Commands
from tacit import runs
from tacit.runs.config import resolve


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory, compiled: Path) -> Path:
    """A tiny network of words, trained on the built-in typists."""
    out = tmp_path_factory.mktemp("distill") / "run"
    runs.train(resolve("fedavg", [*TINY, *PEOPLE, "training.rounds=1"]), out)
    return out


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("distilled")


@pytest.fixture
def distilled(tacit: Commands, run: Path, files: Path) -> Make:
    """The directory of `tacit distill` with these options; each is made once."""

    def make(*options: object, of: Path = run) -> Path:
        out = files / re.sub(r"\W+", "-", " ".join(map(str, ("m", of.name, *options))))
        if not out.exists():
            fixed = ("--sentences", SENTENCES, "--date", "2026-01-31", "--out", out)
            assert str(out) in tacit.ok("distill", of, *fixed, *options)
        return out

    return make
