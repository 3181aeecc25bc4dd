"""Run directories whose files are well-formed and wrong: one line that names the file and what is wrong in it."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import jax.numpy as jnp
import pytest

from tacit.base import memory
from tacit.base.errors import TacitError
from tacit.models import ModelConfig, language_model
from tacit.runs import directory, report
from tacit.runs.checkpoints import save_tree
from tacit.runs.config import Config, resolve
from tacit.runs.summary_file import read_summary
from tacit.runs.training import check_memory

SCORES = {
    "perplexity": 31.2,
    "top1": 0.3,
    "top3": 0.4,
    "sll": -40.5,
    "people": 9,
    "ci95": {"perplexity": 2.7},
}
SUMMARY = {
    "best_round": 3,
    "chosen_by": "valid_perplexity",
    "parameters": 100,
    "bytes_per_client_and_round": {"up": 400, "down": 400},
    "clients": 8,
    "vocabulary": 20,
    "epsilon_reason": "none",
    "test": SCORES,
    "seen": None,
}


def changed(path: str, value: object) -> dict:
    """The summary with another value at a path such as test.ci95."""
    summary = copy.deepcopy(SUMMARY)
    table = summary
    *tables, last = path.split(".")
    for name in tables:
        table = table[name]
    table[last] = value
    return summary


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that cannot be read")
def test_a_configuration_that_cannot_be_read_is_one_line(tmp_path):
    (tmp_path / "config.toml").symlink_to("/proc/self/mem")  # nothing is mapped where it begins
    with pytest.raises(TacitError, match=r"config\.toml: cannot be read \(Input/output error\)"):
        directory.read_config(tmp_path)


def test_a_whole_summary_is_read(tmp_path):
    (tmp_path / "summary.json").write_text(json.dumps(SUMMARY))
    assert read_summary(tmp_path / "summary.json") == SUMMARY


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("best_round", "3"),
        ("best_round", -1),
        ("parameters", 1.5),
        ("clients", None),
        ("test", None),
        ("test", []),
        ("test.perplexity", "31"),
        ("test.top1", True),
        ("test.ci95", 3),
        ("test.ci95", {"perplexity": "x"}),
        ("seen", {}),
        ("bytes_per_client_and_round", {"up": 3}),
        ("epsilon_reason", 3),
    ],
)
def test_a_damaged_summary_is_told_by_its_key(tmp_path, path, value):
    (tmp_path / "summary.json").write_text(json.dumps(changed(path, value)))
    told = rf"summary\.json: not a summary .*'{path.split('.')[0]}'.*train the run again"
    with pytest.raises(TacitError, match=told):
        read_summary(tmp_path / "summary.json")


@pytest.mark.parametrize("text", ["[" * 100_000, '{"best_round": ' + "1" * 5000 + "}", "{}", "[]", "\x00"])
def test_what_is_no_summary_at_all(tmp_path, text):
    (tmp_path / "summary.json").write_text(text)
    with pytest.raises(TacitError, match="not a summary written by Tacit"):
        read_summary(tmp_path / "summary.json")


def test_timings_without_seconds(tmp_path):
    (tmp_path / "timings.jsonl").write_text('{"round": 1, "second": 2.0}\n')
    with pytest.raises(TacitError, match=r"timings\.jsonl: a line has no seconds"):
        report.seconds_of(tmp_path)


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"round": "-1"},
        {"round": "0"},
        {"round": "x"},
        {"round": "9" * 5000},
        {"round": "1", "best_round": "-3", "best_value": "1.0"},
        {"round": "1", "best_round": "1"},
        {"round": "1", "best_round": "1", "best_value": "nan"},
    ],
)
def test_a_checkpoint_with_a_valid_sum_and_no_round(tmp_path, facts):
    state = {"params": jnp.zeros(2)}
    (tmp_path / "checkpoints").mkdir()
    save_tree(tmp_path / directory.LAST, state, facts)
    told = r"last\.safetensors: its (round|best_round|best_value) is .*restore it"
    with pytest.raises(TacitError, match=told):
        directory.read_last(tmp_path, Config().training, state)


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("model.layers=20000", "between 1 and 100 (each layer"),
        ("model.hidden=2147483647", "between 1 and 65536 (a matrix"),
        ("model.embedding=2147483648", "between 1 and 65536"),
        ("typists.users=2147483647", "at most 20,000,000"),
        ("client.epochs=2147483647", "between 1 and 10000 (all batches"),
        (r'text.words="a\u0000b"', "has a NUL character"),
        (r'text.corpus="a\u0000b"', "has a NUL character"),
    ],
)
def test_sizes_and_paths_without_sense_are_refused_with_the_reason(setting, told):
    with pytest.raises(TacitError) as error:
        resolve("fedavg", [setting])
    assert told in str(error.value)


def test_a_model_that_does_not_fit_is_refused_before_it_is_made(monkeypatch):
    monkeypatch.setattr(memory, "limit", lambda: 10**9)
    check_memory(Config(), language_model(ModelConfig(), 5000))
    large = language_model(ModelConfig(hidden=60_000, embedding=60_000, layers=100), 1_000_000)
    with pytest.raises(TacitError, match=r"copies, takes about .* GB of memory, and there are 1 GB"):
        check_memory(Config(), large)
