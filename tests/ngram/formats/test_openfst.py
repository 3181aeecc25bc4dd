"""OpenFst files: pynini compiles them, and a path that follows failure arcs weighs what the model says."""

from __future__ import annotations

import dataclasses
import doctest
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from file_models import any_weights, flat, kneser, refused, sentences, vocabulary
from tacit.ngram.automaton import Automaton, Topology, log_probs
from tacit.ngram.formats import openfst

files = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)


def compiled(path: Path, symbols: Path):
    """The file as OpenFst itself understands it."""
    pywrapfst = pytest.importorskip("pywrapfst")
    table = pywrapfst.SymbolTable.read_text(str(symbols))
    compiler = pywrapfst.Compiler(isymbols=table, osymbols=table, keep_state_numbering=True)
    compiler.write(path.read_text("utf-8"))
    return compiler.compile(), table


def weigh(fst, table, words: list[str]) -> float:
    """−ln p of a sentence: the arc of the word where there is one, otherwise the failure arc; so also at the end."""
    phi, state, total = table.find("<phi>"), fst.start(), 0.0
    for word in [*words, None]:
        while True:
            arcs = {arc.ilabel: arc for arc in fst.arcs(state)}
            assert all(arc.ilabel == arc.olabel for arc in arcs.values())
            if word is None and np.isfinite(float(fst.final(state))):
                return total + float(fst.final(state))
            here = arcs.get(table.find(word)) if word is not None else None
            arc = here if here is not None else arcs[phi]
            total, state = total + float(arc.weight), arc.nextstate
            if here is not None:
                break
    raise AssertionError


@files
@given(st.integers(0, 9999), st.integers(1, 4))
def test_paths_weigh_what_the_model_says(tmp_path: Path, seed: int, order: int) -> None:
    v, model = vocabulary(20), any_weights(seed, 20, order, 25)
    openfst.write(tmp_path / "m.txt", tmp_path / "m.syms", v.words, model)
    fst, table = compiled(tmp_path / "m.txt", tmp_path / "m.syms")
    assert fst.num_states() == len(model.topology) and fst.start() == model.topology.initial
    bodies = [*sentences(seed + 1, 10, 20), [2, 18, 19]]
    tokens, offsets = flat(bodies)
    ask = tokens != 0
    found = log_probs(model, model.topology.states_along(tokens, offsets)[ask], tokens[ask])
    ours = np.add.reduceat(found, np.cumsum([0, *(len(b) + 1 for b in bodies)])[:-1])
    theirs = [weigh(fst, table, [v.words[i] for i in body]) for body in bodies]
    np.testing.assert_allclose(-ours, theirs, rtol=1e-5)


def test_openfst_finds_it_in_order(tmp_path: Path) -> None:
    pywrapfst = pytest.importorskip("pywrapfst")
    openfst.write(tmp_path / "m.txt", tmp_path / "m.syms", vocabulary(20).words, kneser(2))
    fst, table = compiled(tmp_path / "m.txt", tmp_path / "m.syms")
    wanted = pywrapfst.FstProperties.ACCEPTOR | pywrapfst.FstProperties.I_LABEL_SORTED
    wanted |= pywrapfst.FstProperties.I_DETERMINISTIC | pywrapfst.FstProperties.ACCESSIBLE
    assert fst.properties(wanted, True) == wanted and fst.verify()
    assert (table.find(0), table.find(1), table.find(2), table.find(5)) == ("<eps>", "<phi>", "<unk>", "bee")


def test_several_roots(tmp_path: Path) -> None:
    """Two roots that pass to each other, as in an automaton over word-pieces; one state without arcs of its own."""
    shape = Topology(
        5,
        np.array([0, 2, 4, 5]),
        np.array([3, 4, 1, 3, 3]),
        np.array([1, 0, -1, 0, 1]),
        np.array([-1, -1, 0]),
        2,
    )
    model = Automaton(shape, np.log([0.4, 0.6, 0.5, 0.5, 0.3]), np.array([0, 0, np.log(0.7 / 0.6)]))
    openfst.write(tmp_path / "m.txt", tmp_path / "m.syms", ("<s>", "</s>", "<unk>", "x", "y"), model)
    fst, table = compiled(tmp_path / "m.txt", tmp_path / "m.syms")
    assert weigh(fst, table, ["x"]) == pytest.approx(-np.log(0.3 * 0.5))
    assert weigh(fst, table, ["y", "x"]) == pytest.approx(-np.log(0.7 * 0.4 * 0.5))


def test_bad_input(tmp_path: Path) -> None:
    model = kneser(1)
    words = vocabulary(20).words

    def write(words: tuple[str, ...], model: Automaton = model) -> None:
        openfst.write(tmp_path / "m.txt", tmp_path / "m.syms", words, model)

    refused(lambda: write(words[:-1]), "20 words, its vocabulary 19", tmp_path)
    refused(lambda: write((*words[:-1], "<phi>")), "<phi> has a special meaning", tmp_path)
    refused(lambda: write((*words[:-1], "<eps>")), "<eps> has a special meaning", tmp_path)
    two = dataclasses.replace(model, topology=dataclasses.replace(model.topology, vocabulary=21))
    refused(lambda: write(words, two), "21 words", tmp_path)


def test_examples() -> None:
    assert doctest.testmod(openfst).failed == 0
