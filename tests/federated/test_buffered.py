"""Training without rounds: against a plain loop over time that trains one client at a time in numpy."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import worlds

import reference
from tacit.base.errors import TacitError
from tacit.federated.aggregation import AggregationConfig
from tacit.federated.algorithm import Algorithm, Trainer
from tacit.federated.arrivals import BufferConfig, arrivals, at_once, duration, queue
from tacit.federated.buffered import buffered
from tacit.federated.client_config import ClientConfig
from tacit.federated.local import Cohort
from tacit.federated.rounds import federation
from tacit.federated.sampling import SamplingConfig, choose
from tacit.federated.server import ServerConfig
from tacit.runs.checkpoints import load_tree, save_tree
from tacit.runs.config import resolve

KEY = jax.random.key(0)
CLIENT = ClientConfig(batch=2, lr=0.4, epochs=2, schedule="linear")
SERVER = ServerConfig(lr=0.8, schedule="linear", settings={"momentum": 0.5})
EVERYBODY = SamplingConfig(fraction=1.0)
SEED, STEPS, PEOPLE = 9, 12, len(worlds.SIZES)


def identical(a: Any, b: Any) -> None:
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_array_equal(x, y)


def trainer_of(buffer: BufferConfig, sampling: SamplingConfig = EVERYBODY, uniform: bool = False) -> Trainer:
    rule = AggregationConfig(settings={"uniform": uniform})
    return buffered(
        lambda key: worlds.START,
        worlds.LOSS,
        Algorithm(CLIENT, rule, SERVER, sampling),
        buffer,
        lambda ids, v: worlds.labelled_cohort(CLIENT, ids, SEED, v),
        PEOPLE,
        SEED,
        STEPS,
    )


def one_at_a_time(buffer: BufferConfig, together: int, uniform: bool) -> tuple[list[Any], list[Any]]:
    """Returns the models after each step and the staleness of its updates, by a loop that keeps everything."""
    models, m = [reference.float64(worlds.START)], dict.fromkeys(worlds.START, 0.0)
    running: dict[int, tuple[float, int]] = {}  # client: (end, version)
    order = queue(EVERYBODY, together, PEOPLE, SEED, 0)
    now, said, got, ages = 0.0, [], [], []
    while len(models) <= STEPS:
        version = len(models) - 1
        for client in list(order):
            if len(running) < together and client not in running:
                running[client] = (now + duration(buffer, SEED, version, client), version)
                order.remove(client)
        client = min(running, key=lambda c: running[c][0])
        now, began = running.pop(client)
        if version - began > buffer.max_staleness:
            continue
        cohort = worlds.labelled_cohort(CLIENT, [client], SEED, began)
        lr = 0.4 * (1 - 0.99 * began / (STEPS - 1))
        end = reference.local_sgd(models[began], worlds.batches_of(cohort, 0), lr)
        a = 1.0 if uniform else float(worlds.SIZES[client])
        ages.append(version - began)
        got.append((a, (1 + version - began) ** -0.5, {k: end[k] - models[began][k] for k in end}))
        if len(got) == buffer.size:
            g = {k: -sum(a * s * d[k] for a, s, d in got) / sum(a for a, _, _ in got) for k in m}
            m = {k: 0.5 * m[k] + g[k] for k in m}
            rate = 0.8 * (1 - 0.99 * version / (STEPS - 1))
            models.append({k: models[-1][k] - rate * m[k] for k in m})
            order = queue(EVERYBODY, together, PEOPLE, SEED, version + 1)
            said.append(ages)
            got, ages = [], []
    return models, said


@pytest.mark.parametrize(
    ("buffer", "uniform"),
    [
        (BufferConfig(size=2, concurrency=4, time="lognormal", spread=1.0), False),
        (BufferConfig(size=2, concurrency=5, max_staleness=1, spread=1.5), True),
        (BufferConfig(size=1, concurrency=3, time="exponential"), False),
    ],
)
def test_one_client_at_a_time_gives_the_same_models(buffer: BufferConfig, uniform: bool) -> None:
    models, ages = one_at_a_time(buffer, buffer.concurrency, uniform)
    assert max(map(max, ages)) > 0  # or any synchronous round would do
    trainer = trainer_of(buffer, uniform=uniform)
    state = trainer.init(KEY)
    for t in range(STEPS):
        state, facts = trainer.round(state, t)
        for name, expected in models[t + 1].items():
            np.testing.assert_allclose(state.params[name], expected, rtol=1e-3, atol=5e-5)
        assert facts["staleness"] == pytest.approx(np.mean(ages[t]))
        assert facts["clients"] == buffer.size and facts["dropped"] == 0


def test_equal_times_and_a_buffer_for_all_are_synchronous_rounds() -> None:
    """The same clients, the same bits: a part of the people, so who is asked counts, too."""
    sampling = SamplingConfig(clients=3)

    def cohort_of(t: int) -> Cohort:
        return worlds.labelled_cohort(CLIENT, choose(sampling, worlds.SIZES, SEED, t).ids, SEED, t)

    algorithm = Algorithm(CLIENT, AggregationConfig(), SERVER, sampling)
    rounds = federation(lambda key: worlds.START, worlds.LOSS, algorithm, cohort_of, SEED, STEPS)
    buffer = trainer_of(BufferConfig(size=3, time="equal"), sampling)
    ours, theirs = buffer.init(KEY), rounds.init(KEY)
    for t in range(4):
        (ours, said), (theirs, expected) = buffer.round(ours, t), rounds.round(theirs, t)
        identical(ours.params, theirs.params)
        assert said["clock"] == t + 1 and expected.items() <= said.items()


def test_the_weight_of_an_old_update_by_hand() -> None:
    """Two clients at w = 8 with pulls to 0 and 4; the second is used two steps late, at weight 1/√3."""
    pulls = np.array([0.0, 4.0], np.float32)

    def cohort_of(ids: np.ndarray, v: int) -> Cohort:
        ones = np.ones(len(ids), np.float32)
        batch = np.broadcast_to(pulls[ids][:, None], (len(ids), 1))
        return Cohort(ids.astype(np.int32), batch, ones.astype(np.int32), ones, ones, ones > 0)

    def loss(params: Any, batch: Any, key: Any) -> Any:
        return 0.5 * jnp.square(params["w"] - batch), jnp.int32(1)

    buffer = BufferConfig(size=1, concurrency=2)
    seed = next(  # of a world in which client 0 answers twice before client 1 answers once
        s
        for s in itertools.count()
        if sum(duration(buffer, s, v, 0) for v in (0, 1)) < duration(buffer, s, 0, 1)
        and sum(duration(buffer, s, v, 0) for v in (0, 1, 2)) > duration(buffer, s, 0, 1)
    )
    algorithm = Algorithm(ClientConfig(lr=0.5), AggregationConfig(), ServerConfig(), EVERYBODY)
    trainer = buffered(lambda key: {"w": jnp.float32(8)}, loss, algorithm, buffer, cohort_of, 2, seed, 3)
    state, w = trainer.init(KEY), []
    for t in range(3):
        state, _ = trainer.round(state, t)
        w.append(float(state.params["w"]))
    assert w == pytest.approx([4.0, 2.0, 2.0 + (6.0 - 8.0) / np.sqrt(3)])


@pytest.mark.parametrize("after", [1, 5])
def test_a_resumed_run_ends_with_the_same_bytes(tmp_path: Path, after: int) -> None:
    buffer = BufferConfig(size=2, concurrency=4, spread=1.0, max_staleness=3)
    trainer = trainer_of(buffer)
    state, facts = trainer.init(KEY), {}
    shapes = jax.eval_shape(lambda: state)
    for t in range(8):
        if t == after:
            save_tree(tmp_path / "state", state, {})
        state, facts = trainer.round(state, t)
    again = trainer_of(buffer)
    later, _ = load_tree(tmp_path / "state", shapes)
    for t in range(after, 8):
        later, said = again.round(later, t)
    identical(state, later)
    assert said == facts


@pytest.mark.parametrize("time", ["half-normal", "lognormal", "exponential", "equal"])
def test_what_is_kept_is_bounded_and_enough(time: Any) -> None:
    buffer = BufferConfig(size=3, concurrency=7, time=time, spread=1.0, max_staleness=4)
    sampling, known, stale = SamplingConfig(), {0}, 0
    assert at_once(buffer, sampling, 20) == 7 and at_once(BufferConfig(), sampling, 20) == 2
    for t, step in enumerate(itertools.islice(arrivals(buffer, sampling, 20, SEED), 300)):
        ages = t - step.versions
        assert len(step.ids) == 3 and ages.min() >= 0 and ages.max() <= 4
        assert set(step.versions.tolist()) <= known  # the models that the state has
        assert len(step.kept) <= 4 and list(step.kept) == sorted(step.kept)
        assert set(step.kept) <= known
        known = {*step.kept, t + 1}
        stale += step.stale
    assert stale  # with devices of such different speed, some answers are too old


def test_nobody_begins_twice_with_the_same_version() -> None:
    asked = [
        (client, version)
        for step in itertools.islice(arrivals(BufferConfig(size=9), EVERYBODY, 5, SEED), 100)
        for client, version in zip(step.ids.tolist(), step.versions.tolist(), strict=True)
    ]
    assert len(asked) == len(set(asked)) == 500  # a buffer larger than the population takes all of it
    assert len(queue(EVERYBODY, 2, 5, SEED, 3)) == len(set(queue(EVERYBODY, 2, 5, SEED, 3))) == 5


def test_slow_devices_are_used_less() -> None:
    buffer = BufferConfig(size=5, concurrency=20, spread=1.0)
    used = np.zeros(100)
    for step in itertools.islice(arrivals(buffer, SamplingConfig(), 100, SEED), 600):
        used[step.ids] += 1
    time = np.array([np.mean([duration(buffer, SEED, v, c) for v in range(50)]) for c in range(100)])
    assert np.corrcoef(np.argsort(np.argsort(time)), used)[0, 1] < -0.5


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        (["privacy.mechanism=gaussian", "privacy.clip=1.0", "privacy.noise=1.0"], "no random sample"),
        (["aggregation.rule=median"], "aggregation.rule = 'median'"),
        (["aggregation.rule=attentive"], "aggregation.rule = 'attentive'"),
        (["sampling.scheme=poisson"], "sampling.scheme"),
        (["sampling.dropout=0.5"], "sampling.dropout"),
        (["training.mode=central"], "training.mode"),
        (["buffer.size=0"], "buffer.concurrency would do nothing"),
        (["buffer.time=weekly"], "buffer.time"),
    ],
)
def test_what_does_not_go_with_a_buffer_is_refused_in_one_line(keys: list[str], says: str) -> None:
    with pytest.raises(TacitError, match=says) as refused:
        resolve("fedbuff", keys)
    assert "\n" not in str(refused.value)


def test_models_that_do_not_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.base.memory.limit", lambda: 100)
    with pytest.raises(TacitError, match=r"buffer\.max_staleness"):
        trainer_of(BufferConfig(size=2))
