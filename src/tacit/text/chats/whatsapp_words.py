"""WhatsApp's own words in an export: halves of a day, placeholders of media, notes on deleted and edited messages.

An iPhone's export puts a left-to-right mark before what WhatsApp itself says, so most placeholders are known in every
language. The words here are those that stand without the mark, or after what somebody typed.
"""

from __future__ import annotations

import re

MARK = "\u200e"  # the left-to-right mark

_MORNING = ("am", "fm", "öö", "πμ", "पूर्वाह्न", "ก่อนเที่ยง", "上午", "凌晨", "早上", "午前", "오전", "ص")
_AFTERNOON = ("pm", "em", "ös", "μμ", "अपराह्न", "หลังเที่ยง", "下午", "中午", "晚上", "午後", "오후", "م")
_GAP = r"\.?[ \u202f\u00a0]?"  # in p. m.
HALVES = "|".join(_GAP.join(half) + r"\.?" for half in (*_MORNING, *_AFTERNOON))  # of a day; ignores case

PLACEHOLDER = re.compile(r"<[^<>\n]{1,80}>")
_FILE = re.compile(
    r"[\w .-]+\.\w{2,5} \([^()\n]{1,40}\)"  # IMG-20240131-WA0001.jpg (file attached)
    r"|\u200e[^\n]{1,200}\.\w{2,5} \([^()\n]{1,40}\)"  # newer versions mark it, and documents have any name
)
_PLACE = re.compile(r"[^:\n]{1,30}: https://maps\.google\.com/\?q=-?[\d.]+,-?[\d.]+|live location shared")
_WHAT = (
    r"(?:image|video|video note|audio|sticker|gif|document|contact card) omitted"
    r"|(?:imagem|imagen|áudio|audio|vídeo|video|figurinha|documento|sticker|gif|cartão do contato|tarjeta de contacto)"
    r" (?:ocultad[oa]|omitid[oa])"
    r"|(?:bild|video|audio|sticker|gif|dokument|kontaktkarte) (?:weggelassen|ausgelassen)"
    r"|(?:image|vidéo|audio|sticker|gif|document) (?:absente?|omise?|retiré|manquant)"
    r"|(?:immagine|video|audio|sticker|gif|documento) (?:omess[oa]|esclus[oa])"
    r"|(?:afbeelding|video|audio|sticker|gif|document) weggelaten"
)
_OMITTED = re.compile(_WHAT, re.IGNORECASE)
_LONGEST_NOTE = 320  # characters
_TAIL = re.compile(rf"\u200e(?:<[^<>\n]{{1,300}}>|{_WHAT})$", re.IGNORECASE)
_PAGES = re.compile(r"[^\n]+ • \u200e[^\n]+")  # Report.pdf • 3 pages
_EDITED = re.compile(
    r"<[^<>\n]{0,40}(?:edited|editad|editó|bearbeitet|modifié|modificato|edytowan|redigera|düzenlen|измен|संपादित"
    r"|एडिट|แก้ไข|编辑|編輯)[^<>\n]{0,20}>$"
)
_DELETED = frozenset(
    text.lower()
    for text in (
        "This message was deleted", "You deleted this message", "You deleted this message as admin",
        "Mensagem apagada", "Esta mensagem foi apagada", "Você apagou esta mensagem",
        "Diese Nachricht wurde gelöscht", "Du hast diese Nachricht gelöscht",
        "Ce message a été supprimé", "Vous avez supprimé ce message",
        "Se eliminó este mensaje", "Este mensaje fue eliminado", "Eliminaste este mensaje",
        "Questo messaggio è stato eliminato", "Hai eliminato questo messaggio",
        "Wiadomość została usunięta", "Ta wiadomość została usunięta", "Usunięto tę wiadomość",
        "Meddelandet raderades", "Det här meddelandet raderades", "Det här meddelandet har raderats",
        "Du raderade detta meddelande", "Du raderade det här meddelandet",
        "Bu mesaj silindi", "Bu mesajı sildiniz",
        "Сообщение удалено", "Данное сообщение удалено", "Вы удалили данное сообщение",
        "यह मैसेज मिटाया गया", "आपने यह मैसेज मिटाया",
        "ข้อความนี้ถูกลบ", "ข้อความนี้ถูกลบแล้ว", "คุณลบข้อความนี้แล้ว",
        "此消息已删除", "您删除了这条消息", "你已删除这条消息",
    )
)  # fmt: skip
_BY_ADMIN = "this message was deleted by admin "
_CALLS = frozenset(
    ("missed voice call", "missed video call", "null", "waiting for this message", "poll:")
)  # of Android, with a sender


def is_afternoon(half: str) -> bool:
    """Whether a half of the day is the second one.

    >>> is_afternoon("PM"), is_afternoon("a.m."), is_afternoon("下午")
    (True, False, True)
    """
    return re.sub(r"[.\s]", "", half.lower()) in _AFTERNOON


def is_deleted(line: str) -> bool:
    """Whether a message's first line says that the message was deleted.

    >>> is_deleted("Bu mesaj silindi."), is_deleted("bu mesaj")
    (True, False)
    """
    plain = line.strip(f" {MARK}").rstrip(".").lower()
    return plain in _DELETED or plain.startswith(_BY_ADMIN)


def is_media(line: str) -> bool:
    """Whether a message's first line stands for a photo, a file, a place or the like.

    >>> is_media("<Media omitted>"), is_media("IMG-1.jpg (file attached)"), is_media("<3")
    (True, True, False)
    """
    plain = line.strip(f" {MARK}")
    return bool(
        _FILE.fullmatch(line.strip())
        or any(form.fullmatch(plain) for form in (PLACEHOLDER, _FILE, _OMITTED, _PLACE, _PAGES))
    )


def is_said(text: str) -> bool:
    """Whether WhatsApp itself says a message that has a sender: a call, a poll, a line of the system."""
    return text.startswith(MARK) or text.partition("\n")[0].strip().rstrip(".").lower() in _CALLS


def typed(text: str) -> str:
    """Returns a message without what WhatsApp adds behind it: a note that it was edited, the file it is a caption of.

    >>> typed("see you <This message was edited>"), typed("the view \\u200eimage omitted")
    ('see you', 'the view')
    """
    for note in (_TAIL, _EDITED):
        text = text.rstrip()
        if match := note.search(text, max(0, len(text) - _LONGEST_NOTE)):
            text = text[: match.start()]
    return text.rstrip()
