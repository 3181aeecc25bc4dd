"""The model of a finished run on clients: scores and personalisations are the simulator's for the same people."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_exchange import SMALL, Direct, Recorded

from commands import Commands, tree
from tacit import runs
from tacit.base.errors import TacitError
from tacit.network import federation, finished, training
from tacit.network.office import Office, Terms
from tacit.network.person import Device, person_text
from tacit.network.tasks import personalize
from tacit.network.tasks.personalize import Job, network_reports
from tacit.network.training import networked
from tacit.network.work import Parcel, Refusal
from tacit.personal import gate, private, sums, trial
from tacit.personal.job import PersonalOptions
from tacit.personal.split import split
from tacit.personal.strategies import Strategy
from tacit.privacy import ledger
from tacit.runs.config import resolve
from tacit.scoring.scores import overall
from tacit.text.corpus import from_messages
from tacit.text.encode import everybody, of_people, packed
from tacit.text.packed import join
from tacit.text.typists import Typists, TypistsConfig

MESSAGES = (40, 30, 4)  # the third has too little text to personalise
OPTIONS = PersonalOptions(batches=(4,), rates=(0.5,), margin=0.0, keep=0)
TUNING = trial.Tuning(max_words=30, batching="sentences")


@pytest.fixture(scope="module")
def devices() -> list[Device]:
    typists = Typists(TypistsConfig(users=len(MESSAGES), messages=40))
    people = [[message.text for message in typists.messages(k)][-n:] for k, n in enumerate(MESSAGES)]
    return [Device(from_messages(f"p{k}", {"me": texts})) for k, texts in enumerate(people)]


@pytest.fixture(scope="module")
def run(devices: list[Device], tmp_path_factory: pytest.TempPathFactory) -> runs.Run:
    """A run of one round, made with these clients, over a list of words."""
    here = tmp_path_factory.mktemp("finished")
    words = ("i", "the", ".", "to", "?", "my", "you", "a", "was", "at", "!", "is", "and", "for", "me", "we")
    (here / "words.txt").write_text("\n".join(words) + "\n", "utf-8")
    keys = [*SMALL, f"text.words={here / 'words.txt'}", "text.vocabulary=0", "training.rounds=1", "seed=3"]
    config = networked(resolve("fedavg", [*keys, "client.lr=1.0", "sampling.fraction=1.0"]))
    training.train(config, here / "run", Direct(devices[1:2]), lambda: 1, Terms())
    return runs.load(here / "run")


def test_scores_are_those_of_the_pooled_text(run: runs.Run, devices: list[Device]) -> None:
    found = finished.evaluate(run.path, Direct(devices), lambda: 7, Terms())
    config = finished.config_of(run)
    texts = [everybody(device.messages, True) for device in devices]
    pooled = join([person_text(text, config, run.vocabulary).held_out for text in texts])
    expected = overall(run.score(pooled))
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    assert found["clients"] == 7 and found["refused"] == {}
    assert found["epsilon"] is None and "without noise" in found["epsilon_reason"]
    assert found["people"] == int(np.count_nonzero(pooled.sizes)) == 2  # a tenth of four messages is none


@pytest.fixture(scope="module")
def simulated(run: runs.Run, devices: list[Device]) -> tuple[trial.Trial, dict[str, int]]:
    """The same people in one place, ready to be personalised by the simulator."""
    texts = [everybody(device.messages, True) for device in devices]
    people = [packed(text, of_people(text, np.zeros(1, np.int64), 1000), run.vocabulary) for text in texts]
    users = split(join(people))
    assert users.ids.tolist() == [0, 1]
    tuning = dataclasses.replace(TUNING, seed=3)
    return trial.prepare(run.model, run.params, users, tuning), users.left_out


@pytest.fixture(scope="module")
def done(run: runs.Run, devices: list[Device]) -> tuple[Path, dict[str, np.ndarray], dict[int, Parcel]]:
    """What `tacit federation personalize` does, and what the clients said to the grid."""
    kept: dict[int, Parcel] = {}
    out, courier = run.path / "people", Direct(devices, lambda n, a: (kept.setdefault(n, a), a)[1])
    result = finished.personalize(run.path, out, OPTIONS, courier, lambda: len(devices), Terms())
    return out, result.totals, dict(sorted(kept.items()))


def test_sums_are_those_of_the_simulator(
    simulated: tuple[trial.Trial, dict[str, int]], done: tuple[Path, dict[str, np.ndarray], Any]
) -> None:
    ready, left_out = simulated
    _, tables, _ = done
    (strategy,) = [Strategy(4, (0.5,))]
    expected = sums.total(trial.evaluate(ready, [strategy])[strategy], 3)
    losses = [sums.FIGURES.index(name) for name in ("nll_before", "nll_after")]
    for name, table in expected._asdict().items():
        found = tables[f"{strategy.name}/{name}"]
        if name != "bins":  # log-likelihoods are sums of float32, in batches of another shape
            np.testing.assert_allclose(found[..., losses], table[..., losses], rtol=1e-4)
            found, table = (np.delete(one, losses, axis=-1) for one in (found, table))
        assert (found == table).all() and table.any(), name
    margins = sorted(gate.MARGINS)
    passed = gate.total(*trial.look(ready, [strategy])[strategy], margins, 3)
    assert (tables["gate chosen by half 0"] == passed).all()
    assert left_out["fewer than 10 messages"] == 1


def test_the_directory_is_that_of_tacit_personalize(run: runs.Run, done: tuple[Path, Any, Any]) -> None:
    out = done[0]
    summary = json.loads((out / "summary.json").read_text("utf-8"))
    assert summary["users"] == 2 and summary["left_out_why"]["fewer than 10 messages"] == 1
    assert summary["base"] == runs.digest(run.path) and summary["epsilon"] is None
    assert ledger.read(out / ledger.NAME) == [private.PLAIN]
    assert "clients of the federation" in (out / "report.html").read_text("utf-8")
    assert not list((out / "models").iterdir())


def _first(table: np.ndarray, value: int, at: int) -> np.ndarray:
    """The table with another figure where there are people."""
    changed = table.copy()
    changed[..., at][table[..., 0] > 0] = value
    return changed


DAMAGES: dict[str, Any] = {
    "two people": lambda a: {**a, "bins": 2 * a["bins"]},
    "nobody": lambda a: {**a, "bins": 0 * a["bins"]},
    "negative": lambda a: {**a, "by_tokens": -a["by_tokens"]},
    "too accurate": lambda a: {**a, "by_baseline": _first(a["by_baseline"], 2**20 + 1, 1)},
    "left out, too": lambda a: {**a, "left out": np.array([1, 0, 0, 0])},
    "two rows": lambda a: {**a, "by_tokens": np.maximum(a["by_tokens"], a["by_tokens"][:, ::-1])},
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_report_that_is_not_one_persons_is_refused(
    run: runs.Run, done: tuple[Path, Any, dict[int, Parcel]], name: str
) -> None:
    answers = done[2]

    def spoil(number: int, answer: Parcel) -> Parcel:
        return answer._replace(arrays=DAMAGES[name](answer.arrays)) if number == 0 else answer

    office = Office(Recorded(answers, spoil), finished.config_of(run), run.vocabulary, 3, Terms(), Counter())
    job = Job((Strategy(4, (0.5,)),), TUNING, (), False)
    found = network_reports(office, run.params, job)
    assert office.refused == {"report": 1} and found.left_out["fewer than 10 messages"] == 1
    assert (found.tables["by_tokens"] == answers[1].arrays["by_tokens"]).all()


def test_a_client_refuses_strategies_that_are_none() -> None:
    good = Job((Strategy(4, (0.5,)),), TUNING, (0.0, 0.1), False)
    assert personalize.read_job(good.text()) == good
    for change in (
        {"strategies": ()},
        {"strategies": (Strategy(0, (0.5,)),)},
        {"strategies": (Strategy(4, (float("nan"),)),)},
        {"strategies": (Strategy(4, (0.5, 0.5)),)},
        {"strategies": (Strategy(4, (0.5,), "half"),)},
        {"margins": (0.1, 0.0)},
        {"margins": (2.0,)},
        {"tuning": trial.Tuning(batching="words")},
        {"tuning": dataclasses.replace(TUNING, epochs=10**9)},
        {"bounded": 1},
    ):
        with pytest.raises(Refusal, match="strategies"):
            personalize.read_job(good._replace(**change).text())  # type: ignore[arg-type]
    for text in ("", "[]", "{}", "null", '{"strategies": 3}', "[" * 10_000):
        with pytest.raises(Refusal, match="strategies"):
            personalize.read_job(text)


def test_bad_runs_are_one_line(run: runs.Run, tmp_path: Path) -> None:
    with pytest.raises(TacitError, match="not a run directory"):
        finished.checked_run(tmp_path)
    with pytest.raises(TacitError, match="no client scored"):
        finished.evaluate(run.path, Direct([]), lambda: 3, Terms(deadline=0))
    with pytest.raises(TacitError, match=r"none of .* has enough text"):
        finished.personalize(run.path, tmp_path / "out", OPTIONS, Direct([]), lambda: 3, Terms(deadline=0))
    assert not (tmp_path / "out").exists()


def test_bad_input_of_the_commands_is_one_line(
    run: runs.Run, tmp_path: Path, tacit: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("flwr")
    home, out, empty = tmp_path / "home", ("--out", tmp_path / "out"), tmp_path / "words.txt"
    federation.init(home)
    empty.write_text("# nothing\n", "utf-8")
    monkeypatch.setattr("tacit.network.orders.is_locked", lambda place: True)  # as if it were served
    before = tree(home)
    count = ("federation", "count", home, *out)
    tacit(*count, "--whitelist", empty).refused("words.txt", "whitelist is empty")
    tacit(*count, "--whitelist", tmp_path / "no.txt").refused("no.txt", "cannot read")
    tacit(*count, "--lambda", "0").refused("--lambda 0")
    tacit(*count, "--lambda", "inf", "--epsilon", "1").refused("exactly one --lambda, and a finite one")
    tacit(*count, "--delta", "1e-6").refused("--epsilon")
    for command in (("evaluate", home), ("personalize", home, *out)):
        tacit("federation", *command, tmp_path / "no").refused("not a run directory")
    tacit("federation", "personalize", home, run.path, *out, "--lr", "fast").refused("--lr")
    with monkeypatch.context() as patch:
        patch.setattr(runs.Run, "spelling", property(lambda self: "pieces"))
        for command in (("evaluate", home), ("personalize", home, *out)):
            tacit("federation", *command, run.path).refused("is over word-pieces")
    monkeypatch.undo()
    for command in (("evaluate", home, run.path), ("personalize", home, run.path, *out), count[1:]):
        tacit("federation", *command).refused("is not running", "tacit federation server")
    assert tree(home) == before and not (tmp_path / "out").exists()
