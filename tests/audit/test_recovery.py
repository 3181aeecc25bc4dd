"""Words from one update: the figures of the notes on a small network, and each protection."""

from __future__ import annotations

import jax
import numpy as np
from tests.audit.bigrams import bigrams

from tacit.audit.recovery import Typist, alone, clipped, in_a_sum, recovered, typists, without_an_update
from tacit.federated.objective import next_word_loss
from tacit.runs.config import algorithm, resolve
from tacit.text.packed import pack


def test_ranking_takes_as_many_words_as_were_typed() -> None:
    change = np.array([9.0, 9, 9, 0.5, 0.1, 0.4, 0.0])  # the three special words are never guessed
    assert recovered(change, np.array([3, 5])) == 1.0
    assert recovered(change, np.array([3, 6])) == 0.5
    people = [Typist(np.array([3, 5]), change, 2.0), Typist(np.array([4, 6]), change[::-1], 1.0)]
    assert without_an_update(change, people) == 0.5
    assert np.allclose(clipped(people[0], 1.0), change / 2)
    assert in_a_sum(people, lambda p: p.change, 100.0 * np.eye(7)[6]) == 0.5  # 6, and one of the others
    assert alone(people, lambda p: p.change) == (1.0 + recovered(change[::-1], np.array([4, 6]))) / 2


def test_one_update_of_an_untrained_model_gives_nearly_all_words_away() -> None:
    rng = np.random.default_rng(3)
    often = 1 / np.arange(1, 198) ** 0.7
    words = rng.choice(np.arange(3, 200), (6, 12, 8), p=often / often.sum())
    text = pack([[np.array([0, *s, 1]) for s in person] for person in words], list("abcdef"))
    model, config = bigrams(200), resolve("fedavg", ["client.lr=1", "sampling.clients=3"])
    params = model.init(jax.random.key(0))
    people = typists(next_word_loss(model), params, algorithm(config), text, 4, seed=0)
    assert len(people) == 4
    assert all(any(set(p.typed) == set(np.unique(w)) for w in words) for p in people)
    counts = np.bincount(text.tokens, minlength=200).astype(float)
    assert alone(people, lambda p: p.change) > 0.95
    assert without_an_update(counts, people) < 0.75
    noise = rng.normal(size=200)
    assert alone(people, lambda p: p.change + noise) < 0.6
