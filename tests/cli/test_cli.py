"""The commands keep their contract: what they print, for people and for machines."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from pathlib import Path

import pytest

import tacit as package
from commands import TINY, WORDS, Commands, Processes, Trained, sets, stub, tree, write_corpus
from tacit import cli
from tacit.cli.options import print_table
from tacit.experiments import bench
from tacit.runs.config import from_anywhere, resolve
from tacit.text.catalogue import entries

COMMANDS = ["train", "evaluate", "compare", "predict", "bench", "presets", "demo"]


def summary_of(run: Path) -> dict[str, dict[str, object]]:
    return json.loads((run / "summary.json").read_text())


# Help.


def test_help_lists_the_commands(tacit: Commands) -> None:
    said = tacit.ok("--help")
    assert all(name in said for name in [*COMMANDS, "data"])
    assert tacit.ok().strip() == said.strip()  # nothing asked: the same


@pytest.mark.parametrize(
    "command", [*COMMANDS, "data list", "data describe", "data get", "privacy show", "privacy plan"]
)
def test_every_command_shows_an_example(tacit: Commands, command: str) -> None:
    said = tacit.ok(*command.split(), "--help")
    assert "Example" in said and said.count(f"tacit {command}") >= 2  # its usage, and how it is used


def test_version(tacit: Commands) -> None:
    assert tacit.ok("--version") == f"{package.__version__}\n"


def test_presets_are_listed_with_what_they_are(tacit: Commands) -> None:
    said = tacit.ok("presets").splitlines()
    assert any(line.startswith("gboard-ngram ") and "500 clients" in line for line in said)
    assert any(line.startswith("fedavg ") and "McMahan" in line for line in said)


# Training.


def test_train_reads_a_file_and_uses_every_option(tmp_path: Path, tacit: Commands) -> None:
    corpus = write_corpus(tmp_path / "m 😀.jsonl")  # a name that JSON and TOML escape differently
    (tmp_path / "mine.toml").write_text('name = "my [red]run"\n[client]\nlr = 0.5\nbatch = 4\n')
    out = tmp_path / "deep/er/run"
    said = tacit.ok(
        *("train", tmp_path / "mine.toml", "--corpus", corpus, "--rounds", 2, "--seed", 5, "--out", out),
        *sets(*TINY[:4], "client.lr=0.25"),
    )
    config = (out / "config.toml").read_text()
    for line in ('name = "my [red]run"', "rounds = 2", "seed = 5", "lr = 0.25", f'corpus = "{corpus}"'):
        assert line in config.splitlines()
    assert "my [red]run" in said and str(out / "report.html") in said and "perplexity" in said
    assert (out / "report.html").is_file()


def test_train_without_a_corpus_takes_the_typists(
    tmp_path: Path, tacit: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    stub(monkeypatch)
    few = sets(*TINY, "typists.users=12", "typists.messages=6")
    tacit.ok("train", "fedavg", "--rounds", 1, *few)
    assert (tmp_path / "runs/fedavg/summary.json").is_file()  # where it goes when --out is not given
    assert 'corpus = "typists"' in (tmp_path / "runs/fedavg/config.toml").read_text()


# Scoring.


def test_evaluate_scores_the_held_out_part_as_the_summary_does(tacit: Commands, trained: Trained) -> None:
    found = tacit.json("evaluate", trained.path)
    assert {"perplexity", "top1", "top3", "tokens", "oov", "sll"} <= set(found)
    assert {k: v for k, v in found.items() if k not in ("text", "seen")} == summary_of(trained.path)["test"]
    assert found["seen"] == summary_of(trained.path)["seen"]


def test_federated_evaluation_is_evaluation_by_sums(tacit: Commands, trained: Trained) -> None:
    """The same figures from sums over people, who are counted; no interval, as nobody's own figures are known."""
    found = tacit.json("evaluate", trained.path, "--federated")
    own = tacit.json("evaluate", trained.path)
    for said, expected in ((found, own), (found["seen"], own["seen"])):
        known = {k: v for k, v in expected.items() if k not in ("ci95", "by_person", "text", "seen")}
        assert {k: v for k, v in said.items() if k not in ("text", "seen")} == pytest.approx(known, rel=1e-5)
    assert f"{own['people']} people reported" in tacit.ok("evaluate", trained.path, "--federated")
    tacit("evaluate", trained.path, "--federated", "--keyboard").refused("--federated", "--keyboard")
    tacit("evaluate", trained.path, "--federated", "--held-out", trained.path).refused("--federated")


def test_evaluate_knows_its_own_corpus_by_any_name(
    tacit: Commands, trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(trained.corpus.parent)
    own = tacit.json("evaluate", trained.path)
    for name in (
        trained.corpus,
        trained.corpus.name,
        f"./{trained.corpus.name}",
        f"run/../{trained.corpus.name}",
    ):
        assert tacit.json("evaluate", trained.path, "--corpus", name) == own, name


def test_evaluate_scores_all_of_another_corpus(tmp_path: Path, tacit: Commands, trained: Trained) -> None:
    other = write_corpus(tmp_path / "other.jsonl", people=5, messages=4)
    found = tacit.json("evaluate", trained.path, "--corpus", other)
    assert found["text"] == str(other) and found["people"] == 5
    assert found["sentences"] == 20 and found["tokens"] == 20 * 6 and found["words"] == 100
    copy = shutil.copy(trained.corpus, tmp_path / "copy.jsonl")
    assert tacit.json("evaluate", trained.path, "--corpus", copy)["sentences"] == 12 * 8
    (tmp_path / "plain.txt").write_text("are you\nxyzzy\n")
    plain = tacit.json("evaluate", trained.path, "--corpus", tmp_path / "plain.txt")
    assert (plain["sentences"], plain["words"], plain["oov"]) == (2, 3, pytest.approx(1 / 3))
    assert plain["ci95"]["top1"] is None  # one voice has no interval


def test_evaluate_for_people(tacit: Commands, trained: Trained) -> None:
    said = tacit.ok("evaluate", trained.path)
    test = summary_of(trained.path)["test"]
    assert f"{test['perplexity']:.2f}" in said and "nan" not in said
    assert all(name in said for name in ("perplexity", "top1", "top3", "tokens", "oov", "sll"))


# Suggesting.


def test_predict_suggests_words_with_probabilities(tacit: Commands, trained: Trained) -> None:
    found = tacit.json("predict", trained.path, "Are you")
    assert set(found) == {"text", "suggestions"} and found["text"] == "Are you"
    assert len(found["suggestions"]) == 3  # a keyboard has room for three
    five = tacit.json("predict", trained.path, "Are you", "--k", 5)["suggestions"]
    assert five[:3] == found["suggestions"] and len(five) == 5
    odds = [s["probability"] for s in five]
    assert odds == sorted(odds, reverse=True) and 0 < sum(odds) < 1
    assert {s["word"] for s in five} <= set(WORDS)  # never <s>, </s> or <unk>
    everything = tacit.json("predict", trained.path, "", "--k", 1000)["suggestions"]
    assert len(everything) == 17  # all there are
    said = tacit.ok("predict", trained.path, "Are you")
    assert all(s["word"] in said for s in found["suggestions"])


def test_predict_reads_what_was_typed(tacit: Commands, trained: Trained) -> None:
    def odds(text: str) -> list[float]:
        return [s["probability"] for s in tacit.json("predict", trained.path, text)["suggestions"]]

    assert odds("are you") != odds("home now")
    assert odds("ARE  you") == odds("are you")
    assert odds("never heard of") == odds("unknown words these")


# Comparing.


def test_compare_makes_a_table_and_a_page(tmp_path: Path, tacit: Commands, trained: Trained) -> None:
    other = shutil.copytree(trained.path, tmp_path / "cost $5 and $6 [b]")  # no formula, no markup
    page = tmp_path / "page.html"
    before = tree(trained.path)
    said = tacit.ok("compare", trained.path, other, "--out", page)
    assert "run " in said and "cost $5 and $6 [b]" in said and str(page) in said
    assert said.count(f"{summary_of(trained.path)['test']['perplexity']:.1f}") == 2
    assert "<svg" in page.read_text() and "cost $5 and $6 [b]" in page.read_text()
    assert tree(trained.path) == before
    found = tacit.json("compare", trained.path, other)
    assert found == {
        name: {k: summary_of(trained.path)[k] for k in ("test", "seen")} for name in ("run", other.name)
    }


def test_compare_keeps_runs_of_one_name_apart(tmp_path: Path, tacit: Commands, trained: Trained) -> None:
    other = shutil.copytree(trained.path, tmp_path / "elsewhere" / trained.path.name)
    assert set(tacit.json("compare", trained.path, other)) == {str(trained.path), str(other)}


# Timing.


def test_bench_tells_how_fast(tacit: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = bench.Workload(clients=3, batch=2, time=4, vocabulary=20, size=8, steps=2)
    monkeypatch.setattr(bench, "WORKLOADS", {"small": tiny})
    (found,) = tacit.json("bench", "--workload", "small", "--repeats", 1)
    assert found["workload"] == "small" and found["clients"] == 3 and found["executor"] == "map"
    assert found["ms_per_client_step"] == pytest.approx(1000 * found["round_s"] / 6)
    assert found["tokens_per_s"] == pytest.approx(6 * 2 * 4 / found["round_s"])
    (adam,) = tacit.json("bench", "--repeats", 1, "--optimiser", "adam")
    assert adam["optimiser"] == "adam"
    said = tacit.ok("bench", "--repeats", 1)
    assert "small" in said and "ms per client-step" in said
    monkeypatch.setattr(bench, "measure", None)  # nothing is timed before everything is known
    tacit("bench", "--workload", "small", "--workload", "smal").refused("no workload 'smal'", "small")


# Data.


def test_data_list_names_every_known_corpus(tacit: Commands) -> None:
    said = tacit.ok("data", "list")
    found = tacit.json("data", "list")
    for entry in entries():
        assert entry.name in said and entry.source in said
    assert {e["name"] for e in found} >= {"ptb", "wikitext-2"}
    assert all(len(f["sha256"]) == 64 for e in found for f in e["files"])
    assert "typists" in said


def test_data_describe(tmp_path: Path, tacit: Commands) -> None:
    corpus = write_corpus(tmp_path / "m.jsonl")
    found = tacit.json("data", "describe", corpus)
    assert found["people"] == 12 and found["messages"] == 96
    assert "people" in tacit.ok("data", "describe", corpus)
    typists = tacit.json("data", "describe", "--set", "typists.users=7", "--set", "typists.messages=5")
    assert typists["people"] == 7


def test_data_describe_reads_a_language(tmp_path: Path, tacit: Commands) -> None:
    """Turkish has two letters i; Russian text is said to be no Turkish, in one line."""
    words = ("IŞIK ışık Işık", "İYİ iyi İyi")
    for name, texts in (("tr", words), ("ru", ("ПРИВЕТ привет", "сегодня хорошая погода"))):
        lines = [json.dumps({"user": f"u{i}", "text": text}) for i, text in enumerate(texts)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines), "utf-8")
    turkish = tmp_path / "tr.jsonl"
    found = tacit.json("data", "describe", turkish, "--locale", "tr_CY")
    assert (found["word_types"], found["locale"], found["remark"]) == (2, "tr", "")
    assert tacit.json("data", "describe", turkish)["word_types"] > 2
    assert "mostly" not in tacit.ok("data", "describe", turkish, "--locale", "tr")
    told = tacit.ok("data", "describe", tmp_path / "ru.jsonl", "--locale", "tr").splitlines()
    assert sum("mostly in Cyrillic letters, and text.locale is tr (Latin)" in line for line in told) == 1
    assert "mostly" not in tacit.ok("data", "describe", tmp_path / "ru.jsonl", "--locale", "ru")
    tacit("data", "describe", turkish, "--locale", "xx").refused("'xx'", "tr")
    assert package.corpus(turkish, locale="tr").describe()[str(turkish)][3] == "2"


def test_data_get_says_how_to_bring_a_corpus_by_hand(tmp_path: Path, tacit: Commands) -> None:
    by_hand = next(e for e in entries() if not all(f.address for f in e.files))
    tacit("data", "get", by_hand.name, "--data", tmp_path).refused(by_hand.name, "by hand", "--corpus PATH")
    assert list(tmp_path.iterdir()) == []


def test_a_known_corpus_that_is_not_there(
    tmp_path: Path, tacit: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TACIT_DATA", str(tmp_path / "nothing"))
    line = tacit("train", "fedavg", "--corpus", "ptb", "--out", tmp_path / "run").refused(
        "ptb", "tacit data get ptb"
    )
    assert str(tmp_path / "nothing") in line and not (tmp_path / "run").exists()


# Processes.


def test_a_process_ends_with_its_code_and_its_line(
    tmp_path: Path, process: Processes, trained: Trained
) -> None:
    fine = process("predict", trained.path, "are you", "--json")
    assert fine.code == 0 and fine.err == "" and len(json.loads(fine.out)["suggestions"]) == 3
    process("evaluate", tmp_path).refused(str(tmp_path), "not a run directory")


def test_ctrl_c_is_one_line(tmp_path: Path, tacit: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tacit.runs.train", interrupt)
    said = tacit("train", "fedavg", "--out", tmp_path / "run")
    assert said.err.strip() and said.err.strip().count("\n") == 0
    assert said.code == 2 and "interrupted" in said.err and "--resume" in said.err


def test_ctrl_c_in_the_middle_of_a_round_is_one_line(tmp_path: Path, process: Processes) -> None:
    """JAX's threads are still at work then; Python must not take down what they use."""
    settings = sets("typists.users=60", "text.vocabulary=1000", "training.evaluate_every=100")
    started = process.start("train", "fedavg", "--rounds", 100, "--out", tmp_path / "run", *settings)
    lines = tmp_path / "run" / "metrics.jsonl"
    while started.poll() is None and not (lines.is_file() and lines.read_bytes().count(b"\n") > 1):
        time.sleep(0.02)
    started.send_signal(signal.SIGINT)
    _, err = started.communicate(timeout=300)
    assert started.returncode == 2, (started.returncode, err)
    assert err.strip().splitlines()[-1].startswith("tacit: interrupted") and "Traceback" not in err


def test_an_interrupted_process_ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise cli.Interrupted(2)

    ended: list[int] = []
    monkeypatch.setattr(cli, "main", interrupted)
    monkeypatch.setattr(os, "_exit", ended.append)
    cli.program()
    assert ended == [2]


def test_a_closed_or_full_output_is_no_traceback(process: Processes) -> None:
    if not os.path.exists("/dev/full"):  # noqa: PTH110
        pytest.skip("no /dev/full")
    import subprocess
    import sys

    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", "from tacit.cli import program; program()", "presets"],
            env=process.environment,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2 and done.stderr.startswith("tacit: standard output: No space left on device")
    assert done.stderr.count("\n") == 1


def test_help_describes_arguments_too(tacit):
    assert "The text typed so far." in tacit("predict", "--help").out


def test_words_are_printed_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    """A vocabulary may have anything in it: no emoji code, no markup is made into something else."""
    print_table([["word"], [":smile:"], ["[bold]x"], ["[/x]"]])
    assert [line.strip() for line in capsys.readouterr().out.splitlines()] == [
        "word",
        ":smile:",
        "[bold]x",
        "[/x]",
    ]


def test_a_relative_corpus_is_kept_by_its_full_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.txt").write_text("a b")
    (tmp_path / "typists").mkdir()
    for given, kept in (("mine.txt", str(tmp_path / "mine.txt")), ("typists", "typists"), ("ptb", "ptb")):
        assert from_anywhere(resolve("fedavg", [f"text.corpus={given}"])).text.corpus == kept
    words = from_anywhere(resolve("fedavg", ["text.words=mine.txt"])).text.words
    assert words == str(tmp_path / "mine.txt")


def test_compare_makes_the_folder_of_its_page(tacit: Commands, trained: Trained, tmp_path: Path) -> None:
    tacit.ok("compare", trained.path, "--out", tmp_path / "new" / "page.html")
    assert (tmp_path / "new" / "page.html").is_file()
