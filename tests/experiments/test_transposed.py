"""The authors' score against plain loops, on sentences one can read."""

from __future__ import annotations

import itertools

import jax
import numpy as np
import pytest

import reference
from tacit.experiments.entry import find
from tacit.experiments.kinds.authors import cohort, measure
from tacit.experiments.kinds.text import config_of
from tacit.experiments.runner import Place
from tacit.experiments.transposed import batches, transpose, transposed_score
from tacit.federated.aggregation import AggregationConfig
from tacit.federated.algorithm import Algorithm
from tacit.federated.batching import order_of_work
from tacit.federated.client_config import ClientConfig
from tacit.federated.sampling import SamplingConfig, choose
from tacit.federated.server import ServerConfig
from tacit.models import ModelConfig, language_model
from tacit.text.packed import pack
from tacit.text.prepare import prepare

# <s> are you </s> · <s> ok </s> · <s> see you soon </s> · <s> no </s>
SENTENCES = [[0, 3, 4, 1], [0, 5, 1], [0, 6, 4, 7, 1], [0, 8, 1]]
TEXT = pack([[np.array(s) for s in SENTENCES]], ["all"])


def by_hand(sentences: list[list[int]]) -> list[list[int]]:
    """A batch by position, cut at the shortest sentence: what `zip` makes of it."""
    return [list(row) for row in zip(*sentences, strict=False)]


def test_rows_are_positions_and_the_shortest_sentence_cuts():
    rows = transpose(TEXT, np.array([[0, 1, 2], [3, 2, -1]]))
    assert by_hand(SENTENCES[:3]) == [[0, 0, 0], [3, 5, 6], [4, 1, 4]]
    assert rows.inputs[0].tolist() == [[0, 0], [3, 5], [4, 1]]
    assert rows.targets[0].tolist() == [[0, 0], [5, 6], [1, 4]]
    assert rows.targets[1].tolist() == [[0, -1], [6, -1], [4, -1]]  # two sentences: one column to predict


def test_batches_go_through_the_text_in_its_order():
    assert batches(TEXT, 3).tolist() == [[0, 1, 2], [3, -1, -1]]


def test_shuffled_batches_hold_every_sentence_once_and_are_alike_for_a_seed():
    many = pack([[np.array([0, 2, 1])] * 10], ["all"])
    first, again, other = (batches(many, 4, seed) for seed in (0, 0, 1))
    assert sorted(first.ravel().tolist()) == [-1, -1, *range(10)]
    assert first[-1, 2:].tolist() == [-1, -1] and (first[first >= 0] != np.arange(10)).any()
    assert (first == again).all() and (first != other).any()


@pytest.mark.parametrize("batch", [3, 4])
def test_the_score_is_that_of_reading_across_sentences(batch):
    model = language_model(ModelConfig(embedding=5, hidden=5), 9)
    params = reference.shaken(model.init(jax.random.key(0)), 1)
    total, count = 0.0, 0
    for first in range(0, len(SENTENCES), batch):
        for row in by_hand(SENTENCES[first : first + batch]):
            for b in range(1, len(row)):
                # `<s>` forgets, which changes nothing but the row of start symbols
                read = row[b - 1 : b] if row[0] == 0 else row[:b]
                logits = np.asarray(model.apply(params, np.array([read])), np.float64)[0, -1]
                total -= logits[row[b]] - np.log(np.exp(logits).sum())
                count += 1
    assert transposed_score(model, params, TEXT, batch) == pytest.approx(np.exp(total / count), rel=1e-4)


@pytest.mark.parametrize(("scored", "shuffled"), [(4, False), (4, True), (6, True)])
def test_what_is_asked_is_counted_in_batches_of_their_size(scored, shuffled, tmp_path):
    row = find("table-2-authors").quickly().rows[0]
    settings = {**row.settings, "scored": scored, "shuffled": shuffled}
    place = Place(None, tmp_path)
    found = measure(settings, 0, place).values
    config = config_of(settings, 0, place)
    test = prepare(config.text, config.partition, config.typists, 0).test
    told = [test.tokens[a:b].tolist() for a, b in itertools.pairwise(test.offsets)]
    if shuffled:
        told = [told[i] for i in np.random.default_rng(0).permutation(len(told))]
    rows = [row for i in range(0, len(told), scored) for row in by_hand(told[i : i + scored])]
    asked = [word for row in rows for word in row[1:]]
    assert found["share"] == pytest.approx(len(asked) / sum(len(s) - 1 for s in told))
    assert found["starts"] == pytest.approx(asked.count(0) / len(asked))


def test_clients_train_on_their_own_sentences_laid_out_so():
    draw = np.random.default_rng(1)

    def said(n):
        return [np.concatenate([[0], draw.integers(3, 12, draw.integers(1, 6)), [1]]) for _ in range(n)]

    people = pack([said(n) for n in (7, 2, 4, 1, 5, 3)], list("abcdef"))
    client = ClientConfig(batch=3, epochs=2)
    algorithm = Algorithm(client, AggregationConfig(), ServerConfig(), SamplingConfig(clients=3))
    made = cohort(people, algorithm, 4, 1, rows=4)
    chosen = choose(algorithm.sampling, people.sizes, 4, 1)
    schedule, steps = order_of_work(people.sizes[chosen.ids], chosen.ids, client, 4, 1)
    for c, k in enumerate(chosen.ids):
        for i in range(steps[c]):
            numbers = [people.owners[k] + e for e in schedule[c, i] if e >= 0]
            told = [people.tokens[people.offsets[n] : people.offsets[n + 1]].tolist() for n in numbers]
            rows = by_hand(told)[:4]
            for t, row in enumerate(rows):
                assert made.batches.targets[c, i, t][: len(row) - 1].tolist() == row[1:]
                assert made.batches.inputs[c, i, t][: len(row) - 1].tolist() == row[:-1]
            assert (made.batches.targets[c, i, len(rows) :] == -1).all()
