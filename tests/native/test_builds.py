"""The reader builds in every way it is used: with sanitizers, from C++, in Java; and its page says what is true."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from reader_c import COMPILER, NATIVE, SOURCES, STRICT, Typed, compiled, needs_compiler

import networks8
from file_models import kneser, saved, vocabulary
from tacit.keyboard import dictionary
from tacit.lm import open as any_kind

pytestmark = needs_compiler
SANITIZE = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
JAVA = Path(shutil.which("javac") or "/none").resolve().parents[1] / "include"
PAGE = Path("docs/native.md").read_text("utf-8")


def run(*words: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=120, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def sanitized() -> bool:
    test = subprocess.run(
        [str(COMPILER), *SANITIZE, "-x", "c", "-", "-o", "/dev/null"], input=b"int main(void){return 0;}", check=False,
        capture_output=True,
    )  # fmt: skip
    return test.returncode == 0


@pytest.mark.skipif(COMPILER is not None and not sanitized(), reason="this compiler has no sanitizers")
def test_hostile_files_under_the_sanitizers(tmp_path: Path) -> None:
    """A few seconds of native/fuzz.c; `make native-fuzz` takes ten minutes."""
    program = compiled(tmp_path, str(NATIVE / "fuzz.c"), *SOURCES, options=SANITIZE, name="fuzz")
    saved(tmp_path, kneser(1, 30, 3), vocabulary(30))
    networks8.saved(tmp_path / "n", networks8.KINDS["lstm groups"], 30, max_words=4)
    (tmp_path / "d").write_bytes(dictionary.to_bytes(dictionary.build(["tea", "cup", "kettle"], 64)))
    said = run(program, "2", "5", tmp_path / "m.tng", tmp_path / "n", tmp_path / "d", cwd=tmp_path)
    tried, opened = map(int, re.findall(r"\d+", said))
    assert tried > opened > 10


def test_the_header_is_c_plus_plus_too(tmp_path: Path) -> None:
    compiler = shutil.which("c++") or pytest.skip("no C++ compiler")
    (tmp_path / "x.cpp").write_text('#include "correct.h"\nint x = sizeof(tacit_correction);\n')
    run(
        compiler,
        "-Wall",
        "-Wextra",
        "-Werror",
        f"-I{NATIVE}",
        "-c",
        tmp_path / "x.cpp",
        "-o",
        tmp_path / "x.o",
    )


def test_the_example_of_the_page_suggests(tmp_path: Path, typed: Typed) -> None:
    code = re.search(r"```c\n(.*?)```", PAGE, re.DOTALL)[1]
    (tmp_path / "example.c").write_text(code)
    program = compiled(
        tmp_path, str(tmp_path / "example.c"), *SOURCES, name="example", options=["-D_DEFAULT_SOURCE"]
    )
    want = [s.word for s in any_kind.open(typed.path).suggest(["I", "am"], 3)]
    assert [line.split()[0] for line in run(program, typed.path, "I", "am").splitlines()] == want


def test_a_keyboard_without_corrections_needs_two_files(tmp_path: Path) -> None:
    """As the page and tacit.h say: tacit.c and unicode.c."""
    code = re.search(r"```c\n(.*?)```", PAGE, re.DOTALL)[1]
    (tmp_path / "example.c").write_text(code)
    two = [path for path in SOURCES if Path(path).name in ("tacit.c", "unicode.c")]
    compiled(tmp_path, str(tmp_path / "example.c"), *two, name="example", options=["-D_DEFAULT_SOURCE"])


def test_the_benchmark_runs(tmp_path: Path, typed: Typed) -> None:
    program = compiled(tmp_path, str(NATIVE / "bench.c"), *SOURCES, name="bench")
    (tmp_path / "contexts").write_text("\nI am\nsee you\n")
    assert run(program, typed.path, tmp_path / "contexts", "1").count("p50") == 2


@pytest.mark.skipif(not (JAVA / "jni.h").is_file(), reason="no jni.h here: install default-jdk-headless")
def test_java_suggests(tmp_path: Path, typed: Typed) -> None:
    options = ["-shared", "-fPIC", f"-I{JAVA}", f"-I{JAVA / 'linux'}"]
    compiled(tmp_path, str(NATIVE / "jni/tacit_jni.c"), *SOURCES, options=options, name="libtacit_jni.so")
    run("javac", "-Xlint:all", "-Werror", "-d", tmp_path, NATIVE / "jni/Tacit.java")
    java = [
        "java",
        "-Xcheck:jni",
        "-Xmx64m",
        f"-Djava.library.path={tmp_path}",
        "-cp",
        str(tmp_path),
        "Tacit",
    ]
    want = [s.word for s in any_kind.open(typed.path).suggest(["I", "am"], 3)]
    assert run(*java, typed.path, "I", "am").split() == want
    (tmp_path / "bad").write_bytes(b"TacitNG\nwhat is this?")
    refused = subprocess.run([*java, str(tmp_path / "bad")], capture_output=True, text=True, timeout=120)
    assert refused.returncode and "cut short" in refused.stderr


def test_the_reader_is_small_and_alone() -> None:
    """The page gives the lines of each file, tables aside; no include but C's own and these sources'."""
    told = {tuple(re.findall(r"\w+\.[ch]", row)): row for row in PAGE.splitlines() if row.startswith("| `")}
    assert told.keys() >= {
        ("tacit.h", "tacit.c"),
        ("correct.h", "correct.c"),
        ("unicode.c",),
        ("internal.h",),
    }
    for names, row in told.items():
        texts = [(NATIVE / name).read_text("utf-8") for name in names]
        tables = [
            t for text in texts for t in re.findall(r"/\* tables: begin.*tables: end \*/", text, re.DOTALL)
        ]
        made = sum(table.count("\n") + 1 for table in tables)
        lines = sum(text.count("\n") for text in texts) - made
        last = row.split("|")[-2].strip()
        assert last in ("", f"{lines:,}"), (row, lines)
        assert not made or f"{made} more lines" in row
        assert lines <= 1500
    included = {
        m for path in SOURCES for m in re.findall(r"#include [<\"](.*?)[>\"]", Path(path).read_text("utf-8"))
    }
    own = {"tacit.h", "correct.h", "internal.h"}
    assert included - own <= {f"{name}.h" for name in ("math", "stdarg", "stdio", "stdlib", "string")}
    assert "-std=c99" in STRICT
