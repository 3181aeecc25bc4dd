"""Files that a user names: a pipe is read once and kept, a device, which may never end, is refused."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tacit.base.errors import TacitError
from tacit.experiments import entry
from tacit.lm.open import open as open_model
from tacit.runs import config
from tacit.text import pieces, sources, word_list

ENDLESS = Path("/dev/zero")


@pytest.mark.parametrize(
    "read",
    [
        lambda path: word_list.words_of(path, "list", lambda word: False),
        lambda path: pieces.inventory(path, 40),
        lambda path: config.read_tables(str(path)),
        lambda path: entry.find(str(path)),
        open_model,
    ],
)
@pytest.mark.parametrize("suffix", [".toml", ".arpa", ".tacit", ".model"])
@pytest.mark.skipif(not ENDLESS.exists(), reason="needs a device that never ends")
def test_a_device_is_refused(tmp_path: Path, read: Callable[[Path], object], suffix: str) -> None:
    (tmp_path / f"a{suffix}").symlink_to(ENDLESS)
    with pytest.raises(TacitError):
        read(tmp_path / f"a{suffix}")


def test_a_pipe_is_read_once_and_kept(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "words")
    writer = threading.Thread(target=lambda: (tmp_path / "words").write_text("see\nyou\n"))
    writer.start()
    for _ in range(2):
        assert word_list.words_of(tmp_path / "words", "list", lambda word: False) == ["see", "you"]
    assert sources.read(tmp_path / "words") == b"see\nyou\n"
    writer.join()


def test_a_model_in_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    for name in ("a.tacit", "a.arpa", "a"):
        os.mkfifo(tmp_path / name)
        with pytest.raises(TacitError, match="is neither a file nor a directory; copy the model into a file"):
            open_model(tmp_path / name)
