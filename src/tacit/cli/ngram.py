"""The commands of the n-gram room: `tacit count` and `tacit distill`."""

from __future__ import annotations

import calendar
import datetime
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.base.errors import TacitError
from tacit.cli.options import DataOption, JsonOption, print_json, print_models, print_table, start_jax


def register(app: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    app.command("count")(count_words)
    app.command("distill")(distill)


def read_limits(text: str) -> tuple[float, ...]:
    """The λ of `--lambda`, in the order given.

    >>> read_limits("1, 1000,inf")
    (1.0, 1000.0, inf)
    """
    try:
        limits = tuple(dict.fromkeys(float(part) for part in text.split(",")))
    except ValueError:
        raise TacitError(f"--lambda {text}: not numbers; write them like 1,1000,5000,inf") from None
    for limit in limits:
        if not limit > 0:
            raise TacitError(
                f"--lambda {text}: λ must be above 0; 1 weighs everybody alike, inf does not clip"
            )
    return limits


def count_words(
    source: Annotated[
        str,
        typer.Argument(
            metavar="PRESET|FILE.toml|DIR", help="Whose words: a configuration, or a run directory's."
        ),
    ],
    corpus: Annotated[
        str | None,
        typer.Option("--corpus", help="'typists' (built in), a name of `tacit data list`, or a path."),
    ] = None,
    whitelist: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|N",
            help="Words that may be counted: a file with one a line, or the N commonest of the supplement (default: "
            "all of its words).",
        ),
    ] = None,
    supplement: Annotated[
        str | None,
        typer.Option(
            help="A corpus that is not the clients' (default for the built-in typists: others like them)."
        ),
    ] = None,
    limits: Annotated[
        str, typer.Option("--lambda", metavar="λ,…", help="Bounds on a client's counts; inf: none.")
    ] = "1,1000,5000,inf",
    rounds: Annotated[
        int | None, typer.Option(help="Number of rounds (default: training.rounds).", min=1)
    ] = None,
    cohort: Annotated[
        int | None, typer.Option(help="Clients a round (default: as the configuration says).", min=1)
    ] = None,
    capacity: Annotated[
        int | None,
        typer.Option(help="Words a keyboard has room for (default: half of those seen).", min=1),
    ] = None,
    order: Annotated[int, typer.Option(help="Order of the n-gram that takes the counts.", min=1, max=5)] = 3,
    seed: Annotated[int | None, typer.Option(help="Seed of the draws.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="New directory (default: DIR/count, or runs/PRESET-count).")
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="a.b=c", help="Set a key; may be repeated.")
    ] = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Count words across devices: clipped counts over a whitelist, and what each λ is worth.

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
        read_config(run)  # says so if it is no run
    if corpus and user_path(corpus).exists():
        corpus = str(user_path(corpus).resolve())
    given = {"text.corpus": corpus, "seed": seed}
    assignments = [f"{k}={json.dumps(v, ensure_ascii=False)}" for k, v in given.items() if v is not None]
    config = resolve(str(run / "config.toml") if run.is_dir() else source, [*assignments, *(set_ or [])])
    out = out or (run / "count" if run.is_dir() else Path("runs") / f"{run.stem}-count")
    options = CountOptions(
        read_limits(limits), whitelist, supplement, rounds or 0, cohort or 0, capacity or 0, order
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
            help="A corpus that is not the clients', for n-grams and capitals (default for the built-in typists: "
            "others like them).",
        ),
    ] = None,
    order: Annotated[int, typer.Option(help="Longest n-grams.", min=1, max=5)] = 3,
    max_ngrams: Annotated[
        int, typer.Option("--max-ngrams", help="Most n-grams, single words counted.", min=1)
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
        bool, typer.Option("--cased", help="Put capitals back, as the supplement has them.")
    ] = False,
    pieces: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN",
            help="Where RUN is over word-pieces: a run over the same words, which infers n-grams.",
        ),
    ] = None,
    unigrams: Annotated[
        Path | None,
        typer.Option(metavar="counts.tsv", help="Single words of a larger vocabulary, from `tacit count`."),
    ] = None,
    sentences: Annotated[int, typer.Option(help="Sentences drawn from the network.", min=1)] = 20_000,
    locale: Annotated[str, typer.Option(help="Language of words.combined.")] = "en",
    date: Annotated[
        str | None, typer.Option(metavar="YYYY-MM-DD", help="Date in words.combined (default: today).")
    ] = None,
    skip: Annotated[
        bool, typer.Option("--skip", help="Leave words out that words.combined cannot hold.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the draws.", min=0, max=2**31 - 1)] = 0,
    out: Annotated[Path | None, typer.Option(help="Directory (default: RUN/ngram).")] = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a run into an n-gram model that keyboards load: compact, ARPA, OpenFst and AOSP word-list files.

    Examples:

      tacit distill runs/first

      tacit distill runs/first --supplement tatoeba-en --cased --max-ngrams 200000 --out keyboard
    """
    from tacit.base.terminal import progress_bar
    from tacit.ngram.distillation.distill import distill as distill_run
    from tacit.ngram.distillation.model import DistillOptions

    if topology not in ("e", "i", "m", "r"):
        raise TacitError(f"--topology {topology} is not known; it is one of: e, i, m, r")
    try:
        day = datetime.date.fromisoformat(date) if date else datetime.date.today()
    except ValueError:
        raise TacitError(f"--date {date} is no date; write it like 2026-01-31") from None
    seconds = calendar.timegm(day.timetuple())
    which: Any = topology  # one of the four, as checked above
    options = DistillOptions(supplement, order, max_ngrams, which, cased, pieces, unigrams, sentences, seed)
    out = out or run / "ngram"
    start_jax()
    with progress_bar() as progress:
        found = distill_run(
            run,
            out,
            options,
            data,
            locale,
            seconds,
            skip,
            progress,
        )
    if as_json:
        print_json(found)
        return
    print_models(found["models"])
    typer.echo(
        f"{found['ngrams']:,} n-grams, {found['bytes']['model.tacit'] / 1e6:.2f} MB, three suggestions in "
        f"{found['latency_us']['p50']:.0f} µs"
    )
    typer.echo(str(out))
