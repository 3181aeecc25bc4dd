"""Small random texts and automata, and slow, literal statements of what is computed about them in bulk."""

from __future__ import annotations

import numpy as np

from tacit.distillation.sampling import Sentences
from tacit.ngram import kneser_ney
from tacit.ngram.automaton import Automaton, Topology, from_kneser_ney
from tacit.text.packed import Packed, pack
from tacit.text.vocabulary import BOS, EOS, UNK

V = 9  # the vocabulary of `random_text`


def sentences(seed: int, count: int, vocabulary: int, longest: int = 7) -> Sentences:
    """Words that depend on the one before, commoner ones with lower ids."""
    draw = np.random.default_rng(seed)
    tokens, offsets = [], [0]
    for _ in range(count):
        body, word = [], 2
        for _ in range(int(draw.integers(1, longest + 1))):
            word = 2 + (int(draw.zipf(1.7)) * 3 + word) % (vocabulary - 2)
            body.append(word)
        tokens += [BOS, *body, EOS]
        offsets.append(len(tokens))
    return Sentences(np.array(tokens, np.int64), np.array(offsets, np.int64))


def text_of(bodies: list[list[int]]) -> Packed:
    return pack([[np.array([BOS, *body, EOS]) for body in bodies]], ["all"])


def random_text(seed: int, count: int) -> Packed:
    """Words 2 to 8, uneven and with a little order in them, so that contexts matter; 2 is `<unk>`."""
    draw = np.random.default_rng(seed)
    bodies = []
    for _ in range(count):
        body = [int(draw.integers(UNK, V))]
        for _ in range(int(draw.integers(0, 6))):
            body.append(int(draw.choice([UNK, 3, 3 + (body[-1] * 2) % 6, int(draw.integers(UNK, V))])))
        bodies.append(body)
    return text_of(bodies)


def kneser(seed: int, count: int = 25, vocabulary: int = 7, order: int = 3) -> Automaton:
    """A Kneser-Ney model of random sentences."""
    text = sentences(seed, count, vocabulary)
    return from_kneser_ney(kneser_ney.fit(text.tokens, text.offsets, vocabulary, order))


def topology(seed: int, vocabulary: int = 6, states: int = 9, roots: int = 1) -> Topology:
    """Backoff-complete and otherwise anything: random labels, targets, and failure arcs to earlier states.

    With one root it has every label; with several, each has some, `</s>` always.
    """
    draw = np.random.default_rng(seed)
    everything = np.arange(1, vocabulary)
    labels: list[np.ndarray] = []
    backoff = []
    for q in range(states):
        if q < roots:
            backoff.append(-1)
            some = everything if roots == 1 else everything[(draw.random(vocabulary - 1) < 0.6)]
            labels.append(np.union1d(some, [EOS]))
            continue
        backoff.append(int(draw.integers(0, q)))
        below = labels[backoff[-1]]
        kept = below[draw.random(len(below)) < draw.choice([0.3, 0.7, 1.0])]
        labels.append(kept if len(kept) else below[:1])
    flat = np.concatenate(labels)
    return Topology(
        vocabulary=vocabulary,
        starts=np.cumsum([0, *map(len, labels)]),
        labels=flat,
        targets=np.where(flat == EOS, -1, draw.integers(0, states, len(flat))),
        backoff=np.array(backoff),
        initial=int(draw.integers(0, states)),
    )


def path(shape: Topology, state: int) -> list[int]:
    """A state, its backoff state, and so on to the root."""
    found = [state]
    while shape.backoff[found[-1]] >= 0:
        found.append(int(shape.backoff[found[-1]]))
    return found


def has(shape: Topology, state: int) -> dict[int, int]:
    """The arc of each label of a state."""
    arcs = range(int(shape.starts[state]), int(shape.starts[state + 1]))
    return {int(shape.labels[a]): a for a in arcs}


def walk(shape: Topology, draw: np.random.Generator, longest: int = 6) -> list[int]:
    """A sentence that the automaton can read, any word as likely as another."""
    state, words = shape.initial, [BOS]
    while words[-1] != EOS:
        readable = has(shape, path(shape, state)[-1])
        word = EOS if len(words) > longest and EOS in readable else int(draw.choice(sorted(readable)))
        where = next(q for q in path(shape, state) if word in has(shape, q))
        state = int(shape.targets[has(shape, where)[word]])
        words.append(word)
    return words


def literal_counts(
    shape: Topology, states: np.ndarray, p: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """C(x, q), C(φ, q) and n(q) by the definition: position by position, label by label; p [positions, V]."""
    arcs, phi, visits = np.zeros(len(shape.labels)), np.zeros(len(shape)), np.zeros(len(shape))
    for state, row in zip(states.tolist(), p, strict=True):
        for q in path(shape, state):
            visits[q] += 1
        for x in range(1, shape.vocabulary):
            for q in path(shape, state):
                if x in has(shape, q):
                    arcs[has(shape, q)[x]] += row[x]
                    break
                if shape.backoff[q] >= 0:
                    phi[q] += row[x]
    return arcs, phi, visits


def readable(shape: Topology, states: np.ndarray, p: np.ndarray) -> np.ndarray:
    """p given that the automaton can read the word."""
    kept = np.zeros_like(p)
    for row, state in enumerate(states.tolist()):
        labels = sorted(has(shape, path(shape, state)[-1]))
        kept[row, labels] = p[row, labels] / p[row, labels].sum()
    return kept


def dense(model: Automaton, state: int) -> np.ndarray:
    """p(x | state), [V], label by label."""
    shape, p = model.topology, np.zeros(model.topology.vocabulary)
    for x in range(1, shape.vocabulary):
        weight = 0.0
        for q in path(shape, state):
            if x in has(shape, q):
                p[x] = np.exp(weight + model.log_p[has(shape, q)[x]])
                break
            weight += model.log_backoff[q]
    return p
