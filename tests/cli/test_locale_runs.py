"""A run keeps its locale, and what is made from it inherits it."""

from __future__ import annotations

import _thread
import json
import threading
import tomllib
import urllib.request

import pytest

import locale_models
from commands import TINY
from locale_sentences import sentences
from tacit.base.errors import TacitError
from tacit.lm.open import open as open_model
from tacit.page.models import locale_of
from tacit.page.serve import serve


def test_a_run_hands_on_its_locale(tacit, tmp_path):
    """Turkish is read as Turkish; that the text is Russian, said in one line, hinders nothing."""
    corpus = tmp_path / "text.jsonl"
    lines = [*sentences("ru"), *(line.upper() for line in sentences("tr")[:2])]
    with corpus.open("w", encoding="utf-8") as file:
        for user in range(6):
            for line in lines:
                file.write(json.dumps({"user": f"u{user}", "text": line}) + "\n")
    run = tmp_path / "run"
    settings = [part for setting in TINY if "vocabulary" not in setting for part in ("--set", setting)]
    settings += ["--set", "text.vocabulary=0", "--set", "text.held_out_users=0.2"]
    out = tacit.ok(
        "train", "fedavg", "--corpus", corpus, "--locale", "tr", "--rounds", 1, "--out", run, *settings
    )
    said = [line for line in out.splitlines() if line.startswith("note: ")]
    assert len(said) == 1 and "mostly in Cyrillic letters, and text.locale is tr (Latin)" in said[0]
    assert tomllib.loads((run / "config.toml").read_text())["text"]["locale"] == "tr"
    words = open_model(run).words
    assert "ışık" in words and "işik" not in words  # IŞIK, lowered as Turkish and as anything else

    tacit.ok("distill", run, "--topology", "i", "--sentences", 40, "--date", "2026-01-31")
    assert "locale=tr," in (run / "ngram" / "words.combined").read_text().splitlines()[0]
    assert open_model(run / "ngram" / "model.tacit").source.locale == "tr"
    assert open_model(run / "ngram" / "model.arpa").source.locale == "tr"
    assert open_model(run).source.locale == "tr"
    assert locale_of(run / "ngram" / "model.tacit") == "tr"
    assert locale_of(run) == "tr"
    tacit.ok(
        "distill", run, "--topology", "i", "--sentences", 40, "--locale", "tr_CY", "--out", tmp_path / "cy"
    )
    assert "locale=tr_CY," in (tmp_path / "cy" / "words.combined").read_text().splitlines()[0]
    with pytest.raises(TacitError, match="no locale 'xx'"):
        serve(run, locale="xx")


def test_an_unknown_locale_is_refused(tacit, tmp_path):
    tacit("train", "fedavg", "--locale", "xx", "--out", tmp_path / "run").refused("text.locale", "'xx'", "tr")
    (tmp_path / "my.toml").write_text("nmae = 3\n")
    tacit("serve", tmp_path / "m.tacit", "--locale", tmp_path / "my.toml").refused("my.toml", "nmae")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("code", ["zh", "th"])
def test_keys_of_another_script_are_mentioned(tmp_path, code):
    """Chinese characters have no keys: the terminal and the page say where they come from."""
    said, shown = [], []

    def ask(address: str) -> None:
        with urllib.request.urlopen(f"{address}/models.json", timeout=30) as answer:
            shown.extend(json.load(answer)["problems"])
        _thread.interrupt_main()  # Ctrl-C

    def opened(address: str, models: int, remark: str) -> None:
        said.append(remark)
        threading.Thread(target=ask, args=[address.rstrip("/")]).start()

    serve(locale_models.write(tmp_path, code), opened=opened)
    if code == "zh":
        assert "the keys of zh type no Han characters" in said[0] and "input method" in said[0]
        assert [line.lower() for line in shown] == [f"{said[0]}.".lower()]
    else:
        assert (said, shown) == ([""], [])
