"""A person's model as a file: only the tuned part, which is joined with the run that it was tuned from.

`models/NAME.safetensors` holds the tuned part of the model (`tacit.personal.model_parts`) under "tuned" and the word
cache, if the strategy has one, under "memory". Its header names the person, the mixture, and the sha256 of the
global checkpoint, so it is never joined with another model. The file belongs to one person and stays on their device.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tacit import runs
from tacit.base.errors import TacitError
from tacit.base.reading import read_regular
from tacit.models.base import Params
from tacit.personal import trial
from tacit.personal.mixing import ALONE, MOST, Memory, Mix, mixture, remember
from tacit.personal.model_parts import model_part
from tacit.personal.split import subset, text_of_parts
from tacit.personal.strategies import Strategy
from tacit.personal.tuning import personal_model
from tacit.runs.checkpoints import UNREADABLE, facts_in, load_tree, save_tree


class Stored(NamedTuple):
    """A person's model, ready to be written."""

    user: str
    tree: dict[str, Any]
    facts: dict[str, str]


class Personal(NamedTuple):
    """A person's model, read back."""

    params: Params
    mix: Mix = ALONE
    memory: Memory | None = None  # one person's


def tuned(run: runs.Run, ready: trial.Trial, strategy: Strategy, which: np.ndarray) -> list[Stored]:
    """Returns the models of these people as the gate evaluated them: tuned on the first part alone."""
    few = subset(ready.users, which)
    memory = _fixed(remember(text_of_parts(few, 0, 1))) if strategy.mix.cache else None
    models = []
    for k, weights in enumerate(trial.tuned_models(ready, strategy, which)):
        tree: dict[str, Any] = {"tuned": weights}
        if memory:
            tree["memory"] = Memory(*(a[k] for a in memory))
        facts = {
            "user": few.text.names[k],
            "part": strategy.part,
            "personal": repr(strategy.mix.personal),
            "cache": repr(strategy.mix.cache),
            "base": runs.digest(run.path),
        }
        models.append(Stored(few.text.names[k], tree, facts))
    return models


def _fixed(memory: Memory) -> Memory:
    """Pads caches to one length."""
    kept = min(MOST, memory.word.shape[1])
    return Memory(
        *(
            np.pad(a[:, :kept], ((0, 0), (0, MOST - kept)), constant_values=fill)
            for a, fill in zip(memory, (-1, 0, 0), strict=True)
        )
    )


def file_name(user: str) -> str:
    """Returns the file name of a person's model; any user name is possible.

    >>> file_name("hamlet/OPHELIA")
    'hamlet%2FOPHELIA.safetensors'
    """
    name = quote(user, safe="", errors="replace")
    return (
        name if len(name) <= 100 else hashlib.sha256(user.encode("utf-8", "replace")).hexdigest()
    ) + ".safetensors"


def save(folder: Path, stored: Stored) -> None:
    """Writes one person's model."""
    save_tree(folder / file_name(stored.user), stored.tree, stored.facts)


def load(run: runs.Run, user: str) -> Personal:
    """Reads a person's model from the run's directory and joins it with the run's model."""
    folder = run.path / "personal" / "models"
    file = folder / file_name(user)
    if not file.is_file():
        stored = sorted(unquote(p.stem) for p in folder.glob("*.safetensors"))
        available = (
            f"there are: {', '.join(stored[:5])}{', …' if len(stored) > 5 else ''}"
            if stored
            else "there are none"
        )
        raise TacitError(
            f"no personal model of '{user}' in {folder}; {available}; `tacit personalize` makes them"
        )
    facts = _facts(file)
    if facts.get("base") != runs.digest(run.path):
        raise TacitError(f"{file}: tuned from another model than this run's; run `tacit personalize` again")
    try:
        chosen, mix = model_part(facts["part"]), Mix(float(facts["personal"]), float(facts["cache"]))
    except (KeyError, ValueError, TypeError):
        raise TacitError(f"{file}: not a personal model; run `tacit personalize` again") from None
    like: dict[str, Any] = {"tuned": jax.eval_shape(chosen.start, run.params)}
    if mix.cache:
        whole = np.zeros(MOST, np.int32)
        like["memory"] = Memory(whole, whole, whole.astype(np.float32))
    tree, _ = load_tree(file, like)
    params = chosen.join(run.params, tree["tuned"])
    return Personal(jax.tree.map(jnp.asarray, params), mix, tree.get("memory"))


def _facts(file: Path) -> dict[str, str]:
    """Reads the header of a file; `load_tree` checks the rest."""
    try:
        facts = facts_in(read_regular(file))
    except (OSError, *UNREADABLE):
        facts = None
    if not facts or not isinstance(facts, dict):
        raise TacitError(f"{file}: damaged personal model; run `tacit personalize` again")
    return facts


def reading(run: runs.Run, personal: Personal) -> Callable[[Any], Array]:
    """Returns a function from inputs [rows, time] to this person's log-scores [rows, time, words]."""
    read = personal_model(run.model) if personal.mix == ALONE else mixture(run.model, (personal.mix,))
    memory = personal.memory or Memory(*(np.asarray([x]) for x in (-1, 0, 0.0)))  # empty
    return lambda inputs: read(run.params, personal.params, memory, inputs)[0]
