"""Exports as other phones, regions and versions write them: dates, placeholders, marks that nobody typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacit.text.chats.imports import import_chat
from tacit.text.chats.message import DELETED, FORWARDED, MEDIA, SYSTEM

EVENING = "2024-01-31T21:15:33"


def imported(tmp_path: Path, text: str) -> tuple[list[tuple[str, str, str]], dict[str, int]]:
    """What an import writes, as (user, text, time), and what it left out."""
    file, out = tmp_path / "export", tmp_path / "messages.jsonl"
    file.write_text(text, "utf-8", newline="")
    out.unlink(missing_ok=True)
    found = import_chat(file, out)
    records = map(json.loads, out.read_text("utf-8").splitlines())
    return [(r["user"], r["text"], r["time"]) for r in records], found.left_out


@pytest.mark.parametrize(
    "head",
    [
        "[31/01/2024, 21:15:33]",  # United Kingdom
        "[1/31/24, 9:15:33\u202fPM]",  # United States, iOS 17
        "[1/31/24, 9:15:33 PM]",  # the same, before
        "[31.01.24, 21:15:33]",  # Germany
        "[31/01/2024 21:15:33]",  # France
        "[31/1/24, 9:15:33 p.\u00a0m.]",  # Mexico
        "[31-01-2024 21:15:33]",  # Netherlands
        "[31.01.2024 21.15.33]",  # Denmark
        "[31.1.2024 klo 21.15.33]",  # Finland
        "[2024-01-31 21:15:33]",  # Sweden
        "[2024-01-31, 9:15:33 em]",  # Sweden, 12 hours
        "[31.01.2024 ÖS 9:15:33]",  # Turkey, 12 hours
        "[2024. 01. 31. 21:15:33]",  # Hungary
        "[2024/1/31 下午9:15:33]",  # China
        "[2024/01/31 21:15:33]",  # Japan
        "[2024. 1. 31. 오후 9:15:33]",  # Korea
        "[31/01/24, 9:15:33 अपराह्न]",  # India, in Hindi
        "[31/1/2567 21:15:33]",  # Thailand: years of the Buddhist calendar
        "[\u200f31\u200f/1\u200f/2024، 9:15:33\u00a0م]",  # Egypt, with digits of Europe
        "[٣١/١/٢٠٢٤، ٩:١٥:٣٣ م]",  # and with its own
    ],
)
def test_dates_of_iphones(tmp_path: Path, head: str) -> None:
    records, _ = imported(tmp_path, f"{head} Ana: see you\r\n\u200e{head} Bo: two\r\nlines\r\n")
    assert records == [("Ana", "see you", EVENING), ("Bo", "two\nlines", EVENING)]


@pytest.mark.parametrize(
    ("head", "time"),
    [
        ("31/01/2024, 21:15 -", "2024-01-31T21:15:00"),
        ("1/31/24, 9:15\u202fPM -", "2024-01-31T21:15:00"),
        ("1/31/24, 12:15\u202fAM -", "2024-01-31T00:15:00"),
        ("31/01/2024, 12:15 pm -", "2024-01-31T12:15:00"),
        ("31.01.24, 21:15 -", "2024-01-31T21:15:00"),
        ("31/01/2024 à 21:15 -", "2024-01-31T21:15:00"),
        ("31/1/24, 9:15 a. m. -", "2024-01-31T09:15:00"),
        ("31.1.2024 kl. 21.15 -", "2024-01-31T21:15:00"),
        ("2024/1/31 凌晨12:15 -", "2024-01-31T00:15:00"),
        ("2024/1/31 中午12:15 -", "2024-01-31T12:15:00"),
        ("2024/1/31 21:15 -", "2024-01-31T21:15:00"),
    ],
)
def test_dates_of_android(tmp_path: Path, head: str, time: str) -> None:
    records, _ = imported(tmp_path, f"{head} Ana: see you - later\n{head} Bo changed the subject\n")
    assert records == [("Ana", "see you - later", time)]


def test_a_pasted_message_begins_none(tmp_path: Path) -> None:
    """WhatsApp's own copy of a message has a date in brackets; an export of Android has none."""
    pasted = "[31/01, 21:15] Bo: hi\n[31/01/24, 21:15:33] Bo: hi"
    records, _ = imported(tmp_path, f"01/02/2024, 08:05 - Ana: look\n{pasted}\n01/02/2024, 08:06 - Ana: so\n")
    assert [record[1] for record in records] == [f"look\n{pasted}", "so"]
    pasted = "31/01/24, 21:15 - Bo: hi"
    records, _ = imported(tmp_path, f"[01/02/2024, 08:05:01] Ana: look\n{pasted}\n")
    assert [record[1] for record in records] == [f"look\n{pasted}"]


ANDROID = {
    MEDIA: [
        "<Media omitted>", "<Mídia oculta>", "<Medien ausgeschlossen>", "<Médias omis>", "<Multimedia omitido>",
        "<pominięto multimedia>", "<Media utelämnat>", "<Medya dahil edilmedi>", "<Без медиафайлов>",
        "<मीडिया के बिना>", "<省略多媒体文件>", "<View once voice message omitted>",
        "\u200eIMG-20240131-WA0001.jpg (file attached)", "PTT-20240131-WA0002.opus (Datei angehängt)",
        "Bo Dahl.vcf (arquivo anexado)", "STK-20240131-WA0003.webp (файл добавлен)",
        "\u200eRelatório (final), 2.pdf (arquivo anexado)",
        "location: https://maps.google.com/?q=-23.5505,-46.6333", "live location shared",
    ],
    DELETED: [
        "This message was deleted", "You deleted this message", "This message was deleted.",
        "This message was deleted by admin Bo", "You deleted this message as admin",
        "Esta mensagem foi apagada", "Mensagem apagada", "Diese Nachricht wurde gelöscht.",
        "Ce message a été supprimé", "Se eliminó este mensaje.", "Eliminaste este mensaje.",
        "Questo messaggio è stato eliminato", "Ta wiadomość została usunięta", "Det här meddelandet har raderats",
        "Bu mesaj silindi", "Данное сообщение удалено", "यह मैसेज मिटाया गया", "ข้อความนี้ถูกลบ", "此消息已删除",
    ],
    SYSTEM: ["null", "Missed voice call", "\u200eMissed video call. \u200eTap to call back",
             "POLL:\nWhere?\nOPTION: x"],
}  # fmt: skip


@pytest.mark.parametrize("why", ANDROID)
def test_what_nobody_typed_on_android(tmp_path: Path, why: str) -> None:
    head = "31/01/2024, 21:15 - Ana:"
    lines = [f"{head} {text}" for text in ANDROID[why]]
    records, left_out = imported(tmp_path, "\n".join([*lines, f"{head} typed"]))
    assert [record[1] for record in records] == ["typed"]
    assert left_out == {why: len(lines)}


@pytest.mark.parametrize(
    "tag",
    [
        "This message was edited", "Mensagem editada", "Diese Nachricht wurde bearbeitet.", "Se editó este mensaje.",
        "Ce message a été modifié", "Questo messaggio è stato modificato", "Ta wiadomość została edytowana",
        "Det här meddelandet redigerades", "Bu mesaj düzenlendi", "Сообщение изменено", "यह मैसेज एडिट किया गया",
        "ข้อความนี้ถูกแก้ไขแล้ว", "此消息已编辑",
    ],
)  # fmt: skip
def test_tags_of_edited_messages(tmp_path: Path, tag: str) -> None:
    for head, mark in (("31/01/2024, 21:15 - Ana:", ""), ("[31/01/2024, 21:15:33] Ana:", "\u200e")):
        records, _ = imported(tmp_path, f"{head} see you {mark}<{tag}>\n{head} <3 <b> {mark}<{tag}>")
        assert [record[1] for record in records] == ["see you", "<3 <b>"]


def test_what_nobody_typed_on_iphones(tmp_path: Path) -> None:
    head = "[31/01/2024, 21:15:33]"
    lines = [
        f"{head} Trip: \u200eMessages and calls are end-to-end encrypted. Only people in this chat can read them.",
        f"{head} Trip: \u200eAna created this group",
        f"{head} Bo: \u200e~\u202fBo changed the group name to “a: b”",
        f"\u200e{head} Bo: \u200eimage omitted",
        f"\u200e{head} Bo: \u200eobraz pominięto",
        f"\u200e{head} Bo: \u200e<attached: 00000012-PHOTO-2024-01-31-21-15-33.jpg>",
        f"\u200e{head} Bo: Report (1), new.pdf • \u200e3 pages \u200edocument omitted",
        f"\u200e{head} Bo: \u200eReport.pdf • \u200e1 page \u200e<attached: 00000013-Report.pdf>",
        f"{head} Bo: \u200eThis message was deleted.",
        f"{head} Bo: \u200ePOLL:\nWhere?\n\u200eOPTION: home (\u200e2 votes)",
        f"{head} Bo: \u200eLocation: https://maps.google.com/?q=-23.5,-46.6",
        f"\u200e{head} Bo: the view \u200eimage omitted",
        f"\u200e{head} Bo: two\nlines \u200e<attached: 00000014-{'x' * 80}.jpg>",
        f"{head} \u202a+49 151 1234567\u202c: hi @\u2068Ana Silva\u2069!",
    ]
    records, left_out = imported(tmp_path, "\n".join(lines))
    assert [record[:2] for record in records] == [
        ("Bo", "the view"),
        ("Bo", "two\nlines"),
        ("+49 151 1234567", "hi @Ana Silva!"),
    ]
    assert sum(left_out.values()) == 11 and left_out[DELETED] == 1 and left_out[MEDIA] >= 4


def test_white_space_takes_no_time(tmp_path: Path) -> None:
    records, _ = imported(tmp_path, "31/01/2024, 21:15 - Ana: a" + " " * 900_000 + "b <\n")
    assert len(records[0][1]) == 900_004


def test_an_export_of_everything_from_telegram(tmp_path: Path) -> None:
    """Chats that were left, saved messages, captions, stickers, polls, and every kind of marked part."""
    base = {
        "id": 1,
        "type": "message",
        "date": EVENING,
        "date_unixtime": "1706735733",
        "from": "Ana",
        "from_id": "user1",
    }
    parts = [
        "hi ",
        {"type": "mention", "text": "@bo"},
        {"type": "bold", "text": " now"},
        {"type": "text_link", "text": " here", "href": "https://tacit.example"},
        {"type": "custom_emoji", "text": "😀", "document_id": "stickers/1.webp"},
        {"type": "pre", "text": "x = 1", "language": "py"},
        {"type": "mention_name", "text": "Bo", "user_id": 7},
    ]
    entities = [part if isinstance(part, dict) else {"type": "plain", "text": part} for part in parts]
    messages = [
        base | {"text": parts, "text_entities": entities, "edited": EVENING, "reply_to_message_id": 4},
        base
        | {"text": "", "file": "a.webp", "media_type": "sticker", "sticker_emoji": "😀", "text_entities": []},
        base | {"text": "", "poll": {"question": "Where?", "answers": []}},
        base | {"text": "", "location_information": {"latitude": 1.0, "longitude": 2.0}},
        base
        | {"text": "the view", "photo": "(File not included. Change data exporting settings to download.)"},
        base | {"text": "not mine", "forwarded_from": None},
        base | {"text": "not mine", "saved_from": "Cy"},
        {"id": 2, "type": "service", "date": EVENING, "actor": "Ana", "action": "phone_call", "text": ""},
    ]
    value = {
        "about": "Here is the data you requested.",
        "personal_information": {"first_name": "Ana"},
        "contacts": {"list": []},
        "chats": {"about": "…", "list": [{"type": "saved_messages", "id": 1, "messages": messages}]},
        "left_chats": {"about": "…", "list": [{"name": "Old", "messages": [base | {"text": "bye"}]}]},
    }
    records, left_out = imported(tmp_path, json.dumps(value))
    assert [record[1] for record in records] == ["hi @bo now here😀x = 1Bo", "the view", "bye"]
    assert left_out == {MEDIA: 3, FORWARDED: 2, SYSTEM: 1}


BACKUP = """<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>
<!--File Created By SMS Backup & Restore v10.20.002 on 31/01/2024 21:15:33-->
<?xml-stylesheet type="text/xsl" href="sms.xsl"?>
<smses count="5" backup_set="9e" backup_date="1706735733000" type="full">
  <sms protocol="0" address="+451" date="1706735733000" type="2" subject="null"
    body="&#55357;&#56397;&#55356;&#57341; ok"
    toa="null" service_center="null" read="1" status="-1" readable_date="31 Jan 2024" contact_name="Ana" />
  <sms address="+451" date="1706735733000" type="1" body="hex &#xD83D;&#xDE02;&#xd83d;" contact_name="null" />
  <sms address="+451" date="1706735733000" type="5" body="not sent" contact_name="Ana" />
  <mms text_only="1" date="1706735733000" msg_box="2" address="+451~+452" contact_name="Ana, Cy"
    ct_t="application/vnd.wap.multipart.related">
    <parts>
      <part seq="-1" ct="application/smil" name="null" text="&lt;smil&gt;&lt;/smil&gt;" />
      <part seq="0" ct="text/plain" name="null" chset="106" text="to all &#128514;" />
    </parts>
    <addrs><addr address="insert-address-token" type="137" charset="106" /><addr address="+451" type="151" /></addrs>
  </mms>
  <mms date="1706735733000" msg_box="1" address="+451" contact_name="Ana">
    <parts>
      <part seq="0" ct="text/x-vCard" text="BEGIN:VCARD" />
      <part seq="1" ct="image/gif" text="null" data="R0lGODlh" />
      <part seq="2" ct="text/plain" text="null" />
    </parts>
    <addrs />
  </mms>
</smses>
"""


def test_a_backup_of_messages(tmp_path: Path) -> None:
    """Emoji of two halves with a colour of skin, as decimal and as hexadecimal references, and multimedia messages."""
    records, left_out = imported(tmp_path, BACKUP)
    time = f"{EVENING}+00:00"
    assert records == [
        ("me", "👍🏽 ok", time),
        ("+451", "hex 😂\ufffd", time),
        ("me", "not sent", time),
        ("me", "to all 😂", time),
    ]
    assert left_out == {MEDIA: 1}
