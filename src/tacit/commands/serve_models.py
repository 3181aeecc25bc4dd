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
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

import numpy as np

from tacit import __version__
from tacit.commands.serve import Shown
from tacit.errors import TacitError
from tacit.files import to_json, write_atomic
from tacit.keyboard.network8 import is_network8
from tacit.ngram import compact, compact_writer, load
from tacit.text.lines import Watch, nobody
from tacit.text.vocabulary import UNK, Vocabulary

if TYPE_CHECKING:  # making models loads JAX, showing those that are there does not
    from tacit import runs
    from tacit.ngram.approximate import Recast

PEOPLE = 3  # personal models that are shown
SENTENCES = 5000  # drawn from a personal network; four times as many from the run's own
_MANY = 100_000  # n-grams of a model that is made here for want of one


class Found(NamedTuple):
    """The models that are there, and what is wrong with others."""

    models: list[Shown]
    problems: list[str]


class Made(NamedTuple):
    """A model that this file can make."""

    id: str
    title: str
    about: str
    make: Callable[[Path], bool]  # writes a compact file; False where it cannot be made
    of: tuple[Path, ...] = ()  # files that it is made of, beside the run's network and its n-grams
    by: str = ""  # and what else decides how
    own: bool = False  # whether it holds what people wrote: not for others


def find(path: Path, data: Path | None = None, watch: Watch = nobody, others: bool = False) -> Found:
    """The models of a run directory, the federated one first; of a compact file, itself.

    `others`: whether they are shown to other people, too.
    """
    if load.is_model_file(path):
        if not load.is_compact(path):
            what = "an 8-bit network" if is_network8(path) else "no compact n-gram file"
            raise TacitError(
                f"{path}: this is {what}; the page reads the model.tacit of `tacit distill`, or a run directory"
            )
        facts = compact.open(path).facts
        return Found([Shown("file", str(facts.get("name") or path.stem), path.name, path.read_bytes())], [])
    from tacit import runs

    runs.read_config(path)  # says so if it is no run
    folder, network = path / "keyboard", path / "checkpoints" / "best.safetensors"
    small, distilled, problems = path / "ngram" / "model.tacit", _distilled(path), list[str]()
    if small.is_file() and distilled.get("base", runs.digest(path)) != runs.digest(path):
        problems.append("ngram/model.tacit was made of an earlier network: `tacit distill` makes it again.")
        distilled = {}
    elif small.is_file() and (wrong := _wrong(small)):
        problems.append(f"{wrong}. A small model was made in its place.")
        distilled = {}
    if not small.is_file() or problems:
        small = _kept(folder, "federated", _digest(network), _distil(path, data, watch))
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


def _distil(path: Path, data: Path | None, watch: Watch) -> Callable[[Path], bool]:
    """The federated model itself, small, for a run that was never distilled."""

    def make(file: Path) -> bool:
        from tacit import runs
        from tacit.commands import supplement
        from tacit.commands.distill import DistillOptions, distill, words_of

        run = runs.load(path)
        beside = supplement.find(run.config, None, data)
        options = DistillOptions(
            max_ngrams=max(_MANY, 4 * len(words_of(run))),
            topology="r" if beside else "i",
            sentences=4 * SENTENCES,
        )
        found = distill(run, options, data, lambda done, total: watch("distilling", done / total))
        compact_writer.write(file, found.vocabulary, found.model, name=run.config.name, source="tacit serve")
        return True

    return make


def _others(path: Path, stored: compact.Compact, data: Path | None, figures: dict[str, str]) -> list[Made]:
    """What can be shown beside the federated model."""
    found = [
        Made(
            "untrained",
            "Before training",
            "the network before its first round: no word is likelier than others",
            _untrained(path),
        ),
    ]
    if not stored.facts.get("cased"):
        found += [
            Made(
                "supplement",
                "Kneser-Ney, other people's text",
                "n-grams of text that is not the clients'" + figures.get("Kneser-Ney, supplement", ""),
                _supplement(path, stored, data),
                by=str(_distilled(path).get("supplement_corpus")),
            ),
            Made(
                "collected",
                "Kneser-Ney, collected text",
                "the clients' own text in one place, a yardstick"
                + figures.get("Kneser-Ney, collected text", ""),
                _collected(path, stored, data),
                own=True,
            ),
        ]
    people = sorted((path / "personal" / "models").glob("*.safetensors"))[:PEOPLE]
    for file in people:
        name = unquote(file.stem)
        about = "the network tuned on this person's text, on the same n-grams"
        make = _personal(path, name, stored)
        found.append(Made(f"personal-{file.stem}", f"Personal: {name}", about, make, (file,), own=True))
    return found


def _untrained(path: Path) -> Callable[[Path], bool]:
    def make(file: Path) -> bool:
        import jax

        from tacit import runs
        from tacit.ngram import kneser_ney
        from tacit.ngram.approximate import approximate
        from tacit.ngram.automaton import from_kneser_ney
        from tacit.ngram.sampling import network

        run = runs.load(path)
        if run.spelling:
            return False
        v = len(run.vocabulary)
        single = from_kneser_ney(kneser_ney.fit(np.array([0, UNK, 1]), np.array([0, 3]), v, 1)).topology
        source = network(run.model, run.model.init(jax.random.key(run.config.seed)), longest=16)
        model = approximate(source, single, sentences=64, fixed=True)
        compact_writer.write(file, run.vocabulary, model, name="untrained", source="tacit serve")
        return True

    return make


def _supplement(path: Path, stored: compact.Compact, data: Path | None) -> Callable[[Path], bool]:
    def make(file: Path) -> bool:
        from tacit import runs
        from tacit.commands import supplement
        from tacit.commands.distill import words_of

        run = runs.load(path)
        beside = supplement.find(run.config, _distilled(path).get("supplement_corpus"), data)
        if beside is None:
            return False
        words = words_of(run)
        packed = beside.packed(words)
        _write_counted(file, words, packed.tokens, packed.offsets, stored, "supplement")
        return True

    return make


def _collected(path: Path, stored: compact.Compact, data: Path | None) -> Callable[[Path], bool]:
    def make(file: Path) -> bool:
        from dataclasses import replace

        from tacit import runs
        from tacit.commands.distill import words_of
        from tacit.text.packed import Packed
        from tacit.text.prepare import prepare

        run = runs.load(path)
        config, words = run.config, words_of(run)
        text = replace(config.text, pieces=0, inventory="") if run.spelling else config.text
        clients = prepare(text, config.partition, config.typists, config.seed, words, data).clients
        if not isinstance(clients, Packed):
            return False
        _write_counted(file, words, clients.tokens, clients.offsets, stored, "collected")
        return True

    return make


def _write_counted(
    file: Path, words: Vocabulary, tokens: np.ndarray, offsets: np.ndarray, like: compact.Compact, name: str
) -> None:
    """A Kneser-Ney model of the order and size of another."""
    from tacit.ngram.sampling import Sentences
    from tacit.ngram.topology import from_corpus

    size = max(sum(like.facts["ngrams"]), len(words)) - 1  # `<s>` is a word of the file but no n-gram
    text = Sentences(np.asarray(tokens, np.int64), np.asarray(offsets, np.int64))
    model = from_corpus(text, len(words), like.order, size)
    compact_writer.write(file, words, model, name=name, source="tacit serve")


def _personal(path: Path, user: str, stored: compact.Compact) -> Callable[[Path], bool]:
    def make(file: Path) -> bool:
        from tacit import personal_models, runs
        from tacit.ngram.approximate import approximate
        from tacit.ngram.sampling import network
        from tacit.personal.mixing import ALONE

        run = runs.load(path)
        if run.spelling or stored.facts.get("cased"):
            return False
        own = personal_models.load(run, user)
        if own.mix != ALONE:  # what the gate accepted is more than the tuned network
            return False
        words, federated = stored.to_automaton()
        source = network(run.model, own.params)
        recast = _in_words_of(words, run)
        model = approximate(source, federated.topology, SENTENCES, recast=recast)
        compact_writer.write(file, words, model, name=f"personal {user}", source="tacit serve")
        return True

    return make


def _in_words_of(words: Vocabulary, run: runs.Run) -> Recast:
    """From the network's ids to those of a compact file, which go by the alphabet."""
    import jax.numpy as jnp

    from tacit.ngram.approximate import Recast

    places = np.array([i if i <= UNK else words.index[w] for i, w in enumerate(run.vocabulary.words)])
    return Recast(
        len(words),
        lambda text: places[text.tokens],
        lambda text, positions, p: jnp.zeros((p.shape[0], len(words))).at[:, places].set(p),
        lambda text: np.zeros(len(text.tokens), np.int64),  # a word goes to the same place wherever it stands
    )
