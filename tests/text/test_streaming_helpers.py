"""Helper processes of the reader: what they are told and answer, in order; that they end with the work."""

from __future__ import annotations

import io
import os
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.base.errors import TacitError
from tacit.text import corpus, parallel, wire
from tacit.text.typists import Typists, TypistsConfig


def test_what_goes_through_a_pipe_comes_out_again() -> None:
    sent = [
        None, True, -3, 0.5, "ü\ud800", b"\x00\xff", [], (), ["a", "b"], [1, ["c"], (None,)], Path("a/b"),
        np.zeros((0, 3), np.int32), np.arange(6, dtype=">i2").reshape(2, 3).T, np.array(["ab", "c"]), np.float32(2.5),
        partial(pow, 3), abs, corpus.from_messages("demo", {"ana": ["hi", "yes"]}), Typists(TypistsConfig(users=3)),
        TacitError("no"), UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
    ]  # fmt: skip
    pipe = io.BytesIO()
    for value in sent:
        wire.dump(value, pipe)
    pipe.seek(0)
    for value in sent:
        got = wire.load(pipe)
        if isinstance(value, np.ndarray):
            assert got.dtype == value.dtype and got.flags.writeable
            np.testing.assert_array_equal(got, value)
        elif isinstance(value, partial):
            assert got(2) == 9
        elif isinstance(value, BaseException):
            assert type(got) is type(value) and got.args == value.args
        elif hasattr(value, "messages"):
            assert type(got) is type(value) and [m.text for m in got.messages(0)] == [
                m.text for m in value.messages(0)
            ]
        else:
            assert (got == value and type(got) is type(value)) or isinstance(value, np.generic)
    with pytest.raises(EOFError):
        wire.load(pipe)
    for value in (["x" * 50], [b"x" * 50]):  # in the middle of an answer
        with pytest.raises(EOFError):
            wire.load(_cut(value))


def _cut(value: object) -> io.BytesIO:
    pipe = io.BytesIO()
    wire.dump(value, pipe)
    return io.BytesIO(pipe.getvalue()[:-1])


def test_answers_come_in_order_and_errors_in_their_turn() -> None:
    def blocks() -> Iterator[Any]:
        yield from range(20)
        raise TacitError("the blocks ended badly")

    found = []
    with pytest.raises(TacitError, match="ended badly"):
        for answer in parallel.in_order(partial(pow, 3), blocks(), helpers=2):
            found.append(answer)
    assert found == [3**n for n in range(20)]
    with pytest.raises(TypeError):  # the work's own error, from another process
        list(parallel.in_order(partial(pow, 3), [1, "two", 3], helpers=2))


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
def test_helpers_end_with_the_work() -> None:
    before = children()
    answers = parallel.in_order(abs, iter(range(10**9)), helpers=2)  # never all of them
    assert [next(answers) for _ in range(3)] == [0, 1, 2]
    assert len(children() - before) == 2
    answers.close()
    assert children() <= before
    answers = parallel.in_order(time.sleep, [60, 60], helpers=2)
    with (
        pytest.MonkeyPatch.context() as patch
    ):  # a helper that is killed, as one that takes too much memory is
        compute = parallel._Helper.compute
        patch.setattr(
            parallel._Helper, "compute", lambda self, block: (self._process.kill(), compute(self, block))[1]
        )
        with pytest.raises(TacitError, match="was killed"):
            next(answers)
    assert children() <= before
