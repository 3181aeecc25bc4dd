"""The commands `tacit federation count`, `evaluate` and `personalize`: work of clients beside training."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Annotated

import typer

from tacit.base.errors import TacitError
from tacit.cli.evaluation import scores_table
from tacit.cli.ngram import count_privacy
from tacit.cli.options import (
    BatchOption,
    CountEpsilonOption,
    EpochsOption,
    JsonOption,
    MarginOption,
    MaxTokensOption,
    MinPeopleOption,
    RateOption,
    SetOption,
    SumsDeltaOption,
    SumsEpsilonOption,
    WhitelistOption,
    assignments,
    numbers,
    path_option,
    print_json,
    print_table,
    say,
    start_jax,
)
from tacit.cli.personal import show

Place = Annotated[Path, typer.Argument(metavar="DIR", help="The directory of the federation.")]
RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.")]
Deadline = Annotated[float, typer.Option(help="Seconds to wait for clients.", metavar="SECONDS", min=1)]


def register(federation: typer.Typer) -> None:
    """Adds the commands of this file to `tacit federation`."""
    for name, command in (("count", count), ("evaluate", evaluate), ("personalize", personalize)):
        federation.command(name)(command)


def count(
    place: Place,
    out: Annotated[Path, path_option("--out", "Directory of the counts.")],
    whitelist: WhitelistOption = None,
    supplement: Annotated[
        str | None, typer.Option(help="A corpus that is not the clients' (default: newly generated typists).")
    ] = None,
    limit: Annotated[
        float | None,
        typer.Option(
            "--lambda",
            metavar="λ",
            help="Bound on a client's counts (default: 1000; with --epsilon: 100).",
        ),
    ] = None,
    rounds: Annotated[
        int, typer.Option(help="Number of rounds; all connected clients count in each.", metavar="N", min=1)
    ] = 1,
    epsilon: CountEpsilonOption = None,
    delta: Annotated[
        float | None, typer.Option(metavar="δ", help="With --mechanism gaussian (default: 1e-6).")
    ] = None,
    mechanism: Annotated[
        str | None, typer.Option(metavar="laplace|gaussian", help="Noise (default: laplace).")
    ] = None,
    deadline: Deadline = 600,
    set_: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Count words of a whitelist on the clients of a federation, as `tacit count` does.

    Examples:

      tacit federation count home --out counts

      tacit federation count home --whitelist words.txt --lambda 100 --epsilon 1 --out counts
    """
    from tacit.network import flower

    flower.require()
    from tacit.base import settings, transaction
    from tacit.counts.count import KIND
    from tacit.counts.counted import check_options
    from tacit.counts.report import privacy_fact
    from tacit.network.assignments import count_order
    from tacit.network.counting import LIMIT, CountSettings, counting_config, find_whitelist
    from tacit.network.office import Terms
    from tacit.network.orders import check_served, give
    from tacit.network.settings import check_config
    from tacit.network.training import networked
    from tacit.runs.config import from_anywhere, resolve

    privacy = count_privacy(epsilon, delta, mechanism, None)
    asked = CountSettings(limit if limit is not None else 100.0 if privacy else LIMIT, rounds, privacy)
    check_options(asked.options())
    config = counting_config(networked(from_anywhere(resolve("fedavg", assignments({}, set_)))), rounds)
    check_config(config)
    transaction.check(out, KIND)
    check_served(place)
    start_jax()
    listed = find_whitelist(config, whitelist, supplement)
    said = {"config": settings.tables(config), **count_order(asked, listed)}
    give(place, "count", said, out, Terms(deadline), listed.words)
    summary = transaction.summary_of(out, KIND) or {}
    if as_json:
        print_json(summary)
        return
    say(f"{summary['reported']:,} clients: {summary['seen']:,} of {summary['whitelist']:,} words seen")
    say(privacy_fact(summary))
    say(str(out / "report.html"))


def evaluate(
    place: Place,
    run: RunPath,
    deadline: Deadline = 600,
    as_json: JsonOption = False,
) -> None:
    """Score a run's best model on the latest messages of the clients of a federation.

    Clients send only sums of scores.

    Example:

      tacit federation evaluate home runs/real --json
    """
    from tacit.network import flower

    flower.require()
    from tacit.network.finished import checked_run
    from tacit.network.office import Terms
    from tacit.network.orders import check_served, give

    start_jax()
    private = checked_run(run).config.privacy.noisy
    check_served(place)
    figures = give(place, "evaluate", {"run": str(run.resolve())}, run, Terms(deadline))
    if as_json:
        print_json(figures)
        return
    figures = {k: math.nan if v is None else v for k, v in figures.items()}
    print_table(scores_table(figures))
    say(f"{figures['people']:,} of {figures['clients']:,} invited clients reported")
    if private:
        say(figures["epsilon_reason"])


def personalize(
    place: Place,
    run: RunPath,
    out: Annotated[Path, path_option("--out", "Directory of the results.")],
    batch: BatchOption = "5,10,20",
    lr: RateOption = "0.01,0.1,1.0",
    max_tokens: MaxTokensOption = 5000,
    epochs: EpochsOption = 1,
    margin: MarginOption = None,
    more: Annotated[
        bool, typer.Option("--strategies", help="Also try parts of the model, mixtures and a word cache.")
    ] = False,
    epsilon: SumsEpsilonOption = None,
    delta: SumsDeltaOption = None,
    min_people: MinPeopleOption = 0,
    deadline: Deadline = 600,
    as_json: JsonOption = False,
) -> None:
    """Fine-tune a run's model on each client of a federation, and measure whom it helps.

    A client measures on its own later text. It sends whole numbers, which are added, and no model.

    Example:

      tacit federation personalize home runs/real --lr 0.1,1 --batch 5 --out personal
    """
    from tacit.network import flower

    flower.require()
    from tacit.base import transaction
    from tacit.network.assignments import personalize_order
    from tacit.network.office import Terms
    from tacit.network.orders import check_served, give
    from tacit.personal.job import PersonalOptions, check_options, read_word_run
    from tacit.personal.personalize import KIND
    from tacit.personal.private import Protection
    from tacit.runs import read_config

    if delta is not None and epsilon is None:
        raise TacitError("--delta needs --epsilon, which says how much noise; add that or leave it out")
    options = dataclasses.replace(
        PersonalOptions(keep=0),
        batches=numbers("--batch", batch, int, like="5,10,20"),
        rates=numbers("--lr", lr, float, like="0.01,0.1,1.0"),
        max_tokens=max_tokens,
        epochs=epochs,
        margin=margin,
        strategies=more,
        protection=Protection(epsilon, 1e-6 if delta is None else delta, min_people),
    )
    check_options(options)
    read_config(run)
    start_jax()
    read_word_run(run)
    transaction.check(out, KIND)
    check_served(place)
    said = {"run": str(run.resolve()), **personalize_order(options)}
    give(place, "personalize", said, out, Terms(deadline))
    summary = transaction.summary_of(out, KIND) or {}
    show(summary, out, as_json)
