"""Runs the demonstration on the built-in typists, from training to personalisation, and writes its report.

It trains a federated run, the same model centrally, and a Kneser-Ney 5-gram on the same pooled text, and distils the
federated network into a small n-gram model. All are measured on the same held-out people and shown together. Then forty
more people fine-tune the network on their own text, with the gate and without.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tacit import runs
from tacit.base.errors import TacitError
from tacit.base.files import inside, to_json, write_atomic
from tacit.base.reading import read_object
from tacit.base.terminal import progress_bar, spinner
from tacit.base.transaction import check, transaction
from tacit.distillation.distill import KIND, distill
from tacit.distillation.model import DistillOptions
from tacit.keyboard.measures.report import KeyboardOptions, measure
from tacit.lm.open import open as open_model
from tacit.lm.protocol import suggest
from tacit.ngram import kneser_ney
from tacit.ngram.automaton import from_kneser_ney
from tacit.ngram.model import automaton_source
from tacit.ngram.score import score
from tacit.personal import personalised, personalize
from tacit.personal import report as personal_report
from tacit.personal.job import PersonalOptions, read_job
from tacit.runs import report
from tacit.runs.callbacks import bar
from tacit.runs.config import Config, resolve
from tacit.runs.data import read_population
from tacit.scoring.scores import summary
from tacit.text import statistics
from tacit.text.corpus import SplitCorpus
from tacit.text.packed import Packed
from tacit.text.prepare import Prepared

CONTEXTS = (
    "",
    "are you",
    "good",
    "i am so",
    "do you want to",
    "see you",
    "thanks for the",
    "i will be",
    "can you",
)
# a low, a middle and a high rate: Table 1 of paper 3 in small, its shape for a model of this size
PERSONAL = PersonalOptions(batches=(5, 20), rates=(0.1, 1.0, 4.0), users=40, keep=3)
KEYS = KeyboardOptions(
    people=20, messages=20, noisy=0
)  # whose keys are counted for the report's first sentence


def demo(out: Path, overrides: tuple[str, ...] = ()) -> Path:
    """Runs the demonstration in `out`; returns the path of its report."""
    config = resolve("demo", overrides)
    central = resolve("demo-central", overrides)
    if config.text != central.text or config.typists != central.typists:
        raise TacitError("the presets demo and demo-central must read the same text")
    baseline, small_model, personal = (inside(out, name) for name in ("central", "ngram", "personal"))
    if out.is_dir():  # told before minutes of training
        check(small_model, KIND)
        check(personal, personalize.KIND)
    with progress_bar() as progress:
        federated_summary = runs.train(
            config, out, resume=out.exists(), callbacks=(bar(),), progress=progress
        )
        runs.train(central, baseline, resume=baseline.exists(), callbacks=(bar(),), progress=progress)
    ready = runs.prepare(config)
    file = small_model / "summary.json"
    small = _made(file, runs.digest(out))
    if small is None:
        with progress_bar() as progress:
            distill(out, small_model, distilled(ready), progress=progress)
        small = read_object(file)  # as the next demonstration finds it
    tuned = personalisation(out, personal)
    with progress_bar() as progress:
        keys = measure(out, options=KEYS, progress=progress)
    with spinner("counting n-grams, writing the report"):
        ngram, figures = fit_ngram(ready, order=5)
        write_atomic(out / "ngram.json", to_json(figures) + "\n")
        entries = [
            report.entry_of(runs.Run(out), "federated"),
            report.entry_of(runs.Run(baseline), "central"),
            report.Entry("Kneser-Ney 5-gram", figures["test"], figures["seen"]),
            report.Entry("distilled 3-gram", small["models"]["n-gram"]),
            report.Entry("Kneser-Ney of others", small["models"]["Kneser-Ney, supplement"]),
        ]
        page = report.Page(
            title="Tacit: a keyboard model trained where the text is, in simulation",
            lead=lead(config, federated_summary, len(ready.clients)),
            entries=entries,
            config=config,
            suggestions=suggestions(out, baseline, ngram),
            data=_numbers(config),
            facts=[*report.run_facts(federated_summary, report.seconds_of(out)), *ngram_facts(small)],
            sections=personal_report.section(tuned, "personal/report.html") if tuned else (),
            opening=report.opening_of(runs.Run(out), keys["keystroke_savings"]),
        )
        path = report.write(out / "report.html", page)
    for row in report.comparison(entries):
        print("  ".join([f"{row[0]:<20}", *(f"{cell:>20}" for cell in row[1:])]))
    print(personal_report.sentence(tuned) if tuned else "nobody has enough text to personalise the model")
    return path


def distilled(ready: Prepared) -> DistillOptions:
    """Returns the options of the distillation: as many sentences as the clients typed, 20,000 at most."""
    assert isinstance(ready.clients, Packed)
    return DistillOptions(max_ngrams=100_000, sentences=min(20_000, len(ready.clients.offsets) - 1))


def _made(file: Path, base: str) -> dict[str, Any] | None:
    """Returns the summary of the distilled model, if it was distilled from this network; else None."""
    try:
        small = read_object(file)
    except (OSError, ValueError):
        return None
    return small if small.get("base") == base else None


def personalisation(run: Path, out: Path) -> dict[str, Any] | None:
    """Fine-tunes the run's network for a few people, unless that was done; returns None if nobody has enough text."""
    earlier = personalize.earlier_summary(out, run)
    if earlier is not None:
        return earlier
    with progress_bar() as progress:
        job = read_job(run, PERSONAL, progress=progress)
        if not len(job.users):
            return None
        with transaction(out, personalize.KIND) as folder:
            personalize.write(folder, personalised.personalised(job, progress))
    return personalize.earlier_summary(out, run)  # as the next demonstration reads it


def ngram_facts(small: dict[str, Any]) -> list[tuple[str, str]]:
    """Returns figures of the distilled model, which a phone would load."""
    drawn, time = f"{small['sentences']:,} sentences of the network", small["latency_us"]
    return [
        ("n-grams of the distilled model", f"{small['ngrams']:,}, weights from {drawn}"),
        ("its compact file", f"{small['bytes']['model.tacit'] / 1e6:.2f} MB"),
        ("three suggestions from it", f"{time['p50']:.0f} µs (99 %: {time['p99']:.0f} µs)"),
    ]


def lead(config: Config, facts: dict[str, Any], clients: int) -> str:
    """Returns the first sentence of the page."""
    test = facts["test"]
    return (
        f"{clients} typists, made by a program, trained one model in {config.training.rounds} rounds, with "
        f"{config.client.optimiser} on the clients and {config.server.optimiser} on the server. On {test['people']} "
        f"others its first suggestion is the word they type next in {test['top1']:.1%} of cases, one of its first "
        f"three in {test['top3']:.1%}."
    )


def fit_ngram(ready: Prepared, order: int) -> tuple[kneser_ney.KneserNey, dict[str, Any]]:
    """Returns a Kneser-Ney model of the pooled training text, and its figures."""
    assert isinstance(ready.clients, Packed)
    model = kneser_ney.fit(ready.clients.tokens, ready.clients.offsets, len(ready.vocabulary), order)

    def measure(text: Packed | None) -> dict[str, Any] | None:
        if text is None:
            return None
        return summary(score(model, text), text)

    return model, {"order": order, "test": measure(ready.test), "seen": measure(ready.seen)}


def suggestions(
    federated: Path, central: Path, ngram: kneser_ney.KneserNey
) -> dict[str, dict[str, list[tuple[str, float]]]]:
    """Returns what each model suggests after a few openings."""
    sources = {
        "federated": open_model(federated).source,
        "central": open_model(central).source,
        "Kneser-Ney 5-gram": automaton_source(runs.load(federated).vocabulary, from_kneser_ney(ngram)),
    }
    return {
        text: {name: [(s.word, s.p) for s in suggest(source, text, 3)] for name, source in sources.items()}
        for text in CONTEXTS
    }


def _numbers(config: Config) -> list[tuple[str, str]]:
    """Returns the figures of `tacit data describe` for the text."""
    source = read_population(config)
    return statistics.rows(statistics.describe(source.train if isinstance(source, SplitCorpus) else source))
