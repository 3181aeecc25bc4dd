"""Next characters of Shakespeare's roles (paper 5's Figure 2 names the LSTM of McMahan et al. 2017).

Their model reads characters, 80 at a time, and a client is a role of a play. A character is a word to Tacit: every
speech is written with its characters apart, blanks and line ends as signs of their own, and trained on as any
text is. Accuracy is top-1 recall on roles that took no part.
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
    """A speech with its characters as words.

    >>> apart("To be,\\nor")
    'T o ␣ b e , ⏎ o r'
    """
    return " ".join(speech.replace(" ", BLANK).replace("\n", LINE))


def written(source: Path, target: Path, least: int) -> Path:
    """The roles with at least so many speeches, as JSON lines of characters."""
    roles: dict[str, list[str]] = {}
    with opened(source) as file:
        for line in file:
            record = json.loads(line)
            roles.setdefault(record["user"], []).append(record["text"])
    kept = [(role, said) for role, said in roles.items() if len(said) >= least]
    lines = (
        json.dumps({"user": role, "text": apart(speech), "time": n})
        for role, said in kept
        for n, speech in enumerate(said)
    )
    write_atomic(target, "\n".join(lines) + "\n")
    return target


def stand_in(target: Path) -> Path:
    """A few roles with little to say."""
    lines = ("to be or not to be", "good night", "who is there", "speak to me")
    made = [
        json.dumps({"user": f"play/ROLE{role}", "text": apart(lines[(role + n) % 4]), "time": n})
        for role in range(12)
        for n in range(6)
    ]
    write_atomic(target, "\n".join(made) + "\n")
    return target


def measure(settings: Settings, seed: int, place: Place) -> Measured:
    """As kind `text`, on characters; `least` speeches make a role a client."""
    target = place.folder / "characters.jsonl"
    if not target.is_file():
        if settings.get("stand_in"):
            stand_in(target)
        else:
            written(locate("shakespeare", place.data), target, settings["least"])
    rest = {k: v for k, v in settings.items() if k != "least"}
    return text.measure({**rest, "text.corpus": str(target)}, seed, place)
