"""Two CPU devices before JAX starts, so that every test also runs the program spread over devices.

And which tests are slow. Those that start a process or a browser are; of others slow.txt keeps the names, measured
with `--durations`. By names and not by places, so that a test that moves stays what it is.
"""

from __future__ import annotations

import os
from pathlib import Path

import hypothesis
import jax
import pytest

pytest_plugins = ["commands"]

jax.config.update("jax_num_cpu_devices", 2)
hypothesis.settings.register_profile(
    "tacit", deadline=None, max_examples=40, derandomize="CI" in os.environ, print_blob=True
)
hypothesis.settings.load_profile("tacit")

SLOW_FIXTURES = {"process", "browser"}
SLOW = {
    line
    for line in (Path(__file__).parent / "slow.txt").read_text("utf-8").splitlines()
    if line and not line.startswith("#")
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow: `-m "not slow"` leaves it out."""
    for item in items:
        names = {item.path.name, getattr(item, "originalname", item.name)}
        if names & SLOW or SLOW_FIXTURES & set(getattr(item, "fixturenames", ())):
            item.add_marker("slow")


@pytest.fixture(autouse=True)
def no_registered_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forgets the rules and optimisers that other tests of this process registered."""
    monkeypatch.setattr("tacit.federated.plugins._registered", {"RULES": {}, "OPTIMISERS": {}})
