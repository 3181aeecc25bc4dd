"""What a distilled model is made of: n-grams, weights, capitals, word-pieces, counted unigrams; and its size."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from distilled_runs import (
    FILES,
    PEOPLE,
    ROWS,
    SENTENCES,
    Make,
    at_start,
    facts,
    grams_of,
    rows,
    sentences_of,
    unlearnt,
)

from commands import TINY, Commands, tree
from tacit import runs
from tacit.distillation import sampling
from tacit.distillation.approximate_pieces import drawn_words, piece_text
from tacit.lm import evaluate
from tacit.lm.open import open as open_model
from tacit.ngram import validity
from tacit.ngram.compact import reader
from tacit.ngram.formats import arpa
from tacit.page import building
from tacit.privacy import ledger
from tacit.privacy.ledger import Release
from tacit.runs.config import resolve
from tacit.text import supplement
from tacit.text.pieces import MARKER
from tacit.text.prepare import prepare


@pytest.mark.parametrize("topology", ["e", "i", "m", "r"])
def test_each_topology_has_its_own_ngrams_and_the_weights_of_the_network(
    distilled: Make, run: Path, topology: str
) -> None:
    out = distilled("--topology", topology)
    assert sorted(tree(out)) == FILES
    loaded = runs.load(run)
    words = loaded.vocabulary.words
    extra = supplement.find(loaded.config.text, loaded.config.typists, None, None)
    assert extra is not None
    text = extra.packed(loaded.vocabulary)
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
    extra = supplement.find(runs.load(run).config.text, runs.load(run).config.typists, None, None)
    assert extra is not None
    written = Counter(word for message in extra.written() for word in message)
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

    # without a word network, its own sentences are read as words
    said_so = tacit.ok("distill", piece_run, "--sentences", SENTENCES, "--out", tmp_path / "own")
    assert "topology r" in said_so and "sentences of pieces, read as words" in said_so
    assert facts(tmp_path / "own")["inferred_from"] == "pieces" and found["inferred_from"] == "words"
    spelt = runs.load(piece_run)
    assert spelt.spelling is not None
    source = sampling.network(spelt.model, spelt.params)
    drawn = drawn_words(piece_text(source, spelt.spelling.pieces, spelt.spelling.words, SENTENCES))
    inferred = grams_of(sentences_of(drawn.tokens, drawn.offsets, words), words)
    external = set(rows(distilled("--topology", "e", of=piece_run)))
    assert set(rows(tmp_path / "own")) == external | inferred and len(inferred - external) > 500

    no = tmp_path / "no"
    tacit("distill", run, "--pieces", run, "--out", no).refused("already a model over words")
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


def test_counted_unigrams_are_interpolated(distilled: Make, tmp_path: Path) -> None:
    """The root mixes what it says with the counts in place of its own, α, and what it said before, 1 − α."""
    (tmp_path / "counts.tsv").write_text("home\t6\nyou\t3\nxylophone\t1\n", "utf-8")
    more = ("--topology", "i", "--unigrams", tmp_path / "counts.tsv")
    plain, whole, mixed = (
        {gram[0]: 10**p for gram, (p, _) in rows(out).items() if len(gram) == 1 and gram != ("<s>",)}
        for out in (
            distilled("--topology", "i"),
            distilled(*more),
            distilled(*more, "--unigram-weight", 0.25),
        )
    )
    assert set(mixed) == set(whole) == {*plain, "home", "xylophone"}
    for word, p in mixed.items():
        assert p == pytest.approx(0.75 * plain.get(word, 0) + 0.25 * whole[word], rel=1e-4), word
    assert abs(mixed["you"] / whole["you"] - 1) > 0.1


def test_counts_of_the_clients(distilled: Make) -> None:
    """The same n-grams with other weights: a network of one round knows less than its clients' text."""
    plain, counted = (distilled("--topology", "e", *more) for more in ((), ("--client-counts", 100)))
    assert set(rows(plain)) == set(rows(counted))
    assert (facts(plain)["client_counts"], facts(counted)["client_counts"]) == (None, 100)
    perplexity = [facts(out)["models"]["n-gram"]["perplexity"] for out in (plain, counted)]
    assert perplexity[1] < 0.9 * perplexity[0]


@pytest.mark.parametrize(("order", "most"), [(3, 600), (2, 300), (1, 1500), (4, 149)])
def test_size_and_order(distilled: Make, order: int, most: int) -> None:
    out = distilled("--topology", "e", "--order", order, "--max-ngrams", most)
    grams = rows(out)
    assert facts(out)["ngrams"] == len(grams) - 1 == (149 if order == 1 else most)
    assert max(map(len, grams)) == (1 if most == 149 else order)
    assert sum(reader.open(out / "model.tacit").facts["ngrams"]) == len(grams)


def test_a_model_of_a_private_run_says_what_else_was_taken_from_clients(
    distilled: Make, run: Path, tmp_path: Path
) -> None:
    """Post-processing has the run's ε. N-grams counted on the clients have none, nor a model of their pooled text."""
    pytest.importorskip("dp_accounting")
    words = tmp_path / "words.txt"
    words.write_text("\n".join(runs.load(run).vocabulary.words[3:]) + "\n")
    mechanism = ("privacy.mechanism=gaussian", "privacy.clip=1", "privacy.noise=2")
    private = unlearnt(tmp_path / "private", *PEOPLE, *mechanism, f"text.words={words}")
    ledger.append(private / ledger.NAME, Release("round", "gaussian", 1, 2.0, "fixed", clip=1.0))
    made = facts(distilled("--topology", "i", of=private))
    assert 1 < made["epsilon"] < 10 and made["epsilon_reason"] == ""
    assert sorted(made["models"]) == ROWS[1:]
    counted = facts(distilled("--topology", "i", "--client-counts", 5, of=private))
    assert counted["epsilon"] is None and counted["epsilon_reason"].startswith(
        "n-grams: they are counted on the clients"
    )
    assert runs.load(run).prepare().seen is not None and "seen" in evaluate.evaluate(run)
    assert "seen" not in evaluate.evaluate(private)
    assert "seen" not in evaluate.evaluate(run, held_out=private)
    # nor does `tacit serve` make a model of the pooled text
    assert not building.collected(
        private, reader.open(distilled("--topology", "i", of=private) / "model.tacit"), None, tmp_path / "c"
    )
