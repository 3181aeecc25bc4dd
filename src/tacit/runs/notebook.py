"""The functions of `import tacit` that train and compare: `train`, `compare`, `presets`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.base import settings as settings_
from tacit.base.cores import use_all_cores
from tacit.base.errors import TacitError
from tacit.base.files import cannot_write
from tacit.base.table import Table
from tacit.base.terminal import progress_bar
from tacit.federated import plugins
from tacit.federated.aggregation.sums import Aggregation
from tacit.runs import config as configs
from tacit.runs import directory, training
from tacit.runs.callbacks import Callback, bar
from tacit.runs.config import Config
from tacit.runs.report import entry_of
from tacit.runs.run import Run

if TYPE_CHECKING:
    import optax

_FIGURES = ("perplexity", "top1", "top3", "sll")


def train(
    preset: str | Path | Config,
    *,
    corpus: str | Path | None = None,
    rounds: int | None = None,
    out: str | Path | None = None,
    seed: int | None = None,
    rule: str | Aggregation | Callable[..., Aggregation] | None = None,
    optimiser: str | optax.GradientTransformation | Callable[..., optax.GradientTransformation] | None = None,
    data: str | Path | None = None,
    progress: bool = True,
    callbacks: Sequence[Callback] = (),
    **settings: bool | int | float | str,
) -> Run:
    """Trains a model, writes a run directory and returns the run.

    Calling it again with the same arguments resumes an interrupted run, and returns a finished one at once. More
    `rounds` continue a finished run. Any other change of the settings is an error: choose another `out`.

    Args:
        preset: a name of `tacit.presets()`, a TOML file, or the `config` of another run.
        corpus: "typists" (built in), a name of `tacit data list`, or a path.
        rounds: number of rounds.
        out: the run directory; by default runs/PRESET.
        seed: seed of training's random draws.
        rule: an aggregation rule: a name, an `Aggregation`, or a function that returns one.
        optimiser: a server optimiser: a name, an optax transformation, or a function that returns one.
        data: the directory of known corpora (default: $TACIT_DATA or ~/.cache/tacit).
        progress: whether to show a progress bar.
        callbacks: `tacit.Callback`s that the run calls in each round.
        settings: any key of the configuration, by its name with a dot.

    Example:
        run = tacit.train("fedatt", corpus="messages.jsonl", rounds=20, out="runs/mine", **{"client.lr": 2.0})
    """
    use_all_cores()
    given: dict[str, Any] = {
        "text.corpus": None if corpus is None else str(corpus),
        "training.rounds": rounds,
        "seed": seed,
        "aggregation.rule": _name(rule, "register_rule"),
        "server.optimiser": _name(optimiser, "register_optimiser"),
    }
    given = {key: value for key, value in given.items() if value is not None}
    if twice := sorted(given.keys() & settings.keys()):
        raise TacitError(f"{twice[0]} is given twice, by its own argument and as a setting; give it once")
    config = configs.from_anywhere(_resolve(preset, given | settings))
    name = preset.name if isinstance(preset, Config) else Path(preset).stem
    if out is not None and not str(out):
        raise TacitError("out is empty; give it a path, or leave it out")
    place = Path("runs") / name if out is None else Path(out)
    try:
        place.exists()
    except OSError as error:  # a name that is too long
        raise cannot_write(place, error) from None
    if (place / "config.toml").is_file():
        directory.check(config, place, resume=True)
        run = Run(place)
        if run.finished and run.config.training.rounds == config.training.rounds:
            return run
    where = None if data is None else Path(data)
    resume = (place / "config.toml").is_file()
    if progress:
        with progress_bar() as shown:
            training.train(config, place, resume, where, (bar(), *callbacks), shown)
    else:
        training.train(config, place, resume, where, tuple(callbacks))
    run = Run(place)
    run.report()
    return run


def compare(*runs: Run | str | Path) -> Table:
    """Compares finished runs on their test parts: a row per run, each figure with the half-width of its 95 % interval.

    An interval needs several people; for a text of one person it is missing.

    Example:
        tacit.compare(run, "runs/other")
    """
    if not runs:
        raise TacitError("compare needs at least one run; give runs or their directories")
    opened = [run if isinstance(run, Run) else Run(run) for run in runs]
    short = len({run.path.name for run in opened}) == len(opened)
    table: dict[str, list[Any]] = {"run": [run.path.name if short else str(run.path) for run in opened]}
    tests = [entry_of(run).test for run in opened]
    for figure in _FIGURES:
        table[figure] = [test[figure] for test in tests]
        table[f"{figure}_ci95"] = [test.get("ci95", {}).get(figure) for test in tests]
    table["people"] = [test.get("people") for test in tests]
    table["best_round"] = [run.summary["best_round"] for run in opened]
    return Table(table)


def presets() -> dict[str, str]:
    """Returns the built-in configurations by name, each with one line about it.

    Example:
        tacit.presets()["fedatt"]
    """
    return {name: configs.preset_summary(name) for name in configs.presets()}


def _name(part: Any, register: str) -> str | None:
    """Returns the name of a rule or optimiser; an object is registered under its own name."""
    return part if part is None or isinstance(part, str) else getattr(plugins, register)(part)


def _resolve(preset: str | Path | Config, given: dict[str, Any]) -> Config:
    assignments = [_assignment(key, value) for key, value in given.items()]
    if isinstance(preset, Config):
        return configs.resolve_tables(settings_.tables(preset), assignments)
    return configs.resolve(str(preset), assignments)


def _assignment(key: str, value: Any) -> str:
    """Returns a setting as `--set` takes it; numpy scalars count as numbers."""
    if getattr(value, "shape", None) == ():  # a numpy or JAX scalar
        value = value.item()
    value = str(value) if isinstance(value, Path) else value
    if not isinstance(value, bool | int | float | str):
        raise TacitError(f"{key} = {value!r} must be a number, a string, true or false")
    return f"{key}={json.dumps(value, ensure_ascii=False)}"
