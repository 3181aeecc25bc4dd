"""Mixes n-grams counted on the clients into the soft counts of a network.

With two words of context, counts of real text can be better than a network, whose strength is the long context
(docs/ngram.md). The server sends a topology, made from a supplement and from the network's own sentences. A
client reads its own text with it and counts each word where it is read: C_i(x, q) at the first state of the failure
path that has x, C_i(φ, q) at those before. The server gets one sum, like that of `tacit count`,

    U = Σ_i w_i C_i,    w_i = λ / max(λ, words of client i)

so that a client adds at most λ to the counts of arcs, and at most λ (order − 1) to those of φ. n-grams outside the
topology cannot be sent. U is scaled to `SHARE` of the network's counts and added to them, and the weights nearest to
the sum are found. Counts of typed words are hard: alone they would leave nothing for φ after a rare history. So a state
that no sampled sentence visits gets none of them, and repeats its backoff state as before.
"""

from __future__ import annotations

import math

import numpy as np

from tacit.base.errors import TacitError
from tacit.distillation.soft_counts import Counts, added
from tacit.ngram.automaton import Topology
from tacit.text.packed import ClientText, Packed

SHARE = 0.5  # chosen on validation people of nus-sms, from 1/4, 1/2, 1 and 2
_AT_ONCE = 1000  # clients whose text is in memory


def check_limit(limit: float) -> float:
    """Returns λ; refuses one that is not a finite number above 0."""
    if not (math.isfinite(limit) and limit > 0):
        raise TacitError(f"--client-counts {limit:g}: λ bounds a client's counts; give a number above 0")
    return limit


def client_counts(topology: Topology, clients: ClientText, limit: float) -> Counts:
    """Returns U, the sum over clients of their clipped counts on an n-gram topology.

    >>> from tacit.ngram.automaton import from_trie
    >>> from tacit.ngram.trie import of_words
    >>> from tacit.text.packed import pack
    >>> pairs = from_trie(of_words([np.array([[0, 3], [3, 1]])], vocabulary=5))  # states: empty, after 0, after 3
    >>> text = pack([[np.array([0, 3, 3, 1])], [np.array([0, 4, 1])]], ["a", "b"])
    >>> counts = client_counts(pairs, text, limit=1.5)
    >>> counts.arcs.tolist(), counts.phi.tolist()  # of three words, and of two
    ([0.75, 0.0, 0.5, 0.75, 0.5, 0.5], [0.0, 0.75, 0.5])
    """
    arcs, phi = np.zeros(len(topology.labels)), np.zeros(len(topology))
    for first in range(0, len(clients), _AT_ONCE):
        text = clients.gather(np.arange(first, min(first + _AT_ONCE, len(clients))))
        tokens = text.tokens.astype(np.int64)
        states = topology.states_along(tokens, text.offsets)
        read = np.flatnonzero(states >= 0)
        weights, state, word = _weights(text, limit)[read], states[read], tokens[read]
        while len(state):
            arc = topology.arc(state, word)
            arcs += added(arc[arc >= 0], weights[arc >= 0], len(arcs))
            on = arc < 0
            state, word, weights = state[on], word[on], weights[on]
            phi += added(state, weights, len(phi))
            state = topology.backoff[state]
    return Counts(arcs, phi, added(topology.owners, arcs, len(phi)) + phi)


def mixed(topology: Topology, counts: Counts, clients: Counts) -> Counts:
    """Returns the network's counts with the clients' added where it has any, scaled to `SHARE` of them."""
    seen = added(topology.owners, counts.arcs, len(topology)) + counts.phi > 0
    arcs, phi = np.where(seen[topology.owners], clients.arcs, 0.0), np.where(seen, clients.phi, 0.0)
    scale = SHARE * counts.arcs.sum() / max(arcs.sum(), 1e-300)
    arcs, phi = counts.arcs + scale * arcs, counts.phi + scale * phi
    return Counts(arcs, phi, added(topology.owners, arcs, len(phi)) + phi)


def _weights(text: Packed, limit: float) -> np.ndarray:
    """Returns w_i of the client of each token, [tokens]; `<s>` is no word, `</s>` is one."""
    sentences = text.owners
    words = np.diff(text.offsets[sentences]) - np.diff(sentences)  # [clients]
    return np.repeat(limit / np.maximum(limit, words), np.diff(text.offsets[sentences]))
