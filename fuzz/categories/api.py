"""The Python API with values of wrong kinds."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tacit
from fuzz import mutate
from fuzz.box import Box, untouched
from fuzz.categories import Category
from fuzz.material import Material
from fuzz.trial import Ending, Fault, refusable

_TAKEN: dict[str, Any] = {  # what a parameter takes; of other types a TypeError may say so
    "suggest": str | list,
    "suggest k": int,
    "suggest prefix": str,
    "log_probs": str | list,
    "open user": str,
    "train key": bool | int | float | str | Path,
    "corpus key": int,
}
_STOPPER: dict[str, Any] = {"corpus": "no/such/corpus.jsonl"}  # no trial of this category trains


def _values(draw: random.Random, box: Box) -> Any:
    return draw.choice(
        (
            None,
            True,
            0,
            -1,
            2**70,
            1.5,
            float("nan"),
            b"bytes",
            [],
            {},
            (1, 2),
            object(),
            np.float32(3),
            np.array([1, 2]),
            np.array(7),
            Path(),
            box.work,
            box.outside / "model.tacit",
            box.outside / "secret.jsonl",
            lambda: None,
            tacit,
            int,
            mutate.text(draw),
            mutate.text(draw, nul=False),
            mutate.number(draw),
        )
    )


def trial(draw: random.Random, box: Box, material: Material, number: int) -> Ending:
    value, other = _values(draw, box), _values(draw, box)
    model = tacit.open(draw.choice((material.compact, material.arpa, material.network8)))
    keys = (
        "rounds",
        "seed",
        "data",
        "rule",
        "optimiser",
        "out",
        "progress",
        "client.lr",
        "text.words",
        "model.kind",
    )
    uses: dict[str, Callable[[], object]] = {
        "open": lambda: tacit.open(value),
        "open user": lambda: tacit.open(draw.choice((material.compact, material.run)), value),
        "suggest": lambda: model.suggest(value),
        "suggest k": lambda: model.suggest("see you", k=value),
        "suggest prefix": lambda: model.suggest("see you", prefix=value),
        "log_probs": lambda: model.log_probs(value),
        "train": lambda: tacit.train(value, **_STOPPER),
        "train key": lambda: tacit.train("fedavg", **{draw.choice(keys): value, **_STOPPER}),
        "train corpus": lambda: tacit.train("fedavg", corpus=value, out=box.work / "run", rounds=0),
        "corpus": lambda: tacit.corpus(value),
        "corpus key": lambda: tacit.corpus("typists", users=value),
        "compare": lambda: tacit.compare(value, other),
        "run": lambda: tacit.Run(value).config,
    }
    name = draw.choice(sorted(uses))
    fits = isinstance(value, _TAKEN.get(name, str | Path))
    with untouched(box):
        try:
            return refusable(uses[name])
        except Fault as fault:
            wrong_type = fault.told.startswith(("TypeError", "AttributeError")) and (
                not fits or "os.PathLike" in fault.told  # `out` is a key like others
            )
            # `progress` is one, too, and an array is neither true nor false
            wrong_type |= isinstance(value, np.ndarray) and "truth value of an array" in fault.told
            if fault.kind == "crash" and wrong_type:  # Python's own way to refuse a value of the wrong type
                return "refused"
            raise Fault(fault.kind, f"{name} with {value!r:.200}: {fault.told}") from None


def _plain(box: Box, material: Material) -> None:
    for path in (material.compact, material.arpa, material.network8, material.run):
        tacit.open(path).suggest("see you")
    tacit.corpus("typists", users=12).describe()


CATEGORY = Category("the Python API with values of wrong kinds", trial, 2000, plain=_plain)
