"""One interface over every model: each against another way to ask that model, and input that nobody planned for."""

from __future__ import annotations

import math
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from key_models import flat, model_of, talk, taps_of, write_run

import reference
from tacit import runs
from tacit.base.errors import TacitError
from tacit.keyboard import suggestions
from tacit.keyboard.capitals import starts_sentence
from tacit.keyboard.suggestions import over
from tacit.lm.dense import dense
from tacit.lm.network import network_source
from tacit.lm.network8 import writer
from tacit.lm.protocol import suggest
from tacit.models import language_model
from tacit.ngram import automaton, kneser_ney
from tacit.ngram.casing import kinds, sentence_starts
from tacit.ngram.compact import reader
from tacit.ngram.compact import writer as compact_writer
from tacit.ngram.compact.model import CompactSource
from tacit.ngram.formats import arpa
from tacit.ngram.model import automaton_source
from tacit.personal import models
from tacit.personal.mixing import MOST, Memory
from tacit.runs.config import resolve
from tacit.text import pieces
from tacit.text.vocabulary import SPECIALS, Vocabulary

CONTEXTS = ("", "the", "The count is", "want to", "i don't", "unheard of", "the best value for")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory):
    here = tmp_path_factory.mktemp("models")
    words, model = model_of()
    compact_writer.write(here / "model.tacit", words, model, name="talk")
    arpa.write(here / "model.arpa", words, model)
    return here


def plain(found):
    return {s.word.lower(): s.p for s in found}


def test_the_compact_file_says_what_its_own_reader_says(files):
    stored, asked = reader.open(files / "model.tacit"), suggestions.open(files / "model.tacit")
    for context in CONTEXTS:
        for prefix in ("", "t", "mo", "zz"):
            wanted = suggest(CompactSource(stored), context.lower().split(), 5, prefix)
            found = asked.complete(context, prefix, 5)
            assert [(s.word.lower(), s.p) for s in found] == wanted
        ids = np.arange(3, len(stored.p))
        state = CompactSource(stored).state(context.lower().split()).histories
        wanted = [stored.log_prob(state, i) for i in ids]
        assert asked.log_probs(context, [stored.word(i) for i in ids]) == pytest.approx(wanted, abs=1e-12)


def test_arpa_and_the_model_in_memory_say_the_same(files):
    words, model = model_of()
    read, made = suggestions.open(files / "model.arpa"), over(automaton_source(words, model))
    for context in CONTEXTS:
        ids = words.encode(context.lower().split()).astype(np.int64)
        state = int(model.topology.states_along(ids, np.array([0, len(ids)]))[-1])
        p = automaton.distribution(model, state)
        wanted = {w: p[i] for w, i in words.index.items() if w not in SPECIALS}
        for asked in (read, made):
            assert plain(asked.next_words(context, k=99)) == pytest.approx(wanted, rel=1e-9)
            most = sorted((-p, w) for w, p in wanted.items() if w.startswith("t"))
            assert asked.complete(context, "t", 1)[0].word == most[0][1]


def in_order(run: runs.Run, text: str, user: str | None = None) -> dict[str, float]:
    """Every word's probability, read from the network's scores at the end of a text."""
    own = models.Personal(run.params) if user is None else models.load(run, user)
    ids = run.encoder.encode(text.split())[None, :-1]
    odds = np.exp(np.asarray(models.reading(run, own)(ids)[0, -1], np.float64))
    return {run.vocabulary.words[i]: odds[i] / odds.sum() for i in range(3, len(odds))}


def test_a_network_and_a_personal_one(tmp_path):
    words = Vocabulary((*SPECIALS, *["the", "a", "cat", "sat", "don't", "on", "mat", "tea", "tree"]))
    run = runs.load(write_run(tmp_path / "run", words))
    word = np.zeros(MOST, np.int32)
    memory = Memory(word - 1, word, word.astype(np.float32))
    memory.before[-2:], memory.word[-2:], memory.weight[-2:] = 3, words.index["tree"], 1.0
    (tmp_path / "run" / "personal" / "models").mkdir(parents=True)
    bias = {"output_bias": np.arange(len(words), dtype=np.float32)}
    for user, part, mix in (
        ("ana", "bias", (1.0, 0.0)),
        ("bo", "bias", (0.0, 0.9)),
        ("cy", "all", (1.0, 0.0)),
    ):
        tuned = {**run.params, **bias} if part == "all" else bias
        facts = {"user": user, "part": part, "base": runs.digest(run.path)}
        facts |= {"personal": repr(mix[0]), "cache": repr(mix[1])}
        tree = {"tuned": tuned} | ({"memory": memory} if mix[1] else {})
        models.save(tmp_path / "run" / "personal" / "models", models.Stored(user, tree, facts))
    writer.write(tmp_path / "n.tacit", words, run.config.model, run.params, name="small")
    small = plain(suggestions.open(tmp_path / "n.tacit").next_words("the", k=9))
    assert small == pytest.approx(in_order(run, "the"), abs=0.05)  # 8 bits
    answers = []
    for user in (None, "ana", "bo", "cy"):
        asked = suggestions.open(tmp_path / "run", user=user)
        wanted = in_order(run, "the", user)
        found = asked.next_words("The", k=9)
        assert len(found) == 9
        assert plain(found) == pytest.approx(wanted, rel=1e-4)
        assert [s.p for s in found] == sorted((s.p for s in found), reverse=True)
        assert math.exp(asked.log_probs("the", ["Cat"])[0]) == pytest.approx(wanted["cat"], rel=1e-4)
        assert sum(s.p for s in asked.complete("the", "t", k=9)) == pytest.approx(
            sum(p for w, p in wanted.items() if w[0] == "t"), rel=1e-4
        )
        assert asked.correct("the", taps_of("cat")).best == "cat"
        answers.append(asked.next_words("the")[0].word)
    assert answers[1:] == ["tree", "tree", "tree"] and len(asked.next_words(["cat"] * 10_000)) == 3
    with pytest.raises(TacitError, match="no personal model of 'eve'"):
        suggestions.open(tmp_path / "run", user="eve")


def test_a_network_over_pieces_suggests_words_of_one_piece():
    counts = dict.fromkeys(["see", "saw", "seen", "tree", "trees", "at", "eat"], 9) | {"the": 300, "to": 200}
    inventory = pieces.train(counts, 20)
    config = resolve("fedavg", ["model.embedding=8", "model.hidden=8"])
    spelling = pieces.Spelling(inventory, Vocabulary((*SPECIALS, *counts)))
    model = language_model(config.model, len(inventory.vocabulary))
    params = jax.tree.map(lambda a: 10 * a, model.init(jax.random.key(2)))
    run = SimpleNamespace(
        config=config,
        vocabulary=inventory.vocabulary,
        model=model,
        params=params,
        spelling=spelling,
        encoder=spelling,
    )
    asked, context = over(network_source(run)), ["saw", "trees"]
    ids = spelling.encode(context)[:-1]
    wanted = reference.next_words(model, params, ids, 99, allowed=inventory.whole)
    named = {inventory.vocabulary.words[i].removesuffix(pieces.MARKER): p for i, p in wanted}
    assert "the" in named and plain(asked.next_words(context, k=99)) == pytest.approx(named, rel=1e-4)


def test_words_of_equal_probability_go_by_id():
    words = [f"w{i * 7919 % 1000:03d}" for i in range(1000)]
    for k in (3, 500, 2000):
        assert [s.word for s in flat(words).next_words("x", k=k)] == sorted(words)[:k]


def test_capitals_of_a_model_that_has_none():
    asked = talk()
    assert asked.next_words("", k=1)[0].word[0].isupper()
    assert asked.next_words("me too.", k=1)[0].word[0].isupper()
    assert asked.next_words("me too,", k=1)[0].word[0].islower()
    assert [s.word for s in asked.complete("well ,", "i", 1)] == ["I"]
    assert [s.word for s in asked.complete("the", "va", 2)] == ["vampire", "value"]
    assert [s.word for s in asked.complete("the", "VA", 2)] == ["VAMPIRE", "VALUE"]
    assert [s.word for s in asked.complete("the", "Don’", 2)] == ["Don't"]
    bare = suggestions.Suggester(asked.source, capitals=False)
    assert bare.next_words("")[0].word.islower() and plain(bare.next_words("")) == plain(asked.next_words(""))


def test_a_model_with_capitals():
    words = Vocabulary((*SPECIALS, "The", "the", "Paris", "parish", "iPhone", "NASA"))
    text = 9 * [[3, 5], [3, 6], [4, 5], [4, 7], [4, 6], [3, 8]] + [[8]]
    flat_text = [i for s in text for i in (0, *s, 1)]
    offsets = np.cumsum([0, *(len(s) + 2 for s in text)])
    asked = over(automaton_source(words, automaton.from_kneser_ney(kneser_ney.fit(flat_text, offsets, 9, 2))))
    both = np.exp(asked.log_probs("", ["The", "the"])).sum()
    first = asked.next_words("")[0]
    assert first.word == "The" and first.p == pytest.approx(both)  # two forms became one
    assert {s.word for s in asked.complete("the", "pa")} == {"Paris", "parish"}
    assert {s.word for s in asked.complete("the", "Pa")} == {"Paris", "Parish"}
    assert [s.word for s in asked.complete("the", "na")] == ["NASA"]
    assert asked.correct("the", taps_of("paris"), typed="paris").best == "Paris"
    assert asked.glide("the", taps_of("nasa"))[0].word == "NASA"
    assert asked.next_words("THE")[0] == asked.next_words("the")[0]  # read in lower case


def test_forms_that_become_one_add_up_before_the_best_are_taken():
    odds = np.log([0.01, 0.01, 0.01, 0.37, 0.3, 0.3])
    asked = over(dense([*SPECIALS, "A", "The", "the"], lambda context: odds))
    assert asked.next_words("", k=1) == [("The", pytest.approx(0.6))]  # each by itself is behind A
    (found,) = asked.correct("", taps_of("the"), k=1).words
    assert (found.word, found.p) == ("The", pytest.approx(0.6))


def test_the_end_of_a_long_text_is_no_start():
    assert suggestions.tokens_of("x" * 5000) == ["<unk>"]
    assert talk().next_words("x" * 5000)[0].word.islower()


@given(st.lists(st.sampled_from(["yes", "no", ".", "!?", ",", '"', "...", "7", "😀", "<unk>"]), max_size=8))
def test_where_a_sentence_starts(context):
    every = ["<s>", *context, "word"]
    assert starts_sentence(context) == bool(sentence_starts(kinds(every))[-1])


def test_words_without_capitals_are_words():
    for words in (["मैं", "कल"], ["日本"], ["שלום"], ["كيف"]):
        assert not starts_sentence(words) and starts_sentence([*words, "!"])


@given(st.text(max_size=60) | st.lists(st.text(max_size=8), max_size=8), st.text(max_size=6))
def test_any_text_is_answered(context, prefix):
    asked = talk()
    assert len(asked.next_words(context)) == 3
    found = asked.complete(context, prefix)
    plain_prefix = prefix.replace("’", "'").lower()
    assert all(s.word.lower().startswith(plain_prefix) for s in found)
    assert asked.correct(context, taps_of("a"), typed=prefix or None).literal is not None
    assert asked.log_probs(context, [prefix]).shape == (1,)


@pytest.mark.parametrize(
    "context",
    [
        "שלום עולם",
        "مرحبا",
        "😀👍🏽🇬🇧",
        "a" * 1_000_000,
        "word " * 200_000,
        ["the"] * 10_000,
        "",
        "\u202e\x00\ud800",
    ],
    ids=["hebrew", "arabic", "emoji", "one long word", "a megabyte", "10,000 words", "nothing", "odd"],
)
def test_contexts_that_nobody_planned_for(files, context):
    for asked in (talk(), suggestions.open(files / "model.tacit")):
        assert len(asked.next_words(context)) == 3
        assert asked.correct(context, taps_of("value")).best.lower() == "value"
        assert asked.glide(context, taps_of("money"))[0].word.lower() == "money"


def test_a_long_context_says_what_its_end_says(files):
    for asked in (talk(), suggestions.open(files / "model.tacit")):
        long = ["the"] * 10_000 + ["good", "value", "for"]
        assert asked.next_words(long) == asked.next_words(" ".join(long)) == asked.next_words(long[-40:])


def test_an_empty_model():
    asked = flat([])
    assert asked.next_words("a b") == asked.complete("", "x") == asked.glide("", taps_of("a")) == []
    assert asked.correct("a", taps_of("ab")).best == "ab" and asked.log_probs("", ["a"])[0] == -np.inf
    none = over(dense([*SPECIALS, "a"], lambda context: np.full(4, -np.inf)))  # words without any probability
    assert none.next_words("") == none.correct("", taps_of("a")).words == none.glide("", taps_of("a")) == []


def test_what_cannot_be_opened(files, tmp_path):
    with pytest.raises(TacitError, match="not a run directory"):
        suggestions.open(tmp_path)
    with pytest.raises(TacitError, match="there is no such file"):
        suggestions.open(tmp_path / "model.tacit")
    (tmp_path / "model.tacit").write_bytes((files / "model.tacit").read_bytes()[:-1])
    with pytest.raises(TacitError, match="copy it again"):
        suggestions.open(tmp_path / "model.tacit")
    with pytest.raises(TacitError, match="has no personal models"):
        suggestions.open(files / "model.tacit", user="ana")
    for ask in (lambda s: s.next_words("", 0), lambda s: s.correct("", [], 0), lambda s: s.glide("", [], -1)):
        with pytest.raises(TacitError, match="at least 1 word"):
            ask(talk())
