"""Builds tacit-keyboard from src/tacit: the modules that a keyboard imports, under the name `tacit_keyboard`.

- The modules are those that `ROOTS` import when they are loaded, found in the source. Imports inside functions do not
  count: what needs them says that it needs the whole of Tacit.
- Imports of `tacit` become imports of `tacit_keyboard`, so both distributions can be installed together.
- A library other than numpy among these imports is an error: the build fails.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[1] / "src"
VERSION = tomllib.loads((HERE.parents[1] / "pyproject.toml").read_text("utf-8"))["project"]["version"]
ROOTS = ("tacit.base.errors", "tacit.keyboard.suggestions", "tacit.lm.open")
NAME = "tacit_keyboard"


def path_of(module: str) -> Path | None:
    """Returns the file of a module of Tacit; None if there is none."""
    stem = SOURCE.joinpath(*module.split("."))
    return next((p for p in (stem.with_suffix(".py"), stem / "__init__.py") if p.is_file()), None)


def loaded(module: str) -> set[str]:
    """Returns what a module imports when it is loaded."""
    path = path_of(module)
    assert path is not None, module
    found = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name for name in inside if name.startswith("tacit.") and path_of(name)} or {node.module}
    return found


def selected() -> list[str]:
    """Returns the modules that the roots need, their packages included."""
    todo, modules = list(ROOTS), set[str]()
    while todo:
        module = todo.pop()
        if module in modules or module == "tacit":
            continue
        modules.add(module)
        todo.append(module.rpartition(".")[0])
        for name in loaded(module):
            library = name.partition(".")[0]
            if library == "tacit":
                todo.append(name)
            elif library != "numpy" and library not in sys.stdlib_module_names:
                raise SystemExit(f"tacit-keyboard has numpy alone, and {module} imports {library}")
    return sorted(modules)


def renamed(text: str) -> str:
    """Returns source with this package's name in its imports, also in those of examples and functions."""
    return re.sub(r"^(\s*(?:>>> |\.\.\. )?(?:from|import) )tacit\b", rf"\1{NAME}", text, flags=re.MULTILINE)


class Build(build_py):
    """Writes the selected modules, and the files of locales and dictionaries, instead of copying a package."""

    def run(self) -> None:
        """Writes the package into the folder that becomes the wheel."""
        out = Path(self.build_lib) / NAME
        for module in selected():
            path = path_of(module)
            assert path is not None
            to = out / path.relative_to(SOURCE / "tacit")
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_text(renamed(path.read_text("utf-8")), "utf-8")
        data = [
            *(SOURCE / "tacit/text/locales").glob("*.toml"),
            *(SOURCE / "tacit/keyboard/dictionaries").iterdir(),
        ]
        for file in sorted(data):
            to = out / file.relative_to(SOURCE / "tacit")
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(file.read_bytes())
        front = renamed((HERE / "front.py").read_text("utf-8")).replace("VERSION", VERSION)
        (out / "__init__.py").write_text(front, "utf-8")


setup(version=VERSION, cmdclass={"build_py": Build})
