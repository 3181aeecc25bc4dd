"""Who can be asked, who is chosen and who drops out: frequencies against the stated probabilities, written out here."""

from __future__ import annotations

import dataclasses
import math

import jax
import numpy as np
import pytest
from worlds import even_sentences, sentences

from tacit.base.errors import TacitError
from tacit.federated import availability
from tacit.federated.aggregation import AggregationConfig
from tacit.federated.algorithm import Algorithm
from tacit.federated.availability import AvailabilityConfig, choices, devices
from tacit.federated.client_config import ClientConfig
from tacit.federated.objective import next_word_loss
from tacit.federated.sampling import SamplingConfig, choose
from tacit.federated.server import ServerConfig
from tacit.federated.text_cohorts import choosing, text_federation
from tacit.models import ModelConfig, language_model
from tacit.runs.config import resolve

N, ROUNDS = 200, 600
SIZES = np.arange(N) % 50 + 1
NIGHTS = AvailabilityConfig("nights", day=0.05, night=0.7, peak=2.0, zones=3, start=20.0, round_hours=0.5)


def within(counts: np.ndarray, trials: int, chance: np.ndarray) -> None:
    """Binomial counts are where their chances put them: six standard deviations, and on average."""
    deviation = np.sqrt(trials * chance * (1 - chance)) + 1e-9
    z = (counts - trials * chance) / deviation
    assert np.abs(z).max() < 6 and abs(z.mean()) < 6 / math.sqrt(len(z))


def test_clients_are_available_by_the_hour_of_their_zone():
    given = devices(NIGHTS, SamplingConfig(), SIZES, seed=1)
    assert np.bincount(given.zone, minlength=3).min() > N / 5 and given.zone.max() == 2
    for t in (0, 11, 12, 13, 36):  # 20:00 in the first zone, 1:30, 2:00, 2:30, 14:00
        clock = 20 + int(t * 0.5)
        expected = [
            0.05 + 0.65 * math.cos(math.pi * (clock + z - 2) / 24) ** 2 for z in given.zone
        ]  # cos²(x/2) = (1 + cos x) / 2
        days = [availability.available(NIGHTS, given, 1, t + 48 * day) for day in range(ROUNDS)]
        within(np.sum(days, axis=0), ROUNDS, np.array(expected))


def test_a_coin_is_tossed_once_an_hour():
    given = devices(NIGHTS, SamplingConfig(), SIZES, seed=1)
    first, same, later = (availability.available(NIGHTS, given, 1, t) for t in (0, 1, 2))
    assert (first == same).all() and (first != later).any()


def test_a_round_takes_from_those_available_only_and_evenly():
    config = dataclasses.replace(NIGHTS, round_hours=1.0)
    sampling = SamplingConfig(clients=20)
    given = devices(config, sampling, SIZES, seed=1)
    choice = choices(config, sampling, SIZES, given, seed=1)
    expected, counts = np.zeros(N), np.zeros(N)
    for t in range(ROUNDS):
        ready = availability.available(config, given, 1, t)
        made = choice(t)
        assert ready[made.chosen.ids].all() and made.available == ready.sum()
        assert len(made.chosen.ids) == min(20, ready.sum())
        assert (made.chosen.weight == SIZES[made.chosen.ids]).all()
        expected += ready * min(1, 20 / ready.sum())
        counts[made.chosen.ids] += 1
    assert np.abs(counts - expected).max() < 6 * math.sqrt(expected.max())
    assert counts.sum() == pytest.approx(expected.sum())


@pytest.mark.parametrize("spread", [0.3, -0.3])
def test_drop_outs_depend_on_what_a_client_holds(spread: float):
    config = AvailabilityConfig("nights", day=1.0, night=1.0, by="examples", dropout_spread=spread)
    sampling = SamplingConfig(fraction=1.0, dropout=0.4)
    held = np.random.default_rng(0).permutation(N) + 5
    choice = choices(config, sampling, held, devices(config, sampling, held, seed=2), seed=2)
    reports = sum(choice(t).chosen.present.astype(int) for t in range(ROUNDS))
    within(np.asarray(reports), ROUNDS, 1 - (0.4 + spread * (2 * (held - 5) / (N - 1) - 1)))


def test_excluded_devices_are_those_that_hold_least():
    config = AvailabilityConfig("nights", day=1.0, night=1.0, by="examples", excluded=0.25)
    held = np.random.default_rng(0).permutation(N)
    choice = choices(
        config, SamplingConfig(fraction=1.0), held + 1, devices(config, SamplingConfig(), held, 3), 3
    )
    assert set(choice(0).chosen.ids.tolist()) == set(np.flatnonzero(held >= N / 4).tolist())


def test_a_client_that_has_reported_rests_for_the_period():
    config = AvailabilityConfig("nights", day=0.9, night=0.9, round_hours=2.0, period=7.0)
    sampling = SamplingConfig(clients=20, dropout=0.3)
    given = devices(config, sampling, SIZES, seed=4)
    choice = choices(config, sampling, SIZES, given, seed=4)
    last = np.full(N, -math.inf)
    close = 0
    for t in range(60):
        made = choice(t).chosen
        assert (2.0 * t - last[made.ids]).min() >= 7.0
        close += int((2.0 * t - last[made.ids]).min() == 8.0)
        last[made.ids[made.present]] = 2.0 * t
    assert close > 5  # no longer than the period
    later = choices(config, sampling, SIZES, given, seed=4)(59).chosen  # as a resumed run asks
    assert (later.ids == made.ids).all() and (later.present == made.present).all()


def test_off_it_is_the_choice_of_before():
    sampling = SamplingConfig(clients=7, dropout=0.2)
    people = sentences(0, 30, 12)
    choice = choosing(people, _algorithm(AvailabilityConfig(), sampling), 5)
    for t in range(5):
        ours, theirs = choice(t).chosen, choose(sampling, people.sizes, 5, t)
        assert all((a == b).all() for a, b in zip(ours, theirs, strict=True))


def test_length_ranks_by_the_mean_of_a_client_s_messages():
    people = sentences(0, 30, 12)
    config = AvailabilityConfig("nights", day=1.0, night=1.0, by="length", excluded=0.5)
    chosen = choosing(people, _algorithm(config, SamplingConfig(fraction=1.0)), 5)(0).chosen
    means = np.array([people.gather(np.array([k])).lengths.mean() for k in range(30)])
    assert len(chosen.ids) == 15
    assert means[chosen.ids].min() >= np.delete(means, chosen.ids).max()


def _algorithm(config: AvailabilityConfig, sampling: SamplingConfig) -> Algorithm:
    client = ClientConfig(lr=0.5, batch=2)
    return Algorithm(client, AggregationConfig(), ServerConfig(), sampling, availability=config)


def test_a_run_trains_on_those_who_report():
    """The plain loop gives the same; a round in which nobody is there changes nothing."""
    people = even_sentences(1, 12, 12)
    model = language_model(ModelConfig(embedding=8, hidden=8), 12)
    config = AvailabilityConfig("nights", day=0.0, night=1.0, peak=3.0, round_hours=12.0, start=15.0)
    algorithm = _algorithm(config, SamplingConfig(clients=6, dropout=0.3))

    def rounds(executor):
        loss = next_word_loss(model)
        trainer = text_federation(jax.jit(model.init), loss, algorithm, people, 1, 2, executor)
        states, facts = [trainer.init(jax.random.key(0))], []
        for t in range(2):
            state, said = trainer.round(states[-1], t)
            states.append(state)
            facts.append(said)
        return states, facts

    states, facts = rounds("map")
    assert facts[0]["available"] == facts[0]["asked"] == facts[0]["clients"] == 0  # 15:00: the chance is 0
    assert all((a == b).all() for a, b in zip(*map(jax.tree.leaves, states[:2]), strict=True))
    assert (facts[1]["available"], facts[1]["asked"]) == (12, 6)  # 3:00: it is 1
    assert 0 < facts[1]["clients"] == 6 - facts[1]["dropped"] < 6
    slowly, said = rounds("slow")
    assert said[1]["clients"] == facts[1]["clients"]
    for a, b in zip(*map(jax.tree.leaves, (slowly[2].params, states[2].params)), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        (
            ["sampling.scheme=poisson"],
            "sampling.scheme = 'poisson' draws every client with the same probability",
        ),
        (["sampling.scheme=II"], "sampling.scheme = 'II' sets weights for a draw from everybody"),
        (["availability.period=5", "availability.round_hours=0"], "needs availability.round_hours above 0"),
        (["training.mode=central"], "availability.model would do nothing here"),
        (["availability.model=always", "availability.day=0.2"], "availability.day would do nothing here"),
        (["availability.by=words"], "availability.by = 'words' is not known"),
        (["availability.zones=0"], "availability.zones = 0 must be between 1 and 24"),
        (["availability.day=much"], "availability.day = 'much' must be a number"),
        (
            ["privacy.mechanism=matrix", "privacy.clip=1", "privacy.noise=1", "privacy.separation=4"],
            "'matrix' deals clients into groups",
        ),
        (
            ["privacy.mechanism=gaussian", "privacy.clip=1", "privacy.noise=1", "availability.by=examples"],
            "availability.by = 'examples' ranks clients by their text",
        ),
    ],
)
def test_what_cannot_work_is_refused_in_a_line(keys: list[str], line: str):
    with pytest.raises(TacitError) as refused:
        resolve("fedavg", ["availability.model=nights", *keys])
    assert line in str(refused.value) and "\n" not in str(refused.value)
