"""Writes a compact n-gram file; reader.py describes the layout."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path

import numpy as np

from tacit import __version__
from tacit.base.errors import TacitError
from tacit.base.files import write_atomic
from tacit.base.sections import assemble
from tacit.ngram.automaton import Automaton
from tacit.ngram.compact import words as compact_words
from tacit.ngram.compact.arrays import PICK, RANK
from tacit.ngram.compact.quantise import quantise
from tacit.ngram.compact.reader import FORM
from tacit.ngram.grams import grams
from tacit.text.locale import DEFAULT
from tacit.text.vocabulary import SPECIALS, Vocabulary, by_bytes

_COMMON = 1 << 16


def write(
    path: Path,
    vocabulary: Vocabulary,
    model: Automaton,
    *,
    name: str,
    source: str = "",
    hidden: Collection[str] = (),
    locale: str = DEFAULT,
) -> int:
    """Writes an n-gram automaton and returns the length of the file; words in `hidden` are never suggested.

    At most 65,536 words can occur in n-grams of order 2 or more. Equal models give equal bytes: the file has no date
    and no path.
    """
    v = model.topology.vocabulary
    if len(vocabulary) != v:
        raise TacitError(f"{path}: the model has {v} words, its vocabulary {len(vocabulary)}; use its own")
    if v <= len(SPECIALS):
        raise TacitError(f"{path}: the model is empty; it needs a word besides {', '.join(SPECIALS)}")
    words, ids = by_bytes(vocabulary)
    (_, keys, _), arcs, states = grams(model.topology, ids)
    order = len(keys) - 1
    codes = quantise(model)
    common = np.unique(np.concatenate(np.divmod(keys[2], v))) if order > 1 else np.zeros(0, np.int64)
    if len(common) > _COMMON:
        raise TacitError(
            f"{path}: {len(common):,} words are in n-grams of order 2 or more, but the format holds {_COMMON:,}; "
            "keep only unigrams of the rarest words"
        )
    place = np.zeros(v, np.int64)
    place[common] = np.arange(len(common))
    packed = compact_words.pack(words[len(SPECIALS) :])
    unseen = np.zeros(v, np.bool_)  # never suggested
    unseen[: len(SPECIALS)] = True
    unseen[[ids[vocabulary.index[word]] for word in hidden if word in vocabulary.index]] = True
    facts = {
        "name": name,
        "source": source,
        "cased": vocabulary.cased,
        "created_by": f"tacit {__version__}",
        "order": order,
        "ngrams": [len(level) for level in keys[1:]],
        **({} if locale == DEFAULT else {"locale": locale}),
    }
    histories = states[1][common]
    sections: dict[str, np.ndarray | bytes] = {
        "meta": json.dumps(facts, sort_keys=True, ensure_ascii=False).encode(),
        "text": bytes(packed.text),
        "blocks": packed.starts.astype("<u4"),
        "hidden": _bits(unseen),
        "p1": np.where(arcs[1] >= 0, codes.p[arcs[1]], 0).astype(np.uint8),
        "tp1": codes.p_tables[0].astype("<f4"),
        "common": common.astype("<u4"),
        "start2": np.zeros(1, "<u4"),
        "b1": np.where(histories >= 0, codes.backoff[histories], 0).astype(np.uint8),
        "tb1": (codes.backoff_tables[0] if order > 1 else np.zeros(256)).astype("<f4"),
    }
    for n in range(2, order + 1):
        history = keys[n] // v
        if n == 2:
            sections["start2"] = np.append(np.searchsorted(history, common), len(history)).astype("<u4")
        else:
            first = np.append([True], np.diff(history) > 0)
            sections[f"head{n}"] = _bits(first)
            sections[f"pick{n}"] = np.append(np.flatnonzero(first)[::PICK], len(history)).astype("<u4")
        sections[f"label{n}"] = place[keys[n] % v].astype("<u2")
        sections[f"p{n}"] = codes.p[arcs[n]]
        sections[f"tp{n}"] = codes.p_tables[n - 1].astype("<f4")
        if n < order:
            deep = np.zeros(len(keys[n]), np.bool_)
            deep[np.unique(keys[n + 1] // v)] = True
            sections[f"deep{n}"] = _bits(deep)
            sections[f"rank{n}"] = (np.cumsum(deep) - deep)[::RANK].astype("<u4")
            sections[f"b{n}"] = codes.backoff[states[n][deep]]
            sections[f"tb{n}"] = codes.backoff_tables[n - 1].astype("<f4")
    data = assemble(FORM, sections)
    write_atomic(path, data)
    return len(data)


def _bits(mask: np.ndarray) -> np.ndarray:
    return np.packbits(mask, bitorder="little")
