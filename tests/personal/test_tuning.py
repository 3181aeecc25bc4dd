"""Whole cohorts through one program against one person at a time in a plain loop."""

from __future__ import annotations

import dataclasses
import doctest
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import talkers
from talkers import MODEL, PARAMS

from tacit.federated.batching import Grid
from tacit.federated.client_config import ClientConfig
from tacit.federated.evaluation import scorer
from tacit.models import ModelConfig, language_model
from tacit.personal import groups, model_parts, split, trial, tuning
from tacit.personal.model_parts import MODEL_PARTS, adapter, model_part, stored_bytes
from tacit.personal.strategies import Strategy
from tacit.personal.trial import Tuning
from tacit.text.packed import Packed, pack

pytestmark = pytest.mark.usefixtures("compiled")
LIMIT, RATE = 90, 0.4
CLIENT = ClientConfig(batch=3, epochs=2, batching="sentences")
OPTIONS = Tuning(LIMIT, 2, 0, "sentences")


@pytest.fixture(scope="module")
def world() -> SimpleNamespace:
    users = split.split(talkers.talkers(1))
    assert len(users) == 5
    return SimpleNamespace(users=users, trial=trial.prepare(MODEL, PARAMS, users, OPTIONS))


def part_of(world, k: int, first: int, last: int) -> list[np.ndarray]:
    return talkers.messages(split.text_of_parts(world.users, first, last), k)


def check(outcome, world, before, k: int, w, messages) -> None:
    """An outcome's row k against models w and before on these messages."""
    was, _, nll_was = talkers.hits(before, messages)
    now, _, nll_now = talkers.hits(w, messages)
    assert int(outcome.words[k]) == len(was) and int(outcome.before[k]) == was.sum()
    assert int(outcome.predictions[k]) == len(was) + len(messages)
    assert (int(outcome.lost[k]), int(outcome.won[k])) == ((was & ~now).sum(), (now & ~was).sum())
    assert outcome.nll_before[k] == pytest.approx(nll_was, rel=1e-4)
    assert outcome.nll_after[k] == pytest.approx(nll_now, rel=1e-3)


def test_five_steps_against_one_person_at_a_time(world):
    """Paper 3: tune on 80 % until T tokens or E epochs, measure on 20 % before and after."""
    slow, fast = Strategy(3, (RATE,)), Strategy(3, (2 * RATE,))
    found = trial.evaluate(world.trial, [slow, fast])
    changed = 0
    for k, number in enumerate(world.users.ids.tolist()):
        for strategy in (slow, fast):
            w = talkers.tuned(part_of(world, k, 0, 2), number, CLIENT, strategy.rates[0], LIMIT)
            check(found[strategy], world, PARAMS, k, w, part_of(world, k, 2, 3))
        changed += int(found[slow].lost[k] + found[slow].won[k])
    assert changed > 5  # or nothing was tested
    earlier = split.text_of_parts(world.users, 0, 2)
    whole = [sum(len(s) - 1 for s in talkers.messages(earlier, k)) for k in range(5)]
    np.testing.assert_array_equal(world.trial.tokens, whole)


def test_the_gate_tunes_on_the_first_part_only(world):
    strategy = Strategy(3, (RATE,))
    second, third = trial.look(world.trial, [strategy])[strategy]
    models = trial.tuned_models(world.trial, strategy, np.array([3, 0]))
    for k, number in enumerate(world.users.ids.tolist()):
        w = talkers.tuned(part_of(world, k, 0, 1), number, CLIENT, RATE, LIMIT)
        check(second, world, PARAMS, k, w, part_of(world, k, 1, 2))
        check(third, world, PARAMS, k, w, part_of(world, k, 2, 3))
        if k in (3, 0):
            stored = models[(3, 0).index(k)]
            for a, b in zip(jax.tree.leaves(stored), jax.tree.leaves(w), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)


def same(a: Packed, k: int, b: Packed) -> bool:
    return all((x == y).all() for x, y in zip(talkers.messages(a, k), talkers.messages(b, k), strict=True))


def poisoned(users: split.Users, which: int) -> split.Users:
    """The same people with other words in one part; message lengths stay."""
    text = users.text
    tokens = text.tokens.copy()
    for k in range(len(users)):
        for m in range(users.cuts[k, which], users.cuts[k, which + 1]):
            tokens[text.offsets[m] + 1 : text.offsets[m + 1] - 1] = 3 + (m + k) % 9
    return dataclasses.replace(users, text=Packed(tokens, text.offsets, text.owners, text.names))


def test_what_is_measured_on_is_never_tuned_on(world):
    """Other words in the third part: models and the gate's look stay as they were, the last outcome does not."""
    strategy = Strategy(3, (RATE,))
    users = poisoned(world.users, 2)
    assert not same(users.text, 0, world.users.text)
    other = trial.prepare(MODEL, PARAMS, users, OPTIONS)
    before, after = (trial.look(t, [strategy])[strategy] for t in (world.trial, other))
    for a, b in zip(before[0], after[0], strict=True):
        np.testing.assert_array_equal(a, b)
    assert (before[1].won != after[1].won).any()
    models = [trial.tuned_models(t, strategy, np.arange(5)) for t in (world.trial, other)]
    for a, b in zip(jax.tree.leaves(models[0]), jax.tree.leaves(models[1]), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.fixture(scope="module")
def group(world):
    """Everybody's batches of like numbers of words, to tune on and to be measured on."""
    users = world.users
    early, late = split.text_of_parts(users, 0, 2), split.text_of_parts(users, 2, 3)
    client = ClientConfig(batch=3)
    batches = tuning.tuning_batches(early, users.ids, client, 0, tuning.tuning_grid(early, client, 12), LIMIT)
    return groups.Group(users.ids.astype(np.int32), batches, (world.trial.third.exam,), ()), late


@pytest.fixture(scope="module")
def side_by_side(group):
    program = tuning.personalisation(MODEL, ClientConfig(batch=3), executor="vmap", keep=True)
    return lambda rates, size: groups.in_groups(program, PARAMS, group[0], rates, size)


def test_side_by_side_is_one_after_another(group, side_by_side):
    rates = [np.full(5, RATE), np.linspace(0.1, 1, 5)]
    program = tuning.personalisation(MODEL, ClientConfig(batch=3), executor="map", keep=True)
    slow = groups.in_groups(program, PARAMS, group[0], rates, 2)
    fast = side_by_side(rates, 6)  # the others two to a call, these six
    for a, b in zip(jax.tree.leaves(fast), jax.tree.leaves(slow), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)


def test_marks_are_those_of_the_scorer(group, side_by_side):
    """The room's own loop over cells against `federated.evaluation`, which says what the metrics are."""
    (found,) = side_by_side([np.full(5, RATE)], 6)
    score = scorer(MODEL)
    for k in range(5):
        w = jax.tree.map(lambda a, k=k: a[k], found.model)
        alone = group[1].gather(np.array([k]))
        scores = score(w, alone)
        marks = jax.tree.map(lambda a, k=k: a[k, 0], found.marks[0])
        assert (int(marks.right), int(marks.top3)) == (scores.top1.sum(), scores.top3.sum())
        assert float(marks.nll) == pytest.approx(scores.nll.sum(), rel=1e-4)


def test_divergence_is_told_and_stays_with_the_person(side_by_side):
    """One rate that cannot go well, among others that can: a flag, no exception, no other row touched."""
    rates = np.full(5, RATE)
    (good,) = side_by_side([rates], 6)
    rates[2] = 1e30
    (found,) = side_by_side([rates], 6)
    assert found.finite.tolist() == [True, True, False, True, True]
    others = np.array([0, 1, 3, 4])
    for a, b in zip(jax.tree.leaves(found.marks), jax.tree.leaves(good.marks), strict=True):
        np.testing.assert_allclose(a[others], b[others], rtol=1e-5)
    assert found.marks[0].right[2, 0] == 0  # a model that is no number suggests nothing


@pytest.mark.parametrize("executor", ["map", "vmap"])
def test_every_step_of_everybody_has_a_key_of_its_own(group, executor, monkeypatch):
    """Of the person's number and the step: dropout never takes the same mask twice."""

    def loss(w, batch, key):
        return w["output_bias"].sum() * jax.random.uniform(key), jnp.int32(1)

    monkeypatch.setattr(tuning, "next_word_loss", lambda model: loss)
    model = language_model(ModelConfig(embedding=talkers.D, hidden=talkers.D, dropout=0.5), talkers.V)
    program = tuning.personalisation(model, ClientConfig(batch=3), executor=executor, keep=True)
    (found,) = groups.in_groups(program, PARAMS, group[0], [np.ones(5)], 6)
    for k, number in enumerate(group[0].ids.tolist()):
        own = jax.random.fold_in(jax.random.key(0), number)
        draws = [
            jax.random.uniform(jax.random.fold_in(own, i)) for i in range(group[0].tuning_batches.steps[k])
        ]
        moved = PARAMS["output_bias"] - found.model["output_bias"][k]
        np.testing.assert_allclose(moved, sum(map(float, draws)), rtol=1e-4)


def test_tuning_ends_with_the_batch_that_reaches_the_limit():
    text = pack([[np.array([0, 3, 4, 5, 1])] * 10], ["ana"])  # four tokens each
    whole = tuning.tuning_batches(text, np.array([0]), ClientConfig(batch=2, batching="sentences"), 0, None)
    assert whole.steps.tolist() == [5] and tuning.tokens_in(whole).tolist() == [40]
    for limit, steps in ((1, 1), (8, 1), (9, 2), (16, 2), (17, 3), (999, 5)):
        cut = tuning.tuning_batches(
            text, np.array([0]), ClientConfig(batch=2, batching="sentences"), 0, None, limit
        )
        assert cut.steps.tolist() == [steps] and tuning.tokens_in(cut).tolist() == [8 * steps]
    twice = ClientConfig(batch=2, epochs=2)
    packed = tuning.tuning_batches(text, np.array([0]), twice, 0, Grid(2, 4), 30)
    assert tuning.tokens_in(packed).tolist() == [32]
    room = tuning.tuning_grid(text, ClientConfig(batch=2), 12)
    assert room.time == 16  # 12 words and the end, also where nobody here has typed so many


def test_parts_begin_as_the_global_model_and_keep_what_is_frozen():
    for part in MODEL_PARTS.values():
        start = part.start(PARAMS)
        for a, b in zip(jax.tree.leaves(part.join(PARAMS, start)), jax.tree.leaves(PARAMS), strict=True):
            np.testing.assert_array_equal(a, b)
    moved = {
        name: part.join(PARAMS, jax.tree.map(lambda a: a + 1.0, part.start(PARAMS)))
        for name, part in MODEL_PARTS.items()
    }
    changed = {
        name: {k for k in PARAMS if not jax.tree.all(jax.tree.map(np.array_equal, w[k], PARAMS[k]))}
        for name, w in moved.items()
    }
    assert changed["all"] == set(PARAMS) and changed["bias"] == {"output_bias"}
    assert changed["body"] == set(PARAMS) - {"embedding"}
    assert changed["adapter"] == {"output_bias"}  # of so small a model no matrix is larger than rank 8
    low = adapter(2)
    assert stored_bytes(low, PARAMS) < stored_bytes(model_part("all"), PARAMS)
    w = low.join(PARAMS, jax.tree.map(lambda a: a + 0.5, low.start(PARAMS)))
    extra = np.asarray(w["embedding"]) - PARAMS["embedding"]
    assert np.linalg.matrix_rank(extra, tol=1e-4) <= 2 and np.abs(extra).max() > 0.01


def test_a_stored_model_is_the_one_the_gate_looked_at(world):
    """Tuned again for a few people, in batches of like numbers of words, it has the marks it had among all."""
    ready = world.trial._replace(options=Tuning(LIMIT, 1, 10))
    strategy = Strategy(4, (RATE, RATE, RATE, RATE, RATE, 2 * RATE))
    second, _ = trial.look(ready, [strategy])[strategy]
    for k, w in zip((4, 1), trial.tuned_models(ready, strategy, np.array([4, 1])), strict=True):
        check(second, world, PARAMS, k, w, part_of(world, k, 1, 2))


def test_only_the_part_is_tuned(world):
    strategy = Strategy(3, (RATE,), "bias")
    (model,) = trial.tuned_models(world.trial, strategy, np.array([1]))
    assert set(model) == {"output_bias"}
    assert np.abs(model["output_bias"] - PARAMS["output_bias"]).max() > 1e-3


def test_empty_rows_count_for_nothing():
    scores, none = np.zeros((3, 2, talkers.V), np.float32), np.full((3, 2), -1, np.int32)
    nll, first, three = jax.jit(tuning.cell_marks)(scores, none, none)
    assert not nll.any() and not first.any() and not three.any()


def test_only_whole_words_are_suggested_and_only_where_a_word_begins():
    """3 and 5 end a word and 4 goes on: 4 is likelier than 3, and no suggestion; 5 after 4 ends a word begun."""
    ends = np.array([True, True, True, True, False, True])
    pieces = SimpleNamespace(whole=np.array([False, False, False, True, False, True]), ends=ends)
    inputs, targets = np.array([[0, 3, 4, 5]], np.int32), np.array([[3, 4, 5, 1]], np.int32)
    scores = np.zeros((1, 1, 4, 6), np.float32)
    scores[0, 0, :, :] = [[0, 0, 0, 8, 9, 7], [0, 0, 0, 7, 9, 8], [0, 0, 0, 7, 8, 9], [0, 9, 0, 7, 8, 6]]
    _, first, three = tuning.cell_marks(jnp.asarray(scores), targets, inputs, pieces)
    assert first.tolist() == [[[True, False, False, False]]] == three.tolist()
    _, words, _ = tuning.cell_marks(jnp.asarray(scores), targets, inputs)
    assert words.tolist() == [[[False, True, True, False]]]  # of words alone


@pytest.mark.parametrize("module", [model_parts, groups, tuning])
def test_examples(module):
    assert doctest.testmod(module).failed == 0
