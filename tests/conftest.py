"""Two CPU devices before JAX starts, so that every test also runs the program spread over devices."""

from __future__ import annotations

import os

import hypothesis
import jax

pytest_plugins = ["commands"]

jax.config.update("jax_num_cpu_devices", 2)
hypothesis.settings.register_profile(
    "tacit", deadline=None, max_examples=40, derandomize="CI" in os.environ, print_blob=True
)
hypothesis.settings.load_profile("tacit")
