"""Counts a client's words over a whitelist, clipped to λ; without λ, for a model's output bias.

    count         words, limits [λ]   →  counts [λ, words], the client's own, clipped to each λ (paper 4, section 3.1)
    frequencies   words               →  counts [words], also of ends of sentences and unknown words

A client counts its training text by the functions of the simulator. A word outside the list has no entry, so it cannot
be sent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from tacit.base.arrays import Ints
from tacit.base.errors import TacitError
from tacit.counts.unigrams import Round, counting
from tacit.federated.sampling import SamplingConfig
from tacit.federated.word_counts import word_counts
from tacit.network.office import Office
from tacit.network.person import Person, read_words, understood
from tacit.network.sums import LARGEST, ExactSum
from tacit.network.tasks.kind import Arrays, Kind
from tacit.network.work import Expected, Facts, Parcel, Refusal, check_arrays, without_words
from tacit.text.packed import Packed
from tacit.text.vocabulary import BOS, SPECIALS

_LISTS = 4  # whitelists whose counts a client keeps
_LIMITS = 16  # λ in one task
_EXACT = 2**24  # float32 holds every whole number below it
_MOST = 2**40  # of one word in one client's text


def begin_count(person: Person) -> Callable[[Facts, Arrays], Arrays]:
    """Returns the function that counts this person's words."""

    @lru_cache(maxsize=_LISTS)
    def counted(config_toml: str, words_bytes: bytes, limits: tuple[float, ...]) -> np.ndarray:
        config, words = understood(config_toml), read_words(words_bytes)
        return own_counts(person.text(config, words).training, len(words), limits)

    def answer(facts: Facts, arrays: Arrays) -> Arrays:
        words, rest = without_words(arrays)
        return {"counts": counted(facts["config"], words, _limits(rest))}

    return answer


def own_counts(text: Packed, vocabulary: int, limits: Sequence[float]) -> np.ndarray:
    """Returns the clipped counts of one person's text, [λ, vocabulary] float32, by counting a cohort of one."""
    return counting(text, vocabulary, limits, SamplingConfig(clients=1), 0)(0).counts.astype(np.float32)


def _limits(arrays: Arrays) -> tuple[float, ...]:
    limits = arrays.get("limits")
    if set(arrays) != {"limits"} or type(limits) is not np.ndarray or limits.dtype != np.float64:
        raise Refusal("schema", "a count has its limits as float64")
    if limits.ndim != 1 or not 0 < len(limits) <= _LIMITS or not bool((limits > 0).all()):
        raise Refusal("schema", f"the limits of a count are 1 to {_LIMITS} numbers above 0")
    return tuple(limits.tolist())


def begin_frequencies(person: Person) -> Callable[[Facts, Arrays], Arrays]:
    """Returns the function that counts the words of a model in this person's text."""

    def answer(facts: Facts, arrays: Arrays) -> Arrays:
        content, rest = without_words(arrays)
        check_arrays(rest, {})
        config, words = understood(facts["config"]), read_words(content)
        return {"counts": word_counts(person.text(config, words).training, len(words))}

    return answer


COUNT = Kind({}, begin_count)
FREQUENCIES = Kind({}, begin_frequencies)


def network_round(office: Office, limits: Sequence[float]) -> Callable[[int], Round]:
    """Returns a function that counts round t with all clients who are present; the office's words are the whitelist."""
    shape, most = (len(limits), len(office.words)), np.asarray(limits, np.float64)
    wanted = {"counts": Expected(shape, np.dtype(np.float32), LARGEST)}

    def check(answer: Parcel) -> Parcel:
        check_arrays(answer.arrays, wanted)
        counts = answer.arrays["counts"]
        if counts.min() < 0 or counts[:, : len(SPECIALS)].any():
            raise Refusal("report", "a count is negative, or of no word")
        if bool((counts.sum(axis=1, dtype=np.float64) > most * (1 + 1e-5)).any()):  # room for rounding
            raise Refusal("norm", "its counts are not clipped to λ")
        return answer

    def round_(t: int) -> Round:
        asked = office.present().tolist()
        tasks = office.tasks("count", t, {"limits": most}, asked)
        total = ExactSum({"counts": shape})
        for _, answer in office.answers(tasks, len(tasks), check):
            total.add(answer.arrays)
        counts = total.value()["counts"].astype(np.float64)
        if counts.max() >= _EXACT:
            raise TacitError(
                f"a word was counted {counts.max():,.0f} times in round {t + 1}, but sums are exact only below "
                f"{_EXACT:,}; give a smaller --lambda"
            )
        return Round(counts, total.count, len(asked) - total.count)

    return round_


def network_frequencies(office: Office) -> Ints:
    """Returns how often clients' text has each of the office's words, ends and unknown words, added; [words] int64."""
    wanted = {"counts": Expected((len(office.words),), np.dtype(np.int64), _MOST)}

    def check(answer: Parcel) -> Parcel:
        check_arrays(answer.arrays, wanted)
        counts = answer.arrays["counts"]
        if counts.min() < 0 or counts[BOS]:
            raise Refusal("report", "a count is negative, or of no word")
        return answer

    tasks = office.tasks("frequencies", 0, {}, office.present().tolist())
    total = np.zeros(len(office.words), np.int64)
    for _, answer in office.answers(tasks, len(tasks), check):
        total += answer.arrays["counts"]
    return total
