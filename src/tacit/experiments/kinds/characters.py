"""Predicts characters of Shakespeare's roles (paper 5's Figure 2 names the LSTM of McMahan et al. 2017).

Their model reads sequences of 80 characters, and a client is a role of a play. Here every character becomes a word:
speeches are written with spaces between characters, and with symbols for blanks and line ends, and trained on like
any text. Accuracy is top-1 recall on held-out roles.
"""

from __future__ import annotations

import json
from pathlib import Path

from tacit.base.files import write_atomic
from tacit.experiments.data import locate
from tacit.experiments.entry import Settings
from tacit.experiments.kinds import text
from tacit.experiments.results import Measured
from tacit.experiments.runner import Place
from tacit.text.catalogue import opened

BLANK, LINE = "␣", "⏎"


def apart(speech: str) -> str:
    """Returns a speech with its characters as words.

    >>> apart("To be,\\nor")
    'T o ␣ b e , ⏎ o r'
    """
    return " ".join(speech.replace(" ", BLANK).replace("\n", LINE))


def written(source: Path, target: Path, least: int) -> Path:
    """Writes the roles with at least `least` speeches as JSON lines of characters."""
    roles: dict[str, list[str]] = {}
    with opened(source) as file:
        for line in file:
            record = json.loads(line)
            roles.setdefault(record["user"], []).append(record["text"])
    kept = [(role, speeches) for role, speeches in roles.items() if len(speeches) >= least]
    lines = (
        json.dumps({"user": role, "text": apart(speech), "time": n})
        for role, speeches in kept
        for n, speech in enumerate(speeches)
    )
    write_atomic(target, "\n".join(lines) + "\n")
    return target


def stand_in(target: Path) -> Path:
    """Writes a few short roles for quick runs."""
    lines = ("to be or not to be", "good night", "who is there", "speak to me")
    made = [
        json.dumps({"user": f"play/ROLE{role}", "text": apart(lines[(role + n) % 4]), "time": n})
        for role in range(12)
        for n in range(6)
    ]
    write_atomic(target, "\n".join(made) + "\n")
    return target


def measure(settings: Settings, seed: int, place: Place) -> Measured:
    """Takes the settings of kind `text`; a role with at least `least` speeches is a client."""
    target = place.folder / "characters.jsonl"
    if not target.is_file():
        if settings.get("stand_in"):
            stand_in(target)
        else:
            written(locate("shakespeare", place.data), target, settings["least"])
    rest = {k: v for k, v in settings.items() if k != "least"}
    return text.measure({**rest, "text.corpus": str(target)}, seed, place)
