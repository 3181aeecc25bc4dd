"""A checkpoint is what was saved, or one clear line."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import load, save

from tacit.base.errors import TacitError
from tacit.models.base import tree_names
from tacit.runs.checkpoints import load_tree, save_tree

FACTS = {"round": "7", "best_round": "5", "best_value": "12.5"}


class State(NamedTuple):
    params: object
    count: object


def tree() -> State:
    """Nested, with a scalar count as optimisers keep it and two leaves of the same shape."""
    draw = np.random.default_rng(0)
    a, b = (draw.normal(size=(3, 4)).astype(np.float32) for _ in range(2))
    return State({"gru0": {"a": jnp.asarray(a), "b": jnp.asarray(b)}, "bias": jnp.arange(5.0)}, jnp.int32(3))


def same(a: State, b: State) -> bool:
    mine, yours = ([s.params["gru0"]["a"], s.params["gru0"]["b"], s.params["bias"], s.count] for s in (a, b))
    return all(
        np.shape(x) == np.shape(y) and np.asarray(x).tobytes() == np.asarray(y).tobytes()
        for x, y in zip(mine, yours, strict=True)
    )


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("checkpoint") / "last.safetensors"
    save_tree(path, tree(), FACTS)
    return path


def test_a_checkpoint_comes_back_as_it_was(checkpoint: Path) -> None:
    found, facts = load_tree(checkpoint, tree())
    assert same(found, tree()) and found.count.shape == ()
    assert {k: facts[k] for k in FACTS} == FACTS


def test_equal_trees_are_equal_bytes(tmp_path: Path, checkpoint: Path) -> None:
    for number in range(20):  # safetensors orders several header keys by chance
        save_tree(tmp_path / "again", tree(), dict(reversed(FACTS.items())) if number % 2 else FACTS)
        assert (tmp_path / "again").read_bytes() == checkpoint.read_bytes()


def test_names_say_where_a_leaf_is() -> None:
    assert tree_names(tree()) == ["params/bias", "params/gru0/a", "params/gru0/b", "count"]


def test_it_is_a_plain_safetensors_file(checkpoint: Path) -> None:
    assert set(load(checkpoint.read_bytes())) == set(tree_names(tree()))


def refused(path: Path, data: bytes, match: str = "") -> None:
    path.write_bytes(data)
    with pytest.raises(TacitError, match=match) as error:
        load_tree(path, tree())
    line = str(error.value)
    assert str(path) in line and "\n" not in line and ("train" in line or "belongs to another" in line)


def test_truncated_at_any_byte_is_refused(checkpoint: Path, tmp_path: Path) -> None:
    data = checkpoint.read_bytes()
    for cut in range(len(data)):
        refused(tmp_path / "cut", data[:cut], "damaged or truncated")
    refused(tmp_path / "longer", data + b"\0", "damaged or truncated")


def test_foreign_files_are_refused(checkpoint: Path, tmp_path: Path) -> None:
    tensors = load(checkpoint.read_bytes())
    there = tmp_path / "foreign"
    refused(there, save(tensors), "not a checkpoint of this Tacit")
    refused(there, save(tensors, {"format": "pt"}), "not a checkpoint of this Tacit")
    refused(there, save(tensors, {"tacit": "[]"}), "not a checkpoint of this Tacit")
    refused(there, save(tensors, {"tacit": "{"}), "damaged")
    refused(there, b"PK\x03\x04" + b"\0" * 100, "damaged")
    refused(there, b"\x08\0\0\0\0\0\0\0nonsense", "damaged")
    refused(there, b"", "damaged")


def test_another_models_checkpoint_is_refused_with_the_leaf(checkpoint: Path) -> None:
    right = tree()

    def against(match: str, **params: object) -> None:
        changed = {k: v for k, v in {**right.params, **params}.items() if v is not None}
        with pytest.raises(TacitError, match=match):
            load_tree(checkpoint, State(changed, right.count))

    against(r"'params/bias' is float32 \[5\], expected float32 \[6\]", bias=jnp.zeros(6))
    against(r"'params/bias' is float32 \[5\], expected int32 \[5\]", bias=jnp.zeros(5, jnp.int32))
    against("'params/new' is missing", new=jnp.zeros(2))
    against("'params/bias' is not part of this model", bias=None)


def test_numbers_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    for bad in (np.nan, np.inf, -np.inf):
        broken = tree()
        broken.params["bias"] = broken.params["bias"].at[2].set(bad)
        save_tree(tmp_path / "nan", broken, FACTS)
        with pytest.raises(TacitError, match="not finite"):
            load_tree(tmp_path / "nan", tree())


def test_missing_and_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(TacitError, match="no such checkpoint"):
        load_tree(tmp_path / "none", tree())
    with pytest.raises(TacitError, match="cannot be read"):
        load_tree(tmp_path, tree())


def test_every_flipped_bit_of_the_header_is_harmless_or_refused(checkpoint: Path, tmp_path: Path) -> None:
    data = bytearray(checkpoint.read_bytes())
    for place in range(len(data)):
        for bit in range(8) if place < 16 else (place % 8,):
            data[place] ^= 1 << bit
            (tmp_path / "flipped").write_bytes(data)
            _equal_or_refused(tmp_path / "flipped")
            data[place] ^= 1 << bit


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(data=st.data())
def test_a_mutated_checkpoint_loads_equal_or_is_refused(
    data: st.DataObject, checkpoint: Path, tmp_path: Path
) -> None:
    content = bytearray(checkpoint.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(content)))
        end = data.draw(st.integers(start, min(len(content), start + 12)))
        content[start:end] = data.draw(st.binary(max_size=12))
    (tmp_path / "mutated").write_bytes(content)
    _equal_or_refused(tmp_path / "mutated")


def _equal_or_refused(path: Path) -> None:
    try:
        found, facts = load_tree(path, tree())
    except TacitError as error:
        assert str(path) in str(error) and "\n" not in str(error)
    else:
        assert same(found, tree()) and {k: facts[k] for k in FACTS} == FACTS
