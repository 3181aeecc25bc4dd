"""Correlated noise over rounds: the matrix mechanism (DP-FTRL), in streaming form.

Independent noise adds up over rounds. The matrix mechanism adds w = C⁻¹z instead, with z white and C lower triangular
(`strategy`): each round's noise cancels a part of earlier noise, so the sum of all updates has far less of it. The
release is equivalent to Cx + z, so what one client changes is measured by the columns of C.

Both forms of C need w of earlier rounds only as a few arrays, which the server keeps in its state:

    banded    w_t = z_t − Σ_j c_j w_{t−j}
    buffered  w_t = z_t − Σ_i ω_i s_i,   s_i ← θ_i s_i + w_t

Denisov et al. 2022; Choquette-Choo et al. 2023 (banded); Dvijotham et al. 2024 (buffered).
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tacit.privacy.strategy import Strategy


def no_noise_yet(strategy: Strategy, like: Any) -> Any:
    """Returns the state before the first round: zeros [kept, …] for each array of noise."""
    return jax.tree.map(lambda x: jnp.zeros((strategy.kept, *x.shape), jnp.float32), like)


def next_noise(strategy: Strategy, past: Any, white: Any) -> tuple[Any, Any]:
    """Returns the noise w_t of this round from white noise z_t, and the state for the next round."""
    weights = np.array(strategy.scale if strategy.decay else strategy.column[1:], np.float32)
    decay = np.array(strategy.decay, np.float32)

    def shaped(a: np.ndarray, like: Any) -> Any:
        return a.reshape(-1, *[1] * (like.ndim - 1))

    def now(kept: Any, z: Any) -> Any:
        return z - jnp.sum(shaped(weights, kept) * kept, axis=0)

    def after(kept: Any, w: Any) -> Any:
        if strategy.decay:
            return shaped(decay, kept) * kept + w[None]
        return jnp.concatenate([w[None], kept])[: len(kept)]

    drawn = jax.tree.map(now, past, white)
    return drawn, jax.tree.map(after, past, drawn)
