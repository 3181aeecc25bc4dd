"""Personalising a run's model for many people, and the directory it leaves: what `tacit personalize` does.

    summary.json      the grid (Table 1), slices, strategies, the gate, the recommendation
    sums.npz          the totals of what devices said, from which all of it was read
    report.html       Figures 2 and 3, Table 1 and what the gate changes, to look at
    models/           NAME.safetensors for accepted people: what was tuned, nothing else; `tacit predict --user NAME`

Nobody is measured whom the run was trained on: of a corpus that knows its people those held out, of the built-in
typists others of the same make, of another corpus everybody.
"""

from __future__ import annotations

import dataclasses
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tacit import runs
from tacit.base.errors import TacitError
from tacit.base.files import all_or_nothing, check_place, holds_nothing, to_json, write_atomic
from tacit.base.progress import Watch, nobody
from tacit.personal import gate, strategies, sums, trial
from tacit.personal import models as personal_models
from tacit.personal import summary as personal_summary
from tacit.personal.mixing import MIXES
from tacit.personal.models import Stored
from tacit.personal.parts import PARTS
from tacit.personal.split import LEAST_MESSAGES, LEAST_WORDS, REASONS, Users, split
from tacit.personal.strategies import Strategy
from tacit.personal.summary import Gated
from tacit.text.catalogue import same_corpus
from tacit.text.corpus import Corpus, fingerprint
from tacit.text.encode import everybody, numbered, of_people, packed
from tacit.text.held_out import LONGEST_SCORED
from tacit.text.packed import Packed, join
from tacit.text.prepare import read_population
from tacit.text.typists import Typists

FORMAT = "tacit personal 1"
TYPISTS = 100  # of the built-in kind, unless told
Say = Callable[[int, str], None]  # people who have gone through a program so far; what is being done


@dataclass(frozen=True)
class PersonalOptions:
    """What is tried, on whom."""

    corpus: str | None = None
    batches: tuple[int, ...] = (5, 10, 20)
    rates: tuple[float, ...] = (0.01, 0.1, 1.0)
    max_tokens: int = 5000
    epochs: int = 1
    users: int = 0  # at most; 0: everybody, or 100 typists
    margin: float | None = None  # None: chosen from other people's sums
    keep: int = 10  # personal models stored, at most
    strategies: bool = False  # try also which part is tuned, mixtures and the cache


class Personalised(NamedTuple):
    """What was found; nothing of it is one person's but the models, which are theirs."""

    summary: dict[str, Any]
    totals: dict[str, np.ndarray]
    models: list[Stored]


def check(run: Path, options: PersonalOptions, out: Path) -> None:
    """Refuse, before any work, what cannot be tried or written."""
    runs.read_config(run)  # says so if it is no run
    if options.margin is not None:
        gate.check_margin(options.margin)
    if not options.batches or min(options.batches) < 1:
        raise TacitError("--batch must be whole numbers of at least 1, like 5,10,20")
    if not options.rates or not all(0 < rate < float("inf") for rate in options.rates):
        raise TacitError("--lr must be numbers above 0, like 0.01,0.1,1.0")
    check_out(out)


def check_out(out: Path) -> None:
    """The directory must be new, empty, or left by an earlier call, and there must be a place for it."""
    file = out / "summary.json"
    try:
        ours = json.loads(file.read_text("utf-8")).get("format") == FORMAT
    except (OSError, ValueError, AttributeError):
        ours = False
    if not ours and not holds_nothing(out):
        raise TacitError(f"{out} exists and was not left by `tacit personalize`; choose another --out")
    check_place(out)


def people(
    run: runs.Run, options: PersonalOptions, data: Path | None = None, watch: Watch = nobody
) -> tuple[str, Packed]:
    """Whose text is used, and the text, messages whole and oldest first."""
    config, lower = run.config, run.config.text.case == "lower"
    corpus = options.corpus or config.text.corpus
    own = config.text if same_corpus(corpus, config.text.corpus, data) else None
    if corpus == "typists":
        first, count = config.typists.users, options.users or TYPISTS
        made = Typists(dataclasses.replace(config.typists, users=first + count))
        who = np.arange(first, first + count)
        text = numbered(made, who, made.sizes()[who], lower, watch)
        name = f"typists {first} to {first + count - 1}, whom the run never met"
        return name, packed(text, of_people(text, np.arange(count), LONGEST_SCORED), run.vocabulary)
    source = None if own else read_population(config.text.of(corpus), config.typists, data, watch)
    if isinstance(source, Corpus) and fingerprint(source) == config.text.fingerprint:
        own = dataclasses.replace(config.text, corpus=corpus)  # the run's own people in another file
    if own:
        ready = runs.prepare(dataclasses.replace(config, text=own), run.vocabulary, data, watch)
        if len(ready.valid) == len(ready.test) == 1 and ready.seen is None:
            raise _voiceless(corpus)
        return f"{corpus}, held-out people", join([ready.valid, ready.test])
    if not isinstance(source, Corpus) or len(source) == 1:
        raise _voiceless(corpus)
    text = everybody(source, lower, watch)
    return f"{corpus}, everybody", packed(
        text, of_people(text, np.arange(len(source)), LONGEST_SCORED), run.vocabulary
    )


def _voiceless(corpus: str) -> TacitError:
    return TacitError(
        f"{corpus} does not know its people, so there is nobody to personalise for; give --corpus with JSON lines "
        "of users, or typists"
    )


class Job(NamedTuple):
    """A run, and people to personalise its model for."""

    run: runs.Run
    options: PersonalOptions
    whose: str
    users: Users


def read(path: Path, options: PersonalOptions, data: Path | None = None, watch: Watch = nobody) -> Job:
    """Read the run and the text, and split it; people with too little are counted and left out, perhaps everybody."""
    run = runs.load(path)
    if run.spelling:
        raise TacitError(
            f"{path} predicts pieces of words, and personalisation is measured in words; give another run"
        )
    whose, text = people(run, options, data, watch)
    return Job(run, options, whose, split(text, options.users, run.config.seed))


def prepare(path: Path, options: PersonalOptions, data: Path | None = None, watch: Watch = nobody) -> Job:
    """The same, where nobody to personalise for is an error."""
    job = read(path, options, data, watch)
    if not len(job.users):
        raise TacitError(
            f"{job.whose}: of {sum(job.users.left_out.values()):,} people nobody has enough text ({LEAST_MESSAGES} "
            f"messages, {LEAST_WORDS} words, a known word in each part); give a corpus with more of each person"
        )
    return job


def passes(job: Job) -> int:
    """How often somebody goes through a program, at most."""
    rates = len(job.options.rates)
    grid, others = len(job.options.batches) * rates, 1 + (len(PARTS) - 1) * rates
    return len(job.users) * (1 + grid + job.options.strategies * others + 2)


def personalize(job: Job, say: Say = lambda done, words: None) -> Personalised:
    """Measure, try the grid, choose, gate; nothing is written."""
    run, options, users = job.run, job.options, job.users
    config, seed = run.config, run.config.seed
    done = 0

    def tell(words: str) -> trial.Watch:
        def more(people: int) -> None:
            nonlocal done
            done += people
            say(done, words)

        return more

    tuning = trial.Tuning(
        options.max_tokens, options.epochs, config.text.max_words, config.client.batching, seed
    )
    ready = trial.prepare(run.model, run.params, users, tuning, tell("measuring the global model"))
    grid = strategies.grid(options.batches, options.rates)
    found = _totals(trial.evaluate(ready, grid, tell("the grid")), seed)
    if options.strategies:
        others = _others(strategies.choose(found), options.rates)
        found |= _totals(trial.evaluate(ready, others, tell("other strategies")), seed)
    gated = _through_the_gate(ready, found, options.margin, seed, tell("the gate"))
    say(passes(job), "")
    models: list[Stored] = []
    kept = np.flatnonzero(gated.accepted)[: options.keep]
    for half in (0, 1):  # those who are not of the half that chose
        theirs = kept[gated.halves[kept] != half]
        if len(theirs):
            models += personal_models.tuned(run, ready, gated.chosen[half], theirs)
    summary = {
        "format": FORMAT,
        "run": config.name,
        "base": runs.digest(run.path),
        "people": job.whose,
        "users": len(users),
        "left_out": sum(users.left_out[reason] for reason in REASONS[:3]),
        "left_out_why": users.left_out,
        "tuning": dataclasses.asdict(tuning),
        **personal_summary.figures(grid, found, gated, run.params),
        "stored": sorted(m.user for m in models),
    }
    totals = {f"{s.name}/{k}": v for s, said in found.items() for k, v in said._asdict().items()}
    totals |= {f"gate chosen by half {h}": table for h, table in enumerate(gated.told)}
    return Personalised(summary, totals, models)


def _totals(outcomes: Mapping[Strategy, sums.Outcome], seed: int) -> dict[Strategy, sums.Message]:
    """What leaves the devices: the totals of their messages."""
    return {s: sums.total(o, seed) for s, o in outcomes.items()}


def _through_the_gate(
    ready: trial.Trial,
    found: Mapping[Strategy, sums.Message],
    margin: float | None,
    seed: int,
    watch: trial.Watch,
) -> Gated:
    """Each half's strategy and margin, applied to the other half."""
    ids = ready.users.ids
    halves = sums.half_of(ids, seed)
    fitted = min(int((halves == h).sum()) for h in (0, 1)) >= strategies.LEAST_USERS
    chosen = [strategies.choose(found, h if fitted else None) for h in (0, 1)]
    looks = trial.look(ready, list(dict.fromkeys(chosen)), watch)
    margins = sorted({*gate.MARGINS, *([] if margin is None else [margin])})

    def place(told: np.ndarray, half: int | None) -> int:
        return margins.index(margin) if margin is not None else gate.choose(told, half)

    by_strategy = {s: gate.total(*looks[s], margins, seed) for s in looks}
    told = [by_strategy[s] for s in chosen]
    places = [place(told[h], h if fitted else None) for h in (0, 1)]
    every = by_strategy.get(strategies.choose(found), told[0])
    accepted = np.zeros(len(ids), bool)
    for h in (0, 1):
        passed = gate.level(looks[chosen[h]][0], margins) > places[h]
        accepted |= passed & (halves == 1 - h)
    return Gated(chosen, fitted, halves, margins, told, places, (every, place(every, None)), accepted)


def _others(best: Strategy, rates: tuple[float, ...]) -> list[Strategy]:
    """What is tried beside the grid: mixtures of its best setting, and parts of the model at all rates."""
    rate = best.rates[0] if len(best.rates) == 1 else sorted(best.rates)[len(best.rates) // 2]
    mixed = [Strategy(best.batch, (rate,), "all", mix) for mix in MIXES]
    parts = [Strategy(best.batch, (r,), name) for name in PARTS if name != "all" for r in rates]
    return mixed + parts


def write(out: Path, found: Personalised, page: str) -> None:
    """The directory: all files or none; the models of an earlier call go when all of the new ones are there."""
    packed_sums = io.BytesIO()
    np.savez_compressed(packed_sums, **found.totals)  # type: ignore[arg-type]
    with all_or_nothing(out) as folder:
        (folder / "models").mkdir()
        for stored in found.models:
            personal_models.save(folder / "models", stored)
        write_atomic(folder / "sums.npz", packed_sums.getvalue())
        write_atomic(folder / "report.html", page)
        write_atomic(folder / "summary.json", to_json(found.summary) + "\n")
        for old in (out / "models").glob("*.safetensors"):
            old.unlink()


def known(out: Path, run: runs.Run) -> dict[str, Any] | None:
    """What an earlier call found, if it was of this very network."""
    try:
        summary = json.loads((out / "summary.json").read_text("utf-8"))
        same = summary["format"] == FORMAT and summary["base"] == runs.digest(run.path)
        return summary if same else None
    except (OSError, ValueError, LookupError, TypeError):
        return None


def link(report: Path, page: Path) -> None:
    """Let a run's own report, where there is one, lead to this page."""
    if not report.is_file() or page.parent.parent != report.parent:
        return
    text = report.read_text("utf-8")
    link = f'<a href="{page.parent.name}/{page.name}">'
    if link not in text:
        anchor = f"<p>{link}Personalisation of this model</a></p>"
        write_atomic(report, text.replace("</body>", f"{anchor}</body>"))
