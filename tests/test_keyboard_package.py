"""The second distribution, tacit-keyboard: made of Tacit's own modules, with numpy alone."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import numpy as np
import pytest

import networks8
from file_models import kneser, saved, vocabulary
from tacit.lm import open as any_kind
from tacit.ngram.formats import arpa

ASK = """
import json, sys, tacit_keyboard as t
def ask(path):
    keyboard = t.keyboard(path, block=["be"])
    return [t.open(path).suggest("to", 3), keyboard.next_words("to"), keyboard.complete("", "b"),
            keyboard.correct("to", [(4.5, 2.25)]).best, keyboard.glide("", [(4.5, .75), (8.5, .75)])]
told = {path: ask(path) for path in sys.argv[2:]}
try:
    t.open(sys.argv[1])
except t.TacitError as error:
    told["run"] = str(error)
told["loaded"] = sorted({m.partition(".")[0] for m in sys.modules} - set(sys.stdlib_module_names))
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy: nothing is left in the repository."""
    pytest.importorskip(
        "setuptools", "77", reason="the wheel is built with setuptools 77 or newer: make test"
    )
    copy, out = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("wheel")
    shutil.copy("pyproject.toml", copy)
    for folder in ("src", "packaging"):
        shutil.copytree(
            folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build")
        )
    build = "import sys; from setuptools import build_meta; print(build_meta.build_wheel(sys.argv[1]))"
    command = [sys.executable, "-W", "ignore", "-c", build, str(out)]
    done = subprocess.run(command, cwd=copy / "packaging/keyboard", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (made,) = out.glob("tacit_keyboard-*.whl")
    return made


def test_its_sources_are_tacits_own(wheel: Path) -> None:
    """No module but the front door differs from src/tacit, except in the name of the package."""
    with zipfile.ZipFile(wheel) as archive:
        names = [n for n in archive.namelist() if n.endswith(".py") and n != "tacit_keyboard/__init__.py"]
        assert len(names) > 50
        for name in names:
            text = archive.read(name).decode()
            assert text.replace("tacit_keyboard", "tacit") == Path(
                "src", name.replace("_keyboard", "")
            ).read_text("utf-8")
        assert not {"jax", "sentencepiece", "scipy"} & {n.split("/")[0] for n in archive.namelist()}


@pytest.mark.slow
def test_an_empty_environment_opens_models_with_numpy_alone(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv/bin/python"
    (packages,) = (tmp_path / "venv/lib").glob("python*/site-packages")
    for part in Path(np.__file__).parents[1].glob("numpy*"):  # numpy as it is here: the test needs no index
        (packages / part.name).symlink_to(part)

    def run(*words: str | Path) -> str:
        command = list(map(str, (python, *words)))
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=tmp_path, env={"PATH": "/usr/bin:/bin"}
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("-m", "pip", "install", "--no-index", "--quiet", wheel)  # pip sees that numpy is there
    listed = {item["name"] for item in json.loads(run("-m", "pip", "list", "--format", "json"))}
    assert listed - {"pip", "setuptools"} == {"numpy", "tacit-keyboard"}
    words, model = vocabulary(20), kneser(1)
    saved(tmp_path, model, words)
    arpa.write(tmp_path / "m.arpa", words, model)
    paths = [
        tmp_path / "m.tng",
        tmp_path / "m.arpa",
        networks8.saved(tmp_path / "n", networks8.KINDS["gru"], 30),
    ]
    (tmp_path / "run").mkdir()
    told = json.loads(run("-c", ASK, tmp_path / "run", *paths))
    for path in paths:
        want = [[s.word, pytest.approx(s.p)] for s in any_kind.open(path).suggest("to", 3)]
        suggested, following, completed, best, glided = told[str(path)]
        assert suggested == want and len(following) == 3 and best and glided is not None
        assert "be" not in {word.lower() for word, _ in completed}
    assert "install tacit" in told["run"] and {"numpy", "tacit_keyboard"} == {
        name for name in told["loaded"] if not name.startswith(("_", "cython"))
    }
