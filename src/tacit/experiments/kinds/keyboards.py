"""Compares keyboard suggestions of an n-gram, a server CIFG and a federated CIFG (paper 5, Tables 7 and 8).

All three learn from the same text of the same people. `top1` and `top3` are on held-out people; `seen_top1` is on later
messages of participants, which correspond to a client's cache. With `ngram` = order instead of a preset, the model is
Kneser-Ney on the pooled text.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

from tacit import runs
from tacit.base.files import write_atomic
from tacit.base.locks import waited_for
from tacit.experiments.demo import fit_ngram
from tacit.experiments.entry import Settings
from tacit.experiments.kinds import text
from tacit.experiments.results import Measured
from tacit.experiments.runner import Place
from tacit.ngram.score import score
from tacit.runs.config import from_tables
from tacit.scoring.scores import summary
from tacit.text.parallel import cores, in_order
from tacit.text.typists import Typists, TypistsConfig

_AT_ONCE = 1000  # typists that a helper process generates at once


def typists_file(settings: Settings, folder: Path) -> Path:
    """Writes the typists' messages as JSON lines, once for all rows, because generating them is slower than reading."""
    wanted = {k.partition(".")[2]: v for k, v in settings.items() if k.startswith("typists.")}
    config = from_tables({"typists": wanted}).typists
    target = folder / f"typists-{config.users}-{config.messages}-{config.seed}.jsonl"
    with waited_for(folder / f"lock.{target.name}", seconds=3600):
        if not target.is_file():
            spans = [(k, min(k + _AT_ONCE, config.users)) for k in range(0, config.users, _AT_ONCE)]
            helpers = cores() if len(spans) > 1 else 1
            write_atomic(target, "".join(in_order(partial(_messages, config), spans, helpers)))
    return target


def _messages(config: TypistsConfig, span: tuple[int, int]) -> str:
    """Returns the messages of typists with these numbers, a line of JSON each."""
    people = Typists(config)
    lines = (
        json.dumps({"user": people.user(k), "text": message.text, "time": n}) + "\n"
        for k in range(*span)
        for n, message in enumerate(people.messages(k))
    )
    return "".join(lines)


def measure(settings: Settings, seed: int, place: Place) -> Measured:
    """Takes the settings of kind `text`, or `ngram`, the order of a Kneser-Ney model."""
    if settings["text.corpus"] == "typists":
        settings = {**settings, "text.corpus": str(typists_file(settings, place.folder.parent))}
    if "ngram" not in settings:
        return text.measure(settings, seed, place)
    rest = {k: v for k, v in settings.items() if k != "ngram"}
    config = text.config_of({"preset": "fedavg", **rest}, seed, place)
    ready = runs.prepare(config, None, place.data)
    place.say("counting n-grams")
    model, fitted = fit_ngram(ready, settings["ngram"])
    held = runs.sample(ready.valid, config.training.evaluate_sentences, config.seed)  # what training looks at
    valid = summary(score(model, held), held)
    none = {"bytes_per_client_and_round": None, "best_round": 0, "parameters": 0}
    level = {name: ([0], [valid[name]]) for name in ("perplexity", "top1")}  # a curve without rounds
    return Measured(text.figures({**fitted, **none, "valid": valid}), level)
