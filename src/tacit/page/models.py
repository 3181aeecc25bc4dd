"""The models that the keyboard page can switch between: those a run directory has, and those built from it.

    network      after training: the run's network with 8 bits per weight, as `tacit export` writes it
    mixed        the network mixed with Kneser-Ney of the supplemental corpus
    federated    for phones with little room: the n-gram model that `tacit distill` made from the network (RUN/ngram)
    untrained    before training: the network as it was before its first round, from single words alone
    supplement   Kneser-Ney of the supplemental corpus, of the same order and size: other people's text, no training
    collected    Kneser-Ney of the clients' pooled text: a baseline that nobody could build in a real federation
    personal     the network tuned on one person's text (RUN/personal), on the federated model's n-grams

A missing model is built once and kept under RUN/keyboard with the sha256 of its sources; when they change it is built
again. A model that cannot be built (no supplement, text that is nowhere in one place) is left out. If other people can
load the models, `collected` and `personal`, which hold what people wrote, are left out, too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from tacit import __version__
from tacit.base import consent
from tacit.base.errors import TacitError
from tacit.base.files import cannot_write, inside, to_json, write_atomic
from tacit.base.locks import held, remove_leftovers
from tacit.base.progress import Progress, no_progress
from tacit.base.reading import read_object, read_regular
from tacit.base.transaction import holds_nothing
from tacit.lm.network8 import reader as network8
from tacit.lm.open import kind_of
from tacit.ngram.compact import reader
from tacit.page import people
from tacit.text.locale import DEFAULT

PEOPLE = 3  # personal models that are shown


class Mix(NamedTuple):
    """A mixture of two models: (1 − λ) of a network and λ of n-grams over the same words."""

    network: str  # ids of models
    ngrams: str
    weight: float  # λ


class PageModel(NamedTuple):
    """A model that the page can switch to."""

    id: str
    title: str
    about: str
    data: bytes  # a compact file or an 8-bit network; empty for a mixture
    compare: bool = False  # loaded only to compare it with the others
    made: str = ""  # the day on which it was trained, YYYY-MM-DD
    mix: Mix | None = None


class PageModels(NamedTuple):
    """The models that can be shown, the problems with others, and the words that are written with a capital."""

    models: list[PageModel]
    problems: list[str]
    capitals: dict[str, str]


WEIGHT = 0.2  # of the n-grams in the mixture; benchmarks/page_choices.py chose it
_MIXED = PageModel(
    "mixed",
    "After training, with n-grams",
    f"the network mixed with n-grams of other people's text, which have the weight {WEIGHT}",
    b"",
    compare=True,
    mix=Mix("network", "supplement", WEIGHT),
)


class Recipe(NamedTuple):
    """How to build a model."""

    id: str
    title: str
    about: str
    make: Callable[[Path], bool]  # writes a model file; False if it cannot be built
    sources: tuple[Path, ...] = ()  # files that it is built from, beside the run's network and its n-grams
    setting: str = ""  # what else it depends on
    private: bool = False  # whether it holds what people wrote
    compare: bool = True  # whether it is there to compare with
    named: Callable[[Path], str] | None = None  # a better title, from the model itself


def check_path(path: Path) -> None:
    """Refuses a path that is neither a run directory nor a model file that the page can read."""
    kind = kind_of(path)
    if kind == "run":
        from tacit import runs  # loads JAX, which a file does not need

        runs.read_config(path)
    elif kind == "compact":
        reader.open(path)  # refuses a damaged file
    elif kind == "network8":
        network8.open(path)
    else:
        raise TacitError(
            f"{path}: this is not a compact n-gram file; the page reads the model.tacit of `tacit distill`, the file "
            "of `tacit export`, or a run directory"
        )


def locale_of(path: Path) -> str:
    """Returns the code of the language that the models of a run directory, or of a file, were trained on."""
    if kind_of(path) != "run":
        return str(_facts(path).get("locale", DEFAULT))
    from tacit import runs  # loads JAX, which a file does not need

    return runs.read_config(path).text.locale


def _facts(path: Path) -> Mapping[str, Any]:
    """Returns what a compact file or an 8-bit network says of itself."""
    return (reader.open(path) if kind_of(path) == "compact" else network8.open(path)).facts


def page_models(
    path: Path, data: Path | None = None, progress: Progress = no_progress, public: bool = False
) -> PageModels:
    """Returns the models of a run directory, the federated one first, or that of a compact file.

    `public`: whether other people can load them; then models that hold what people wrote are left out.
    """
    check_path(path)
    if kind_of(path) != "run":
        title = str(_facts(path).get("name") or path.stem)
        return PageModels([PageModel("file", title, path.name, path.read_bytes(), made=_day(path))], [], {})
    from tacit import runs

    small, distilled, problems = _federated(path, data, progress)
    stored, figures = reader.open(small), _figures(distilled)
    mode, made = runs.read_config(path).training.mode, _day(path / runs.BEST)
    about = f"{mode}, {_rounds(path)}, distilled into n-grams{figures.get('compact file', '')}"
    ngrams = PageModel("federated", "After training, n-grams", about, small.read_bytes(), made=made)
    built: dict[str, PageModel] = {}
    recipes = [r for r in _recipes(path, stored, data, figures) if not (public and r.private)]
    for i, recipe in enumerate(recipes):
        make = _telling(recipe, progress, i / len(recipes))
        try:
            key = _digest(path / runs.BEST, small, *recipe.sources, setting=recipe.setting)
            file = _kept(inside(path, "keyboard"), recipe.id, key, make)
        except TacitError as error:
            problems.append(f"The model “{recipe.title}” could not be built: {error}.")
            continue
        if file.is_file():
            rest = (file.read_bytes(), recipe.compare, made if recipe.id == "network" else "")
            title = recipe.named(file) if recipe.named else recipe.title
            built[recipe.id] = PageModel(recipe.id, title, recipe.about, *rest)
    progress("models for the page", 1.0)
    capitals = _capitals(path, data, problems)
    mixed = [_MIXED] if {"network", "supplement"} <= built.keys() else []
    first = [built.pop("network")] if "network" in built else []
    return PageModels([*first, ngrams, *mixed, *built.values()], problems, capitals)


def _telling(recipe: Recipe, progress: Progress, share: float) -> Callable[[Path], bool]:
    """Returns what makes a model, and first says so: one that is kept is not mentioned."""

    def make(file: Path) -> bool:
        progress(f"building a model for the page: {recipe.title}", share)
        return recipe.make(file)

    return make


def _capitals(path: Path, data: Path | None, problems: list[str]) -> dict[str, str]:
    """Returns the words that are written with a capital."""
    from tacit.page import building

    try:
        return building.capitals(path, data, supplement_of(path))
    except TacitError as error:
        problems.append(f"Names stay without capitals: {error}.")
        return {}


def _day(file: Path) -> str:
    """Returns the day on which a file was written."""
    return datetime.fromtimestamp(file.stat().st_mtime, UTC).date().isoformat()


def _federated(path: Path, data: Path | None, progress: Progress) -> tuple[Path, dict[str, Any], list[str]]:
    """Returns the file of the federated model, what `tacit distill` measured of it, and problems.

    A model that is missing, damaged, or of an earlier network is replaced by a small one that is built here.
    """
    from tacit import runs
    from tacit.page import building

    file, distilled, problems = path / "ngram" / "model.tacit", _distilled(path), list[str]()
    if file.is_file() and distilled.get("base", runs.digest(path)) != runs.digest(path):
        problems.append("ngram/model.tacit is of an earlier network; run `tacit distill` again.")
    elif file.is_file() and (wrong := _wrong(file)):
        problems.append(f"{wrong}. A small model was built in its place.")
    if file.is_file() and not problems:
        return file, distilled, problems
    key, make = _digest(path / runs.BEST), partial(building.federated, path, data, progress)
    return _kept(inside(path, "keyboard"), "federated", key, make), {} if problems else distilled, problems


def _rounds(path: Path) -> str:
    from tacit.runs.summary_file import read_summary  # loads JAX

    try:
        return f"{read_summary(path / 'summary.json')['best_round']} rounds"
    except TacitError:
        return "not finished"


def _distilled(path: Path) -> dict[str, Any]:
    """Returns the summary that `tacit distill` left; empty if there is none."""
    try:
        return read_object(path / "ngram" / "summary.json")
    except (OSError, ValueError):
        return {}


def trust(path: Path) -> None:
    """Remembers that the user allows to read what a run names outside itself, the supplement included."""
    from tacit import runs

    supplement = supplement_of(path)
    runs.trust(path, *([] if supplement is None else [supplement]))


def supplement_of(path: Path) -> str | None:
    """Returns the supplemental corpus that `tacit distill` used, marked as named by the run; None without one."""
    corpus = _distilled(path).get("supplement_corpus")
    if not isinstance(corpus, str) or corpus == "typists":
        return None
    return consent.named(corpus, path, (path / "config.toml").read_bytes())


def _figures(distilled: dict[str, Any]) -> dict[str, str]:
    """Returns the top-3 recall of each model on held-out people, as `tacit distill` measured it, in words."""
    try:
        return {
            name: f"; top-3 recall {figures['top3']:.1%}" for name, figures in distilled["models"].items()
        }
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError):
        return {}


def _digest(*files: Path, setting: str = "") -> str:
    digest = hashlib.sha256(f"{__version__} {setting}".encode())
    for file in files:
        try:
            digest.update(hashlib.sha256(read_regular(file)).digest())
        except OSError as error:
            raise TacitError(f"{file}: cannot be read ({error.strerror}); train the run first") from None
    return digest.hexdigest()


def _kept(folder: Path, name: str, key: str, make: Callable[[Path], bool]) -> Path:
    """Returns the file of a model, built again if missing or out of date; a missing path if it cannot be built."""
    file, known = folder / f"{name}.tacit", _made(folder) or {}
    if known.get(name) == key and not _wrong(file):
        return file
    if known.get(name) == f"not {key}":
        return folder / "none"
    if _made(folder) is None and not holds_nothing(folder):
        raise TacitError(f"{folder} was not left by `tacit serve`; move it elsewhere")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(folder, error) from None
    with held(folder):
        remove_leftovers(folder)
        known = {other: made for other, made in (_made(folder) or {}).items() if other != name}
        _log(folder, known)  # first: if this process is killed, no key belongs to the wrong file
        is_built = make(file)
        _log(folder, {**known, name: key if is_built else f"not {key}"})
    return file if is_built else folder / "none"


def _made(folder: Path) -> dict[str, Any] | None:
    """Returns the key of every model in the folder, from made.json; None if `tacit serve` has not written one."""
    try:
        return read_object(folder / "made.json")
    except (OSError, ValueError):
        return None


def _log(folder: Path, known: dict[str, Any]) -> None:
    write_atomic(folder / "made.json", to_json(known) + "\n")


def _wrong(file: Path) -> str:
    """Returns why a model file cannot be used; "" if it can."""
    try:
        network8.open(file) if kind_of(file) == "network8" else reader.open(file)
    except TacitError as error:
        return str(error)
    return ""


def _recipes(path: Path, stored: reader.Compact, data: Path | None, figures: dict[str, str]) -> list[Recipe]:
    """Returns the models that can be built beside the federated one."""
    from tacit.page import building

    corpus = supplement_of(path)
    recipes = [
        Recipe(
            "network",
            "After training",
            f"the network with 8 bits per weight{figures.get('network', '')}",
            partial(building.exported, path),
            compare=False,
        ),
        Recipe(
            "untrained",
            "Before training",
            "the network before its first round: no word is likelier than others",
            partial(building.untrained, path),
        ),
    ]
    if not stored.facts.get("cased"):
        recipes += [
            Recipe(
                "supplement",
                "Kneser-Ney, other people's text",
                "n-grams of text that is not the clients'" + figures.get("Kneser-Ney, supplement", ""),
                partial(building.supplemental, path, stored, corpus, data),
                setting=str(corpus),
            ),
            Recipe(
                "collected",
                "Kneser-Ney, collected text",
                "n-grams of the clients' pooled text, a baseline"
                + figures.get("Kneser-Ney, collected text", ""),
                partial(building.collected, path, stored, data),
                private=True,
            ),
        ]
    tuned_people = sorted((path / "personal" / "models").glob("*.safetensors"))[:PEOPLE]
    for place, file in enumerate(tuned_people, 1):
        name = unquote(file.stem)
        about = "the network tuned on this person's text, distilled into the same n-grams"
        tuned = partial(building.personal, path, name, stored)
        named = partial(people.title, name, place, len(tuned_people), everybody=stored)
        recipes.append(
            Recipe(
                f"personal-{file.stem}", f"Personal: {name}", about, tuned, (file,), private=True, named=named
            )
        )
    return recipes
