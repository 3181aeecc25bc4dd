"""Vocabulary: the order of ids, the three specials, and a file that says when it is not whole."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.base.errors import TacitError
from tacit.text.tokens import tokenize
from tacit.text.vocabulary import BOS, EOS, SPECIALS, UNK, Vocabulary, build, listed, load


def test_order_is_falling_count_then_alphabet():
    v = build({"b": 2, "a": 2, "z": 9, "é": 1}, 0)
    assert v.words == ("<s>", "</s>", "<unk>", "z", "a", "b", "é")
    assert (BOS, EOS, UNK) == (0, 1, 2)
    assert len(v) == 7


def test_size_counts_the_specials():
    assert build({"a": 3, "b": 2, "c": 1}, 5).words[3:] == ("a", "b")
    assert len(build({"a": 3, "b": 2, "c": 1}, 6)) == 6


@pytest.mark.parametrize("size", [7, 1000])
def test_too_large_tells_how_many_there_are(size):
    with pytest.raises(
        TacitError, match=r"text\.vocabulary is \d+ but the text has only 3 distinct words; set it to 6"
    ):
        build({"a": 3, "b": 2, "c": 1}, size)


@pytest.mark.parametrize("size", [-1, 1, 3])
def test_too_small(size):
    with pytest.raises(TacitError, match=r"text\.vocabulary"):
        build({"a": 3}, size)


def test_literal_specials_in_text():
    v = build({"a": 3, "<unk>": 50, "<s>": 7, "</s>": 7}, 0)
    assert v.words == ("<s>", "</s>", "<unk>", "a")
    # Someone who types "</s>" must not end the message for the model.
    assert v.encode(["<unk>", "a", "<s>", "</s>", "never"]).tolist() == [0, 2, 3, 2, 2, 2, 1]


def test_encode_dtype_and_empty():
    ids = build({"a": 1}, 0).encode([])
    assert ids.dtype == np.int32
    assert ids.tolist() == [0, 1]


@pytest.mark.parametrize("bad", [-1, 4, 10**6])
def test_decode_outside(bad):
    with pytest.raises(TacitError, match="ids are 0 to 3"):
        build({"a": 1}, 0).decode([bad])


@given(st.dictionaries(st.text(min_size=1).filter(lambda w: w.split() == [w]), st.integers(1, 9), min_size=1))
def test_decode_undoes_encode(counts):
    v = build(counts, 0)
    words = [w for w in counts if w not in ("<s>", "</s>")]
    assert v.decode(v.encode(words)) == words
    assert [counts[w] for w in v.words[3:]] == sorted((counts[w] for w in v.words[3:]), reverse=True)


@pytest.mark.parametrize("word", ["", "two words", "tab\t", "\u2028"])
def test_words_must_be_words(word):
    with pytest.raises(TacitError, match="no white space"):
        build({word: 1}, 0)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_file_round_trip(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("v") / "vocabulary.txt"
    v = build({t: 1 for text in texts for t in tokenize(text)} | {"a": 2}, 0)
    v.save(path)
    assert load(path) == v


def test_a_list_of_words_is_taken_in_its_order(tmp_path):
    path = tmp_path / "counts.tsv"
    path.write_text("# words, counted\nThe\t9\nolá\t7\n\nthe\t5\n#\t3\n<unk>\t2\na\t2\n", "utf-8")
    assert listed(path, 0, lower=True).words == (*SPECIALS, "the", "olá", "#", "a")
    assert listed(path, 5, lower=False).words == (*SPECIALS, "The", "olá")
    build({"b": 2, "a": 1}, 0).save(path)
    assert listed(path, 0, lower=True) == load(path)
    with pytest.raises(
        TacitError, match=r"text\.vocabulary is 6 but .*counts\.tsv has only 2 distinct words"
    ):
        listed(path, 6, lower=True)
    path.write_text("# nothing yet\n\n<unk>\n")
    with pytest.raises(TacitError, match=r"counts\.tsv: this list of words is empty"):
        listed(path, 0, lower=True)
    with pytest.raises(TacitError, match="cannot read this list of words"):
        listed(tmp_path / "none", 0, lower=True)


def test_file_is_a_word_a_line(tmp_path):
    path = tmp_path / "v.txt"
    build({"olá": 2, "a": 1}, 0).save(path)
    assert path.read_text("utf-8") == "# tacit vocabulary 1, 5 words\n<s>\n</s>\n<unk>\nolá\na\n"
    assert [p.name for p in tmp_path.iterdir()] == ["v.txt"]


def test_every_truncation_is_noticed(tmp_path):
    path = tmp_path / "v.txt"
    build({"olá": 2, "abc": 1}, 0).save(path)
    whole = path.read_bytes()
    for n in range(len(whole)):
        path.write_bytes(whole[:n])
        with pytest.raises(TacitError, match=r"v\.txt, line \d"):
            load(path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "line 1: not a Tacit vocabulary"),
        (b"hello\nworld\n", "line 1: not a Tacit vocabulary"),
        (b"\x89PNG\xff", "line 1: not UTF-8"),
        (b"# tacit vocabulary 2, 1 words\n", "line 1: format version 2"),
        (b"# tacit vocabulary 1, 3 words, or so\n<s>\n</s>\n<unk>\n", "line 1: not a Tacit vocabulary"),
        (b"# tacit vocabulary 1, 4 words\n<s>\n</s>\n<unk>\na\nb\n", "line 6: more words"),
        (b"# tacit vocabulary 1, 4 words\n<s>\n</s>\n<unk>\n\xff\n", "line 5: not UTF-8"),
        (b"# tacit vocabulary 1, 4 words\n</s>\n<s>\n<unk>\na\n", "line 2: the first three"),
        (
            b"# tacit vocabulary 1, 5 words\n<s>\n</s>\n<unk>\na\na\n",
            "line 6: 'a' occurs a second time",
        ),
        (b"# tacit vocabulary 1, 5 words\n<s>\n</s>\n<unk>\n\na\n", "line 5: '' is not one word"),
    ],
)
def test_foreign_files(tmp_path, content, said):
    path = tmp_path / "v.txt"
    path.write_bytes(content)
    with pytest.raises(TacitError) as error:
        load(path)
    assert said in str(error.value)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_missing_file(tmp_path):
    with pytest.raises(TacitError, match="cannot read"):
        load(tmp_path / "none.txt")


def test_frozen():
    with pytest.raises(AttributeError):
        Vocabulary(("a",)).words = ()  # type: ignore[misc]
