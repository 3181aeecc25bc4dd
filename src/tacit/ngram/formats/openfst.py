"""Writes OpenFst's text format, for tools that compose and optimise automata.

There are two files:
- the automaton, one arc a line, `from to label label weight`, with −ln weights, then a line `state weight` for each
  final state; the first line is an arc of the initial state;
- the symbol table, lines of `word number`.

Compile with

    fstcompile --isymbols=model.syms --osymbols=model.syms --keep_state_numbering model.fst.txt model.fst

Failure arcs have the label `<phi>`: as in a φ-matcher, they are taken, at their weight, only if a state has no arc for
the next word (or, at the end of a sentence, is not final). `<s>` and `</s>` label no arc, because a sentence starts at
the first state and ends at a final one; so `<eps>` and `<phi>` take their numbers, 0 and 1, and every other word keeps
its id. Automata with several roots, as over word-pieces, can be written, too.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tacit.base.errors import TacitError
from tacit.base.files import write_atomic
from tacit.ngram.automaton import Automaton
from tacit.text.vocabulary import EOS, UNK

EPSILON, PHI = "<eps>", "<phi>"


def write(path: Path, symbols: Path, words: tuple[str, ...], model: Automaton) -> None:
    """Writes an automaton to `path` and its symbol table to `symbols`; `words[i]` has id i.

    >>> import tempfile
    >>> from tacit.ngram import automaton, kneser_ney
    >>> model = automaton.from_kneser_ney(kneser_ney.fit([0, 3, 1], [0, 3], vocabulary=4, order=2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     text, symbols = Path(folder) / "a.txt", Path(folder) / "a.syms"
    ...     write(text, symbols, ("<s>", "</s>", "<unk>", "hi"), model)
    ...     print(text.read_text().splitlines()[:2])
    ['1\\t0\\t<phi>\\t<phi>\\t0.693147181', '1\\t2\\thi\\thi\\t0.344840486']
    """
    shape = model.topology
    if len(words) != shape.vocabulary:
        raise TacitError(
            f"{path}: the model has {shape.vocabulary} words, its vocabulary {len(words)}; use its own"
        )
    for taken in {EPSILON, PHI} & set(words):
        raise TacitError(
            f"{path}: the word {taken} has a special meaning in OpenFst files; leave it out of the model"
        )
    names = np.array([EPSILON, PHI, *words[UNK:]], object)
    fails, reads = np.flatnonzero(shape.backoff >= 0), np.flatnonzero(shape.labels != EOS)
    ends = np.flatnonzero(shape.labels == EOS)
    owner = np.concatenate([fails, shape.owners[reads]])
    target = np.concatenate([shape.backoff[fails], shape.targets[reads]])
    label = np.concatenate([np.full(len(fails), EOS), shape.labels[reads]])
    weight = -np.concatenate([model.log_backoff[fails], model.log_p[reads]])
    by = np.lexsort((label, owner, owner != shape.initial))  # the start first, then by state and label
    columns = (owner, target, names[label], names[label], weight + 0.0)  # no "-0"
    row = "%d\t%d\t%s\t%s\t%.9g\n"
    lines = list(map(row.__mod__, zip(*(column[by].tolist() for column in columns), strict=True)))
    final = zip(shape.owners[ends].tolist(), (-model.log_p[ends] + 0.0).tolist(), strict=True)
    lines += map("%d\t%.9g\n".__mod__, final)
    write_atomic(symbols, "".join(f"{name}\t{i}\n" for i, name in enumerate(names)))
    write_atomic(path, "".join(lines))
