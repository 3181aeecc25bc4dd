"""The layers of the house: imports go down, never up or in a circle. The table is the picture in README.md."""

from __future__ import annotations

import ast
import re
from pathlib import Path

SOURCE = Path("src")
PICTURE = re.compile(r"<!-- layers:begin -->\n```\n(.*?)```", re.DOTALL)


def layers(readme: str) -> list[list[str]]:
    """The rows of the picture, highest first: each names packages or modules, then says what they hold."""
    rows = PICTURE.search(readme).group(1).splitlines()
    return [re.split(r"\s{2,}", row)[0].split(", ") for row in rows]


def modules(source: Path) -> dict[str, Path]:
    names = {}
    for path in source.rglob("*.py"):
        parts = path.relative_to(source).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


def imports(name: str, path: Path, known: dict[str, Path]) -> set[str]:
    """The modules of Tacit that one imports, also inside functions; only TYPE_CHECKING is exempt."""
    tree = ast.parse(path.read_text("utf-8"))
    exempt = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for child in node.body
        for inner in ast.walk(child)
    }
    found = set()
    for node in ast.walk(tree):
        if node in exempt:
            continue
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}: write imports in full"
            if node.module and node.module.split(".")[0] == "tacit":
                inside = {f"{node.module}.{alias.name}" for alias in node.names}
                found |= {target if target in known else node.module for target in inside}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.split(".")[0] == "tacit"}
    return found - {"tacit"}  # the package itself gives the version


def height(name: str, table: list[list[str]]) -> int:
    """The layer of a module: that of the longest name in the table that it lies in."""
    room = name.removeprefix("tacit.")
    fits = [
        (len(entry), len(table) - row)
        for row, entries in enumerate(table)
        for entry in entries
        if room == entry or room.startswith(f"{entry}.")
    ]
    assert fits, f"{name} is in no layer: add its room to the picture in README.md"
    return max(fits)[1]


def upward(source: Path, table: list[list[str]]) -> list[str]:
    known = modules(source)
    doors = {"tacit", "tacit.__main__"}  # may reach anything
    return sorted(
        f"{name} -> {target}"
        for name, path in known.items()
        if name not in doors
        for target in imports(name, path, known)
        if height(target, table) > height(name, table)
    )


def circles(source: Path) -> list[list[str]]:
    """Groups of modules that import each other, by following imports until nothing new is reached."""
    known = modules(source)
    direct = {name: imports(name, path, known) for name, path in known.items() if name != "tacit"}
    reach: dict[str, set[str]] = {}
    for name in direct:
        seen: set[str] = set()
        todo = list(direct[name])
        while todo:
            if (at := todo.pop()) not in seen:
                seen.add(at)
                todo += direct.get(at, ())
        reach[name] = seen
    return sorted(
        {tuple(sorted(m for m in reach[n] if n in reach.get(m, ()))) for n in reach if n in reach[n]}
    )


def test_imports_go_down() -> None:
    assert upward(SOURCE, layers(Path("README.md").read_text("utf-8"))) == []


def test_no_module_imports_itself_in_a_circle() -> None:
    assert circles(SOURCE) == []


def test_every_module_has_a_room() -> None:
    loose = [p.name for p in (SOURCE / "tacit").glob("*.py")]
    assert sorted(loose) == ["__init__.py", "__main__.py"]


def test_the_check_sees_what_it_must(tmp_path: Path) -> None:
    """An upward import inside a function, a circle, and what TYPE_CHECKING exempts."""
    files = {
        "low/a.py": "def f():\n    from tacit.high import b\n",
        "low/c.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from tacit.high.b import x\n",
        "high/b.py": "from tacit.low import c\nimport tacit.high.d\n",
        "high/d.py": "from tacit.high.b import x\n",
    }
    for name, text in files.items():
        path = tmp_path / "tacit" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        (path.parent / "__init__.py").touch()
        path.write_text(text, "utf-8")
    assert upward(tmp_path, [["high"], ["low"]]) == ["tacit.low.a -> tacit.high.b"]
    assert circles(tmp_path) == [("tacit.high.b", "tacit.high.d")]
    assert upward(tmp_path, [["low"], ["high.d"], ["high"]]) == [
        "tacit.high.b -> tacit.high.d",
        "tacit.high.b -> tacit.low.c",
    ]
