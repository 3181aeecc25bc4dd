"""A parser for the reports that Tacit writes."""

from __future__ import annotations

import re
from html.parser import HTMLParser

VOID = {"meta", "br", "img", "link", "input", "hr"}


class Parsed(HTMLParser):
    """Which elements and links a page has; every element must be closed, in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.tags: list[str] = []
        self.loads: list[str] = []
        self.text: list[str] = []
        self.feed(page)
        self.close()
        assert not self.stack, self.stack

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.loads += [
            v or "" for k, v in attributes if k in ("src", "href", "xlink:href", "action", "data", "srcset")
        ]
        self.loads += re.findall(r"url\(([^)]*)\)", " ".join(v or "" for _, v in attributes))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.stack.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.stack and self.stack.pop() == tag, (tag, self.stack)

    def handle_data(self, data: str) -> None:
        self.text.append(data)
