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
import pkgutil
from collections.abc import Callable

from tacit.base.errors import TacitError
from tacit.federated import plugins
from tacit.federated.aggregation.mean import absent_keep, rescaled
from tacit.federated.aggregation.options import AggregationConfig
from tacit.federated.aggregation.sums import Aggregation, Message, Peaked, is_plain_sum, neutral, total


def rules() -> dict[str, Callable[..., Aggregation]]:
    """Every rule that is built in, by name: what the modules of this package declare.

    >>> sorted(rules())
    ['attentive', 'attentive-loss', 'mean']
    """
    modules = [importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__)]
    return {name: rule for module in modules for name, rule in getattr(module, "RULES", {}).items()}


def settled(config: AggregationConfig) -> AggregationConfig:
    """The table with every setting of a rule of one's own, and a mark of its file."""
    return plugins.settle(_part(config), config)


def _part(config: AggregationConfig) -> plugins.Part:
    return plugins.find("RULES", rules(), "aggregation.rule", config.rule)


def aggregation(config: AggregationConfig, scheme: str = "uniform") -> Aggregation:
    """The rule that a configuration names; an averaging scheme of paper 5's Table 4 refines the mean.

    >>> is_plain_sum(aggregation(AggregationConfig(rule="mean")).message({}, {}, 1.0))
    True
    """
    rule = plugins.make(_part(config), config, Aggregation)
    if scheme != "uniform" and config.rule != "mean":
        raise TacitError(
            f"sampling.scheme = '{scheme}' is a way of averaging: it needs aggregation.rule = 'mean', "
            f"not '{config.rule}'"
        )
    if scheme == "original":
        return absent_keep()
    if scheme == "II":
        return rescaled()
    return rule


__all__ = [
    "Aggregation",
    "AggregationConfig",
    "Message",
    "Peaked",
    "aggregation",
    "is_plain_sum",
    "neutral",
    "rules",
    "settled",
    "total",
]
