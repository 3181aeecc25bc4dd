"""Files of 8-bit networks that are damaged, forged or cannot be written: refused in one line, and harmless."""

from __future__ import annotations

import json
import struct
import tracemalloc
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from commands import file_size_limit, leftovers
from networks8 import KINDS, network, saved
from tacit.base.errors import TacitError
from tacit.base.sections import assemble, map_file
from tacit.lm.network8 import reader, writer
from tacit.lm.network8.model import network8_model

files = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)


def again(data: bytearray) -> bytes:
    """A file with its check made anew."""
    data[20:24] = struct.pack("<I", zlib.crc32(bytes(data[:20] + data[24:])))
    return bytes(data)


def refused(path: Path, *named: str) -> None:
    with pytest.raises(TacitError) as error:
        reader.open(path)
    assert "\n" not in str(error.value) and str(path) in str(error.value)
    for name in named:
        assert name in str(error.value)


def test_what_is_no_such_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "n.tacit"
    refused(path, "cannot read")
    path.write_bytes(b"")
    refused(path, "empty")
    path.write_bytes(b"TacitNG\n" + bytes(100))
    refused(path, "not an 8-bit network")
    data = saved(path, KINDS["gru"]).read_bytes()
    path.write_bytes(data[:8] + struct.pack("<I", 2) + data[12:])
    refused(path, "version 2", "update Tacit")
    for cut in (7, 9, 23, 24, 100, len(data) - 1):
        path.write_bytes(data[:cut])
        refused(path, "again")
    path.write_bytes(data + b"x")
    refused(path, "were written")
    path.unlink()
    path.mkdir()
    refused(path, "cannot read")


@files
@given(st.data())
def test_a_damaged_file_is_refused_and_a_forged_one_does_no_harm(tmp_path: Path, data: st.DataObject) -> None:
    path = saved(tmp_path / "n.tacit", KINDS["lstm groups"])
    whole = bytearray(path.read_bytes())
    at = data.draw(st.integers(24, len(whole) - 1))
    whole[at] ^= data.draw(st.integers(1, 255))
    path.write_bytes(whole)
    refused(path, "damaged")
    path.write_bytes(again(whole))
    try:
        stored = reader.open(path)
    except TacitError as error:
        assert "\n" not in str(error)
    else:
        found = network8_model(stored).suggest(["to", "be"])
        assert len(found) == 3 and all(0 <= p <= 1.001 for _, p in found)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("embedding", 10**30),
        ("hidden", -1),
        ("layers", True),
        ("kind", "cnn"),
        ("groups", 3),
        ("variant", "x"),
    ],
)
def test_facts_that_make_no_network_are_refused(tmp_path: Path, key: str, value: object) -> None:
    path = saved(tmp_path / "n.tacit", KINDS["gru"])
    whole = bytearray(path.read_bytes())
    offset, size = struct.unpack_from("<II", whole, 24 + 32)
    facts = json.loads(whole[offset : offset + size])
    facts["model"][key] = value
    # the new facts at the end, in a section that the table points at
    new = json.dumps(facts).encode()
    struct.pack_into("<II", whole, 24 + 32, len(whole), len(new))
    whole += new
    struct.pack_into("<I", whole, 16, len(whole))
    path.write_bytes(again(whole))
    refused(path, "do not fit together")


def test_sections_that_lie_are_refused_and_take_little_room(tmp_path: Path) -> None:
    path = saved(tmp_path / "n.tacit", KINDS["gru"])
    data, sections = path.read_bytes(), {}
    for name, (at, size) in map_file(path, reader.FORM)[1].items():
        sections[name] = data[at : at + size]
    words = zlib.decompress(sections["words"]).splitlines(keepends=True)
    for name, lie, said in (
        ("words", zlib.compress(b"\n" * (200 << 20), 9), "too long"),  # 200 kB that would fill gigabytes
        ("words", zlib.compress(b"\n" * (60 << 20), 9), "number of words"),
        ("words", zlib.compress(b"".join([words[0], *words[:-1]])), "not in order"),  # one of them twice
        ("words", zlib.compress(b"".join([b"\n", *words[1:]])), "not in order"),  # one of them empty
        ("words", sections["words"][:-1], "truncated"),
        ("meta", b"[" * 100_000, "fit together"),
    ):
        path.write_bytes(assemble(reader.FORM, {**sections, name: lie}))
        tracemalloc.start()
        refused(path, said)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert most < 4 * reader.MOST_TEXT, said


def test_numbers_too_great_for_the_file_are_refused(tmp_path: Path) -> None:
    words, params = network(KINDS["gru"])
    params["output_bias"][5] = 1e6
    with pytest.raises(TacitError, match="65,504"):
        writer.write(tmp_path / "n.tacit", words, KINDS["gru"], params, name="x")
    assert not list(tmp_path.iterdir())


def test_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    words, params = network(KINDS["gru"])
    with file_size_limit(1000), pytest.raises(TacitError, match="cannot write"):
        writer.write(tmp_path / "n.tacit", words, KINDS["gru"], params, name="x")
    assert not leftovers(tmp_path) and not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["gru untied, residual", "lstm groups"])
def test_scales_give_numbers_or_are_refused(tmp_path: Path, kind: str) -> None:
    """Weights so large that sums overflow would give probabilities that are no numbers."""
    path = saved(tmp_path / "n.tacit", KINDS[kind])
    data, places = map_file(path, reader.FORM)
    sections = {name: bytes(data[at : at + size]) for name, (at, size) in places.items()}
    outcomes = set()
    for name in [name for name in sections if name.endswith(".scale")]:
        for high in (1e3, 1e10, 1e20, 3e38):
            scale = struct.pack("<ff", 1e-3, high) + b"\xff" * (len(sections[name]) - 8)
            path.write_bytes(assemble(reader.FORM, sections | {name: scale}))
            try:
                suggested = network8_model(reader.open(path)).suggest(["to", "be"], 20)
            except TacitError as error:
                assert "may be no numbers" in str(error)
                outcomes.add((high, "refused"))
            else:
                assert all(0 <= p <= 1.001 for _, p in suggested)
                outcomes.add((high, "opened"))
    assert {(1e3, "opened"), (3e38, "refused")} <= outcomes and (3e38, "opened") not in outcomes
