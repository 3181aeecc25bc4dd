"""The table [aggregation] of a configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tacit.base.settings import Own, number


@dataclass(frozen=True)
class AggregationConfig:
    """How updates become one."""

    rule: str = (
        "mean"  # declared in RULES by a module of tacit.federated.aggregation or a file of TACIT_RULES
    )
    distance: Literal["frobenius", "spectral"] = "frobenius"  # attentive: norm of a layer's update
    bound: float = number(0.0, 0, 60)  # attentive: public bound on that norm; 0: a running maximum
    form: Literal["exact", "as-printed"] = "exact"  # attentive-loss: which gradient
    uniform: bool = False  # mean: every client weighs the same, whatever it holds
    noise: float = number(0.0, 0)  # β of the papers: normal noise on what a client sends; not privacy
    own: Own = ()  # the settings of a rule of one's own
    code: str = ""  # a mark of its file; a run writes it down
