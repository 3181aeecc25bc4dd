"""Tests a server model of logs and a federated model of caches on text of both kinds (paper 5, section 6.3).

Settings of kind `text` describe the model. `apps.learns` is "server" (trained on pooled logs), "federated" (trained on
caches) or "n-gram" (a Kneser-Ney 5-gram of the logs), `apps.test` "logs" or "caches", `apps.test_users` the typists
whose text is the test. The typists of the logs, of the caches and of the tests are different people; all models have
the words of the logs, which the server knows. Impressions and clicks are simulated (docs/keyboard-measures.md).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tacit import runs
from tacit.base.errors import TacitError
from tacit.base.files import write_atomic
from tacit.experiments import base_runs
from tacit.experiments.applications import MIXES, typed
from tacit.experiments.demo import fit_ngram
from tacit.experiments.entry import Settings
from tacit.experiments.kinds import text
from tacit.experiments.results import Measured
from tacit.experiments.runner import Place
from tacit.keyboard.measures.effort import COUNTED, measures_of
from tacit.ngram.score import score
from tacit.runs.config import from_tables
from tacit.runs.evaluate import evaluate_run
from tacit.scoring.scores import summary
from tacit.text.prepare import whole_corpus
from tacit.text.tokens import tokenize
from tacit.text.typists import Typists

_LEARNS = ("server", "federated", "n-gram")
_ORDER = 5
_LIVE = ("impression_top1", "impression_top3", "click_through")


def check(settings: Settings) -> None:
    """Raises a TacitError for invalid settings."""
    run, own = base_runs.own(settings, "apps.")
    base_runs.check(run)
    if own.get("learns") not in _LEARNS or own.get("test") not in MIXES:
        raise TacitError(f"apps.learns must be one of {', '.join(_LEARNS)}; apps.test 'logs' or 'caches'")


def measure(settings: Settings, seed: int, place: Place) -> Measured:
    """Trains the model unless another row has, and scores it on the text of the row."""
    run, own = base_runs.own(settings, "apps.")
    wanted = {k.removeprefix("typists."): v for k, v in run.items() if k.startswith("typists.")}
    people, folder = int(wanted["users"]), base_runs.shared_folder(place)
    messages, held = wanted.get("messages", 40), int(own["test_users"])
    learnt = "caches" if own["learns"] == "federated" else "logs"
    logs = corpus(folder, "logs", 0, people, messages)
    words = word_list(logs)
    train = logs if learnt == "logs" else corpus(folder, "caches", people, people, messages)
    test = corpus(folder, own["test"], 2 * people, held, messages)
    plain = {k: v for k, v in run.items() if not k.startswith("typists.")}
    given = {**plain, "text.corpus": str(train), "text.words": str(words)}
    if own["learns"] == "n-gram":
        config = text.config_of(given, seed, place)
        place.say("counting n-grams")
        ready = runs.prepare(config, None, place.data)
        model, _ = fit_ngram(ready, _ORDER)
        packed = whole_corpus(config.text.of(str(test)), config.typists, ready.vocabulary)
        found = summary(score(model, packed), packed)
    else:
        path = base_runs.trained(given, seed, place)
        place.say(f"scoring {own['test']}")
        found = evaluate_run(base_runs.loaded(path), str(test), place.data)
    values: dict[str, Any] = {name: found[name] for name in ("top1", "top3", "perplexity", "oov")}
    return Measured(values | live(found) | {"top1_ci95": found["ci95"]["top1"]})


def live(found: Mapping[str, float]) -> dict[str, float]:
    """Returns simulated impression recall and click-through rate, by the rules of `tacit evaluate --keyboard`.

    >>> one = live({"top1": 0.25, "top3": 0.5, "words": 8.0, "sentences": 2.0})
    >>> {name: round(value, 4) for name, value in one.items()}
    {'impression_top1': 0.2, 'impression_top3': 0.4, 'click_through': 0.0667}
    """
    words, messages = found["words"], found["sentences"]
    counts = {
        "words": words,
        "messages": messages,
        "top1": words * found["top1"],
        "top3": words * found["top3"],
    }
    idle = dict.fromkeys(set(COUNTED) - set(counts), 0.0)
    measures = measures_of({name: np.array([n]) for name, n in (counts | idle).items()})
    return {name: float(measures[name][0]) for name in _LIVE}


def corpus(folder: Path, mix: str, first: int, users: int, messages: int) -> Path:
    """Writes what typists `first`, `first` + 1, … type into their applications, once for all rows."""
    target = folder / f"{mix}-{first}-{users}-{messages}.jsonl"
    if not target.is_file():
        config = from_tables({"typists": {"users": first + users, "messages": messages}}).typists
        people = Typists(config)
        lines = (
            json.dumps({"user": people.user(k), "text": one.text, "time": n})
            for k in range(first, first + users)
            for n, one in enumerate(typed([m.text for m in people.messages(k)], MIXES[mix], k))
        )
        write_atomic(target, "\n".join(lines) + "\n")
    return target


def word_list(source: Path) -> Path:
    """Writes the words of a corpus by falling count."""
    target = source.with_suffix(".words.txt")
    if not target.is_file():
        counts: Counter[str] = Counter()
        for line in source.read_text("utf-8").splitlines():
            counts.update(tokenize(json.loads(line)["text"].lower()))
        ranked = sorted(counts, key=lambda word: (-counts[word], word))
        write_atomic(target, "".join(f"{word}\n" for word in ranked))
    return target
