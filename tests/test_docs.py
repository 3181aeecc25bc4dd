"""What the pages say can be done: their Python runs, their commands and options exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer.main

from tacit.cli import app
from tacit.config import resolve

PAGES = [Path("README.md"), Path("CONTRIBUTING.md"), *sorted(Path("docs").glob("*.md"))]
FENCE = re.compile(r"```(\w*)\n(.*?)```", re.DOTALL)


def fences(language: str) -> list[tuple[str, str]]:
    return [
        (page.name, code)
        for page in PAGES
        for kind, code in FENCE.findall(page.read_text("utf-8"))
        if kind == language
    ]


def command_lines() -> list[str]:
    lines = [line for _, code in fences("") for line in code.splitlines()]
    return sorted({line.partition("#")[0].strip() for line in lines if line.startswith("tacit ")})


@pytest.mark.parametrize(("page", "code"), [p for p in fences("python") if p[1].startswith("import ")])
def test_python_on_the_pages_runs(page, code):
    if "import kenlm" in code:
        pytest.importorskip("kenlm")
    exec(compile(code, page, "exec"), {})


@pytest.mark.parametrize("line", command_lines())
def test_commands_on_the_pages_exist(line):
    words = shlex.split(line)[1:]
    command = typer.main.get_command(app)
    while hasattr(command, "commands"):
        assert words[0] in command.commands, line
        command = command.commands[words.pop(0)]
    options = {name for p in command.params for name in getattr(p, "opts", [])}
    for word in words:
        if word.startswith("--"):
            assert word in options, line


def test_settings_on_the_pages_exist():
    checked = 0
    for line in command_lines():
        words = shlex.split(line)
        together = [words[i + 1] for i, w in enumerate(words) if w == "--set"]
        together = [a for a in together if "normalised" not in a]  # CONTRIBUTING.md writes it
        resolve("fedavg", together)
        checked += len(together)
    assert checked >= 3


def test_links_on_the_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page}: {target}"
