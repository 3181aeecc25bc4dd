"""The QR code of an invitation, read back by a reader of its own: ISO/IEC 18004, versions 1 to 5 with one block."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tacit.network import federation
from tacit.network.links import link, picture

pytest.importorskip("segno")
BORDER = 4
DATA = {21: 19, 25: 34, 29: 55, 33: 80, 37: 108}  # bytes of data at level L, by size
MASKS = (
    lambda r, c: (r + c) % 2,
    lambda r, c: r % 2,
    lambda r, c: c % 3,
    lambda r, c: (r + c) % 3,
    lambda r, c: (r // 2 + c // 3) % 2,
    lambda r, c: r * c % 2 + r * c % 3,
    lambda r, c: (r * c % 2 + r * c % 3) % 2,
    lambda r, c: ((r + c) % 2 + r * c % 3) % 2,
)


def modules(drawn: str) -> list[list[bool]]:
    """The dark modules of half blocks, without the border."""
    rows: list[list[bool]] = []
    for line in drawn.splitlines():
        rows += [[mark not in "█▀" for mark in line], [mark not in "█▄" for mark in line]]
    size = len(rows[0]) - 2 * BORDER
    return [row[BORDER : BORDER + size] for row in rows[BORDER : BORDER + size]]


def read(drawn: str) -> str:
    """The text of a QR code."""
    dark = modules(drawn)
    size = len(dark)
    level_and_mask = [dark[8][c] for c in range(5)]  # of the format, before its own mask 10101
    bits = [a != b for a, b in zip(level_and_mask, (True, False, True, False, True), strict=True)]
    assert bits[:2] == [False, True]  # level L
    flips = MASKS[4 * bits[2] + 2 * bits[3] + bits[4]]

    def is_data(r: int, c: int) -> bool:
        finder = (r < 9 and (c < 9 or c >= size - 8)) or (r >= size - 8 and c < 9)
        alignment = size > 21 and abs(r - size + 7) <= 2 and abs(c - size + 7) <= 2
        return not (finder or alignment or 6 in (r, c))

    stream, upwards, column = "", True, size - 1
    while column > 0:
        column -= column == 6  # the vertical timing pattern
        for r in range(size - 1, -1, -1) if upwards else range(size):
            for c in (column, column - 1):
                if is_data(r, c):
                    stream += str(int(dark[r][c] != (flips(r, c) == 0)))
        upwards, column = not upwards, column - 2
    data = bytes(int(stream[8 * i : 8 * i + 8], 2) for i in range(DATA[size]))
    assert data[0] >> 4 == 4  # bytes
    length = (data[0] & 15) << 4 | data[1] >> 4
    whole = int.from_bytes(data, "big") >> 4
    return (whole.to_bytes(len(data), "big")[2 : 2 + length]).decode()


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:8095", "https://keyboard.a-rather-long-name.example.org"]
)
def test_the_qr_code_of_an_invitation_is_its_link(tmp_path: Path, address: str) -> None:
    federation.init(tmp_path / "home")
    asked = ["federation", "invite", str(tmp_path / "home"), "zoe", "--browser", address, "--qr"]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    said, _, drawn = done.output.partition("\n")
    assert said.startswith(link(address, "")) and read(drawn) == said
    assert read(picture("https://x.org/part/#join=a")) == "https://x.org/part/#join=a"


def test_a_qr_code_is_for_browsers(tmp_path: Path) -> None:
    federation.init(tmp_path / "home")
    done = CliRunner().invoke(
        app, ["federation", "invite", str(tmp_path / "home"), "a", "--out", "x", "--qr"]
    )
    assert done.exit_code != 0 and not (tmp_path / "x").exists()
