"""Serves the keyboard page with the models of a run (`tacit serve`)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

from tacit.base.progress import Progress, no_progress
from tacit.page.models import check_path, locale_of, page_models
from tacit.page.server import address, loopback, resolve, server, site
from tacit.text import blocked
from tacit.text.locale import find, of
from tacit.text.locale_script import keys_remark


def serve(
    path: Path,
    host: str = "127.0.0.1",
    port: int = 0,
    block: Path | None = None,
    data: Path | None = None,
    progress: Progress = no_progress,
    opened: Callable[[str, int, str], object] = lambda address, models, remark: None,
    locale: str | None = None,
) -> None:
    """Serves the models of a run directory, or a compact file, until Ctrl-C.

    A path without models and a port in use are refused at once. Missing models are built next; then `opened` is called
    with the address, the number of models, and a remark on the keys ("" if there is none), which the page shows, too.
    `block` is a file of words that are never suggested. The keys and the capitals are those of the models' locale, or
    of `locale`: a code, or a file (.toml).
    """
    words = blocked.read(block) if block else frozenset[str]()
    given = None if locale is None else of(locale)
    check_path(path)
    language = given or find(locale_of(path))
    remark = keys_remark(language)
    with server({}, host, port):
        pass  # refuses a port in use
    models, problems, capitals = page_models(path, data, progress, public=not loopback(resolve(host)))
    if remark:
        problems = [*problems, f"{remark[0].upper()}{remark[1:]}."]
    with server(site(models, words, problems, capitals, language), host, port) as ready:
        opened(address(ready), len(models), remark)
        with contextlib.suppress(KeyboardInterrupt):
            ready.serve_forever()
