"""Environment variables: devices that are not there, no HOME, no TMPDIR, strange locales and widths, broken rules."""

from __future__ import annotations

import random
from pathlib import Path

from fuzz import mutate, processes
from fuzz.box import Box, untouched
from fuzz.categories import Category
from fuzz.commands import PLAIN
from fuzz.material import Material
from fuzz.trial import Ending

_RULES = (
    "raise RuntimeError('no')",
    "import sys; sys.exit(7)",
    "1/0",
    "def (",
    "RULES = 3",
    "RULES = {1: 2}",
    "RULES = {'mean2': lambda: None}",
    "OPTIMISERS = {'x': 'y'}",
    "\0",
    "import no_such_module",
    "class A(BaseException): pass\nraise A",
)
_COMMANDS = (
    "train",
    "predict",
    "evaluate",
    "compare",
    "presets",
    "data list",
    "data describe",
    "count",
    "export",
    "serve",
)


def _variables(draw: random.Random, box: Box) -> dict[str, str | None]:
    rules = box.work / "rules.py"
    rules.write_text(draw.choice(_RULES), "utf-8")
    nowhere = str(box.work / "no" / "such")
    text = mutate.text(draw, nul=False).replace("\n", "")[:300]
    choices: tuple[dict[str, str | None], ...] = (
        {"JAX_PLATFORMS": draw.choice(("cuda", "tpu", "gpu", "nonsense", "cuda,cpu", "", "CPU"))},
        {"JAX_NUM_CPU_DEVICES": draw.choice(("0", "-1", "x", "1", "3", "99999", ""))},
        {"HOME": None},
        {"HOME": draw.choice((nowhere, "", "relative", str(rules)))},
        {"HOME": None, "MPLCONFIGDIR": None},
        {"TMPDIR": draw.choice((nowhere, "", str(rules)))},
        {"TACIT_RULES": draw.choice((str(rules), nowhere, str(box.work), f"{rules}:{rules}", ":", text))},
        {"TACIT_DATA": draw.choice((nowhere, str(rules), "", text))},
        {"COLUMNS": draw.choice(("0", "1", "-5", "x", "100000", "")), "LINES": "0"},
        {"LC_ALL": draw.choice(("C", "POSIX", "xx_YY.UTF-9", "tr_TR.UTF-8", "")), "LANG": "C"},
        {"PYTHONIOENCODING": draw.choice(("ascii", "latin-1", "ascii:strict")), "PYTHONUTF8": "0"},
        {"TERM": draw.choice(("dumb", "", "nonsense")), "FORCE_COLOR": None, "NO_COLOR": "1"},
        {"TZ": draw.choice(("Nowhere/None", ":", text))},
        {"PATH": draw.choice(("", nowhere))},
        {"SSL_CERT_FILE": nowhere, "https_proxy": draw.choice(("", "nonsense", "http://[", "ftp://x"))},
        {"JAX_ENABLE_X64": draw.choice(("1", "maybe")), "JAX_DISABLE_JIT": "0"},
        # not with an unknown flag: then XLA itself ends the process, with a line of its own
        {"XLA_FLAGS": draw.choice(("", "--xla_force_host_platform_device_count=3"))},
        {"MPLBACKEND": draw.choice(("nonsense", "TkAgg", "agg"))},
        {"BROWSER": nowhere, "DISPLAY": ":99"},
    )
    return draw.choice(choices)


def trial(draw: random.Random, box: Box, material: Material, number: int) -> Ending:
    name = draw.choice(_COMMANDS)
    plain = PLAIN[name]
    out = box.work / f"out{plain.suffix}"
    arguments = plain.arguments(material, out)
    if name == "serve":
        arguments += ["--block", "no/such.txt"]  # it would serve for ever
    if name == "compare" and draw.random() < 0.5:
        arguments[-1] = str(Path("~") / "x" / "page.html")
    variables = _variables(draw, box)
    if "TACIT_RULES" in variables and name == "train":
        arguments += ["--set", "aggregation.rule=mean2"]
    ours = (out, box.work / "~", box.work / "__pycache__")
    with untouched(box, ours):
        return processes.judged(processes.run(box, arguments, variables))


CATEGORY = Category(
    "environment variables: devices, HOME, TMPDIR, locale, width, rules", trial, 66, processes=True
)
