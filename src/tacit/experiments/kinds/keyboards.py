"""What a keyboard would suggest (paper 5, Tables 7 and 8): an n-gram, the CIFG trained on a server, the CIFG federated.

All three read the same training text of the same people. `top1` and `top3` are on people nobody learned from;
`seen_top1` on later messages of those who took part, which is what a client's own cache is. `ngram` of an order
instead of a preset is a Kneser-Ney model of the pooled text.
"""

from __future__ import annotations

import json
from pathlib import Path

from tacit import runs
from tacit.base.files import write_atomic
from tacit.experiments.demo import fit_ngram
from tacit.experiments.entry import Settings
from tacit.experiments.kinds import text
from tacit.experiments.results import Measured
from tacit.experiments.runner import Place
from tacit.ngram.score import score
from tacit.runs.config import from_tables
from tacit.scoring.scores import summary
from tacit.text.typists import Typists


def typists_file(settings: Settings, folder: Path) -> Path:
    """The typists' messages as JSON lines, made once for all rows: making people takes longer than reading them."""
    wanted = {k.partition(".")[2]: v for k, v in settings.items() if k.startswith("typists.")}
    config = from_tables({"typists": wanted}).typists
    target = folder / f"typists-{config.users}-{config.messages}-{config.seed}.jsonl"
    if not target.is_file():
        people = Typists(config)
        lines = (
            json.dumps({"user": people.user(k), "text": message.text, "time": n})
            for k in range(len(people))
            for n, message in enumerate(people.messages(k))
        )
        write_atomic(target, "\n".join(lines) + "\n")
    return target


def measure(settings: Settings, seed: int, place: Place) -> Measured:
    """As kind `text`; with `ngram` the Kneser-Ney model of that order."""
    if settings["text.corpus"] == "typists":
        settings = {**settings, "text.corpus": str(typists_file(settings, place.folder.parent))}
    if "ngram" not in settings:
        return text.measure(settings, seed, place)
    rest = {k: v for k, v in settings.items() if k != "ngram"}
    config = text.config_of({"preset": "fedavg", **rest}, seed, place)
    ready = runs.prepare(config, None, place.data)
    place.say("counting n-grams")
    model, found = fit_ngram(ready, settings["ngram"])
    held = runs.sample(ready.valid, config.training.evaluate_sentences, config.seed)  # what training looks at
    valid = summary(score(model, held), held)
    none = {"bytes_per_client_and_round": None, "best_round": 0, "parameters": 0}
    level = {name: ([0], [valid[name]]) for name in ("perplexity", "top1")}  # a curve without rounds
    return Measured(text.figures({**found, **none, "valid": valid}), level)
