"""Bad input is one line on standard error that names it and says what to do, exit code 2, and no trace on disk."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from commands import ROUNDS, TINY, Commands, Trained, sets, tree, write_corpus


def command(out: Path, corpus: Path | str | None = None, *more: str, preset: str = "fedavg") -> list[object]:
    given = [] if corpus is None else ["--corpus", corpus]
    return [
        "train",
        preset,
        *given,
        "--rounds",
        ROUNDS,
        "--out",
        out,
        *sets(*TINY, "typists.users=40", *more),
    ]


def people(path: Path, texts: dict[str, list[str]]) -> Path:
    rows = [{"user": user, "text": text} for user, mine in texts.items() for text in mine]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


# Arguments and keys.


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["trian"], ["No such command 'trian'", "'train'"]),
        (["train"], ["Missing argument 'PRESET|FILE.toml'"]),
        (["train", "fedavg", "--round", "3"], ["No such option", "--round"]),
        (["train", "fedavg", "--rounds", "many"], ["--rounds", "'many'"]),
        (["train", "fedavg", "--rounds", "0"], ["training.rounds = 0", "at least 1"]),
        (["train", "fedavg", "--rounds", "-3"], ["training.rounds = -3", "at least 1"]),
        (["train", "fedavg", "--seed", "-1"], ["seed = -1"]),
        (["train", "fedavg", "extra"], ["extra"]),
        (["train", "fedavgg"], ["no preset 'fedavgg'", "'fedavg'"]),
        (["train", "nowhere.toml"], ["nowhere.toml", "preset"]),
        (["train", "fedavg", "--set", "client.lr"], ["'client.lr'", "table.key=value"]),
        (["train", "fedavg", "--set", "client.epoch=3"], ["client.epoch", "'epochs'"]),
        (["train", "fedavg", "--set", "client.lr=fast"], ["client.lr = 'fast'", "a number"]),
        (["train", "fedavg", "--set", "cilent.lr=1"], ["'cilent'", "'client'"]),
        (["train", "fedavg", "--set", "aggregation.rule=meen"], ["aggregation.rule = 'meen'", "'mean'"]),
        (["train", "fedavg", "--set", "typists.users=0"], ["typists.users"]),
        (["train", "fedavg", "--set", "text.held_out_users=0"], ["text.held_out_users = 0"]),
        (["train", "fedavg", "--set", "text.vocabulary=2"], ["text.vocabulary is 2", "at least 4"]),
        (["train", "fedavg", "--set", "text.protocol=fedatt"], ["text.protocol", "'plain'"]),
        (["train", "fedavg", "--corpus", "nowhere.txt"], ["nowhere.txt", "tacit data list"]),
        (["train", "fedavg", "--corpus", "pbt"], ["'pbt'", "'ptb'"]),
        (["evaluate"], ["Missing argument 'RUN|FILE'"]),
        (["evaluate", "nowhere"], ["nowhere", "tacit train"]),
        (["predict", "nowhere", "hi"], ["nowhere", "tacit train"]),
        (["predict", "nowhere.tacit", "hi"], ["nowhere.tacit: there is no such file", "tacit distill RUN"]),
        (["serve", "nowhere.tacit"], ["nowhere.tacit: there is no such file", "tacit export RUN"]),
        (["predict", "nowhere", "hi", "--k", "0"], ["--k", "0"]),
        (["compare", "nowhere"], ["nowhere", "tacit train"]),
        (["compare"], ["Missing argument 'RUN"]),
        (["bench", "--workload", "smal"], ["'smal'", "'small'"]),
        (["bench", "--precision", "float8"], ["--precision float8", "bfloat16"]),
        (["bench", "--executor", "warp"], ["--executor warp", "vmap"]),
        (["bench", "--repeats", "0"], ["--repeats"]),
        (["data", "describe", "nowhere.jsonl"], ["nowhere.jsonl", "tacit data list"]),
        (["data", "describe", "--set", "typists.user=3"], ["typists.user", "'users'"]),
        (["data", "get", "pbt"], ["'pbt'", "'ptb'"]),
        (["data", "lisst"], ["lisst"]),
        (["data", "describe", "~nobody-here/x.jsonl"], ["~nobody-here/x.jsonl", "tacit data list"]),
        (["train", "fedavg", *sets("text.words=~nobody-here/w")], ["~nobody-here/w: cannot read"]),
        (
            ["count", "fedavg", "--whitelist", "~nobody-here/words.txt"],
            ["~nobody-here/words.txt: cannot read"],
        ),
        (
            [
                "train",
                "fedavg",
                *sets("text.vocabulary=0", "text.pieces=50", "text.inventory=~nobody-here/counts.tsv"),
            ],
            ["~nobody-here/counts.tsv: cannot read"],
        ),
        (["train", "fedavg", "--seed", "4294967296"], ["seed = 4294967296"]),
        (["demo", "--set", "client.epoch=3"], ["client.epoch", "'epochs'"]),
    ],
    ids=lambda value: " ".join(value)[:50] if isinstance(value, list) else None,
)
def test_arguments(
    tmp_path: Path,
    tacit: Commands,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    named: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    few = sets("typists.users=12", "typists.messages=5", "model.embedding=8", "model.hidden=8")
    if arguments[:2] == ["train", "fedavg"] and not set(arguments) & {"--corpus", "extra", "typists.users=0"}:
        arguments = [*arguments[:2], *few, *arguments[2:]]
    tacit(*arguments).refused(*named)
    assert list(tmp_path.iterdir()) == []  # nothing was begun


def test_a_mistyped_file(tmp_path: Path, tacit: Commands) -> None:
    (tmp_path / "my.toml").write_text("[client]\nlr = \n")
    tacit("train", tmp_path / "my.toml", "--out", tmp_path / "run").refused(
        "my.toml", "not valid TOML", "line 2"
    )
    (tmp_path / "my.toml").write_text('[client]\nlr = "2"\n')
    tacit("train", tmp_path / "my.toml", "--out", tmp_path / "run").refused(
        "client.lr = '2'", "must be a number"
    )
    assert not (tmp_path / "run").exists()


def test_tensorboard_that_is_not_installed(
    tmp_path: Path, tacit: Commands, trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "tensorboardX", None)
    tacit(*command(tmp_path / "run", trained.corpus), "--tensorboard").refused("--tensorboard", "pip install")
    assert not (tmp_path / "run").exists()


# Corpora.

Make = Callable[[Path], Path]


def raw(name: str, content: bytes) -> Make:
    def make(folder: Path) -> Path:
        (folder / name).write_bytes(content)
        return folder / name

    return make


def folder(name: str) -> Make:
    def make(where: Path) -> Path:
        (where / name).mkdir()
        return where / name

    return make


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (raw("empty.jsonl", b""), ["empty.jsonl", "no text"]),
        (raw("empty.txt", b""), ["empty.txt", "no text"]),
        (raw("blank.txt", b"\n  \n\t\n"), ["blank.txt", "no text"]),
        (raw("blank.jsonl", b'{"user": "a", "text": " "}\n'), ["blank.jsonl", "no text"]),
        (folder("nothing"), ["nothing", "train"]),
        (raw("latin.txt", "café\n".encode("latin-1")), ["latin.txt, line 1", "not UTF-8"]),
        (
            raw("latin.jsonl", b'{"user": "a", "text": "ok"}\n{"user": "a", "text": "\xff"}'),
            ["line 2", "UTF-8"],
        ),
        (raw("binary", bytes(range(256))), ["binary", "UTF-8"]),
        (raw("short.txt.gz", b"\x1f\x8b\x08\0"), ["short.txt.gz", "gzip"]),
        (raw("broken.jsonl", b'{"user": "a", "text": "ok"}\n{"user": '), ["broken.jsonl, line 2", "JSON"]),
        (
            raw("people.txt", b'{"user": "a", "text": "ok"}\n'),
            ["people.txt", "JSON lines", "rename it to .jsonl"],
        ),
        (raw("people.csv", b"user,text\nana,ok\n"), ["people.csv", ".csv is not read", ".jsonl"]),
        (raw("list.jsonl", b"[1]\n"), ["list.jsonl, line 1", '"user"']),
        (raw("keys.jsonl", b'{"usr": "a", "text": "ok"}\n'), ["keys.jsonl, line 1", '"user" is missing']),
        (
            raw("types.jsonl", b'{"user": 3, "text": "ok"}\n'),
            ["types.jsonl, line 1", '"user" must be a string'],
        ),
        (
            raw("one.jsonl", b'{"user": "a", "text": "only this"}\n'),
            ["one.jsonl", "1 sentences", "more text"],
        ),
        (
            lambda path: people(path / "two.jsonl", {"a": ["hi you"] * 9, "b": ["hi me"] * 9}),
            ["two.jsonl", "2 people", "at least 3 people"],
        ),
        (
            lambda path: people(path / "solo.jsonl", {"a": [f"hi {i}" for i in range(60)]}),
            ["partition.clients is 100", "set it to"],
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_corpora(tmp_path: Path, tacit: Commands, make: Make, named: list[str]) -> None:
    corpus = make(tmp_path)
    tacit(*command(tmp_path / "run", corpus, "text.vocabulary=0")).refused(*named)
    assert not (tmp_path / "run").exists()


def test_a_corpus_that_may_not_be_read(tmp_path: Path, tacit: Commands, trained: Trained) -> None:
    loop = tmp_path / "loop.jsonl"
    loop.symlink_to(loop)
    tacit(*command(tmp_path / "run", loop)).refused("loop.jsonl")
    tacit("evaluate", trained.path, "--corpus", loop).refused("loop.jsonl")


def test_a_vocabulary_larger_than_the_corpus(tmp_path: Path, tacit: Commands) -> None:
    corpus = write_corpus(tmp_path / "m.jsonl")
    line = tacit(*command(tmp_path / "run", corpus, "text.vocabulary=5000")).refused(
        "text.vocabulary is 5000"
    )
    assert "set it to" in line and not (tmp_path / "run").exists()


def test_a_cohort_larger_than_the_population(tmp_path: Path, tacit: Commands) -> None:
    corpus = write_corpus(tmp_path / "m.jsonl")
    said = tacit(*command(tmp_path / "run", corpus, "sampling.clients=11"))
    said.refused("sampling.clients = 11", "population of 10", "at most 10")
    assert not (tmp_path / "run").exists()
    # and once it is right, the same --out is free
    tacit.ok(*command(tmp_path / "run", corpus, "training.rounds=1"))


def test_noise_that_drowns_everything(tmp_path: Path, tacit: Commands) -> None:
    corpus = write_corpus(tmp_path / "m.jsonl")
    said = tacit(*command(tmp_path / "run", corpus, "aggregation.noise=1e30"))
    assert "aggregation.noise" in said.err.splitlines()[-1] and said.code == 2


def test_a_corpus_of_one_user_is_split_by_message(tmp_path: Path, tacit: Commands) -> None:
    solo = people(tmp_path / "solo.jsonl", {"a": [f"hello you {i % 13} there now" for i in range(96)]})
    tacit.ok(
        *command(tmp_path / "run", solo, "partition.clients=10", "text.vocabulary=0", "training.rounds=1")
    )
    summary = json.loads((tmp_path / "run/summary.json").read_text())
    assert summary["clients"] == 10 and summary["seen"] is None


def test_users_of_one_word_and_of_unknown_words_take_part(tmp_path: Path, tacit: Commands) -> None:
    texts = {f"u{p}": [f"hello you there now {(p + m) % 13}" for m in range(8)] for p in range(8)}
    texts |= {
        "one": ["hi"],
        "strange": [f"xyz{m} qqq{m}" for m in range(8)],
        "sign": ["\u200b"],
        "last": ["ok"],
    }
    corpus = people(tmp_path / "m.jsonl", texts)
    keys = ["sampling.clients=0", "sampling.fraction=1.0", "training.rounds=1"]
    tacit.ok(*command(tmp_path / "run", corpus, *keys))
    for other in ({"x": ["zzz"]}, {"x": ["zzz yyy"], "y": ["www"]}):
        found = tacit.json("evaluate", tmp_path / "run", "--corpus", people(tmp_path / "o.jsonl", other))
        assert found["oov"] == 1.0 and found["top3"] == 0.0 and found["perplexity"] > 1


# A run directory that was damaged.


def damaged(path: Path, run: Trained, name: str, content: bytes | None) -> Path:
    where = shutil.copytree(run.path, path / "run")
    if content is None:
        (where / name).unlink()
    else:
        (where / name).write_bytes(content)
    return where


RESUME, EVALUATE, PREDICT, COMPARE = "resume", "evaluate", "predict", "compare"


def using(how: str, run: Path, corpus: Path) -> list[object]:
    return {
        RESUME: [*command(run, corpus), "--resume"],
        EVALUATE: ["evaluate", run],
        PREDICT: ["predict", run, "are you"],
        COMPARE: ["compare", run, "--out", run.parent / "page.html"],
    }[how]


FOREIGN = save({"embedding": np.zeros((3, 4), np.float32)}, {"format": "pt"})
EVERY = (RESUME, EVALUATE, PREDICT, COMPARE)
DAMAGE = [
    ("config.toml", b"[client", "TOML", EVERY),
    ("config.toml", b"format = 2\n[client]\nepoch = 3\n", "client.epoch", EVERY),
    ("config.toml", b'name = "\xff"', "config.toml", EVERY),
    ("config.toml", b"", "made by an earlier Tacit", EVERY),
    ("config.toml", b"format = 3\n", "of a later Tacit", EVERY),
    ("vocabulary.txt", b"", "line 1", (RESUME, EVALUATE, PREDICT)),
    ("vocabulary.txt", b"# tacit vocabulary 1, 20 words\n<s>\n", "ends early", (RESUME, EVALUATE, PREDICT)),
    ("vocabulary.txt", b"\xff\xfe", "UTF-8", (RESUME, EVALUATE, PREDICT)),
    (
        "vocabulary.txt",
        b"# tacit vocabulary 1, 4 words\n<s>\n</s>\n<unk>\nhi\n",
        "",
        (RESUME, EVALUATE, PREDICT),
    ),
    ("vocabulary.txt", None, "vocabulary.txt", (EVALUATE, PREDICT)),
    ("checkpoints/best.safetensors", b"", "best.safetensors", (EVALUATE, PREDICT, RESUME)),
    ("checkpoints/best.safetensors", FOREIGN, "not a checkpoint of this Tacit", (EVALUATE, PREDICT, RESUME)),
    ("checkpoints/best.safetensors", None, "no such checkpoint", (EVALUATE, PREDICT, RESUME)),
    ("checkpoints/last.safetensors", b"\x10", "last.safetensors", (RESUME,)),
    ("checkpoints/last.safetensors", FOREIGN, "last.safetensors", (RESUME,)),
    ("metrics.jsonl", b"{}\n", "metrics.jsonl, line 1", (RESUME, COMPARE)),
    ("metrics.jsonl", b"\xff\n{}", "metrics.jsonl, line 1", (RESUME, COMPARE)),
    ("metrics.jsonl", b"", "metrics.jsonl", (RESUME,)),
    ("summary.json", b"{", "summary.json", (COMPARE,)),
    ("summary.json", b'{"test": 3, "seen": 4, "best_round": 1, "chosen_by": 2}', "summary.json", (COMPARE,)),
    ("summary.json", None, "--resume", (COMPARE,)),
]


@pytest.mark.parametrize(
    ("name", "content", "named", "how"),
    [(name, content, named, how) for name, content, named, hows in DAMAGE for how in hows],
)
def test_damaged_runs(
    tmp_path: Path, tacit: Commands, trained: Trained, name: str, content: bytes | None, named: str, how: str
) -> None:
    run = damaged(tmp_path, trained, name, content)
    before = tree(run)
    said = tacit(*using(how, run, trained.corpus))
    said.refused(named, str(run))
    assert tree(run) == before and not (tmp_path / "page.html").exists()


def test_a_truncated_checkpoint(tmp_path: Path, tacit: Commands, trained: Trained) -> None:
    good = (trained.path / "checkpoints/best.safetensors").read_bytes()
    run = damaged(tmp_path, trained, "checkpoints/best.safetensors", good[:-7])
    for how in (EVALUATE, PREDICT):
        tacit(*using(how, run, trained.corpus)).refused("best.safetensors", "truncated", "train again")


def test_words_that_a_network_was_not_trained_with(tmp_path: Path, tacit: Commands, trained: Trained) -> None:
    """As many words, but two have changed places: every suggestion would be of another word."""
    head, *words = (trained.path / "vocabulary.txt").read_text("utf-8").splitlines()
    words[3], words[4] = words[4], words[3]
    run = damaged(tmp_path, trained, "vocabulary.txt", "\n".join([head, *words, ""]).encode())
    for how in (RESUME, EVALUATE, PREDICT):
        tacit(*using(how, run, trained.corpus)).refused("vocabulary.txt", "not the words", "restore it")


def test_an_empty_directory_or_a_file_is_no_run(tmp_path: Path, tacit: Commands) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("x")
    for how in (EVALUATE, PREDICT, COMPARE):
        tacit(*using(how, tmp_path / "empty", tmp_path)).refused(
            "empty", "not a run directory", "tacit train"
        )
    tacit(*using(COMPARE, tmp_path / "file", tmp_path)).refused("file", "not a run directory", "tacit train")
    tacit(*using(EVALUATE, tmp_path / "file", tmp_path)).refused("file", "no held-out text", "--corpus")
    tacit(*using(PREDICT, tmp_path / "file", tmp_path)).refused("file", "not an ARPA file")
