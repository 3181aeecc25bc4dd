"""A run knows the text it was trained on from a changed one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from commands import Commands, Trained, sets, tree
from tacit import runs
from tacit.base.errors import TacitError
from tacit.distillation import distill


@pytest.fixture
def moved(trained: Trained, tmp_path: Path) -> tuple[Path, Path]:
    """A finished run, and its corpus where it can be changed."""
    corpus, out = tmp_path / "messages.jsonl", tmp_path / "run"
    shutil.copyfile(trained.corpus, corpus)
    shutil.copytree(trained.path, out)
    file = out / "config.toml"
    file.write_text(file.read_text().replace(str(trained.corpus), str(corpus)))
    runs.trust(out)  # the configuration is another one now
    return corpus, out


def change(corpus: Path, how: str) -> None:
    lines = corpus.read_text().splitlines()
    first = json.loads(lines[0])
    match how:
        case "a message more":
            lines.append(json.dumps(first | {"text": "one more"}))
        case "a person less":
            lines = [line for line in lines if json.loads(line)["user"] != first["user"]]
        case "another name":
            lines = [line.replace(json.dumps(first["user"]), '"somebody"') for line in lines]
        case "a longer word":
            lines[0] = json.dumps(first | {"text": first["text"] + "s"})
    corpus.write_text("\n".join(lines) + "\n")


NOT_IT = "is not the text that the run was trained on"


@pytest.mark.parametrize("how", ["a message more", "a person less", "another name", "a longer word"])
def test_a_changed_text_is_told(moved: tuple[Path, Path], tacit: Commands, how: str) -> None:
    corpus, out = moved
    change(corpus, how)
    tacit("evaluate", out).refused(str(corpus), NOT_IT, "train again")


def test_whatever_reads_it_refuses_and_changes_nothing(moved: tuple[Path, Path], tacit: Commands) -> None:
    corpus, out = moved
    before = tree(out)
    change(corpus, "a message more")
    for command in (
        ["evaluate", out, "--keyboard"],
        ["evaluate", out, "--corpus", corpus],
        ["personalize", out],
    ):
        tacit(*command).refused(str(corpus), NOT_IT)
    with pytest.raises(TacitError, match=NOT_IT):
        runs.train(runs.read_config(out), out, resume=True)
    assert tree(out) == before


def test_distill_refuses_it_before_it_draws(
    moved: tuple[Path, Path], tacit: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus, out = moved
    change(corpus, "a message more")
    monkeypatch.setattr(distill, "distilled_model", lambda *arguments: pytest.fail("sentences are drawn"))
    tacit("distill", out, "--supplement", "typists").refused(str(corpus), NOT_IT)


def test_the_same_text_elsewhere_and_other_texts_are_read(moved: tuple[Path, Path], tacit: Commands) -> None:
    corpus, out = moved
    tacit.ok("evaluate", out)
    other = corpus.with_name("other.jsonl")
    shutil.copyfile(corpus, other)
    change(other, "a message more")
    tacit.ok("evaluate", out, "--corpus", other)
    tacit.ok("evaluate", out, "--corpus", "typists")


def test_a_configuration_that_names_a_text_is_held_to_it(
    moved: tuple[Path, Path], tacit: Commands, tmp_path: Path
) -> None:
    """config.toml of a run may be trained from again."""
    corpus, out = moved
    again = ["train", out / "config.toml", "--rounds", 1]
    tacit.ok(*again, "--out", tmp_path / "second")
    change(corpus, "a message more")
    tacit(*again, "--out", tmp_path / "third").refused(NOT_IT)
    assert not (tmp_path / "third").exists()
    tacit.ok(*again, *sets("text.fingerprint="), "--out", tmp_path / "third")
