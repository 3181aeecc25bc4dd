"""Aggregation: how a cohort's updates become one pseudo-gradient, by addition wherever that is possible.

A rule is a pair of functions. `message` returns what one client sends; messages are added, in any order and any
grouping; `combine` makes the pseudo-gradient g from the sum, and the server steps along −g. Nothing else reads
messages, so a rule runs unchanged along an array axis, over devices, or one arrival at a time.

Softmax weights need e^s, which overflows. A message may therefore hold `Peaked` parts: values that are still to be
multiplied by e^peak. `total` adds them like log-sum-exp, with a running maximum; everything else is plainly added. A
rule whose message has no `Peaked` part is a plain sum and can be added under masks.

Some rules are no sums: a median needs every client's update. Their type says so, `CohortRule`. `chosen_rule` returns
either kind; `aggregation` returns sums and refuses the others, for everybody who can only add.

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
    CohortRule,
    Peaked,
    Terms,
    is_plain_sum,
    neutral,
    total,
)

Rule = Aggregation | CohortRule


@dataclass(frozen=True)
class AggregationConfig:
    """How updates are aggregated: the table [aggregation] of a configuration."""

    rule: str = "mean"  # built in, of a file of TACIT_RULES, or registered (see tacit.federated.plugins)
    noise: float = number(0.0, 0)  # β of the papers: normal noise on what a client sends; not privacy
    max_norm: float = number(0.0, 0)  # a client whose update has a larger norm is refused; 0: no limit
    code: str = ""  # hash of a custom rule's code, written by a run
    settings: Settings = field(
        default_factory=dict, metadata=OPEN
    )  # the rule's own settings, which are keys of the table itself


def rules() -> dict[str, Callable[..., Rule]]:
    """Returns every built-in rule by name: what the modules of this package declare.

    >>> sorted(rules())  # doctest: +NORMALIZE_WHITESPACE
    ['attentive', 'attentive-loss', 'geometric-median', 'krum', 'mean', 'median', 'multi-krum', 'norm-bounded',
     'trimmed-mean']
    """
    modules = [importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__)]
    return {name: rule for module in modules for name, rule in getattr(module, "RULES", {}).items()}


KIND: plugins.Kind[Rule] = plugins.Kind(plugins.RULES, "aggregation.rule", (Aggregation, CohortRule), rules)


def settled(config: AggregationConfig) -> AggregationConfig:
    """Returns the table with every setting of its rule, and the hash of a custom rule's code."""
    return plugins.settle(KIND, config)


def chosen_rule(config: AggregationConfig, scheme: str = "uniform") -> Rule:
    """Returns the rule that a configuration names, a sum or not; a sampling scheme of paper 5's Table 4 refines the
    mean."""
    rule = plugins.make(KIND, config)
    if scheme in ("uniform", "poisson"):
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


def aggregation(config: AggregationConfig, scheme: str = "uniform", where: str = "here") -> Aggregation:
    """Returns the rule that a configuration names; refuses one that is no sum. `where` says who can only add.

    >>> is_plain_sum(aggregation(AggregationConfig("attentive", settings={"bound": 20.0})).message({}, {}, 1.0))
    True
    """
    rule = chosen_rule(config, scheme)
    if isinstance(rule, CohortRule):
        raise TacitError(
            f"aggregation.rule = '{config.rule}' is no sum: it needs every client's update, and {where} only sums are "
            "possible; choose a sum, such as 'mean' or 'norm-bounded'"
        )
    return rule


__all__ = [
    "Aggregation",
    "AggregationConfig",
    "ClientMessage",
    "CohortRule",
    "Peaked",
    "Rule",
    "Terms",
    "aggregation",
    "chosen_rule",
    "is_plain_sum",
    "neutral",
    "rules",
    "settled",
    "total",
]
