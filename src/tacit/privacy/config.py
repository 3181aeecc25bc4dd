"""Client-level differential privacy of training: the table [privacy] of a configuration.

A client's update is clipped to norm S (`clip`), and normal noise of standard deviation z·S (`noise`) hides what one
client changes in the sum. `docs/privacy.md` says what each mechanism gives and what it does not.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Literal

from tacit.base.errors import TacitError
from tacit.base.settings import number

_HARMLESS = ("mechanism", "delta")  # keys that may be set although nothing is private


@dataclass(frozen=True)
class PrivacyConfig:
    """What bounds and hides one client's part in a model: the table [privacy] of a configuration."""

    # gaussian: fresh noise each round; matrix: noise that later rounds cancel in part (DP-FTRL); local: every client
    # adds noise to its own message; clipped: no noise, for secure sums alone
    mechanism: Literal["none", "gaussian", "matrix", "local", "clipped"] = "none"
    clip: float = number(0.0, 0)  # S: norm to which a client's update is clipped
    # z: standard deviation of the noise over the joint sensitivity of a round; matrix: of the white noise
    noise: float = number(0.0, 0)
    delta: float = number(1e-6, 0, 0.5, "δ must be far below 1 / number of clients")
    epsilon: float = number(0.0, 0)  # budget: training stops before its ε exceeds this; 0: none
    plan: str = ""  # a file of `tacit privacy plan --out`: noise multiplier, ε of each round, matrix
    adaptive: bool = False  # S follows a quantile of the update norms; `clip` is where it starts
    quantile: float = number(0.5, 0, 1)  # γ: share of clients whose update should not be clipped
    adapt_rate: float = number(0.2, 0, 10)  # η of S ← S·exp(−η(share − γ))
    separation: int = number(0, 0)  # matrix: a client takes part at most once in so many rounds
    coefficients: str = ""  # matrix: first column of C, "1, 0.5, 0.375", or "decay 0.9, 0.5 scale 0.2, 0.1"
    noise_source: Literal["system", "seed"] = "system"  # seed: repeatable, so not private
    weight: Literal["uniform", "bounded"] = "uniform"  # bounded: min(n, max_weight) / max_weight
    max_weight: float = number(100.0, 1e-6)  # sentences from which a client has the full weight 1
    moments_clip: float = number(0.0, 0)  # norm to which the change of carried first moments is clipped
    second_clip: float = number(0.0, 0)  # and that of carried second moments
    moments_steps: int = number(100, 1)  # most steps of a round that count for carried moments
    secure: bool = False  # add messages under masks (tacit.privacy.secure)
    least: int = number(10, 5, 1_000_000, "fewer hide nobody")  # secure: fewest clients whose sum is opened
    floor: float = number(0.5, 1e-6, 1)  # attentive-loss: least distance d₀ that counts, as a share of S

    @property
    def private(self) -> bool:
        """Whether updates are clipped, and what is sent is bounded."""
        return self.mechanism != "none"

    @property
    def noisy(self) -> bool:
        """Whether noise hides what one client sends."""
        return self.private and self.mechanism != "clipped"


def check(privacy: PrivacyConfig) -> None:
    """Refuses keys that contradict each other, and keys that would do nothing."""
    usual = PrivacyConfig()
    if not privacy.private:
        for f in dataclasses.fields(privacy):
            if f.name not in _HARMLESS and getattr(privacy, f.name) != getattr(usual, f.name):
                raise TacitError(
                    f"privacy.{f.name} would do nothing here: privacy.mechanism is 'none'; set it to 'gaussian', "
                    "'matrix', 'local' or 'clipped', or remove the key"
                )
        return
    what = f"privacy.mechanism = '{privacy.mechanism}'"
    if not privacy.clip:
        raise TacitError(
            f"{what} needs privacy.clip above 0, the norm to which an update is clipped: noise without clipping bounds "
            "nobody's influence"
        )
    _check_clipped(privacy)
    if not privacy.noise and not privacy.plan and privacy.mechanism != "clipped":
        raise TacitError(
            f"{what} needs noise: set privacy.noise, or privacy.plan to a file of `tacit privacy plan`"
        )
    if not privacy.delta:
        raise TacitError(
            f"{what} needs privacy.delta above 0, such as 1e-6: normal noise gives no ε at δ = 0"
        )
    if privacy.epsilon and not privacy.plan:
        raise TacitError(
            "privacy.epsilon is a budget and needs privacy.plan, a file of `tacit privacy plan --out FILE` with the ε "
            "of each round"
        )
    _check_matrix(privacy)
    _check_idle(privacy, usual)


def _check_clipped(privacy: PrivacyConfig) -> None:
    """Refuses noise, and what depends on it, where there is none; and masks where numbers have no bound."""
    if privacy.mechanism == "clipped":
        for key in ("noise", "plan", "epsilon", "adaptive"):
            if getattr(privacy, key):
                raise TacitError(
                    f"privacy.{key} does not go with privacy.mechanism = 'clipped', which adds no noise; remove it, or "
                    "set the mechanism to 'gaussian'"
                )
    if privacy.secure and privacy.mechanism == "local":
        raise TacitError(
            "privacy.secure = true needs messages of bounded size, and privacy.mechanism = 'local' adds noise without "
            "bounds to each; use 'gaussian', whose noise is added to the sum"
        )


def _check_matrix(privacy: PrivacyConfig) -> None:
    if privacy.mechanism != "matrix":
        for key in ("separation", "coefficients"):
            if getattr(privacy, key):
                raise TacitError(
                    f"privacy.{key} would do nothing here: it needs privacy.mechanism = 'matrix'; remove it or set that"
                )
        return
    if not privacy.separation and not privacy.plan:
        raise TacitError(
            "privacy.mechanism = 'matrix' needs privacy.separation: a client takes part at most once in so many rounds"
        )
    if not privacy.coefficients and not privacy.plan:
        raise TacitError(
            "privacy.mechanism = 'matrix' needs the matrix: set privacy.plan, or privacy.coefficients such as "
            "'1, 0.5, 0.375'"
        )
    if privacy.adaptive:
        raise TacitError(
            "privacy.adaptive = true does not go with privacy.mechanism = 'matrix': its noise cancels only if the clip "
            "stays the same; remove one"
        )


def _check_idle(privacy: PrivacyConfig, usual: PrivacyConfig) -> None:
    idle = {
        "quantile": (not privacy.adaptive, "privacy.adaptive = true"),
        "adapt_rate": (not privacy.adaptive, "privacy.adaptive = true"),
        "max_weight": (privacy.weight != "bounded", "privacy.weight = 'bounded'"),
        "moments_steps": (
            not privacy.moments_clip and not privacy.second_clip,
            "privacy.moments_clip or privacy.second_clip above 0",
        ),
        "least": (not privacy.secure, "privacy.secure = true"),
    }
    for key, (useless, needs) in idle.items():
        if useless and getattr(privacy, key) != getattr(usual, key):
            raise TacitError(f"privacy.{key} would do nothing here: it needs {needs}; remove it or set that")
