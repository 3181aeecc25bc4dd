"""MkDocs hooks for `make docs`, so that pages written for GitHub look the same on the site.

- README.md and the other pages outside docs/ become pages, and links to them work.
- A link to another file of the repository leads to a copy of that file; a link to a folder becomes plain text.
- Python-Markdown needs an empty line before a list or a table, GitHub does not; the hooks add it.

If the site and GitHub show different numbers of lists, tables, code blocks or pictures of a page, the hooks warn, and
warnings are errors.
"""

from __future__ import annotations

import logging
import posixpath
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from mkdocs.structure.files import File, Files

LOG = logging.getLogger("mkdocs.hooks.docs_site")
ROOT = Path(__file__).resolve().parent.parent
OUTSIDE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
}
COPIES = "repository"  # the folder of the site that holds copies of linked files
LINK = re.compile(r"(?<=\]\()(?![a-z]+:)([^)\s#]*)(#[^)\s]*)?(?=\))")
WHOLE = re.compile(r"\[([^\[\]]*)\]\((?![a-z]+:)([^)\s#]+)\)")
FENCE = re.compile(r"^\s*(```|~~~)")
ITEM = re.compile(r"^( *)([-*+]|\d+\.) ")
COUNTED = ("table", "ul", "ol", "li", "pre", "img")


def on_files(files: Files, config: Any) -> Files:
    """Adds the pages outside docs/, and copies of the files that pages link to."""
    for outside, name in OUTSIDE.items():
        files.append(File.generated(config, name, content=(ROOT / outside).read_text("utf-8")))
    copied = set[str]()
    for file in list(files.documentation_pages()):
        for target, _ in LINK.findall(file.content_string):
            path = repository_path(file.src_uri, target)
            if path and site_path(path) is None and (ROOT / path).is_file() and path not in copied:
                copied.add(path)
                files.append(File.generated(config, f"{COPIES}/{path}", abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Rewrites links for the site, and adds empty lines where Python-Markdown needs them."""
    page.meta["on_github"] = markdown
    here = page.file.src_uri

    def unlinked(match: re.Match[str]) -> str:
        path = repository_path(here, match[2])
        return match[1] if path and site_path(path) is None and (ROOT / path).is_dir() else match[0]

    def moved(match: re.Match[str]) -> str:
        path, anchor = repository_path(here, match[1]), match[2] or ""
        if path is None:
            return match[0]
        target = site_path(path) or (f"{COPIES}/{path}" if (ROOT / path).is_file() else None)
        return (
            match[0] if target is None else posixpath.relpath(target, posixpath.dirname(here) or ".") + anchor
        )

    def outside_code(line: str) -> str:
        return LINK.sub(moved, WHOLE.sub(unlinked, line))

    return "\n".join(spaced(line if code else outside_code(line) for line, code in in_code(markdown)))


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """Compares the page on the site with GitHub's rendering."""
    source = page.meta.pop("on_github")
    if "\n::: " in source:  # a reference, which GitHub cannot show
        return html
    expected, found = shown(MarkdownIt("gfm-like", {"linkify": False}).render(source)), shown(html)
    for tag in COUNTED:
        if expected[tag] != found[tag]:
            LOG.warning(
                f"{page.file.src_uri}: {found[tag]} <{tag}> on the site, {expected[tag]} on GitHub; put empty lines "
                "around lists and tables, and indent by four spaces what belongs to an item"
            )
    return html


def repository_path(page: str, target: str) -> str | None:
    """Returns the path of a link's target from the root of the repository; None for an anchor or an absolute path.

    >>> repository_path("federated.md", "../CONTRIBUTING.md"), repository_path("index.md", "docs/text.md")
    ('CONTRIBUTING.md', 'docs/text.md')
    """
    if not target or target.startswith("/"):
        return None
    folder = "" if page in OUTSIDE.values() else posixpath.join("docs", posixpath.dirname(page))
    return posixpath.normpath(posixpath.join(folder, target))


def site_path(path: str) -> str | None:
    """Returns the path of a repository file on the site, or None if it is not a page or picture there.

    >>> site_path("README.md"), site_path("docs/text.md"), site_path("src/tacit/cli")
    ('index.md', 'text.md', None)
    """
    if path in OUTSIDE:
        return OUTSIDE[path]
    return path.removeprefix("docs/") if path.startswith("docs/") else None


def in_code(markdown: str) -> Iterator[tuple[str, bool]]:
    """Yields the lines of a page, each with whether it is in a code fence."""
    inside = False
    for line in markdown.splitlines():
        edge = bool(FENCE.match(line))
        yield line, inside or edge
        inside ^= edge


def spaced(lines: Iterator[str]) -> Iterator[str]:
    """Adds empty lines before lists and tables, and after comments.

    >>> list(spaced(iter(["Two:", "- a", "- b", "", "<!-- x -->", "| a |", "|---|"])))
    ['Two:', '', '- a', '- b', '', '<!-- x -->', '', '| a |', '|---|']
    """
    before, inside = "", False
    for line in lines:
        begins_list = bool(ITEM.match(line)) and not (ITEM.match(before) or before.startswith(" "))
        begins_table = line.startswith("|") and not before.startswith("|")
        after_comment = before.startswith("<!--")
        edge = bool(FENCE.match(line))
        if before.strip() and not inside and (begins_list or begins_table or after_comment):
            yield ""
        inside ^= edge
        yield line
        before = line


def shown(html: str) -> Counter[str]:
    """Counts the lists, tables, code blocks and pictures of a page.

    >>> shown("<ul><li>a</li></ul><pre>x</pre>")["li"]
    1
    """
    return Counter(re.findall(r"<(table|ul|ol|li|pre|img)\b", html))
