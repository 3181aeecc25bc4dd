"""Fine-tunes and measures many people at once, by paper 3's five steps (section 2).

The steps are: split, measure, fine-tune, measure again, report. One compiled program fine-tunes a group of people and
measures them afterwards. On an accelerator they run in parallel (`vmap`), each with a copy of the model. On CPU they
run one after another, each for as many steps as they have batches. Groups are spread over all local devices. Local
training and the packing of batches are those of a federated round (`federated.local`, `federated.batching`). Learning
rates are arguments, one for each person, so a grid over rates compiles once. The global model is measured once; the
program needs only the words that it got right.

Fine-tuning ends after E epochs or with the batch that reaches T tokens, whichever comes first (section 3.3).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tacit.federated import trees
from tacit.federated.batching import Grid, grid
from tacit.federated.client_config import ClientConfig
from tacit.federated.executors import Executor, choose_executor
from tacit.federated.local import Broadcast, ClientState, local_training
from tacit.federated.objective import next_word_loss
from tacit.federated.text_cohorts import sentence_rows, sentence_work
from tacit.models.base import LanguageModel, Params
from tacit.personal.groups import Batches, Exam, Group, Program, Steps, exam_cells, for_everybody
from tacit.personal.model_parts import EVERYTHING, ModelPart
from tacit.scoring import recall
from tacit.text.packed import Packed, Rows, bucket
from tacit.text.pieces import Pieces


class Marks(NamedTuple):
    """What one device counts, all [users]; with several readings [users, readings]."""

    right: Any  # int32: words that were the first suggestion
    top3: Any  # int32: words among the first three
    lost: Any  # int32: words that only the global model has right
    won: Any  # int32: words that only this model has right
    nll: Any  # float32: −log p of words and ends


# (global model, personal model, a person's memory, inputs [rows, time]) → log-scores [readings, rows, time, words]
Reading = Callable[[Params, Params, Any, Array], Array]


def personal_model(model: LanguageModel) -> Reading:
    """Returns the plain reading: the personal model alone."""
    return lambda params, tuned, memory, inputs: model.apply(tuned, inputs)[None]


def tuning_batches(
    text: Packed, ids: np.ndarray, client: ClientConfig, seed: int, shape: Grid | None, max_tokens: int = 0
) -> Batches:
    """Returns everybody's batches to tune on: `client.epochs` passes, up to the batch that reaches `max_tokens`."""
    sentences, steps = sentence_work(text, ids, client, seed, 0, shape)  # [users, steps, width], [users]
    if max_tokens:
        tokens = np.where(sentences >= 0, np.append(text.lengths, 0)[sentences], 0).sum(axis=2)
        before = np.cumsum(tokens, axis=1) - tokens  # [users, steps] seen before each step
        steps = np.minimum(steps, (before < max_tokens).sum(axis=1)).astype(np.int32)
    longest = int(steps.max(initial=1))
    real = np.arange(longest) < steps[:, None]
    sentences = np.where(real[..., None], sentences[:, :longest], -1)
    return Batches(sentence_rows(text, sentences, shape), steps)


def tuning_grid(text: Packed, client: ClientConfig, limit: int) -> Grid | None:
    """Returns the shape of a batch of about `client.batch` sentences; None where batches are counted in sentences.

    A sequence of `limit` words may have more pieces.
    """
    if client.batching == "sentences":
        return None
    return grid(text.lengths, client.batch, max(limit + 1, text.longest) if limit else text.longest)


def measuring_batches(text: Packed, ids: np.ndarray) -> Batches:
    """Returns everybody's batches to measure on, each whole message once, in any order."""
    time = bucket(text.longest)
    return tuning_batches(text, ids, ClientConfig(epochs=1), 0, Grid(max(1, exam_cells() // time), time))


def tokens_in(batches: Batches) -> np.ndarray:
    """Returns how many predictions everybody's batches hold, [users] int64."""
    return np.asarray((batches.rows.targets >= 0).sum(axis=(1, 2, 3)), np.int64)


def cell_marks(
    scores: Array, targets: Array, inputs: Array, pieces: Pieces | None = None
) -> tuple[Array, Array, Array]:
    """Returns −log p, top-1 and top-3 hits of every cell [..., rows, time].

    `tacit.scoring.recall` defines a suggestion and a hit; of pieces, those that are whole words are suggested, where a
    word begins.
    """
    real = targets >= 0
    at = jnp.broadcast_to(jnp.maximum(targets, 0), scores.shape[:-1])[..., None]
    target_score = jnp.take_along_axis(scores, at, axis=-1)
    nll = jnp.where(real, jax.nn.logsumexp(scores, axis=-1) - target_score[..., 0], 0)
    whole = True if pieces is None else jnp.asarray(pieces.whole)
    rank = recall.rank(scores, target_score, at[..., 0], whole)
    # a NaN score would have rank 0
    known = recall.is_known(targets) & jnp.isfinite(target_score[..., 0])
    if pieces is not None:
        known &= jnp.asarray(pieces.whole)[at[..., 0]] & jnp.asarray(pieces.ends)[inputs]
    return nll, known & (rank < 1), known & (rank < 3)


LogScores = Callable[[Array], Array]  # inputs [rows, time] → log-scores [readings, rows, time, words]


def examine(score: LogScores, exam: Exam, steps: Array, pieces: Pieces | None = None) -> tuple[Marks, Array]:
    """Returns one person's marks [readings] over the first `steps` batches, and the words that were right
    [steps, readings, rows, time]; empty batches count for nothing."""
    rows = exam.batches.rows
    shape = jax.eval_shape(score, rows.inputs[0]).shape[:-1]  # [readings, rows, time]

    def look(i: Array, so_far: tuple[Marks, Array]) -> tuple[Marks, Array]:
        sums, right = so_far
        nll, first, three = cell_marks(score(rows.inputs[i]), rows.targets[i], rows.inputs[i], pieces)
        before = exam.right[i]

        def count(cells: Array) -> Array:
            return cells.sum(axis=(1, 2), dtype=jnp.int32)

        lost, won = count(before & ~first), count(first & ~before)
        added = Marks(count(first), count(three), lost, won, nll.sum(axis=(1, 2)))
        return trees.add(sums, added), right.at[i].set(first)

    none = jnp.zeros(shape[0], jnp.int32)
    nothing = Marks(none, none, none, none, jnp.zeros(shape[0]))
    return jax.lax.fori_loop(0, steps, look, (nothing, jnp.zeros((len(rows.inputs), *shape), bool)))


class Tuned(NamedTuple):
    """The result of a group's program, [users]."""

    marks: tuple[Marks, ...]  # for each exam, [users, readings]
    finite: Any  # bool: fine-tuning did not diverge
    model: Any  # tree of [users, …]: what was tuned; () without `keep`


@lru_cache(maxsize=64)  # a second call does not compile again
def personalisation(
    model: LanguageModel,
    client: ClientConfig,
    tuned_part: ModelPart = EVERYTHING,
    reading: Reading | None = None,
    executor: Executor = "auto",
    keep: bool = False,
    pieces: Pieces | None = None,
) -> Program:
    """Compiles the program that fine-tunes a group and measures it; with `keep` it returns the models, too.

    A model over word-pieces is measured in words, by its inventory `pieces`.
    """
    loss, read = next_word_loss(model), reading or personal_model(model)
    side_by_side = choose_executor(executor) == "vmap"

    def person(params: Params, one: Group, lr: Array, longest: Steps) -> Tuned:
        def tuned_loss(w: Any, batch: Rows, key: Array | None) -> tuple[Array, Array]:
            return loss(tuned_part.join(params, w), batch, key)

        begin, step = local_training(tuned_loss, client)
        sent = Broadcast(tuned_part.start(params))
        # keyed by the person's number; only dropout draws
        key = jax.random.fold_in(jax.random.key(0), one.ids) if model.config.dropout else None

        def next_step(i: Array, now: ClientState) -> ClientState:
            batch = jax.tree.map(lambda a: a[i], one.tuning_batches.rows)
            step_key = None if key is None else jax.random.fold_in(key, i)
            after = step(sent, now, batch, jnp.float32(1), lr, step_key)
            return trees.where(i < one.tuning_batches.steps, after, now) if side_by_side else after

        trained = jax.lax.fori_loop(0, longest.tuning_batches, next_step, begin(sent))
        whole = tuned_part.join(params, trained.w)
        score = partial(read, params, whole, one.memory)
        marks = tuple(examine(score, *at, pieces)[0] for at in zip(one.exams, longest.exams, strict=True))
        return Tuned(marks, trees.finite(trained.w), trained.w if keep else ())

    return for_everybody(person, side_by_side)


@lru_cache(maxsize=8)
def measuring(model: LanguageModel, executor: Executor = "auto", pieces: Pieces | None = None) -> Program:
    """Compiles the program that measures the global model: (marks [users], right words) for each exam of a group."""

    def person(params: Params, one: Group, lr: Array, longest: Steps) -> Any:
        def score(inputs: Array) -> Array:
            return model.apply(params, inputs)[None]

        examined = (examine(score, *at, pieces) for at in zip(one.exams, longest.exams, strict=True))
        return tuple((jax.tree.map(lambda a: a[0], marks), right[:, 0]) for marks, right in examined)

    return for_everybody(person, choose_executor(executor) == "vmap")
