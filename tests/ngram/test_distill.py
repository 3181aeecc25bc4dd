"""`tacit distill` as a person would use it: files that other programs read, figures, one line for what is wrong."""

from __future__ import annotations

import json
import math
import re
import shutil
import struct
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands import TINY, Commands, Trained, file_size_limit, leftovers, stub, tree, write_corpus
from tacit import runs
from tacit.lm import evaluate
from tacit.lm.open import open as open_model
from tacit.ngram import validity
from tacit.ngram.compact import reader
from tacit.ngram.distillation import sampling
from tacit.ngram.formats import arpa
from tacit.runs import directory
from tacit.runs.config import resolve
from tacit.text import supplement
from tacit.text.pieces import MARKER
from tacit.text.prepare import prepare
from tacit.text.vocabulary import SPECIALS

FILES = ["model.arpa", "model.fst.txt", "model.syms", "model.tacit", "summary.json", "words.combined"]
ROWS = ["Kneser-Ney, collected text", "Kneser-Ney, supplement", "compact file", "n-gram", "network"]
PEOPLE = ("typists.users=20", "typists.messages=8", "typists.quantity_skew=0", "text.vocabulary=150")
SENTENCES = 200
CONTEXTS = ("", "are you", "I am so", "see you", "xyzzy", "the the the")
Make = Callable[..., Path]
Gram = tuple[str, ...]


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory, compiled: Path) -> Path:
    """A tiny network of words, trained on the built-in typists."""
    out = tmp_path_factory.mktemp("distill") / "run"
    runs.train(resolve("fedavg", [*TINY, *PEOPLE, "training.rounds=1"]), out)
    return out


def unlearnt(out: Path, *settings: str) -> Path:
    """A run whose network has learnt nothing, which takes no time."""
    with pytest.MonkeyPatch.context() as patch:
        stub(patch)
        runs.train(resolve("fedavg", [*TINY, *settings, "training.rounds=1"]), out)
    return out


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("distilled")


@pytest.fixture
def distilled(tacit: Commands, run: Path, files: Path) -> Make:
    """The directory of `tacit distill` with these options; each is made once."""

    def make(*options: object, of: Path = run) -> Path:
        out = files / re.sub(r"\W+", "-", " ".join(map(str, ("m", of.name, *options))))
        if not out.exists():
            fixed = ("--sentences", SENTENCES, "--date", "2026-01-31", "--out", out)
            assert str(out) in tacit.ok("distill", of, *fixed, *options)
        return out

    return make


def facts(out: Path) -> dict[str, Any]:
    return json.loads((out / "summary.json").read_text("utf-8"))


def rows(out: Path) -> dict[Gram, tuple[float, str]]:
    """The n-grams of an ARPA file by its text alone: log10 p, and the backoff weight as it is written."""
    found = {}
    for line in (out / "model.arpa").read_text("utf-8").splitlines():
        if line and not line.startswith(("\\", "ngram ")):
            p, words, *backoff = line.split("\t")
            found[tuple(words.split(" "))] = float(p), "".join(backoff)
    return found


def grams_of(sentences: list[list[str]], words: tuple[str, ...]) -> set[Gram]:
    """Every n-gram of one to three words in sentences, and every word: what an unpruned model is made of."""
    found = {(word,) for word in words}
    for sentence in sentences:
        whole = ["<s>", *sentence, "</s>"]
        found |= {tuple(whole[i : i + n]) for n in (1, 2, 3) for i in range(len(whole) - n + 1)}
    return found


def sentences_of(tokens: np.ndarray, offsets: np.ndarray, words: tuple[str, ...]) -> list[list[str]]:
    return [[words[i] for i in tokens[a + 1 : b - 1]] for a, b in pairwise(offsets.tolist())]


def at_start(run: runs.Run) -> dict[str, float]:
    """What a network says first in a message, `<s>` excepted."""
    logits = np.asarray(run.model.apply(run.params, np.zeros((1, 1), np.int32)), np.float64)[0, 0, 1:]
    p = np.exp(logits - logits.max())
    return dict(zip(run.vocabulary.words[1:], p / p.sum(), strict=True))


# What it is made of.


@pytest.mark.parametrize("topology", ["e", "i", "m", "r"])
def test_each_topology_has_its_own_ngrams_and_the_weights_of_the_network(
    distilled: Make, run: Path, topology: str
) -> None:
    out = distilled("--topology", topology)
    assert sorted(tree(out)) == FILES
    loaded = runs.load(run)
    words = loaded.vocabulary.words
    beside = supplement.find(loaded.config.text, loaded.config.typists, None, None)
    assert beside is not None
    text = beside.packed(loaded.vocabulary)
    external = grams_of(sentences_of(text.tokens, text.offsets, words), words)
    drawn = sampling.draw(sampling.network(loaded.model, loaded.params), 0, SENTENCES)
    inferred = grams_of(sentences_of(drawn.tokens, drawn.offsets, words), words)
    expected = {"e": external, "i": inferred}.get(topology, external | inferred)
    assert len(external - inferred) > 500 and len(inferred - external) > 500
    assert set(rows(out)) == expected

    found = facts(out)
    assert sorted(found["models"]) == ROWS and found["topology"] == topology
    assert found["ngrams"] == len(expected) - 1  # `<s>` is never predicted
    assert (found["vocabulary"], found["order"], found["cased"], found["sentences"]) == (150, 3, False, 200)
    assert found["supplement"] == "100 other typists"
    assert found["bytes"] == {name: (out / name).stat().st_size for name in FILES if name != "summary.json"}
    assert 0 < found["latency_us"]["p50"] <= found["latency_us"]["p99"]
    models = found["models"]
    assert len({(m["tokens"], m["people"], m["oov"]) for m in models.values()}) == 1  # all read the same
    assert models["network"] == {k: v for k, v in evaluate.evaluate(run).items() if k not in ("text", "seen")}
    # a network of one round knows little, and so does its n-gram model, whatever the supplement knew
    off = math.log(models["n-gram"]["perplexity"] / models["network"]["perplexity"])
    assert abs(off) < 0.1 < math.log(models["network"]["perplexity"] / models[ROWS[1]]["perplexity"])
    assert models["compact file"]["perplexity"] == pytest.approx(models["n-gram"]["perplexity"], rel=5e-3)

    vocabulary, model = arpa.read(out / "model.arpa")
    assert vocabulary.words == words
    validity.require(model, vocabulary)
    if topology != "m":  # all positions of the history `<s>` are alike: there it says what the network says
        said = at_start(loaded)
        first = {gram[1]: 10**p for gram, (p, _) in rows(out).items() if gram[0] == "<s>" and len(gram) == 2}
        assert len(first) > 20 and first == {w: pytest.approx(said[w], rel=1e-4) for w in first}


def test_the_refined_model_has_the_merged_ones_ngrams_but_not_its_weights(distilled: Make) -> None:
    merged, refined = (rows(distilled("--topology", t)) for t in "mr")
    apart = [abs(merged[gram][0] - refined[gram][0]) for gram in merged]
    assert merged.keys() == refined.keys() and max(apart) > 0.01


def test_capitals(distilled: Make, tacit: Commands, run: Path) -> None:
    """People of the supplement write The and I'm, or the and i'm: both are words of a cased model."""
    plain, cased = distilled(), distilled("--cased")
    assert reader.open(cased / "model.tacit").facts["cased"] is True
    assert reader.open(plain / "model.tacit").facts["cased"] is False
    assert facts(cased)["cased"] and sorted(facts(cased)["models"]) == ROWS
    lower = {gram[0]: 10**p for gram, (p, _) in rows(plain).items() if len(gram) == 1}
    upper = {gram[0]: 10**p for gram, (p, _) in rows(cased).items() if len(gram) == 1}
    assert not any(word != word.lower() for word in lower) and {"I", "Hi", "The", "the"} <= set(upper)
    assert {word.lower() for word in upper} == set(lower)  # no other words
    beside = supplement.find(runs.load(run).config.text, runs.load(run).config.typists, None, None)
    assert beside is not None
    written = Counter(word for message in beside.written() for word in message)
    capitals = {word for word in upper if word != word.lower()}
    assert all(written[word] for word in capitals) and len(capitals) > 20
    assert capitals >= {w for w, n in written.items() if n > 1 and w != w.lower() and w.lower() in lower}
    for file in ("model.tacit", "model.arpa"):
        said = [word for word, _ in open_model(cased / file).suggest("", 40)]
        assert "The" in said and "the" not in said[: said.index("The")]  # at the start of a message
        assert open_model(cased / file).suggest("ARE You", 3) == open_model(cased / file).suggest(
            "are you", 3
        )


@pytest.fixture(scope="session")
def piece_run(run: Path, tmp_path_factory: pytest.TempPathFactory, compiled: Path) -> Path:
    """The same people and words, read in pieces."""
    here = tmp_path_factory.mktemp("pieces")
    config = resolve("fedavg", [*TINY, *PEOPLE])
    ready = prepare(config.text, config.partition, config.typists, config.seed)
    counted = np.bincount(ready.clients.gather(np.arange(len(ready.clients))).tokens, minlength=150)
    table = zip(ready.vocabulary.words[3:], counted[3:].tolist(), strict=True)
    (here / "counts.tsv").write_text("".join(f"{word}\t{n}\n" for word, n in table), "utf-8")
    over = ("text.pieces=80", f"text.inventory={here / 'counts.tsv'}")
    return unlearnt(here / "spelt", *PEOPLE, *over)


def test_word_pieces(distilled: Make, tacit: Commands, run: Path, piece_run: Path, tmp_path: Path) -> None:
    out = distilled("--pieces", run, of=piece_run)
    found = facts(out)
    words = runs.load(run).vocabulary.words
    assert {gram for gram in rows(out) if len(gram) == 1} == {(word,) for word in words}
    assert set(rows(out)) == set(rows(distilled()))  # the word network's own n-grams, and the supplement's
    models = found["models"]
    assert "perplexity_per_piece" in models["network"] and "perplexity_per_piece" not in models["n-gram"]
    assert models["n-gram"]["words"] == models["network"]["words"]
    said, grams = at_start(runs.load(piece_run)), rows(out)
    alone = [word for word in words if word + MARKER in said and ("<s>", word) in grams]
    ratios = [10 ** grams["<s>", word][0] / said[word + MARKER] for word in alone]
    assert len(alone) > 3 and ratios == pytest.approx([ratios[0]] * len(alone), rel=1e-4)
    assert sorted(tree(distilled("--topology", "e", of=piece_run))) == FILES  # needs no word network

    no = tmp_path / "no"
    for topology in "imr":
        tacit("distill", piece_run, "--topology", topology, "--out", no).refused("--pieces RUN")
    tacit("distill", run, "--pieces", run, "--out", no).refused("a model over words already")
    tacit("distill", piece_run, "--pieces", piece_run, "--out", no).refused("not a run over the words of")
    tacit("distill", piece_run, "--pieces", tmp_path, "--out", no).refused("is not a run directory")
    assert not no.exists()


def test_counted_unigrams(distilled: Make, tacit: Commands, run: Path, tmp_path: Path) -> None:
    tacit.ok("count", run, "--rounds", 3, "--lambda", "inf", "--out", tmp_path / "count")
    table = tmp_path / "count" / "counts.tsv"
    counts = {w: int(n) for w, n in (line.split("\t") for line in table.read_text("utf-8").splitlines())}
    known = runs.load(run).vocabulary.words
    new = sorted(set(counts) - set(known))
    assert len(new) > 100
    out = distilled("--unigrams", table, "--max-ngrams", 2000)
    found, grams = facts(out), rows(out)
    assert found["vocabulary"] == 150 + len(new) and found["ngrams"] == 2000  # with the new words
    for a, b in ((new[0], new[1]), (new[0], "the"), ("you", "the")):
        assert 10 ** (grams[a,][0] - grams[b,][0]) == pytest.approx(counts[a] / counts[b])
    assert {len(gram) for gram in grams if set(gram) & set(new)} == {1}
    oov = {name: m["oov"] for name, m in found["models"].items()}
    assert oov["n-gram"] == oov["compact file"] < oov["network"] == oov["Kneser-Ney, supplement"]
    validity.require(arpa.read(out / "model.arpa")[1])


@pytest.mark.parametrize(("order", "most"), [(3, 600), (2, 300), (1, 1500), (4, 149)])
def test_size_and_order(distilled: Make, order: int, most: int) -> None:
    out = distilled("--topology", "e", "--order", order, "--max-ngrams", most)
    grams = rows(out)
    assert facts(out)["ngrams"] == len(grams) - 1 == (149 if order == 1 else most)
    assert max(map(len, grams)) == (1 if most == 149 else order)
    assert sum(reader.open(out / "model.tacit").facts["ngrams"]) == len(grams)


# Who reads the files.


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
    assert header == f"dictionary=main:en,locale=en,description=Tacit fedavg,{date},version=1"
    line = re.compile(r"( word|  bigram)=([^\s,=#][^\s,=]*),f=(\d+)")
    parsed = [m.groups() for m in map(line.fullmatch, lines) if m]
    assert len(parsed) == len(lines) and parsed[0][0] == " word"
    listed = {word: int(f) for kind, word, f in parsed if kind == " word"}
    bigrams = [(word, int(f)) for kind, word, f in parsed if kind == "  bigram"]
    assert len(listed) == sum(kind == " word" for kind, _, _ in parsed) and len(bigrams) > 500
    assert all(listed[word] <= f <= 255 for word, f in bigrams) and min(listed.values()) >= 1
    grams = rows(distilled("--cased"))
    p = grams["I",][0] * math.log(10)
    assert listed["I"] == round(255 + p / math.log(1.15)) and "." not in listed


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


# The command.


def test_a_second_time_the_same_bytes(distilled: Make, tacit: Commands, run: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(run, tmp_path / "run")
    first, before = tree(distilled()), tree(run)
    arguments = ("distill", copy, "--sentences", SENTENCES, "--date", "2026-01-31")
    told = tacit.ok(*arguments)
    assert str(copy / "ngram") in told and all(name in told for name in ROWS) and "n-grams" in told
    again = tree(copy / "ngram")
    for found in (first, again):
        found["summary.json"] = re.sub(rb'"latency_us": \{[^}]*\}', b"", found["summary.json"])
    assert first == again and {k: v for k, v in tree(copy).items() if not k.startswith("ngram")} == before
    printed = tacit.json(*arguments, "--seed", 1)  # over the old ones
    assert printed == facts(copy / "ngram")
    other = tree(copy / "ngram")
    assert sorted(other) == FILES and other["model.arpa"] != again["model.arpa"]


@pytest.fixture(scope="session")
def other_run(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """Clients who are no typists: there is text of theirs, and none beside it."""
    here = tmp_path_factory.mktemp("other")
    corpus = write_corpus(here / "messages.jsonl")
    named = 'name="my, own: run"'  # what the header of a word list cannot hold
    return Trained(unlearnt(here / "run", named, f"text.corpus={corpus}", "text.vocabulary=0"), corpus)


def test_clients_with_text_of_their_own(tacit: Commands, other_run: Trained, tmp_path: Path) -> None:
    """No supplement comes by itself; the network's own n-grams need none."""
    ours = other_run
    out = tmp_path / "out"
    some = ("distill", ours.path, "--sentences", 50, "--out", out)
    tacit(*some).refused("n-grams of topology r come from text that is not the clients'", "--supplement")
    tacit(*some, "--topology", "i", "--cased").refused("capitals are learnt", "--supplement CORPUS")
    tacit(*some, "--supplement", ours.corpus).refused("is the clients' own text", "another corpus")
    again = tmp_path / "again.jsonl"
    again.symlink_to(ours.corpus)
    tacit(*some, "--supplement", again).refused("is the clients' own text")
    assert not out.exists()
    found = tacit.json(*some, "--topology", "i")
    assert isinstance(found, dict) and found["supplement"] is None
    assert "Kneser-Ney, supplement" not in found["models"] and found["name"] == "my, own: run"
    assert ",description=Tacit my own run," in (out / "words.combined").read_text("utf-8")
    (tmp_path / "cased.txt").write_text("See you There soon .\nI am late .\n" * 3, "utf-8")
    shutil.rmtree(out)
    found = tacit.json(*some, "--supplement", tmp_path / "cased.txt", "--cased")
    assert isinstance(found, dict) and found["supplement"] == str(tmp_path / "cased.txt")
    assert ("There",) in rows(out) and ("I",) in rows(out) and ("i",) not in rows(out)


def test_bad_input_is_one_line_and_leaves_nothing(tacit: Commands, run: Path, tmp_path: Path) -> None:
    empty, lower, out = tmp_path / "empty.txt", tmp_path / "lower.txt", tmp_path / "out"
    empty.write_text("\n", "utf-8")
    lower.write_text("see you there .\nwe are late .\n", "utf-8")
    (tmp_path / "words.tsv").write_text("new york\t3\n", "utf-8")
    (tmp_path / "special.tsv").write_text("</s>\t3\n", "utf-8")
    (tmp_path / "none.tsv").write_text("home\t0\n", "utf-8")
    (tmp_path / "mouth.tsv").write_text("home\t3\n=d\t4\n", "utf-8")
    (tmp_path / "endless.tsv").write_text("home\tinf\n", "utf-8")
    (tmp_path / "line.tsv").write_text("home\n", "utf-8")
    for more, named in (
        (["--topology", "x"], ["--topology x", "e, i, m, r"]),
        (["--date", "31.1.2026"], ["--date 31.1.2026", "2026-01-31"]),
        (["--date", "2026-02-30"], ["--date 2026-02-30"]),
        (["--order", "0"], ["--order"]),
        (["--order", "6"], ["--order"]),
        (["--sentences", "0"], ["--sentences"]),
        (["--seed", "-1"], ["--seed"]),
        (["--seed", "4294967296"], ["--seed"]),
        (["--max-ngrams", "100"], ["--max-ngrams 100", "149 single words"]),
        (["--supplement", empty], ["empty.txt", "no text"]),
        (["--supplement", tmp_path / "nowhere.txt"], ["nowhere.txt", "no such file"]),
        (["--supplement", "tatoeba"], ["'tatoeba'", "'tatoeba-"]),
        (["--supplement", lower, "--cased"], ["lower.txt has no capital in it", "properly written"]),
        (["--unigrams", tmp_path / "nowhere.tsv"], ["nowhere.tsv", "cannot read these counts"]),
        (["--unigrams", tmp_path / "line.tsv"], ["line.tsv, line 1"]),
        (["--unigrams", tmp_path / "words.tsv", "--skip"], ["'new york' is not one word"]),
        (["--unigrams", tmp_path / "special.tsv"], ["'</s>' is not one word"]),
        (["--unigrams", tmp_path / "none.tsv"], ["no word was counted"]),
        (["--unigrams", tmp_path / "endless.tsv"], ["'home' has the count inf"]),
        (["--unigrams", tmp_path / "mouth.tsv"], ["'=d'", "--skip"]),
        (["--locale", "en,GB"], ["locale is 'en,GB'"]),
        (["--locale", ""], ["locale is ''"]),
    ):
        tacit("distill", run, "--sentences", 20, "--out", out, *more).refused(*named)
        assert not out.exists(), more
    tacit("distill", tmp_path, "--out", out).refused("is not a run directory")
    tacit("distill", tmp_path / "nowhere", "--out", out).refused("is not a run directory")
    assert not out.exists()
    tacit.ok(
        "distill", run, "--sentences", 20, "--out", out, "--skip", "--unigrams", tmp_path / "mouth.tsv",
        "--topology", "i",
    )  # fmt: skip
    listed = (out / "words.combined").read_text("utf-8")
    assert ("=d",) in rows(out) and " word=home," in listed and "==" not in listed


def test_a_run_with_capitals_of_its_own_takes_no_others(
    tacit: Commands, other_run: Trained, tmp_path: Path
) -> None:
    copy = shutil.copytree(other_run.path, tmp_path / "run")
    words = (copy / "vocabulary.txt").read_text("utf-8")
    (copy / "vocabulary.txt").write_text(words.replace("\nhome\n", "\nHome\n"), "utf-8")
    directory.save(copy, directory.BEST, runs.load(other_run.path).params, 1, None)
    (tmp_path / "cased.txt").write_text("See you .\n", "utf-8")
    tacit("distill", copy, "--cased", "--supplement", tmp_path / "cased.txt").refused("'Home'", "text.case")
    assert not (copy / "ngram").exists()


def test_places_that_cannot_be_written(tacit: Commands, run: Path, distilled: Make, tmp_path: Path) -> None:
    """What is in the way is told before anything is drawn; a disk that fills up leaves what was there before."""
    (tmp_path / "file").write_text("mine", "utf-8")
    some = ("distill", run, "--sentences", SENTENCES, "--topology", "e", "--date", "2026-01-31")
    for out in (tmp_path / "file", tmp_path / "file" / "below", tmp_path / "file" / "far" / "below"):
        tacit(*some, "--out", out).refused("cannot write", "choose another --out")
    before = tree(run)
    tacit(*some, "--out", run).refused("holds a run", "choose another --out")
    assert tree(run) == before
    (tmp_path / "count").mkdir()
    (tmp_path / "count" / "summary.json").write_text("{}", "utf-8")
    tacit(*some, "--out", tmp_path / "count").refused("other figures", "choose another --out")
    assert tree(tmp_path / "count") == {"summary.json": b"{}"}

    limit = facts(distilled("--topology", "e"))["bytes"]["model.arpa"] - 1
    old = shutil.copytree(distilled("--topology", "i"), tmp_path / "old")
    kept = tree(old)
    for out in (tmp_path / "new", old):
        with file_size_limit(limit):
            tacit(*some, "--out", out).refused("cannot write", "model.arpa", "free some space")
    assert not (tmp_path / "new").exists() and tree(old) == kept
    assert not leftovers(tmp_path) and not [p for p in old.iterdir() if p.is_dir()]


# Files given to the other commands.


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
