"""Counts the words of a federation's clients over a whitelist (`tacit federation count`).

The directory is that of `tacit count`. The server has no text of held-out people, so it cannot compare several λ and
takes one. All connected clients count in each round.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from tacit.base.errors import TacitError
from tacit.base.progress import no_progress
from tacit.counts.count import store
from tacit.counts.counted import (
    Counted,
    CountOptions,
    check_seen,
    collect,
    limit_name,
    protected,
    ranked,
    whitelisted,
)
from tacit.counts.private import Privacy
from tacit.network.office import Courier, Office, Terms
from tacit.network.settings import check_config
from tacit.network.tasks.count import network_round
from tacit.runs.config import Config
from tacit.text import supplement
from tacit.text.prepare import CLIENTS
from tacit.text.vocabulary import SPECIALS, Vocabulary

LIMIT = 1000.0  # λ, unless one is given


class Whitelist(NamedTuple):
    """Holds the words that may be counted, and the text they come from (None: a file)."""

    words: Vocabulary
    supplement: str | None


class CountSettings(NamedTuple):
    """Holds the settings of a count, besides the words."""

    limit: float = LIMIT
    rounds: int = 1
    privacy: Privacy | None = None

    def options(self) -> CountOptions:
        """Returns the settings as those of the simulator."""
        return CountOptions((self.limit,), rounds=self.rounds, privacy=self.privacy)


def find_whitelist(config: Config, given: str | None = None, source: str | None = None) -> Whitelist:
    """Returns the words of a file, or the commonest of a text that is not the clients'; by default of new typists."""
    text = dataclasses.replace(config.text, corpus=CLIENTS, case="lower")
    found = supplement.find(text, config.typists, source or "typists", None)
    words, _ = whitelisted(CountOptions(whitelist=given), found, config, None)
    is_file = given is not None and not (given.isdecimal() and not Path(given).exists())
    return Whitelist(words, None if is_file or found is None else found.name)


def counting_config(config: Config, rounds: int) -> Config:
    """Returns the configuration that clients get for a count, with uncased words."""
    return dataclasses.replace(
        config,
        text=dataclasses.replace(config.text, case="lower"),
        training=dataclasses.replace(config.training, rounds=rounds),
    )


def counted(office: Office, asked: CountSettings, listed: Whitelist) -> Counted:
    """Counts with the clients of an office, whose words are the whitelist; writes nothing."""
    options = asked.options()
    totals, lines = collect(
        network_round(office, options.limits), options.limits, len(office.words), asked.rounds, no_progress
    )
    reported = max(line["clients"] for line in lines)
    if not reported:
        raise TacitError("no client counted; start clients (`tacit federation status` lists those invited)")
    # a client answers a round once, so it takes part in at most all of them
    totals, lines, release, noise = protected(totals, lines, options, lambda: asked.rounds)
    check_seen(totals)
    counts, scale = ranked(office.words, totals[0])
    summary: dict[str, Any] = {
        "name": office.config.name,
        "corpus": CLIENTS,
        "supplement": listed.supplement,
        "whitelist": len(office.words) - len(SPECIALS),
        "clients": office.population,
        "reported": reported,
        "rounds": asked.rounds,
        "seen": len(counts),
        "lambda": limit_name(asked.limit),
        "scale": scale,
        "chosen_by": "given",
        "bytes_per_client_and_round": {
            "down": len("\n".join(office.words.words)),
            "up": 4 * len(office.words),
        },
        "refused": dict(office.refused),
        **noise,
    }
    return Counted(counts, lines, summary, release)


def count(
    config: Config,
    out: Path,
    courier: Courier,
    population: Callable[[], int],
    terms: Terms,
    asked: CountSettings,
    listed: Whitelist,
) -> Counted:
    """Counts with the clients of a federation and writes the directory."""
    config = counting_config(config, asked.rounds)
    check_config(config)
    office = Office(courier, config, listed.words, population(), terms, Counter())
    return store(out, lambda: counted(office, asked, listed))
