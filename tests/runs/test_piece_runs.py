"""A run over word-pieces: text, scores and run directory, against sentences scored one by one."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import jax
import numpy as np
import pytest

from tacit import runs
from tacit.base.errors import TacitError
from tacit.federated.evaluation import scorer
from tacit.lm import evaluate
from tacit.lm.open import open as open_model
from tacit.models import ModelConfig, language_model
from tacit.runs.config import resolve
from tacit.runs.data import prepare
from tacit.scoring.scores import per_piece, summary
from tacit.text import pieces, vocabulary
from tacit.text.packed import pack
from tacit.text.pieces import MARKER, Spelling
from tacit.text.tokens import tokenize
from tacit.text.typists import Typists
from tacit.text.vocabulary import EOS, UNK

SMALL = [
    "typists.users=12",
    "typists.messages=8",
    "text.vocabulary=120",
    "model.embedding=8",
    "model.hidden=8",
]


def counts_file(folder: Path) -> Path:
    """Words of the training text and their counts, as `tacit count` writes them."""
    config = resolve("fedavg", SMALL)
    ready = prepare(config)
    words, counted = (
        ready.vocabulary.words,
        Counter(ready.clients.gather(np.arange(len(ready.clients))).tokens.tolist()),
    )
    lines = [f"{words[i]}\t{n}\n" for i, n in counted.most_common() if i > UNK]
    file = folder / "counts.tsv"
    file.write_text("".join(lines), "utf-8")
    return file


def pieced(file: Path, *more: str) -> list[str]:
    return [*SMALL, "text.pieces=90", f"text.inventory={file}", *more]


def test_text_in_pieces_is_the_same_text(tmp_path: Path) -> None:
    config = resolve("fedavg", pieced(counts_file(tmp_path)))
    people = Typists(config.typists)
    said = (m.text.lower() for k in range(len(people)) for m in people.messages(k))
    every = vocabulary.build(Counter(word for text in said for word in tokenize(text)), 0)
    by_words = prepare(config, every)
    found = prepare(config)
    assert found.spelling is not None and len(found.vocabulary) == 90 and len(found.spelling.words) == 120
    spell = found.spelling.pieces
    for mine, other in (
        (found.valid, by_words.valid),
        (found.test, by_words.test),
        (found.seen, by_words.seen),
    ):
        assert mine is not None and other is not None
        assert len(mine.offsets) == len(other.offsets) and mine.names == other.names
        for i in range(len(mine.offsets) - 1):
            words = every.decode(other.tokens[other.offsets[i] : other.offsets[i + 1]])
            ids = mine.tokens[mine.offsets[i] : mine.offsets[i + 1]]
            np.testing.assert_array_equal(ids, spell.encode(words))
    assert (found.clients.sizes == by_words.clients.sizes).all()


def test_scores_are_those_of_words(tmp_path: Path) -> None:
    """Sentence by sentence, word by word: what `scorer` says about a piece model."""
    table = {"low": 9, "lower": 6, "lowest": 3, "newest": 8, "wide": 4, "new": 5, "a": 20, ".": 30}
    inventory = pieces.train(table, 23)
    spelling = Spelling(
        inventory, vocabulary.build({w: table[w] for w in ("low", "lowest", "a", ".", "wide")}, 0)
    )
    draw = np.random.default_rng(0)
    names = [*table, "widest", "x"]  # a word that is not counted but spelt, and one that is not
    text = [[names[i] for i in draw.integers(0, len(names), draw.integers(1, 6))] for _ in range(9)]
    packed = pack([[inventory.encode(s) for s in text]], ["ana"])
    model = language_model(ModelConfig(embedding=5, hidden=5), len(inventory))
    params = jax.tree.map(lambda x: 3 * x, model.init(jax.random.key(1)))
    found = scorer(model, spelling)(params, packed)
    apply = jax.jit(model.apply)

    one_piece = [i for i, p in enumerate(inventory.vocabulary.words) if p.endswith(MARKER) and p != MARKER]
    for number, sentence in enumerate(text):
        ids = inventory.encode(sentence)
        padded = np.zeros((1, 60), np.int32)  # one shape, one program
        padded[0, : len(ids)] = ids
        log_p = np.asarray(jax.nn.log_softmax(apply(params, padded)[0]), np.float64)
        at, nll, nll_oov, oov, top1, top3 = 0, 0.0, 0.0, 0, 0, 0
        for word, segment in zip(sentence, inventory.segment(sentence), strict=True):
            own = -sum(log_p[at + i, piece] for i, piece in enumerate(segment))
            nll += own
            if word not in spelling.words.index:
                nll_oov, oov = nll_oov + own, oov + 1
            ranked = sorted(one_piece, key=lambda i: (-log_p[at, i], i))
            if len(segment) == 1:
                top1, top3 = top1 + (segment[0] in ranked[:1]), top3 + (segment[0] in ranked[:3])
            at += len(segment)
        nll -= log_p[at, EOS]
        expected = [nll, nll_oov, len(sentence), oov, top1, top3]
        got = [getattr(found, f)[number] for f in ("nll", "nll_oov", "words", "oov", "top1", "top3")]
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)
    assert found.oov.sum() and found.top3.sum() and found.nll_oov.sum()

    pieces_and_ends = sum(len(inventory.encode(s)) - 1 for s in text)
    assert per_piece(found, packed, None) == {}
    measured = summary(found, packed, spelling)
    assert measured["perplexity_per_piece"] == pytest.approx(np.exp(found.nll.sum() / pieces_and_ends))
    words_and_ends = sum(len(s) + 1 for s in text)
    assert measured["perplexity"] == pytest.approx(np.exp(found.nll.sum() / words_and_ends))
    assert measured["sll_without_oov"] == pytest.approx(-(found.nll - found.nll_oov).mean())


def test_the_end_of_a_longer_word_is_no_suggestion() -> None:
    """A piece that is a word by itself is suggested where a word begins, and nowhere else."""
    table = {"low": 9, "lower": 6, "lowest": 3, "newest": 8, "wide": 4, "new": 5, "a": 20, ".": 30}
    inventory = pieces.train(table, 23)
    (first, last), (alone,) = inventory.segment(["wa", "a"])
    assert last == alone and inventory.whole[last] and not inventory.ends[first]
    model = language_model(ModelConfig(embedding=2, hidden=2), len(inventory))
    nothing = jax.tree.map(
        lambda a: np.zeros(a.shape, a.dtype), jax.eval_shape(model.init, jax.random.key(0))
    )
    sure = dict(nothing, output_bias=np.eye(len(inventory), dtype=np.float32)[last])  # always says "a"
    text = pack([[inventory.encode(["wa"]), inventory.encode(["a"])]], ["ana"])
    found = scorer(model, Spelling(inventory, vocabulary.build(table, 0)))(sure, text)
    assert found.words.tolist() == [1, 1] and found.top1.tolist() == found.top3.tolist() == [0, 1]


def test_a_run_over_pieces(tmp_path: Path) -> None:
    file = counts_file(tmp_path)
    settings = pieced(file, "training.best=sll_without_oov")
    out = tmp_path / "run"
    runs.train(resolve("fedavg", [*settings, "training.rounds=1"]), out)
    kept = {name: (out / name).read_bytes() for name in ("pieces.model", "words.txt", "vocabulary.txt")}
    assert len(kept["vocabulary.txt"].splitlines()) == 91 and len(kept["words.txt"].splitlines()) == 121
    file.unlink()  # from now on the run has its own inventory
    found = runs.train(resolve("fedavg", [*settings, "training.rounds=2"]), out, resume=True)
    assert kept == {name: (out / name).read_bytes() for name in kept}
    assert found["pieces"] and found["vocabulary"] == 90 and found["chosen_by"] == "valid_sll_without_oov"
    assert found["test"]["perplexity_per_piece"] < found["test"]["perplexity"]
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text("utf-8").splitlines()]
    assert {"valid_perplexity_per_piece", "valid_sll_without_oov"} <= set(lines[0])

    run = runs.load(out)
    assert run.spelling is not None and run.encoder is run.spelling and len(run.vocabulary) == 90
    assert evaluate.evaluate(out)["sll_without_oov"] == pytest.approx(found["test"]["sll_without_oov"])
    other = tmp_path / "other.txt"
    other.write_text("see you at home\nunlikely words\n", "utf-8")
    assert evaluate.evaluate(out, str(other))["words"] == 6
    best = open_model(out).suggest("see you", 4)
    assert len(best) == 4 and all(word and MARKER not in word for word, _ in best)
    assert [p for _, p in best] == sorted((p for _, p in best), reverse=True)


def test_damaged_pieces_are_not_believed(tmp_path: Path) -> None:
    config = resolve("fedavg", pieced(counts_file(tmp_path), "training.rounds=1", "sampling.clients=2"))
    runs.train(config, tmp_path / "run")
    file = tmp_path / "run" / "pieces.model"
    good = file.read_bytes()
    at = good.index(f"you{MARKER}".encode())
    for bad, told in (
        (good[:at] + b"z" + good[at + 1 :], "not those of vocabulary.txt"),
        (good[:at] + b"\xff" + good[at + 1 :], "damaged"),
        (b"", "damaged"),
    ):
        file.write_bytes(bad)
        with pytest.raises(TacitError, match=told):
            runs.load(tmp_path / "run")


def test_bad_input(tmp_path: Path) -> None:
    with pytest.raises(TacitError, match=r"text\.pieces = 90 needs text\.inventory"):
        resolve("fedavg", ["text.pieces=90"])
    with pytest.raises(TacitError, match=r"text\.inventory would do nothing"):
        resolve("fedavg", ["text.inventory=counts.tsv"])
    config = resolve("fedavg", pieced(tmp_path / "none.tsv"))
    with pytest.raises(TacitError, match="cannot read these counts"):
        runs.train(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    config = resolve("fedavg", pieced(counts_file(tmp_path), "text.pieces=90000"))
    with pytest.raises(TacitError, match="90000 pieces are too many"):
        runs.train(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()
