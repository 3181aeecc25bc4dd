"""Counts words across devices and compares the λ on held-out people (paper 4, section 3).

The λ is chosen on the validation people. It is the smallest λ, which bounds each person's weight most, among those
whose out-of-vocabulary rate does not differ significantly from the lowest. The test people are only reported.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tacit.base.arrays import Floats
from tacit.base.errors import TacitError
from tacit.base.progress import Progress, no_progress, stage
from tacit.counts import private, whitelist
from tacit.counts.convergence import compared_at, halves, rounds_between_new
from tacit.counts.private import Noised, Privacy
from tacit.counts.quality import change, score_counts, share
from tacit.counts.unigrams import Round, chosen_words, counting, whole_counts
from tacit.federated import availability
from tacit.federated.sampling import cohort_size
from tacit.privacy.ledger import Release
from tacit.runs.conditions import refuse_in_simulator
from tacit.runs.config import Config
from tacit.runs.data import prepare
from tacit.scoring.scores import Sums
from tacit.text import supplement
from tacit.text.catalogue import user_path
from tacit.text.packed import Packed
from tacit.text.prepare import Prepared, read_population
from tacit.text.supplement import Supplement
from tacit.text.vocabulary import SPECIALS, Vocabulary

MOST_WORDS = 64_000  # words with higher orders in the paper's keyboards


@dataclass(frozen=True)
class CountOptions:
    """Holds the settings of a count that are not in the configuration."""

    limits: tuple[float, ...] = (1, 1000, 5000, math.inf)  # λ
    whitelist: str | None = None  # a file, or how many of the supplement's commonest words; None: all of them
    # a corpus that is not the clients'; None: newly generated typists, if the clients are typists. Without supplement
    # and whitelist, the words of the configuration's vocabulary are counted.
    supplement: str | None = None
    rounds: int = 0  # 0: training.rounds
    cohort: int = 0  # clients a round; 0: as [sampling] says
    capacity: int = 0  # words a keyboard can hold; 0: half of those seen, 64,000 at most
    order: int = 3  # of the n-gram whose unigrams are replaced
    privacy: Privacy | None = None  # noise; None: none


class Counted(NamedTuple):
    """Holds the result of a count."""

    counts: list[tuple[str, int]]  # of the chosen λ, by falling count; words never seen are left out
    lines: list[dict[str, Any]]  # convergence, one for each round; of a private count only who took part
    summary: dict[str, Any]
    release: Release  # for the ledger


def check_options(options: CountOptions) -> None:
    """Refuses a λ that is not above 0, and settings that do not go with noise."""
    for limit in options.limits:
        if not limit > 0:
            raise TacitError(
                f"--lambda {limit:g}: λ must be above 0; 1 gives everybody the same weight, inf does not clip"
            )
    if options.privacy is None:
        return
    private.check(options.privacy)
    if not options.privacy.words and (len(options.limits) != 1 or math.isinf(options.limits[0])):
        raise TacitError(
            "--epsilon needs exactly one --lambda, and a finite one: each λ is a release, and inf clips nothing"
        )
    if options.privacy.words and (options.whitelist or options.rounds or options.cohort):
        raise TacitError(
            "--open counts every client once, over any words; leave out --whitelist, --rounds and --cohort"
        )


def counted_words(
    config: Config, options: CountOptions, data: Path | None = None, progress: Progress = no_progress
) -> Counted:
    """Counts words in rounds and compares the λ on held-out people; writes nothing."""
    availability.refuse(config.availability, "counting")
    refuse_in_simulator(config.conditions)
    if options.privacy and options.privacy.words:
        return _open_words(config, options.privacy, data, progress)
    config = dataclasses.replace(config, text=dataclasses.replace(config.text, case="lower"))
    extra = supplement.find(config.text, config.typists, options.supplement, data)
    own = extra is None and options.whitelist is None
    ready = _own_words(config, options, data) if own else None
    words, central = (ready.vocabulary, None) if ready else whitelisted(options, extra, config, data)
    ready = ready or prepare(config, words, data)
    clients, rounds = len(ready.clients), options.rounds or config.training.rounds
    if options.cohort > clients:
        raise TacitError(f"--cohort {options.cohort} is more than the {clients} clients; give at most that")
    cohort = options.cohort or cohort_size(config.sampling, clients)
    sampling = dataclasses.replace(config.sampling, clients=cohort)
    round_ = counting(ready.clients, len(words), options.limits, sampling, config.seed)
    if options.privacy:  # the words of a round are not for the screen, either
        progress = stage(progress, 0.0, 1.0, "counting")
    totals, lines = collect(round_, options.limits, len(words), rounds, progress)
    totals, lines, release, noise = protected(
        totals,
        lines,
        options,
        lambda: private.most_rounds(sampling, ready.clients.sizes, config.seed, rounds),
    )
    if own and not config.text.words:
        reason = f"the whitelist is made of the clients' own text, and {release.reason}"
        release, noise = dataclasses.replace(release, reason=reason), noise | {"epsilon_reason": reason}
    seen = int(np.count_nonzero(totals.any(axis=0)))
    check_seen(totals)
    # a keyboard with room for every word seen would hold the same words for every λ
    capacity = options.capacity or min(MOST_WORDS, max(1, seen // 2))
    text = extra.packed(words) if extra else None
    table = _table(options, words, capacity, ready, totals, central, text)
    chosen = _choose(
        options.limits, [score_counts(counts, words, capacity, ready.valid) for counts in totals]
    )
    counts, scale = ranked(words, totals[options.limits.index(chosen)])
    return Counted(
        counts,
        lines,
        {
            "name": config.name,
            "corpus": config.text.corpus,
            "supplement": extra.name if extra else None,
            "whitelist": len(words) - len(SPECIALS),
            "whitelist_from": _words_from(config, options, extra),
            "capacity": capacity,
            "clients": clients,
            "cohort": cohort,
            "rounds": rounds,
            "seen": seen,
            "lambda": limit_name(chosen),
            "scale": scale,
            "chosen_by": "given"
            if options.privacy
            else "the smallest whose OOV rate on validation people is not significantly above the lowest",
            "order": options.order,
            "table1": table,
            "convergence": next((line["z"] for line in reversed(lines) if "z" in line), None),
            "bytes_per_client_and_round": {"down": 0, "up": 4 * len(words) * len(options.limits)},
            **noise,
        },
        release,
    )


def _own_words(config: Config, options: CountOptions, data: Path | None) -> Prepared:
    """Returns the clients' text in the configuration's vocabulary: `text.words`, or their own commonest words.

    Only a simulation, which sees everybody's text, knows their commonest words. No noise makes such a count private.
    """
    if options.privacy and not config.text.words:
        raise TacitError(
            f"--epsilon needs a whitelist that is not taken from {config.text.corpus}; give --whitelist FILE, "
            "--supplement CORPUS to take its words, or --open K"
        )
    text = dataclasses.replace(config.text, pieces=0, inventory="")
    return prepare(dataclasses.replace(config, text=text), None, data)


def _words_from(config: Config, options: CountOptions, extra: Supplement | None) -> str:
    """Returns where the whitelist comes from, for the summary."""
    if options.whitelist and not options.whitelist.isdecimal():
        return "a file"
    if extra:
        return "the supplement"
    return "text.words" if config.text.words else "the clients' own text"


def protected(
    totals: Floats, lines: list[dict[str, Any]], options: CountOptions, most: Callable[[], int]
) -> tuple[Floats, list[dict[str, Any]], Release, dict[str, Any]]:
    """Returns the sums with their noise, the lines of convergence, the release, and the noise for the summary.

    `most` returns the largest number of rounds that a client takes part in.
    """
    release = Release("counts", "none", reason=no_epsilon(options.limits))
    if options.privacy is None:
        return totals, lines, release, {"epsilon": None, "epsilon_reason": release.reason}
    rounds = most()
    noised = private.over_whitelist(totals[0], options.limits[0], rounds, options.privacy)
    # what else is known about the sums is not noised
    lines = [{key: line[key] for key in ("round", "clients", "dropped")} for line in lines]
    noise = _noise(options.privacy, noised) | {"rounds_of_a_client": rounds}
    return noised.counts[None], lines, noised.release, noise


def check_seen(totals: Floats) -> None:
    """Refuses a count in which no word was seen."""
    if not totals.any():
        raise TacitError(
            "no client typed a word of the whitelist; give a whitelist in the language of the clients"
        )


def _noise(privacy: Privacy, noised: Noised) -> dict[str, Any]:
    """Returns the noise for the summary."""
    return {
        "epsilon": privacy.epsilon,
        "epsilon_reason": "",
        "delta": 0.0 if noised.release.mechanism == "laplace" else privacy.delta,
        "mechanism": noised.release.mechanism,
        "noise_scale": noised.scale,
        "threshold": noised.threshold,
    }


def _open_words(config: Config, privacy: Privacy, data: Path | None, progress: Progress) -> Counted:
    """Counts in how many clients' text each word is, over any words, and releases the words above the threshold."""
    text = dataclasses.replace(config.text, case="lower", vocabulary=0, words="", pieces=0, inventory="")
    ready = prepare(dataclasses.replace(config, text=text), None, data, progress)
    noised = private.open_words(ready.clients, ready.vocabulary, privacy)
    counts, scale = ranked(ready.vocabulary, noised.counts)
    summary = {
        "name": config.name,
        "corpus": config.text.corpus,
        "clients": len(ready.clients),
        "words_of_a_client": privacy.words,
        "seen": len(counts),
        "scale": scale,
    }
    return Counted(counts, [], summary | _noise(privacy, noised), noised.release)


def _choose(limits: Sequence[float], valid: Sequence[Sums]) -> float:
    """Returns the smallest λ whose out-of-vocabulary rate is within the 95 % interval of the lowest one."""
    best = min(valid, key=lambda people: share(people, "oov"))
    for limit, people in sorted(zip(limits, valid, strict=True), key=lambda pair: pair[0]):
        more = change(best, people, "oov")
        unclear = math.isfinite(more.value) and not more.value > more.half  # one person has no interval
        if people is best or unclear:
            return limit
    raise AssertionError("the best λ is one of them")


def limit_name(limit: float) -> str:
    """Returns the name of a λ in files.

    >>> limit_name(1000.0), limit_name(math.inf)
    ('1000', 'inf')
    """
    return f"{limit:.12g}"


def no_epsilon(limits: Sequence[float]) -> str:
    """Returns why a count is not differentially private; the server gets a sum for every λ, so the bounds add up.

    >>> no_epsilon([1, 1000])
    "a client's part of a round is clipped (to 1,001 in all), but no noise is added to the sum: no differential privacy"
    >>> no_epsilon([1, math.inf])
    "with λ = ∞ a client's part of a round is not clipped, and no noise is added to the sum: no differential privacy"
    """
    most = sum(limits)
    if math.isinf(most):
        clipped = "with λ = ∞ a client's part of a round is not clipped, and"
    else:
        clipped = f"a client's part of a round is clipped (to {most:,.12g} in all), but"
    return f"{clipped} no noise is added to the sum: no differential privacy"


def collect(
    round_: Callable[[int], Round], limits: Sequence[float], vocabulary: int, rounds: int, progress: Progress
) -> tuple[Floats, list[dict[str, Any]]]:
    """Runs the rounds; returns the sums [limits, V], added in float64, and a line of convergence for each round."""
    compare = set(compared_at(rounds))
    kept: dict[int, Floats] = {}  # the totals after k/2 rounds, until round k
    totals, lines = np.zeros((len(limits), vocabulary)), []
    for t in range(rounds):
        counted = round_(t)
        new = int(np.count_nonzero(counted.counts.any(axis=0) & ~totals.any(axis=0)))
        totals += counted.counts
        seen = int(np.count_nonzero(totals.any(axis=0)))
        line: dict[str, Any] = {"round": t + 1, "clients": counted.clients, "dropped": counted.dropped}
        line |= {"new": new, "seen": seen}
        if 2 * (t + 1) in compare:
            kept[2 * (t + 1)] = totals.copy()
        if t + 1 in compare:
            half = kept.pop(t + 1)
            line["z"] = {limit_name(limit): _z(half[i], totals[i]) for i, limit in enumerate(limits)}
        lines.append(line)
        progress(f"round {t + 1} of {rounds}: {seen:,} words, {new:,} new", (t + 1) / rounds)
    between = rounds_between_new(np.array([line["new"] for line in lines], np.int64), window(rounds))
    for line, wait in zip(lines, between.tolist(), strict=True):
        line["rounds_between_new"] = wait if math.isfinite(wait) else None
    return totals, lines


def window(rounds: int) -> int:
    """Returns how many rounds the moving average spans: a twentieth of all, at least ten."""
    return max(10, rounds // 20)


def _z(half: Floats, whole: Floats) -> dict[str, dict[str, float]]:
    return {which: z._asdict() for which, z in halves(half, whole).items()}


def ranked(words: Vocabulary, counts: Floats) -> tuple[list[tuple[str, int]], int]:
    """Returns words with their counts as whole numbers, by falling count, and the power of ten of these numbers."""
    whole, scale = whole_counts(counts)
    pairs = [(words.words[i], int(whole[i])) for i in np.flatnonzero(whole).tolist()]
    return sorted(pairs, key=lambda pair: (-pair[1], pair[0])), scale


def whitelisted(
    options: CountOptions, extra: Supplement | None, config: Config, data: Path | None
) -> tuple[Vocabulary, Floats | None]:
    """Returns the whitelist, and how often the supplement has each of its words, [V]."""
    given = options.whitelist
    size = int(given) if given and given.isdecimal() and not Path(given).exists() else None
    if size == 0:
        raise TacitError("--whitelist 0 is empty; give at least one word to count")
    if extra is None and (given is None or size is not None):
        raise TacitError(
            f"no whitelist for {config.text.corpus}; give --whitelist FILE, or --supplement CORPUS to take its words"
        )
    words = whitelist.read(user_path(given), config.text.locale) if given and size is None else None
    if extra is None:
        assert words is not None
        return words, None
    counts = whitelist.word_counts(read_population(extra.text, extra.typists, data), config.text.locale)
    words = words or whitelist.commonest(counts, size or 0, extra.name)
    return words, np.array([0.0] * len(SPECIALS) + [float(counts[w]) for w in words.words[len(SPECIALS) :]])


def _table(
    options: CountOptions,
    words: Vocabulary,
    capacity: int,
    ready: Prepared,
    totals: Floats,
    central: Floats | None,
    supplement: Packed | None,
) -> dict[str, dict[str, Any]]:
    """Returns Table 1: each distribution on held-out people, and its change relative to the supplement's."""

    def row(counts: Floats, base: Sums | None) -> tuple[Sums, dict[str, Any]]:
        people = score_counts(counts, words, capacity, ready.test, supplement, options.order)
        cells: dict[str, Any] = {"oov": share(people, "oov")}
        cells["top1"] = share(people, "top1") if supplement else None
        cells["words"] = len(chosen_words(counts, capacity))
        for what in ("oov", "top1") if base else ():
            value, half = change(base, people, what) if base else (0.0, 0.0)
            cells |= {f"{what}_change": value, f"{what}_change_ci95": half}
        return people, cells

    table: dict[str, dict[str, Any]] = {}
    base = None
    if supplement is not None and central is not None and central.any():
        base, table["baseline"] = row(central, None)
    for counts, limit in zip(totals, options.limits, strict=True):
        table[limit_name(limit)] = row(counts, base)[1]
        if math.inf in options.limits:  # the share of all counts that clipping leaves
            table[limit_name(limit)]["kept"] = counts.sum() / totals[options.limits.index(math.inf)].sum()
    return table
