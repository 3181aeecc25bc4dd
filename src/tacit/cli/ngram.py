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
    CountEpsilonOption,
    DataOption,
    JsonOption,
    LocaleOption,
    SetOption,
    TrustOption,
    WhitelistOption,
    assignments,
    numbers,
    one_of,
    path_option,
    print_json,
    print_models,
    print_table,
    say,
    start_jax,
    trust_runs,
)


def register(app: typer.Typer) -> None:
    """Adds the commands of this file to the program."""
    app.command("count")(count_words)
    app.command("distill")(distill)


def count_words(
    source: Annotated[
        str,
        typer.Argument(metavar="PRESET|FILE.toml|RUN", help="A configuration, or a run directory with one."),
    ],
    corpus: CorpusOption = None,
    locale: LocaleOption = None,
    whitelist: WhitelistOption = None,
    supplement: Annotated[
        str | None,
        typer.Option(help="A corpus that is not the clients' (default: new typists, or none)."),
    ] = None,
    limits: Annotated[
        str | None,
        typer.Option(
            "--lambda",
            metavar="λ,…",
            help="Bounds on a client's counts (default: 1,1000,5000,inf; with --epsilon: 100).",
        ),
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(help="Number of rounds (default: training.rounds).", metavar="N", min=1)
    ] = None,
    cohort: Annotated[
        int | None, typer.Option(help="Clients per round (default: as configured).", metavar="N", min=1)
    ] = None,
    capacity: Annotated[
        int | None,
        typer.Option(
            help="Number of words that a keyboard holds (default: half of those seen).", metavar="N", min=1
        ),
    ] = None,
    order: Annotated[
        int, typer.Option(help="Order of the n-gram model that gets the counts.", metavar="N", min=1, max=5)
    ] = 3,
    epsilon: CountEpsilonOption = None,
    delta: Annotated[
        float | None, typer.Option(metavar="δ", help="With --mechanism gaussian or --open (default: 1e-6).")
    ] = None,
    mechanism: Annotated[
        str | None,
        typer.Option(metavar="laplace|gaussian", help="Noise over a whitelist (default: laplace)."),
    ] = None,
    open_: Annotated[
        int | None,
        typer.Option(
            "--open",
            metavar="K",
            help="Without a whitelist: K words of each client; release those of many.",
            min=1,
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the random draws.")] = None,
    out: Annotated[
        Path | None, path_option("--out", "Directory (default: RUN/count, or runs/PRESET-count).")
    ] = None,
    set_: SetOption = None,
    data: DataOption = None,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Count words across clients, and compare bounds λ on a client's counts.

    Only words of a whitelist are counted, unless --open is given. Without a supplement, the whitelist is the
    vocabulary of the configuration.

    Examples:

      tacit count gboard-ngram --rounds 100

      tacit count fedavg --corpus nus-sms --supplement tatoeba-en --whitelist 10000 --cohort 100

      tacit count fedavg --epsilon 1 --lambda 100 --rounds 1

      tacit count fedavg --epsilon 1 --delta 1e-6 --open 64
    """
    from tacit.base.files import inside
    from tacit.base.terminal import progress_bar
    from tacit.counts.count import count
    from tacit.counts.counted import CountOptions
    from tacit.counts.report import comparison, privacy_fact
    from tacit.runs import read_config
    from tacit.runs.config import resolve
    from tacit.text.catalogue import user_path

    run = Path(source)
    if run.is_dir():
        read_config(run)  # refuses a directory that is not a run
        trust_runs(trust, run)
    if corpus and user_path(corpus).exists():
        corpus = str(user_path(corpus).resolve())
    keys = assignments({"text.corpus": corpus, "text.locale": locale, "seed": seed}, set_)
    config = resolve(str(run / "config.toml") if run.is_dir() else source, keys)
    out = out or (inside(run, "count") if run.is_dir() else Path("runs") / f"{run.stem}-count")
    privacy = count_privacy(epsilon, delta, mechanism, open_)
    if open_ is not None and limits is not None:
        raise TacitError("--open sends every word once, so --lambda does nothing; leave it out")
    options = CountOptions(
        numbers(
            "--lambda", limits or ("100" if privacy else "1,1000,5000,inf"), float, like="1,1000,5000,inf"
        ),
        whitelist,
        supplement,
        rounds or 0,
        cohort or 0,
        capacity or 0,
        order,
        privacy,
    )
    start_jax()
    with progress_bar() as progress:
        counted = count(config, out, options, data, progress)
    if as_json:
        print_json(counted.summary)
        return
    if privacy and privacy.words:
        say(f"{counted.summary['seen']:,} words of {counted.summary['clients']:,} clients")
    else:
        print_table(comparison(counted.summary))
    if "table1" in counted.summary and whitelist is None and counted.summary["supplement"] is None:
        words, origin = counted.summary["whitelist"], counted.summary["whitelist_from"]
        say(f"no --supplement: the whitelist is the {words:,} words of {origin}")
    say(privacy_fact(counted.summary))
    say(str(out / "report.html"))


def count_privacy(
    epsilon: float | None, delta: float | None, mechanism: str | None, open_: int | None
) -> Any:
    """Returns the noise of a count; None without --epsilon."""
    from tacit.counts.private import MECHANISMS, Privacy

    if epsilon is None:
        for name, value in (("--delta", delta), ("--mechanism", mechanism), ("--open", open_)):
            if value is not None:
                raise TacitError(
                    f"{name} needs --epsilon, which says how much noise; add that or leave it out"
                )
        return None
    if mechanism is not None:
        one_of("--mechanism", mechanism, MECHANISMS)
        if open_ is not None and mechanism != "gaussian":
            raise TacitError("--open needs gaussian noise; leave out --mechanism")
    chosen: Any = mechanism or "laplace"
    if delta is not None and chosen == "laplace" and open_ is None:
        raise TacitError("--delta does nothing with laplace noise; leave it out, or add --mechanism gaussian")
    return Privacy(epsilon, 1e-6 if delta is None else delta, chosen, open_ or 0)


def distill(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.")],
    supplement: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|PATH",
            help="A corpus that is not the clients' (default: new typists, or none).",
        ),
    ] = None,
    order: Annotated[int, typer.Option(help="Order of the n-gram model.", metavar="N", min=1, max=5)] = 3,
    max_ngrams: Annotated[
        int, typer.Option("--max-ngrams", help="Most n-grams, single words included.", metavar="N", min=1)
    ] = 1_500_000,
    topology: Annotated[
        str | None,
        typer.Option(
            metavar="e|i|m|r",
            help="Which n-grams (see above; default: r, or i without a supplement).",
        ),
    ] = None,
    cased: Annotated[
        bool, typer.Option("--cased", help="Restore capitals as the supplement has them.")
    ] = False,
    pieces: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN",
            help="For word-pieces: a run over the same words to infer the n-grams.",
        ),
    ] = None,
    unigrams: Annotated[
        Path | None,
        typer.Option(metavar="counts.tsv", help="Unigrams of a larger vocabulary, from `tacit count`."),
    ] = None,
    unigram_weight: Annotated[
        float,
        typer.Option(
            metavar="α",
            help="Weight of --unigrams; the model's own have the rest.",
        ),
    ] = 1.0,
    client_counts: Annotated[
        float | None,
        typer.Option(
            "--client-counts",
            metavar="λ",
            help="Mix in n-grams counted on the clients, each clipped to a sum of λ.",
        ),
    ] = None,
    sentences: Annotated[
        int, typer.Option(help="Sentences drawn from the network.", metavar="N", min=1)
    ] = 20_000,
    locale: Annotated[
        str | None,
        typer.Option(help="Language of the Android files, such as pt_BR (default: the run's)."),
    ] = None,
    date: Annotated[
        str | None,
        typer.Option(metavar="YYYY-MM-DD", help="Date in the Android files (default: today)."),
    ] = None,
    skip: Annotated[
        bool, typer.Option("--skip", help="Leave out words that words.combined cannot hold.")
    ] = False,
    block: Annotated[
        Path | None,
        typer.Option(
            metavar="words.txt",
            help="Words that keyboards must not suggest (marked as offensive).",
        ),
    ] = None,
    merge: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.combined",
            help="A word list to merge into the Android files, half and half.",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(help="Seed of the random draws.", metavar="N", min=0, max=2**31 - 1)
    ] = 0,
    out: Annotated[Path | None, path_option("--out", "Directory (default: RUN/ngram).")] = None,
    data: DataOption = None,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Distil a run into a small n-gram model, in the file formats of keyboards and n-gram tools.

    Topologies: e has the supplement's n-grams, i those that the network infers, m both models interpolated, and r
    both kinds of n-grams with the network's probabilities. The Android files are words.dict and words.combined.

    Examples:

      tacit distill runs/first

      tacit distill runs/first --supplement tatoeba-en --cased --max-ngrams 200000 --out keyboard

      tacit distill runs/first --unigrams runs/count/counts.tsv --unigram-weight 0.5

      tacit distill runs/first --client-counts 1000

      tacit distill runs/first --block never.txt --merge main_en.combined
    """
    from tacit.base.files import inside
    from tacit.base.terminal import progress_bar
    from tacit.distillation.distill import distill as distill_run
    from tacit.distillation.model import DistillOptions

    if topology is not None:
        one_of("--topology", topology, ("e", "i", "m", "r"))
    which: Any = topology  # one of the four, as checked above, or None
    options = DistillOptions(
        *(supplement, order, max_ngrams, which, cased, pieces, unigrams, unigram_weight),
        *(client_counts, sentences, seed),
    )
    out, seconds = out or inside(run, "ngram"), _seconds(date) if date else None
    start_jax()
    trust_runs(trust, run)
    with progress_bar() as progress:
        summary = distill_run(run, out, options, data, locale, seconds, skip, progress, block, merge)
    if as_json:
        print_json(summary)
        return
    print_models(summary["models"])
    if topology is None and summary["supplement"] is None:
        say("no --supplement: the n-grams are those of the network's own sentences (--topology i)")
    if summary["inferred_from"] == "pieces":
        say(
            f"topology {summary['topology']}: n-grams inferred from the network's sentences of pieces, read as words "
            "(--pieces RUN takes those of a run over words)"
        )
    say(
        f"{summary['ngrams']:,} n-grams, {summary['bytes']['model.tacit'] / 1e6:.2f} MB, three suggestions in "
        f"{summary['latency_us']['p50']:.0f} µs"
    )
    say(str(out))


def _seconds(date: str) -> int:
    """Reads a date as seconds since 1970."""
    try:
        day = datetime.date.fromisoformat(date)
    except ValueError:
        raise TacitError(f"--date {date} is not a date; write it like 2026-01-31") from None
    return calendar.timegm(day.timetuple())
