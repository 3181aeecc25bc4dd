"""Configurations: presets, `--set`, and every way of getting a key wrong."""

from __future__ import annotations

import dataclasses
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.base.errors import TacitError
from tacit.base.settings import dump
from tacit.models import ARCHITECTURES
from tacit.runs.config import Config, from_tables, preset_summary, presets, read_tables, resolve, set_key

PROMISED = (
    """fedsgd fedavg fedprox fedadam fedyogi fedadagrad fedatt fedattopt gboard gboard-ngram gboard-server"""
)


def again(config: Config) -> Config:
    return from_tables(tomllib.loads(dump(config)))


# Presets.


def test_the_promised_presets_are_there_with_a_summary() -> None:
    assert set(PROMISED.split()) <= set(presets())
    assert all(len(preset_summary(name)) > 20 for name in presets())


@pytest.mark.parametrize("name", presets())
def test_a_preset_resolves_and_its_dump_reads_back(name: str) -> None:
    config = resolve(name)
    assert again(config) == config


def test_the_presets_are_what_their_papers_say() -> None:
    sgd = resolve("fedsgd")
    assert (sgd.client.epochs, sgd.sampling.fraction, sgd.aggregation.rule, sgd.server.lr) == (
        1,
        1.0,
        "mean",
        1.0,
    )
    prox = resolve("fedprox")
    assert prox.client.prox > 0 and prox.client.stragglers > 0
    for name in ("adam", "yogi", "adagrad"):
        assert resolve(f"fed{name}").server.optimiser == name
    assert resolve("fedatt").aggregation.rule == "attentive"
    assert resolve("fedattopt").aggregation.rule == "attentive-loss"
    gboard = resolve("gboard")
    assert (gboard.model.kind, gboard.model.hidden, gboard.model.embedding) == ("lstm", 670, 96)
    assert (gboard.text.vocabulary, gboard.client.max_examples) == (10_000, 400)
    ngram = resolve("gboard-ngram")
    assert (ngram.sampling.clients, ngram.client.lr, ngram.server.lr) == (500, 0.5, 1.0)
    for config in (gboard, ngram):
        assert config.server.optimiser == "sgd"
        assert config.server.settings == {"momentum": 0.9, "nesterov": True}
    server = resolve("gboard-server")
    assert server.training.mode == "central" and server.model == gboard.model
    assert all(resolve(name).training.mode == "federated" for name in PROMISED.split()[:-1])


def test_a_rule_writes_out_its_settings_and_no_others() -> None:
    assert resolve("fedatt").aggregation.settings == {"distance": "spectral", "bound": 0.0}
    assert resolve("fedadagrad").server.settings == {"tau": 1e-3, "form": "optax"}
    written = tomllib.loads(dump(resolve("fedavg", ["aggregation.uniform=true"])))
    assert written["aggregation"] == {
        "rule": "mean",
        "noise": 0.0,
        "max_norm": 0.0,
        "code": "",
        "uniform": True,
    }
    server = {"optimiser": "sgd", "lr": 1.0, "schedule": "constant", "warmup": 0, "code": ""}
    assert written["server"] == {**server, "momentum": 0.0, "nesterov": False}


def test_another_rule_takes_no_settings_of_the_presets_own() -> None:
    given = ["server.optimiser=adam", "server.beta2=0.9"]
    adam = {"beta1": 0.9, "beta2": 0.9, "tau": 1e-3, "form": "optax"}
    assert resolve("gboard", given).server.settings == adam
    assert resolve("gboard", given[::-1]).server == resolve("gboard", given).server
    assert resolve("gboard", given).server.lr == resolve("gboard").server.lr
    assert resolve("fedatt", ["aggregation.rule=mean"]).aggregation.settings == {"uniform": False}
    kept = resolve("fedatt", ["aggregation.rule=attentive"]).aggregation.settings
    assert kept == resolve("fedatt").aggregation.settings


def test_the_demos_two_runs_read_the_same_text() -> None:
    federated, central = resolve("demo"), resolve("demo-central")
    assert (federated.text, federated.typists, federated.seed) == (
        central.text,
        central.typists,
        central.seed,
    )
    shapes = [dataclasses.replace(c.model, dropout=0, bias="zero") for c in (federated, central)]
    assert shapes[0] == shapes[1]  # how they start and are trained may differ


# Setting keys.


def test_set_reads_toml_values_and_bare_words() -> None:
    config = resolve(
        "fedavg",
        [
            "client.lr=0.5",
            "training.rounds = 3",
            "text.corpus=a b.txt",
            'name="3"',
            "model.tied=true",
            "seed=9",
        ],
    )
    assert (config.client.lr, config.training.rounds, config.text.corpus) == (0.5, 3, "a b.txt")
    assert (config.name, config.model.tied, config.seed) == ("3", True, 9)


def test_a_later_set_wins_and_the_rest_stays() -> None:
    config = resolve("fedprox", ["client.lr=1", "client.lr=3"])
    assert config == dataclasses.replace(
        resolve("fedprox"), client=dataclasses.replace(resolve("fedprox").client, lr=3.0)
    )


@pytest.mark.parametrize("bad", ["", "client.lr", "=3", " = 3", "client"])
def test_a_bad_set_is_shown_how_it_should_look(bad: str) -> None:
    with pytest.raises(TacitError, match=r"must look like table\.key=value"):
        set_key({}, bad)


def test_set_through_a_key_is_refused() -> None:
    with pytest.raises(TacitError, match="'lr' is a key, not a table"):
        set_key({"client": {"lr": 1}}, "client.lr.x=3")


@pytest.mark.parametrize("name", sorted(ARCHITECTURES))
def test_an_architecture_fills_in_its_sizes(name: str) -> None:
    config = resolve("fedavg", [f"model.architecture={name}"])
    assert config.model == ARCHITECTURES[name]
    assert again(config) == config


def test_keys_beside_an_architecture_win_in_any_order() -> None:
    for order in (1, -1):
        pairs = ["model.architecture=W30K", "model.dropout=0.25"][::order]
        assert resolve("fedavg", pairs).model == dataclasses.replace(ARCHITECTURES["W30K"], dropout=0.25)


# Getting it wrong: (assignments, what the line must say).

WRONG = [
    (["client.epoch=2"], "client.epoch: client.optimiser = 'sgd' has no such setting", "'epochs'"),
    (["clients.lr=2"], "unknown table 'clients'", "'client'"),
    (["zzz=2"], "unknown key 'zzz'", "training"),
    (["client.lr=fast"], "client.lr = 'fast' must be a number", ""),
    (["client.lr=true"], "client.lr = True must be a number", ""),
    (["client.lr=nan"], "client.lr = nan must be", ""),
    (["client.lr=inf"], "client.lr = inf must be", "finite"),
    (["client.lr=-1"], "client.lr = -1.0 must be", "at least 0"),
    (["client.lr=1" + "0" * 400], "client.lr = inf must be", "finite"),
    (["client.momentum=1"], "client.momentum = 1.0 must be between 0 and 0.9999", ""),
    (["training.rounds=0"], "training.rounds = 0 must be", "at least 1"),
    (["training.rounds=2.5"], "training.rounds = 2.5 must be a whole number", ""),
    (["training.rounds=true"], "training.rounds = True must be a whole number", ""),
    (["training.best=perplexty"], "training.best = 'perplexty' is not known", "'perplexity'"),
    (["server.nesterov=1"], "server.nesterov = 1 must be true or false", ""),
    (["seed=-1"], "seed = -1 must be between", ""),
    (["seed=2147483648"], "seed = 2147483648 must be between 0 and 2147483647", ""),
    (
        ["training.rounds=1" + "0" * 18],
        "training.rounds = 1000000000000000000 must be at most 2147483647",
        "",
    ),
    (["training.rounds=1" + "0" * 5000], "training.rounds", "must be a whole number"),
    (["client.lr=1\nseed=2"], "client.lr = '1\\nseed=2' must be a number", ""),
    (["client.lr=" + "[" * 5000], "client.lr", "must be a number"),
    (["client.lr=1e300"], "client.lr = 1e+300 must be at most 3.4e+38", ""),
    (["seed=99999999999"], "seed = 99999999999 must be between", ""),
    (["name=3"], "name = 3 must be a string", ""),
    (["text.corpus=caf\udce9.txt"], "text.corpus = 'caf\\udce9.txt' is not UTF-8", ""),
    (["client=3"], "'client' must be a table of keys", ""),
    (["seed.x=3"], "seed = {'x': 3} must be a whole number", ""),
    (["model=[1]"], "'model' must be a table of keys", ""),
    (["model.architecture=W31K"], "no architecture 'W31K'", "'W30K'"),
    (["typists.users=0"], "typists.users", "at least 1"),
    (["typists.label_skew=2"], "typists.label_skew", "0 and 1"),
    (["aggregation.rule=meen"], "aggregation.rule = 'meen' is not known", "'mean'"),
    # settings of a rule or an optimiser
    (["aggregation.noice=1"], "aggregation.noice: aggregation.rule = 'mean' has no such setting", "'noise'"),
    (["aggregation.unifrom=true"], "aggregation.unifrom: aggregation.rule = 'mean'", "'uniform'"),
    (
        ["aggregation.bound=3"],
        "aggregation.bound: aggregation.rule = 'mean' has no such setting",
        "'attentive' has",
    ),
    (
        ["aggregation.bound=0"],
        "aggregation.bound: aggregation.rule = 'mean' has no such setting",
        "'attentive' has",
    ),
    (["aggregation.form=exact"], "aggregation.form: aggregation.rule = 'mean'", "'attentive-loss' has"),
    (
        ["aggregation.rule=attentive", "aggregation.bound=61"],
        "aggregation.bound = 61.0 must be between 0 and 60",
        "",
    ),
    (
        ["aggregation.rule=attentive", "aggregation.bound=-1"],
        "aggregation.bound = -1.0 must be between 0 and 60",
        "",
    ),
    (
        ["aggregation.rule=attentive", "aggregation.distance=spectrum"],
        "aggregation.distance = 'spectrum'",
        "'spectral'",
    ),
    (["aggregation.rule=attentive", "aggregation.uniform=true"], "aggregation.uniform", "'mean' or"),
    (
        ["aggregation.own.bound=3"],
        "'aggregation.own' is a table",
        "an older Tacit wrote it, train the run again",
    ),
    (["aggregation.uniform=true", "sampling.scheme=original"], "aggregation.uniform = true", "'original'"),
    (
        ["server.beta1=0.5"],
        "server.beta1: server.optimiser = 'sgd' has no such setting",
        "'adam' or 'yogi' has",
    ),
    (
        ["server.tau=0.1"],
        "server.tau: server.optimiser = 'sgd' has no such",
        "'adam' or 'yogi' or 'adagrad' has",
    ),
    (
        ["server.optimiser=adam", "server.momentum=0"],
        "server.momentum: server.optimiser = 'adam'",
        "'sgd' has",
    ),
    (["server.optimiser=adam", "server.beta1=1"], "server.beta1 = 1.0 must be between 0 and 0.9999", ""),
    (["server.optimiser=adam", "server.tau=0"], "server.tau = 0.0 must be finite, at least 1e-12", ""),
    (["server.nesterov=true"], "server.nesterov = true needs server.momentum above 0", ""),
    # what no single key can know
    (["model.hidden=8"], "model.tied needs model.hidden = model.embedding", "model.tied=false"),
    (["model.kind=lstm", "model.tied=false"], "model.tied = false is for model.kind = 'gru'", ""),
    (["model.kind=lstm", "model.variant=printed"], "model.variant = printed is for model.kind = 'gru'", ""),
    (["model.groups=2"], "model.groups = 2 is for model.kind = 'lstm'", ""),
    (["model.layer_norm=true"], "model.layer_norm = true is for model.kind = 'lstm'", ""),
    (["model.coupled=false"], "model.coupled = false is for model.kind = 'lstm'", ""),
    (["model.kind=lstm", "model.groups=7"], "model.groups = 7 must divide", "model.embedding"),
    (
        ["model.kind=lstm", "model.groups=5", "model.embedding=100"],
        "model.groups = 5 must divide",
        "model.hidden",
    ),
    (
        ["model.kind=lstm", "model.groups=5", "model.hidden=100"],
        "model.groups = 5 must divide",
        "model.embedding",
    ),
    (
        ["sampling.scheme=II", "aggregation.rule=attentive"],
        "sampling.scheme = 'II'",
        "aggregation.rule = 'mean'",
    ),
]


@pytest.mark.parametrize(("given_", "said", "also"), WRONG, ids=[" ".join(w[0])[:40] for w in WRONG])
def test_what_is_wrong_is_one_line_with_the_key(given_: list[str], said: str, also: str) -> None:
    with pytest.raises(TacitError) as error:
        resolve("fedavg", given_)
    line = str(error.value)
    assert said in line and also in line and "\n" not in line


def test_an_unknown_preset_is_told_its_nearest() -> None:
    with pytest.raises(TacitError, match="no preset 'fedavgg'; did you mean 'fedavg'"):
        resolve("fedavgg")
    with pytest.raises(TacitError, match=r"no configuration file at nowhere\.toml"):
        resolve("nowhere.toml")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"name = ", "not valid TOML"),
        (b"[client]\nlr = 1\n[client]\nlr = 2\n", "not valid TOML"),
        (b'name = "caf\xe9"', "cannot read the configuration"),
    ],
)
def test_a_bad_file_is_one_line_with_its_name(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_bytes(content)
    with pytest.raises(TacitError, match=said) as error:
        resolve(str(file))
    assert str(file) in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[[client]]\nlr = 1", "'client' must be a table"),
        (
            "[training]\nround = 3",
            r"unknown key 'training\.round' in the configuration; did you mean 'rounds'",
        ),
    ],
)
def test_a_bad_key_in_a_file_is_named(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "mine.toml").write_text(content)
    with pytest.raises(TacitError, match=said):
        resolve(str(tmp_path / "mine.toml"))


def test_a_directory_is_no_configuration(tmp_path: Path) -> None:
    (tmp_path / "a.toml").mkdir()
    for given_ in (tmp_path / "a.toml", tmp_path):
        with pytest.raises(TacitError, match=str(tmp_path)):
            read_tables(str(given_))


def test_a_file_without_suffix_is_read_too(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("[client]\nlr = 7")
    assert resolve(str(tmp_path / "mine")).client.lr == 7.0


@given(
    name=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")),
    lr=st.floats(0, 3e38),
    seed=st.integers(0, 2**31 - 1),
)
def test_whatever_was_set_is_read_back(name: str, lr: float, seed: int) -> None:
    client = dataclasses.replace(Config().client, lr=lr)
    config = dataclasses.replace(Config(), name=name, seed=seed, client=client)
    assert again(config) == config


def test_the_fedatt_protocol_keeps_whole_sentences_and_every_word():
    assert (
        resolve("fedatt", ["text.protocol=fedatt"]).text.vocabulary,
        resolve("fedatt").text.vocabulary,
    ) == (0, 5000)
    assert resolve("fedatt", ["text.protocol=fedatt"]).text.max_words == 0
    assert resolve("fedatt", ["text.protocol=fedatt", "text.vocabulary=500"]).text.vocabulary == 500


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        (["partition.clients=3"], "partition.clients"),
        (["partition.kind=user", "partition.clients=3"], "partition.clients"),
        (["partition.kind=iid", "partition.by=length"], "partition.by"),
        (["partition.kind=dirichlet", "partition.shards=3"], "partition.shards"),
        (["partition.kind=shards", "partition.alpha=0.1"], "partition.alpha"),
        (["partition.kind=iid", "partition.sigma=2"], "partition.sigma"),
    ],
)
def test_a_key_that_would_do_nothing_is_refused(settings, key):
    with pytest.raises(TacitError, match=f"{key} would do nothing"):
        resolve("fedavg", settings)
