"""The 8-bit network: its file by the written layout, its products and recurrence against float ones, no JAX."""

from __future__ import annotations

import dataclasses
import doctest
import json
import os
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import reference
from commands import Commands, Trained
from networks8 import KINDS, WORDS, network, saved
from tacit import runs
from tacit.base.errors import TacitError
from tacit.federated.evaluation import scorer
from tacit.lm import export
from tacit.lm.dense import likeliest
from tacit.lm.network8 import forward, reader, writer
from tacit.lm.network8.model import network8_model
from tacit.lm.network8.reader import Matrix, times
from tacit.lm.network8.writer import as_model, quantise
from tacit.models import ARCHITECTURES, ModelConfig, language_model
from tacit.scoring.scores import summary
from tacit.text.packed import pack
from tacit.text.prepare import TextConfig, whole_corpus
from tacit.text.typists import TypistsConfig
from tacit.text.vocabulary import SPECIALS, Vocabulary

files = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)


def tenth(a: ModelConfig) -> ModelConfig:
    """A published model, ten times smaller."""
    some = 10 * a.groups
    return dataclasses.replace(
        a, hidden=a.hidden // some * a.groups, embedding=a.embedding // some * a.groups
    )


PUBLISHED = {name: tenth(a) for name, a in ARCHITECTURES.items()}


@given(st.integers(1, 9), st.integers(1, 300), st.integers(1, 400), st.integers(0, 2**32 - 1))
@settings(max_examples=30)
def test_products_are_those_of_the_float_matrix(n: int, rows: int, columns: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    matrix = Matrix(
        draw.integers(-127, 128, (rows, columns)).astype(np.int8),
        draw.uniform(1e-4, 1, rows).astype(np.float32),
    )
    x = draw.normal(size=(n, columns)).astype(np.float32)
    exact = (
        x.astype(np.float64) @ (matrix.codes.astype(np.float64) * matrix.scale.astype(np.float64)[:, None]).T
    )
    size = np.abs(x) @ np.abs(matrix.floats()).T  # what the terms of each sum add up to
    assert (np.abs(times(matrix, x) - exact) <= 1e-5 * size + 1e-12).all()
    assert (times(matrix, x[:1]) - times(matrix, np.repeat(x[:1], 2, 0))[:1] <= 1e-5 * size[:1] + 1e-12).all()


@given(st.integers(1, 20), st.integers(1, 20), st.floats(0, 6), st.integers(0, 2**32 - 1))
@example(3, 4, 0.0, 0)
def test_no_weight_is_off_by_more_than_half_a_scale(
    rows: int, columns: int, orders: float, seed: int
) -> None:
    draw = np.random.default_rng(seed)
    weights = draw.normal(size=(rows, columns)) * 10 ** draw.uniform(-orders, 0, (rows, 1))
    weights[draw.random(rows) < 0.1] = 0
    weights = weights.astype(np.float32)
    codes, low, high, steps = quantise(weights)
    scale = np.float64(low) * (high / low) ** (steps / 255)  # as the layout says it
    off = np.abs(codes * scale[:, None] - weights)
    assert (off <= scale[:, None] * 0.5001).all()
    peak = np.abs(weights).max(1)
    # a row uses its range, unless it is ten thousand times smaller than the greatest
    assert (scale <= np.maximum(peak / 127 * 1.04, peak.max() / 127 / 9999) + 1e-30)[peak > 0].all()


@pytest.mark.parametrize("kind", [*KINDS, "W30K", "P4K-G"])
def test_numpy_runs_what_jax_runs(tmp_path: Path, kind: str, compiled: Path) -> None:
    stored = reader.open(saved(tmp_path / "n.tacit", (KINDS | PUBLISHED)[kind]))
    model, params = as_model(stored)

    @jax.jit
    def ahead(state: object, ids: object) -> tuple[object, object]:
        state, features = model.step(params, state, ids)
        return state, jax.nn.log_softmax(model.logits(params, features))

    rows = np.random.default_rng(0).integers(0, 40, (3, 9)).astype(np.int32)  # `<s>` inside, too
    rows[:, 0] = 0
    zeros = jax.eval_shape(lambda ids: model.step(params, None, ids)[0], rows[:, 0])
    state, exact = None, jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), zeros)
    for ids in rows.T:
        state = forward.step(stored, state, ids)
        exact, expected = ahead(exact, ids)
        np.testing.assert_allclose(forward.log_probs(stored, state), expected, atol=2e-5)


@pytest.mark.parametrize("kind", [*KINDS, *PUBLISHED])
def test_rounding_is_all_that_is_lost(tmp_path: Path, kind: str) -> None:
    """Every weight of the run is in the file, at the place of its word, to half a scale."""
    config = (KINDS | PUBLISHED)[kind]
    words, params = network(config)
    stored = reader.open(saved(tmp_path / "n.tacit", config))
    place = [stored.id(w) if i > 2 else i for i, w in enumerate(words.words)]
    assert sorted(place) == list(range(40))
    _, back = as_model(stored)
    assert back.keys() == params.keys()
    for name in back:
        for old, new in zip(jax.tree.leaves(params[name]), jax.tree.leaves(back[name]), strict=True):
            new = np.asarray(new)
            new = new[place] if name in ("embedding", "output", "output_bias") else new
            assert np.abs(new - old).max() <= np.abs(old).max() / 127 * 0.53


def test_the_file_is_as_its_description_says(tmp_path: Path) -> None:
    config = KINDS["gru untied, residual"]
    path = saved(tmp_path / "n.tacit", config, case="keep", max_words=7)
    data = path.read_bytes()
    magic, version, count, length, crc = struct.unpack_from("<8sIIII", data)
    assert (magic, version, length, crc) == (b"TacitNN\n", 1, len(data), zlib.crc32(data[:20] + data[24:]))
    section = {}
    for i in range(count):
        name, offset, size = struct.unpack_from("<32sII", data, 24 + 40 * i)
        assert offset % 8 == 0
        section[name.rstrip(b"\0").decode()] = data[offset : offset + size]
    facts = json.loads(section["meta"])
    assert (facts["vocabulary"], facts["case"], facts["max_words"]) == (40, "keep", 7)
    words = zlib.decompress(section["words"]).decode().split("\n")[:-1]
    known, params = network(config)
    assert words == sorted(known.words[3:], key=str.encode)
    low, high = struct.unpack_from("<ff", section["output.scale"])
    row = words.index("été") + 3
    codes = struct.unpack("10b", section["output"][10 * row : 10 * row + 10])
    scale = low * (high / low) ** (section["output.scale"][8 + row] / 255)
    old = params["output"][known.words.index("été")]
    assert np.abs(np.array(codes) * scale - old).max() <= scale * 0.5001
    bias = struct.unpack("<40e", section["output_bias"])
    assert bias[row] == pytest.approx(params["output_bias"][known.words.index("été")], rel=1e-3)
    turned = struct.unpack("10b", section["gru1/recurrent"][70:80])  # row 7: what makes the 8th number
    low, high = struct.unpack_from("<ff", section["gru1/recurrent.scale"])
    scale = low * (high / low) ** (section["gru1/recurrent.scale"][8 + 7] / 255)
    assert np.abs(np.array(turned) * scale - params["gru1"]["recurrent"][:, 7]).max() <= scale * 0.5001


def test_equal_networks_give_equal_bytes(tmp_path: Path) -> None:
    one, other = (saved(tmp_path / name, KINDS["lstm"]).read_bytes() for name in ("a.tacit", "b.tacit"))
    assert one == other


def test_suggestions_are_the_likeliest_words(tmp_path: Path) -> None:
    """Against all probabilities put in order, one by one."""
    stored = reader.open(saved(tmp_path / "n.tacit", KINDS["gru"]))
    asked = network8_model(stored)
    model, params = as_model(stored)
    context = ["not", "to", "unheard-of", "be"]
    ids = stored.vocabulary.encode(context)[:-1]
    every = reference.next_words(model, params, ids, 37)
    for k in (1, 3, 37):
        found = asked.suggest(context, k)
        assert [w for w, _ in found] == [stored.words[i] for i, _ in every[:k]]
        assert [p for _, p in found] == pytest.approx([p for _, p in every[:k]], rel=1e-4)
    for prefix in ("b", "be", "日", "w", "zzz", "d"):
        expected = [stored.words[i] for i, _ in every if stored.words[i].startswith(prefix)][:3]
        assert [w for w, _ in asked.suggest(context, prefix=prefix)] == expected
    with pytest.raises(TacitError, match="at least 1"):
        asked.suggest(context, 0)


def test_ties_go_to_the_lower_id() -> None:
    assert [i for i, _ in likeliest(np.array([1, 2, 2, 2, 1], np.float32), 2)] == [1, 2]


def fresh(stored: reader.Network8, context: list[str]) -> list[tuple[str, float]]:
    """Three suggestions from a model that remembers nothing."""
    return list(network8_model(stored).suggest(context))


def test_a_long_context_is_read_from_its_end(tmp_path: Path) -> None:
    stored = reader.open(saved(tmp_path / "n.tacit", KINDS["gru"], max_words=5))
    long = [WORDS[i % 7] for i in range(10_000)]
    assert fresh(stored, long) == fresh(stored, long[-5:])
    assert fresh(stored, long) != fresh(stored, long[-4:])


def test_a_source_that_remembers_says_the_same(tmp_path: Path) -> None:
    """Words one by one, the same context again, another context, and one that is too long."""
    stored = reader.open(saved(tmp_path / "n.tacit", KINDS["lstm"], max_words=4))
    source = network8_model(stored).source
    said = ["to", "be", "or", "not", "to", "be", "a"]
    for context in [*(said[:i] for i in range(8)), said[:7], [], ["zoo"], ["be", "be"]]:
        alone = fresh(stored, context)
        found = source.best(source.state(context), 3, 3, 40)
        assert [source.word(i) for i, _ in found] == [w for w, _ in alone]
        assert np.exp([p for _, p in found]) == pytest.approx([p for _, p in alone])


def test_gboard_is_small_enough(tmp_path: Path) -> None:
    """1.4 million weights and 10,000 words of random letters, which pack worse than words."""
    draw = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = {"".join(draw.choice(letters, n)) for n in draw.integers(3, 13, 10_500).tolist()}
    config = ARCHITECTURES["gboard"]
    _, params = network(config, 10_000)
    known = Vocabulary((*SPECIALS, *sorted(words)[:9997]))
    assert writer.write(tmp_path / "g.tacit", known, config, params, name="gboard") <= 1_500_000


def learnt(config: ModelConfig, rows: np.ndarray, size: int) -> dict:
    """A network after 300 steps of Adam on sentences [sentences, time]."""
    model, adam = language_model(config, size), optax.adam(0.02)
    inputs, targets = jnp.asarray(rows[:, :-1]), jnp.asarray(rows[:, 1:])

    def loss(params: dict, some: jax.Array) -> jax.Array:
        logits = model.apply(params, inputs[some])
        return optax.softmax_cross_entropy_with_integer_labels(logits, targets[some]).mean()

    def step(carry: tuple, some: jax.Array) -> tuple[tuple, None]:
        gradient = jax.grad(loss)(carry[0], some)
        update, state = adam.update(gradient, carry[1])
        return (optax.apply_updates(carry[0], update), state), None

    def train(key: jax.Array) -> dict:
        params = model.init(key)
        which = jax.random.randint(key, (300, 40), 0, len(rows))
        return jax.lax.scan(step, (params, adam.init(params)), which)[0][0]

    return jax.tree.map(np.asarray, jax.jit(train)(jax.random.key(0)))


def test_little_recall_is_lost(tmp_path: Path, compiled: Path) -> None:
    """A network that has learnt a chain of 200 words, on sentences that it did not see."""
    size, draw = 200, np.random.default_rng(0)
    follow = draw.integers(3, size, (size, 3))
    rows = np.zeros((1500, 9), np.int32)
    rows[:, 1] = draw.integers(3, size, len(rows))
    for at in range(2, 9):
        rows[:, at] = follow[rows[:, at - 1], draw.choice(3, len(rows), p=[0.5, 0.3, 0.2])]
    config = ModelConfig(hidden=24, embedding=24)
    params = learnt(config, rows[:1000], size)
    words = Vocabulary((*SPECIALS, *(f"w{i:03d}" for i in range(3, size))))  # in the file's order
    writer.write(tmp_path / "n.tacit", words, config, params, name="chain")
    text = pack([[np.append(row, 1) for row in rows[1000:]]], ["somebody"])
    before = summary(scorer(language_model(config, size))(params, text), text)
    small, rounded = as_model(reader.open(tmp_path / "n.tacit"))
    after = summary(scorer(small)(rounded, text), text)
    assert before["top1"] > 0.3 and before["words"] == 4000  # it has learnt, and there is enough to measure
    assert after["top1"] >= 0.99 * before["top1"] and after["top3"] >= 0.99 * before["top3"]
    assert after["perplexity"] == pytest.approx(before["perplexity"], rel=0.01)
    assert after["top1"] != 0 and not np.array_equal(rounded["embedding"], params["embedding"])


@pytest.mark.parametrize(
    "asked",
    [
        "tacit.open(path).suggest(['to', 'be'])",
        "suggestions.open(path, capitals=False).next_words(['to', 'be'])",  # as a keyboard asks, whatever the file
    ],
)
def test_jax_is_not_needed(tmp_path: Path, asked: str) -> None:
    """Reading and asking in a process where JAX cannot be imported."""
    path = saved(tmp_path / "n.tacit", KINDS["lstm"])
    program = (
        "import sys; sys.modules['jax'] = None; sys.modules['safetensors'] = None\n"
        "from pathlib import Path\n"
        "from types import SimpleNamespace\n"
        "from tacit.keyboard import suggestions\n"
        "from tacit.lm.open import open\n"
        "tacit = SimpleNamespace(open=open)\n"
        f"path = Path({str(path)!r})\n"
        f"print(*(w for w, _ in {asked}), sep='\\n')"
    )
    source = str(Path(reader.__file__).parents[3])
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": source, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
    )
    here = fresh(reader.open(path), ["to", "be"])
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [w for w, _ in here]


def test_the_commands(tacit: Commands, trained: Trained, tmp_path: Path) -> None:
    out = tmp_path / "made" / "n.tacit"
    found = tacit.json("export", trained.path, "--out", out, "--people", "1")
    assert found["bytes"] == out.stat().st_size and set(found["models"]) == {"network", "8 bits"}
    assert str(out) in tacit.ok("export", trained.path, "--out", out, "--people", "0")
    scored = tacit.json("evaluate", out, "--corpus", trained.corpus)
    assert scored["people"] == 12
    assert scored["perplexity"] == pytest.approx(over_everybody(trained)["perplexity"], rel=0.02)
    asked = tacit.json("predict", out, "are You")["suggestions"]
    own = tacit.json("predict", trained.path, "are you")["suggestions"]
    assert [s["probability"] for s in asked] == pytest.approx([s["probability"] for s in own], rel=0.05)
    tacit("evaluate", out).refused("--corpus")
    tacit("predict", out, "a", "--user", "u01").refused("no personal models")
    tacit("export", tmp_path).refused("not a run directory")
    tacit("export", trained.path, "--out", tmp_path).refused("is a directory")
    out.write_bytes(out.read_bytes()[:-1])
    tacit("predict", out, "a").refused("were written")


def over_everybody(trained: Trained) -> dict:
    """The run's own network on all of the corpus, as evaluation scores it."""
    run = runs.load(trained.path)
    text = whole_corpus(TextConfig(corpus=str(trained.corpus)), TypistsConfig(), run.vocabulary)
    return summary(scorer(run.model)(run.params, text), text)


def test_runs_over_pieces_are_refused(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "load", lambda path: SimpleNamespace(spelling="pieces"))
    with pytest.raises(TacitError, match="word-pieces"):
        export.export_network(trained.path, tmp_path / "n.tacit")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("module", [reader, forward, writer])
def test_examples(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]
