"""What a client does with its text in a round: the table [client] of a configuration.

`batching` makes its batches, `client_optimisers` its steps, `local` trains it, and `schedules` sets its rate.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tacit.base.settings import OPEN, Schedule, Settings, number


@dataclass(frozen=True)
class ClientConfig:
    """What a client does with its text: the table [client] of a configuration."""

    epochs: int = number(1, 1, 10_000, "all batches of a round are in memory")
    # sentences in a step; 0: all of a client's text in one step
    batch: int = number(10, 0, 1_000_000, "a batch is in memory")
    batching: Literal["words", "sentences"] = "words"  # what makes batches alike: see batching.py
    optimiser: str = "sgd"  # of client_optimisers, of a file of TACIT_RULES, or registered (see plugins)
    lr: float = number(1.0, 0)
    decay: float = number(0.0, 0, 1)  # decoupled weight decay: a step also subtracts lr·decay·w
    carry: Literal["none", "m", "v", "m,v"] = "none"  # moments that travel: first (m), second (v)
    carry_form: Literal["full", "factored"] = "full"  # of second moments that travel
    clip: float = number(0.0, 0)  # norm to which a step's gradient is clipped; 0: not at all
    prox: float = number(0.0, 0)  # FedProx: mu of mu/2 |w − w_t|²
    stragglers: float = number(0.0, 0, 1)  # share of a cohort that does only part of its steps
    max_examples: int = number(0, 0)  # sentences a client uses in a round; 0: all it has
    schedule: Schedule = "constant"
    warmup: int = number(0, 0)  # rounds in which the rate rises to `lr`
    code: str = ""  # hash of a custom optimiser's code, written by a run
    settings: Settings = field(
        default_factory=dict, metadata=OPEN, hash=False
    )  # the optimiser's own settings, which are keys of the table itself
