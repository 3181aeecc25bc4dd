"""A few people with enough to say, and a plain judge of what their devices do."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import reference
from tacit.federated.batching import order_of_work
from tacit.federated.client_config import ClientConfig
from tacit.models import ModelConfig, language_model
from tacit.text.packed import Packed, pack

V, D = 12, 4
BOS, EOS, UNK = 0, 1, 2
MODEL = language_model(ModelConfig(embedding=D, hidden=D), V)
PARAMS = reference.shaken(jax.eval_shape(MODEL.init, jax.random.key(0)), 3, 0.7)


def talkers(seed: int = 0, people: int = 5, least: int = 12, most: int = 22) -> Packed:
    """People with `least` … `most` messages of 8 or 12 words; each has favourite words, some unknown."""
    draw = np.random.default_rng(seed)
    text = []
    for _ in range(people):
        liked = draw.dirichlet(np.full(V - 2, 0.4))
        text.append(
            [
                np.array([BOS, *draw.choice(np.arange(2, V), draw.choice([8, 12]), p=liked), EOS])
                for _ in range(draw.integers(least, most + 1))
            ]
        )
    return pack(text, [f"p{k}" for k in range(people)])


def messages(text: Packed, k: int) -> list[np.ndarray]:
    """What person k typed, message by message."""
    spans = zip(text.offsets[:-1], text.offsets[1:], strict=True)
    every = [text.tokens[a:b] for a, b in spans]
    return every[text.owners[k] : text.owners[k + 1]]


@jax.jit
def _gradient(w: Any, sentence: Any) -> Any:
    """Of the summed cross-entropy of one sentence, `<s>` … `</s>`, by itself in a row."""

    def loss(w: Any) -> Any:
        log_p = jax.nn.log_softmax(MODEL.apply(w, sentence[None, :-1])[0])
        return -jnp.take_along_axis(log_p, sentence[1:, None], axis=1).sum()

    return jax.grad(loss)(w)


def tuned(typed: list[np.ndarray], number: int, client: ClientConfig, lr: float, limit: int = 0) -> Any:
    """One person's fine-tuning in a plain loop: batches of B sentences until E epochs or `limit` tokens."""
    work = order_of_work(np.array([len(typed)]), np.array([number]), client, 0, 0)
    w, seen = reference.float64(PARAMS), 0
    for step in work.schedule[0, : work.steps[0]]:
        if limit and seen >= limit:
            break
        batch = [typed[i] for i in step if i >= 0]
        tokens = sum(len(s) - 1 for s in batch)
        each = [_gradient(jax.tree.map(jnp.float32, w), jnp.asarray(s)) for s in batch]
        g = jax.tree.map(lambda *leaves: sum(np.asarray(x, np.float64) for x in leaves), *each)
        w, seen = jax.tree.map(lambda a, b, n=tokens: a - lr * b / n, w, g), seen + tokens
    return w


def hits(params: Any, typed: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, float]:
    """Of every word typed, whether it was the first suggestion and whether it was among three; and −log p in all."""
    first, three, nll = [], [], 0.0
    for sentence in typed:
        _, logits = reference.sentence_logits(params, sentence[:-1], reference.gru_common, "gru")
        for row, word in zip(logits, sentence[1:], strict=True):
            nll -= float(np.log(reference.softmax_rows(row)[word]))
            if word != EOS:
                ranked = sorted(range(UNK + 1, V), key=lambda v: (-row[v], v))
                first.append(word == ranked[0])
                three.append(word in ranked[:3])
    return np.array(first), np.array(three), nll
