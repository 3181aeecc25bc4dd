"""Locales: what the files must hold, their capitals, and their tokens."""

from __future__ import annotations

import string
import unicodedata

import pytest

from locale_sentences import SENTENCES, sentences
from tacit.base.errors import TacitError
from tacit.text import locale
from tacit.text.encode import splitter
from tacit.text.locale_script import remark
from tacit.text.tokens import detokenize, tokenize

CODES = locale.codes()
# The letters of each language as the Unicode CLDR 45 has them (main exemplar characters; Unicode License), composed
CLDR = {
    "de": "abcdefghijklmnopqrstuvwxyzßäöü",
    "en": "abcdefghijklmnopqrstuvwxyz",
    "es": "abcdefghijklmnopqrstuvwxyzáéíñóúü",
    "fr": "abcdefghijklmnopqrstuvwxyzàâæçèéêëîïôùûüÿœ",
    "hi": "ँंःअआइईउऊऋऌऍएऐऑओऔकखगघङचछजझञटठडढणतथदधनपफबभमयरलळवशषसह़ऽािीुूृॅेैॉोौ्ॐ",
    "it": "abcdefghijklmnopqrstuvwxyzàèéìòóù",
    "pl": "abcdefghijklmnoprstuwyzóąćęłńśźż",
    "pt": "abcdefghijklmnopqrstuvwxyzàáâãçéêíòóôõú",
    "ru": "абвгдежзийклмнопрстуфхцчшщъыьэюяё",
    "sv": "abcdefghijklmnopqrstuvwxyzàäåéö",
    "th": "กขฃคฅฆงจฉชซฌญฎฏฐฑฒณดตถทธนบปผฝพฟภมยรฤลฦวศษสหฬอฮฯะัาำิีึืฺุูเแโใไๅๆ็่้๊๋์ํ๎",
    "tr": "abcdefghijklmnoprstuvyzçöüğİış",
}
# What our alphabets have besides: letters of loanwords that have keys, and accents of careful spelling
BESIDES = {"it": "íú", "pl": "qvx", "tr": "qwxâîû"}
FEW = 'name = "X"\nscript = "Latin"\nletters = "ab"\n[layout]\nrows = ["abc", "d"]\n'


def test_every_locale_has_ten_sentences():
    assert set(SENTENCES) == set(CODES)
    assert {"en", "pt", "de", "fr", "es", "pl", "sv", "tr", "ru", "hi", "th", "zh"} <= set(CODES)
    assert all(len(set(sentences(code))) == 10 for code in CODES)


@pytest.mark.parametrize("code", CODES)
def test_sentences_become_their_words(code):
    """Where spaces stand between words, they decide, but for elided words; where none do, nothing is lost."""
    found = locale.find(code)
    for sentence in sentences(code):
        tokens = tokenize(sentence, found)
        assert detokenize(tokens, found) == sentence
        assert "".join(tokens) == sentence.replace(" ", "")
        assert not any(unicodedata.category(token[0]).startswith("M") for token in tokens)
        if found.spaces and not found.elided:
            assert tokens == sentence.split()
        if not found.spaces:
            assert 3 <= len(tokens) <= len(sentence) / 1.2


@pytest.mark.parametrize(
    ("code", "text", "tokens"),
    [
        (
            "fr",
            "Qu'il y a-t-il d'autre, l’ami?",
            ["Qu'", "il", "y", "a-t-il", "d'", "autre", ",", "l'", "ami", "?"],
        ),
        ("fr", "aujourd'hui quelqu'un l'", ["aujourd'hui", "quelqu'un", "l'"]),
        ("it", "Dell'acqua, un'altra", ["Dell'", "acqua", ",", "un'", "altra"]),
        ("en", "d'you l'eau", ["d'you", "l'eau"]),
        ("hi", "हिन्दी में ज़रूर।", ["हिन्दी", "में", "ज़रूर", "।"]),
        ("th", "ที่บ้าน5บาท https://ก.com!", ["ที่", "บ้าน", "5", "บาท", "https://ก.com", "!"]),
        ("zh", "我买了iPhone，真的。", ["我", "买", "了", "iPhone", "，", "真的", "。"]),
        ("tr", "İstanbul'da", ["İstanbul'da"]),
    ],
)
def test_tokens_of_a_language(code, text, tokens):
    assert tokenize(text, locale.find(code)) == tokens


@pytest.mark.parametrize(
    ("code", "small", "large"),
    [
        ("tr", "ışık iyi", "IŞIK İYİ"),
        ("en", "iyi", "IYI"),
        ("pl", "żółć i", "ŻÓŁĆ I"),
        ("ru", "ёжик", "ЁЖИК"),
        ("sv", "å i öl", "Å I ÖL"),
        ("fr", "œuf à noël", "ŒUF À NOËL"),
        ("hi", "हिन्दी", "हिन्दी"),
    ],
)
def test_capitals_of_a_language(code, small, large):
    found = locale.find(code)
    assert (found.upper(small), found.lower(large)) == (large, small)


@pytest.mark.parametrize("code", [c for c in CODES if c != "tr"])
def test_case_is_unicode_s_where_a_file_has_no_exceptions(code):
    found = locale.find(code)
    assert found.lower(string.printable) == string.printable.lower()
    assert found.upper(found.letters) == found.letters.upper()


@pytest.mark.parametrize("code", CLDR)
def test_alphabets_are_those_of_cldr(code):
    """That each letter of an alphabet can be typed is what reading a file checks."""
    found = locale.find(code)
    assert set(found.letters) == set(found.lower(CLDR[code])) | set(BESIDES.get(code, ""))
    assert set(CLDR) == set(CODES) - {"zh"}  # whose keys are Latin


def test_long_presses_of_kedmanee_and_inscript_are_those_of_shift():
    """By the layouts of the Thai Industrial Standards Institute (TIS 820) and of the Government of India (IS 16350)."""
    for code, keys, shifted in (
        ("th", "ุำพะัีรนยบฟหกดเ้่าสวแอิืมใฝ", "ูฎฑธํ๊ณฯญฐฤฆฏโฌ็๋ษศซฉฮฺ์ฒฬฦ"),
        ("hi", "ौैाीूबहगदजड़ोे्िुपरकतचटंम", "औऐआईऊभङघधझढञओएअइउफऱखथछठँण"),
    ):
        held = locale.find(code).long_press
        assert "".join(held[key][0] for key in keys) == shifted


def test_german_ss_and_the_key():
    german = locale.find("de")
    assert (german.upper("straße"), german.lower("STRAẞE"), german.key_of["ß"]) == ("STRASSE", "straße", "ẞ")


def test_only_english_has_a_pronoun_in_capitals():
    assert [code for code in CODES if locale.find(code).always] == ["en"]


def test_text_is_lowered_by_its_language():
    assert splitter(True, False, "tr")("Iğdır'da İYİ") == ["ığdır'da", "iyi"]
    assert splitter(True, False, "tr")("I\u0307YI\u0307") == ["iyi"]  # decomposed
    assert splitter(True, False)("IYI") == ["iyi"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("letters", "lettres"), "my.toml: lettres is no key of a locale"),
        (('"ab"', '"aB"'), "my.toml: letters must be in lower case"),
        (('"ab"', '"abx"'), "my.toml: letters has 'x', which no key and no long press types"),
        (('"ab"', '"aba"'), "my.toml: letters has 'a' twice"),
        (('"ab"', "3"), "my.toml: letters is 3; give a string"),
        (('script = "Latin"\n', ""), "my.toml: script is missing"),
        (('"Latin"', '"Latn"'), "my.toml: script is 'Latn'"),
        (('"d"]', '"da"]'), "my.toml: layout.rows has 'a' twice"),
        (('"d"]', '"def"]'), "my.toml: layout.rows has no room"),
        ((', "d"]', "]"), "my.toml: layout.rows must be 2 to 5 rows"),
        (("[layout]", "[emoji]\na = 3\n[layout]"), "my.toml: emoji.a is 3; give a string"),
        (("[layout]", '[long_press]\nz = "é"\n[layout]'), "my.toml: long_press.z is no key of layout.rows"),
        (("[layout]", '[long_press]\na = "e\u0301"\n[layout]'), "my.toml: long_press.a is"),
        (
            ("[layout]", '[casing]\nlower = {"I" = "ii"}\n[layout]'),
            "my.toml: casing.lower.I must be one character",
        ),
        (("[layout]", '[words]\nsegmenter = "xx"\n[layout]'), "my.toml: words.segmenter is 'xx'"),
        (('[layout]\nrows = ["abc", "d"]', "layout = 3"), "my.toml: layout must be a table"),
        (("[layout]", "[layout"), "my.toml: not valid TOML"),
    ],
)
def test_errors_name_the_file_and_the_key(tmp_path, change, said):
    path = tmp_path / "my.toml"
    path.write_text(FEW)
    assert locale.of(str(path)).rows == ("abc", "d")
    path.write_text(FEW.replace(*change, 1))
    with pytest.raises(TacitError) as wrong:
        locale.read(path)
    assert said in str(wrong.value) and "\n" not in str(wrong.value)


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "x.toml").write_bytes(b"\xff")
    for name, said in (("x.toml", "not UTF-8"), ("none.toml", "cannot read this locale")):
        with pytest.raises(TacitError, match=said):
            locale.of(str(tmp_path / name))
    with pytest.raises(TacitError, match="no locale 'tt'"):
        locale.of("tt")


def test_a_corpus_in_another_script_is_noticed():
    russian = " ".join(sentences("ru")).split()
    assert "mostly in Cyrillic letters" in remark(russian, locale.find("en"))
    assert remark(russian[:1], locale.find("en")) == ""  # too little to tell
    for code in CODES:
        assert remark(" ".join(sentences(code)).split(), locale.find(code)) == ""
