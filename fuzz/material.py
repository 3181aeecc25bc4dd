"""The material of the trials: two small corpora, a tiny run, and every kind of file that is made from it.

It is made once by the commands themselves, in .fuzz/material, and again when Tacit's source changes.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parents[1]
FOLDER = HERE / ".fuzz"
COMPILED = FOLDER / "compiled"  # JAX's compiled programs: the same tiny ones are needed again and again
TEXT = (
    "are you coming home now i am late so see them there soon ok thanks for that really good "
    "day what time is it we could go out tonight if they want to eat pizza or maybe not"
)
WORDS = TEXT.split()


class Material(NamedTuple):
    """Where the files are."""

    folder: Path

    @property
    def messages(self) -> Path:
        """A corpus of twelve people."""
        return self.folder / "messages.jsonl"

    @property
    def other(self) -> Path:
        """A corpus of twelve others."""
        return self.folder / "other.jsonl"

    @property
    def chat(self) -> Path:
        """An exported chat."""
        return self.folder / "chat.txt"

    @property
    def run(self) -> Path:
        """A run directory, with personal models."""
        return self.folder / "run"

    @property
    def pieces(self) -> Path:
        """A run directory over word-pieces."""
        return self.folder / "pieces"

    @property
    def ngram(self) -> Path:
        """The directory of a distilled model."""
        return self.folder / "ngram"

    @property
    def compact(self) -> Path:
        """A compact n-gram file."""
        return self.ngram / "model.tacit"

    @property
    def arpa(self) -> Path:
        """An ARPA file."""
        return self.ngram / "model.arpa"

    @property
    def network8(self) -> Path:
        """A network with 8 bits per weight."""
        return self.folder / "network.tacit"

    @property
    def counts(self) -> Path:
        """The directory of counted words."""
        return self.folder / "counts"

    @property
    def sweep(self) -> Path:
        """A sweep over settings."""
        return self.folder / "sweep.toml"

    @property
    def results(self) -> Path:
        """Results of an experiment."""
        return self.folder / "results"

    @property
    def plan(self) -> Path:
        """A privacy plan."""
        return self.folder / "plan.json"

    @property
    def federation(self) -> Path:
        """The directory of a federation with two clients and two runs (`fuzz.federations`)."""
        return self.folder / "federation"

    @property
    def invitation(self) -> Path:
        """The invitation of one of them; its journal lies beside it."""
        return self.folder / "ana.invitation"


CHAT = """\
31/01/2024, 21:15 - Messages and calls are end-to-end encrypted.
31/01/2024, 21:15 - ana: are you coming home now
31/01/2024, 21:16 - bo: see you
there soon
"""
SWEEP = """\
[settings]
preset = "fedadam"
"training.rounds" = 2

[[grid]]
label = "server rate {server.lr}"
"server.lr" = [0.01, 0.05]

[[metrics]]
name = "perplexity"
label = "test perplexity"
form = "{:.1f}"
"""


def environment() -> dict[str, str]:
    """Returns the environment of Tacit's processes: this source, no network, compiled programs kept."""
    dropped = ("TACIT_", "JAX_", "XLA_", "PYTHON")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(dropped)}
    nowhere = "http://127.0.0.1:9"  # the port of the discard service: nothing listens
    return kept | {
        "PYTHONPATH": str(HERE / "src"),
        "JAX_COMPILATION_CACHE_DIR": str(COMPILED),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        "XDG_STATE_HOME": str(FOLDER / "state"),  # where it is remembered that the material was made here
        "BROWSER": "true",
        "PYTHONDONTWRITEBYTECODE": "1",
        **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), nowhere),
    }


def material() -> Material:
    """Returns the material, made if it is missing or of another source."""
    made = Material(FOLDER / "material")
    key = _source_hash()
    mark = made.folder / "made-from"
    if mark.is_file() and mark.read_text("utf-8") == key:
        return made
    shutil.rmtree(made.folder, ignore_errors=True)
    made.folder.mkdir(parents=True)
    _make(made)
    mark.write_text(key, "utf-8")
    return made


def write_corpus(path: Path, shift: int, people: int = 12, messages: int = 24) -> None:
    """Writes JSON lines: everybody types as many messages of six words, no two alike."""
    with path.open("w", encoding="utf-8") as file:
        for person in range(people):
            for m in range(messages):
                start = person * 7 + m * 3 + shift
                words = [WORDS[(start + i * (1 + person % 3)) % len(WORDS)] for i in range(6)]
                record = {"user": f"u{person + shift:02d}", "text": " ".join(words), "time": m}
                file.write(json.dumps(record) + "\n")


def _make(m: Material) -> None:
    from fuzz import federations
    from fuzz.commands import PLAIN, sets

    write_corpus(m.messages, 0)
    write_corpus(m.other, 20)
    m.sweep.write_text(SWEEP, "utf-8")
    m.chat.write_text(CHAT, "utf-8")
    federations.make(m)

    def made(name: str, out: Path) -> None:
        tacit(*PLAIN[name].arguments(m, out))

    def spelled() -> None:
        settings = ("model.embedding=8", "model.hidden=8", "sampling.clients=3", "client.batch=4")
        pieces = ("text.vocabulary=0", "text.pieces=40", f"text.inventory={m.counts}")
        more = sets(*settings, *pieces, f"text.corpus={m.messages}", "training.rounds=1")
        tacit("train", "fedavg", "--out", str(m.pieces), *more)

    # two at a time, as there are two cores; first what others need
    both(lambda: made("train", m.run), lambda: made("count", m.counts))
    both(
        spelled,
        lambda: made("personalize", m.run / "personal"),
        lambda: made("distill", m.ngram),
        lambda: made("reproduce", m.results),
        lambda: made("export", m.network8),
        lambda: made("privacy plan", m.plan),
    )


def both(*calls: Callable[[], object]) -> None:
    """Makes calls that wait for processes, two at a time; raises the first error of one."""
    with ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(call) for call in calls]:
            future.result()


def tacit(*arguments: str) -> None:
    """Runs a command that must end well."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "tacit", *arguments],
        env=environment(),
        cwd=FOLDER,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"the material cannot be made: tacit {' '.join(arguments)}: {done.stderr.strip()}")


def _source_hash() -> str:
    digest = hashlib.sha256()
    for path in sorted([*(HERE / "src").rglob("*.py"), *(HERE / "src").rglob("*.toml"), Path(__file__)]):
        digest.update(path.read_bytes())
    for name in ("commands.py", "federations.py"):
        digest.update((Path(__file__).with_name(name)).read_bytes())
    return digest.hexdigest()
