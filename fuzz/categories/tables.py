"""Small files that commands read: sweeps, entries, word lists, counts, results, locales, and exported chats."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

from fuzz import mutate
from fuzz.box import Box, untouched
from fuzz.categories import Category
from fuzz.material import CHAT, HERE, Material
from fuzz.trial import Ending, refusable
from tacit.counts import whitelist
from tacit.experiments import entry, results_page
from tacit.ngram.formats.aosp import combined
from tacit.text import blocked, locale, locale_script, pieces, vocabulary
from tacit.text.chats.imports import import_chat

_COMBINED = b"""dictionary=main:en,locale=en,date=1,version=2
 word=the,f=222,flags=
  bigram=end,f=230
 word=end,f=150,possibly_offensive=true
  shortcut=END,f=whitelist
"""
_TELEGRAM = b"""{"name": "x", "messages": [
{"id": 1, "type": "message", "date": "2024-01-31T21:15:33", "from": "ana", "from_id": "user1", "text": "see you"},
{"id": 2, "type": "message", "date": "2024-01-31T21:15:34", "from": "bo", "text": ["soon ", {"text": "x"}]}]}
"""
_SMS = b"""<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>
<smses count="2"><sms address="+45" date="1706735733000" type="2" body="ok &#55357;&#56834;" contact_name="Ana" />
<mms date="1706735736000" msg_box="1" address="+45~+46"><parts><part ct="text/plain" text="look"/></parts>
<addrs><addr address="+46" type="137"/></addrs></mms></smses>
"""

_VALUES = (
    "[]",
    "{}",
    "0",
    "-1",
    '""',
    "nan",
    "inf",
    "true",
    "[[1]]",
    "[1, 'a']",
    "9" * 30,
    '"{x}"',
    '"{:.9999999f}"',
)


def _sweep(draw: random.Random, good: str) -> str:
    lines = good.splitlines()
    for _ in range(draw.choice((1, 1, 2))):
        place = draw.randrange(len(lines))
        key, equals, _ = lines[place].partition("=")
        if equals and draw.random() < 0.8:
            lines[place] = f"{key}= {draw.choice((*_VALUES, json.dumps(mutate.text(draw, nul=False))))}"
        elif draw.random() < 0.5:
            lines[place] = lines[place].replace("[[", "[").replace("]]", "]")
        else:
            lines.insert(
                place,
                f'"{draw.choice(("kind", "preset", "title", "seeds", "a.b"))}" = {draw.choice(_VALUES)}',
            )
    return "\n".join(lines) + "\n"


def _entry(draw: random.Random) -> str:
    """Returns the text of an experiment that comes with Tacit."""
    files = sorted((HERE / "src" / "tacit" / "experiments" / "entries").glob("*.toml"))
    return draw.choice(files).read_text("utf-8")


def _locale(draw: random.Random) -> bytes:
    """Returns the file of a locale that comes with Tacit."""
    files = sorted((HERE / "src" / "tacit" / "text" / "locales").glob("*.toml"))
    return draw.choice(files).read_bytes()


def _located(path: Path) -> None:
    """Reads a locale and uses it as a tokeniser and a keyboard do."""
    found = locale.read(path)
    for text in ("Istanbul IŞIK straße", "", "l'eau i'm ́", "\U0001f469"):
        found.capitalise(found.lower(text)), found.upper(text), found.is_always_capital(text)
    locale_script.remark(("see", "ты", "日本"), found)
    locale_script.keys_remark(found)


def _imported(path: Path) -> None:
    out = path.with_name("messages.jsonl")
    try:
        import_chat(path, out)
    finally:
        out.unlink(missing_ok=True)  # the box is to stay as it was


def trial(draw: random.Random, box: Box, material: Material, number: int) -> Ending:
    words = b"are\nyou\ncoming\n# home\nnow\n"
    uses: dict[str, tuple[bytes, Callable[[Path], object]]] = {
        "counts.tsv": ((material.counts / "counts.tsv").read_bytes(), pieces.read_counts),
        "xx.toml": (_locale(draw), _located),
        "words.txt": (words, whitelist.read),
        "block.txt": (words, blocked.read),
        "en.combined": (_COMBINED, combined.read),
        "chat.txt": (CHAT.encode(), _imported),
        "result.json": (_TELEGRAM, _imported),
        "sms.xml": (_SMS, _imported),
        "vocabulary.txt": ((material.run / "vocabulary.txt").read_bytes(), vocabulary.load),
    }
    kind = draw.randrange(7)
    if kind < 2:
        path = box.work / "sweep.toml"
        text = _sweep(draw, draw.choice((material.sweep.read_text("utf-8"), _entry(draw))))
        path.write_bytes(text.encode() if kind else mutate.data(draw, text.encode()))
        with untouched(box):
            return refusable(lambda: entry.find(str(path)).hash)
    if kind == 2:
        folder = box.work / "results"
        folder.mkdir()
        content = (material.results / "quadratic.quick.json").read_bytes()
        text = mutate.json_text(draw, json.loads(content))
        (folder / "quadratic.json").write_bytes(text.encode("utf-8", "surrogatepass"))
        with untouched(box):
            return refusable(lambda: results_page.text(folder))
    name = draw.choice(sorted(uses))
    good, use = uses[name]
    path = box.work / name
    path.write_bytes(mutate.lines(draw, good) if draw.random() < 0.6 else mutate.data(draw, good))
    with untouched(box):
        return refusable(lambda: use(path))


CATEGORY = Category(
    "sweeps, entries, results, counts, word lists, vocabularies, locales and chats", trial, 1700
)
