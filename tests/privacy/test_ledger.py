"""The ledger: what is written is read, what is damaged is refused, and why a run has no ε."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import pytest

from tacit.base.errors import TacitError
from tacit.privacy import ledger
from tacit.privacy.ledger import Release, append, inherited, no_epsilon, read


def one(t: int | None = 1, **fields: object) -> Release:
    given = {"noise_multiplier": 1.0, "sampling": "poisson", "rate": 0.01, "clip": 0.5, **fields}
    return Release("round", given.pop("mechanism", "gaussian"), t, **given)


def test_what_is_appended_is_read(tmp_path: Path) -> None:
    path = tmp_path / ledger.NAME
    releases = [
        one(1, noise_digest="ab12", denominator=100.0),
        one(1),  # the round again
        Release("counts", "laplace", noise_multiplier=2.0, clip=1000.0),
        Release("round", "matrix", 2, 3.5, "separated", 1.0, 0.1, 10, 100, 6.8),
        Release("vocabulary", "none", reason="built from everybody's text"),
    ]
    assert read(path) == []
    for release in releases:
        append(path, release)
    assert read(path) == releases
    assert len(path.read_text().splitlines()) == len(releases)
    assert inherited(tmp_path / "counts.tsv") == releases and inherited(tmp_path / "x" / "words.txt") == []


def test_a_line_is_on_disk_when_append_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed = []
    real = os.fsync

    def fsync(number: int) -> None:
        flushed.append(str(Path(f"/proc/self/fd/{number}").readlink()))
        real(number)

    monkeypatch.setattr(os, "fsync", fsync)
    append(tmp_path / ledger.NAME, one())
    assert flushed == [str(tmp_path / ledger.NAME), str(tmp_path)]  # the line, then the name of the new file


def test_a_line_cut_short_was_never_published(tmp_path: Path) -> None:
    path = tmp_path / ledger.NAME
    append(path, one(1))
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:20])
    assert read(path) == [one(1)]
    append(path, one(2))
    assert read(path) == [one(1), one(2)]
    assert path.read_bytes().startswith(whole)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"noise_multiplier": -1}, "noise_multiplier"),
        ({"noise_multiplier": math.nan}, "noise_multiplier"),
        ({"noise_multiplier": "1"}, "noise_multiplier"),
        ({"noise_multiplier": True}, "noise_multiplier"),
        ({"mechanism": "magic"}, "mechanism"),
        ({"sampling": "shuffled"}, "sampling"),
        ({"rate": 0}, "rate"),
        ({"rate": 1.5}, "rate"),
        ({"rate": None}, "rate"),
        ({"round": 0}, "round"),
        ({"round": 1.5}, "round"),
        ({"clip": 0}, "clip"),
        ({"clip": math.inf}, "clip"),
        ({"participations": 0}, "participations"),
        ({"separation": -3}, "separation"),
        ({"sensitivity": 0.0}, "sensitivity"),
        ({"denominator": 0}, "denominator"),
        ({"delta": 1}, "delta"),
        ({"noise_digest": 5}, "noise_digest"),
        ({"reason": None}, "reason"),
        ({"what": ""}, "what"),
        ({"epsilon": 1}, "epsilon"),
    ],
)
def test_a_damaged_field_is_refused(tmp_path: Path, change: dict, named: str) -> None:
    path = tmp_path / ledger.NAME
    append(path, one(1))
    record = json.loads(path.read_text()) | change
    with path.open("a") as file:
        file.write(json.dumps(record) + "\n")
    with pytest.raises(TacitError, match=f"line 2: .*{named}"):
        read(path)


@pytest.mark.parametrize("line", ["", "{", "[]", "1", '{"what": "round"}', "[" * 100_000, "\xff"])
def test_a_damaged_line_is_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / ledger.NAME
    path.write_bytes(line.encode("latin-1") + b"\n")
    with pytest.raises(TacitError, match="line 1") as error:
        read(path)
    assert "\n" not in str(error.value)


def test_a_wrong_release_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(TacitError, match="rate"):
        append(tmp_path / ledger.NAME, one(rate=2.0))
    assert not (tmp_path / ledger.NAME).exists()
    (tmp_path / ledger.NAME).mkdir()
    with pytest.raises(TacitError, match="cannot be read"):
        read(tmp_path / ledger.NAME)
    with pytest.raises(TacitError, match="cannot write"):
        append(tmp_path / ledger.NAME, one())


@pytest.mark.parametrize(
    ("releases", "why"),
    [
        ([], "no release"),
        ([one(reason="noise of β = 0.01 without clipping")], "β = 0.01"),
        ([one(reason="its noise comes from a seed")], "seed"),
        ([one(clip=None)], "clip"),
        ([one(noise_multiplier=0.0)], "no noise"),
        ([one(noise_multiplier=None)], "no noise"),
        ([one(), Release("vocabulary", "none")], "vocabulary: it was released without noise"),
        ([one(1, noise_digest="a"), one(2, noise_digest="a")], "round 2: its noise was used before"),
        ([one(mechanism="matrix", participations=3, separation=2)], "sensitivity"),
    ],
)
def test_why_there_is_no_epsilon(releases: list[Release], why: str) -> None:
    assert why in no_epsilon(releases)


def test_noise_without_a_hash_is_not_noise_used_twice() -> None:
    assert no_epsilon([one(1), one(2), one(3, noise_digest="a"), one(4, noise_digest="b")]) == ""
