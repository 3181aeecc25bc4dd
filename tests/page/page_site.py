"""Small models of the built-in typists, a server in a thread, and where Chromium is: for the tests of the page."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from tacit.distillation.sampling import Sentences
from tacit.distillation.topology import from_corpus
from tacit.ngram.compact import writer
from tacit.page import server
from tacit.text.packed import Packed
from tacit.text.prepare import PartitionConfig, TextConfig, prepare
from tacit.text.typists import TypistsConfig
from tacit.text.vocabulary import Vocabulary


class Small(NamedTuple):
    """A model of the built-in typists in a compact file, and text of people it never saw."""

    path: Path
    vocabulary: Vocabulary
    test: Packed


def kneser_ney(path: Path, case: str, users: int = 40) -> Small:
    text = TextConfig(vocabulary=0, case=case)  # type: ignore[arg-type]
    ready = prepare(text, PartitionConfig(), TypistsConfig(users=users, messages=60), seed=0)
    assert isinstance(ready.clients, Packed)
    pooled = Sentences(ready.clients.tokens.astype(np.int64), ready.clients.offsets)
    words = ready.vocabulary
    model = from_corpus(pooled, len(words), 3, 12_000)
    writer.write(path, words, model, name=f"typists, {case}", hidden=["pizza"])
    return Small(path, words, ready.test)


class Counted(dict[str, Any]):
    """Files of a server that remember what was asked for."""

    def __init__(self, files: server.Site) -> None:
        super().__init__(files)
        self.asked: list[str] = []

    def get(self, path: str, default: Any = None) -> Any:
        self.asked.append(path)
        return super().get(path, default)


@contextmanager
def running(files: server.Site, host: str = "127.0.0.1") -> Iterator[str]:
    """A server of these files in a thread; gives its address."""
    found = server.server(files, host)
    thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server.address(found)
    finally:
        found.shutdown()
        thread.join()
        found.server_close()


def chromium() -> str:
    """Where the system's Chromium is."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    pytest.skip("Chromium is not installed; `make test` installs it where it may (apt-get install chromium)")


class Visit(NamedTuple):
    """A page that was opened, what it asked the network for, and what it complained of."""

    page: Any
    requests: list[str]
    complaints: list[str]
