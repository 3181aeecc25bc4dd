"""Writes a run's network as an 8-bit file, and turns a file back into parameters; `reader` documents the layout.

A row's scale is its greatest weight / 127, rounded up to one of 256 scales in geometric steps, so that it takes a
byte. The codes are the weights over that rounded scale, rounded: no weight is off by more than half a scale. Biases,
gains and shifts, which are few, are float16. Only weights are rounded; activations are float32.
"""

from __future__ import annotations

import dataclasses
import json
import zlib
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from tacit import __version__
from tacit.base.errors import TacitError
from tacit.base.files import write_atomic
from tacit.base.sections import assemble
from tacit.lm.network8.reader import FORM, MOST, MOST_TEXT, RANGE, Architecture, Network8, scales, shapes
from tacit.models import LanguageModel, ModelConfig, language_model
from tacit.models.base import Params, tree_names
from tacit.text.locale import DEFAULT
from tacit.text.vocabulary import SPECIALS, Vocabulary, by_bytes

_WIDEST = 1e4  # the greatest scale of a matrix over the least: a step of it is then at most 3.7 %


def write(
    path: Path,
    words: Vocabulary,
    config: ModelConfig,
    params: Params,
    *,
    name: str,
    source: str = "",
    case: str = "lower",
    max_words: int = 0,
    locale: str = DEFAULT,
) -> int:
    """Writes a network and returns the file's length. Equal models give equal bytes: no date, no path."""
    if len(words) <= len(SPECIALS):
        raise TacitError(f"{path}: the model is empty; it needs a word beside {', '.join(SPECIALS)}")
    table = dataclasses.asdict(config)
    architecture = Architecture(**{field: table[field] for field in Architecture._fields})
    ordered, ids = by_bytes(words)
    facts = {
        "name": name,
        "source": source,
        "case": case,
        "max_words": max_words,
        "created_by": f"tacit {__version__}",
        "vocabulary": len(words),
        "model": architecture._asdict(),
        **({} if locale == DEFAULT else {"locale": locale}),
    }
    text = "".join(f"{word}\n" for word in ordered[len(SPECIALS) :]).encode()
    if len(text) > MOST_TEXT:
        raise TacitError(
            f"{path}: the words take {len(text):,} bytes, more than this file holds; choose fewer"
        )
    sections: dict[str, bytes] = {
        "meta": json.dumps(facts, sort_keys=True, ensure_ascii=False).encode(),
        "words": zlib.compress(text, 9),
    }
    leaves = dict(zip(tree_names(params), map(np.asarray, jax.tree.leaves(params)), strict=True))
    for leaf, shape in shapes(architecture, len(words)):
        value = leaves[leaf]
        if len(shape) == 1:
            ordered_value = value[np.argsort(ids)] if leaf == "output_bias" else value.ravel()
            sections[leaf] = _half(path, leaf, ordered_value)
            continue
        # [words, …], or [groups, inputs, outputs] by rows of outputs
        by_word = leaf in ("embedding", "output")
        value = value[np.argsort(ids)] if by_word else value.swapaxes(-1, -2).reshape(shape)
        codes, low, high, rows = quantise(value)
        sections[leaf] = codes.tobytes()
        sections[f"{leaf}.scale"] = RANGE.pack(low, high) + rows.tobytes()
    data = assemble(FORM, sections)
    write_atomic(path, data)
    return len(data)


def quantise(
    weights: NDArray[np.floating],
) -> tuple[NDArray[np.int8], float, float, NDArray[np.uint8]]:
    """Returns a matrix [outputs, inputs] in 8 bits: codes, the least and greatest scale, and each row's scale code.

    >>> codes, low, high, rows = quantise(np.array([[127.0, -63.5], [0.5, 0.25]]))
    >>> codes.tolist(), high
    ([[127, -64], [127, 64]], 1.0)
    """
    peak = np.abs(weights).max(1).astype(np.float64)
    high = float(np.float32(peak.max() / MOST)) or 1.0
    positive = peak[peak > 0]
    low = (
        float(np.float32(max(positive.min(initial=np.inf) / MOST, high / _WIDEST))) if len(positive) else high
    )
    spread = np.log(high / low)
    log_scale = np.log(np.maximum(peak / MOST, low) / low)
    steps = np.ceil(255 * log_scale / spread - 1e-3) if spread > 0 else np.zeros(len(peak))
    rows = np.clip(steps, 0, 255).astype(np.uint8)
    scale = scales(low, high, rows).astype(np.float64)
    codes = np.clip(np.rint(weights / scale[:, None]), -MOST, MOST).astype(np.int8)
    return codes, low, high, rows


def _half(path: Path, name: str, values: NDArray[np.floating]) -> bytes:
    if values.size and float(np.abs(values).max()) > float(np.finfo(np.float16).max):
        raise TacitError(f"{path}: '{name}' has values above 65,504, the limit of float16; train again")
    return values.astype("<f2").tobytes()


def as_model(stored: Network8) -> tuple[LanguageModel, Params]:
    """Returns the same network for JAX, with the file's ids, to evaluate much text."""
    a = stored.architecture
    config = ModelConfig(**a._asdict())
    model = language_model(config, len(stored.words))
    like = jax.eval_shape(model.init, jax.random.key(0))
    leaves: list[Any] = []
    for leaf, shape in zip(tree_names(like), jax.tree.leaves(like), strict=True):
        if leaf in stored.vectors:
            value = stored.vectors[leaf].reshape(shape.shape)
        elif leaf in ("embedding", "output"):
            value = stored.matrices[leaf].floats()
        else:
            turned = (*shape.shape[:-2], shape.shape[-1], shape.shape[-2])
            value = stored.matrices[leaf].floats().reshape(turned).swapaxes(-1, -2)
        leaves.append(jnp.asarray(np.ascontiguousarray(value)))
    return model, jax.tree.unflatten(jax.tree.structure(like), leaves)
