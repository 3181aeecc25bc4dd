"""Private runs: the ledger before the model, budgets, what is left out, and what is refused."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import load_file

from commands import WORDS, configured, lasting, lines, stub, write_corpus
from tacit import runs
from tacit.base.errors import Diverged, TacitError
from tacit.federated.algorithm import Algorithm, ServerState, Trainer
from tacit.federated.text_cohorts import text_grid
from tacit.models import language_model
from tacit.privacy import ledger, plan_file
from tacit.privacy.ledger import Release
from tacit.runs import directory, report, training
from tacit.runs.config import Config, resolve
from tacit.runs.data import prepare
from tacit.runs.directory import Best
from tacit.runs.privacy import epsilon
from tacit.text.corpus import fits, people_fingerprint, read

PRIVATE = ["privacy.mechanism=gaussian", "privacy.clip=1.0", "privacy.noise=1.5", "sampling.scheme=poisson"]
PLAN = {
    "format": plan_file.FORMAT,
    "mechanism": "gaussian",
    "sampling": "poisson",
    "delta": 1e-6,
    "rounds": 5,
    "population": 12,
    "clients": 6,
    "rate": 0.5,
    "noise_multiplier": 1.5,
    "epsilon": 5.0,
    "epsilon_rdp": 5.5,
    "epsilon_pld": 5.0,
    "epsilons": [1.0, 2.0, 3.0, 4.0, 5.0],
    "noise_in_mean": 0.25,
    "noise_in_sum": 0.4,
    "assumption": "every client takes part by its own draw",
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus") / "messages.jsonl")


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("words") / "words.txt"
    path.write_text("\n".join(WORDS) + "\n")
    return path


def stubbed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A trainer that takes no time and returns the release of each round; the list tells which rounds were made."""
    stub(monkeypatch)
    made: list[int] = []
    plain = training.make_trainer

    def trainer(config: Config, model: Any, ready: Any) -> Trainer:
        init, step = plain(config, model, ready)

        def round_(state: ServerState, t: int) -> tuple[ServerState, dict[str, Any]]:
            made.append(t + 1)
            entry = Release("round", "gaussian", t + 1, 1.5, "poisson", 0.1, 1.0, noise_digest=f"{len(made)}")
            return step(state, t)[0], {"lr": 1.0, "release": entry}

        return Trainer(init, round_)

    monkeypatch.setattr(training, "make_trainer", trainer)
    return made


def planned(folder: Path, **changes: Any) -> Path:
    path = folder / "a-plan.json"
    path.write_text(json.dumps({**PLAN, **changes}))
    return path


def rounds_in(out: Path) -> list[int | None]:
    return [entry.round for entry in ledger.read(out / ledger.NAME) if entry.what == "round"]


def test_a_run_leaves_out_what_clients_report(tmp_path: Path, corpus: Path, words: Path) -> None:
    config = configured(corpus, *PRIVATE, f"text.words={words}", "training.rounds=2", "sampling.fraction=0.3")
    out = tmp_path / "run"
    summary = runs.train(config, out)
    for record in lines(out / "metrics.jsonl"):
        assert {k for k in record if not k.startswith("valid_")} == {"round", "lr"}
    entries = ledger.read(out / ledger.NAME)
    assert [(e.what, e.round, e.mechanism, e.sampling) for e in entries] == [
        ("round", 1, "gaussian", "poisson"),
        ("round", 2, "gaussian", "poisson"),
    ]
    assert all(e.noise_multiplier == 1.5 and e.clip == 1.0 and not e.reason for e in entries)
    assert len({e.noise_digest for e in entries}) == 2
    assert summary["epsilon"] is None
    assert "tacit privacy show RUN" in summary["epsilon_reason"]
    assert summary["seen"] is None  # later text of the people trained on, without noise
    stored = runs.read_config(out).text.fingerprint
    assert stored.startswith("people-")
    rows = [json.loads(line) for line in corpus.read_text().splitlines()]
    rows[5]["text"] += " indeed"
    longer, others = (tmp_path / name for name in ("longer.jsonl", "others.jsonl"))
    longer.write_text("".join(json.dumps(row) + "\n" for row in rows))
    others.write_text("".join(json.dumps({**row, "user": row["user"] + "x"}) + "\n" for row in rows))
    assert people_fingerprint(read(longer)) == stored  # nobody can check a guess of a message by config.toml
    assert fits(read(longer), stored) and not fits(read(others), stored)
    page = runs.Run(out).report().read_text()
    assert "noise multiplier 1.5, 2 rounds" in page
    assert np.isfinite(runs.load(out).evaluate()["perplexity"])


def test_the_ledger_comes_first(tmp_path: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, out = stubbed(monkeypatch), tmp_path / "run"
    config = configured(corpus, *PRIVATE, "training.rounds=4")
    save, dying = directory.save, [3]

    def saving(path: Path, name: str, tree: Any, done: int, best: Best | None) -> None:
        assert rounds_in(path)[-1] == done, "a model is there before its release"
        if done in dying:
            dying.remove(done)
            raise KeyboardInterrupt
        save(path, name, tree, done, best)

    monkeypatch.setattr(directory, "save", saving)
    with pytest.raises(KeyboardInterrupt):
        runs.train(config, out)
    assert rounds_in(out) == [1, 2, 3]
    runs.train(config, out, resume=True)
    assert made == [1, 2, 3, 3, 4]
    assert rounds_in(out) == [1, 2, 3, 3, 4]  # round 3 was released twice
    before = (out / ledger.NAME).read_bytes()
    assert before.startswith(b"{")
    assert ledger.read(out / ledger.NAME)[0].what == "vocabulary"  # counted in everybody's text
    runs.train(config, out, resume=True)
    assert (out / ledger.NAME).read_bytes() == before


def test_a_round_that_ends_without_finite_numbers_was_a_release(
    tmp_path: Path, corpus: Path, words: Path
) -> None:
    """That training diverged is known from the noised sum of the round."""
    settings = [*PRIVATE, f"text.words={words}", "training.rounds=3", "server.lr=3e38", "privacy.noise=1e6"]
    with pytest.raises(Diverged, match="round 1: training gave numbers that are not finite"):
        runs.train(configured(corpus, *settings), tmp_path / "run")
    assert rounds_in(tmp_path / "run") == [1]


def test_batches_of_a_private_run_do_not_depend_on_other_clients(
    tmp_path: Path, words: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One person's long messages change the rows of everybody's batches in a plain run, and in no private one."""
    used = []

    def federation(init: Any, loss: Any, algorithm: Algorithm, clients: Any, *given: Any) -> None:
        used.append(given[-1] or text_grid(clients, algorithm.client))

    monkeypatch.setattr(training, "text_federation", federation)
    for length in (1, 6):
        corpus = write_corpus(tmp_path / f"{length}.jsonl")
        rows = [json.loads(line) for line in corpus.read_text().splitlines()]
        for row in rows:
            row["text"] = " ".join([row["text"]] * (length if row["user"] == "u03" else 1))
        corpus.write_text("".join(json.dumps(row) + "\n" for row in rows))
        for settings in ([], PRIVATE):
            config = configured(corpus, *settings, f"text.words={words}")
            ready = prepare(config)
            assert "u03" in ready.clients.names
            training.make_trainer(config, language_model(config.model, len(ready.vocabulary)), ready)
    plain, private, plain_long, private_long = used
    assert plain != plain_long and private == private_long
    unbounded = configured(corpus, *PRIVATE, f"text.words={words}", "text.max_words=0")
    with pytest.raises(TacitError, match=r"set client\.batching = 'sentences'"):
        training.make_trainer(unbounded, language_model(config.model, 9), prepare(unbounded))


def test_a_private_run_resumes_over_as_many_clients_as_it_began_with(
    tmp_path: Path, words: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With another number its denominator would change, and who is in which group of a matrix."""
    stubbed(monkeypatch)
    text, out = write_corpus(tmp_path / "text.jsonl"), tmp_path / "run"
    settings = [*PRIVATE, f"text.words={words}", "training.rounds=2"]
    runs.train(configured(text, *settings), out)
    begun = runs.read_config(out).text.fingerprint
    clients = prepare(configured(text, *settings)).clients.names
    rows = [json.loads(line) for line in text.read_text().splitlines()]
    for row in rows:
        row["text"] = "\u00ad" if row["user"] == clients[0] else row["text"]  # holds no word
    text.write_text("".join(json.dumps(row) + "\n" for row in rows))
    longer = configured(text, *settings[:-1], "training.rounds=3")
    assert people_fingerprint(read(text)) == begun and len(prepare(longer).clients) == len(clients) - 1
    with pytest.raises(TacitError, match="began with 10 clients, and the text has 9 now"):
        runs.train(longer, out, resume=True)
    (out / "population.json").write_text("[]")
    with pytest.raises(TacitError, match="not the number of clients"):
        runs.train(longer, out, resume=True)


def test_a_budget_ends_training(
    tmp_path: Path, corpus: Path, words: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, out = stubbed(monkeypatch), tmp_path / "run"
    settings = [*PRIVATE, f"text.words={words}", "training.rounds=5", "training.evaluate_every=10"]
    settings += [f"privacy.plan={planned(tmp_path)}", "privacy.epsilon=3.5"]
    config = configured(corpus, *settings)
    summary = runs.train(config, out)
    assert made == [1, 2, 3]
    assert summary["epsilon"] == 3.0
    assert summary["epsilon_reason"] == "at δ = 1e-06, after 3 rounds of the plan"
    assert summary["best_round"] == 3
    assert summary["stopped"].startswith("after round 3")
    facts = dict(report.run_facts(runs.Run(out).summary, 1.0))
    assert facts["privacy"].startswith("ε = 3 (at δ")
    (tmp_path / "a-plan.json").unlink()  # the run has its own copy
    assert runs.train(config, out, resume=True)["epsilon"] == 3.0
    assert made == [1, 2, 3]


def test_a_repeated_round_is_spent(
    tmp_path: Path, corpus: Path, words: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, out = stubbed(monkeypatch), tmp_path / "run"
    settings = [*PRIVATE, f"text.words={words}", "training.rounds=5", "training.evaluate_every=5"]
    settings += [f"privacy.plan={planned(tmp_path)}", "privacy.epsilon=3"]
    save = directory.save

    def dying(path: Path, name: str, tree: Any, done: int, best: Best | None) -> None:
        if done == 3:
            raise KeyboardInterrupt
        save(path, name, tree, done, best)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(directory, "save", dying)
        runs.train(configured(corpus, *settings), out)
    assert rounds_in(out) == [1, 2, 3]
    summary = runs.train(configured(corpus, *settings), out, resume=True)
    assert made == [1, 2, 3]  # round 3 was lost, but released: nothing is left
    assert (summary["epsilon"], summary["best_round"]) == (3.0, 2)
    with pytest.raises(TacitError, match=r"epsilon = 0.5 allows no round"):
        runs.train(configured(corpus, *settings, "privacy.epsilon=0.5"), tmp_path / "none")
    for given, why in (
        ("text.words=", "everybody's text; give a list"),
        ("model.bias=counts", "output bias"),
    ):
        with pytest.raises(TacitError, match=rf"is a budget, and this run has no ε .*{why}"):
            runs.train(configured(corpus, *settings, given), tmp_path / "none")
    assert not (tmp_path / "none" / "config.toml").exists()


def test_epsilon_and_its_reasons(tmp_path: Path) -> None:
    words = ["text.words=words.txt", *PRIVATE]

    def why(*settings: str) -> str:
        value, reason = epsilon(resolve("fedavg", settings), None, tmp_path)
        assert value is None
        return reason

    assert why() == "no privacy mechanism was used"
    assert "β = 0.01" in why("aggregation.noise=0.01")
    assert "everybody's text" in why(*PRIVATE)
    assert "seed" in why(*words, "privacy.noise_source=seed")
    assert "bias" in why(*words, "model.bias=counts")
    assert "noise multiplier 1.5, 0 rounds" in why(*words)


BAD = {
    "privacy.noise=1": "privacy.noise would do nothing here: privacy.mechanism is 'none'",
    "privacy.clip=1": "privacy.clip would do nothing here",
    "privacy.mechanism=gaussian": "needs privacy.clip above 0",
    "privacy.mechanism=gaussian privacy.noise=1": "noise without clipping bounds nobody",
    "privacy.mechanism=gaussian privacy.clip=1": "needs noise",
    "privacy.mechanism=laplace": "not known",
    "privacy.clip=-1": "privacy.clip = -1.0 must be finite, at least 0",
    "privacy.noise=nan": "privacy.noise = nan must be finite, at least 0",
    "privacy.noise=inf": "privacy.noise = inf must be finite, at least 0",
    "privacy.epsilon=-3": "privacy.epsilon = -3.0 must be finite, at least 0",
    "privacy.epsilon=inf": "privacy.epsilon = inf must be finite",
    "privacy.delta=1": "privacy.delta = 1.0 must be between 0 and 0.5",
    "privacy.separation=-1": "privacy.separation = -1 must be at least 0",
    "OK privacy.delta=0": "privacy.delta above 0",
    "OK privacy.epsilon=3": "needs privacy.plan",
    "OK training.mode=central": "training.mode = 'central' has none",
    "OK aggregation.noise=0.1": "remove aggregation.noise",
    "OK aggregation.max_norm=2": "aggregation.max_norm = 2 would do nothing here",
    "OK sampling.scheme=II": "sampling.scheme = 'II' sets weights",
    "OK client.optimiser=adam client.carry=v": "needs privacy.second_clip above 0",
    "OK client.optimiser=adam client.carry=m,v privacy.second_clip=1": "needs privacy.moments_clip above 0",
    "OK client.optimiser=adam client.carry=v privacy.second_clip=1 privacy.moments_clip=1": "without 'm'",
    "OK privacy.moments_clip=1": "client.carry is 'none'",
    "OK privacy.separation=3": "needs privacy.mechanism = 'matrix'",
    "OK privacy.quantile=0.7": "needs privacy.adaptive = true",
    "OK privacy.max_weight=7": "needs privacy.weight = 'bounded'",
    "OK privacy.floor=0.7": "needs aggregation.rule = 'attentive-loss'",
    "OK privacy.mechanism=matrix": "needs privacy.separation",
    "OK privacy.mechanism=matrix privacy.separation=3": "needs the matrix",
    "OK privacy.mechanism=matrix privacy.separation=3 privacy.coefficients='1,0.5' privacy.adaptive=true": "remove one",
    "OK privacy.mechanism=matrix privacy.separation=3 privacy.coefficients='1,0.5' sampling.scheme=poisson": "poisson",
    "OK privacy.mechanism=matrix privacy.separation=3 privacy.coefficients='1,2' sampling.scheme=uniform": "not rise",
}


@pytest.mark.parametrize("given", BAD)
def test_bad_settings_are_one_line(given: str) -> None:
    private = [*PRIVATE[:3], "sampling.scheme=uniform"] if given.startswith("OK") else []
    with pytest.raises(TacitError) as error:
        resolve("fedavg", [*private, *given.removeprefix("OK").split()])
    assert BAD[given] in str(error.value)
    assert "\n" not in str(error.value)


def test_a_plan_decides_and_must_fit(tmp_path: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stubbed(monkeypatch)
    begin = ["privacy.mechanism=gaussian", "privacy.clip=1.0", "training.rounds=3"]

    def refused(why: str, *settings: str, **changes: Any) -> None:
        plan = planned(tmp_path, **changes)
        config = configured(corpus, *begin, "sampling.scheme=poisson", f"privacy.plan={plan}", *settings)
        with pytest.raises(TacitError, match=why) as error:
            runs.train(config, tmp_path / "refused")
        assert "\n" not in str(error.value)
        assert not (tmp_path / "refused").exists()

    refused("privacy.noise = 1.0, but the plan .* has 1.5", "privacy.noise=1.0")
    refused("is for sampling.scheme = 'poisson', not 'uniform'", "sampling.scheme=uniform")
    refused("is for privacy.mechanism = 'local'", mechanism="local")
    refused("is for 2 rounds", rounds=2, epsilons=[1.0, 2.0])
    refused("is for a share 0.001", rate=0.001)
    refused("not a privacy plan", noise_multiplier=-1.0)
    refused("not a privacy plan", epsilons=[2.0, 1.0, 3.0, 4.0, 5.0])
    refused("not a privacy plan", epsilons="x")
    config = configured(corpus, *begin, "sampling.scheme=poisson", f"privacy.plan={planned(tmp_path)}")
    runs.train(config, tmp_path / "run")
    assert runs.Run(tmp_path / "run").config.privacy.noise == 1.5
    assert (tmp_path / "run" / "plan.json").is_file()


def test_correlated_noise_cannot_take_more_rounds(
    tmp_path: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stubbed(monkeypatch)
    settings = ["privacy.mechanism=matrix", "privacy.clip=1.0", "privacy.noise=1", "privacy.separation=3"]
    config = configured(corpus, *settings, "privacy.coefficients='1,0.5'", "training.rounds=2")
    runs.train(config, tmp_path / "run")
    longer = dataclasses.replace(config, training=dataclasses.replace(config.training, rounds=3))
    with pytest.raises(TacitError, match="correlated over 2 rounds"):
        runs.train(longer, tmp_path / "run", resume=True)
    assert jax.tree.leaves(runs.load(tmp_path / "run").params)


def test_a_finished_run_keeps_no_correlated_noise(
    tmp_path: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever has the noise of the last rounds can subtract it from the models."""
    made, out = stubbed(monkeypatch), tmp_path / "run"
    plain = training.make_trainer

    def noisy(config: Config, model: Any, ready: Any) -> Trainer:
        init, step = plain(config, model, ready)

        def round_(state: ServerState, t: int) -> tuple[ServerState, dict[str, Any]]:
            moved, facts = step(state, t)
            return moved._replace(noise=jnp.full((2, 5), t + 1.0)), facts

        return Trainer(lambda key: init(key)._replace(noise=jnp.zeros((2, 5))), round_)

    def noise() -> list[float]:
        last = out / directory.LAST
        found = sorted(set(load_file(last)["noise"].ravel().tolist()))
        assert found == [0.0] or last.stat().st_mode & 0o077 == 0  # for its owner's eyes
        return found

    kept = list[list[float]]()
    monkeypatch.setattr(training, "make_trainer", noisy)
    settings = ["privacy.mechanism=matrix", "privacy.clip=1.0", "privacy.noise=1", "privacy.separation=3"]
    config = configured(corpus, *settings, "privacy.coefficients='1,0.5'", "training.rounds=3")
    runs.train(config, out, callbacks=(runs.Callback(round=lambda record: kept.append(noise())),))
    assert kept == [[1.0], [2.0], [0.0]]  # the next round needs it
    ended = lasting(out)
    runs.train(config, out, resume=True)
    assert lasting(out) == ended and made == [1, 2, 3]


def test_words_that_were_counted_on_clients_count(
    tmp_path: Path, corpus: Path, words: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list of words beside a ledger brings its releases along; a budget for rounds alone is refused then."""
    stubbed(monkeypatch)
    counted = tmp_path / "counted"
    counted.mkdir()
    (counted / "words.txt").write_bytes(words.read_bytes())
    ledger.append(counted / ledger.NAME, Release("counts", "laplace", noise_multiplier=0.5, clip=100.0))
    settings = [*PRIVATE, f"text.words={counted / 'words.txt'}", "training.rounds=2"]
    runs.train(configured(corpus, *settings), tmp_path / "run")
    entries = ledger.read(tmp_path / "run" / ledger.NAME)
    assert [(e.what, e.mechanism) for e in entries[:2]] == [("counts", "laplace"), ("round", "gaussian")]
    budget = ["privacy.epsilon=3", f"privacy.plan={planned(tmp_path)}"]
    with pytest.raises(TacitError, match=r"words of this run were counted on clients"):
        runs.train(configured(corpus, *settings, *budget), tmp_path / "refused")
    assert not (tmp_path / "refused").exists()
