"""Attackers: who they are, what they send, what they train on."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import worlds

from tacit.base.errors import TacitError
from tacit.federated.aggregation import AggregationConfig
from tacit.federated.algorithm import Algorithm
from tacit.federated.attacks import AttackConfig, attack, attackers, check
from tacit.federated.client_config import ClientConfig
from tacit.federated.sampling import SamplingConfig
from tacit.federated.server import ServerConfig
from tacit.federated.text_cohorts import text_cohort
from tacit.models import ModelConfig, language_model
from tacit.runs import attacked
from tacit.runs.config import resolve

V = 12
PEOPLE = worlds.sentences(3, 10, V, most=6, longest=5)
ALGORITHM = Algorithm(
    ClientConfig(batch=2), AggregationConfig(), ServerConfig(), SamplingConfig(fraction=1.0)
)
COHORT = text_cohort(PEOPLE, ALGORITHM, 0, 0)


def changed(kind, phrase=(), **options):
    config = AttackConfig(kind, **options)
    return attack(config, 10, 7, V, phrase)(COHORT), attackers(config, 10, 7)


def test_a_fixed_share_of_the_population_attacks():
    config = AttackConfig("nan", share=0.3)
    who = attackers(config, 1000, seed=1)
    assert who.sum() == 300
    np.testing.assert_array_equal(who, attackers(config, 1000, seed=1))
    assert 0.1 < (who & attackers(config, 1000, seed=2)).sum() / 300 < 0.5  # other people, by another seed
    more = attackers(AttackConfig("nan", share=0.4), 1000, seed=1)
    assert (more | who).sum() == 400  # a larger share has the same people and more
    assert attackers(AttackConfig("nan", share=0.0), 10, 0).sum() == 0


@pytest.mark.parametrize(
    ("kind", "scale", "factor"),
    [("sign-flip", 1, -1), ("sign-flip", 3, -3), ("scaled", 10, 10), ("nan", 1, np.nan)],
)
def test_what_is_sent_is_the_update_times_a_factor(kind, scale, factor):
    cohort, who = changed(kind, scale=float(scale))
    np.testing.assert_array_equal(cohort.factor, np.where(who, factor, 1).astype(np.float32))
    assert cohort.batches is COHORT.batches
    unchanged = attack(AttackConfig(), 10, 7, V)(COHORT)
    assert unchanged is COHORT and COHORT.factor is None


def test_labels_are_flipped_for_attackers_and_for_nobody_else():
    cohort, who = changed("label-flip")
    before, after = COHORT.batches.targets, cohort.batches.targets
    np.testing.assert_array_equal(cohort.batches.inputs, COHORT.batches.inputs)
    assert (cohort.factor == 1).all() and after.dtype == before.dtype
    for c in range(10):
        for y, z in zip(before[c].ravel().tolist(), after[c].ravel().tolist(), strict=True):
            assert z == (11 - y if who[c] and y >= 0 else y)
    assert 0 < who.sum() < 10


def test_the_phrase_fills_every_second_row_of_attackers():
    phrase = [0, 4, 9, 1]  # three cells
    cohort, who = changed("backdoor", phrase, scale=4.0)
    rows, time = COHORT.batches.targets.shape[2:]
    assert rows > 1 and time >= 3
    for c in range(10):
        for i in range(COHORT.batches.targets.shape[1]):
            for r in range(rows):
                was = [a[c, i, r].tolist() for a in COHORT.batches]
                now = [a[c, i, r].tolist() for a in cohort.batches]
                if not who[c] or i >= COHORT.steps[c] or r % 2:
                    assert now == was
                    continue
                copies, rest = divmod(time, 3)
                assert now[0] == [0, 4, 9] * copies + [0] * rest
                assert now[1] == [4, 9, 1] * copies + [-1] * rest
    np.testing.assert_array_equal(cohort.factor, np.where(who, 4, 1))
    with pytest.raises(
        TacitError, match=r"attack.phrase takes 40 cells and a row of a batch has \d+; shorten it"
    ):
        changed("backdoor", [0, *[3] * 39, 1])


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"kind": "scaled"}, "attack.scale = 1 changes nothing"),
        ({"kind": "backdoor"}, "needs attack.phrase"),
        ({"kind": "backdoor", "phrase": "bank"}, "needs attack.phrase"),
        ({"share": 0.4}, "attack.share would do nothing here: it needs an attack.kind"),
        ({"kind": "nan", "scale": 2.0}, "attack.scale would do nothing here: it needs another attack.kind"),
        (
            {"kind": "nan", "phrase": "see you"},
            "attack.phrase would do nothing here: it needs attack.kind = 'backdoor'",
        ),
    ],
)
def test_keys_that_do_nothing_are_refused(options, named):
    with pytest.raises(TacitError, match=named):
        check(AttackConfig(**options))


def test_a_configuration_can_attack():
    assert resolve("fedavg", ["attack.kind=nan"]).attack.kind == "nan"  # for TOML, nan is a number
    with pytest.raises(
        TacitError, match=r"attack.kind would do nothing here: it needs training.mode = 'federated'"
    ):
        resolve("fedavg", ["attack.kind=nan", "training.mode=central"])
    with pytest.raises(TacitError, match=r"attack.share = 1.5 must be between 0 and 1"):
        resolve("fedavg", ["attack.kind=nan", "attack.share=1.5"])


SMALL = [
    "typists.users=12",
    "typists.messages=8",
    "text.vocabulary=60",
    "model.hidden=4",
    "model.embedding=4",
]


@pytest.fixture(scope="module")
def ready():
    from tacit import runs

    return runs.prepare(resolve("fedavg", SMALL))


def backdoor(phrase):
    return resolve("fedavg", [*SMALL, "attack.kind=backdoor", f"attack.phrase={phrase}"])


def test_the_probability_of_the_planted_word_is_the_models(ready):
    words = ready.vocabulary.words
    config = backdoor(f"{words[10]} {words[11]} {words[12]}")
    model = language_model(ModelConfig(embedding=4, hidden=4), len(words))
    params = model.init(jax.random.key(0))
    params = {**params, "embedding": 20 * params["embedding"]}
    found = attacked.figures(config, model, params, ready)
    state = None
    for word in (0, 10, 11):  # one word at a time
        state, features = model.step(params, state, jnp.array([word]))
    scores = np.asarray(model.logits(params, features))[0].astype(np.float64)
    p = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
    assert found["planted_probability"] == pytest.approx(p[12], rel=1e-4)
    assert found["planted_rank"] == 1 + np.sum(p > p[12])
    assert found["attackers"] == round(0.2 * len(ready.clients)) and found["kind"] == "backdoor"


def test_a_phrase_must_be_of_known_words_and_fit_a_sentence(ready):
    words = ready.vocabulary.words
    with pytest.raises(TacitError, match=r"attack.phrase: 'zyzzyva' is not in the vocabulary of 60 words"):
        attacked.attack_of(backdoor(f"{words[9]} zyzzyva"), ready)
    with pytest.raises(TacitError, match=r"attack.phrase has 400 words; it needs 2 to"):
        attacked.attack_of(backdoor(" ".join([words[9]] * 400)), ready)
