"""Aggregation: how a cohort's updates become one pseudo-gradient, by addition only.

A rule is a pair of functions. `message` returns what one client sends; messages are added, in any order and any
grouping; `combine` makes the pseudo-gradient g from the sum, and the server steps along −g. Nothing else reads
messages, so a rule runs unchanged along an array axis, over devices, or one arrival at a time.

Softmax weights need e^s, which overflows. A message may therefore hold `Peaked` parts: values that are still to be
multiplied by e^peak. `total` adds them like log-sum-exp, with a running maximum; everything else is plainly added. A
rule whose message has no `Peaked` part is a plain sum and can be added under masks.

A new rule is a module here that declares it in `RULES`, a file that TACIT_RULES names, or an object given to
`plugins.register_rule` (CONTRIBUTING.md shows one of 20 lines). The parameters of its function are its settings.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, field

from tacit.base.errors import TacitError
from tacit.base.settings import OPEN, Settings, number
from tacit.federated import plugins
from tacit.federated.aggregation.mean import absent_keep, rescaled
from tacit.federated.aggregation.sums import (
    Aggregation,
    ClientMessage,
    Peaked,
    is_plain_sum,
    neutral,
    total,
)


@dataclass(frozen=True)
class AggregationConfig:
    """How updates are aggregated: the table [aggregation] of a configuration."""

    rule: str = "mean"  # built in, of a file of TACIT_RULES, or registered (see tacit.federated.plugins)
    noise: float = number(0.0, 0)  # β of the papers: normal noise on what a client sends; not privacy
    code: str = ""  # hash of a custom rule's code, written by a run
    settings: Settings = field(
        default_factory=dict, metadata=OPEN
    )  # the rule's own settings, which are keys of the table itself


def rules() -> dict[str, Callable[..., Aggregation]]:
    """Returns every built-in rule by name: what the modules of this package declare.

    >>> sorted(rules())
    ['attentive', 'attentive-loss', 'mean']
    """
    modules = [importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__)]
    return {name: rule for module in modules for name, rule in getattr(module, "RULES", {}).items()}


_KIND = plugins.Kind(plugins.RULES, "aggregation.rule", Aggregation, rules)


def settled(config: AggregationConfig) -> AggregationConfig:
    """Returns the table with every setting of its rule, and the hash of a custom rule's code."""
    return plugins.settle(_KIND, config)


def aggregation(config: AggregationConfig, scheme: str = "uniform") -> Aggregation:
    """Returns the rule that a configuration names; a sampling scheme of paper 5's Table 4 refines the mean.

    >>> is_plain_sum(aggregation(AggregationConfig("attentive", settings={"bound": 20.0})).message({}, {}, 1.0))
    True
    """
    rule = plugins.make(_KIND, config)
    if scheme == "uniform":
        return rule
    if config.rule != "mean":
        raise TacitError(
            f"sampling.scheme = '{scheme}' is a way of averaging: it needs aggregation.rule = 'mean', "
            f"not '{config.rule}'"
        )
    if config.settings.get("uniform"):
        raise TacitError(
            f"aggregation.uniform = true and sampling.scheme = '{scheme}' both set a client's weight; remove one"
        )
    return {"original": absent_keep(), "II": rescaled()}.get(scheme, rule)


__all__ = [
    "Aggregation",
    "AggregationConfig",
    "ClientMessage",
    "Peaked",
    "aggregation",
    "is_plain_sum",
    "neutral",
    "rules",
    "settled",
    "total",
]
