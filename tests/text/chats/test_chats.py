"""`tacit data import`: exports as phones write them, what is left out of them, and files that are none."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from commands import Commands
from tacit.base.errors import TacitError
from tacit.text import corpus
from tacit.text.chats import imports, message, sms
from tacit.text.chats.imports import import_chat

ANDROID = """\
31/01/2024, 21:15 - Messages and calls are end-to-end encrypted. Tap to learn more.
31/01/2024, 21:15 - Ana created group "Trip: May"
31/01/2024, 21:15 - Ana: see you: soon
01/02/2024, 08:05 - Bo Dahl: two lines

of one message
01/02/2024, 08:06 - Bo Dahl: <Media omitted>
01/02/2024, 08:06 - Bo Dahl: IMG-20240201-WA0001.jpg (file attached)
the view from here
01/02/2024, 08:07 - Ana: This message was deleted
01/02/2024, 08:08 - Ana changed the subject from "a: b" to "c: d"
01/02/2024, 08:09 - Ana: ok <This message was edited>
01/02/2024, 08:10 - +49 151 1234567: 😂 <3
"""


def written(
    tmp_path: Path, text: str | bytes, me: str | None = None
) -> tuple[list[list[str]], imports.Imported]:
    """What an import writes, as [user, text, time]."""
    file, out = tmp_path / "export", tmp_path / "messages.jsonl"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    out.unlink(missing_ok=True)  # another export's messages are not replaced
    found = import_chat(file, out, me)
    records = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert all(list(record) == ["user", "text", "time"] for record in records)
    assert sum(found.people.values()) == len(records)
    read = corpus.read(out)  # as every command reads it
    assert sorted(m.text for k in range(len(read)) for m in read.messages(k)) == sorted(
        r["text"] for r in records
    )
    return [list(record.values()) for record in records], found


def test_an_export_of_android(tmp_path: Path) -> None:
    records, found = written(tmp_path, ANDROID)
    assert records == [
        ["Ana", "see you: soon", "2024-01-31T21:15:00"],
        ["Bo Dahl", "two lines\n\nof one message", "2024-02-01T08:05:00"],
        ["Bo Dahl", "the view from here", "2024-02-01T08:06:00"],
        ["Ana", "ok", "2024-02-01T08:09:00"],
        ["+49 151 1234567", "😂 <3", "2024-02-01T08:10:00"],
    ]
    assert (found.kind, found.dates) == ("WhatsApp", "day, month, year")
    assert found.left_out == {"system lines": 3, "media": 1, "deleted messages": 1}
    only, found = written(tmp_path, ANDROID, me="Ana")
    assert only == [records[0], records[3]] and found.left_out["of other people"] == 3


@pytest.mark.parametrize(
    ("lines", "times", "dates"),
    [
        (["[31.01.24, 21:15:33] A: x"], ["2024-01-31T21:15:33"], "day, month, year"),
        (["\u200e[1/31/24, 9:15:33\u202fPM] A: x"], ["2024-01-31T21:15:33"], "month, day, year"),
        (["1/31/24, 12:05 AM - A: x"], ["2024-01-31T00:05:00"], "month, day, year"),
        (["2024-01-31, 21.15 - A: x"], ["2024-01-31T21:15:00"], "year, month, day"),
        (["31/01/2024 21:15 - A: x"], ["2024-01-31T21:15:00"], "day, month, year"),
        (["31/01/2024 às 21:15 - A: x"], ["2024-01-31T21:15:00"], "day, month, year"),
        (["31/1/24 9:15 p.\u00a0m. - A: x"], ["2024-01-31T21:15:00"], "day, month, year"),
        # no day above 12: the order of time tells, then the clock
        (["02/03/24, 10:00 - A: x", "01/04/24, 10:00 - A: y"], ["2024-03-02T10:00:00", "2024-04-01T10:00:00"],
         "day, month, year"),
        (["03/02/24, 10:00 - A: x", "04/01/24, 10:00 - A: y"], ["2024-03-02T10:00:00", "2024-04-01T10:00:00"],
         "month, day, year"),
        (["3/4/24, 9:15 PM - A: x"], ["2024-03-04T21:15:00"], "month, day, year"),
        (["3/4/24, 9:15 pm - A: x"], ["2024-04-03T21:15:00"], "day, month, year"),
        (["3/4/24, 21:15 - A: x"], ["2024-04-03T21:15:00"], "day, month, year"),
    ],
)  # fmt: skip
def test_dates_as_regions_write_them(tmp_path: Path, lines: list[str], times: list[str], dates: str) -> None:
    records, found = written(tmp_path, "\r\n".join(lines) + "\r\n")
    assert [record[2] for record in records] == times and found.dates == dates
    assert {record[0] for record in records} == {"A"}


def test_an_iphone_marks_what_nobody_typed(tmp_path: Path) -> None:
    head = "[31/01/2024, 21:15:33]"
    lines = [
        f"{head} Ana: \u200eMessages and calls are end-to-end encrypted.",
        f"\u200e{head} Ana: \u200eimage omitted",
        f"\u200e{head} Ana: \u200e<attached: 00000012-PHOTO.jpg>",
        f"{head} ~\u202fAna: typed \u200e<This message was edited>",
        f"{head} Ana: <b>bold</b> and <html>",
    ]
    records, found = written(tmp_path, "\n".join(lines))
    assert [record[:2] for record in records] == [["Ana", "typed"], ["Ana", "<b>bold</b> and <html>"]]
    assert found.left_out == {"system lines": 1, "media": 2}


def test_telegram(tmp_path: Path) -> None:
    base = {"id": 1, "type": "message", "date": "2024-01-31T21:15:33", "from": "Ana", "from_id": "user1"}
    parts = ["see ", {"type": "link", "text": "tacit.example"}, " \ud83d"]
    chat = {
        "name": "Trip",
        "messages": [
            {"id": 0, "type": "service", "actor": "Ana", "action": "create_group", "text": ""},
            base | {"text": "hi"},
            base | {"text": parts, "from": "Bo", "from_id": "user2"},
            base | {"text": "", "photo": "photos/1.jpg"},
            base | {"text": "not mine", "forwarded_from": "Cy"},
            base | {"text": "a bot's", "via_bot": "@gif"},
            base | {"text": "another Bo", "from": "Bo", "from_id": "user3"},
            base | {"text": "nobody", "from": None, "from_id": "user4"},
        ],
    }
    for value in (chat, {"about": "…", "chats": {"list": [chat]}}):
        records, found = written(tmp_path, json.dumps(value))
        assert [record[:2] for record in records] == [
            ["Ana", "hi"],
            ["Bo (user2)", "see tacit.example \ufffd"],
            ["Bo (user3)", "another Bo"],
            ["user4", "nobody"],
        ]
        assert records[0][2] == "2024-01-31T21:15:33" and found.kind == "Telegram"
        assert found.left_out == {"system lines": 1, "media": 1, "forwarded or from a bot": 2}


SMS = """<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>
<?xml-stylesheet type="text/xsl" href="sms.xsl"?>
<smses count="6">
  <sms address="+451" date="1706735733000" type="1" body="Hi &amp; bye&#10;you" contact_name="Ana" />
  <sms address="+451" date="1706735734999" type="2" body="ok &#55357;&#56834;&#55357;" contact_name="Ana" />
  <sms address="+452" date="1706735735000" type="1" body="who?" contact_name="(Unknown)" />
  <sms address="+452" date="1706735735000" type="3" body="not yet" contact_name="(Unknown)" />
  <mms date="1706735736000" msg_box="1" address="+451~+453" contact_name="Ana, Cy"><parts>
    <part ct="image/jpeg" data="AAAA"/><part ct="text/plain" text="look"/></parts>
    <addrs><addr address="+453" type="137"/><addr address="+450" type="151"/></addrs></mms>
  <mms date="1706735737000" msg_box="2" address="+451" contact_name="Ana"><parts>
    <part ct="image/jpeg" data="AAAA"/></parts><addrs/></mms>
</smses>
"""


def test_sms_backup(tmp_path: Path) -> None:
    records, found = written(tmp_path, gzip.compress(SMS.encode()))
    assert records == [
        ["Ana", "Hi & bye\nyou", "2024-01-31T21:15:33+00:00"],
        ["me", "ok 😂\ufffd", "2024-01-31T21:15:34+00:00"],
        ["+452", "who?", "2024-01-31T21:15:35+00:00"],
        ["+453", "look", "2024-01-31T21:15:36+00:00"],
    ]
    assert found.left_out == {"drafts": 1, "media": 1}
    assert written(tmp_path, SMS, me="me")[0] == records[1:2]


def test_halves_of_emoji_are_joined_wherever_a_file_is_cut() -> None:
    text = b"<a>" + b"&#55357;&#56834;x&#55357;y" * 9 + b"&#56834;</a>"
    whole = b"".join(sms._repaired([text]))
    assert whole.count(b"&#128514;") == 9 and whole.count(b"&#65533;") == 10
    for size in (1, 2, 3, 7, 8, 9, 16, 17):
        cut = [text[i : i + size] for i in range(0, len(text), size)]
        assert b"".join(sms._repaired(cut)) == whole, size


BAD = {
    "is empty": b" \n",
    "is a zip file": b"PK\x03\x04",
    "is a page": b"<!DOCTYPE html><html>",
    "line 1: 'see you' has no date": b"see you\n",
    "line 1: there is no such date": b"31/31/2024, 21:15 - Ana: x\n",
    "lines 1 and 2": b"31/01/2024, 21:15 - Ana: x\n01/31/2024, 21:15 - Ana: x\n",
    "no text that somebody typed": b"31/01/2024, 21:15 - Ana: <Media omitted>\n",
    "is not UTF-8": b"31/01/2024, 21:15 - Ana: \xff\n",
    "not valid JSON": b'{"messages": [',
    "nested too deeply": b'{"messages": ' + b"[" * 100_000,
    'neither "messages" nor "chats"': b"{}",
    "a chat has no list of messages": b'{"chats": {"list": [{"messages": 3}]}}',
    '"date" is 3': b'{"messages": [{"id": 7, "type": "message", "date": 3}]}',
    '"text" is': b'{"messages": [{"id": 7, "type": "message", "date": "2024-01-31", "text": [3]}]}',
    "has a DOCTYPE": b'<!DOCTYPE smses [<!ENTITY a "b"><!ENTITY c "&a;&a;">]><smses><sms body="&c;"/></smses>',
    "<calls> is not <smses>": b"<calls/>",
    "not valid XML (no element found)": b"<smses>",
    "not valid XML (undefined entity)": b'<smses><sms date="1" type="1" body="&a;"/></smses>',
    "date is 'x'": b'<smses><sms date="x" type="1" body="b"/></smses>',
    "gzip data ends early": gzip.compress(b"31/01/2024, 21:15 - Ana: x")[:-4],
    "damaged gzip": gzip.compress(b'{"messages": []}')[:-4],
}


@pytest.mark.parametrize("named", BAD)
def test_files_that_are_no_exports(tmp_path: Path, named: str) -> None:
    with pytest.raises(TacitError) as error:
        written(tmp_path, BAD[named])
    assert named in str(error.value) and "\n" not in str(error.value) and len(str(error.value)) < 400
    assert not (tmp_path / "messages.jsonl").exists()


def test_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message, "LONGEST", 100)
    with pytest.raises(TacitError, match="a message of 101 characters"):
        written(tmp_path, "31/01/2024, 21:15 - Ana: " + "a" * 101)
    with pytest.raises(TacitError, match="more than 0 MB; export fewer"):
        list(message.pieces(tmp_path / "export", 100))


def test_the_command(tacit: Commands, tmp_path: Path) -> None:
    file, out = tmp_path / "chat.txt", tmp_path / "messages.jsonl"
    file.write_text(ANDROID, "utf-8")
    told = tacit.ok("data", "import", file, "--out", out)
    assert "WhatsApp: 5 messages of 3 people (Ana 2, Bo Dahl 2, +49 151 1234567 1)" in told
    assert "day, month, year" in told and "3 system lines, 1 media, 1 deleted" in told and str(out) in told
    before = out.read_bytes()
    tacit.ok("data", "import", file, "--out", out)  # the same once more
    tacit("data", "import", file, "--out", out, "--me", "Bo Dahl").refused(
        "does not hold these messages", "remove it"
    )
    assert out.read_bytes() == before
    found = tacit.json("data", "import", file, "--out", tmp_path / "bo.jsonl", "--me", "Bo Dahl")
    assert isinstance(found, dict) and found["people"] == {"Bo Dahl": 2}
    tacit("data", "import", file, "--out", out, "--me", "Bo Dal").refused(
        "--me Bo Dal", "did you mean 'Bo Dahl'"
    )
    tacit("data", "import", tmp_path / "none.txt", "--out", out).refused("none.txt", "cannot be read")
    tacit("data", "import", tmp_path, "--out", out).refused("is not a file but a directory")
    tacit("data", "import", file, "--out", file).refused("is the export itself")
    tacit("data", "import", file).refused("--out")
    assert out.read_bytes() == before and file.read_text("utf-8") == ANDROID
