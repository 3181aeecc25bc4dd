"""Tokens: the shapes a keyboard meets, and that no text at all can break them."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.text.tokens import detokenize, tokenize


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("don't o'clock rock'n'roll", ["don't", "o'clock", "rock'n'roll"]),
        ("don’t", ["don't"]),
        ("well-known guarda-chuva", ["well-known", "guarda-chuva"]),
        ("'quoted' -dash-", ["'", "quoted", "'", "-", "dash", "-"]),
        ("3.50 10:30 1,000 1.2.3 10:30am 2nd", ["3.50", "10:30", "1,000", "1.2.3", "10:30am", "2nd"]),
        ("at 5, or 6. Yes", ["at", "5", ",", "or", "6", ".", "Yes"]),
        ("wait... what!! no?! ok", ["wait", "...", "what", "!!", "no", "?!", "ok"]),
        (":) ;-) <3 :'( :D =P :/ </3 :)))", [":)", ";-)", "<3", ":'(", ":D", "=P", ":/", "</3", ":)))"]),
        ("note:Press ratio:3", ["note", ":", "Press", "ratio", ":", "3"]),
        ("age <35 <333", ["age", "<", "35", "<333"]),
        ("lol:)", ["lol", ":)"]),
        ("<unk> <s> </s> <#> <DECIMAL>", ["<unk>", "<s>", "</s>", "<#>", "<DECIMAL>"]),
        ("see http://a.b/c?d=e. ok", ["see", "http://a.b/c?d=e", ".", "ok"]),
        ("(www.x.org), me@x.co.uk!", ["(", "www.x.org", ")", ",", "me@x.co.uk", "!"]),
        ("você não está, coração", ["você", "não", "está", ",", "coração"]),
        ("e\u0301ter हिन्दी", ["éter", "हिन्दी"]),  # text of a Mac is decomposed
        ("\u0958\u0941 क\u093cु", ["क\u093cु"] * 2),  # Unicode composes no nukta
        (
            "ie\u0328z\u0302 well\u2011known foot\u2010ball soft\u00adware",
            ["ięẑ", "well-known", "foot-ball", "software"],
        ),
        ("👍🏽👍", ["👍🏽", "👍"]),
        ("👩‍👩‍👧 ❤️❤️", ["👩‍👩‍👧", "❤️", "❤️"]),
        ("🇧🇷🇵🇹", ["🇧🇷", "🇵🇹"]),
        ("1️⃣ #️⃣", ["1️⃣", "#️⃣"]),
        ("ok😂😂ok", ["ok", "😂", "😂", "ok"]),
        ("", []),
        (" \t\n\u00a0\u2028", []),
    ],
)
def test_shapes(text, tokens):
    assert tokenize(text) == tokens


# Text that leans on the regular expression's corners more than uniform characters would.
_PIECES = [
    *"aZé9 '’\u00ad\u2010\u2011-.,:;=()<>/@#!?_^3D\u0301\u200d\ufe0f😀🏽🇧",
    "www.",
    "http://",
    "<unk>",
    "\ud800",
]
corners = st.lists(st.sampled_from(_PIECES)).map("".join)


@given(st.one_of(st.text(), corners))
def test_nothing_but_white_space_is_lost(text):
    tokens = tokenize(text)
    assert not any(c.isspace() for token in tokens for c in token)
    assert all(tokens)
    for written, typed in (("’", "'"), ("\u2010", "-"), ("\u2011", "-"), ("\u00ad", "")):
        text = text.replace(written, typed)
    assert "".join(tokens) == "".join(unicodedata.normalize("NFC", chunk) for chunk in text.split())


@given(st.one_of(st.text(), corners))
def test_no_token_spans_white_space(text):
    """So what stands between white space can be split on its own, and once."""
    assert tokenize(text) == [token for chunk in text.split() for token in tokenize(chunk)]


@given(st.one_of(st.text(), corners))
def test_detokenize_loses_nothing_either(text):
    tokens = tokenize(text)
    assert "".join(detokenize(tokens).split()) == "".join(tokens)


@pytest.mark.parametrize(
    "text",
    [
        "Hello, world! How are you?",
        'She said "no", (twice) and left... :)',
        "It's 50% off: only $5 today; ok?",
        "#tag @bob ¿qué tal? ❤️ you",
        "",
    ],
)
def test_detokenize_reads_like_the_original(text):
    assert detokenize(tokenize(text)) == text


def test_detokenize_joins_treebank_pieces():
    assert (
        detokenize(["he", "does", "n't", "know", "it", "'s", "<unk>", "."]) == "he doesn't know it's <unk>."
    )
    assert detokenize(["DO", "N'T", "!"]) == "DON'T!"


def test_hostile_input_comes_to_an_end():
    """A pattern that backtracks would take hours over these."""
    for piece in ("a.a", "www.", "<a", "@a.", ":-", "a-", "'a", "^_", "😀\u200d", "http://.", "1,"):
        assert "".join(tokenize(piece * 20_000)) == "".join((piece * 20_000).split())
