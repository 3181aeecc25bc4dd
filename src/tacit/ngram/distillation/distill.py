"""From a run to n-gram files that keyboards load: what `tacit distill` does. distill_files.py tells what it leaves.

The way is Algorithm 1 of paper 4. The supplemental corpus gives n-grams, and capitals if they are asked for; weights
come from the federated network alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from tacit import runs
from tacit.base.errors import TacitError
from tacit.base.files import all_or_nothing, to_json, write_atomic
from tacit.base.progress import Progress, no_progress
from tacit.ngram import casing
from tacit.ngram.automaton import Automaton, Topology
from tacit.ngram.distillation import capitals, sampling
from tacit.ngram.distillation.approximate import Models, Recast, algorithm_1, count
from tacit.ngram.distillation.approximate_pieces import algorithm_1_pieces, approximate_pieces, piece_text
from tacit.ngram.distillation.figures import held_out, measure
from tacit.ngram.distillation.files import check, write
from tacit.ngram.distillation.large_vocabulary import with_unigrams
from tacit.ngram.distillation.minimise import minimise
from tacit.ngram.distillation.sampling import Sentences, Source
from tacit.ngram.distillation.topology import MAX_NGRAMS, from_corpus
from tacit.ngram.formats import aosp
from tacit.ngram.validity import require
from tacit.text import supplement
from tacit.text.pieces import Spelling, read_counts
from tacit.text.supplement import Supplement
from tacit.text.vocabulary import SPECIALS, Vocabulary

Which = Literal["e", "i", "m", "r"]


@dataclass(frozen=True)
class DistillOptions:
    """What is made, of what."""

    # a corpus that is not the clients'; None: other typists, if the clients are such
    supplement: str | None = None
    order: int = 3
    max_ngrams: int = MAX_NGRAMS  # single words counted
    topology: Which = "r"  # of the models of Algorithm 1
    cased: bool = False  # put capitals back
    pieces: Path | None = None  # of a model over word-pieces: the run over words that infers n-grams
    unigrams: Path | None = None  # counts.tsv of `tacit count`: the single words of a larger vocabulary
    sentences: int = 20_000  # drawn from the network
    seed: int = 0


class Distilled(NamedTuple):
    """An n-gram model and what it was made with."""

    vocabulary: Vocabulary
    model: Automaton
    supplement: Automaton | None  # Kneser-Ney of the supplemental corpus, the same size
    beside: str | None  # that corpus, in words
    corpus: str | None  # and as `--supplement` takes it, from anywhere
    caser: casing.Caser | None


def distill(
    run: runs.Run, options: DistillOptions, data: Path | None = None, progress: Progress = no_progress
) -> Distilled:
    """The n-gram model of a run; nothing is written.

    The network's words stay those of the n-gram model, in their cased variants if capitals are asked for.
    """
    beside = supplement.find(run.config.text, run.config.typists, options.supplement, data)
    if beside is None and (options.topology != "i" or options.cased):
        what = "capitals are learnt" if options.cased else f"the n-grams of topology {options.topology} come"
        raise TacitError(
            f"{what} from text that is not the clients': give --supplement CORPUS, or --topology i without --cased"
        )
    namer = _word_run(run, options)
    uncased = words_of(run)
    counts = _counts(options)
    caser = casing.fit(_cased(beside), uncased) if options.cased and beside else None
    words = caser.cased.words if caser else uncased
    options = _with_room(options, len(words) - 1, len(counts.keys() - set(uncased.words)))
    own = _of_supplement(beside, words, caser, options) if beside else None
    recast = capitals.recast(caser) if caser else None
    source = sampling.network(namer.model, namer.params) if namer else None
    if run.spelling:
        model = _from_pieces(run, run.spelling, source, own, options, caser, recast, progress)
    else:
        assert source is not None
        model = _from_words(source, own, options, recast, progress)
    if options.unigrams:
        shares = capitals.shares(caser) if caser else None
        model, words = with_unigrams(model, words, counts, variants=shares)
    require(model, words)
    name, corpus = (beside.name, beside.text.corpus) if beside else (None, None)
    return Distilled(words, model, own, name, corpus, caser)


def words_of(run: runs.Run) -> Vocabulary:
    """The words that an n-gram model of a run is over, without capitals if the run's text has none."""
    return run.spelling.words if run.spelling else run.vocabulary


def _counts(options: DistillOptions) -> dict[str, float]:
    """The counted words; what is no word would be nonsense in every file."""
    if not options.unigrams:
        return {}
    counts = read_counts(options.unigrams)
    for word, n in counts.items():
        if word in SPECIALS or word.split() != [word]:
            raise TacitError(f"--unigrams {options.unigrams}: {word!r} is not one word; leave it out")
        if not (math.isfinite(n) and n >= 0):
            raise TacitError(f"--unigrams {options.unigrams}: {word!r} has the count {n}; give one from 0 up")
    if not any(counts.values()):
        raise TacitError(f"--unigrams {options.unigrams}: no word was counted; give counts of at least one")
    return {word: n for word, n in counts.items() if n > 0}


def _with_room(options: DistillOptions, own: int, more: int) -> DistillOptions:
    """The options with room left for single words that are put in at the end."""
    if options.max_ngrams < own + more:
        raise TacitError(
            f"--max-ngrams {options.max_ngrams} is less than the {own + more:,} single words alone; allow more"
        )
    return replace(options, max_ngrams=options.max_ngrams - more)


def _word_run(run: runs.Run, options: DistillOptions) -> runs.Run | None:
    """The run over words that infers n-grams: this one, or for a piece model the one that was given."""
    if run.spelling is None:
        if options.pieces:
            raise TacitError(f"--pieces: {run.path} is a model over words already; leave --pieces out")
        return run
    if options.pieces is None:
        if options.topology == "e":
            return None
        raise TacitError(
            f"{run.path} is a model over word-pieces, which infer no n-grams of words: give --pieces RUN, a run over "
            "the same words, or --topology e"
        )
    words = runs.load(options.pieces)
    if words.spelling or words.vocabulary.words != run.spelling.words.words:
        raise TacitError(
            f"--pieces {options.pieces}: not a run over the words of {run.path}; train one with the same text settings"
        )
    return words


def _cased(beside: Supplement) -> list[list[str]]:
    written = beside.written()
    if not any(word != word.lower() for message in written for word in message):
        raise TacitError(
            f"--cased: {beside.name} has no capital in it; give a --supplement that is properly written"
        )
    return written


def _of_supplement(
    beside: Supplement, words: Vocabulary, caser: casing.Caser | None, options: DistillOptions
) -> Automaton:
    if caser:
        text = Sentences(*casing.encode(caser.cased, beside.written()))
    else:
        packed = beside.packed(words)
        text = Sentences(packed.tokens.astype(np.int64), packed.offsets)
    return from_corpus(text, len(words), options.order, options.max_ngrams)


def _from_words(
    source: Source, own: Automaton | None, options: DistillOptions, recast: Recast | None, progress: Progress
) -> Automaton:
    """The model of Algorithm 1 that was asked for, and no more than it needs."""
    limits = options.order, options.max_ngrams
    if own is not None and options.topology in "mr":
        models = algorithm_1(
            source, own, options.sentences, options.seed, *limits, progress=progress, recast=recast
        )
        return _chosen(models, options)
    text = sampling.draw(source, options.seed, options.sentences)
    if options.topology == "e":
        assert own is not None
        shape = own.topology
    else:
        shape = _inferred(source, text, options, recast)
    (counts,) = count(source, [shape], text, progress, recast)
    return minimise(shape, counts).model


def _from_pieces(
    run: runs.Run,
    spelling: Spelling,
    over_words: Source | None,
    own: Automaton | None,
    options: DistillOptions,
    caser: casing.Caser | None,
    recast: Recast | None,
    progress: Progress,
) -> Automaton:
    """The same for a network over word-pieces; the word network says which n-grams it would infer."""
    source = sampling.network(run.model, run.params)
    text = piece_text(source, spelling.pieces, spelling.words, options.sentences, options.seed)
    if options.topology == "e":
        assert own is not None
        return approximate_pieces(text, own.topology, options.seed, caser, progress)
    assert over_words is not None
    drawn = sampling.draw(over_words, options.seed, options.sentences)
    inferred = _inferred(over_words, drawn, options, recast)
    if options.topology == "i":
        return approximate_pieces(text, inferred, options.seed, caser, progress)
    assert own is not None
    return _chosen(
        algorithm_1_pieces(
            text, own.topology, inferred, options.seed, options.max_ngrams, caser=caser, progress=progress
        ),
        options,
    )


def _inferred(source: Source, text: Sentences, options: DistillOptions, recast: Recast | None) -> Topology:
    mine = Sentences(recast.rewrite(text), text.offsets) if recast else text
    labels = recast.vocabulary if recast else source.vocabulary
    return from_corpus(mine, labels, options.order, options.max_ngrams).topology


def _chosen(models: Models, options: DistillOptions) -> Automaton:
    return {"m": models.merged, "r": models.refined}[options.topology]


def carry_out(
    path: Path,
    out: Path,
    options: DistillOptions,
    data: Path | None = None,
    locale: str = "en",
    date: int = 0,
    skip: bool = False,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Everything: the model, its files, its figures; returns what summary.json holds.

    What can be told from the input is refused before anything is drawn.
    """
    run = runs.load(path)
    check(out)
    aosp.check_locale(out / "words.combined", locale)
    if not skip:
        aosp.check_words(out / "words.combined", [*words_of(run).words, *_counts(options)])
    found = distill(run, options, data, progress)
    judged = held_out(run, found, data)
    name = run.config.name
    with all_or_nothing(out) as folder:
        sizes = write(folder, found, name, locale, date, skip)
        facts = measure(run, found, options, judged, folder / "model.tacit")
        beside = {"supplement": found.beside, "supplement_corpus": found.corpus}
        whole = {"name": name, "base": runs.digest(path), **beside, **facts, "bytes": sizes}
        write_atomic(folder / "summary.json", to_json(whole) + "\n")
    return whole
