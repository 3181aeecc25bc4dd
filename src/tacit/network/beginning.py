"""Gets what a run over a network needs before its first round: words, and frequencies for the output bias.

The words are those of `text.words`. Without it the clients count: the server sends a whitelist, the words of newly
generated typists, and each client answers with its counts over it, clipped to λ (`counting`). The words that occur
become the vocabulary, by falling count, at most `text.vocabulary` of them. All others are unknown to the model.

With `model.bias = "counts"` the clients then count the words of the vocabulary, ends of sentences and unknown words, as
`federated.word_counts` does, without a bound.

Both are separate releases without noise, and so have no ε. They are stored with the run (`vocabulary.txt`,
`frequencies.tsv`), so a resumed run does not ask again.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from tacit.base.arrays import Ints
from tacit.base.errors import TacitError
from tacit.base.files import write_atomic
from tacit.base.reading import read_regular
from tacit.network.counting import CountSettings, counted, counting_config, find_whitelist
from tacit.network.office import Office
from tacit.network.tasks.count import network_frequencies
from tacit.privacy import ledger
from tacit.privacy.ledger import Release
from tacit.runs import directory, privacy
from tacit.runs.config import Config
from tacit.text import catalogue, vocabulary
from tacit.text.vocabulary import SPECIALS, Vocabulary

FREQUENCIES = "frequencies.tsv"  # word, tab, count; in the order of vocabulary.txt


class Beginning(NamedTuple):
    """Holds what a run begins with, and the releases of this process that made it known."""

    words: Vocabulary
    frequencies: Ints | None  # [words]; None: the bias begins at zero
    releases: list[Release]


def check(config: Config) -> None:
    """Refuses a configuration whose words can be neither read nor counted."""
    if config.privacy.secure and (not config.text.words or config.model.bias == "counts"):
        raise TacitError(
            "privacy.secure = true hides what a client sends, but counts of words travel without masks; give a list "
            "with text.words, and set model.bias to 'zero'"
        )
    if config.text.words:
        listed(config)
    elif config.text.case == "keep":
        raise TacitError(
            "text.case = 'keep' needs a list with text.words, because clients count words without capitals; give one, "
            "or set text.case to 'lower'"
        )


def listed(config: Config) -> Vocabulary:
    """Reads the public word list of a configuration."""
    text = config.text
    return vocabulary.listed(
        catalogue.opened_path(text.words), text.vocabulary, text.case == "lower", locale=text.locale
    )


def begin(office: Office, out: Path) -> Beginning:
    """Returns what the run in `out` began with; for a new run asks the office's clients. Writes nothing."""
    config, releases = office.config, []
    wants_bias = config.model.bias == "counts"
    if directory.has_words(out):
        words = directory.read_words(config, out)
        assert isinstance(words, Vocabulary)  # of pieces there is none over a network
        return Beginning(words, _read(out, words) if wants_bias else None, [])
    if config.text.words:
        words = listed(config)
    else:
        words, release = counted_words(office)
        releases.append(release)
    if not wants_bias:
        return Beginning(words, None, releases)
    frequencies = network_frequencies(office._replace(words=words))
    if not frequencies.any():
        raise TacitError(
            "no client counted its words for model.bias = 'counts'; start clients, or set it to 'zero'"
        )
    releases.append(Release("bias from counts", "none", reason=privacy.BIAS))
    return Beginning(words, frequencies, releases)


def counted_words(office: Office) -> tuple[Vocabulary, Release]:
    """Returns the clients' commonest words, and the release that made them known."""
    whitelist = find_whitelist(office.config)
    asking = office._replace(config=counting_config(office.config, 1), words=whitelist.words)
    found = counted(asking, CountSettings(), whitelist)
    most = office.config.text.vocabulary
    size = min(most, len(found.counts) + len(SPECIALS)) if most else 0
    return vocabulary.build(dict(found.counts), size), found.release


def keep(out: Path, beginning: Beginning) -> None:
    """Writes the releases, then what the run begins with; vocabulary.txt comes last."""
    if directory.has_words(out):
        return
    for release in beginning.releases:
        ledger.append(out / ledger.NAME, release)
    if beginning.frequencies is not None:
        pairs = zip(beginning.words.words, beginning.frequencies.tolist(), strict=True)
        write_atomic(out / FREQUENCIES, "".join(f"{word}\t{n}\n" for word, n in pairs))
    directory.write_words(out, beginning.words, None)


def _read(out: Path, words: Vocabulary) -> Ints:
    file = out / FREQUENCIES
    try:
        pairs = [line.rsplit("\t", 1) for line in read_regular(file).decode("utf-8").splitlines()]
        if tuple(word for word, _ in pairs) != words.words:
            raise ValueError("its words are not those of vocabulary.txt")
        return np.array([int(n) for _, n in pairs], np.int64)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is damaged"
        raise TacitError(f"{file}: {why}; restore it, or choose another --out") from None
