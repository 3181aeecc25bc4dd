"""The files of `tacit distill`: other programs read them and say the same; `tacit evaluate` and `predict` take them."""

from __future__ import annotations

import math
import re
import struct
from pathlib import Path

import numpy as np
import pytest
from distilled_runs import (
    CONTEXTS,
    Make,
    facts,
    rows,
)

from aosp_reader import SENTENCE, parse
from commands import Commands, tree
from tacit.lm import evaluate
from tacit.lm.export import export_network
from tacit.ngram.formats.aosp import combined
from tacit.text.vocabulary import SPECIALS


def test_kenlm_says_what_evaluate_says(distilled: Make, tacit: Commands, tmp_path: Path) -> None:
    kenlm = pytest.importorskip("kenlm")
    text = ["are you coming home ?", "see you there", "the xyzzy is late", "i am so late", "ok"]
    (tmp_path / "text.txt").write_text("".join(f"{line}\n" for line in text), "utf-8")
    for options in ((), ("--topology", "m")):
        file = distilled(*options) / "model.arpa"
        model = kenlm.Model(str(file))
        theirs = [model.score(line, bos=True, eos=True) * math.log(10) for line in text]
        found = tacit.json("evaluate", file, "--corpus", tmp_path / "text.txt")
        assert isinstance(found, dict) and found["sentences"] == 5
        assert found["sll"] == pytest.approx(np.mean(theirs), abs=1e-4)
        tokens = sum(len(line.split()) + 1 for line in text)
        assert found["perplexity"] == pytest.approx(math.exp(-sum(theirs) / tokens), rel=1e-4)


def test_both_files_suggest_the_same(distilled: Make, tacit: Commands) -> None:
    out = distilled()
    apart = []
    for text in CONTEXTS:
        said = []
        for name in ("model.arpa", "model.tacit"):
            found = tacit.json("predict", out / name, text, "--k", 8)
            assert isinstance(found, dict) and found["text"] == text
            said.append({s["word"]: s["probability"] for s in found["suggestions"]})
            assert list(said[-1].values()) == sorted(said[-1].values(), reverse=True)
        exact, rounded = said
        assert len(exact) == len(rounded) == 8 and not set(exact) & set(SPECIALS)
        apart += [abs(math.log(exact[w] / rounded[w])) for w in exact.keys() & rounded]
        least = min(exact.values())  # the last places may be taken by neighbours
        assert all(abs(math.log(p / least)) < 0.05 for w, p in rounded.items() if w not in exact)
    assert len(apart) > 40 and 0 < max(apart) < 0.05  # eight bits: not the same, and not far


def test_the_word_list_by_its_grammar(distilled: Make) -> None:
    text = (distilled("--cased") / "words.combined").read_text("utf-8")
    header, *lines = text.splitlines()
    date = "date=1769817600"  # 2026-01-31
    assert header == f"dictionary=tacit:en,{date},description=Tacit fedavg,locale=en,version=1"
    line = re.compile(r"( word|  bigram)=([^\s,=#][^\s,=]*),f=(\d+)")
    parsed = [m.groups() for m in map(line.fullmatch, lines) if m]
    assert len(parsed) == len(lines) and parsed[0][0] == " word"
    listed = {word: int(f) for kind, word, f in parsed if kind == " word"}
    bigrams = [(word, int(f)) for kind, word, f in parsed if kind == "  bigram"]
    assert len(listed) == sum(kind == " word" for kind, _, _ in parsed) and len(bigrams) > 500
    assert all(listed[word] <= f <= 255 for word, f in bigrams) and min(listed.values()) >= 1
    grams = rows(distilled("--cased"))
    assert listed["I"] == round(255 + 8.58923700372 * grams["I",][0] * math.log2(10)) and "." not in listed


def test_the_dictionary_beside_it(distilled: Make, tmp_path: Path) -> None:
    """With a block list and another list merged in, by a reader that shares nothing with the writer."""
    (tmp_path / "never.txt").write_text("The\n", "utf-8")
    theirs = "dictionary=main:en,locale=en\n word=zyzzyva,f=200\n  bigram=see,f=210\n  shortcut=z,f=1\n"
    (tmp_path / "en.combined").write_text(theirs, "utf-8")
    for more in ((), ("--block", tmp_path / "never.txt", "--merge", tmp_path / "en.combined")):
        out = distilled(*more)
        found, read = facts(out)["dictionary"], parse((out / "words.dict").read_bytes())
        assert dict(read.header)["dictionary"] == "tacit:en" and dict(read.header)["date"] == "1769817600"
        opening = read.words.pop(SENTENCE)
        assert len(opening[3]) == found["sentence_starts"] > 5
        listed = combined.read(out / "words.combined").words
        f = dict(zip(listed.words, listed.f.tolist(), strict=True))
        assert {word: entry[0] for word, entry in read.words.items()} == f
        assert (
            sum(len(entry[3]) for entry in read.words.values()) == len(listed.followers) == found["bigrams"]
        )
        assert len(read.words) == found["words"] == len(listed.words)
        offensive = {word for word, entry in read.words.items() if entry[1]}
        assert len(offensive) == found["possibly_offensive"]
        if more:
            assert offensive == {"the"} and all("the" not in entry[3] for entry in read.words.values())
            assert found["merged"] == {"words": 1, "shortcuts_left_out": 1, "entries_left_out": 1}
            assert read.words["zyzzyva"] == (round(200 - 8.589), False, False, {})
        else:
            assert not offensive and found["merged"] is None and "zyzzyva" not in read.words


def test_openfst_compiles_it(distilled: Make) -> None:
    pywrapfst = pytest.importorskip("pywrapfst")
    out = distilled()
    table = pywrapfst.SymbolTable.read_text(str(out / "model.syms"))
    compiler = pywrapfst.Compiler(isymbols=table, osymbols=table, keep_state_numbering=True)
    compiler.write((out / "model.fst.txt").read_text("utf-8"))
    fst, found, grams = compiler.compile(), facts(out), rows(out)
    ends = sum(gram[-1] == "</s>" for gram in grams)
    assert fst.verify() and fst.num_states() == found["states"]
    arcs = sum(fst.num_arcs(q) for q in fst.states())
    assert arcs == found["ngrams"] - ends + found["states"] - 1  # an arc a word, a failure arc a history
    phi, q, weight = table.find("<phi>"), fst.start(), 0.0
    said = [table.find(5), table.find(120)]
    for word in said:  # by hand, along the failure arcs
        while word is not None:
            here = {arc.ilabel: arc for arc in fst.arcs(q)}
            arc = here.get(table.find(word)) or here[phi]
            weight, q, word = weight + float(arc.weight), arc.nextstate, None if arc.ilabel != phi else word
    kenlm = pytest.importorskip("kenlm")
    theirs = kenlm.Model(str(out / "model.arpa")).score(" ".join(said), bos=True, eos=False)
    assert -weight == pytest.approx(theirs * math.log(10), abs=1e-4)


def test_files_that_are_none(tacit: Commands, distilled: Make, tmp_path: Path) -> None:
    good = (distilled() / "model.tacit").read_bytes()
    text = (distilled() / "model.arpa").read_text("utf-8")
    newer = good[:8] + struct.pack("<I", 2) + good[12:]
    damaged = {
        "cut.tacit": (good[:-100], "were written; copy it again"),
        "short.tacit": (good[:20], "cut short"),
        "newer.tacit": (newer, "format version 2, but this Tacit reads version 1; update Tacit"),
        "flipped.tacit": (good[:-9] + bytes([good[-9] ^ 1]) + good[-8:], "damaged"),
        "cut.arpa": (text[: text.rindex("\n-")].encode(), "announced"),
        "noise.arpa": (np.random.default_rng(0).bytes(5000), "not an ARPA file"),
        "empty.arpa": (b"", "not an ARPA file"),
        "noise": (b"\xff\x00" * 100, "not an ARPA file"),
    }
    for name, (content, told) in damaged.items():
        (tmp_path / name).write_bytes(content)
        tacit("evaluate", tmp_path / name, "--corpus", "typists").refused(name, told)
        tacit("predict", tmp_path / name, "hi").refused(name, told)
    for name in ("nowhere.tacit", "nowhere.arpa"):
        tacit("evaluate", tmp_path / name, "--corpus", "typists").refused(name, "there is no such file")
        tacit("predict", tmp_path / name, "hi").refused(name, "there is no such file")
    tacit("evaluate", tmp_path / "nowhere", "--corpus", "typists").refused("not a run directory")
    for name in ("model.tacit", "model.arpa"):
        tacit("evaluate", distilled() / name).refused(name, "no held-out text of its own", "--corpus")
        tacit("evaluate", distilled() / name, "--corpus", "nowhere.txt").refused("nowhere.txt")
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(damaged)


def test_a_file_is_scored_on_the_held_out_people_of_a_run(
    distilled: Make, tacit: Commands, run: Path, tmp_path: Path
) -> None:
    """`tacit distill` measured it on the same text; the run's network, in 8 bits or as it is, says the same."""
    out = distilled()
    before = tree(run)
    found = tacit.json("evaluate", out / "model.tacit", "--held-out", run)
    assert isinstance(found, dict)
    own = evaluate.evaluate(run)
    measured = facts(out)["models"]["compact file"]
    for name in ("perplexity", "top1", "top3", "sll", "tokens", "oov", "people"):
        assert found[name] == pytest.approx(measured[name], rel=1e-6), name
    assert found["text"] == own["text"] and found["seen"]["tokens"] == own["seen"]["tokens"]
    assert evaluate.evaluate(run, held_out=run) == own
    export_network(run, tmp_path / "network.tacit", people=0)
    small = evaluate.evaluate(tmp_path / "network.tacit", held_out=run)
    assert small["tokens"] == own["tokens"] and small["oov"] == own["oov"]
    assert small["perplexity"] == pytest.approx(own["perplexity"], rel=1e-2) and small.keys() == own.keys()
    assert tree(run) == before


def test_evaluate_prints_a_file_like_a_run(distilled: Make, tacit: Commands, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("See you there\nARE YOU late\n", "utf-8")
    small = tacit.json("evaluate", distilled() / "model.tacit", "--corpus", tmp_path / "text.txt")
    whole = tacit.json("evaluate", distilled() / "model.arpa", "--corpus", tmp_path / "text.txt")
    assert isinstance(small, dict) and isinstance(whole, dict)
    assert (
        small["words"] == whole["words"] == 6 and small["oov"] == whole["oov"] < 1
    )  # capitals are no matter
    assert small["perplexity"] == pytest.approx(whole["perplexity"], rel=0.02)
    told = tacit.ok("evaluate", distilled() / "model.tacit", "--corpus", tmp_path / "text.txt")
    assert "perplexity" in told and f"{small['perplexity']:.2f}" in told
    assert "word" in tacit.ok("predict", distilled() / "model.tacit", "see you")
