"""The commands `tacit count` and `tacit distill`: words counted across devices, and n-gram models of a run."""

from __future__ import annotations

import calendar
import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.base.errors import TacitError
from tacit.cli.options import (
    CorpusOption,
    DataOption,
    JsonOption,
    SetOption,
    assignments,
    numbers,
    one_of,
    print_json,
    print_models,
    print_table,
    start_jax,
)


def register(app: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    app.command("count")(count_words)
    app.command("distill")(distill)


def count_words(
    source: Annotated[
        str,
        typer.Argument(
            metavar="PRESET|FILE.toml|DIR", help="A configuration, or a run directory to take it from."
        ),
    ],
    corpus: CorpusOption = None,
    whitelist: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|N",
            help="Words to count: a file, one per line, or the N commonest words of the supplement (default: all of "
            "its words).",
        ),
    ] = None,
    supplement: Annotated[
        str | None,
        typer.Option(
            help="A corpus that is not the clients' (default for the built-in typists: newly generated ones)."
        ),
    ] = None,
    limits: Annotated[
        str,
        typer.Option(
            "--lambda", metavar="λ,…", help="Bounds on the sum of a client's counts; inf: no bound."
        ),
    ] = "1,1000,5000,inf",
    rounds: Annotated[
        int | None, typer.Option(help="Number of rounds (default: training.rounds).", min=1)
    ] = None,
    cohort: Annotated[
        int | None, typer.Option(help="Clients per round (default: as configured).", min=1)
    ] = None,
    capacity: Annotated[
        int | None,
        typer.Option(help="Number of words that a keyboard can hold (default: half of those seen).", min=1),
    ] = None,
    order: Annotated[
        int, typer.Option(help="Order of the n-gram model that gets the counts.", min=1, max=5)
    ] = 3,
    seed: Annotated[int | None, typer.Option(help="Seed of the random draws.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="New directory (default: DIR/count, or runs/PRESET-count).")
    ] = None,
    set_: SetOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Count words across devices: clipped counts over a whitelist, and a comparison of the λ.

    Examples:

      tacit count gboard-ngram --rounds 100

      tacit count fedavg --corpus nus-sms --supplement tatoeba-en --whitelist 10000 --cohort 100
    """
    from tacit.base.terminal import progress_bar
    from tacit.ngram.counts.count import count
    from tacit.ngram.counts.counted import CountOptions
    from tacit.ngram.counts.report import comparison
    from tacit.runs import read_config
    from tacit.runs.config import resolve
    from tacit.text.catalogue import user_path

    run = Path(source)
    if run.is_dir():
        read_config(run)  # refuses a directory that is not a run
    if corpus and user_path(corpus).exists():
        corpus = str(user_path(corpus).resolve())
    keys = assignments({"text.corpus": corpus, "seed": seed}, set_)
    config = resolve(str(run / "config.toml") if run.is_dir() else source, keys)
    out = out or (run / "count" if run.is_dir() else Path("runs") / f"{run.stem}-count")
    options = CountOptions(
        numbers("--lambda", limits, float, like="1,1000,5000,inf"),
        whitelist,
        supplement,
        rounds or 0,
        cohort or 0,
        capacity or 0,
        order,
    )
    start_jax()
    with progress_bar() as progress:
        counted = count(config, out, options, data, progress)
    if as_json:
        print_json(counted.summary)
        return
    print_table(comparison(counted.summary))
    typer.echo(str(out / "report.html"))


def distill(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.")],
    supplement: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|PATH",
            help="A corpus that is not the clients', for n-grams and capitals (default for the built-in typists: newly "
            "generated ones).",
        ),
    ] = None,
    order: Annotated[int, typer.Option(help="Order of the n-gram model.", min=1, max=5)] = 3,
    max_ngrams: Annotated[
        int, typer.Option("--max-ngrams", help="Maximum number of n-grams, single words included.", min=1)
    ] = 1_500_000,
    topology: Annotated[
        str,
        typer.Option(
            metavar="e|i|m|r",
            help="Which n-grams: the supplement's (e), the network's own (i), both interpolated (m), or both with "
            "the network's weights (r).",
        ),
    ] = "r",
    cased: Annotated[
        bool, typer.Option("--cased", help="Restore capitals as the supplement has them.")
    ] = False,
    pieces: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN",
            help="For a RUN over word-pieces: a run over the same words, which infers n-grams.",
        ),
    ] = None,
    unigrams: Annotated[
        Path | None,
        typer.Option(metavar="counts.tsv", help="Unigrams of a larger vocabulary, from `tacit count`."),
    ] = None,
    sentences: Annotated[int, typer.Option(help="Sentences drawn from the network.", min=1)] = 20_000,
    locale: Annotated[str, typer.Option(help="Language of words.combined.")] = "en",
    date: Annotated[
        str | None, typer.Option(metavar="YYYY-MM-DD", help="Date in words.combined (default: today).")
    ] = None,
    skip: Annotated[
        bool, typer.Option("--skip", help="Leave out words that words.combined cannot hold.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the random draws.", min=0, max=2**31 - 1)] = 0,
    out: Annotated[Path | None, typer.Option(help="Directory (default: RUN/ngram).")] = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Distil a run into an n-gram model that keyboards load: compact, ARPA, OpenFst and AOSP word-list files.

    Examples:

      tacit distill runs/first

      tacit distill runs/first --supplement tatoeba-en --cased --max-ngrams 200000 --out keyboard
    """
    from tacit.base.terminal import progress_bar
    from tacit.ngram.distillation.distill import distill as distill_run
    from tacit.ngram.distillation.model import DistillOptions

    one_of("--topology", topology, ("e", "i", "m", "r"))
    which: Any = topology  # one of the four, as checked above
    options = DistillOptions(supplement, order, max_ngrams, which, cased, pieces, unigrams, sentences, seed)
    out, seconds = out or run / "ngram", _seconds(date)
    start_jax()
    with progress_bar() as progress:
        summary = distill_run(run, out, options, data, locale, seconds, skip, progress)
    if as_json:
        print_json(summary)
        return
    print_models(summary["models"])
    typer.echo(
        f"{summary['ngrams']:,} n-grams, {summary['bytes']['model.tacit'] / 1e6:.2f} MB, three suggestions in "
        f"{summary['latency_us']['p50']:.0f} µs"
    )
    typer.echo(str(out))


def _seconds(date: str | None) -> int:
    """Reads a date as seconds since 1970; None is today."""
    try:
        day = datetime.date.fromisoformat(date) if date else datetime.date.today()
    except ValueError:
        raise TacitError(f"--date {date} is not a date; write it like 2026-01-31") from None
    return calendar.timegm(day.timetuple())
