"""Which models the keyboard page can switch between: what a run directory has, and what can be made of it.

    federated    after training: the n-gram model that `tacit distill` made of the run's network (RUN/ngram)
    untrained    before training: the network as it was before its first round, from single words alone
    supplement   Kneser-Ney of the supplemental corpus, of the same order and size: other people's text, no training
    collected    Kneser-Ney of the clients' own text in one place, which in the world nobody could make
    personal     the network tuned on one person's text (RUN/personal), on the federated model's n-grams

A missing one is made once and kept under RUN/keyboard, with the sha256 of what it was made of; when that changes it is
made again. What cannot be made (no supplement, text that is nowhere in one place) is left out; and where others can
load models, so are `collected` and `personal`, which hold what people wrote.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from tacit import __version__
from tacit.commands.serve import Shown
from tacit.errors import TacitError
from tacit.files import to_json, write_atomic
from tacit.keyboard.network8 import is_network8
from tacit.ngram import compact, load
from tacit.text.lines import Watch, nobody

PEOPLE = 3  # personal models that are shown


class Found(NamedTuple):
    """The models that are there, and what is wrong with others."""

    models: list[Shown]
    problems: list[str]


class Made(NamedTuple):
    """A model that can be made."""

    id: str
    title: str
    about: str
    make: Callable[[Path], bool]  # writes a compact file; False where it cannot be made
    of: tuple[Path, ...] = ()  # files that it is made of, beside the run's network and its n-grams
    by: str = ""  # and what else decides how
    own: bool = False  # whether it holds what people wrote: not for others


def require(path: Path) -> None:
    """Refuse what is neither a compact file nor a run directory. Nothing is made, so it is quick."""
    if not load.is_model_file(path):
        from tacit import runs  # which loads JAX: a file needs none

        runs.read_config(path)  # says so if it is no run
    elif load.is_compact(path):
        compact.open(path)  # says so if it is damaged
    else:
        what = "an 8-bit network" if is_network8(path) else "no compact n-gram file"
        raise TacitError(
            f"{path}: this is {what}; the page reads the model.tacit of `tacit distill`, or a run directory"
        )


def find(path: Path, data: Path | None = None, watch: Watch = nobody, others: bool = False) -> Found:
    """The models of a run directory, the federated one first; of a compact file, itself.

    `others`: whether they are shown to other people, too.
    """
    require(path)
    if load.is_model_file(path):
        facts = compact.open(path).facts
        return Found([Shown("file", str(facts.get("name") or path.stem), path.name, path.read_bytes())], [])
    from tacit import runs
    from tacit.commands import serve_makers

    folder, network = path / "keyboard", path / runs.BEST
    small, distilled, problems = path / "ngram" / "model.tacit", _distilled(path), list[str]()
    if small.is_file() and distilled.get("base", runs.digest(path)) != runs.digest(path):
        problems.append("ngram/model.tacit was made of an earlier network: `tacit distill` makes it again.")
        distilled = {}
    elif small.is_file() and (wrong := _wrong(small)):
        problems.append(f"{wrong}. A small model was made in its place.")
        distilled = {}
    if not small.is_file() or problems:
        small = _kept(
            folder, "federated", _digest(network), partial(serve_makers.federated, path, data, watch)
        )
    stored, figures = compact.open(small), _figures(distilled)
    mode = runs.read_config(path).training.mode
    about = f"{mode}, {_rounds(path)}, made into n-grams{figures.get('compact file', '')}"
    found = Found([Shown("federated", "After training", about, small.read_bytes())], problems)
    every = [made for made in _others(path, stored, data, figures) if not (others and made.own)]
    for i, wanted in enumerate(every):
        watch(f"making a model for the page: {wanted.title}", i / len(every))
        try:
            key = _digest(network, small, *wanted.of, more=wanted.by)
            file = _kept(folder, wanted.id, key, wanted.make)
        except TacitError as error:
            found.problems.append(f"The model “{wanted.title}” could not be made: {error}.")
            continue
        if file.is_file():
            found.models.append(Shown(wanted.id, wanted.title, wanted.about, file.read_bytes()))
    watch("models for the page", 1.0)
    return found


def _rounds(path: Path) -> str:
    try:
        return f"{json.loads((path / 'summary.json').read_text('utf-8'))['best_round']} rounds"
    except (OSError, ValueError, LookupError, TypeError):
        return "not finished"


def _distilled(path: Path) -> dict[str, Any]:
    """What `tacit distill` left about its model."""
    try:
        found = json.loads((path / "ngram" / "summary.json").read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _figures(distilled: dict[str, Any]) -> dict[str, str]:
    """What `tacit distill` measured of models like these on people they never saw, in a few words each."""
    try:
        return {
            name: f"; top-3 recall {figures['top3']:.1%}" for name, figures in distilled["models"].items()
        }
    except (LookupError, TypeError, AttributeError):
        return {}


def _digest(*files: Path, more: str = "") -> str:
    found = hashlib.sha256(f"{__version__} {more}".encode())
    for file in files:
        try:
            found.update(hashlib.sha256(file.read_bytes()).digest())
        except OSError as error:
            raise TacitError(f"{file}: cannot be read ({error.strerror}); train the run first") from None
    return found.hexdigest()


def _kept(folder: Path, name: str, key: str, make: Callable[[Path], bool]) -> Path:
    """The file of a made model, made if it is missing or was made of something else; absent if it cannot be made."""
    file, made = folder / f"{name}.tacit", folder / "made.json"
    try:
        known = json.loads(made.read_text("utf-8"))
    except (OSError, ValueError):
        known = {}
    if isinstance(known, dict) and known.get(name) == key and not _wrong(file):
        return file
    if isinstance(known, dict) and known.get(name) == f"not {key}":
        return folder / "none"
    folder.mkdir(parents=True, exist_ok=True)
    there = make(file)
    write_atomic(
        made,
        to_json({**(known if isinstance(known, dict) else {}), name: key if there else f"not {key}"}) + "\n",
    )
    return file if there else folder / "none"


def _wrong(file: Path) -> str:
    """Why a compact file cannot be used; "" if it can."""
    try:
        compact.open(file)
    except TacitError as error:
        return str(error)
    return ""


def _others(path: Path, stored: compact.Compact, data: Path | None, figures: dict[str, str]) -> list[Made]:
    """What can be shown beside the federated model."""
    from tacit.commands import serve_makers as make

    corpus = _distilled(path).get("supplement_corpus")
    found = [
        Made(
            "untrained",
            "Before training",
            "the network before its first round: no word is likelier than others",
            partial(make.untrained, path),
        ),
    ]
    if not stored.facts.get("cased"):
        found += [
            Made(
                "supplement",
                "Kneser-Ney, other people's text",
                "n-grams of text that is not the clients'" + figures.get("Kneser-Ney, supplement", ""),
                partial(make.supplemental, path, stored, corpus, data),
                by=str(corpus),
            ),
            Made(
                "collected",
                "Kneser-Ney, collected text",
                "the clients' own text in one place, a yardstick"
                + figures.get("Kneser-Ney, collected text", ""),
                partial(make.collected, path, stored, data),
                own=True,
            ),
        ]
    people = sorted((path / "personal" / "models").glob("*.safetensors"))[:PEOPLE]
    for file in people:
        name = unquote(file.stem)
        about = "the network tuned on this person's text, on the same n-grams"
        tuned = partial(make.personal, path, name, stored)
        found.append(Made(f"personal-{file.stem}", f"Personal: {name}", about, tuned, (file,), own=True))
    return found
