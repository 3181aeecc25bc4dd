"""The 8-bit network in the page: JavaScript agrees with Python, and a served page shows it first."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import network_vectors
import pytest
from hands import bar, text
from page_site import running

from tacit.keyboard import suggestions
from tacit.page import models, server

TEST = Path(__file__).parent / "js" / "network.mjs"


def test_javascript_says_what_python_says(tmp_path, exported):
    node = shutil.which("node")
    if not node:
        pytest.skip("node is not installed; `make test` installs it where it may (apt-get install nodejs)")
    vectors = network_vectors.write(tmp_path, exported)
    done = subprocess.run(
        [node, "--test", str(TEST)],
        env=os.environ | {"TACIT_NETWORKS": str(vectors)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert int(re.findall(r"pass (\d+)", done.stdout)[-1]) == 2 * (len(network_vectors.KINDS) + 1) + 5


def test_a_page_types_with_the_file_of_tacit_export(visit, exported):
    shown = models.page_models(exported)
    asked = suggestions.open(exported)
    with running(server.site(*shown[:1])) as address:
        seen = visit(address)
        assert bar(seen.page) == [s.word for s in asked.next_words("", 3)]
        for word in ("see ", "you "):
            seen.page.keyboard.type(word)
        context = text(seen.page)
        likeliest = asked.next_words(context.lower(), 1)[0].word
        assert likeliest in bar(seen.page)
        assert "whole message" in seen.page.locator("#depth").text_content()
        assert seen.complaints == []
