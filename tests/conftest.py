"""Two CPU devices before JAX starts, so that every test also runs the program spread over devices.

And which tests are slow. Those that start a process or a browser are; of others slow.txt keeps the names, measured
with `--durations`. By names and not by places, so that a test that moves stays what it is.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

import hypothesis
import jax
import pytest

from tacit.federated import plugins

pytest_plugins = ["commands", "chromium", "firefox"]

# Tacit remembers paths that the user allowed (tacit.base.consent): not in the developer's home
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="tacit-tests-")
atexit.register(shutil.rmtree, os.environ["XDG_STATE_HOME"], ignore_errors=True)

# Compiling takes most of the suite's time, and its programs run for moments, so LLVM does not optimise them and
# XLA emits them without its fusion emitters, whose code takes LLVM longer. XLA_FLAGS, if it is set, replaces this
# choice.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false")

jax.config.update("jax_num_cpu_devices", 2)
hypothesis.settings.register_profile(
    "tacit", deadline=None, max_examples=40, derandomize="CI" in os.environ, print_blob=True
)
hypothesis.settings.load_profile("tacit")

SLOW_FIXTURES = {"process", "browser", "firefox"}
# The longest tests, which start first: one of them begun last would keep one worker busy while the others wait
LONGEST = {
    "test_the_page_does_what_it_says",
    "test_the_tutorial_runs",
    "test_killed_processes_end_with_the_same_bytes",
    "test_a_run_without_privacy_is_attacked_too",
    "test_a_run_with_a_custom_optimiser_resumes_where_it_was",
}
SLOW = {
    line
    for line in (Path(__file__).parent / "slow.txt").read_text("utf-8").splitlines()
    if line and not line.startswith("#")
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow, which `-m "not slow"` leaves out, and put the longest first."""
    for item in items:
        names = {item.path.name, getattr(item, "originalname", item.name)}
        if names & SLOW or SLOW_FIXTURES & set(getattr(item, "fixturenames", ())):
            item.add_marker("slow")
    items.sort(key=lambda item: getattr(item, "originalname", item.name) not in LONGEST)


@pytest.fixture(autouse=True)
def no_registered_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forgets the rules and optimisers that other tests of this process registered."""
    monkeypatch.setattr("tacit.federated.plugins._registered", {table: {} for table in plugins._TABLES})
