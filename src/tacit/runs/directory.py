"""Checks, writes and resumes the files of a run directory. `run.py` reads a finished run."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from tacit.base import consent, settings
from tacit.base.errors import TacitError, shown
from tacit.base.files import cannot_write, inside, read_lines, write_atomic
from tacit.base.locks import remove_leftovers
from tacit.base.reading import read_regular
from tacit.base.transaction import holds_nothing
from tacit.models.base import Params
from tacit.runs.checkpoints import load_tree, save_tree
from tacit.runs.config import NO_FILE, OUTSIDE, Config, TrainingConfig, as_named, from_tables
from tacit.runs.format import dump, without_format
from tacit.text import pieces, vocabulary
from tacit.text.pieces import Spelling
from tacit.text.vocabulary import Vocabulary

LOGS = METRICS, TIMINGS = "metrics.jsonl", "timings.jsonl"
BEST, LAST = "checkpoints/best.safetensors", "checkpoints/last.safetensors"
WORDS = "vocabulary.txt"
_PLUGINS = {"aggregation": "aggregation rule", "server": "server optimiser"}


class Best(NamedTuple):
    """The best round so far, by `training.best`."""

    round: int
    value: float


def read_config(path: Path) -> Config:
    """Reads and checks the configuration of a run directory."""
    file = path / "config.toml"
    try:
        is_run = path.is_dir() and file.is_file()
    except OSError:  # a name that is too long
        is_run = False
    if not is_run:
        raise TacitError(
            f"{path} is not a run directory (it has no config.toml); make one with `tacit train`"
        )
    try:
        content = file.read_bytes()
        tables = tomllib.loads(content.decode())
    except OSError as error:
        raise TacitError(f"{file}: cannot be read ({error.strerror}); restore the file") from None
    except (ValueError, RecursionError) as error:
        raise TacitError(f"{file}: not valid TOML: {error}") from None
    tables = as_named(without_format(tables, file, required=True), file, content)
    try:
        return from_tables(tables)
    except TacitError as error:
        raise TacitError(f"{file}: {error}") from None


def trust(path: Path, *others: str) -> None:
    """Remembers the user's consent to read the files that a run names outside itself, and these other paths."""
    text = read_config(path).text
    content = (path / "config.toml").read_bytes()
    for given in (*(getattr(text, key) for key in OUTSIDE), *others):
        if given not in NO_FILE:
            consent.remember(given, content)


def check(config: Config, out: Path, resume: bool) -> None:
    """Refuses a directory that is neither new nor empty nor the same run. Writes nothing."""
    if (out / "config.toml").is_file():
        if not resume:
            raise TacitError(f"{out} already holds a run; resume it with --resume, or choose another --out")
        _same(read_config(out), config, out)
        return
    if not holds_nothing(out):
        raise TacitError(f"{out} exists and is not a run directory; choose another --out")


def as_begun(config: Config, out: Path) -> Config:
    """Returns the configuration with the text fingerprint of the run in this directory."""
    if not (out / "config.toml").is_file():
        return config
    return with_fingerprint(config, read_config(out).text.fingerprint)


def with_fingerprint(config: Config, fingerprint: str) -> Config:
    """Returns the configuration with a fingerprint of its text."""
    return dataclasses.replace(config, text=dataclasses.replace(config.text, fingerprint=fingerprint))


def _same(stored: Config, config: Config, out: Path) -> None:
    """Refuses to resume with other settings; allows more rounds if the result equals that of one long run."""
    begun, now = settings.tables(stored), settings.tables(config)
    for part, a in begun.items():
        b = now[part]
        pairs = (
            [(f"{part}.{k}", a.get(k), b.get(k)) for k in a | b] if isinstance(a, dict) else [(part, a, b)]
        )
        for key, was, given in pairs:
            longer = key == "training.rounds" and given > was
            if was == given:
                continue
            if key in ("aggregation.code", "server.code") and was and given:
                raise TacitError(
                    f"{out}: the code of your custom {_PLUGINS[part]} has changed since the run began; restore it or "
                    "choose another --out"
                )
            if not longer and key != "text.fingerprint":
                raise TacitError(
                    f"{out} was begun with {key} = {was!r}, now {given!r}; resume with the same settings or "
                    "choose another --out"
                )
    central = config.training.mode == "central"
    schedules = [config.central.schedule] if central else [config.client.schedule, config.server.schedule]
    was, every = stored.training.rounds, stored.training.evaluate_every
    if config.training.rounds > was and set(schedules) != {"constant"}:
        raise TacitError(
            f"{out}: its learning rates are scheduled over {was} rounds, so it cannot have more; choose another --out"
        )
    if config.training.rounds > was and config.privacy.mechanism == "matrix":
        raise TacitError(
            f"{out}: its noise is correlated over {was} rounds, so it cannot have more; choose another --out"
        )
    if config.training.rounds > was and was % every:
        raise TacitError(
            f"{out}: its last round, {was}, is not a multiple of training.evaluate_every = {every}, so it cannot have "
            "more rounds; choose another --out"
        )


def place(out: Path) -> None:
    """Makes the run directory."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(out, error) from None


def make(config: Config, out: Path) -> None:
    """Writes config.toml before any other file: a directory that has it can be resumed."""
    file, text = out / "config.toml", dump(config)
    checkpoints = inside(out, "checkpoints")
    try:
        if not file.is_file() or file.read_text("utf-8") != text:  # a new run, or more rounds
            for result in ("summary.json", "report.html"):  # of the shorter run; this one has not finished
                (out / result).unlink(missing_ok=True)
            write_atomic(file, text)
        trust(out)  # the user who trains has named the corpus
        checkpoints.mkdir(exist_ok=True)
        for folder in (out, checkpoints):
            remove_leftovers(folder)
    except OSError as error:
        raise cannot_write(checkpoints, error) from None


def read_words(config: Config, path: Path) -> Vocabulary | Spelling:
    """Reads the vocabulary of a run, or the spelling of a piece model."""
    words = vocabulary.load(path / WORDS)
    if not config.text.pieces:
        return words
    piece_model = pieces.load(path / "pieces.model")
    if piece_model.vocabulary != words:
        raise TacitError(f"{path / 'pieces.model'}: its pieces are not those of {WORDS}; restore it")
    return Spelling(piece_model, vocabulary.load(path / "words.txt"))


def has_words(path: Path) -> bool:
    """Returns whether a run has written its vocabulary."""
    return (path / WORDS).is_file()


def write_words(path: Path, words: Vocabulary, spelling: Spelling | None) -> None:
    """Writes the vocabulary of a run; vocabulary.txt comes last, so its presence means that all files are complete."""
    if spelling:
        write_atomic(path / "pieces.model", spelling.pieces.proto)
        spelling.words.save(path / "words.txt")
    words.save(path / WORDS)


def read_best(path: Path, like: Params, rounds: range | None = None) -> Params:
    """Reads the model of the best round; with `rounds`, the checkpoint must belong to one of them."""
    tree, facts = _checkpoint(path, BEST, like)
    if rounds and _round(path / BEST, facts, "round") not in rounds:
        raise TacitError(
            f"{path / BEST} is of round {facts.get('round')}, but the best round is {rounds[0]}; restore it, or choose "
            "another --out and train again"
        )
    return tree


def _round(file: Path, facts: Mapping[str, str], key: str) -> int:
    """Returns a round that a checkpoint names; the first is 1."""
    text = facts.get(key, "")
    if not (text.isascii() and text.isdecimal() and len(text) <= 10 and int(text) > 0):
        raise TacitError(
            f"{file}: its {key} is {shown(text)}, not a number from 1; restore it or train again"
        )
    return int(text)


def _value(file: Path, facts: Mapping[str, str]) -> float:
    try:
        value = float(facts.get("best_value", ""))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise TacitError(f"{file}: its best_value is not a number; restore it or train again")
    return value


def _checkpoint(path: Path, name: str, like: Any) -> tuple[Any, dict[str, str]]:
    """Reads a checkpoint and the facts of its header; refuses one of another vocabulary.

    A checkpoint without the hash of a vocabulary is not checked.
    """
    tree, facts = load_tree(path / name, like)
    if "words" in facts and facts["words"] != _words_hash(path):
        raise TacitError(
            f"{path / WORDS}: these are not the words that {name} was trained with; restore it, or train again"
        )
    return tree, facts


def _words_hash(path: Path) -> str:
    """Returns a short hash of the vocabulary of a run."""
    return hashlib.sha256((path / WORDS).read_bytes()).hexdigest()[:16]


def digest(path: Path) -> str:
    """Returns a hash of the best checkpoint, which distilled and personal models store to identify their network."""
    try:
        return hashlib.sha256(read_regular(path / BEST)).hexdigest()
    except OSError as error:
        raise TacitError(f"{path / BEST}: cannot be read ({error.strerror}); train the run first") from None


def save(path: Path, name: str, tree: Any, done: int, best: Best | None) -> None:
    """Writes a checkpoint after `done` rounds; only its owner can read one with noise that later rounds cancel."""
    facts = {"round": str(done), "words": _words_hash(path)}
    if best:
        facts |= {"best_round": str(best.round), "best_value": repr(best.value)}
    noise = jax.tree.leaves(getattr(tree, "noise", ()))
    save_tree(path / name, tree, facts, secret=any(bool(jnp.any(part)) for part in noise))


def read_last(out: Path, training: TrainingConfig, state: Any) -> tuple[Any, int, Best | None]:
    """Reads the last checkpoint (`state` if there is none), its round and the best round; truncates the logs to it."""
    done, best, rounds = 0, None, training.rounds
    if (out / LAST).exists():
        state, facts = _checkpoint(out, LAST, state)
        state = jax.tree.map(jnp.asarray, state)
        done = _round(out / LAST, facts, "round")
        if "best_round" in facts:
            best = Best(_round(out / LAST, facts, "best_round"), _value(out / LAST, facts))
            # checked before training; a killed run may have had a better round since this checkpoint
            read_best(out, state.params, range(best.round, rounds + 1))
    elif (out / "summary.json").is_file() or len(read_lines(out / METRICS)) > training.checkpoint_every:
        raise TacitError(
            f"{out / LAST} is missing, although rounds were made; restore it, or choose another --out and train again"
        )
    if done > rounds:
        raise TacitError(f"{out} has made {done} rounds already, more than training.rounds = {rounds}")
    for log in LOGS:
        kept = [line for line in read_lines(out / log) if line["round"] <= done]
        if log == METRICS and [line["round"] for line in kept] != list(range(1, done + 1)):
            raise TacitError(
                f"{out / log}: its lines are not rounds 1 to {done} of the last checkpoint; restore it, or "
                "choose another --out and train again"
            )
        if (out / log).is_file():
            write_atomic(out / log, "".join(json.dumps(line, sort_keys=True) + "\n" for line in kept))
    return state, done, best
