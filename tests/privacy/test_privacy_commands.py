"""`tacit privacy show` and `tacit privacy plan`, and ε in the report of a run."""

from __future__ import annotations

import importlib
import json
import shutil
from dataclasses import asdict
from pathlib import Path

import pytest

from commands import Commands, Trained
from tacit import runs
from tacit.base.errors import TacitError
from tacit.privacy.accounting import library
from tacit.privacy.ledger import NAME, Release, append
from tacit.runs import spending

SMALL = ("--delta", "1e-5", "--rounds", 4, "--population", 10_000)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A directory with a ledger of 500 rounds, whose ε is published."""
    directory = tmp_path / "run"
    directory.mkdir()
    made = [Release("round", "gaussian", t, 1.0, "poisson", 0.01, clip=0.5) for t in range(1, 501)]
    lines = [json.dumps(asdict(release)) + "\n" for release in made]
    (directory / NAME).write_text("".join(lines))
    (directory / "config.toml").write_text("format = 2\n[privacy]\ndelta = 1e-5\n")
    return directory


def test_show(tacit: Commands, run: Path) -> None:
    figures = tacit.json("privacy", "show", run)
    assert figures["epsilon_rdp"] == pytest.approx(1.6529, abs=1e-3)
    assert figures["epsilon_pld"] == figures["epsilon"] == pytest.approx(1.3261, abs=1e-3)
    assert figures["delta"] == 1e-5 and figures["rounds"] == 500 and figures["zcdp"] is None
    assert figures["epsilon_reason"] == ""
    assert figures["releases"][0] | {"what": "round", "count": 500, "rate": 0.01} == figures["releases"][0]
    assert tacit.json("privacy", "show", run, "--delta", "1e-8")["epsilon"] > figures["epsilon"]
    said = tacit.ok("privacy", "show", run)
    assert "1.653" in said and "1.326" in said and "Poisson" in said and "500" in said


def test_show_says_why_there_is_none(tacit: Commands, run: Path, tmp_path: Path) -> None:
    append(run / NAME, Release("vocabulary", "none", reason="built from everybody's text"))
    figures = tacit.json("privacy", "show", run)
    assert (
        figures["epsilon"] is None and figures["epsilon_reason"] == "vocabulary: built from everybody's text"
    )
    assert "no ε: vocabulary" in tacit.ok("privacy", "show", run)
    tacit("privacy", "show", run, "--plot", tmp_path / "e.svg").refused("no ε to plot", "everybody")
    (run / NAME).unlink()
    assert tacit.json("privacy", "show", run)["epsilon_reason"] == "no privacy mechanism was used"
    (run / "summary.json").write_text(json.dumps({"epsilon_reason": "β-noise"}))
    assert tacit.json("privacy", "show", run)["epsilon_reason"] == "β-noise"
    (run / "config.toml").write_text('[privacy]\nmechanism = "gaussian"\n')
    (run / "summary.json").write_text(json.dumps({"epsilon_reason": ""}))
    assert tacit.json("privacy", "show", run)["epsilon_reason"] == f"its {NAME} is missing or empty"
    (run / "summary.json").unlink()
    assert tacit.json("privacy", "show", run)["epsilon_reason"] == "nothing has been released yet"


def test_plot(tacit: Commands, tmp_path: Path) -> None:
    for t in (1, 2, 3):
        append(tmp_path / NAME, Release("round", "gaussian", t, 2.0, "fixed", clip=0.5))
    for name, begin in (("e.svg", b"<!-- a picture by Tacit -->\n<svg"), ("e.png", b"\x89PNG")):
        for _ in range(2):  # its own picture may be replaced
            assert str(tmp_path / name) in tacit.ok("privacy", "show", tmp_path, "--plot", tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(begin)
        (tmp_path / name).write_bytes(b"mine")
        tacit("privacy", "show", tmp_path, "--plot", tmp_path / name).refused("not a picture")
    tacit("privacy", "show", tmp_path, "--plot", tmp_path / "e.pdf").refused(".svg or .png")


@pytest.mark.parametrize("delta", ["0", "1", "-1", "nan"])
def test_show_refuses(tacit: Commands, run: Path, tmp_path: Path, delta: str) -> None:
    tacit("privacy", "show", run, "--delta", delta).refused("δ =", "must be above 0")
    tacit("privacy", "show", tmp_path / "none").refused("not a directory")
    tacit("privacy", "show", tmp_path).refused("no ledger.jsonl")
    with (run / NAME).open("a") as file:
        file.write("{}\n")
    tacit("privacy", "show", run).refused("ledger.jsonl, line 501", "'what'")


def test_plan_finds_the_noise_and_writes_the_file(tacit: Commands, tmp_path: Path) -> None:
    out = tmp_path / "plan.json"
    given = ("privacy", "plan", "--epsilon", 2, "--clients", 100, *SMALL, "--sampling", "fixed", "--out", out)
    plan = tacit.json(*given)
    assert {"noise_multiplier", "epsilon_rdp", "epsilon_pld", "cohorts"} <= set(plan)
    assert 1.99 < plan["epsilon_pld"] <= 2 and len(plan["epsilons"]) == 4
    assert json.loads(out.read_text())["noise_multiplier"] == plan["noise_multiplier"]
    said = tacit.ok(*given)
    assert f"{plan['noise_multiplier']:g}" in said and "100 of 10,000" in said and str(out) in said
    out.write_text("mine")
    tacit(*given).refused("not a privacy plan")
    assert out.read_text() == "mine"


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (("--epsilon", "-1"), "ε = -1"),
        (("--epsilon", "inf"), "ε = inf"),
        (("--epsilon", "1", "--delta", "1"), "δ = 1"),
        (("--epsilon", "1", "--delta", "0"), "δ = 0"),
        (("--epsilon", "1", "--rounds", "0"), "rounds = 0"),
        (("--epsilon", "1", "--clients", "10001"), "population"),
        (("--epsilon", "1", "--mechanism", "matrix", "--separation", "101"), "separation of 101"),
        (("--epsilon", "1", "--mechanism", "magic"), "magic"),
        (("--epsilon", "1", "--sampling", "magic"), "magic"),
        (("--epsilon", "1", "--matrix", "magic"), "magic"),
        ((), "give two of"),
    ],
)
def test_plan_refuses(tacit: Commands, given: tuple[str, ...], named: str) -> None:
    tacit("privacy", "plan", *SMALL, "--clients", 100, *given).refused(named)


def test_a_missing_extra_is_named(tacit: Commands, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    tacit("privacy", "show", run).refused("pip install 'tacit[privacy]'")
    with pytest.raises(TacitError, match="jax-privacy is not installed"):
        library("jax_privacy.matrix_factorization")


def test_a_model_has_the_epsilon_of_its_run(run: Path, tmp_path: Path) -> None:
    """What is made from a run alone has its ε; counts that it is made from as well are releases of their own."""
    alone = spending.of_model(run)
    assert alone["epsilon"] == pytest.approx(1.3261, abs=1e-3) and alone["delta"] == 1e-5
    append(tmp_path / NAME, Release("counts", "laplace", noise_multiplier=1.0, clip=10.0))
    assert (
        alone["epsilon"] + 0.9
        < spending.of_model(run, tmp_path / "counts.tsv")["epsilon"]
        < alone["epsilon"] + 1
    )
    (tmp_path / NAME).write_text("")
    (tmp_path / "summary.json").write_text(json.dumps({"epsilon_reason": "no noise is added"}))
    found = spending.of_model(run, tmp_path / "counts.tsv")
    assert (
        found["epsilon"] is None and "counts.tsv comes from a result without noise" in found["epsilon_reason"]
    )
    assert spending.of_model(tmp_path / "none")["epsilon_reason"] == "no privacy mechanism was used"


def test_the_report_of_a_run_shows_its_ledger(trained: Trained, tmp_path: Path) -> None:
    path = Path(shutil.copytree(trained.path, tmp_path / "run"))
    assert "<h2>Privacy</h2>" not in runs.Run(path).report().read_text("utf-8")
    append(path / NAME, Release("round", "gaussian", 1, 2.0, "fixed", clip=0.5))
    assert "<h2>Privacy</h2>" in runs.Run(path).report().read_text("utf-8")


def test_the_part_of_a_report(tmp_path: Path) -> None:
    assert spending.section(tmp_path) == []  # no ledger
    for t in (1, 2, 3):
        append(tmp_path / NAME, Release("round", "gaussian", t, 2.0, "fixed", clip=0.5))
    heading, figure, words = spending.section(tmp_path)
    assert "Privacy" in heading and "<svg" in figure and "ε = " in words and "by PLD" in words
    append(tmp_path / NAME, Release("vocabulary", "none", reason="<b>everybody's</b> text"))
    (only,) = spending.section(tmp_path)
    assert "ε: none" in only and "<b>" not in only
