"""Aggregation: how a cohort's updates become one pseudo-gradient, by addition only.

A rule is a pair of functions. `message` is what one client says; messages are added, in any order and
any grouping; `combine` makes the pseudo-gradient g from the total, and the server steps along −g. Nothing
else may look at messages, so how they are added (along an axis, over devices, one by one) is nobody's concern.

Softmax weights need e^s, which overflows. A message may therefore hold `Peaked` parts: values that are
still to be multiplied by e^peak. `total` adds them like log-sum-exp, by a running maximum; everything else
is plainly added. A rule whose message has no `Peaked` part is a plain sum and can be added under masks.

To add a rule, add a module here that declares it in its `RULES`, or name a file of one's own in TACIT_RULES;
nothing else has to change (CONTRIBUTING.md shows one of 20 lines).
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import pkgutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType

from tacit.errors import TacitError, nearest
from tacit.federated.aggregation.mean import absent_keep, rescaled
from tacit.federated.aggregation.options import AggregationConfig
from tacit.federated.aggregation.sums import Aggregation, Message, Peaked, is_plain_sum, neutral, total


def rules() -> dict[str, Callable[[AggregationConfig], Aggregation]]:
    """Every rule by name: what the modules of this package declare, and the files that TACIT_RULES names.

    >>> sorted(rules())
    ['attentive', 'attentive-loss', 'mean']
    """
    modules = [importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__)]
    modules += [_file(Path(name)) for name in os.environ.get("TACIT_RULES", "").split(os.pathsep) if name]
    return {name: rule for module in modules for name, rule in getattr(module, "RULES", {}).items()}


@cache
def _file(path: Path) -> ModuleType:
    """Rules from a file that lies anywhere."""
    spec = importlib.util.spec_from_file_location(f"tacit_rules_{path.stem}", path)
    if path.suffix != ".py" or not path.is_file() or spec is None or spec.loader is None:
        raise TacitError(f"TACIT_RULES: there is no .py file {path}; name files that declare RULES")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise TacitError(f"TACIT_RULES: {path}: {type(error).__name__}: {error}") from error
    if not getattr(module, "RULES", None):
        raise TacitError(f"TACIT_RULES: {path} declares no RULES; CONTRIBUTING.md shows how")
    return module


def aggregation(config: AggregationConfig, scheme: str = "uniform") -> Aggregation:
    """The rule that a configuration names; an averaging scheme of paper 5's Table 4 refines the mean.

    >>> is_plain_sum(aggregation(AggregationConfig(rule="mean")).message({}, {}, 1.0))
    True
    """
    known = rules()
    if config.rule not in known:
        raise TacitError(
            f"aggregation.rule = '{config.rule}' is not known (TACIT_RULES names the files of your own)"
            f"{nearest(config.rule, known)}"
        )
    if scheme != "uniform" and config.rule != "mean":
        raise TacitError(
            f"sampling.scheme = '{scheme}' is a way of averaging: it needs aggregation.rule = 'mean', "
            f"not '{config.rule}'"
        )
    if scheme == "original":
        return absent_keep()
    if scheme == "II":
        return rescaled()
    return known[config.rule](config)


__all__ = [
    "Aggregation",
    "AggregationConfig",
    "Message",
    "Peaked",
    "aggregation",
    "is_plain_sum",
    "neutral",
    "rules",
    "total",
]
