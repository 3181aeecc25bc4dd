"""ARPA files: KenLM reads ours and gives our scores; what we read is what was written, or is told by its line."""

from __future__ import annotations

import doctest
import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from file_models import any_weights, flat, kneser, refused, sentences, vocabulary
from tacit.lm.open import open as open_model
from tacit.ngram import validity
from tacit.ngram.automaton import Automaton, log_probs
from tacit.ngram.formats import arpa
from tacit.text.vocabulary import EOS, UNK, Vocabulary

files = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)


def scores(model: Automaton, bodies: list[list[int]]) -> np.ndarray:
    """log10 p of every word and end, as a flat array."""
    tokens, offsets = flat(bodies)
    ask = tokens != 0
    states = model.topology.states_along(tokens, offsets)
    return log_probs(model, states[ask], tokens[ask]) / math.log(10)


def kenlm_scores(path: Path, v: Vocabulary, bodies: list[list[int]]) -> np.ndarray:
    kenlm = pytest.importorskip("kenlm")
    config = kenlm.Config()
    config.show_progress, config.arpa_complain = False, kenlm.ARPALoadComplain.NONE
    model = kenlm.Model(str(path), config)
    spelt = [" ".join(v.words[i] if i > UNK else "never-seen" for i in body) for body in bodies]
    return np.array([p for text in spelt for p, _, _ in model.full_scores(text, bos=True, eos=True)])


def tabbed(path: Path) -> Path:
    """KenLM wants tabs beside the words, where other readers take any space."""
    row = re.compile(r"(?m)^(-[\d.]+) (.*?)(?: (-?[\d.]+))?$")
    text = row.sub(lambda m: "\t".join(part for part in m.groups() if part), path.read_text("utf-8"))
    path.write_text(text, "utf-8")
    return path


@files
@given(st.integers(0, 9999), st.integers(2, 5), st.booleans())
def test_kenlm_gives_the_same_scores(tmp_path: Path, seed: int, order: int, any_: bool) -> None:
    v = vocabulary(20)
    model = (any_weights if any_ else kneser)(seed, 20, order, 30)
    arpa.write(tmp_path / "a.arpa", v, model)
    bodies = [*sentences(seed + 1, 20, 20), [UNK, 5, UNK, UNK], [], [18, 19, 3]]
    if model.topology.depth.max() == 0:
        return
    ours, theirs = scores(model, bodies), kenlm_scores(tmp_path / "a.arpa", v, bodies)
    assert len(ours) == len(theirs) > 20
    np.testing.assert_allclose(ours, theirs, atol=1e-4)


@files
@given(st.integers(0, 9999), st.integers(1, 5))
def test_what_is_read_is_what_was_written(tmp_path: Path, seed: int, order: int) -> None:
    v, model = vocabulary(20), any_weights(seed, 20, order, 25)
    arpa.write(tmp_path / "a.arpa", v, model)
    words, found = arpa.read(tmp_path / "a.arpa")
    assert words == v
    for field in ("starts", "labels", "targets", "backoff", "initial"):
        assert np.array_equal(getattr(found.topology, field), getattr(model.topology, field))
    np.testing.assert_allclose(found.log_p, model.log_p, rtol=1e-11)
    np.testing.assert_allclose(found.log_backoff, model.log_backoff, rtol=1e-11, atol=1e-11)
    validity.require(found)
    arpa.write(tmp_path / "b.arpa", words, found)
    assert (tmp_path / "a.arpa").read_bytes() == (tmp_path / "b.arpa").read_bytes()


def test_a_comment_keeps_the_language_and_kenlm_reads_on(tmp_path: Path) -> None:
    """An English file has no comment, so that it stays as it was."""
    v, model = vocabulary(20), kneser(4)
    for code in ("en", "tr"):
        arpa.write(tmp_path / f"{code}.arpa", v, model, code)
        assert (
            arpa.locale_of(tmp_path / f"{code}.arpa")
            == open_model(tmp_path / f"{code}.arpa").source.locale
            == code
        )
    english, turkish = ((tmp_path / f"{code}.arpa").read_bytes() for code in ("en", "tr"))
    assert turkish == b"# tacit locale: tr\n" + english
    bodies = sentences(9, 20, 20)
    np.testing.assert_allclose(
        scores(arpa.read(tmp_path / "tr.arpa")[1], bodies),
        kenlm_scores(tmp_path / "tr.arpa", v, bodies),
        atol=1e-4,
    )
    other = tmp_path / "other.arpa"
    other.write_bytes(b"made by hand\n# tacit locale: tr\n" + english)  # nothing that Tacit wrote
    assert arpa.locale_of(other) == "en"
    other.write_bytes(b"\n#\n# tacit locale: pt_BR\r\n" + english)
    assert arpa.locale_of(other) == "pt"
    for wrong in (b"xx", b"", b"\xff"):
        other.write_bytes(b"#\n# tacit locale: " + wrong + b"\n" + english)
        refused(lambda: arpa.locale_of(other), "other.arpa, line 2: no locale '", tmp_path)
    refused(lambda: arpa.locale_of(tmp_path), "cannot read this ARPA file")


def test_the_order_of_rows_does_not_matter(tmp_path: Path) -> None:
    v, model = vocabulary(20), kneser(4)
    arpa.write(tmp_path / "a.arpa", v, model)
    sections = (tmp_path / "a.arpa").read_text("utf-8").split("\n\n")
    shuffled = [sections[0]]
    for section in sections[1:-1]:
        head, *rows = section.split("\n")
        np.random.default_rng(0).shuffle(rows)
        shuffled.append("\n".join([head, *rows]))
    (tmp_path / "b.arpa").write_text("made by hand\n\n" + "\n\n".join([*shuffled, sections[-1]]), "utf-8")
    words, found = arpa.read(tmp_path / "b.arpa")
    assert words != v and set(words.words) == set(v.words)
    ids = np.array([words.words.index(word) for word in v.words])
    bodies = sentences(9, 20, 20)
    np.testing.assert_allclose(
        scores(model, bodies), scores(found, [ids[b].tolist() for b in bodies]), atol=1e-9
    )


SMALL = r"""
\data\
ngram 1=6
ngram 2=5
ngram 3=3

\1-grams:
-99 <s> -0.30103
-0.7 </s>
-1.2 <unk>
-0.6 new -0.2
-0.9 york -0.1
-0.8 city

\2-grams:
-0.2 <s> new -0.15
-0.1 new york -0.05
-0.5 york city
-0.7 york </s>
-0.4 new city

\3-grams:
-0.3 <s> new york
-0.25 new york city
-0.6 new york </s>

\end\
""".lstrip()


def small(tmp_path: Path, *changes: tuple[str, str]) -> Path:
    text = SMALL
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    (tmp_path / "small.arpa").write_text(text, "utf-8")
    return tmp_path / "small.arpa"


def test_a_file_by_hand(tmp_path: Path) -> None:
    v, model = arpa.read(small(tmp_path))
    assert v.words == ("<s>", "</s>", "<unk>", "new", "york", "city")
    new, york, city = 3, 4, 5
    found = scores(model, [[new, york, city], [city, york, city], [york, york]])
    want = [-0.2, -0.3, -0.25, -0.7]  # the end after "york city", which is no history, nor is "city"
    want += [-0.8 - 0.30103, -0.9, -0.5, -0.7]
    want += [-0.9 - 0.30103, -0.9 - 0.1, -0.7]
    np.testing.assert_allclose(found, want, atol=1e-12)


def test_ngrams_missing_below_are_put_back(tmp_path: Path) -> None:
    """ "york </s>" and "new york" are pruned away while "new york </s>" and "<s> new york" stay, as SRILM may do."""
    pytest.importorskip("kenlm")
    path = small(tmp_path, ("ngram 2=5", "ngram 2=4"), ("-0.7 york </s>\n", ""))
    v, model = arpa.read(path)
    assert not validity.check(model.topology).problems
    bodies = [[3, 4], [4], [5, 4], [3, 4, 5], [], [3, 3, 5, 4]]
    np.testing.assert_allclose(scores(model, bodies), kenlm_scores(tabbed(path), v, bodies), atol=1e-5)
    assert scores(model, [[4]])[-1] == pytest.approx(-0.7 - 0.1)  # p(</s> | york), by backing off

    text = SMALL.replace("ngram 3=3", "ngram 3=1").replace("-0.25 new york city\n-0.6 new york </s>\n", "")
    text = text.replace("ngram 2=5", "ngram 2=4").replace("-0.1 new york -0.05\n", "")
    path.write_text(text)
    v, model = arpa.read(path)
    found = scores(model, [[3, 4], [5, 3, 4]])
    np.testing.assert_allclose(found[:2], [-0.2, -0.3])
    assert found[5] == pytest.approx(-0.2 - 0.9)  # "new york" as it was
    np.testing.assert_allclose(scores(model, bodies), kenlm_scores(tabbed(path), v, bodies), atol=1e-5)


def test_what_other_toolkits_write(tmp_path: Path) -> None:
    path = small(tmp_path, ("ngram 1=6", "ngram 1=5"), ("-1.2 <unk>\n", ""))
    v, model = arpa.read(path)
    assert v.words[UNK] == "<unk>" and scores(model, [[UNK]])[0] == pytest.approx(-100 - 0.30103)
    path = small(
        tmp_path, ("<unk>", "<UNK>"), ("-0.5 york city", "-0.5\tyork city\t0"), ("\\data\\", "\r\n\\data\\\r")
    )
    assert scores(arpa.read(path)[1], [[UNK]])[0] == pytest.approx(-1.2 - 0.30103)
    path = small(
        tmp_path, ("ngram 1=6", "ngram 1=7"), ("-0.8 city", "-0.8 city\n-2 <UNK>")
    )  # beside `<unk>` a word
    v, _ = arpa.read(path)
    assert v.words[UNK] == "<unk>" and "<UNK>" in v.words[UNK + 1 :]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ([("\\data\\\n", "")], r"line 26: the file ends where '\\data\\' was expected"),
        ([("ngram 1=6\n", "")], r"line 2: expected 'ngram 1=…', found 'ngram 2=5'"),
        ([("ngram 2=5", "ngrams 2=5")], r"line 3: expected '\\1-grams:', found 'ngrams 2=5'"),
        ([("ngram 1=6", "ngram 1=7")], r"line 13: the 1-grams end after 6 of the 7 announced"),
        (
            [("ngram 1=6", "ngram 1=5")],
            r"line 12: expected '\\2-grams:', found '-0.8 city'; more than the 5 1-grams",
        ),
        ([("ngram 2=5", "ngram 2=6")], r"line 20: the 2-grams end after 5 of the 6 announced"),
        ([("ngram 3=3", "ngram 3=4")], r"line 25: the 3-grams end after 3 of the 4 announced"),
        ([("ngram 3=3", "ngram 3=2")], r"line 24: expected '\\end\\', found '-0.6 new york </s>'"),
        ([("\\2-grams:", "\\3-grams:")], r"line 14: expected '\\2-grams:', found '\\3-grams:'"),
        ([("\n\\end\\\n", "")], r"line 25: the file ends where '\\end\\' was expected"),
        ([("-0.6 new -0.2", "-o.6 new -0.2")], "line 10: expected a finite number, found '-o.6'"),
        ([("-0.6 new -0.2", "-0.6 new nan")], "line 10: expected a finite number, found 'nan'"),
        ([("-0.1 new york -0.05", "0.1 new york -0.05")], "line 16: log10 p is 0.1; expected 0 or less"),
        (
            [("-0.5 york city", "-0.5 york")],
            "line 17: expected log10 p, 2 words and perhaps a backoff weight",
        ),
        ([("-0.5 york city", "-0.5 york city 1 2")], "line 17: expected log10 p, 2 words"),
        ([("-0.5 york city", "-0.5 york town")], "line 17: 'york town': 'town' is not among the unigrams"),
        ([("-0.5 york city", "-0.5 york <s>")], "line 17: 'york <s>': <s> may only be first"),
        (
            [("-0.5 york city", "-0.5 </s> city")],
            "line 17: '</s> city': <s> may only be first and </s> only last",
        ),
        ([("-0.8 city", "-0.8 york")], "line 12: 'york' occurs a second time"),
        ([("-0.7 york </s>", "-0.7 york city")], "line 18: 'york city' occurs a second time"),
        (
            [("-0.3 <s> new york", "-0.3 <s> york york")],
            "line 22: '<s> york york': its history '<s> york' is not",
        ),
        (
            [("-0.5 york city", "-0.5 york city -0.2")],
            "line 17: 'york city' has a backoff weight of -0.2 but no",
        ),
        (
            [("-0.25 new york city", "-0.25 new york city -0.2")],
            "line 23: 'new york city' has a backoff weight",
        ),
        ([("-99 <s> -0.30103\n", ""), ("ngram 1=6", "ngram 1=5")], "line 6: expected a unigram for <s>"),
        (
            [("-0.6 new -0.2", "-0.6 new 0.7")],
            "line 10: the backoff weight 0.7 of 'new' gives a word log10 p = 0.1; expected 0 or less",
        ),
        ([("new york -0.05", "new york 300")], "line 16: the backoff weight 300 of 'new york' gives a word"),
        ([("new york -0.05", "new york 1e308")], "line 16: the backoff weight 1e.308 of 'new york'"),
    ],
)
def test_bad_files_are_told_by_their_line(tmp_path: Path, changes: list[tuple[str, str]], told: str) -> None:
    path = small(tmp_path, *changes)
    refused(lambda: arpa.read(path), told, tmp_path)


def test_a_backoff_weight_above_one_is_legal(tmp_path: Path) -> None:
    """The likeliest word that backs off after "new" is "new" itself, with log10 p = -0.6."""
    v, model = arpa.read(small(tmp_path, ("-0.6 new -0.2", "-0.6 new 0.5")))
    after_new = np.full(len(v) - 1, model.topology.targets[v.index["new"] - 1])
    assert log_probs(model, after_new, np.arange(1, len(v))).max() / math.log(10) == pytest.approx(-0.1)


def test_other_bad_input(tmp_path: Path) -> None:
    path = tmp_path / "x.arpa"
    refused(lambda: arpa.read(path), "cannot read this ARPA file")
    path.write_bytes(SMALL.encode().replace(b"city", b"c\xff"))
    refused(lambda: arpa.read(path), "line 12: 'c\ufffd' is not UTF-8")
    path.write_text(SMALL.replace("city", "ci\u00a0ty"), "utf-8")
    refused(lambda: arpa.read(path), "line 12: .* is not one word")
    path.write_text("\\data\\\nngram 1=2\n\n\\1-grams:\n-99 <s>\n0 </s>\n\n\\end\\\n")
    refused(lambda: arpa.read(path), "line 4: the model is empty")
    path.unlink()
    refused(lambda: arpa.write(path, vocabulary(19), kneser(1)), "20 words, its vocabulary 19", tmp_path)
    refused(
        lambda: arpa.write(tmp_path / "no" / "x.arpa", vocabulary(20), kneser(1)), "cannot write", tmp_path
    )


def test_a_file_cut_anywhere_is_refused(tmp_path: Path) -> None:
    lines = SMALL.splitlines(keepends=True)
    for end in range(len(lines)):
        (tmp_path / "cut.arpa").write_text("".join(lines[:end]))
        refused(lambda: arpa.read(tmp_path / "cut.arpa"), "cut.arpa, line ")
    assert EOS == 1


def test_examples() -> None:
    assert doctest.testmod(arpa).failed == 0
