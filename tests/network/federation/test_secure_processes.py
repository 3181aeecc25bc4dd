"""Secure sums between real processes: the simulator's model by the documented commands, and a client that is killed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from served import LONG, Served, assert_like_the_simulator, until

pytestmark = pytest.mark.skipif(
    os.environ.get("TACIT_FEDERATION") != "all", reason="minutes long: `make test-federation`"
)
NAMES = ("ana", "ben", "cem", "dua", "eva", "fia")
MASKED = ("privacy.mechanism=clipped", "privacy.clip=0.5", "privacy.secure=true", "privacy.least=5")
SETS = [part for key in MASKED for part in ("--set", key)]
STAGES = ["advertise", "share", "mask", "unmask"]


@pytest.fixture(scope="module")
def six(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server and six clients that have come."""
    pytest.importorskip("flwr")
    one = Served(tmp_path_factory.mktemp("secure"), NAMES)
    try:
        one.serve()
        one.join(*NAMES)
        one.until_joined(len(NAMES))
        yield one
    finally:
        one.end()


def answered(served: Served, name: str) -> list[str]:
    return [line["task"] for line in served.journal(name) if line["ended"] == "answered"]


def test_masked_rounds_give_the_simulators_model(six: Served) -> None:
    out = six.folder / "masked"
    said = six.call(*six.settings(2, out, *SETS), seconds=4 * LONG).stdout
    assert "round 2/2" in said and "abandoned" not in said
    # the sums differ by rounding of at most 6 · 2⁻⁵⁹ · 0.5 before they become float32
    assert_like_the_simulator(six, out, 1e-6)
    summary = json.loads((out / "summary.json").read_text("utf-8"))
    assert summary["refused"] == {} and summary["test"]["perplexity"] > 1
    for name in NAMES:  # two rounds, two evaluations, and one of the best round
        assert answered(six, name) == 5 * STAGES
    journals = [six.folder / f"{name}.invitation.journal.jsonl" for name in NAMES]
    assert not [file for file in journals if "loss" in file.read_text("utf-8")]


def test_a_round_goes_on_without_a_client_that_is_killed(six: Served) -> None:
    """Killed after it has trained: the rest opens the sum of five, and later rounds do without it."""
    before, out = len(answered(six, "fia")), six.folder / "killed"
    command = six.settings(1, out, *SETS, "--deadline", 60)
    running = six.start(*command)
    until(lambda: len(answered(six, "fia")) > before, "fia has trained", running)
    six.kill_client("fia")
    until(lambda: (out / "summary.json").is_file(), "the run ends", None, 4 * LONG)
    assert running.wait(30) == 0, six.said(running)
    (line,) = six.rounds(out)
    assert "abandoned" not in line and Path(out / "checkpoints/last.safetensors").is_file()
