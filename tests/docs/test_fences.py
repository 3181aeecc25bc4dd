"""Every code fence of the pages does what its page says: Python runs, commands run in small and in page order.

Each line of a fence is one of three things: it runs as it stands, it runs with the options of `SMALL` added, or it
stands in `NOT_RUN` with the reason, and is only parsed. Nothing else passes, so that no fence is skipped unseen.
"""

from __future__ import annotations

import fcntl
import gzip
import re
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import replace
from http.server import ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

import pytest
import typer.main

from commands import TINY, Commands, sets, write_corpus
from tacit.cli import app
from tacit.experiments import demo
from tacit.page import building
from tacit.text import catalogue

HERE = Path.cwd()
PAGES = [Path("README.md"), Path("CONTRIBUTING.md"), *sorted(Path("docs").glob("*.md"))]
LANGUAGES = {"", "c", "sh", "python", "toml", "js"}  # js: tests/page/train runs them

# the sizes of test_demo.py and others, so that programs compiled there are found in JAX's cache
PEOPLE = ("typists.users=12", "typists.messages=24", "typists.quantity_skew=0")
ONE_ROUND = ("training.rounds=1", "central.steps=2")
SMALL: dict[str, list[str]] = {  # what makes a command one of seconds; later options count
    "train nus-sms text.pieces=4000": sets(*TINY, *ONE_ROUND, "text.pieces=40"),
    "train text.pieces=4000": sets(*TINY, *PEOPLE, *ONE_ROUND, "text.pieces=60", "text.vocabulary=0"),
    "train privacy.plan=runs/plan.json": sets(*TINY, *PEOPLE, *ONE_ROUND, "sampling.clients=3"),
    "train privacy.secure=true": sets(*TINY, *PEOPLE, *ONE_ROUND, "sampling.clients=6", "privacy.least=5"),
    "train": sets(*TINY, *PEOPLE, *ONE_ROUND),
    "demo": sets(*TINY, *PEOPLE, *ONE_ROUND),
    "count --open": sets(*PEOPLE),
    "count": ["--rounds", "1", "--cohort", "3", *sets(*PEOPLE)],
    "distill": ["--sentences", "40", "--max-ngrams", "300"],
    "evaluate --keyboard": ["--people", "1", "--messages", "2", "--noisy", "4"],
    "personalize": ["--users", "3", "--batch", "5", "--lr", "1"],
    "audit --retrain": ["--canaries", "20", "--people", "1", "--retrain", "1"],
    "audit": ["--canaries", "20", "--people", "1"],
    "export": ["--people", "1"],
    "data describe": sets(*PEOPLE),
    "reproduce": ["--quick", "--seeds", "1"],
    "serve": ["--port", "0", "--no-open"],
    "federation watch --no-open": ["--port", "0"],
    "privacy plan runs/plan.json": ["--population", "10", "--clients", "3", "--rounds", "2"],
    "privacy plan": ["--rounds", "2", "--sampling", "fixed"],
}
AS_IT_STANDS = (
    "predict",
    "compare",
    "data import",
    "evaluate",
    "presets",
    "reproduce list",
    "reproduce report",
    "privacy show",
    "federation init",
    "federation invite",
    "federation status",
    "federation watch home --terminal",
)
NOT_RUN = {  # how a line begins, or what is in it: why it is parsed and not run
    "make test": "these tests are what it runs",
    "make fuzz": "takes up to 20 minutes; test_fuzz.py makes a few trials",
    ".venv/bin/python -m fuzz ": "needs what `make fuzz` makes first",
    "pip install dist/": "tests/test_keyboard_package.py installs it",
    "pip install ": "needs a package index",
    "java -jar dicttool_aosp.jar ": "a program of AOSP",
    "fstcompile ": "a program of OpenFst",
    "#!/bin/bash": "for a cluster",
    "#SBATCH ": "for a cluster",
    "srun ": "for a cluster",
    " --strategies": "compiles a program for each part of the model; test_personalize.py runs it",
    " --minutes ": "trains on public corpora for half an hour",
    "tacit federation server ": "waits for clients; test_federation.py runs it",
    "tacit federation client ": "waits for a server; test_federation.py runs it",
    "tacit federation run ": "needs a server and clients; test_federation.py runs it",
    "tacit federation fetch ": "needs a server; test_federation.py runs it",
    "tacit federation leave ": "destroys a key; test_federation.py runs it",
    "tacit federation remove ": "needs a server; test_federation.py runs it",
    "tacit federation demo": "waits for a person with a browser; test_demo_processes.py runs it",
    " --browser http": "needs the federation of another page; test_take_part.py makes links",
    "flwr run ": "a program of Flower",
    "flower-supernode ": "a program of Flower",
    "mv network.new ": "follows `tacit federation fetch`",
    " --coordinator ": "several processes that wait for each other; test_hosts.py runs them",
    "tacit federation count ": "needs a server and clients; test_federation.py runs it",
    "tacit federation personalize ": "needs a server and clients; test_finished.py does its work",
}
SHOWN = {  # the first line of a fence that shows what a command leaves
    "config.toml       the configuration as resolved": "files of a run",
    "personal/summary.json   all figures": "files of a personalisation",
    "                             top-1   top-3": "what tacit distill prints",
    '{"idle": true': "the state of a device",
    "cli                 ": "the layers, which test_layers.py reads",
}
SAVED = {  # what is in a fence that a page tells to save, and under which name
    "RULES = ": "normalised.py",
    "OPTIMISERS = ": "lion.py",
    "[[grid]]": "rates.toml",
    "[long_press]": "my.toml",
}
GIVEN = {  # small files that pages take for granted
    "words.txt": "home\nsoon\n",
    "never.txt": "damn\n",
    "main_en.combined": "dictionary=main:en,locale=en\n word=the,f=222\n  bigram=home,f=230\n word=home,f=150\n",
    "chat.txt": "31/01/2024, 21:15 - Ana: see you\n31/01/2024, 21:16 - Bo: soon\n",
    "result.json": '{"messages": [{"id": 1, "type": "message", "date": "2024-01-31", "from": "Ana", "text": "hi"}]}',
}
BEFORE: dict[str, list[str]] = {  # what a page takes for granted: runs of other pages
    "ngram-files.md": [
        "tacit train fedavg --corpus nus-sms --out runs/sms",
        "tacit count fedavg --corpus nus-sms --supplement tatoeba-en --out runs/words",
        "tacit train fedavg --corpus nus-sms --set text.pieces=4000 --set text.inventory=runs/words/counts.tsv"
        " --out runs/pieces",
    ],
}
NAMES: dict[str, dict[str, Any]] = {  # names that a page's Python takes for granted
    "README.md": {"TINY": {key: int(value) for key, value in (setting.split("=") for setting in TINY)}},
    "federated.md": {"NamedTuple": NamedTuple},
}
SHORTER = {"README.md": ("rounds=20", "rounds=1, **TINY")}  # Python that would train for minutes


class Fence(NamedTuple):
    """A fence of a page."""

    page: str
    number: int  # of the line that opens it
    language: str
    code: str

    @property
    def shown(self) -> bool:
        """Whether it shows what a command leaves."""
        return any(self.code.startswith(first) for first in SHOWN)

    def lines(self) -> Iterator[str]:
        """The commands in it, without what is said about them."""
        for line in self.code.splitlines():
            if line.strip():
                yield line if line.startswith("#") else re.sub(r"\s+#.*|\s+&$", "", line).strip()


def fences(page: Path) -> list[Fence]:
    """All of a page, read line by line."""
    found, opened, code = [], None, list[str]()
    for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
        if not line.lstrip().startswith("```"):
            code.append(line)
        elif opened is None:
            opened, code = (number, line.strip()[3:]), []
        else:
            found.append(Fence(page.name, *opened, "\n".join(code) + "\n"))
            opened = None
    assert opened is None, f"{page}, line {opened}: this fence has no end"
    return found


FENCES = [fence for page in PAGES for fence in fences(page)]
COMMANDS = sorted({line for f in FENCES if f.language in ("", "sh") and not f.shown for line in f.lines()})


def reason(line: str) -> str | None:
    """Why a line is not run."""
    return next((why for part, why in NOT_RUN.items() if line.startswith(part) or part in f" {line}"), None)


def cut(line: str) -> tuple[dict[str, str], list[str]]:
    """The variables and the words of a `tacit` command; no words where it is another program's."""
    words, variables = shlex.split(line), dict[str, str]()
    while words and re.match(r"[A-Z_]+=", words[0]):
        name, _, value = words.pop(0).partition("=")
        variables[name] = value
    if words[:1] == ["srun"]:
        words = words[1:]
    return variables, words[1:] if words[:1] == ["tacit"] else []


def kind(words: list[str]) -> str:
    """What is to be added to a command: a key of SMALL, or "" for nothing."""
    for name in AS_IT_STANDS:
        if words[: len(name.split())] == name.split() and "--keyboard" not in words:
            return ""
    for name in SMALL:
        if words[0] == name.split()[0] and all(word in words for word in name.split()):
            return name
    raise AssertionError(
        f"tacit {shlex.join(words)}: say in SMALL or AS_IT_STANDS how it is run, or in NOT_RUN why not"
    )


def test_every_fence_is_one_that_is_tested() -> None:
    marks = sum(len(re.findall(r"^\s*```", page.read_text("utf-8"), re.MULTILINE)) for page in PAGES)
    assert marks == 2 * len(FENCES) and len(FENCES) >= 45
    for fence in FENCES:
        assert fence.language in LANGUAGES, (
            f"{fence.page}, line {fence.number}: '{fence.language}' is not tested"
        )
        if fence.language == "toml":
            assert any(part in fence.code for part in SAVED), (
                f"{fence.page}, line {fence.number}: nobody reads it"
            )
    for line in COMMANDS:
        words = cut(line)[1]
        if reason(line) is None and line != "make demo":
            assert words, f"'{line}' is no command of Tacit: say in NOT_RUN why it is not run"
            kind(words)


def test_no_reason_is_left_over() -> None:
    """An entry of a table that nothing on the pages needs any more hides what is added later."""
    every = [f" {line}" for line in COMMANDS]
    assert [part for part in NOT_RUN if not any(part in line for line in every)] == []
    assert [first for first in SHOWN if not any(f.code.startswith(first) for f in FENCES)] == []
    assert [part for part in SAVED if not any(part in f.code for f in FENCES)] == []
    assert set(BEFORE) | set(NAMES) <= {page.name for page in PAGES}
    lines = [*COMMANDS, *(line for lines in BEFORE.values() for line in lines)]
    used = {kind(cut(line)[1]) for line in lines if reason(line) is None and cut(line)[1]}
    assert set(SMALL) - used == {"demo"}  # which `make demo` is


@pytest.mark.parametrize("line", [line for line in COMMANDS if cut(line)[1]])
def test_commands_are_ones_of_the_program(line: str) -> None:
    """Its arguments, options and their kinds of values; for those that are not run this is all."""
    _, words = cut(line)
    command, context = typer.main.get_command(app), None
    while hasattr(command, "commands"):
        context = command.context_class(command, parent=context)
        assert words[0] in command.commands, line
        command = command.commands[words.pop(0)]
    command.make_context(line, words, parent=context)


def test_targets_are_ones_of_the_makefile() -> None:
    targets = re.findall(r"^([a-z-]+):", Path("Makefile").read_text("utf-8"), re.MULTILINE)
    asked = [line.split()[1] for line in COMMANDS if line.startswith("make ")]
    assert asked and set(asked) <= set(targets)


# The pages, carried out.


def corpora(data: Path) -> None:
    """The public corpora that pages name, as small files of the same kind."""
    for name in ("nus-sms", "tatoeba-en", "common-voice-en"):
        entry = catalogue.find(name)
        (data / entry.folder).mkdir(parents=True, exist_ok=True)
        (file,) = entry.files
        people = write_corpus(data / "people.jsonl")
        text = people.read_text("utf-8")
        if entry.kind != "users":
            text = "".join(
                sentence.capitalize() + " , said New York .\n"
                for sentence in re.findall(r'"text": "(.*?)"', text)
            )
        people.unlink()
        (data / entry.folder / file.name).write_text(text, "utf-8")


class Visitor:
    """Somebody who does what a page says, in a folder of their own."""

    def __init__(self, tacit: Commands, patch: pytest.MonkeyPatch, folder: Path) -> None:
        self.tacit, self.patch, self.folder = tacit, patch, folder
        write_corpus(folder / "messages.jsonl", messages=24)
        (folder / "messages.jsonl.gz").write_bytes(gzip.compress((folder / "messages.jsonl").read_bytes()))
        (folder / "docs").mkdir()
        for name, content in GIVEN.items():
            (folder / name).write_text(content, "utf-8")
        corpora(folder / "data")
        patch.chdir(folder)
        patch.setenv("TACIT_DATA", str(folder / "data"))
        patch.setattr(ThreadingHTTPServer, "serve_forever", self._interrupted)
        patch.setattr(building, "SENTENCES", 10)  # `tacit serve` distils a model for the page
        patch.setattr(
            demo, "CONTEXTS", ("", "are you", "<b>")
        )  # as in test_demo.py, whose programs are the same
        patch.setattr(demo, "PERSONAL", replace(demo.PERSONAL, batches=(5,)))

    @staticmethod
    def _interrupted(server: object, *options: object) -> None:
        raise KeyboardInterrupt

    def command(self, line: str) -> None:
        if reason(line):
            return
        variables, words = cut("tacit demo --out runs/demo" if line == "make demo" else line)
        if "--user" in words:  # the demo in small leaves models of other people
            tuned = sorted(Path("runs/demo/personal/models").glob("*.safetensors"))
            words[words.index("--user") + 1] = tuned[0].stem
        if name := kind(words):
            words += SMALL[name]
        with pytest.MonkeyPatch.context() as here:
            for variable, value in variables.items():
                here.setenv(variable, value)
            self.tacit.ok(*words)

    def save(self, fence: Fence) -> None:
        for part, name in SAVED.items():
            if part in fence.code:
                small = "".join(f'"{k}" = {v}\n' for k, v in (s.split("=") for s in (*TINY, *PEOPLE)))
                code = fence.code.replace("[settings]", f"[settings]\n{small}#").replace(
                    'rounds" = 20', 'rounds" = 1'
                )
                Path(name).write_text(code, "utf-8")


@pytest.fixture(scope="session")
def small_demo(compiled: Path) -> Path:
    """Where `make demo` in small is kept, which most pages begin with; the workers of a suite share it."""
    return compiled.with_name("demo")


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted({fence.page for fence in FENCES}))
def test_the_page_does_what_it_says(
    page: str, tacit: Commands, small_demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = [fence for fence in FENCES if fence.page == page]
    visitor = Visitor(tacit, monkeypatch, tmp_path)
    if any("runs/demo" in fence.code for fence in mine):
        with small_demo.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not small_demo.exists():
                visitor.command("make demo")
                shutil.copytree("runs/demo", small_demo)
        shutil.copytree(small_demo, "runs/demo", dirs_exist_ok=True)
    for line in BEFORE.get(page, []):
        visitor.command(line)
    names: dict[str, Any] = {"__name__": "__page__", **NAMES.get(page, {})}
    for fence in mine:
        visitor.save(fence)
        if fence.language == "python":
            if "import kenlm" in fence.code and not find_spec("kenlm"):
                continue  # the rest of the page does not need it
            exec(compiled_fence(fence), names)
        elif fence.language in ("", "sh") and not fence.shown:
            for line in fence.lines():
                visitor.command(line)


def compiled_fence(fence: Fence) -> CodeType:
    """Its code, with the page and the line where an error of it is."""
    future = __import__("__future__").annotations.compiler_flag  # a definition may name types of elsewhere
    code = fence.code.replace(*SHORTER[fence.page]) if fence.page in SHORTER else fence.code
    return compile(
        "\n" * fence.number + code, str(HERE / fence.page), "exec", flags=future, dont_inherit=True
    )
