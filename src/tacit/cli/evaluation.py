"""The commands `tacit evaluate`, `compare` and `predict`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.base.errors import TacitError
from tacit.cli.options import (
    CorpusOption,
    DataOption,
    JsonOption,
    TrustOption,
    path_option,
    print_json,
    print_table,
    say,
    start_jax,
    trust_runs,
)


def register(app: typer.Typer) -> None:
    """Adds the commands of this file to the program."""
    for command in (evaluate, compare, predict):
        app.command()(command)


def evaluate(
    run: Annotated[
        Path, typer.Argument(metavar="RUN|FILE", help="A run directory, or a model file (.tacit, .arpa).")
    ],
    corpus: CorpusOption = None,
    keyboard: Annotated[
        bool,
        typer.Option("--keyboard", help="Measure typing: keystrokes saved, taps, glides, latency."),
    ] = False,
    held_out: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Score a file on the held-out people of this run."),
    ] = None,
    federated: Annotated[
        bool,
        typer.Option("--federated", help="Score person by person, and use only sums over people."),
    ] = False,
    people: Annotated[
        int | None,
        typer.Option(help="With --keyboard: most people to type (default: all).", metavar="N", min=1),
    ] = None,
    messages: Annotated[
        int | None,
        typer.Option(
            help="With --keyboard: most messages per person (default: 50); 0: all.", metavar="N", min=0
        ),
    ] = None,
    noisy: Annotated[
        int | None,
        typer.Option(
            help="With --keyboard: words to tap and glide (default: 1000); 0: none.",
            metavar="N",
            min=0,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            help="With --keyboard: seed of the noise (default: 0).", metavar="N", min=0, max=2**31 - 1
        ),
    ] = None,
    as_json: JsonOption = False,
    data: DataOption = None,
    trust: TrustOption = False,
) -> None:
    """Score a run or a model file on held-out people, or on all of another corpus.

    Examples:

      tacit evaluate runs/first

      tacit evaluate runs/first --corpus messages.jsonl --json

      tacit evaluate runs/first/ngram/model.tacit --corpus nus-sms

      tacit evaluate runs/first/ngram/model.tacit --held-out runs/first --json

      tacit evaluate runs/first --federated

      tacit evaluate runs/first --keyboard --people 10

      tacit evaluate network.tacit --keyboard --held-out runs/first
    """
    from tacit.base.terminal import progress_bar
    from tacit.lm.evaluate import evaluate as score

    start_jax()
    trust_runs(trust, run, held_out)
    given = {"people": people, "messages": messages, "noisy": noisy, "seed": seed}
    asked = {name: value for name, value in given.items() if value is not None}
    if federated and keyboard:
        raise TacitError("--federated and --keyboard measure different things; give one of them")
    if keyboard:
        from tacit.keyboard.measures import report as keyboard_report

        options = keyboard_report.KeyboardOptions(**asked)
        with progress_bar() as progress:
            typed = keyboard_report.measure(run, corpus, options, data, progress, held_out)
        if as_json:
            print_json(typed)
            return
        print_table(keyboard_report.table(typed))
        for line in keyboard_report.facts(typed):
            say(line)
        return
    for name in asked:
        raise TacitError(f"--{name} is for --keyboard; add that or leave it out")
    with progress_bar() as progress:
        figures = score(run, corpus, data, progress, held_out, federated)
    if as_json:
        print_json(figures)
        return
    print_table(scores_table(figures))
    if federated:
        say(f"{figures['people']:,} people reported; only the sums of their scores are used")


def scores_table(figures: dict[str, Any]) -> list[list[str]]:
    """Returns the figures of a model on a text as rows, with the half-widths of their intervals."""
    shown = {
        "perplexity": f"{figures['perplexity']:.2f}",
        "top1": f"{figures['top1']:.2%}",
        "top3": f"{figures['top3']:.2%}",
        "tokens": f"{figures['tokens']:,.0f}",
        "oov": f"{figures['oov']:.2%}",
        "sll": f"{figures['sll']:.2f}",
        "sll_without_oov": f"{figures['sll_without_oov']:.2f}",
        "people": f"{figures['people']:,}",
    }
    half = {"perplexity": "±{:.2f}", "top1": "±{:.2%}", "top3": "±{:.2%}", "sll": "±{:.2f}"}
    rows = [["", figures["text"], "95 %"]]
    for name, value in shown.items():
        ci = figures.get("ci95", {}).get(name)
        rows.append([name, value, half[name].format(ci) if ci is not None and math.isfinite(ci) else ""])
    return rows


def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN…", help="Run directories.")],
    out: Annotated[
        Path | None, path_option("--out", "Page of plots (default: compare.html; with --json none).")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare runs in a table, and write a page with plots.

    Example:

      tacit compare runs/fedavg runs/fedatt --out compare.html
    """
    from tacit.base.files import check_file, make_folder
    from tacit.runs import Run, report

    page = out or Path("compare.html")
    target = check_file(page, report.MARK.encode(), "a page of Tacit")
    names = [run.name if len({r.name for r in runs}) == len(runs) else str(run) for run in runs]
    loaded = [Run(run) for run in runs]
    entries = [report.entry_of(run, name) for run, name in zip(loaded, names, strict=True)]
    if out or not as_json:
        make_folder(target)
        title = "Tacit: " + ", ".join(names)
        report.write(target, report.Page(title, "Runs side by side.", entries, loaded[0].config))
    if as_json:
        print_json({e.name: {"test": e.test, "seen": e.seen} for e in entries})
        return
    print_table(report.comparison(entries))
    say(str(page))


def predict(
    run: Annotated[
        Path, typer.Argument(metavar="RUN|FILE", help="A run directory, or a model file (.tacit, .arpa).")
    ],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The text typed so far.")],
    k: Annotated[int, typer.Option("--k", help="Number of suggestions.", metavar="N", min=1)] = 3,
    user: Annotated[
        str | None,
        typer.Option("--user", metavar="NAME", help="A person's model, from `tacit personalize`."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Suggest the next word.

    Examples:

      tacit predict runs/first "are you" --k 3

      tacit predict runs/first/ngram/model.arpa "are you"
    """
    from tacit.lm.open import open as open_model

    start_jax()
    suggestions = open_model(run, user).suggest(text, k)
    if as_json:
        print_json({"text": text, "suggestions": [{"word": w, "probability": p} for w, p in suggestions]})
        return
    print_table([["word", "probability"], *([w, f"{p:.2%}"] for w, p in suggestions)])
