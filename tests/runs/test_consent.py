"""What a run directory names outside itself is opened only with the user's word."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
from pathlib import Path

import pytest

from commands import tree
from tacit.base import consent
from tacit.base.errors import TacitError
from tacit.page import models
from tacit.runs import data, directory
from tacit.runs.config import Config, from_anywhere, read_tables
from tacit.runs.notebook import _resolve
from tacit.runs.run import Run
from tacit.text import supplement
from tacit.text.corpus import Corpus
from tacit.text.prepare import TextConfig


@pytest.fixture
def secret(tmp_path) -> Path:
    """A file outside any run directory."""
    lines = [json.dumps({"user": f"u{i % 4}", "text": "my secret"}) for i in range(20)]
    (tmp_path / "secret.jsonl").write_text("\n".join(lines))
    return tmp_path / "secret.jsonl"


@pytest.fixture
def elsewhere(monkeypatch, tmp_path):
    """Forgets all that was said before, as on another machine."""

    def forget(name: str = "other") -> None:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / name))
        monkeypatch.setattr(consent, "_now", set())

    return forget


def made(out: Path, corpus: Path) -> Path:
    """A run directory as `train` makes it, before its first round."""
    out.mkdir()
    directory.make(Config(text=TextConfig(corpus=str(corpus))), out)
    return out


def test_a_run_made_here_reads_its_corpus_also_when_it_has_moved(tmp_path, secret, elsewhere, monkeypatch):
    elsewhere("home")
    run = made(tmp_path / "run", secret)
    monkeypatch.setattr(consent, "_now", set())  # another process
    shutil.move(run, tmp_path / "moved")
    assert isinstance(data.read_population(Run(tmp_path / "moved").config), Corpus)


def test_a_run_made_elsewhere_is_asked_for(tmp_path, secret, elsewhere):
    run = made(tmp_path / "run", secret)
    elsewhere()
    config = Run(run).config  # which opens nothing
    for given in (config, from_anywhere(config), _resolve(config, {}), _resolve(run / "config.toml", {})):
        with pytest.raises(
            TacitError, match=r"run was not made here, and names .*secret\.jsonl, outside itself; .*--trust"
        ):
            data.read_population(given)
    mine = dataclasses.replace(config, text=dataclasses.replace(config.text, corpus=str(secret)))
    assert isinstance(data.read_population(mine), Corpus)  # the user's own option
    assert isinstance(data.read_population(Run(run).trust().config), Corpus)
    assert isinstance(data.read_population(Run(run).config), Corpus)  # and remembered


def test_one_word_is_for_one_configuration(tmp_path, secret, elsewhere):
    """A directory that was trusted and then changed is asked for again."""
    elsewhere()
    run = made(tmp_path / "run", tmp_path / "mine.jsonl")
    text = (run / "config.toml").read_text()
    (run / "config.toml").write_text(text.replace("mine.jsonl", "secret.jsonl"))
    with pytest.raises(TacitError, match="--trust"):
        data.read_population(Run(run).config)


@pytest.mark.parametrize("key", ["words", "inventory"])
def test_word_lists_are_paths_too(tmp_path, secret, elsewhere, key):
    run = made(tmp_path / "run", secret)
    elsewhere()
    text = (run / "config.toml").read_text().replace(f'{key} = ""', f'{key} = "{secret}"')
    text = text.replace(f'corpus = "{secret}"', 'corpus = "typists"').replace("users = 1000", "users = 20")
    (run / "config.toml").write_text(
        text.replace("pieces = 0", "pieces = 50" if key == "inventory" else "pieces = 0")
    )
    with pytest.raises(TacitError, match=r"names .*--trust"):
        data.prepare(Run(run).config)


def test_the_supplement_of_somebody_elses_summary(tmp_path, secret, elsewhere):
    run = made(tmp_path / "run", Path("typists"))
    elsewhere()
    (run / "ngram").mkdir()
    for named in (secret, os.devnull):
        (run / "ngram" / "summary.json").write_text(json.dumps({"supplement_corpus": str(named)}))
        config = Run(run).config
        with pytest.raises(TacitError, match=f"names {named}"):
            supplement.find(config.text, config.typists, models.supplement_of(run), None)
    (run / "ngram" / "summary.json").write_text(json.dumps({"supplement_corpus": str(secret)}))
    models.trust(run)
    assert supplement.find(config.text, config.typists, models.supplement_of(run), None) is not None


def test_a_pipe_that_a_run_names_is_never_opened(tmp_path, elsewhere):
    os.mkfifo(tmp_path / "pipe")  # nobody writes to it
    run = made(tmp_path / "run", tmp_path / "pipe")
    assert Run(run).config.text.corpus.trusted
    with pytest.raises(TacitError, match="neither a file nor a directory"):
        data.read_population(Run(run).config)


def test_what_lies_inside_needs_no_word(tmp_path, secret, elsewhere):
    run = made(tmp_path / "run", tmp_path / "run" / "corpus.jsonl")
    elsewhere()
    shutil.copy(secret, run / "corpus.jsonl")
    assert isinstance(data.read_population(Run(run).config), Corpus)
    (run / "corpus.jsonl").unlink()
    (run / "corpus.jsonl").symlink_to(secret)  # outside after all
    with pytest.raises(TacitError, match="outside itself"):
        data.read_population(Run(run).config)


def test_without_a_home_the_word_is_for_this_process(tmp_path, secret, elsewhere, monkeypatch):
    elsewhere()
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    run = made(tmp_path / "run", secret)
    assert isinstance(data.read_population(Run(run).config), Corpus)
    monkeypatch.setattr(consent, "_now", set())
    with pytest.raises(TacitError, match="--trust"):
        data.read_population(Run(run).config)


def test_a_configuration_that_is_no_runs_is_the_users(tmp_path, secret):
    (tmp_path / "mine.toml").write_text(f'[text]\ncorpus = "{secret}"\n')
    assert not isinstance(read_tables(str(tmp_path / "mine.toml"))["text"]["corpus"], consent.Named)


@pytest.mark.parametrize(
    ("command", "place"),
    [
        ("export", "network.tacit"),
        ("distill", "ngram"),
        ("personalize", "personal"),
        ("audit", "audit"),
        ("count", "count"),
    ],
)
def test_a_link_in_a_run_leads_no_command_outside(tmp_path, trained, tacit, command, place):
    """Where a command writes without --out, the run's author may have put a link."""
    run, outside = tmp_path / "run", tmp_path / "outside"
    shutil.copytree(trained.path, run)
    outside.mkdir()
    (run / place).symlink_to(outside)
    tacit(command, run).refused(place, "it is a symbolic link", "remove it")
    assert not any(outside.iterdir())


def test_the_page_of_a_run_follows_no_link(tmp_path, trained):
    shutil.copytree(trained.path, tmp_path / "run")
    (tmp_path / "outside").mkdir()
    (tmp_path / "run" / "keyboard").symlink_to(tmp_path / "outside")
    with pytest.raises(TacitError, match="keyboard: it is a symbolic link"):
        models.page_models(tmp_path / "run")
    assert not any((tmp_path / "outside").iterdir())


def test_a_resumed_run_follows_no_link(tmp_path, trained, tacit):
    run, outside = tmp_path / "run", tmp_path / "outside"
    shutil.copytree(trained.path, run)
    (run / "checkpoints").rename(outside)
    (run / "checkpoints").symlink_to(outside)
    before = tree(outside)
    tacit("train", run / "config.toml", "--out", run, "--resume", "--rounds", 9).refused(
        "checkpoints: it is a"
    )
    assert tree(outside) == before
