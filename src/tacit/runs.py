"""The run directory: everything one run is, in files that can be read without Tacit.

    config.toml        the configuration as resolved, every key
    vocabulary.txt     the words, one a line; of a piece model the pieces, which pieces.model makes words into, and
                       words.txt the words that a word model in its place would know
    metrics.jsonl      one line for each round; the same bytes however often the run was interrupted
    timings.jsonl      how long each round took (never the same twice, so kept apart)
    checkpoints/       last.safetensors (model, optimiser, round) and best.safetensors (model)
    summary.json       the best round on validation, and its figures on the test and on seen typists
    report.html        all of it to look at

Nothing is made before the settings, the corpus and the directory are known to be good. A checkpoint is
written whole or not at all, after the lines it belongs to; `--resume` cuts metrics.jsonl
back to the last checkpoint and goes on. Every draw is addressed by seed and round, so a run that was
killed at any moment ends with the same bytes as one that was not.

Where several processes train together (`tacit.hosts`), all come this way, but only the first knows the directory:
it reads, tells the others what it read, and writes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from tacit import __version__, hosts, settings
from tacit.config import Config, from_tables
from tacit.errors import TacitError
from tacit.federated.central import central
from tacit.federated.evaluation import Scorer, overall, per_piece, scorer, summary
from tacit.federated.objective import next_word_loss
from tacit.federated.rounds import Algorithm, Trainer, text_federation
from tacit.files import append_line, cannot_write, load_tree, read_lines, save_tree, to_json, write_atomic
from tacit.models import LanguageModel, count_parameters, language_model
from tacit.models.base import Params
from tacit.randomness import stream, uniform
from tacit.text import pieces, vocabulary
from tacit.text.lines import Watch, nobody
from tacit.text.packed import Packed
from tacit.text.pieces import Spelling
from tacit.text.prepare import Prepared, prepare
from tacit.text.vocabulary import Vocabulary

_VALIDATE = stream("validation sentences")
_MEASURED = ("perplexity", "top1", "top3", "oov", "sll", "sll_without_oov")  # after each round


class Watcher(NamedTuple):
    """Whoever wants to follow a run: called with each round's record."""

    begin: Callable[[Config, int, int], None] = lambda config, done, parameters: None
    round: Callable[[dict[str, Any]], None] = lambda record: None
    end: Callable[[], None] = lambda: None


def train(
    config: Config,
    out: Path,
    resume: bool = False,
    data: Path | None = None,
    watchers: tuple[Watcher, ...] = (),
    watch: Watch = nobody,
) -> dict[str, Any]:
    """Carry out a run in the directory `out`; returns its summary."""
    if hosts.first():
        _check(config, out, resume)
    else:
        watchers, watch = (), nobody  # there is one run to be watched
    words_file = out / "vocabulary.txt"
    words = read_words(config, out) if hosts.first() and words_file.is_file() else None
    ready = prepare(config.text, config.partition, config.typists, config.seed, words, data, watch)
    hosts.agree(_identity(config, ready))
    model = language_model(config.model, len(ready.vocabulary))
    trainer, score = make_trainer(config, model, ready), scorer(model, ready.spelling)
    state, done, best = _restore(config, out, trainer)
    if hosts.first():
        _make(config, out)  # only now that nothing is wrong with what was given
        if words is None:
            if ready.spelling:
                write_atomic(out / "pieces.model", ready.spelling.pieces.proto)
                write_vocabulary(ready.spelling.words, out / "words.txt")
            write_vocabulary(ready.vocabulary, words_file)  # the last: with it, all of them are there
    valid = sample(ready.valid, config.training.evaluate_sentences, config.seed)
    try:
        for watcher in watchers:
            watcher.begin(config, done, count_parameters(state.params))
        best = _rounds(config, out, trainer, score, valid, ready.spelling, state, done, best, watchers)
    finally:  # also when a round failed: a terminal must be left in order
        for watcher in watchers:
            watcher.end()
    return _summarise(config, out, model, score, ready, best)


def _rounds(
    config: Config,
    out: Path,
    trainer: Trainer,
    score: Scorer,
    valid: Packed,
    spelling: Spelling | None,
    state: Any,
    done: int,
    best: dict[str, Any] | None,
    watchers: tuple[Watcher, ...],
) -> dict[str, Any] | None:
    """The rounds that are left; returns which was best."""
    started = time.perf_counter()
    for t in range(done, config.training.rounds):
        state, facts = trainer.round(state, t)
        record: dict[str, Any] = {"round": t + 1, **{k: v for k, v in facts.items() if math.isfinite(v)}}
        better = False
        if (t + 1) % config.training.evaluate_every == 0 or t + 1 == config.training.rounds:
            with np.errstate(over="ignore"):  # a diverged model: told below
                scores = score(state.params, valid)
                measured, extra = overall(scores), per_piece(scores, valid, spelling)
            record |= {f"valid_{k}": measured[k] for k in _MEASURED}
            record |= {f"valid_{k}": v for k, v in extra.items()}
            if not math.isfinite(measured["perplexity"]):
                rates = "central.lr" if config.training.mode == "central" else "client.lr or server.lr"
                raise TacitError(
                    f"round {t + 1}: validation perplexity is not finite, training has diverged; lower {rates}; "
                    "the last good checkpoint is kept"
                )
            if better := _better(config, measured, best):
                best = {"round": t + 1, "value": measured[config.training.best]}
        if not hosts.first():
            continue
        if better:
            save_tree(out / "checkpoints" / "best.safetensors", state.params, _facts(t + 1, best))
        append_line(out / "metrics.jsonl", record)
        now = time.perf_counter()
        append_line(out / "timings.jsonl", {"round": t + 1, "seconds": round(now - started, 4)})
        started = now
        if (t + 1) % config.training.checkpoint_every == 0 or t + 1 == config.training.rounds:
            save_tree(out / "checkpoints" / "last.safetensors", state, _facts(t + 1, best))
        for watcher in watchers:
            watcher.round(record)
    return best


def _identity(config: Config, ready: Prepared) -> dict[str, bytes]:
    """What the processes of a job must have in common; the corpus may lie elsewhere on each host."""
    text = dataclasses.replace(config.text, corpus="", inventory="")
    parts = [ready.clients.sizes, ready.valid.tokens, ready.test.tokens]
    return {
        "versions": f"{__version__} {jax.__version__}".encode(),
        "settings": settings.dump(dataclasses.replace(config, text=text)).encode(),
        "words": "\n".join(ready.vocabulary.words).encode(),
        "text": b"".join(np.ascontiguousarray(part).tobytes() for part in parts),
    }


def _check(config: Config, out: Path, resume: bool) -> None:
    """The directory must be new, empty, or hold the same run; nothing is written yet."""
    if (out / "config.toml").is_file():
        if not resume:
            raise TacitError(f"{out} already holds a run; go on with --resume, or choose another --out")
        _same(read_config(out), config, out)
        return
    if out.exists() and (not out.is_dir() or any(p.suffix != ".part" for p in out.iterdir())):
        raise TacitError(f"{out} exists and is no run directory; choose another --out")


def _make(config: Config, out: Path) -> None:
    """Make the directory, config.toml before all else: with it, whatever follows can be resumed."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(out, error) from None
    file, text = out / "config.toml", settings.dump(config)
    if not file.is_file() or file.read_text("utf-8") != text:  # new, or to be made longer
        write_atomic(file, text)
    try:
        (out / "checkpoints").mkdir(exist_ok=True)
    except OSError as error:
        raise cannot_write(out / "checkpoints", error) from None


def _same(stored: Config, config: Config, out: Path) -> None:
    """Refuse to go on with other settings; only a longer run with constant rates may be made of it."""
    constant = {config.client.schedule, config.server.schedule, config.central.schedule} == {"constant"}
    for part, a in dataclasses.asdict(stored).items():
        b = dataclasses.asdict(config)[part]
        pairs = [(f"{part}.{k}", a[k], b[k]) for k in a] if isinstance(a, dict) else [(part, a, b)]
        for key, was, wanted in pairs:
            if was != wanted and not (key == "training.rounds" and constant and wanted > was):
                raise TacitError(
                    f"{out} was begun with {key} = {was!r}, now {wanted!r}; resume with the same settings or "
                    "choose another --out"
                )


def write_vocabulary(words: Vocabulary, path: Path) -> None:
    """Store the words of a run."""
    try:
        words.save(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            path.with_name(path.name + ".part").unlink()
        raise cannot_write(path, error) from None


def make_trainer(config: Config, model: LanguageModel, ready: Prepared) -> Trainer:
    """The trainer that a configuration describes."""
    loss = next_word_loss(model)
    training = config.training
    if training.mode == "central":
        if not isinstance(ready.clients, Packed):
            raise TacitError("training.mode = 'central' needs all text in one place; lower typists.users")
        return central(model.init, loss, ready.clients, config.central, config.seed, training.rounds)
    algorithm = Algorithm(config.client, config.aggregation, config.server, config.sampling)
    return text_federation(
        model.init,
        loss,
        algorithm,
        ready.clients,
        config.seed,
        training.rounds,
        training.executor,
        training.lanes_mb,
    )


def sample(text: Packed, sentences: int, seed: int) -> Packed:
    """At most so many sentences of a text, drawn by chance, with their people."""
    total = len(text.offsets) - 1
    if total <= sentences:
        return text
    chosen = np.sort(np.argsort(uniform(seed, _VALIDATE, np.arange(total)), kind="stable")[:sentences])
    return text.take(chosen, np.searchsorted(chosen, text.owners), text.names)


def _restore(config: Config, out: Path, trainer: Trainer) -> tuple[Any, int, dict[str, Any] | None]:
    """The state to go on from, the last checkpoint or the beginning, as the first process found it."""
    state = trainer.init(jax.random.key(config.seed))
    done, best = 0, None
    if hosts.first():
        state, done, best = _read(config, out, state)
    figures = np.array([done, best["round"] if best else 0, best["value"] if best else 0.0])
    state, (done, round_, value) = hosts.from_first((state, figures))
    return state, int(done), {"round": int(round_), "value": float(value)} if round_ else None


def _read(config: Config, out: Path, state: Any) -> tuple[Any, int, dict[str, Any] | None]:
    """The last checkpoint, if there is one; logs are cut back to it."""
    file = out / "checkpoints" / "last.safetensors"
    done, best = 0, None
    if file.is_file():
        state, facts = load_tree(file, state)
        state = jax.tree.map(jnp.asarray, state)
        done = int(facts["round"])
        best = (
            {"round": int(facts["best_round"]), "value": float(facts["best_value"])}
            if "best_round" in facts
            else None
        )
    if done > config.training.rounds:
        raise TacitError(
            f"{out} has made {done} rounds already, more than training.rounds = {config.training.rounds}"
        )
    for log in ("metrics.jsonl", "timings.jsonl"):
        kept = [line for line in read_lines(out / log) if line["round"] <= done]
        if log == "metrics.jsonl" and [line["round"] for line in kept] != list(range(1, done + 1)):
            raise TacitError(
                f"{out / log}: its lines are not rounds 1 to {done} of the last checkpoint; restore it, or "
                "choose another --out and train again"
            )
        if (out / log).is_file():
            write_atomic(out / log, "".join(json.dumps(line, sort_keys=True) + "\n" for line in kept))
    return state, done, best


def _facts(done: int, best: dict[str, Any] | None) -> dict[str, str]:
    facts = {"round": str(done)}
    return facts | ({"best_round": str(best["round"]), "best_value": repr(best["value"])} if best else {})


def _better(config: Config, measured: dict[str, float], best: dict[str, Any] | None) -> bool:
    value = measured[config.training.best]
    if best is None:
        return True
    return value < best["value"] if config.training.best == "perplexity" else value > best["value"]


def _summarise(
    config: Config,
    out: Path,
    model: LanguageModel,
    score: Scorer,
    ready: Prepared,
    best: dict[str, Any] | None,
) -> dict[str, Any]:
    if best is None:
        raise TacitError(
            f"{out}: no round was evaluated, so there is no best one; set training.evaluate_every lower"
        )
    shapes = jax.eval_shape(model.init, jax.random.key(0))
    params = jax.tree.map(lambda shape: np.zeros(shape.shape, shape.dtype), shapes)
    if hosts.first():
        params, _ = load_tree(out / "checkpoints" / "best.safetensors", shapes)
    params = hosts.from_first(params)
    count = count_parameters(shapes)
    noise = config.aggregation.noise
    found = {
        "name": config.name,
        "best_round": best["round"],
        "chosen_by": f"valid_{config.training.best}",
        "parameters": count,
        "bytes_per_client_and_round": {"down": 4 * count, "up": 4 * count}
        if config.training.mode == "federated"
        else None,
        "clients": len(ready.clients) if config.training.mode == "federated" else 0,
        "vocabulary": len(ready.vocabulary),
        "pieces": ready.spelling is not None,
        "epsilon": None,
        "epsilon_reason": f"noise of β = {noise:g} without clipping bounds nobody's influence: it is noise, not "
        "differential privacy"
        if noise
        else "no privacy mechanism was used",
        "valid": summary(score(params, ready.valid), ready.valid, ready.spelling),
        "test": summary(score(params, ready.test), ready.test, ready.spelling),
        "seen": summary(score(params, ready.seen), ready.seen, ready.spelling)
        if ready.seen is not None
        else None,
    }
    if hosts.first():
        write_atomic(out / "summary.json", to_json(found) + "\n")
    return found


class Run(NamedTuple):
    """A finished (or at least begun) run, read back."""

    path: Path
    config: Config
    vocabulary: Vocabulary
    model: LanguageModel
    params: Params
    spelling: Spelling | None = None  # of a piece model

    @property
    def encoder(self) -> Vocabulary | Spelling:
        """What makes text into the model's ids."""
        return self.spelling or self.vocabulary


def read_words(config: Config, path: Path) -> Vocabulary | Spelling:
    """What a run directory holds to make text into ids."""
    if config.text.pieces:
        return Spelling(pieces.load(path / "pieces.model"), vocabulary.load(path / "words.txt"))
    return vocabulary.load(path / "vocabulary.txt")


def read_config(path: Path) -> Config:
    """The configuration that a run directory holds."""
    file = path / "config.toml"
    if not path.is_dir() or not file.is_file():
        raise TacitError(
            f"{path} is not a run directory (it has no config.toml); make one with `tacit train`"
        )
    try:
        return from_tables(tomllib.loads(file.read_text("utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TacitError(f"{file}: not valid TOML: {error}") from None
    except TacitError as error:
        raise TacitError(f"{file}: {error}") from None


def load(path: Path) -> Run:
    """A run with its best model."""
    config = read_config(path)
    encoder = read_words(config, path)
    spelling = encoder if isinstance(encoder, Spelling) else None
    words = encoder.pieces.vocabulary if isinstance(encoder, Spelling) else encoder
    model = language_model(config.model, len(words))
    shapes = jax.eval_shape(model.init, jax.random.key(0))
    params, _ = load_tree(path / "checkpoints" / "best.safetensors", shapes)
    return Run(path, config, words, model, jax.tree.map(jnp.asarray, params), spelling)
