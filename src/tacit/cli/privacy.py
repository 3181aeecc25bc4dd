"""The commands `tacit privacy show` and `tacit privacy plan`: the ε that a run has spent, and noise for the next."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.base.errors import TacitError
from tacit.cli.options import JsonOption, one_of, path_option, print_json, print_table, say

privacy = typer.Typer(
    help="Show the ε that a run has spent, and plan the noise of one.", no_args_is_help=True
)


@privacy.command("show")
def privacy_show(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="A run, or another directory with a ledger.jsonl.")
    ],
    delta: Annotated[
        float | None, typer.Option(metavar="δ", help="Compute ε at this δ (default: the run's, or 1e-6).")
    ] = None,
    plot: Annotated[
        Path | None, path_option("--plot", "Draw ε over rounds into this file, .svg or .png.", "FILE")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show the ε of everything that a run has released.

    Two accountants compute it, RDP and PLD. What ε assumes is printed with it.

    Examples:

      tacit privacy show runs/first

      tacit privacy show runs/first --delta 1e-8 --plot epsilon.svg
    """
    from tacit.base.files import check_file, make_folder, write_atomic
    from tacit.base.terminal import progress_bar, spinner
    from tacit.privacy import accounting
    from tacit.runs import plots, spending

    if plot and plot.suffix not in (".svg", ".png"):
        raise TacitError(f"--plot {plot} must end in .svg or .png")
    if plot:
        picture = check_file(plot, plots.PICTURE.encode(), "a picture by Tacit", "--plot")
    with spinner("computing ε"):
        figures = spending.spending(run, delta)
    if plot:
        with progress_bar() as progress:
            points = accounting.curve(spending.read(run), figures["delta"], progress)
        if not points:
            raise TacitError(f"{run} has no ε to plot: {figures['epsilon_reason']}")
        make_folder(picture)
        write_atomic(picture, plots.picture(plots.epsilon_curve(points, figures["delta"]), plot.suffix))
    if as_json:
        print_json(figures)
        return
    print_table(_shown(figures))
    for line in (figures["epsilon_reason"] and f"no ε: {figures['epsilon_reason']}", figures["assumption"]):
        if line:
            say(line)
    if figures["releases"]:
        print_table(_releases(figures["releases"]))
    if plot:
        say(str(plot))


def _shown(figures: dict[str, Any]) -> list[list[str]]:
    rows = [["", figures["directory"]], ["δ", f"{figures['delta']:g}"], ["ε", _number(figures["epsilon"])]]
    names = {"epsilon_rdp": "ε by RDP", "epsilon_pld": "ε by PLD", "zcdp": "ρ of zCDP"}
    rows += [[name, _number(figures[key])] for key, name in names.items() if figures[key] is not None]
    return rows


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.4g}" if value < 1e4 else f"{value:,.0f}"


def _releases(kinds: list[dict[str, Any]]) -> list[list[str]]:
    rows = [["release", "times", "mechanism", "noise multiplier", "sampling", "clip"]]
    for kind in kinds:
        sampling = kind["sampling"] + (f" {kind['rate']:g}" if kind["sampling"] == "poisson" else "")
        clip = dict.fromkeys(f"{x:g}" for x in kind["clip"] or ())
        multiplier = "" if kind["noise_multiplier"] is None else f"{kind['noise_multiplier']:g}"
        rows.append(
            [kind["what"], f"{kind['count']:,}", kind["mechanism"], multiplier, sampling, " to ".join(clip)]
        )
    return rows


@privacy.command("plan")
def privacy_plan(
    delta: Annotated[
        float, typer.Option(metavar="δ", help="δ of the guarantee, far below 1 / number of people.")
    ],
    rounds: Annotated[int, typer.Option(help="Number of rounds.")],
    population: Annotated[int, typer.Option(help="Number of people that clients are drawn from.")],
    epsilon: Annotated[float | None, typer.Option(metavar="ε", help="ε after the last round.")] = None,
    clients: Annotated[
        int | None, typer.Option(help="Clients per round, on average (sampling.clients).")
    ] = None,
    noise_multiplier: Annotated[
        float | None,
        typer.Option(
            "--noise-multiplier", metavar="Z", help="Standard deviation of the noise / sensitivity."
        ),
    ] = None,
    mechanism: Annotated[
        str,
        typer.Option(
            metavar="gaussian|matrix|local",
            help="New noise each round, noise that cancels (DP-FTRL), or clients' noise.",
        ),
    ] = "gaussian",
    sampling: Annotated[
        str | None,
        typer.Option(
            metavar="poisson|fixed|separated",
            help="How clients are chosen (default: by the mechanism).",
        ),
    ] = None,
    separation: Annotated[
        int | None,
        typer.Option(
            help="Rounds from one participation of a client to the next (default: most).",
            metavar="N",
            min=1,
        ),
    ] = None,
    matrix: Annotated[
        str, typer.Option(metavar="blt|banded", help="Form of the matrix: few buffers, or bands.")
    ] = "blt",
    bands: Annotated[
        int | None,
        typer.Option(help="Bands of a banded matrix (default: the separation).", metavar="N", min=1),
    ] = None,
    out: Annotated[
        Path | None, path_option("--out", "Write the plan to this file, for privacy.plan.", "FILE")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Plan the noise of a private training.

    Give two of --epsilon, --clients and --noise-multiplier; the third is computed.

    Examples:

      tacit privacy plan --epsilon 4 --delta 1e-6 --rounds 500 --population 100000 --clients 1000

      tacit privacy plan --noise-multiplier 1 --delta 1e-6 --rounds 500 --population 100000 --clients 1000

      tacit privacy plan --epsilon 2 --noise-multiplier 1 --delta 1e-6 --rounds 500 --population 100000

      tacit privacy plan --mechanism matrix --epsilon 8 --delta 1e-6 --rounds 200 --population 100000 --clients 1000
      --out plan.json
    """
    from tacit.base.progress import stage
    from tacit.base.terminal import progress_bar
    from tacit.privacy import plan_file, planning
    from tacit.privacy.optimal import FORMS

    one_of("--mechanism", mechanism, planning.MECHANISMS)
    if sampling is not None:
        one_of("--sampling", sampling, planning.SAMPLING)
    one_of("--matrix", matrix, FORMS)
    form: Any = matrix  # one of the two, as checked above
    if out:
        plan_file.check_out(out)
    wish = planning.Wish(
        *(delta, rounds, population, epsilon, clients, noise_multiplier),
        *(mechanism, sampling or "", separation or 0, form, bands or 0),
    )
    with progress_bar() as progress:
        plan = planning.plan(wish, stage(progress, 0.0, 0.7))
        others = planning.cohorts(plan, stage(progress, 0.7, 1.0))
    if out:
        plan_file.write(out, plan)
    if as_json:
        print_json(dataclasses.asdict(plan) | {"cohorts": [cohort._asdict() for cohort in others]})
        return
    print_table(_plan(plan))
    say(plan.assumption)
    if others:
        rows = [["clients", "noise multiplier", "noise in the mean, in clips"]]
        rows += [[f"{c.clients:,}", f"{c.noise_multiplier:g}", f"{c.noise_in_mean:.3g}"] for c in others]
        print_table(rows, "Other cohorts with the same ε:")
    if out:
        say(str(out))


def _plan(plan: Any) -> list[list[str]]:
    """Returns the figures of a plan as rows."""
    rows = [
        ["", f"{plan.mechanism}, {plan.sampling}"],
        ["noise multiplier", f"{plan.noise_multiplier:g}"],
        ["ε by RDP", _number(plan.epsilon_rdp)],
        ["ε by PLD", _number(plan.epsilon_pld)],
        ["δ", f"{plan.delta:g}"],
        ["rounds", f"{plan.rounds:,}"],
        ["clients in a round, of how many", f"{plan.clients:,} of {plan.population:,}"],
    ]
    if plan.zcdp is not None:
        rows.append(["ρ of zCDP", _number(plan.zcdp)])
    if plan.separation is not None:
        apart = f"{plan.participations:,}, {plan.separation:,} rounds apart"
        rows.append(["participations of a client, at most", apart])
    if plan.noise_in_mean is not None:
        rows.append(["noise in a round's mean, in clips", f"{plan.noise_in_mean:.3g}"])
    rows.append(["noise in the sum of all rounds, in clips", f"{plan.noise_in_sum:.3g}"])
    if plan.sensitivity is not None:
        rows.append(["sensitivity of the matrix", f"{plan.sensitivity:.4g}"])
        better = f"{plan.error:.4g} (independent noise: {plan.error_independent:.4g})"
        rows.append(["prefix-sum error × sensitivity", better])
    return rows
