"""OpenFst's text format, for tools that compose and optimise automata.

Two files. The automaton, one arc a line, `from to label label weight`, weights being −ln; a last line for each
state where a sentence may end, `state weight`. The first line leaves the state where sentences start. And the
symbol table, `word number`. Compile with

    fstcompile --isymbols=model.syms --osymbols=model.syms --keep_state_numbering model.fst.txt model.fst

Failure arcs bear the label `<phi>`: they are taken, at their weight, only where a state has no arc for the next
word (or, at the end, may not end a sentence): a φ-matcher's rule. `<s>` and `</s>` label no arc here, since a
sentence starts at the first state and ends at a final one, so `<eps>` and `<phi>` have their numbers, 0 and 1, and
every other word its id. Several roots are no hindrance: automata over word-pieces are written as well.
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
    """Write an automaton to `path` and its symbol table to `symbols`; `words[i]` has id i.

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
            f"{path}: the word {taken} names something else in OpenFst files; leave it out of the model"
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
