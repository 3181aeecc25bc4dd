"""Makes sources, the models to approximate, of networks and automata. A source is a pair of functions.

SampleApprox (paper 4, section 4) needs two things of a model: sentences drawn from it, and the probability of every
next word at every position of given sentences. Both are computed in bulk:

    sample(seed, first, count)   sentences first … first + count − 1 of the endless sequence that belongs to `seed`
    blocks(text, groups)         p(x | what precedes), [rows, V] at a time

A drawn word is keyed by (seed, sentence, position), so it does not depend on how many sentences are drawn in parallel.
(On a device, a network's last digits may depend on it, and rarely change a word.) `<s>` is never drawn: its
probability is removed and the others renormalised. `<unk>` counts as a word: the model has learnt to predict it for
rare words, and the automaton has an arc for it. A sentence is truncated at `longest` words; counts up to there stay
valid, since counting uses probabilities, never the drawn word.

A network draws thousands of sentences in parallel in one compiled program: a lane that ends a sentence begins the next
one, and only the words leave the device. Blocks of a network stay on its device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from tacit.base.arrays import Floats, Ints
from tacit.base.progress import Progress, no_progress
from tacit.base.randomness import stream, uniform
from tacit.models.base import LanguageModel, Params
from tacit.ngram.automaton import Automaton, distributions
from tacit.text import flat
from tacit.text.packed import Packed, batch_rows, bucket
from tacit.text.vocabulary import BOS, EOS

LONGEST = 64  # words of a drawn sentence
_AT_ONCE = 1 << 15  # sentences that one call of a program draws
_SLICE = 256  # words that are looked at together when one is drawn
_TRIES = 100  # repeats of an automaton's draw before the whole distribution is used
_DRAWS = stream("ngram sampling")


class Sentences(NamedTuple):
    """Sentences `<s> … </s>` laid end to end; sentence i is tokens[offsets[i]:offsets[i + 1]]."""

    tokens: Ints  # [total]
    offsets: Ints  # [sentences + 1]


class ProbabilityBlock(NamedTuple):
    """Probabilities of the next word at positions of a text; a position is that of the word to come."""

    positions: Ints  # [rows] places in `tokens`
    p: Array | Floats  # [rows or more, V]; rows beyond the positions are 0


class SampledModel(NamedTuple):
    """A model as sentences and probabilities.

    `blocks(text, groups)`, groups [total]: rows of a block ascend by group; positions of a negative group are left
    out; a source may add up the rows of positions of one group and give the sum under one of these positions.
    """

    vocabulary: int
    sample: Callable[[int, int, int], Sentences]
    blocks: Callable[[Sentences, Ints], Iterator[ProbabilityBlock]]


def draw(source: SampledModel, seed: int, count: int, progress: Progress = no_progress) -> Sentences:
    """Draws the first `count` sentences of a source, in parts."""
    tokens, lengths = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    size = -(-count // max(1, -(-count // _AT_ONCE)))  # equal parts: one program
    for start in range(0, count, max(1, size)):
        part = source.sample(seed, start, min(size, count - start))
        tokens.append(part.tokens)
        lengths.append(np.diff(part.offsets))
        progress("drawing sentences", min(start + size, count) / count)
    return Sentences(np.concatenate(tokens), flat.ends(np.concatenate(lengths)))


def network(model: LanguageModel, params: Params, longest: int = LONGEST, at_once: int = 0) -> SampledModel:
    """Returns a neural language model as a source. `at_once` bounds the cells [rows, V] held at once; 0 chooses.

    >>> from tacit.models import ModelConfig, language_model
    >>> small = language_model(ModelConfig(embedding=4, hidden=4), 9)
    >>> text = network(small, small.init(jax.random.key(0)), longest=5).sample(1, 0, 20)
    >>> len(text.offsets), int(np.diff(text.offsets).max()) <= 7, sorted(set(text.tokens[text.offsets[:-1]].tolist()))
    (21, True, [0])
    """
    params = jax.device_put(params)
    vocabulary = model.output(params)[0].shape[0]
    cells = max(64, (at_once or (1 << 22 if jax.default_backend() == "cpu" else 1 << 27)) // vocabulary)

    def sample(seed: int, first: int, count: int) -> Sentences:
        rows = bucket(count)
        key = jax.random.key(seed)
        words = _draw(model, rows, min(cells, rows), longest, params, key, first, count)
        return _laid_out(np.asarray(words)[:count])

    def blocks(text: Sentences, groups: Ints) -> Iterator[ProbabilityBlock]:
        count, lengths = len(text.offsets) - 1, np.diff(text.offsets) - 1
        if count == 0:
            return
        width = int(min(count, max(1, cells // max(1, lengths.mean()))))  # sentences of a batch
        batches = -(-count // width)
        numbers = np.full(batches * width, -1, np.int64)
        numbers[:count] = np.argsort(lengths, kind="stable")
        # dealt like cards; cells hold positions instead of words, so that each identifies its prediction
        places = Packed(np.arange(len(text.tokens)), text.offsets, np.array([0, count]), ("",))
        rows, _ = batch_rows(places, numbers.reshape(width, batches).T)
        targets = rows.targets.reshape(batches, -1).astype(np.int64)  # [batches, cells]
        group = np.where(targets >= 0, groups[targets], -1)
        real = (group >= 0).sum(axis=1)
        most = int(real.max())  # the same shape for all batches: one program
        for inputs, positions, cell_groups, count in zip(
            rows.inputs, targets, group, real.tolist(), strict=True
        ):
            order = np.argsort(np.where(cell_groups < 0, np.iinfo(np.int64).max, cell_groups), kind="stable")[
                :most
            ]
            if count:
                words = text.tokens[inputs].astype(np.int32)  # [rows, time]
                p = _probabilities(model, params, words, order.astype(np.int32), count)
                yield ProbabilityBlock(positions[order[:count]], p)

    return SampledModel(vocabulary, sample, blocks)


def weighted(model: Automaton, longest: int = LONGEST, at_once: int = 1 << 22) -> SampledModel:
    """Returns an automaton as a source; positions of one group in the same state are added up.

    >>> from tacit.ngram import automaton, kneser_ney
    >>> pairs = automaton.from_kneser_ney(kneser_ney.fit([0, 3, 4, 1, 0, 3, 1], [0, 4, 7], vocabulary=5, order=2))
    >>> weighted(pairs).sample(seed=3, first=0, count=2).tokens.tolist()
    [0, 1, 0, 3, 4, 1]
    """
    shape = model.topology
    sums = np.concatenate([[0.0], np.cumsum(np.exp(model.log_p))])  # [arcs + 1]

    def sample(seed: int, first: int, count: int) -> Sentences:
        words = np.full((count, longest + 2), EOS, np.int64)  # [sentences, words]
        words[:, 0] = BOS
        on, states = np.arange(count), np.full(count, shape.initial)
        for place in range(1, longest + 1):
            arcs = _draw_arcs(model, sums, states, (seed, _DRAWS, first + on, place))
            words[on, place] = shape.labels[arcs]
            go = shape.targets[arcs] >= 0
            on, states = on[go], shape.targets[arcs][go]
        return _laid_out(words)

    def blocks(text: Sentences, groups: Ints) -> Iterator[ProbabilityBlock]:
        states = shape.states_along(text.tokens, text.offsets)
        at = np.flatnonzero((groups >= 0) & (states >= 0))
        by = at[np.lexsort((states[at], groups[at]))]
        new = np.ones(len(by), np.bool_)
        new[1:] = (states[by[1:]] != states[by[:-1]]) | (groups[by[1:]] != groups[by[:-1]])
        first = np.flatnonzero(new)
        times = np.diff(np.append(first, len(by)))
        rows = max(1, at_once // shape.vocabulary)
        for i in range(0, len(first), rows):
            positions = by[first[i : i + rows]]
            yield ProbabilityBlock(
                positions, times[i : i + rows, None] * distributions(model, states[positions])
            )

    return SampledModel(shape.vocabulary, sample, blocks)


@partial(jax.jit, static_argnums=0)
def _probabilities(model: LanguageModel, params: Params, words: Array, order: Array, real: Array) -> Array:
    """Returns p of every next word but `<s>` after cells of [rows, time], in this order, [cells, V]."""
    features = model.features(params, words, None)
    features = features.reshape(-1, features.shape[-1])[order]
    logits = model.logits(params, features).at[:, BOS].set(-jnp.inf)
    return jax.nn.softmax(logits, axis=-1) * (jnp.arange(len(order)) < real)[:, None]


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _draw(
    model: LanguageModel,
    rows: int,
    lanes: int,
    longest: int,
    params: Params,
    key: Array,
    first: Array,
    count: Array,
) -> Array:
    """Draws `count` sentences as words [rows, longest + 2], padded with `</s>`; rows beyond count mean nothing."""

    def uniforms(number: Array, place: Array) -> Array:
        return jax.random.uniform(jax.random.fold_in(jax.random.fold_in(key, first + number), place), (2,))

    def step(at: tuple) -> tuple:
        state, word, place, number, following, out = at
        state, features = model.step(params, state, word)
        place = place + 1
        drawn = _choose(model.logits(params, features), jax.vmap(uniforms)(number, place))
        word = jnp.where(place > longest, EOS, drawn)
        out = out.at[number, place].set(word, mode="drop")
        ended = word == EOS
        number = jnp.where(ended, following + jnp.cumsum(ended) - 1, number)  # the next that no lane has
        following = following + ended.sum()
        return state, jnp.where(ended, BOS, word), jnp.where(ended, 0, place), number, following, out

    out = jnp.full((rows, longest + 2), EOS, jnp.int32).at[:, 0].set(BOS)
    word = jnp.full(lanes, BOS, jnp.int32)
    state = jax.tree.map(
        lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(model.step, params, None, word)[0]
    )
    number = jnp.arange(lanes, dtype=jnp.int32)
    at = (state, word, jnp.zeros_like(number), number, jnp.int32(lanes), out)
    return jax.lax.while_loop(lambda at: (at[3] < count).any(), step, at)[-1]


def _choose(logits: Array, draws: Array) -> Array:
    """Picks a word by its probability, never `<s>`; draws [lanes, 2] in [0, 1).

    First a slice of the vocabulary by its sum, then a word in it: one pass over [lanes, V].
    """
    lanes, vocabulary = logits.shape
    logits = logits.at[:, BOS].set(-jnp.inf)
    odds = jnp.exp(logits - logits.max(axis=-1, keepdims=True))
    odds = jnp.pad(odds, ((0, 0), (0, -vocabulary % _SLICE))).reshape(lanes, -1, _SLICE)

    def pick(weights: Array, draw: Array) -> Array:
        sums = jnp.cumsum(weights, axis=-1)
        return (sums <= draw[:, None] * sums[:, -1:]).sum(axis=-1)

    part = jnp.minimum(pick(odds.sum(axis=-1), draws[:, 0]), odds.shape[1] - 1)
    inside = jnp.take_along_axis(odds, part[:, None, None], axis=1)[:, 0]  # [lanes, _SLICE]
    return jnp.minimum(part * _SLICE + pick(inside, draws[:, 1]), vocabulary - 1)


def _draw_arcs(model: Automaton, sums: Floats, states: Ints, address: tuple) -> Ints:
    """Draws an arc for each state, on its backoff path, by the probability of its label there.

    φ leads to the backoff state with the labels that the state lacks; a label that it has is drawn again. This takes
    w[φ] draws for each one at the state, about one or fewer in any sensible model.
    """
    shape = model.topology
    arcs = np.full(len(states), -1, np.int64)
    at, before = np.array(states, np.int64), np.full(len(states), -1, np.int64)
    *where, numbers, place = address
    todo = np.arange(len(states))
    for attempt in range(_TRIES):
        if not len(todo):
            return arcs
        here, low = at[todo], sums[shape.starts[at[todo]]]
        inside = sums[shape.starts[here + 1]] - low  # [todo] what the arcs have, φ has the rest
        whole = (shape.backoff[here] < 0) | (inside > 1 - 1e-12)  # nothing for φ, despite rounding
        draw = uniform(*where, numbers[todo], place, attempt) * np.where(whole, inside, 1.0)
        on = draw < inside
        arc = np.searchsorted(sums, low + draw, side="right") - 1
        arc = np.clip(arc, shape.starts[here], shape.starts[here + 1] - 1)
        back = before[todo]
        free = on & ((back < 0) | (shape.arc(np.maximum(back, 0), shape.labels[arc]) < 0))
        arcs[todo[free]] = arc[free]
        down = todo[~on]
        before[down], at[down] = at[down], shape.backoff[at[down]]
        todo = todo[~free]
    # almost nothing is left for φ: use the whole distribution
    p = distributions(model, at[todo])
    row, taken = shape.arcs_of(before[todo])
    p[row, shape.labels[taken]] = 0.0
    sums = np.cumsum(p, axis=1)
    draw = uniform(*where, numbers[todo], place, _TRIES)[:, None] * sums[:, -1:]
    labels = np.minimum((sums <= draw).sum(axis=1), shape.vocabulary - 1)
    arcs[todo] = shape.reading(at[todo], labels)[1]
    return arcs


def _laid_out(words: NDArray[np.integer]) -> Sentences:
    """Returns the sentences of rows `<s> … </s> </s> …`."""
    lengths = np.argmax(words == EOS, axis=1) + 1
    kept = np.arange(words.shape[1]) < lengths[:, None]
    return Sentences(words[kept].astype(np.int64), flat.ends(lengths))
