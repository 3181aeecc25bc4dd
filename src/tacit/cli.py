"""The commands. Each reads its arguments, calls one function and prints what it returns; no logic here.

Every command exits with 0, or with 2 and one line on standard error that says what is wrong and what to do.
"""

from __future__ import annotations

import json
import math
import os
import sys
import traceback
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from tacit import __version__, cli_experiments, cli_export, cli_keyboard, cli_personal
from tacit.cli_data import data
from tacit.cli_ngram import register
from tacit.errors import TacitError
from tacit.output import DataOption, JsonOption, print_json, print_table

app = typer.Typer(
    help="Keyboards that learn from what people type without anyone collecting it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    suggest_commands=False,  # click does already
    rich_markup_mode="rich",
)
app.add_typer(data, name="data")
register(app)
cli_experiments.register(app)
cli_personal.register(app)
cli_keyboard.register(app)
cli_export.register(app)

CorpusOption = Annotated[
    str | None, typer.Option("--corpus", help="'typists' (built in), a name of `tacit data list`, or a path.")
]


def _start_jax() -> None:
    """On CPU, let JAX see several devices, so that a cohort is spread over the cores."""
    import jax

    if "JAX_NUM_CPU_DEVICES" not in os.environ:  # JAX's own way to say how many
        jax.config.update("jax_num_cpu_devices", min(8, os.cpu_count() or 1))


@app.command()
def train(
    preset: Annotated[
        str, typer.Argument(metavar="PRESET|FILE.toml", help="What to run; see `tacit presets`.")
    ],
    corpus: CorpusOption = None,
    rounds: Annotated[int | None, typer.Option(help="Number of rounds.")] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of training's draws (the typists have typists.seed).")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Run directory (default: runs/PRESET).")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was interrupted.")] = False,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="a.b=c", help="Set a key; may be repeated.")
    ] = None,
    data: DataOption = None,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Also write TensorBoard files.")] = False,
    coordinator: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT|auto",
            help="Share cohorts with other processes: where process 0 is met. auto: ask the cluster.",
        ),
    ] = None,
    processes: Annotated[int | None, typer.Option(help="How many processes share a cohort.")] = None,
    process: Annotated[int | None, typer.Option(help="Which of them this is, from 0.")] = None,
    wait: Annotated[int | None, typer.Option(help="Seconds to wait for the others (60).")] = None,
) -> None:
    """Train a model and leave a run directory.

    Examples:

      tacit train fedavg --rounds 20 --out runs/first

      tacit train fedatt --corpus ~/texts.jsonl.gz --set client.lr=0.5 --set sampling.clients=50

      tacit train my.toml --resume

      tacit train gboard --coordinator 10.0.0.1:1234 --processes 2 --process 0
    """
    from tacit import hosts, report, runs
    from tacit.config import resolve
    from tacit.progress import bar, reading
    from tacit.progress import tensorboard as to_tensorboard

    _start_jax()
    if corpus and Path(corpus).expanduser().exists():
        corpus = str(Path(corpus).expanduser().resolve())  # a run is read from anywhere
    given = {"text.corpus": corpus, "training.rounds": rounds, "seed": seed}
    assignments = [f"{k}={json.dumps(v, ensure_ascii=False)}" for k, v in given.items() if v is not None]
    config = resolve(preset, [*assignments, *(set_ or [])])
    out = out or Path("runs") / Path(preset).stem
    hosts.join(coordinator, processes, process, wait)
    watchers = (bar(), *((to_tensorboard(out),) if tensorboard else ()))
    with reading() as watch:
        summary = runs.train(config, out, resume, data, watchers, watch)
    if hosts.first():
        entry = report.entry_of(out)
        lead = (
            f"{config.name}, {config.training.mode}, {config.training.rounds} rounds on {config.text.corpus}"
        )
        facts = report.run_facts(summary, report.seconds_of(out))
        report.write(
            out / "report.html", report.Page(f"Tacit: {config.name}", lead, [entry], config, facts=facts)
        )
        print_table(report.comparison([entry]))
        typer.echo(f"{out / 'report.html'}")
    hosts.leave()


@app.command()
def evaluate(
    run: Annotated[
        Path, typer.Argument(metavar="DIR|FILE", help="A run directory, or a model file (.tacit, .arpa).")
    ],
    corpus: CorpusOption = None,
    keyboard: Annotated[
        bool,
        typer.Option(
            "--keyboard", help="What it is worth to a typist: keys saved, taps and glides, latency."
        ),
    ] = False,
    held_out: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="With --keyboard: the people held out of this run (for a file)."),
    ] = None,
    people: Annotated[int | None, typer.Option(help="With --keyboard: most people (all).", min=1)] = None,
    messages: Annotated[
        int | None, typer.Option(help="With --keyboard: most messages of each (50); 0: all.", min=0)
    ] = None,
    noisy: Annotated[
        int | None,
        typer.Option(help="With --keyboard: words that are tapped and glided (1000); 0: none.", min=0),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="With --keyboard: seed of the noise (0).", min=0)] = None,
    as_json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Score a run's best model, or a model file: on its own held-out part, or on all of another corpus.

    Examples:

      tacit evaluate runs/first

      tacit evaluate runs/first --corpus messages.jsonl --json

      tacit evaluate runs/first/ngram/model.tacit --corpus nus-sms

      tacit evaluate runs/first --keyboard --people 10

      tacit evaluate network.tacit --keyboard --held-out runs/first
    """
    from tacit.evaluate import evaluate as score
    from tacit.progress import reading

    _start_jax()
    if held_out and not keyboard:
        raise TacitError("--held-out is for --keyboard; add that or leave it out")
    given = {"people": people, "messages": messages, "noisy": noisy, "seed": seed}
    asked = {name: value for name, value in given.items() if value is not None}
    if keyboard:
        from tacit import keyboard_report

        options = keyboard_report.KeyboardOptions(**asked)
        with reading() as watch:
            typed = keyboard_report.measure(run, corpus, options, data, watch, held_out)
        if as_json:
            print_json(typed)
            return
        print_table(keyboard_report.table(typed))
        for line in keyboard_report.facts(typed):
            typer.echo(line)
        return
    for name in asked:
        raise TacitError(f"--{name} is for --keyboard; add that or leave it out")
    with reading() as watch:
        found = score(run, corpus, data, watch)
    if as_json:
        print_json(found)
        return
    shown = {
        "perplexity": f"{found['perplexity']:.2f}",
        "top1": f"{found['top1']:.2%}",
        "top3": f"{found['top3']:.2%}",
        "tokens": f"{found['tokens']:,.0f}",
        "oov": f"{found['oov']:.2%}",
        "sll": f"{found['sll']:.2f}",
        "sll_without_oov": f"{found['sll_without_oov']:.2f}",
        "people": f"{found['people']:,}",
    }
    half = {"perplexity": "±{:.2f}", "top1": "±{:.2%}", "top3": "±{:.2%}", "sll": "±{:.2f}"}
    rows = [["", found["text"], "95 %"]]
    for name, value in shown.items():
        ci = found["ci95"].get(name)
        rows.append([name, value, half[name].format(ci) if ci is not None and math.isfinite(ci) else ""])
    print_table(rows)


@app.command()
def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="DIR…", help="Run directories.")],
    out: Annotated[Path, typer.Option(help="Where the plots go.")] = Path("compare.html"),
    as_json: JsonOption = False,
) -> None:
    """Compare runs: a table here, and a page with plots.

    Example:

      tacit compare runs/fedavg runs/fedatt --out compare.html
    """
    from tacit import report
    from tacit.runs import read_config

    names = [run.name if len({r.name for r in runs}) == len(runs) else str(run) for run in runs]
    entries = [report.entry_of(run, name) for run, name in zip(runs, names, strict=True)]
    if as_json:
        print_json({e.name: {"test": e.test, "seen": e.seen} for e in entries})
        return
    title = "Tacit: " + ", ".join(names)
    report.write(out, report.Page(title, "Runs side by side.", entries, read_config(runs[0])))
    print_table(report.comparison(entries))
    typer.echo(str(out))


@app.command()
def predict(
    run: Annotated[
        Path, typer.Argument(metavar="DIR|FILE", help="A run directory, or a model file (.tacit, .arpa).")
    ],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What has been typed so far.")],
    k: Annotated[int, typer.Option("--k", help="How many words.", min=1)] = 3,
    user: Annotated[
        str | None,
        typer.Option("--user", metavar="NAME", help="That person's model, of `tacit personalize`."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Suggest the next word.

    Example:

      tacit predict runs/first "are you" --k 3

      tacit predict runs/first/ngram/model.arpa "are you"
    """
    from tacit.evaluate import predict as guess

    _start_jax()
    found = guess(run, text, k, user)
    if as_json:
        print_json({"text": text, "suggestions": [{"word": w, "probability": p} for w, p in found]})
        return
    print_table([["word", "probability"], *([w, f"{p:.2%}"] for w, p in found)])


@app.command()
def bench(
    workload: Annotated[
        list[str] | None, typer.Option("--workload", help="small, gboard, paper, ragged; may be repeated.")
    ] = None,
    precision: Annotated[str, typer.Option(help="float32 or bfloat16.")] = "float32",
    executor: Annotated[str, typer.Option(help="auto, vmap or map.")] = "auto",
    repeats: Annotated[int, typer.Option(help="Timed repeats; the median counts.", min=1)] = 5,
    as_json: JsonOption = False,
) -> None:
    """Time a cohort's training on this machine.

    Example:

      tacit bench --workload small --json
    """
    from tacit.bench import WORKLOADS, measure
    from tacit.progress import busy

    _start_jax()
    for name, value, allowed in (
        ("--precision", precision, ("float32", "bfloat16")),
        ("--executor", executor, ("auto", "vmap", "map")),
    ):
        if value not in allowed:
            raise TacitError(f"{name} {value} is not known; it is one of: {', '.join(allowed)}")
    found = []
    for name in workload or list(WORKLOADS):
        with busy(f"timing {name}"):
            found.append(measure(name, precision, executor, repeats))
    if as_json:
        print_json(found)
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
        for r in found
    ]
    print_table(rows)


@app.command()
def presets() -> None:
    """List the built-in configurations.

    Example:

      tacit presets
    """
    from tacit.config import preset_summary
    from tacit.config import presets as known

    print_table([["preset", "what"], *([name, preset_summary(name)] for name in known())])


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Run directory.")] = Path("runs/demo"),
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="a.b=c", help="Set a key; may be repeated.")
    ] = None,
) -> None:
    """Train on the built-in typists, compare with a central model and an n-gram, write a report.

    Example:

      tacit demo --out runs/demo
    """
    from tacit.demo import demo as show

    _start_jax()
    typer.echo(str(show(out, tuple(set_ or ()))))
    typer.echo(f"to type on it: tacit serve {out}")


@app.callback(invoke_without_command=True)
def _version(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit


_NO_MEMORY = (
    "out of memory; lower model.hidden, model.embedding or text.vocabulary, client.batch, or sampling.clients "
    "(on an accelerator also training.lanes_mb)"
)


def _fail(message: str) -> NoReturn:
    _tell_the_job(message)
    print(f"tacit: {' '.join(message.split())}", file=sys.stderr)
    raise SystemExit(2)


def _tell_the_job(message: str) -> None:
    """Where other processes train with this one, end with them; a usage error need not wait for JAX to load."""
    if "jax" in sys.modules:
        from tacit import hosts

        hosts.fail(message)


def main() -> None:
    """The program `tacit`."""
    try:
        code = app(prog_name="tacit", standalone_mode=False)
        if code == 130:  # what typer makes of Ctrl-C
            raise KeyboardInterrupt
    except TacitError as error:
        _fail(str(error))
    except KeyboardInterrupt:
        _fail("interrupted; a run goes on with --resume")
    except MemoryError:
        _fail(_NO_MEMORY)
    except BrokenPipeError:
        _tell_the_job("standard output was closed")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(2) from None
    except Exception as error:
        if hasattr(error, "format_message"):  # a usage error, of click or of typer's own copy of it
            if message := error.format_message().strip().rstrip("."):
                _fail(f"{message}; see `tacit --help`")
            raise SystemExit(0) from None  # a bare `tacit` has shown its help
        if "RESOURCE_EXHAUSTED" in str(error):  # JAX's way of saying it
            _fail(_NO_MEMORY)
        if type(error).__name__ == "Exit":
            raise SystemExit(getattr(error, "exit_code", 2)) from None
        if isinstance(error, OSError) and error.strerror:
            _fail(
                f"{error.filename or 'standard output'}: {error.strerror}; check the path, its permissions and space"
            )
        if os.environ.get("TACIT_DEBUG"):
            traceback.print_exc()
            _tell_the_job(str(error))
            raise SystemExit(2) from None
        _fail(f"this should not have happened: {type(error).__name__}: {error} (TACIT_DEBUG=1 shows where)")
    raise SystemExit(code or 0)
