"""Builds the models that the keyboard page can switch between, each as a file; `page.models` lists them.

Each function takes a run directory and, last, the file to write; it returns False if the model cannot be built.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from tacit import runs
from tacit.base.progress import Progress
from tacit.distillation.approximate import Recast, approximate
from tacit.distillation.model import DistillOptions, distilled_model, words_of
from tacit.distillation.sampling import Sentences, network
from tacit.distillation.topology import from_corpus
from tacit.lm.network8 import writer as network8
from tacit.ngram import kneser_ney
from tacit.ngram.automaton import from_kneser_ney
from tacit.ngram.compact import writer
from tacit.ngram.compact.reader import Compact
from tacit.personal import models
from tacit.personal.mixing import ALONE
from tacit.text import supplement
from tacit.text.locale import DEFAULT
from tacit.text.packed import Packed
from tacit.text.vocabulary import SPECIALS, UNK, Vocabulary

SENTENCES = 5000  # drawn from a personal network; four times as many from the run's own
_MANY = 100_000  # n-grams of the model that replaces a missing one
_SOURCE = "tacit serve"
_SEEN, _MOSTLY = 3, 0.7  # how often, and in which share of its uses after a word, a name has its capital


def federated(path: Path, data: Path | None, progress: Progress, file: Path) -> bool:
    """Builds a small federated model, for a run that was never distilled."""
    run = runs.load(path)
    beside = supplement.find(run.config.text, run.config.typists, None, data)
    options = DistillOptions(
        max_ngrams=max(_MANY, 4 * len(words_of(run))),
        topology="r" if beside else "i",
        sentences=4 * SENTENCES,
    )
    distilled = distilled_model(run, options, data, progress)
    writer.write(
        file,
        distilled.vocabulary,
        distilled.model,
        name=run.config.name,
        source=_SOURCE,
        locale=run.config.text.locale,
    )
    return True


def exported(path: Path, file: Path) -> bool:
    """Writes the network with 8 bits per weight, as `tacit export` does."""
    run = runs.load(path)
    if run.spelling:
        return False
    text = run.config.text
    network8.write(
        file,
        run.vocabulary,
        run.config.model,
        run.params,
        name=run.config.name,
        source=_SOURCE,
        case=text.case,
        max_words=text.max_words,
        locale=text.locale,
    )
    return True


def untrained(path: Path, file: Path) -> bool:
    """Builds the network as it was before its first round, from single words alone."""
    run = runs.load(path)
    if run.spelling:
        return False
    v = len(run.vocabulary)
    single = from_kneser_ney(kneser_ney.fit(np.array([0, UNK, 1]), np.array([0, 3]), v, 1)).topology
    source = network(run.model, run.model.init(jax.random.key(run.config.seed)), longest=16)
    model = approximate(source, single, sentences=64, fixed=True)
    writer.write(file, run.vocabulary, model, name="untrained", source=_SOURCE, locale=run.config.text.locale)
    return True


def supplemental(path: Path, stored: Compact, corpus: str | None, data: Path | None, file: Path) -> bool:
    """Builds Kneser-Ney of the supplemental corpus, of the order and size of the federated model."""
    run = runs.load(path)
    beside = supplement.find(run.config.text, run.config.typists, corpus, data)
    if beside is None:
        return False
    words = words_of(run)
    _write_counted(file, words, beside.packed(words), stored, "supplement")
    return True


def collected(path: Path, stored: Compact, data: Path | None, file: Path) -> bool:
    """Builds Kneser-Ney of the clients' pooled text, of the same order and size; not of a private run's."""
    run = runs.load(path)
    if run.config.privacy.private:
        return False
    words = words_of(run)
    clients = run.prepare(data, words=words).clients
    if not isinstance(clients, Packed):
        return False
    _write_counted(file, words, clients, stored, "collected")
    return True


def personal(path: Path, user: str, stored: Compact, file: Path) -> bool:
    """Builds the network tuned on one person's text, on the federated model's n-grams."""
    run = runs.load(path)
    if run.spelling or stored.facts.get("cased"):
        return False
    tuned = models.load(run, user)
    if tuned.mix != ALONE:  # the gate accepted a mixture, not the tuned network alone
        return False
    words, model = stored.to_automaton()
    source, recast = network(run.model, tuned.params), _in_words_of(words, run)
    model = approximate(source, model.topology, SENTENCES, recast=recast)
    writer.write(file, words, model, name=f"personal {user}", source=_SOURCE, locale=run.config.text.locale)
    return True


def capitals(path: Path, data: Path | None, corpus: str | None) -> dict[str, str]:
    """Returns the words that are mostly written with a capital inside a sentence, in the supplemental corpus.

    They are the names that a model without capitals knows: london, for one, is shown as London.
    """
    run = runs.load(path)
    beside = supplement.find(run.config.text, run.config.typists, corpus, data)
    if beside is None or run.config.text.case != "lower":
        return {}
    known, forms = set(words_of(run).words[len(SPECIALS) :]), dict[str, Counter[str]]()
    for message in beside.written():
        if message[0] == message[0].lower():
            continue  # by somebody who writes without capitals
        for last, form in pairwise(message):
            if last[-1].isalpha() and form.lower() in known:  # after a word no sentence starts
                forms.setdefault(form.lower(), Counter())[form] += 1
    found = {}
    for word, counts in sorted(forms.items()):
        form, count = counts.most_common(1)[0]
        if form != word and count >= max(_SEEN, _MOSTLY * counts.total()):
            found[word] = form
    return found


def _write_counted(file: Path, words: Vocabulary, text: Packed, like: Compact, name: str) -> None:
    """Writes a Kneser-Ney model of the order and size of another."""
    size = max(sum(like.facts["ngrams"]), len(words)) - 1  # `<s>` is a word of the file but not an n-gram
    sentences = Sentences(text.tokens.astype(np.int64), text.offsets)
    model = from_corpus(sentences, len(words), like.order, size)
    locale = str(like.facts.get("locale", DEFAULT))
    writer.write(file, words, model, name=name, source=_SOURCE, locale=locale)


def _in_words_of(words: Vocabulary, run: runs.Run) -> Recast:
    """Returns the mapping from the network's ids to those of a compact file, which are in alphabetical order."""
    places = np.array([i if i <= UNK else words.index[w] for i, w in enumerate(run.vocabulary.words)])
    return Recast(
        len(words),
        lambda text: places[text.tokens],
        lambda text, positions, p: jnp.zeros((p.shape[0], len(words))).at[:, places].set(p),
        lambda text: np.zeros(len(text.tokens), np.int64),  # a word has the same id at every position
    )
