"""Every kind of model through the one door: what it says agrees with itself and with plain formulas."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

import tacit as package
from commands import Trained
from tacit import runs
from tacit.base.errors import TacitError
from tacit.lm import export
from tacit.lm.network import network_source
from tacit.lm.open import kind_of
from tacit.lm.open import open as open_model
from tacit.lm.protocol import Model
from tacit.ngram import kneser_ney
from tacit.ngram.automaton import Automaton, distribution, from_kneser_ney
from tacit.ngram.compact import writer
from tacit.ngram.formats import arpa
from tacit.personal.models import Personal
from tacit.scoring.scores import overall
from tacit.text.packed import pack
from tacit.text.vocabulary import EOS, SPECIALS, UNK, Vocabulary

LINES = "see you soon\nsee you at home\nyou see me\ni am at home\nhome at last\nsee me soon".splitlines()
KINDS = ("run", "compact", "network8", "arpa")


def ngram() -> tuple[Vocabulary, Automaton]:
    words = Vocabulary((*SPECIALS, *dict.fromkeys(" ".join(LINES).split())))
    ids = [words.encode(line.split()) for line in LINES]
    offsets = np.cumsum([0, *map(len, ids)])
    return words, from_kneser_ney(kneser_ney.fit(np.concatenate(ids), offsets, len(words), order=3))


@pytest.fixture(scope="module")
def paths(trained: Trained, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    words, model = ngram()
    writer.write(folder / "compact.tacit", words, model, name="test")
    arpa.write(folder / "model.arpa", words, model)
    export.export_network(trained.path, folder / "network.tacit", people=0)
    return {
        "run": trained.path,
        "compact": folder / "compact.tacit",
        "network8": folder / "network.tacit",
        "arpa": folder / "model.arpa",
    }


@pytest.fixture(scope="module")
def models(paths: dict[str, Path]) -> dict[str, Model]:
    return {kind: open_model(path) for kind, path in paths.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_a_path_says_its_kind(paths: dict[str, Path], kind: str) -> None:
    assert kind_of(paths[kind]) == kind


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_leads_to_the_state_of_the_longer_context(models: dict[str, Model], kind: str) -> None:
    source = models[kind].source
    ids = np.arange(EOS, len(source.words))
    context: list[str] = []
    state = source.state(context)
    for word in (*models[kind].words[2:6], *models[kind].words[:1]):
        state, context = source.step(state, source.id(word)), [*context, word]
        expected = source.log_probs(source.state(context), ids)
        assert source.log_probs(state, ids) == pytest.approx(expected, abs=1e-4)
        assert np.exp(expected).sum() == pytest.approx(1, abs=0.02)  # 8 bits round


def test_weights_that_give_no_probabilities_are_refused(trained: Trained) -> None:
    """Finite weights may be so large that what is computed of them is no number."""
    run = runs.load(trained.path)
    wrong = jax.tree.map(lambda x: jax.numpy.full_like(x, np.nan), run.params)
    with pytest.raises(TacitError, match="its weights are too large to compute with"):
        network_source(run, Personal(wrong)).state(["see"])


@pytest.mark.parametrize("kind", KINDS)
def test_suggestions_are_all_words_put_in_order(models: dict[str, Model], kind: str) -> None:
    model = models[kind]
    source, context = model.source, [model.words[3], model.words[1]]
    ids = np.arange(len(SPECIALS), len(source.words))
    log_p = source.log_probs(source.state(context), ids)
    for prefix in ("", model.words[4][:1]):
        order = sorted((-p, i) for i, p in zip(ids.tolist(), log_p.tolist(), strict=True))
        expected = [source.word(i) for _, i in order if source.word(i).startswith(prefix)][:4]
        found = model.suggest(context, 4, prefix)
        assert [s.word for s in found] == expected
        assert [s.p for s in found] == pytest.approx(
            [np.exp(log_p[source.id(w) - 3]) for w in expected], rel=1e-6
        )


@pytest.mark.parametrize("kind", ["compact", "arpa"])
def test_log_probs_are_those_of_the_automaton(models: dict[str, Model], kind: str) -> None:
    words, automaton = ngram()
    text = ["see", "you", "there", "soon"]  # one word is unknown
    ids = words.encode(text).astype(np.int64)
    states = automaton.topology.states_along(ids, np.array([0, len(ids)]))[1:-1]
    expected = [np.log(distribution(automaton, int(q))[i]) for q, i in zip(states, ids[1:-1], strict=True)]
    assert models[kind].log_probs("See you there soon") == pytest.approx(expected, abs=0.05)  # one byte each
    assert ids[3] == UNK


@pytest.mark.parametrize("kind", KINDS)
def test_scores_agree_with_log_probs(models: dict[str, Model], kind: str) -> None:
    """A text scored at once, and word by word with its end."""
    model = models[kind]
    messages = [[model.words[i % 5], model.words[i % 3], "unheard-of"] for i in range(4)]
    text = pack([[model.bulk.encoder.encode(m) for m in messages]], ["all"])
    nll = 0.0
    for message in messages:
        state = model.source.state(message)
        nll -= model.log_probs(message).sum() + model.source.log_probs(state, np.array([EOS]))[0]
    scores = model.score(text)
    assert scores.nll.sum() == pytest.approx(nll, rel=2e-3)
    figures = overall(scores)
    assert figures["words"] == 12 and figures["oov"] == pytest.approx(1 / 3)


def test_the_run_is_its_network(models: dict[str, Model], trained: Trained) -> None:
    run = runs.load(trained.path)
    ids = run.vocabulary.encode(["see", "you"])
    logits = np.asarray(run.model.apply(run.params, ids[None, :-1])[0], np.float64)
    log_p = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    expected = [log_p[0, ids[1]], log_p[1, ids[2]]]
    assert models["run"].log_probs("see you") == pytest.approx(expected, abs=1e-4)
    assert models["run"].size == (trained.path / runs.BEST).stat().st_size


def test_what_cannot_be_opened_is_told_in_one_line(tmp_path: Path, paths: dict[str, Path]) -> None:
    for path, user, told in (
        (tmp_path / "no.tacit", None, "there is no such file; `tacit distill RUN` makes"),
        (tmp_path, None, "is not a run directory"),
        (paths["compact"], "ana", "is a file and has no personal models"),
        (paths["run"], "ana", "no personal model of 'ana'"),
    ):
        with pytest.raises(TacitError, match=told) as error:
            open_model(path, user)
        assert "\n" not in str(error.value)
    with pytest.raises(TacitError, match="at least 1"):
        open_model(paths["arpa"]).suggest("see", 0)


@pytest.mark.parametrize("kind", ["compact", "network8", "arpa"])
def test_files_need_no_jax(paths: dict[str, Path], kind: str) -> None:
    program = (
        "import sys; sys.modules['jax'] = None\n"
        "from tacit.lm.open import open\n"
        f"print(open({str(paths[kind])!r}).suggest('see', 1)[0].word)"
    )
    source = str(Path(package.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [open_model(paths[kind]).suggest("see", 1)[0].word]


def test_a_model_is_shown_in_one_line(models: dict[str, Model]) -> None:
    for model in models.values():
        assert repr(model) == f"Model({len(model.words):,} words, {model.size:,} bytes, {model.runtime})"


def test_a_file_in_a_language_of_another_tacit_is_refused(tmp_path: Path) -> None:
    words, automaton = ngram()
    writer.write(tmp_path / "x.tacit", words, automaton, name="x", locale="xx")
    with pytest.raises(TacitError, match=r"x\.tacit: no locale 'xx'; it is one of: de, en"):
        open_model(tmp_path / "x.tacit")
