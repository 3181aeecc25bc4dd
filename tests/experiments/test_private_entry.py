"""The kind `private`: the ledger's ε, and words from nobody's clients."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacit.experiments.entry import find
from tacit.experiments.kinds import private
from tacit.experiments.kinds.keyboards import typists_file
from tacit.experiments.runner import Place
from tacit.text.typists import Typists, TypistsConfig

pytest.importorskip("dp_accounting")


def test_a_private_row_has_the_epsilon_of_its_ledger_and_another_row_none(tmp_path: Path) -> None:
    from tacit.privacy.accounting import spent
    from tacit.privacy.ledger import Release

    row = find("private").quickly().rows[0]
    folder = tmp_path / "row"
    folder.mkdir()
    values = private.measure(row.settings, 0, Place(None, folder)).values

    summary = json.loads((folder / "run" / "summary.json").read_text("utf-8"))
    clients, rounds = summary["clients"], row.settings["training.rounds"]
    rate, z = row.settings["sampling.clients"] / clients, row.settings["privacy.noise"]
    releases = [Release("round", "gaussian", t, z, "poisson", rate, clip=1.0) for t in range(1, rounds + 1)]
    assert values["epsilon"] == pytest.approx(spent(releases, 1e-6).epsilon_pld, rel=1e-6)

    again = private.measure(
        {k: v for k, v in row.settings.items() if not k.startswith("privacy.")},
        0,
        Place(None, tmp_path / "plain"),
    ).values
    assert "epsilon" not in again


def test_the_words_come_from_other_people(tmp_path: Path) -> None:
    words = private.words_file(tmp_path).read_text("utf-8").split("\n")
    assert len(words) > 2000 and len(set(words)) == len(words)
    assert find("private").rows[0].settings.get("typists.seed", 0) != private._PUBLIC_SEED


@pytest.mark.slow
def test_several_processes_generate_the_same_typists_as_one(tmp_path: Path) -> None:
    path = typists_file({"typists.users": 1100, "typists.messages": 1}, tmp_path)
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    people = Typists(TypistsConfig(users=1100, messages=1))
    for k in (0, 999, 1000, 1099):
        mine = [line["text"] for line in lines if line["user"] == people.user(k)]
        assert mine == [message.text for message in people.messages(k)]
    assert len({line["user"] for line in lines}) == 1100
