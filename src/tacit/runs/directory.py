"""The files of a run directory: what may be written where, and what a run resumes from. `run.py` reads a run back."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from tacit.base.errors import TacitError
from tacit.base.files import cannot_write, holds_nothing, read_lines, write_atomic
from tacit.models.base import Params
from tacit.runs.checkpoints import load_tree, save_tree
from tacit.runs.config import Config, TrainingConfig, from_tables
from tacit.runs.format import dump, without_format
from tacit.text import pieces, vocabulary
from tacit.text.pieces import Spelling
from tacit.text.vocabulary import Vocabulary

LOGS = METRICS, TIMINGS = "metrics.jsonl", "timings.jsonl"
BEST, LAST = "checkpoints/best.safetensors", "checkpoints/last.safetensors"
WORDS = "vocabulary.txt"


class Best(NamedTuple):
    """The best round so far, by what the configuration chooses."""

    round: int
    value: float


def read_config(path: Path) -> Config:
    """The configuration that a run directory holds."""
    file = path / "config.toml"
    if not path.is_dir() or not file.is_file():
        raise TacitError(
            f"{path} is not a run directory (it has no config.toml); make one with `tacit train`"
        )
    try:
        tables = tomllib.loads(file.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise TacitError(f"{file}: not valid TOML: {error}") from None
    tables = without_format(tables, file, required=True)
    try:
        return from_tables(tables)
    except TacitError as error:
        raise TacitError(f"{file}: {error}") from None


def check(config: Config, out: Path, resume: bool) -> None:
    """The directory must be new, empty, or hold the same run; nothing is written yet."""
    if (out / "config.toml").is_file():
        if not resume:
            raise TacitError(f"{out} already holds a run; go on with --resume, or choose another --out")
        _same(read_config(out), config, out)
        return
    if not holds_nothing(out):
        raise TacitError(f"{out} exists and is no run directory; choose another --out")


def as_begun(config: Config, out: Path) -> Config:
    """The configuration with the mark of the text that a run in this directory was begun with."""
    if not (out / "config.toml").is_file():
        return config
    return marked(config, read_config(out).text.fingerprint)


def marked(config: Config, fingerprint: str) -> Config:
    """The configuration with the mark of its text."""
    return dataclasses.replace(config, text=dataclasses.replace(config.text, fingerprint=fingerprint))


def _same(stored: Config, config: Config, out: Path) -> None:
    """Refuse to go on with other settings; only a longer run may be made of it, that is as if long from the start."""
    for part, a in dataclasses.asdict(stored).items():
        b = dataclasses.asdict(config)[part]
        pairs = [(f"{part}.{k}", a[k], b[k]) for k in a] if isinstance(a, dict) else [(part, a, b)]
        for key, was, wanted in pairs:
            longer = key == "training.rounds" and wanted > was
            if was == wanted:
                continue
            if key.endswith(".own"):  # one line about one of them
                old, new = dict(was), dict(wanted)
                name = next(k for k in (*old, *new) if old.get(k) != new.get(k))
                key, was, wanted = f"{key}.{name}", old.get(name), new.get(name)
            if key.endswith(".code"):
                raise TacitError(
                    f"{out}: the file of the {part} part of your own has changed since the run was begun; "
                    "restore it or choose another --out"
                )
            if not longer and key != "text.fingerprint":
                raise TacitError(
                    f"{out} was begun with {key} = {was!r}, now {wanted!r}; resume with the same settings or "
                    "choose another --out"
                )
    central = config.training.mode == "central"
    schedules = [config.central.schedule] if central else [config.client.schedule, config.server.schedule]
    was, every = stored.training.rounds, stored.training.evaluate_every
    if config.training.rounds > was and set(schedules) != {"constant"}:
        raise TacitError(
            f"{out}: its rates fall over {was} rounds; it cannot be made longer, choose another --out"
        )
    if config.training.rounds > was and was % every:
        raise TacitError(
            f"{out}: its last round, {was}, was evaluated out of turn (training.evaluate_every = {every}); it cannot "
            "be made longer, choose another --out"
        )


def place(out: Path) -> None:
    """Make the directory."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(out, error) from None


def make(config: Config, out: Path) -> None:
    """Begin or go on in the directory, config.toml before all else: with it, whatever follows can be resumed."""
    file, text = out / "config.toml", dump(config)
    try:
        if not file.is_file() or file.read_text("utf-8") != text:  # new, or to be made longer
            for outcome in ("summary.json", "report.html"):  # of the shorter run: this one has not ended
                (out / outcome).unlink(missing_ok=True)
            write_atomic(file, text)
        (out / "checkpoints").mkdir(exist_ok=True)
        for left in (*out.glob(".*.part"), *out.glob("checkpoints/.*.part")):  # by a process that was killed
            left.unlink()
    except OSError as error:
        raise cannot_write(out / "checkpoints", error) from None


def read_words(config: Config, path: Path) -> Vocabulary | Spelling:
    """What a run directory holds to make text into ids."""
    words = vocabulary.load(path / WORDS)
    if not config.text.pieces:
        return words
    found = pieces.load(path / "pieces.model")
    if found.vocabulary != words:
        raise TacitError(f"{path / 'pieces.model'}: its pieces are not those of {WORDS}; restore it")
    return Spelling(found, vocabulary.load(path / "words.txt"))


def has_words(path: Path) -> bool:
    """Whether a run has got as far as its words."""
    return (path / WORDS).is_file()


def write_words(path: Path, words: Vocabulary, spelling: Spelling | None) -> None:
    """Store the words of a run; vocabulary.txt is the last: with it, all of them are there."""
    if spelling:
        write_atomic(path / "pieces.model", spelling.pieces.proto)
        spelling.words.save(path / "words.txt")
    words.save(path / WORDS)


def read_best(path: Path, like: Params, rounds: range | None = None) -> Params:
    """The model of the best round; where it is known, the file must be of one of `rounds`."""
    tree, facts = _checkpoint(path, BEST, like)
    if rounds and int(facts.get("round", 0)) not in rounds:
        raise TacitError(
            f"{path / BEST} is of round {facts.get('round')}, and the best one was {rounds[0]}; restore it, or choose "
            "another --out and train again"
        )
    return tree


def _checkpoint(path: Path, name: str, like: Any) -> tuple[Any, dict[str, str]]:
    """A checkpoint with its facts; it must be of the words that lie beside it, whose ids it was trained with.

    One that was written before checkpoints said their words is taken as it is.
    """
    tree, facts = load_tree(path / name, like)
    if "words" in facts and facts["words"] != _mark(path):
        raise TacitError(
            f"{path / WORDS}: these are not the words that {name} was trained with; restore it, or train again"
        )
    return tree, facts


def _mark(path: Path) -> str:
    """Which words a run has."""
    return hashlib.sha256((path / WORDS).read_bytes()).hexdigest()[:16]


def digest(path: Path) -> str:
    """Which network a run has: what is made of it keeps this, and is known by it."""
    try:
        return hashlib.sha256((path / BEST).read_bytes()).hexdigest()
    except OSError as error:
        raise TacitError(f"{path / BEST}: cannot be read ({error.strerror}); train the run first") from None


def save(path: Path, name: str, tree: Any, done: int, best: Best | None) -> None:
    """A checkpoint, after so many rounds."""
    facts = {"round": str(done), "words": _mark(path)}
    if best:
        facts |= {"best_round": str(best.round), "best_value": repr(best.value)}
    save_tree(path / name, tree, facts)


def read_last(out: Path, training: TrainingConfig, state: Any) -> tuple[Any, int, Best | None]:
    """The last checkpoint, or `state` if there is none; rounds made, and the best. Logs are cut back to it."""
    done, best, rounds = 0, None, training.rounds
    if (out / LAST).exists():
        state, facts = _checkpoint(out, LAST, state)
        state = jax.tree.map(jnp.asarray, state)
        done = int(facts["round"])
        if "best_round" in facts:
            best = Best(int(facts["best_round"]), float(facts["best_value"]))
            # before rounds are made in vain; a run that was killed may have had a better round since the checkpoint
            read_best(out, state.params, range(best.round, rounds + 1))
    elif (out / "summary.json").is_file() or len(read_lines(out / METRICS)) > training.checkpoint_every:
        raise TacitError(
            f"{out / LAST} is gone, and rounds were made; restore it, or choose another --out and train again"
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
