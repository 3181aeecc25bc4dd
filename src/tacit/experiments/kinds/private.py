"""Trains privately as kind `text` does, and compares recall with the same training without privacy.

The vocabulary comes from typists of another seed: a word list from the clients' own text would make ε null. `share` is
top-1 recall over that of the row's configuration without `[privacy]`, which is trained once for each rule and seed.
`epsilon` comes from the ledger of the run; where dp-accounting is not installed it is missing.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tacit.base.files import write_atomic
from tacit.experiments import reference_runs
from tacit.experiments.entry import Settings
from tacit.experiments.kinds import text
from tacit.experiments.kinds.keyboards import typists_file
from tacit.experiments.results import Measured
from tacit.experiments.runner import Place
from tacit.privacy import accounting, ledger
from tacit.runs import spending
from tacit.runs.config import from_tables
from tacit.text.tokens import tokenize
from tacit.text.typists import Typists

check = text.check
_OTHERS = 400  # typists whose words are the vocabulary
_PUBLIC_SEED = 1_000_003


def measure(settings: Settings, seed: int, place: Place) -> Measured:
    """Takes the settings of kind `text`; a row without a mechanism is its own baseline."""
    files = place.folder.parent
    given = {
        **settings,
        "text.corpus": str(typists_file(settings, files)),
        "text.words": str(words_file(files)),
    }
    plain = {k: v for k, v in given.items() if not k.startswith("privacy.")}
    measured = text.measure(given, seed, place)
    top1 = measured.values["top1"] or 0.0
    if plain == given:
        reference_runs.keep(plain, seed, place, top1)
    reference = reference_runs.recall(plain, seed, place)
    values = {**measured.values, "top1": top1, "share": top1 / reference if reference else None}
    run = place.folder / "run"
    if plain != given and (run / ledger.NAME).is_file() and accounting.available():
        values["epsilon"] = spending.spending(run)["epsilon"]
    return measured._replace(values=values)


def words_file(folder: Path) -> Path:
    """Writes the words of typists who are nobody's clients, most frequent first; once for all rows."""
    target = folder / f"words-of-{_OTHERS}-others.txt"
    if not target.is_file():
        config = from_tables({"typists": {"users": _OTHERS, "seed": _PUBLIC_SEED}}).typists
        people = Typists(config)
        seen = Counter(
            word
            for k in range(len(people))
            for message in people.messages(k)
            for word in tokenize(message.text)
        )
        ordered = sorted(seen, key=lambda word: (-seen[word], word))
        write_atomic(target, "\n".join(ordered) + "\n")
    return target
