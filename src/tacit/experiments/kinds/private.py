"""Private training: trains as kind `text` does, and computes ε from the ledger of the run.

The vocabulary comes from typists of another seed: a word list from the clients' own text would make ε null. Where
dp-accounting is not installed, `epsilon` is missing.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tacit.base.files import write_atomic
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
    """Takes the settings of kind `text`; a run that diverges has recall 0."""
    files = place.folder.parent
    given = {
        **settings,
        "text.corpus": str(typists_file(settings, files)),
        "text.words": str(words_file(files)),
    }
    measured = text.measure(given, seed, place)
    values = {**measured.values, "top1": measured.values["top1"] or 0.0}
    run = place.folder / "run"
    if (run / ledger.NAME).is_file() and accounting.available():
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
