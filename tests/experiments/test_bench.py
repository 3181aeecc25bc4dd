"""The rates that a benchmark's shares are of: everything that they count was done, in one program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tacit.experiments import bench

SECONDS = 0.25


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What timed work returns; each takes a quarter of a second."""
    results = []

    def timed(work: Callable[[], Any], repeats: int) -> float:
        results.append(work())
        return SECONDS

    monkeypatch.setattr(bench, "timed", timed)
    return results


def test_every_copy_that_the_rate_counts_is_made(made: list[Any]) -> None:
    assert bench.copy_rate(1000, 7) * SECONDS == 7 * 1000 * (4 + 4)
    np.testing.assert_array_equal(made[0], np.full(1000, 7.0))


def test_the_copies_are_not_merged_into_one() -> None:
    """The compiled program has a loop with one addition in it: it goes over memory each time."""
    programs = []
    keep = jax.jit

    def jit(function: Callable[..., Any]) -> Any:
        return keep(lambda x: programs.append(function) or function(x))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jax, "jit", jit)
        patch.setattr(bench, "timed", lambda work, repeats: work() is not None)
        bench.copy_rate(4096, 9)
    text = keep(programs[0]).lower(jnp.zeros(4096)).compile().as_text()
    assert "while(" in text and '"known_trip_count":{"n":"9"}' in text
    assert "f32[4096]" in text.split("while(")[1]


def test_every_product_that_the_rate_counts_is_made(made: list[Any]) -> None:
    assert bench.product_rate(16, 3, jnp.float32) * SECONDS == 3 * 2 * 16**3
    a = np.asarray(jax.random.normal(jax.random.key(0), (16, 16)), np.float64) / 4
    np.testing.assert_allclose(made[0], a @ a @ a @ a, rtol=1e-4, atol=1e-5)


def test_a_device_goes_over_gigabytes(made: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A fixed amount whatever the array: 2 GB on a CPU, which takes 0.02 s or more at the rates that there are."""
    asked = []
    monkeypatch.setattr(bench, "copy_rate", lambda floats, times: asked.append(8 * floats * times) or 1.0)
    monkeypatch.setattr(bench, "product_rate", lambda n, times, kind: 1.0)
    bench.device_rates.cache_clear()
    try:
        bench.device_rates("float32")
        monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
        bench.device_rates("bfloat16")
    finally:
        bench.device_rates.cache_clear()
    assert asked == [2**31, 2**39]
