"""The commands `tacit train`, `presets`, `bench` and `demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.options import (
    CorpusOption,
    DataOption,
    JsonOption,
    LocaleOption,
    SetOption,
    assignments,
    one_of,
    path_option,
    print_json,
    print_table,
    say,
    start_jax,
)


def register(app: typer.Typer) -> None:
    """Adds the commands of this file to the program."""
    for command in (train, presets, bench, demo):
        app.command()(command)


def train(
    preset: Annotated[
        str,
        typer.Argument(
            metavar="PRESET|FILE.toml", help="A preset (see `tacit presets`), or a configuration file."
        ),
    ],
    corpus: CorpusOption = None,
    locale: LocaleOption = None,
    rounds: Annotated[int | None, typer.Option(help="Number of rounds.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of training (the typists' is typists.seed).")] = None,
    out: Annotated[Path | None, path_option("--out", "Run directory (default: runs/PRESET).")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume an interrupted run.")] = False,
    set_: SetOption = None,
    data: DataOption = None,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Also write TensorBoard files.")] = False,
    coordinator: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT|auto",
            help="On several hosts: address of process 0, or auto on a cluster.",
        ),
    ] = None,
    processes: Annotated[int | None, typer.Option(help="On several hosts: number of processes.")] = None,
    process: Annotated[
        int | None, typer.Option(help="On several hosts: which process this is, from 0.")
    ] = None,
    wait: Annotated[
        int | None, typer.Option(help="On several hosts: seconds to wait for the others (default: 60).")
    ] = None,
) -> None:
    """Train a model and write a run directory.

    The same command on several hosts trains one model; each has its own --process.

    Examples:

      tacit train fedavg --rounds 20 --out runs/first

      tacit train fedatt --corpus ~/texts.jsonl.gz --set client.lr=0.5 --set sampling.clients=50

      tacit train fedavg --corpus mensagens.jsonl --locale pt

      tacit train my.toml --resume

      tacit train gboard --coordinator 10.0.0.1:1234 --processes 2 --process 0
    """
    from tacit import runs
    from tacit.base.terminal import progress_bar
    from tacit.federated import hosts
    from tacit.runs import report
    from tacit.runs.callbacks import bar
    from tacit.runs.callbacks import tensorboard as to_tensorboard
    from tacit.runs.config import from_anywhere, resolve

    start_jax()
    keys = assignments(
        {"text.corpus": corpus, "text.locale": locale, "training.rounds": rounds, "seed": seed}, set_
    )
    config = from_anywhere(resolve(preset, keys))
    out = out or Path("runs") / Path(preset).stem
    hosts.join(coordinator, processes, process, wait)
    callbacks = (bar(), *((to_tensorboard(out),) if tensorboard else ()))
    with progress_bar() as progress:
        runs.train(config, out, resume, data, callbacks, progress)
    if hosts.first():
        run = runs.Run(out)
        page = run.report()
        print_table(report.comparison([report.entry_of(run)]))
        say(str(page))
    hosts.leave()


def presets() -> None:
    """List the built-in configurations.

    Example:

      tacit presets
    """
    from tacit.runs.config import preset_summary
    from tacit.runs.config import presets as known

    print_table([["preset", "what"], *([name, preset_summary(name)] for name in known())])


def bench(
    workload: Annotated[
        list[str] | None,
        typer.Option("--workload", help="small, gboard, paper or ragged (default: all); can be repeated."),
    ] = None,
    precision: Annotated[str, typer.Option(help="float32 or bfloat16.")] = "float32",
    executor: Annotated[str, typer.Option(help="auto, vmap or map.")] = "auto",
    optimiser: Annotated[
        str, typer.Option(help="Optimiser of the clients: sgd, or adam, whose second moment travels.")
    ] = "sgd",
    repeats: Annotated[
        int, typer.Option(help="Timed repeats; the median is reported.", metavar="N", min=1)
    ] = 5,
    as_json: JsonOption = False,
) -> None:
    """Measure how fast this machine trains a cohort of clients.

    Example:

      tacit bench --workload small --json
    """
    from tacit.base.terminal import spinner
    from tacit.experiments.bench import CLIENTS, WORKLOADS, measure
    from tacit.experiments.bench import workload as known_workload

    start_jax()
    one_of("--precision", precision, ("float32", "bfloat16"))
    one_of("--executor", executor, ("auto", "vmap", "map"))
    one_of("--optimiser", optimiser, tuple(CLIENTS))
    results = []
    for name in workload or list(WORKLOADS):
        known_workload(name)
    for name in workload or list(WORKLOADS):
        with spinner(f"timing {name}"):
            results.append(measure(name, precision, executor, repeats, optimiser))
    if as_json:
        print_json(results)
        return
    header = ["workload", "clients", "executor", "devices", "ms per client-step", "words per second"]
    rows = [[*header, "useful", "of matrix rate", "of copy rate", "peak MB"]]
    rows += [
        [
            r["workload"],
            str(r["clients"]),
            r["executor"],
            f"{r['devices']} × {r['device']}",
            f"{r['ms_per_client_step']:.3f}",
            f"{r['tokens_per_s']:,.0f}",
            f"{r['useful_share']:.0%}",
            f"{r['matrix_share']:.0%}",
            f"{r['copy_share']:.0%}",
            f"{r['peak_memory_mb']:,.0f}",
        ]
        for r in results
    ]
    print_table(rows)


def demo(
    out: Annotated[Path, path_option("--out", "Run directory.")] = Path("runs/demo"),
    set_: SetOption = None,
) -> None:
    """Train on the built-in typists, compare with baselines, and write a report.

    Example:

      tacit demo --out runs/demo
    """
    from tacit.experiments.demo import demo as show

    start_jax()
    say(str(show(out, tuple(set_ or ()))))
    say(f"to type on it: tacit serve {out}")
