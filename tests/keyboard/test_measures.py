"""Measures of typing: against a typist who presses one key after another, core's recall, and the literal formulas."""

from __future__ import annotations

import doctest
import importlib
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from commands import Commands, Trained
from tacit import runs
from tacit.base.errors import TacitError
from tacit.federated.evaluation import scorer
from tacit.keyboard.measures import effort, report
from tacit.keyboard.measures.effort import (
    bar,
    count,
    interval,
    keystrokes,
    measures_of,
    ranks,
    spaces,
    summarise,
)
from tacit.lm import along, dense, export, protocol
from tacit.lm.network import run_model
from tacit.lm.network8 import forward, reader
from tacit.lm.network8.model import network8_model
from tacit.lm.protocol import MessageLogProbs, Model, suggest
from tacit.ngram import kneser_ney
from tacit.ngram.automaton import from_kneser_ney
from tacit.ngram.compact import reader as compact
from tacit.ngram.compact import writer
from tacit.ngram.compact.model import CompactSource, compact_model
from tacit.ngram.score import score
from tacit.scoring.scores import summary
from tacit.text import typed as measures_text
from tacit.text.packed import pack
from tacit.text.prepare import PartitionConfig, TextConfig, prepare
from tacit.text.tokens import detokenize, tokenize
from tacit.text.typed import Typed, Words
from tacit.text.typists import TypistsConfig
from tacit.text.vocabulary import SPECIALS, Vocabulary

WORDS = (
    "see",
    "you",
    "your",
    "soon",
    "so",
    "sea",
    "tea",
    "to",
    "too",
    "été",
    "日本",
    "日",
    "🙂",
    ",",
    "!",
    "(",
    ")",
    "a",
)
files = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)
messages_of_words = st.lists(
    st.lists(st.sampled_from([*WORDS, "unheard", "of"]), min_size=1, max_size=8), min_size=1, max_size=6
)

Complete = Callable[[Words, str], list[str]]  # what the bar shows


def small_model(folder: Path, seed: int, hidden: tuple[str, ...] = ()) -> compact.Compact:
    """A trigram model of random text in a compact file, where 8-bit codes make many words equally likely."""
    draw = np.random.default_rng(seed)
    words = Vocabulary((*SPECIALS, *WORDS))
    said = [[0, *draw.integers(3, 3 + len(WORDS), draw.integers(1, 9)).tolist(), 1] for _ in range(30)]
    tokens = [i for message in said for i in message]
    offsets = np.cumsum([0, *map(len, said)]).tolist()
    fitted = kneser_ney.fit(tokens, offsets, vocabulary=len(words), order=3)
    writer.write(folder / "m.tacit", words, from_kneser_ney(fitted), name="small", hidden=hidden)
    return compact.open(folder / "m.tacit")


def judged_compact(stored: compact.Compact) -> Model:
    return compact_model(stored, 1)


def press_keys(message: Words, complete: Complete) -> tuple[int, int]:
    """Somebody types a message key by key and looks at the bar before each: characters, and keys pressed."""
    screen, keys = "", 0
    for i, word in enumerate(message):
        before, after = detokenize(message[:i]), detokenize(message[: i + 1])
        if len(after) == len(before) + len(word) and screen.endswith(" "):
            screen = screen[:-1]  # the space that a tap added takes itself away before a mark
        assert screen + word == after
        typed = ""
        while typed != word:
            if word in complete(message[:i], typed):
                screen = screen.removesuffix(typed) + word + " "
                keys += 1
                break
            screen += word[len(typed)]
            typed += word[len(typed)]
            keys += 1
        if typed == word and detokenize(message[: i + 2]).startswith(after + " "):
            screen += " "
            keys += 1
    assert screen.removesuffix(" ") == detokenize(message)
    return len(detokenize(message)), keys


def all_counts(judged: Model, messages: list[Words]) -> effort.TypingCounts:
    return count(bar(judged.bulk.encoder.words), messages, judged.bulk.along(messages))


@files
@given(st.integers(0, 10**6), messages_of_words)
@example(0, [["see", "you", "!"], ["(", "été", ")", ",", "unheard"]])
def test_keys_are_those_of_a_typist_who_presses_them(
    tmp_path: Path, seed: int, messages: list[Words]
) -> None:
    """The compact file's own suggestions, which are made in quite another way."""
    stored = small_model(tmp_path, seed)

    def complete(context: Words, prefix: str) -> list[str]:
        return [word for word, _ in suggest(CompactSource(stored), context, 3, prefix)]

    found = all_counts(judged_compact(stored), messages)
    for at, message in enumerate(messages):
        assert (found["characters"][at], found["keys"][at]) == press_keys(message, complete), message


@files
@given(st.integers(0, 10**6), messages_of_words)
def test_recall_is_that_of_the_first_suggestions(tmp_path: Path, seed: int, messages: list[Words]) -> None:
    stored = small_model(tmp_path, seed)
    found = all_counts(judged_compact(stored), messages)
    for at, message in enumerate(messages):
        shown = [[w for w, _ in suggest(CompactSource(stored), message[:i], 3)] for i in range(len(message))]
        assert found["top1"][at] == sum(word == some[0] for word, some in zip(message, shown, strict=True))
        assert found["top3"][at] == sum(word in some for word, some in zip(message, shown, strict=True))
        assert found["oov"][at] == sum(word not in WORDS for word in message)


def test_a_hidden_word_is_typed_whole(tmp_path: Path) -> None:
    messages: list[Words] = [["see", "you"], ["you", "see"]]
    shown = all_counts(judged_compact(small_model(tmp_path, 1)), messages)
    hidden = all_counts(judged_compact(small_model(tmp_path, 1, ("see", "you"))), messages)
    assert hidden["keys"].tolist() == hidden["characters"].tolist() == [7, 7]
    assert hidden["top3"].sum() == 0 and shown["keys"].sum() < 14


def test_hand_computed_keystrokes() -> None:
    """hello you! with he·tap, y·tap, !: 2 + 1, 1 + 1 and 1 of 10 characters."""
    assert keystrokes(["hello", "you", "!"], np.array([2, 1, -1])) == (10, 6)
    assert keystrokes(["hello"], np.array([-1])) == (5, 5)  # the key that sends is on neither side
    assert keystrokes(["hello", "you"], np.array([-1, -1])) == (9, 9)
    assert keystrokes(["hello", "you"], np.array([0, 0])) == (9, 2)
    assert keystrokes(["ok", ",", "🙂"], np.array([1, -1, 0])) == (5, 5)  # o·tap, comma, space, tap


def test_hand_computed_ranks() -> None:
    """Three words on the bar: tea needs its first letter typed, too the first two; a is nowhere."""
    words = (*SPECIALS, "see", "sea", "so", "tea", "to", "too", "tool", "toot", "a")
    p = [0, 0, 0, 0.3, 0.2, 0.15, 0.1, 0.08, 0.03, 0.05, 0.04, 0.05]
    with np.errstate(divide="ignore"):
        log_p = np.log(np.array([p] * 5))
    log_p[4, 11] = -np.inf
    rank, letters = ranks(bar(words), MessageLogProbs(np.array([3, 6, 8, 2, 11]), log_p))
    assert rank.tolist() == [0, 3, 8, 12, 12]
    assert letters.tolist() == [0, 1, -1, -1, -1]  # too: to, tool, toot are likelier after "t" and "to"


def test_of_equal_words_the_lower_id_is_shown() -> None:
    words = (*SPECIALS, "d", "c", "b", "a")  # ids against the alphabet
    flat = np.zeros((4, 7))
    assert ranks(bar(words), MessageLogProbs(np.array([3, 4, 5, 6]), flat))[0].tolist() == [0, 1, 2, 3]


@given(st.lists(st.sampled_from([*WORDS, '"', "...", "#", "$", "'s", "n't"]), min_size=1, max_size=12))
def test_characters_are_those_of_the_message(words: list[str]) -> None:
    assert keystrokes(words, np.full(len(words), -1))[0] == len(detokenize(words))
    text = detokenize(words)
    rebuilt = "".join(w + " " * s for w, s in zip(words, spaces(words), strict=True))
    assert rebuilt == text


def test_impressions_and_taps_by_counting(tmp_path: Path) -> None:
    """One impression before each word and one after the last; half of the right ones are tapped."""
    stored = small_model(tmp_path, 3)
    messages: list[Words] = [["see", "you", "soon"], ["tea", "!"], ["so"]]
    typed = Typed(("ana", "bo"), (tuple(messages[:2]), tuple(messages[2:])))
    found = summarise(all_counts(judged_compact(stored), messages), typed)
    shown, first, three = 0, 0, 0
    for message in messages:
        for i in range(len(message) + 1):
            candidates = [w for w, _ in suggest(CompactSource(stored), message[:i], 3)]
            shown += 1
            first += message[i : i + 1] == candidates[:1]
            three += i < len(message) and message[i] in candidates
    assert found["impression_top1"] == pytest.approx(first / shown)
    assert found["impression_top3"] == pytest.approx(three / shown) and three
    assert found["click_through"] == pytest.approx(0.5 * three / (3 * shown))
    assert found["by_typist"]["bo"]["words"] == 1 and found["people"] == 2


@given(st.integers(2, 12), st.integers(0, 2**32 - 1))
def test_intervals_leave_one_out_at_a_time(n: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    words = draw.integers(1, 50, n).astype(float)
    top3 = np.floor(words * draw.random(n))
    sums = {
        "messages": np.ones(n),
        "words": words,
        "oov": np.zeros(n),
        "top1": top3 // 2,
        "top3": top3,
        "characters": 5 * words,
        "keys": np.floor(5 * words * draw.random(n)),
        "tapped": words,
        "tapped_alone": top3 // 3,
        "tapped_model": top3,
    }
    found = interval(sums)
    for name, top, bottom in (("top3", top3, words), ("tapped_alone", top3 // 3, words)):
        without = [sum(np.delete(top, i)) / sum(np.delete(bottom, i)) for i in range(n)]
        mean = sum(without) / n
        variance = (n - 1) / n * sum((t - mean) ** 2 for t in without)
        assert found[name] == pytest.approx(1.96 * math.sqrt(variance), abs=1e-12)
    assert set(found) == set(measures_of(sums))
    assert math.isnan(interval({k: v[:1] for k, v in sums.items()})["top1"])


def test_typing_people_are_those_held_out() -> None:
    """The same people and the same words as `prepare` keeps apart, without visiting anybody else."""
    config, typists = TextConfig(vocabulary=200, held_out_users=0.2), TypistsConfig(users=25, messages=6)
    for seed in (0, 5):
        ready = prepare(config, PartitionConfig(), typists, seed)
        typed = measures_text.read(config, typists, seed)
        assert typed.names == ready.test.names
        own = pack([[ready.vocabulary.encode(m) for m in said] for said in typed.messages], typed.names)
        assert np.array_equal(own.tokens, ready.test.tokens) and np.array_equal(own.owners, ready.test.owners)
    few = measures_text.read(config, typists, 5, people=2, messages=3)
    assert few.names == typed.names[:2] and all(len(said) <= 3 for said in few.messages)
    for some, every in zip(few.messages, typed.messages, strict=False):
        assert all(m in every for m in some)


def test_one_voice_types_its_test_sentences(tmp_path: Path) -> None:
    file = tmp_path / "voice.txt"
    file.write_text("".join(f"line {i} of one voice\n" for i in range(60)), "utf-8")
    config = TextConfig(corpus=str(file), vocabulary=0, held_out_users=0.2)
    ready = prepare(config, PartitionConfig(clients=5), TypistsConfig(), seed=3)
    typed = measures_text.read(config, TypistsConfig(), seed=3)
    own = pack([[ready.vocabulary.encode(m) for m in said] for said in typed.messages], typed.names)
    assert np.array_equal(own.tokens, ready.test.tokens)
    whole = measures_text.read(config, TypistsConfig(), seed=None)
    assert len(whole.messages[0]) == 60


def test_recall_is_that_of_the_core(trained: Trained, tmp_path: Path) -> None:
    """A run, its 8-bit file and an n-gram, each by the scorer that the rest of Tacit uses."""
    run = runs.load(trained.path)
    typed = measures_text.read(run.config.text, run.config.typists, None)
    messages = [m for said in typed.messages for m in said]
    export.export_network(trained.path, tmp_path / "n.tacit", people=0)
    stored = reader.open(tmp_path / "n.tacit")
    made = small_model(tmp_path, 0)
    words, model = made.to_automaton()
    text = pack([[run.vocabulary.encode(m) for m in said] for said in typed.messages], typed.names)
    rough = pack([[words.encode(m) for m in said] for said in typed.messages], typed.names)
    core = summary(scorer(run.model)(run.params, text), text)
    for judged, expected in (
        (run_model(run), core),
        (judged_compact(made), summary(score(model, rough), rough)),
    ):
        found = summarise(all_counts(judged, messages), typed)
        for name in ("top1", "top3", "oov"):
            assert found[name] == pytest.approx(expected[name], abs=1e-9), name
        for name in ("top1", "top3"):
            assert found["ci95"][name] == pytest.approx(expected["ci95"][name], abs=1e-9)
    # the same network one word at a time
    judged = network8_model(stored)
    for words_of, scored in zip(messages[:5], judged.bulk.along(messages[:5]), strict=True):
        for i in range(len(words_of)):
            state = forward.state_after(stored, words_of[:i])
            alone = forward.log_probs(stored, state)[0]
            np.testing.assert_allclose(scored.log_p[i, 3:], alone[3:], atol=1e-4)
            assert np.isneginf(scored.log_p[i, :3]).all()


def test_the_command(tacit: Commands, trained: Trained, tmp_path: Path) -> None:
    network, ngram = tmp_path / "n.tacit", tmp_path / "m.tacit"
    export.export_network(trained.path, network, people=0)
    small_model(tmp_path, 0)
    few = ("--keyboard", "--messages", "4", "--noisy", "12")
    found = tacit.json("evaluate", trained.path, *few)
    assert found["model_bytes"] == (trained.path / "checkpoints" / "best.safetensors").stat().st_size
    assert found["keystroke_savings"] == pytest.approx(1 - found["keys"] / found["characters"])
    assert {"next_word", "completion", "tapped", "glided"} == set(found["latency_ms"])
    assert 0 < found["tapped"] <= 12 and 0 <= found["tapped_alone"] <= 1
    small = tacit.json("evaluate", network, *few, "--held-out", trained.path)
    assert small["by_typist"].keys() == found["by_typist"].keys()
    assert small["model_bytes"] == network.stat().st_size
    asked = ("evaluate", ngram, *few, "--corpus", trained.corpus, "--people", "3", "--seed", "1")
    other = tacit.json(*asked)
    assert other["people"] == 3 and other["text"] == str(trained.corpus)
    rows = [line for line in tacit.ok(*asked).splitlines() if "%" in line]
    assert len({len(line) for line in rows}) == 1, rows  # a table that aligns
    assert sum("(simulated)" in line for line in rows) == 7
    quick = tacit.json("evaluate", ngram, "--keyboard", "--noisy", "0", "--held-out", trained.path)
    assert "tapped" not in quick and "glided" not in quick["latency_ms"]
    assert quick["by_typist"].keys() == found["by_typist"].keys()


def test_what_does_not_go_together_is_refused(tacit: Commands, trained: Trained, tmp_path: Path) -> None:
    small_model(tmp_path, 0)
    file, run = tmp_path / "m.tacit", trained.path
    tacit("evaluate", run, "--people", "3").refused("--people is for --keyboard")
    tacit("evaluate", file, "--corpus", "typists", "--held-out", run).refused("one of them")
    tacit("evaluate", file, "--held-out", tmp_path).refused("not a run directory")
    tacit("evaluate", file, "--keyboard").refused("--corpus", "--held-out")
    tacit("evaluate", file, "--keyboard", "--corpus", "typists", "--held-out", run).refused("one of them")
    tacit("evaluate", file, "--keyboard", "--held-out", tmp_path).refused("not a run directory")
    tacit("evaluate", tmp_path / "none.tacit", "--keyboard", "--corpus", "typists").refused("none.tacit")
    tacit("evaluate", tmp_path, "--keyboard").refused("not a run directory")


def test_noise_has_a_seed(trained: Trained, tmp_path: Path) -> None:
    small_model(tmp_path, 0)

    def decoded(seed: int) -> tuple[float, ...]:
        options = report.KeyboardOptions(messages=0, noisy=120, seed=seed)
        found = report.measure(tmp_path / "m.tacit", str(trained.corpus), options)
        return tuple(found[f"{way}_{how}"] for way in effort.WAYS for how in ("alone", "model"))

    assert decoded(1) == decoded(1)
    assert len({decoded(seed) for seed in range(4)}) > 1


def test_a_part_without_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "voice.txt"
    file.write_text("one line\nand another\n", "utf-8")
    with pytest.raises(TacitError, match="no message to type"):
        measures_text.read(TextConfig(corpus=str(file), held_out_users=1e-6), TypistsConfig(), seed=0)


def test_long_messages_and_odd_text(trained: Trained) -> None:
    """Thousands of words, emoji, right-to-left: measured like any other."""
    run = runs.load(trained.path)
    long = [w for _ in range(300) for w in ("are", "you", "🙂", "שלום", "really")]
    messages: list[Words] = [long[:1000], tokenize("שלום, עולם 🙂🙂"), ["x" * 5000]]
    judged = run_model(run)
    found = all_counts(judged, messages)
    assert found["words"].tolist() == [1000, len(messages[1]), 1]
    assert (found["keys"] <= found["characters"]).all() and found["keys"][2] == 5000


@pytest.mark.parametrize("module", [effort, along, dense, protocol, measures_text])
def test_examples(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]


def test_the_pages_show_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """The keyboard's pages are what their tool makes of benchmarks/results/keyboard.json."""
    monkeypatch.syspath_prepend("tools")
    tool = importlib.import_module("measured_keyboard")
    for page, text in tool.pages().items():
        assert Path(page).read_text("utf-8") == text, f"run `python tools/measured_keyboard.py`: {page}"
