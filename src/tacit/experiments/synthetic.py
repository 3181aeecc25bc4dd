"""Generates heterogeneous datasets of labelled points: synthetic(α, β), and MNIST split by label.

synthetic(α, β) is the generator of Li et al. (2020, FedProx), which paper 5's section 5 uses:
- Device k labels its points by its own linear rule, y = argmax(x W_k + b_k), with entries of W_k and b_k ~ N(u_k, 1),
  u_k ~ N(0, α).
- Its points are x ~ N(v_k, Σ), with entries of v_k ~ N(B_k, 1), B_k ~ N(0, β), Σ = diag(j^−1.2).
- Its size is ⌊LogNormal(4, 2)⌋ + 50.

So α = β = 0 does not make devices IID: W_k, b_k and v_k still differ. Devices are IID only with `iid`, which gives them
one W, one b and v = 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tacit.base.randomness import generator, stream
from tacit.experiments.data import Points
from tacit.text.flat import ends
from tacit.text.partition import Partition, shards

FEATURES, CLASSES = 60, 10
_SYNTHETIC, _POWER, _SHARDS = (
    stream("synthetic devices"),
    stream("unbalanced digits"),
    stream("balanced digits"),
)


class Devices(NamedTuple):
    """Labelled points and their partition over devices."""

    points: Points
    held: Partition

    @property
    def sizes(self) -> np.ndarray:
        """Returns the number of points of each device, [devices]."""
        return np.diff(self.held.offsets)


def synthetic(
    alpha: float, beta: float, devices: int, seed: int, iid: bool = False, most: int = 0
) -> Devices:
    """Generates synthetic(α, β); `most` > 0 caps the points of a device.

    >>> made = synthetic(1, 1, devices=5, seed=0)
    >>> made.points.x.shape[1], len(made.sizes), bool((made.sizes >= 50).all())
    (60, 5, True)
    """
    draw = generator(seed, _SYNTHETIC)
    sizes = np.floor(draw.lognormal(4, 2, devices)).astype(np.int64) + 50
    if most:
        sizes = np.minimum(sizes, most)
    u, b_mean = draw.normal(0, alpha, devices), draw.normal(0, beta, devices)
    scale = np.arange(1, FEATURES + 1) ** -0.6  # the root of the variances j^−1.2
    v = draw.normal(b_mean[:, None], 1, (devices, FEATURES))
    one = draw.normal(0, 1, (FEATURES, CLASSES)), draw.normal(0, 1, CLASSES)
    xs, ys = [], []
    for k in range(devices):
        w, b = draw.normal(u[k], 1, (FEATURES, CLASSES)), draw.normal(u[k], 1, CLASSES)
        if iid:
            w, b = one
        x = (0 if iid else v[k]) + scale * draw.normal(0, 1, (sizes[k], FEATURES))
        xs.append(x.astype(np.float32))
        ys.append(np.argmax(x @ w + b, axis=1).astype(np.int32))
    offsets = ends(sizes)
    return Devices(Points(np.concatenate(xs), np.concatenate(ys)), Partition(np.arange(offsets[-1]), offsets))


def balanced_digits(points: Points, devices: int, seed: int) -> Devices:
    """Gives each device two digits, all devices the same size (Li et al. 2020, ICLR; not IID, as paper 5 calls it)."""
    return Devices(points, shards(points.y, devices, 2, rng=generator(seed, _SHARDS)))


def unbalanced_digits(points: Points, devices: int, seed: int) -> Devices:
    """Gives each device two digits, with sizes by LogNormal(0, 2): device k holds digits k and k + 1 (mod 10).

    A device gets five images of each of its digits, and a share of the digit's remaining images in proportion to its
    draw.
    """
    draw = generator(seed, _POWER)
    digits = np.stack([np.arange(devices) % 10, (np.arange(devices) + 1) % 10], axis=1)  # [devices, 2]
    amounts = draw.lognormal(0, 2, (devices, 2))
    owner = np.full(len(points.y), -1, np.int64)
    for digit in range(10):
        images = draw.permutation(np.flatnonzero(points.y == digit))
        holders = np.argwhere(digits == digit)  # [holders, 2]: device, which of its two
        if not len(holders):
            continue
        shares = amounts[holders[:, 0], holders[:, 1]]
        count = 5 + np.floor(shares / shares.sum() * max(0, len(images) - 5 * len(holders))).astype(np.int64)
        given = np.repeat(holders[:, 0], count)[: len(images)]
        owner[images[: len(given)]] = given
    kept = np.flatnonzero(owner >= 0)
    order = kept[np.argsort(owner[kept], kind="stable")]
    return Devices(points, Partition(order, ends(np.bincount(owner[kept], minlength=devices))))
