"""Private rounds: what clients send against the slow judge, what the server makes of it against numpy."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import worlds

from tacit.base.errors import TacitError
from tacit.federated import text_cohorts
from tacit.federated.aggregation import Aggregation, AggregationConfig, Peaked, aggregation
from tacit.federated.algorithm import Algorithm
from tacit.federated.client_config import ClientConfig
from tacit.federated.client_optimisers import carried_kinds, first_moments
from tacit.federated.executors import cohort_training
from tacit.federated.lanes import Plan, lay_out
from tacit.federated.local import Broadcast, Sending
from tacit.federated.objective import next_word_loss
from tacit.federated.plugins import register_rule
from tacit.federated.private import Parts, Private, noised_release
from tacit.federated.private_rounds import private_server_step
from tacit.federated.sampling import SamplingConfig, check_separation, choose
from tacit.federated.server import ServerConfig
from tacit.federated.slow import slow_training
from tacit.federated.text_cohorts import text_federation
from tacit.models import ModelConfig, language_model
from tacit.privacy.bounds import Bounds
from tacit.privacy.config import PrivacyConfig
from tacit.privacy.strategy import read_strategy
from tacit.text.packed import pack

KEY = jax.random.key(3)
RULES = {
    "mean": AggregationConfig(),
    "attentive": AggregationConfig("attentive", settings={"bound": 0.4}),
    "spectral": AggregationConfig("attentive", settings={"distance": "spectral"}),
    "exact": AggregationConfig("attentive-loss"),
    "printed": AggregationConfig("attentive-loss", settings={"form": "as-printed"}),
}
ADAM = ClientConfig(batch=2, lr=0.1, epochs=2, optimiser="adam", carry="m,v")
KINDS = carried_kinds(ADAM, worlds.START)
CLIP, M = 0.6, 4.0


def everything() -> Aggregation:
    """One rule that says what every rule says in a private round, so that one program tests them all."""
    rules = {name: aggregation(config) for name, config in RULES.items() if name != "spectral"}

    def private(terms):
        forms = {name: rule.private(terms) for name, rule in rules.items()}
        return Aggregation(
            lambda params, update, weight: {n: f.message(params, update, weight) for n, f in forms.items()},
            lambda params, message: {n: f.combine(params, message[n]) for n, f in forms.items()},
            bounds=lambda params, clip: Bounds({n: f.bounds(params, clip).norms for n, f in forms.items()}),
        )

    return Aggregation(lambda *_: (), lambda *_: (), private=private)


def settings(**options) -> PrivacyConfig:
    usual = {"mechanism": "gaussian", "clip": CLIP, "noise": 1e-9}
    return PrivacyConfig(**{**usual, **options})


def test_fast_executors_send_what_the_judge_sends():
    config = settings(
        adaptive=True, weight="bounded", max_weight=5.0, moments_steps=3, moments_clip=0.02, second_clip=1e-3
    )
    private = Private(config, M, KINDS)
    sent = Broadcast(worlds.START, first_moments(ADAM, worlds.START), jnp.float32(1.2))
    cohort = worlds.labelled_cohort(ADAM, present=[True, True, False, True, True])
    cohort.batches.x[3] = np.nan  # sends nothing
    slow = slow_training(worlds.LOSS, ADAM, Sending(everything(), private=private))
    judged, _, report = slow(sent, cohort, jnp.float32(ADAM.lr), KEY)
    # who sends zeros has reported: what the others' sum is divided by, and whether it is opened, must not tell
    assert int(report.clients) == 4 and int(report.refused) == 0
    assert abs(float(judged.unclipped)) == 0.5  # of three, some were clipped and some not
    for executor, plan in (("map", Plan(1, 0)), ("vmap", Plan(2, 3))):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(jax, "local_devices", lambda: jax.devices()[:1])
            fast = cohort_training(worlds.LOSS, ADAM, Sending(everything(), private=private), executor)
            found, _, report = fast(sent, lay_out(cohort, plan), jnp.float32(ADAM.lr), KEY)
        assert int(report.clients) == 4 and np.isfinite([float(x) for x in report]).all()
        assert jax.tree.structure(found) == jax.tree.structure(judged)
        for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(judged), strict=True):
            np.testing.assert_allclose(a, b, rtol=3e-4, atol=3e-5, err_msg=executor)


def updates() -> list[dict]:
    draw = np.random.default_rng(2)
    sizes = [0.0, 0.05, 0.3, 2.0, 9.0]
    return [{k: size * draw.normal(size=v.shape) for k, v in worlds.START.items()} for size in sizes]


def vector(tree) -> np.ndarray:
    return np.concatenate([np.ravel(np.asarray(x, np.float64)) for x in jax.tree.leaves(tree)])


def gradient(name: str) -> np.ndarray:
    """The pseudo-gradient without noise: the formulas of docs/privacy.md in numpy, client after client."""
    theta, m, clients = vector(worlds.START), M, updates()
    n = len(theta)
    cut = [vector(d) * min(1, CLIP / max(np.linalg.norm(vector(d)), 1e-30)) for d in clients]
    if name == "mean":
        return -sum(cut) / m
    if name in ("exact", "printed"):
        d0 = 0.5 * CLIP
        near = [1 / max(np.linalg.norm(d), d0) ** 2 for d in cut]
        if name == "printed":
            return (m * theta + sum(cut)) / n**0.5 - 2 * sum(near) * sum(cut)
        u = [np.exp(theta @ d / n**0.5 - np.linalg.norm(theta) * CLIP / n**0.5) for d in cut]
        attended = sum(a * d for a, d in zip(u, cut, strict=True)) / sum(u)
        return (sum(cut) - m * attended) / n**0.5 - sum(q * d for q, d in zip(near, cut, strict=True))
    limit = 0.4 if name == "attentive" else min(CLIP, 8)
    means = []
    for layer in (slice(0, 3), slice(3, 12)):  # bias, weight
        deltas = [d[layer] * min(1, limit / max(np.linalg.norm(d[layer]), 1e-30)) for d in cut]
        spectral = name == "spectral" and layer.start == 3
        s = [np.linalg.norm(d.reshape(3, 3), 2) if spectral else np.linalg.norm(d) for d in deltas]
        u = np.exp(np.array(s) - limit)
        means.append(-sum(a * d for a, d in zip(u, deltas, strict=True)) / u.sum())
    return np.concatenate(means)


def summed(rule, private: Private, clip: float, changes=((), ())) -> Parts:
    """The sum of what the clients of `updates` send."""
    from tacit.federated.private import client_parts

    def one(update):
        moments = changes if private.kinds else ((), ())
        return client_parts(
            rule, private, worlds.START, jnp.float32(clip), update, jnp.float32(3), jnp.int32(2), moments
        )

    stacked = jax.tree.map(lambda *x: jnp.stack(x), *[jax.tree.map(jnp.float32, u) for u in updates()])
    return jax.tree.map(lambda x: x.sum(0), jax.jit(jax.vmap(one))(stacked))


@pytest.mark.parametrize("name", RULES)
def test_without_noise_a_round_is_the_formula(name):
    rule, private = aggregation(RULES[name]), Private(settings(), M)
    total = summed(rule, private, CLIP)
    white = jnp.zeros(sum(x.size for x in jax.tree.leaves(total)))
    g, kept = jax.jit(noised_release(rule, private))(
        worlds.START, (), jnp.float32(CLIP), (), total, jnp.int32(5), white
    )
    np.testing.assert_allclose(vector(g), gradient(name), rtol=2e-4, atol=2e-5)
    assert float(kept.clip) == np.float32(CLIP)


def test_noise_clip_and_moments():
    """All extras at once: the scale of each part's noise, the next clip, moments that stay ≥ 0."""
    z, kinds = 0.7, ("m", "v", "count")
    clips = {"moments_clip": 0.1, "second_clip": 0.003}
    private = Private(settings(noise=z, adaptive=True, moments_steps=3, **clips), 50.0, kinds)
    rule = aggregation(RULES["mean"])
    before = [jnp.zeros(2), jnp.full(2, 1e-3), jnp.float32(5)]
    after = [jnp.full(2, 1.0), jnp.zeros(2), jnp.float32(9)]
    total = summed(rule, private, CLIP, (before, after))
    count = sum(x.size for x in jax.tree.leaves(total))
    release = jax.jit(noised_release(rule, private))

    def end(white):
        return release(
            worlds.START, before, jnp.float32(CLIP), (), total, jnp.int32(5), jnp.full(count, white)
        )

    (g0, kept0), (g1, kept1) = end(0.0), end(1.0)
    indicator = (10 * z / 50) ** 2
    rest = 1 - 0.2 - 0.01 - min(0.1, indicator)
    np.testing.assert_allclose(vector(g0) - vector(g1), z * CLIP / rest**0.5 / 50, rtol=1e-3)
    # each of five changes of m is clipped to 0.1, of v (which is 0.001·√2) not at all
    change = 5 * 0.1 / np.sqrt(2)
    np.testing.assert_allclose(kept0.carried[0], change / 50, rtol=1e-3)
    np.testing.assert_allclose(kept1.carried[0], change / 50 + z * 0.1 / 0.1**0.5 / 50, rtol=1e-3)
    noise = z * 0.003 / 0.1**0.5 / 50
    np.testing.assert_allclose(kept0.carried[1], 1e-3 - 5 * 1e-3 / 50, rtol=1e-3)
    np.testing.assert_allclose(kept1.carried[1] - kept0.carried[1], noise, rtol=1e-2)
    np.testing.assert_allclose(end(-1e3)[1].carried[1], noise, rtol=1e-3)  # never below its noise
    np.testing.assert_allclose(kept0.carried[2], 5 + 5 * 3 / 50, rtol=1e-5)  # four steps count as three
    inside = sum(np.linalg.norm(vector(u)) <= CLIP for u in updates())
    share = (inside - 2.5) / 50 + 0.5
    np.testing.assert_allclose(float(kept0.clip), CLIP * np.exp(-0.2 * (share - 0.5)), rtol=1e-5)
    share += z * 0.5 / min(0.1, indicator) ** 0.5 / 50
    np.testing.assert_allclose(float(kept1.clip), CLIP * np.exp(-0.2 * (share - 0.5)), rtol=1e-5)


def test_local_noise_grows_with_those_who_report():
    rule, private = aggregation(RULES["mean"]), Private(settings(mechanism="local", noise=2.0), M)
    total = summed(rule, private, CLIP)
    release, white = jax.jit(noised_release(rule, private)), jnp.ones(12)
    plain = vector(release(worlds.START, (), jnp.float32(CLIP), (), total, jnp.int32(9), 0 * white)[0])
    for reported in (0, 9):
        g, _ = release(worlds.START, (), jnp.float32(CLIP), (), total, jnp.int32(reported), white)
        np.testing.assert_allclose(plain - vector(g), 2 * CLIP * reported**0.5 / M, atol=1e-5)


def test_too_little_mass_makes_no_step():
    rule, private = aggregation(RULES["attentive"]), Private(settings(), 1000.0)
    total = summed(rule, private, CLIP)  # five clients where a thousand are expected
    g, _ = jax.jit(noised_release(rule, private))(
        worlds.START, (), jnp.float32(CLIP), (), total, jnp.int32(5), jnp.zeros(14)
    )
    assert not np.any(vector(g))


@pytest.mark.parametrize("seed", [4, bytes(range(32))])
def test_poisson_samples(seed):
    config = SamplingConfig(clients=30, scheme="poisson")
    chosen = [choose(config, np.arange(1, 201), seed, t) for t in range(2000)]
    sizes = np.array([len(c.ids) for c in chosen])
    q = 30 / 200
    assert abs(sizes.mean() - 30) < 4 * np.sqrt(200 * q * (1 - q) / 2000)
    assert abs(sizes.var() / (200 * q * (1 - q)) - 1) < 0.13  # four standard errors
    often = np.bincount(np.concatenate([c.ids for c in chosen]), minlength=200) / 2000
    assert np.all(np.abs(often - q) < 0.04)
    np.testing.assert_array_equal(chosen[0].weight, chosen[0].ids + 1)
    away = [choose(replace(config, dropout=0.25), np.ones(200), seed, t).present for t in range(2000)]
    assert abs(np.concatenate(away).mean() - 0.75) < 0.01


def test_a_secret_key_tosses_by_shake():
    """Number by number, as a second implementation would write it."""
    key, population = bytes(range(32)), 50
    use = int.from_bytes(hashlib.sha256(b"choose clients").digest()[:8], "little")
    data = hashlib.shake_256(key + use.to_bytes(8, "little") + (3).to_bytes(8, "little")).digest(400)
    tosses = [int.from_bytes(data[8 * k : 8 * k + 8], "little") >> 11 for k in range(population)]
    found = choose(SamplingConfig(clients=10, scheme="poisson"), np.ones(population), key, 3).ids
    assert found.tolist() == [k for k, toss in enumerate(tosses) if toss < 2**53 * 10 / 50]


def test_separated_cohorts():
    config, seen = SamplingConfig(clients=6), {}
    for t in range(40):
        ids = choose(config, np.ones(50), 1, t, separation=8).ids
        assert len(set(ids.tolist())) == 6
        for who in ids.tolist():
            assert t - seen.get(who, -8) >= 8
            seen[who] = t
    assert len(seen) > 45  # nobody is left out for good: groups have 6 or 7 people
    check_separation(SamplingConfig(clients=5), 50, 10)
    with pytest.raises(TacitError, match=r"separation = 10 .* needs a population of 60, and there are 50"):
        check_separation(config, 50, 10)


VOCABULARY = 9
LM = language_model(ModelConfig(embedding=3, hidden=3), VOCABULARY)


def trainer(privacy: PrivacyConfig, rule: str = "mean", **sampling):
    algorithm = Algorithm(
        ClientConfig(batch=2, lr=0.1),
        AggregationConfig(rule),
        ServerConfig(),
        SamplingConfig(**{"clients": 4, **sampling}),
        privacy,
    )
    people = worlds.even_sentences(0, 40, VOCABULARY)
    return text_federation(LM.init, next_word_loss(LM), algorithm, people, 5, 6)


def test_an_empty_cohort_releases_noise():
    train = trainer(settings(noise=1.0, noise_source="seed"), clients=1, scheme="poisson")
    t = next(
        t
        for t in range(50)
        if not len(choose(SamplingConfig(clients=1, scheme="poisson"), np.ones(40), 5, t).ids)
    )
    state = train.init(KEY)
    moved, facts = train.round(state, t)
    noise = vector(moved.params) - vector(state.params)
    assert 0.4 * CLIP < noise.std() < 1.6 * CLIP
    assert set(facts) == {"lr", "release"}  # what clients report is not there
    entry = facts["release"]
    assert (entry.sampling, entry.rate, entry.denominator) == ("poisson", 1 / 40, 1)
    assert "seed" in entry.reason
    again, _ = train.round(state, t)
    np.testing.assert_array_equal(vector(again.params), vector(moved.params))


def test_the_state_of_correlated_noise_travels():
    options = {"mechanism": "matrix", "noise": 0.5, "separation": 5, "coefficients": "1, 0.5, 0.25"}
    train = trainer(settings(**options, noise_source="seed"))
    states = [train.init(KEY)]
    for t in range(3):
        state, facts = train.round(states[-1], t)
        states.append(state)
    assert states[-1].noise.shape[0] == 2
    assert np.all(states[0].noise == 0)
    copied = jax.tree.map(lambda x: jnp.asarray(np.asarray(x)), states[2])  # as a checkpoint gives it back
    resumed, _ = train.round(copied, 2)
    np.testing.assert_array_equal(vector(resumed.params), vector(states[3].params))
    other, _ = train.round(copied._replace(noise=0 * copied.noise), 2)
    assert np.any(vector(other.params) != vector(resumed.params))
    entry = facts["release"]
    assert (entry.participations, entry.separation, entry.sampling) == (2, 5, "separated")
    assert entry.sensitivity == pytest.approx(
        np.sqrt(1 + 0.25 + 0.0625 + 1)
    )  # its second time is the last round


def test_the_server_subtracts_correlated_noise():
    """Over rounds with zero messages the model moves by −lr/m · z·S · C⁻¹z."""
    import optax

    private = Private(settings(noise=0.3), M, (), read_strategy("1, 0.6"), 1.0)
    rule, optimiser = aggregation(RULES["mean"]), optax.sgd(1.0)
    step = private_server_step(rule, optimiser, private)
    from tacit.federated.algorithm import ServerState
    from tacit.federated.local import Reply, Report

    start = jax.tree.map(jnp.asarray, worlds.START)
    state = ServerState(start, optimiser.init(start), (), jnp.float32(CLIP), jnp.zeros((1, 12)))
    none = Reply(Parts(jax.tree.map(jnp.zeros_like, start)), (), Report(*[jnp.int32(0)] * 6))
    z = np.random.default_rng(0).normal(size=(4, 12)).astype(np.float32)
    for t in range(4):
        state, finite = step(state, none, jnp.float32(1), z[t])
        assert bool(finite)
    c = np.eye(4) + 0.6 * np.eye(4, k=-1)
    moved = 0.3 * CLIP / M * np.linalg.solve(c, z).sum(axis=0)
    np.testing.assert_allclose(vector(state.params) - vector(start), moved, atol=1e-5)


def plain_rule() -> Aggregation:
    return Aggregation(lambda params, update, weight: update, lambda params, total: total)


def peaked_rule() -> Aggregation:
    return Aggregation(
        lambda params, update, weight: Peaked(weight, update),
        lambda params, total: total.values,
        bounds=lambda params, clip: Bounds(clip),
    )


def wrong_rule() -> Aggregation:
    return plain_rule()._replace(bounds=lambda params, clip: Bounds((clip, clip)))


def right_rule() -> Aggregation:
    return plain_rule()._replace(bounds=lambda params, clip: Bounds(clip))


def test_custom_rules_say_what_bounds_them():
    for rule, why in (
        (plain_rule, "does not say what bounds"),
        (peaked_rule, "Peaked"),
        (wrong_rule, "do not fit"),
    ):
        register_rule(rule, "mine")
        with pytest.raises(TacitError, match=why) as error:
            trainer(settings(), "mine")
        assert "\n" not in str(error.value)
    register_rule(right_rule, "mine")
    trainer(settings(), "mine")


def test_noise_that_drowns_the_softmax_is_refused():
    for rule in ("attentive", "attentive-loss"):
        with pytest.raises(TacitError, match="no step would ever be made"):
            trainer(settings(noise=2.0), rule)


def test_poisson_cohorts_of_a_private_run_do_not_follow_from_its_seed(monkeypatch):
    """Two trainings with one seed sample by different secrets; everything that claims no amplification by the seed."""
    used: list[int | bytes] = []

    def choosing(sampling, sizes, seed, *given):
        used.append(seed)
        return choose(sampling, sizes, seed, *given)

    monkeypatch.setattr(text_cohorts, "choose", choosing)
    text = pack([[np.array([0, 3, 4, 1])] * 3 for _ in range(6)], list("abcdef"))
    poisson = SamplingConfig(clients=3, scheme="poisson")

    def seeds(sampling, **privacy):
        algorithm = Algorithm(
            ClientConfig(), AggregationConfig(), ServerConfig(), sampling, PrivacyConfig(**privacy)
        )
        used.clear()
        bowl = (lambda key: {"w": jnp.zeros(2)}), (lambda w, batch, key: (jnp.sum(w["w"] ** 2), jnp.int32(1)))
        trainer = text_federation(*bowl, algorithm, text, 7, 1)
        trainer.round(trainer.init(KEY), 0)
        return set(used)

    private = {"mechanism": "gaussian", "clip": 1.0, "noise": 1.0}
    first, second = seeds(poisson, **private), seeds(poisson, **private)
    assert len(first) == len(second) == 1 and first != second
    assert all(isinstance(key, bytes) and len(key) == 32 for key in first | second)
    assert seeds(poisson, **private, noise_source="seed") == {7}
    assert seeds(SamplingConfig(clients=3), **private) == {7}
