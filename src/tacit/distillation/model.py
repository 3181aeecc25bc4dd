"""Distils a run's network into an n-gram model, by Algorithm 1 of paper 4.

N-grams, and capitals with `cased`, come from the supplemental corpus. Weights come from the network alone. Without a
supplemental corpus, n-grams are those of sentences that the network draws.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from tacit import runs
from tacit.base.errors import TacitError
from tacit.base.progress import Progress, no_progress
from tacit.distillation import capitals, sampling
from tacit.distillation.approximate import Models, Recast, algorithm_1, count
from tacit.distillation.approximate_pieces import (
    algorithm_1_pieces,
    approximate_pieces,
    drawn_words,
    piece_text,
)
from tacit.distillation.client_counts import check_limit, client_counts, mixed
from tacit.distillation.large_vocabulary import with_unigrams
from tacit.distillation.minimise import minimise
from tacit.distillation.sampling import SampledModel, Sentences
from tacit.distillation.soft_counts import Counts
from tacit.distillation.topology import MAX_NGRAMS, from_corpus
from tacit.ngram import casing
from tacit.ngram.automaton import Automaton, Topology
from tacit.ngram.validity import require
from tacit.text import supplement
from tacit.text.locale import find
from tacit.text.packed import ClientText
from tacit.text.pieces import Spelling, read_counts
from tacit.text.supplement import Supplement
from tacit.text.vocabulary import SPECIALS, Vocabulary

Choice = Literal["e", "i", "m", "r"]
Mix = Callable[[Topology, Counts], Counts]


@dataclass(frozen=True)
class DistillOptions:
    """The settings of a distillation."""

    # a corpus that is not the clients'; None: newly generated typists if the clients are typists, else no corpus
    supplement: str | None = None
    order: int = 3
    max_ngrams: int = MAX_NGRAMS  # single words included
    # which model of Algorithm 1: A_e, A_i, A_m or A_r; None: A_r, or A_i if there is no supplement
    topology: Choice | None = None
    cased: bool = False  # restore capitals
    pieces: Path | None = None  # for a word-piece model: a run over words that infers n-grams in its place
    unigrams: Path | None = None  # counts.tsv of `tacit count`: the single words of a larger vocabulary
    unigram_weight: float = 1.0  # share of these counts in the unigrams; 1: in place of the model's own
    client_counts: float | None = None  # λ: n-grams counted on the clients, mixed into the network's weights
    sentences: int = 20_000  # drawn from the network
    seed: int = 0


class Distilled(NamedTuple):
    """An n-gram model and what it was made from."""

    vocabulary: Vocabulary
    model: Automaton
    supplement: Automaton | None  # Kneser-Ney of the supplemental corpus, the same size
    supplement_name: str | None  # of that corpus, for reports
    supplement_corpus: str | None  # the same for `--supplement`, with a full path
    caser: casing.Caser | None
    topology: Choice


def distilled_model(
    run: runs.Run,
    options: DistillOptions,
    data: Path | None = None,
    progress: Progress = no_progress,
    clients: ClientText | None = None,
) -> Distilled:
    """Returns the n-gram model of a run; writes nothing.

    The n-gram model has the network's words; with `cased`, their cased variants. `clients` is the run's text as
    `run.prepare(data).clients` has it, which only `client_counts` reads.
    """
    mix = _mix(run, options, clients)
    extra = supplement.find(run.config.text, run.config.typists, options.supplement, data)
    topology: Choice = options.topology or ("r" if extra else "i")
    options = replace(options, topology=topology)
    if extra is None and (topology != "i" or options.cased):
        what = "capitals" if options.cased else f"the n-grams of topology {topology}"
        raise TacitError(
            f"{what} come from a corpus that is not the clients'; give --supplement CORPUS, or --topology i without "
            "--cased"
        )
    word_run = _word_run(run, options)
    uncased = words_of(run)
    counts = unigram_counts(options)
    locale = find(run.config.text.locale)
    caser = casing.fit(_cased(extra), uncased, locale=locale) if options.cased and extra else None
    words = caser.cased.words if caser else uncased
    options = _with_room(options, len(words) - 1, len(counts.keys() - set(uncased.words)))
    supplemental = _of_supplement(extra, words, caser, options) if extra else None
    recast = capitals.recast(caser) if caser else None
    source = sampling.network(word_run.model, word_run.params) if word_run else None
    if run.spelling:
        model = _from_pieces(run, run.spelling, source, supplemental, options, caser, recast, progress)
    else:
        assert source is not None
        model = _from_words(source, supplemental, options, recast, mix, progress)
    if options.unigrams:
        shares = capitals.shares(caser) if caser else None
        model, words = with_unigrams(
            model, words, counts, options.unigram_weight, variants=shares, locale=locale
        )
    require(model, words)
    name, corpus = (extra.name, extra.text.corpus) if extra else (None, None)
    return Distilled(words, model, supplemental, name, corpus, caser, topology)


def words_of(run: runs.Run) -> Vocabulary:
    """Returns the words of a run's n-gram model, without capitals if the run's text has none."""
    return run.spelling.words if run.spelling else run.vocabulary


def unigram_counts(options: DistillOptions) -> dict[str, float]:
    """Reads the counts of `--unigrams` and refuses entries that are not words or not counts."""
    if not 0 < options.unigram_weight <= 1:
        raise TacitError(f"--unigram-weight {options.unigram_weight:g} must be above 0 and at most 1")
    if not options.unigrams:
        if options.unigram_weight != 1:
            raise TacitError(
                "--unigram-weight needs --unigrams, the counts to mix in; add that or leave it out"
            )
        return {}
    counts = read_counts(options.unigrams)
    for word, n in counts.items():
        if word in SPECIALS or word.split() != [word]:
            raise TacitError(f"--unigrams {options.unigrams}: {word!r} is not one word; leave it out")
        if not (math.isfinite(n) and n >= 0):
            raise TacitError(
                f"--unigrams {options.unigrams}: {word!r} has the count {n}; give a number of 0 or more"
            )
    if not any(counts.values()):
        raise TacitError(f"--unigrams {options.unigrams}: no word has a count above 0; give at least one")
    return {word: n for word, n in counts.items() if n > 0}


def _with_room(options: DistillOptions, present: int, more: int) -> DistillOptions:
    """Returns the options with room left for the single words that are added at the end."""
    if options.max_ngrams < present + more:
        raise TacitError(
            f"--max-ngrams {options.max_ngrams} is less than the {present + more:,} single words; allow more"
        )
    return replace(options, max_ngrams=options.max_ngrams - more)


def _word_run(run: runs.Run, options: DistillOptions) -> runs.Run | None:
    """Returns a run over words that infers n-grams: this one, or for a piece model that of `--pieces`, if given."""
    if run.spelling is None:
        if options.pieces:
            raise TacitError(f"--pieces: {run.path} is already a model over words; leave --pieces out")
        return run
    if options.pieces is None:
        return None
    words = runs.load(options.pieces)
    if words.spelling or words.vocabulary.words != run.spelling.words.words:
        raise TacitError(
            f"--pieces {options.pieces}: not a run over the words of {run.path}; train one with the same text settings"
        )
    return words


def _mix(run: runs.Run, options: DistillOptions, clients: ClientText | None) -> Mix | None:
    """Returns the function that adds the clients' counts to those of the network; None without --client-counts."""
    if options.client_counts is None:
        return None
    limit = check_limit(options.client_counts)
    for given, what in (
        (run.spelling is not None, "a run over word-pieces"),
        (options.cased, "--cased"),
        (options.topology == "m", "--topology m"),
    ):
        if given:
            raise TacitError(f"--client-counts does not go together with {what}; leave one of them out")
    assert clients is not None
    text = clients
    return lambda shape, counts: mixed(shape, counts, client_counts(shape, text, limit))


def _cased(extra: Supplement) -> list[list[str]]:
    written = extra.written()
    if not any(word != word.lower() for message in written for word in message):
        raise TacitError(f"--cased: {extra.name} has no capitals; give a --supplement with proper capitals")
    return written


def _of_supplement(
    extra: Supplement, words: Vocabulary, caser: casing.Caser | None, options: DistillOptions
) -> Automaton:
    if caser:
        text = Sentences(*casing.encode(caser.cased, extra.written()))
    else:
        packed = extra.packed(words)
        text = Sentences(packed.tokens.astype(np.int64), packed.offsets)
    return from_corpus(text, len(words), options.order, options.max_ngrams)


def _from_words(
    source: SampledModel,
    supplemental: Automaton | None,
    options: DistillOptions,
    recast: Recast | None,
    mix: Mix | None,
    progress: Progress,
) -> Automaton:
    """Returns the chosen model of Algorithm 1 and computes no more than it needs."""
    limits = options.order, options.max_ngrams
    if supplemental is not None and options.topology in ("m", "r"):
        models = algorithm_1(
            source,
            supplemental,
            options.sentences,
            options.seed,
            *limits,
            progress=progress,
            recast=recast,
            mix=mix,
        )
        return _chosen(models, options)
    text = sampling.draw(source, options.seed, options.sentences)
    if options.topology == "e":
        assert supplemental is not None
        shape = supplemental.topology
    else:
        shape = _inferred(source.vocabulary, text, options, recast)
    (counts,) = count(source, [shape], text, progress, recast)
    return minimise(shape, mix(shape, counts) if mix else counts).model


def _from_pieces(
    run: runs.Run,
    spelling: Spelling,
    over_words: SampledModel | None,
    supplemental: Automaton | None,
    options: DistillOptions,
    caser: casing.Caser | None,
    recast: Recast | None,
    progress: Progress,
) -> Automaton:
    """Returns the chosen model of a network over word-pieces; n-grams are inferred by the word network, if given."""
    source = sampling.network(run.model, run.params)
    text = piece_text(source, spelling.pieces, spelling.words, options.sentences, options.seed)
    if options.topology == "e":
        assert supplemental is not None
        return approximate_pieces(text, supplemental.topology, options.seed, caser, progress)
    drawn = sampling.draw(over_words, options.seed, options.sentences) if over_words else drawn_words(text)
    inferred = _inferred(len(spelling.words), drawn, options, recast)
    if options.topology == "i":
        return approximate_pieces(text, inferred, options.seed, caser, progress)
    assert supplemental is not None
    return _chosen(
        algorithm_1_pieces(
            text,
            supplemental.topology,
            inferred,
            options.seed,
            options.max_ngrams,
            caser=caser,
            progress=progress,
        ),
        options,
    )


def _inferred(words: int, text: Sentences, options: DistillOptions, recast: Recast | None) -> Topology:
    recast_text = Sentences(recast.rewrite(text), text.offsets) if recast else text
    labels = recast.vocabulary if recast else words
    return from_corpus(recast_text, labels, options.order, options.max_ngrams).topology


def _chosen(models: Models, options: DistillOptions) -> Automaton:
    return models.merged if options.topology == "m" else models.refined
