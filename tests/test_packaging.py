"""What is shipped: the wheel has every file of the package and runs alone; extras, targets and versions agree."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

PROJECT = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
FOR_SOME_MACHINES = {"cuda"}
FOR_DEVELOPERS = {"dev", "judges", "docs"}


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel's content, built from a copy of what a build reads: nothing is left in the repository."""
    pytest.importorskip(
        "setuptools", "77", reason="the wheel is built with setuptools 77 or newer: make test"
    )
    copy, out = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(name, copy)
    shutil.copytree("src", copy / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    build = "import sys; from setuptools import build_meta; print(build_meta.build_wheel(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", build, out], cwd=copy, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = out.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(out / "content")
    return out / "content"


def files(package: Path) -> set[str]:
    return {
        str(path.relative_to(package))
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.mark.slow
def test_the_wheel_holds_every_file_of_the_package(unpacked: Path) -> None:
    here, there = files(Path("src/tacit")), files(unpacked / "tacit")
    assert here == there
    assert {Path(name).suffix for name in here} >= {".py", ".toml", ".html", ".css", ".js"}


@pytest.mark.slow
def test_the_wheel_runs_alone(unpacked: Path, tmp_path: Path) -> None:
    """Where the repository is not: its commands, its presets and its page are in the wheel."""
    environment = os.environ | {"PYTHONPATH": str(unpacked)}

    def run(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, *words],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    where = run("-c", "import tacit; print(tacit.__file__)")
    assert where.startswith(str(unpacked))
    said = run("-m", "tacit", "presets")
    for preset in Path("src/tacit").rglob("presets/*.toml"):
        assert re.search(rf"^{preset.stem}\b", said, re.MULTILINE), preset
    assert "table-2" in run("-m", "tacit", "reproduce", "list")
    assert list(tmp_path.iterdir()) == []


def named(requirements: list[str]) -> set[str]:
    """The extras of Tacit itself that an extra joins."""
    found = set[str]()
    for requirement in requirements:
        if match := re.fullmatch(r"tacit\[([\w,-]+)\]", requirement):
            found |= set(match[1].split(","))
    return found


def test_every_extra_that_a_user_may_want_is_in_all() -> None:
    assert named(EXTRAS["all"]) == set(EXTRAS) - {"all"} - FOR_SOME_MACHINES - FOR_DEVELOPERS
    assert "all" in named(EXTRAS["dev"])


def test_what_make_installs_is_pinned() -> None:
    """Every library that pyproject.toml names has one version in constraints.txt, but for what is said there."""
    lines = Path("constraints.txt").read_text("utf-8").splitlines()
    pinned = {line.partition("==")[0].lower() for line in lines if not line.startswith("#")}
    wanted = PROJECT["project"]["dependencies"] + [
        r for n in set(EXTRAS) - FOR_SOME_MACHINES for r in EXTRAS[n]
    ]
    names = {re.match(r"[\w-]+", requirement)[0].lower() for requirement in wanted} - {"tacit", "flwr"}
    assert names <= pinned, names - pinned


def test_the_workflow_asks_for_what_there_is() -> None:
    """Its targets are the Makefile's, and its versions of Python those that the package names."""
    workflow = Path(".github/workflows/ci.yml").read_text("utf-8")
    targets = set(re.findall(r"^([a-z-]+):", Path("Makefile").read_text("utf-8"), re.MULTILINE))
    asked = set(re.findall(r"run: make ([a-z-]+)", workflow))
    assert asked and asked <= targets and workflow.count("run: ") == len(asked)
    versions = re.search(r"python: \[(.*)\]", workflow)[1].replace('"', "").split(", ")
    classifiers = PROJECT["project"]["classifiers"]
    assert versions == [c.rsplit(" ", 1)[1] for c in classifiers if re.search(r":: 3\.\d+$", c)]
    assert PROJECT["project"]["requires-python"] == f">={versions[0]}"


def test_what_is_said_to_be_slow_is_there() -> None:
    """A name in slow.txt that no test has any more would let a new test of that name be left out."""
    files = {path.name: path.read_text("utf-8") for path in Path("tests").rglob("test_*.py")}
    names = {name for text in files.values() for name in re.findall(r"^def (test_\w+)", text, re.MULTILINE)}
    listed = [
        line for line in Path("tests/slow.txt").read_text("utf-8").splitlines() if not line.startswith("#")
    ]
    assert [line for line in listed if line not in names and line not in files] == []
    assert listed == sorted(set(listed))
