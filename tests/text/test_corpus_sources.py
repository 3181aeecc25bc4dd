"""What a corpus is read from: pipes, devices, fields and lines far longer than any message."""

from __future__ import annotations

import json
import os
import threading
import tracemalloc
from pathlib import Path

import pytest

from tacit.base.errors import TacitError
from tacit.keyboard import lexicon
from tacit.text import lines
from tacit.text.corpus import Corpus, read
from tacit.text.sources import opened


def piped(path, content: bytes) -> None:
    """Makes a FIFO and writes into it from another thread, once."""
    os.mkfifo(path)
    threading.Thread(target=path.write_bytes, args=(content,), daemon=True).start()


def test_a_pipe_is_a_corpus(tmp_path):
    lines = [json.dumps({"user": "ana", "text": f"hello {i}"}) for i in range(3)]
    piped(tmp_path / "63", "\n".join(lines).encode())
    corpus = read(tmp_path / "63")  # its kind is judged by its first line, and then all of it is read
    assert isinstance(corpus, Corpus)
    assert [m.text for m in corpus.messages(0)] == ["hello 0", "hello 1", "hello 2"]
    assert read(tmp_path / "63").users == ("ana",)  # and again, though the pipe is empty now


def test_a_device_is_refused_for_it_may_never_end():
    with pytest.raises(TacitError, match="/dev/zero: is not a file but a device"):
        opened(Path("/dev/zero"))


@pytest.mark.parametrize("time", ['"2024-01-01T' + "x" * 100_000 + '"', "1" * 4000])
def test_one_long_time_takes_no_memory_of_the_others(tmp_path, time):
    usual = '{"user": "u", "text": "hi", "time": %s}\n'
    rest = usual % ('"2024-01-01"' if time.startswith('"') else "1")
    (tmp_path / "long.jsonl").write_text(rest * 500 + usual % time + rest * 500)
    tracemalloc.start()
    try:
        with pytest.raises(TacitError, match=r'line 501: "time" has [0-9,]+ characters; .* at most 64'):
            read(tmp_path / "long.jsonl")
        assert tracemalloc.get_traced_memory()[1] < 3e6
    finally:
        tracemalloc.stop()


def test_a_file_without_line_feeds_does_not_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "_LONGEST", 1 << 12)
    (tmp_path / "disk.txt").write_bytes(b"short\n" + b"a" * 100_000)
    with pytest.raises(TacitError, match=r"disk\.txt, line 2: longer than"):
        list(lines.blocks(tmp_path / "disk.txt", size=1 << 12))


def test_one_long_word_takes_no_memory_of_a_lexicon():
    tracemalloc.start()
    try:
        words = [*(f"a{'bcdefghij'[i % 9]}{'klmnopq'[i % 7]}" for i in range(63)), "z" * 100_000]
        built = lexicon.build(words, range(3, 3 + len(words)))
        assert len(built) == 63
        assert tracemalloc.get_traced_memory()[1] < 3e6
    finally:
        tracemalloc.stop()
