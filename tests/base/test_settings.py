"""Typed configuration: every key checked, every error names its key, nothing lost on the way to TOML."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass, field
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.base.errors import TacitError
from tacit.base.settings import OPEN, Settings, build, dump, number, tables


@dataclass(frozen=True)
class Inner:
    epochs: int = number(1, 1)
    lr: float = number(1.0, 0, 10)
    kind: Literal["gru", "lstm"] = "gru"
    tied: bool = True
    note: str = ""


@dataclass(frozen=True)
class Outer:
    name: str = "run"
    seed: int = number(0, 0)
    slope: float = number(0.0)
    client: Inner = field(default_factory=Inner)


def test_defaults_and_values():
    assert build(Outer, {}) == Outer()
    made = build(Outer, {"seed": 3, "client": {"lr": 2, "kind": "lstm", "tied": False}})
    assert made == Outer(seed=3, client=Inner(lr=2.0, kind="lstm", tied=False))
    assert isinstance(made.client.lr, float)


@pytest.mark.parametrize(
    ("tables", "says"),
    [
        ({"client": {"epoch": 1}}, r"unknown key 'client\.epoch'.*did you mean 'epochs'"),
        ({"cliend": {"epochs": 1}}, r"unknown table 'cliend'.*did you mean 'client'"),
        ({"zzz": 1}, r"unknown key 'zzz'.*one of: client, name, seed, slope"),
        ({"client": 5}, r"'client' must be a table"),
        ({"client": {"epochs": 1.5}}, r"client\.epochs = 1\.5 must be a whole number"),
        ({"client": {"epochs": True}}, r"client\.epochs = True must be a whole number"),
        ({"client": {"epochs": 0}}, r"client\.epochs = 0 must be .*at least 1"),
        ({"client": {"lr": "fast"}}, r"client\.lr = 'fast' must be a number"),
        ({"client": {"lr": True}}, r"client\.lr = True must be a number"),
        ({"client": {"lr": 11.0}}, r"client\.lr = 11\.0 must be between 0 and 10"),
        ({"client": {"lr": -1}}, r"client\.lr = -1\.0 must be between 0 and 10"),
        ({"client": {"lr": math.nan}}, r"client\.lr = nan"),
        ({"slope": math.nan}, r"slope = nan"),
        ({"slope": math.inf}, r"slope = inf must be finite"),
        ({"slope": 10**400}, r"slope = inf must be finite"),
        ({"slope": 1e39}, r"slope = 1e\+39 must be at most 3\.4e\+38"),
        ({"slope": -1e39}, r"slope = -1e\+39 must be at most"),
        ({"seed": 2**31}, r"seed = 2147483648 must be at most 2147483647"),
        ({"seed": 10**400}, r"seed = a number of many digits must be at most 2147483647"),
        ({"client": {"epochs": -(10**400)}}, r"client\.epochs = .* must be at least 1$"),
        ({"client": {"tied": 1}}, r"client\.tied = 1 must be true or false"),
        ({"client": {"kind": "gruu"}}, r"client\.kind = 'gruu' is not known.*did you mean 'gru'"),
        ({"client": {"kind": ["gru"]}}, r"client\.kind = \['gru'\] is not known"),
        ({"name": 5}, r"name = 5 must be a string"),
    ],
)
def test_mistakes_are_told_in_one_line_that_names_the_key(tables, says):
    with pytest.raises(TacitError, match=says) as caught:
        build(Outer, tables)
    assert "\n" not in str(caught.value)


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12)


@given(
    name=texts,
    note=texts,
    seed=st.integers(0, 2**31 - 1),
    slope=st.floats(-3e38, 3e38),
    lr=st.floats(0, 10),
    tied=st.booleans(),
)
def test_what_is_dumped_is_read_back(name, note, seed, slope, lr, tied):
    config = Outer(name=name, seed=seed, slope=slope, client=Inner(lr=lr, tied=tied, note=note))
    assert build(Outer, tomllib.loads(dump(config))) == config


def test_every_key_is_written_out():
    tables = tomllib.loads(dump(Outer()))
    assert set(tables) == {"name", "seed", "slope", "client"}
    assert set(tables["client"]) == {"epochs", "lr", "kind", "tied", "note"}


@dataclass(frozen=True)
class Open:
    rule: str = "mean"
    settings: Settings = field(default_factory=dict, metadata=OPEN)


@dataclass(frozen=True)
class Whole:
    part: Open = field(default_factory=Open)


names = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True).filter(lambda name: name != "rule")
values = st.one_of(st.booleans(), st.integers(-(2**31) + 1, 2**31 - 1), st.floats(-3e38, 3e38), texts)


@given(st.dictionaries(names, values, max_size=4))
def test_keys_of_an_open_table_stand_in_the_table_itself(settings):
    config = Whole(Open("mine", settings))
    assert tables(config) == {"part": {"rule": "mine", **settings}}
    again = build(Whole, tomllib.loads(dump(config)))
    assert again == config
    assert [type(v) for v in again.part.settings.values()] == [type(v) for v in settings.values()]


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"länge": 1}, r"part\.länge: a setting's name has only the letters a to z"),
        ({"size": [1]}, r"part\.size = \[1\] must be a number, a string, true or false"),
        ({"size": math.nan}, r"part\.size = nan must be finite"),
        ({"own": {"size": 1}}, r"'part\.own' is a table"),
        ({"settings": {"size": 1}}, r"'part\.settings' is a table"),
        ({"rule": 3}, r"part\.rule = 3 must be a string"),
    ],
)
def test_an_open_table_takes_plain_values_only(table, says):
    with pytest.raises(TacitError, match=says):
        build(Whole, {"part": table})
