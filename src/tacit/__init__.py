"""Tacit: keyboards that learn from what people type without anyone collecting it.

    import tacit

    run = tacit.train("fedatt", corpus="messages.jsonl", rounds=20, out="runs/mine")
    run.evaluate(), run.metrics, run.plot()
    tacit.open("runs/mine").suggest("see you", k=3)

docs/api.md describes every name. A name is imported when it is first used, so that `import tacit` is quick and a
program that only opens a model file does not load JAX.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` takes longer to import than this package
if TYPE_CHECKING:
    from tacit.base.errors import TacitError
    from tacit.federated.aggregation.sums import Aggregation
    from tacit.lm.open import open
    from tacit.runs.callbacks import Callback
    from tacit.runs.notebook import compare, presets, train
    from tacit.runs.run import Run
    from tacit.text.overview import corpus

__version__ = "0.1.0"

__all__ = [
    "Aggregation",
    "Callback",
    "Run",
    "TacitError",
    "__version__",
    "compare",
    "corpus",
    "open",
    "presets",
    "train",
]

_MODULES = {
    "Aggregation": "tacit.federated.aggregation.sums",
    "Callback": "tacit.runs.callbacks",
    "Run": "tacit.runs.run",
    "TacitError": "tacit.base.errors",
    "compare": "tacit.runs.notebook",
    "corpus": "tacit.text.overview",
    "open": "tacit.lm.open",
    "presets": "tacit.runs.notebook",
    "train": "tacit.runs.notebook",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'tacit' has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
