"""Aggregation: how a cohort's updates become one pseudo-gradient. Every rule here is a sum.

A rule is a pair of functions. `message` is what one client says; messages are added, in any order and
any grouping; `combine` makes the pseudo-gradient g from the sum, and the server steps along −g. Because
the server needs the sum only, one definition serves a simulator that adds along an array axis or over
devices, a server that adds updates as they arrive, secure aggregation and noise on the sum.

Softmax weights need e^s, which overflows. A message may therefore hold `Peaked` parts: values that are
still to be multiplied by e^peak. `total` adds them like log-sum-exp, by a running maximum; everything else
is plainly added. A rule whose message has no `Peaked` part is a plain sum and can be added under masks.

To add a rule, write a module with a function that returns an `Aggregation` and name it in `RULES`
(CONTRIBUTING.md shows one of 20 lines).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tacit.errors import TacitError, nearest
from tacit.federated.aggregation.attentive import attentive
from tacit.federated.aggregation.attentive_loss import attentive_loss
from tacit.federated.aggregation.mean import absent_keep, mean, rescaled
from tacit.federated.aggregation.sums import Aggregation, Message, Peaked, is_plain_sum, neutral, total
from tacit.settings import number


@dataclass(frozen=True)
class AggregationConfig:
    """How updates become one: the table [aggregation] of a configuration."""

    rule: str = "mean"  # a name in RULES
    distance: Literal["frobenius", "spectral"] = "frobenius"  # attentive: norm of a layer's update
    bound: float = number(0.0, 0)  # attentive: public bound on that norm, for plain sums; 0: running maximum
    form: Literal["exact", "as-printed"] = "exact"  # attentive-loss: which gradient
    uniform: bool = False  # every client weighs the same, whatever it holds
    noise: float = number(0.0, 0)  # β of the papers: normal noise on what a client sends; not privacy


RULES: dict[str, Callable[[AggregationConfig], Aggregation]] = {
    "mean": lambda config: mean(),
    "attentive": lambda config: attentive(config.distance, config.bound),
    "attentive-loss": lambda config: attentive_loss(config.form),
}


def aggregation(config: AggregationConfig, scheme: str = "uniform") -> Aggregation:
    """The rule that a configuration names; an averaging scheme of paper 5's Table 4 refines the mean.

    >>> aggregation(AggregationConfig(rule="attentive")).message is not None
    True
    """
    if config.rule not in RULES:
        raise TacitError(f"aggregation.rule = '{config.rule}' is not known{nearest(config.rule, RULES)}")
    if scheme == "original":
        return absent_keep()
    if scheme == "II":
        return rescaled()
    return RULES[config.rule](config)


__all__ = [
    "RULES",
    "Aggregation",
    "AggregationConfig",
    "Message",
    "Peaked",
    "aggregation",
    "is_plain_sum",
    "neutral",
    "total",
]
