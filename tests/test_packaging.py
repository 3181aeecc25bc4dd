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
from typing import NamedTuple

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

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


class Pin(NamedTuple):
    """A version of a library in requirements/, and the hashes of its files."""

    requirement: Requirement
    hashes: list[str]


GROUPS = PROJECT["dependency-groups"]
DEPENDENCIES = PROJECT["project"]["dependencies"]
WANTED = {  # a file in requirements/: what of pyproject.toml it must have
    "run": DEPENDENCIES + EXTRAS["tensorboard"],
    "dev": DEPENDENCIES + EXTRAS["tensorboard"] + EXTRAS["dev"] + GROUPS["build-judges"],
    "docs": EXTRAS["docs"],
    "judges": EXTRAS["judges"],
    "build": PROJECT["build-system"]["requires"],
    "tools": GROUPS["tools"],
}
LOCKS = sorted(Path("requirements").glob("*.txt"))


def pins(lock: Path) -> dict[str, Pin]:
    """Reads a lock strictly: a line of any other kind, an address of an index among them, is an error."""
    read = dict[str, Pin]()
    lines = re.sub(r"^#.*\n", "", lock.read_text("utf-8"), flags=re.MULTILINE).replace(" \\\n", " ")
    for line in lines.splitlines():
        match = re.fullmatch(
            r"([\w.-]+==[\w.]+(?: ; [\w '.=!<>()]+)?)((?: +--hash=sha256:[0-9a-f]{64})+)", line
        )
        assert match, f"{lock}: neither a pin nor its hashes: {line[:100]}"
        requirement = Requirement(match[1])
        assert requirement.name not in read, f"{lock}: {requirement.name} has two versions"
        read[requirement.name] = Pin(requirement, match[2].split())
    return read


def bounded(requirement: str) -> bool:
    """Whether a later release that breaks something is shut out; an extra of Tacit itself has no versions."""
    parsed = Requirement(requirement)
    return parsed.name == "tacit" or any(bound.operator == "<" for bound in parsed.specifier)


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_every_dependency_is_pinned_within_its_bounds(lock: Path) -> None:
    pinned = pins(lock)
    for requirement in map(Requirement, WANTED[lock.stem]):
        if requirement.name != "tacit":
            pin = pinned[canonicalize_name(requirement.name)].requirement
            (version,) = (bound.version for bound in pin.specifier)
            assert requirement.specifier.contains(version), f"{pin} is not {requirement}: make lock"


def test_all_that_make_installs_together_agrees() -> None:
    """Only the tools have an environment of their own."""
    assert {lock.stem for lock in LOCKS} == set(WANTED)
    together = dict[str, str]()
    for lock in LOCKS:
        for name, pin in pins(lock).items():
            if lock.stem != "tools":
                assert together.setdefault(name, str(pin.requirement.specifier)) == pin.requirement.specifier


def test_every_dependency_has_an_upper_bound() -> None:
    listed = [DEPENDENCIES, PROJECT["build-system"]["requires"], *EXTRAS.values(), *GROUPS.values()]
    assert [r for requirements in listed for r in requirements if not bounded(r)] == []
    assert not bounded("numpy>=2.0") and not bounded("numpy") and bounded("numpy>=2.0,<3")
    assert PROJECT["build-system"]["requires"] == GROUPS["build"]


@pytest.mark.parametrize(
    "line",
    [
        "numpy==2.4.6",
        "numpy>=2 --hash=sha256:" + 64 * "0",
        "--index-url https://example.org/simple",
        "numpy @ https://example.org/numpy.whl --hash=sha256:" + 64 * "0",
        "numpy==2.4.6 --hash=sha256:0",
    ],
)
def test_a_lock_of_another_form_is_refused(line: str, tmp_path: Path) -> None:
    lock = tmp_path / "lock.txt"
    lock.write_text(f"# a comment\nclick==8.3.1 \\\n    --hash=sha256:{64 * '0'}\n")
    assert list(pins(lock)) == ["click"]
    lock.write_text(lock.read_text() + line + "\n")
    with pytest.raises(AssertionError, match="neither a pin"):
        pins(lock)


def test_make_installs_nothing_without_hashes_but_tacit() -> None:
    makefile = Path("Makefile").read_text("utf-8").replace("\\\n", " ")
    assert re.search(r"^LOCKED := .* --require-hashes --no-deps --only-binary :all:", makefile, re.MULTILINE)
    installing = [line for line in makefile.splitlines() if line.startswith("\t") and " -m pip " in line]
    others = [line for line in installing if "$(LOCKED)" not in line]
    assert len(installing) > len(others) == 3  # tacit as editable, and the two wheels
    assert all("--no-deps --no-build-isolation" in line and line.endswith(" .") for line in others)


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
