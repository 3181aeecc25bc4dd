"""The entries' files: all of them can be read, name what exists, and describe runs that Tacit would carry out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.base.errors import TacitError
from tacit.experiments import runner
from tacit.experiments.entry import entries, find, names, parse
from tacit.experiments.kinds.text import config_of
from tacit.experiments.runner import Place
from tacit.text import catalogue

MINIMAL = """
title = "t"
paper = 5
where = "Figure 0"
kind = "quadratic"
about = "a"
takes = "a moment"
[[metrics]]
name = "w"
label = "w"
"""


@pytest.mark.parametrize("name", names())
def test_every_entry_can_be_read_and_measured_by_its_kind(name):
    entry = find(name)
    assert entry.title and entry.about and entry.takes
    assert callable(runner.measure_of(entry.kind))
    assert all(catalogue.find(known) for known in entry.data)
    small = entry.quickly()
    assert 1 <= len(small.rows) <= 2 and small.seeds == 1
    assert entry.seeds >= 3 or not any(c.order for c in entry.claims) or entry.name == "quadratic"


TEXT = [e for e in entries() if e.kind in ("text", "authors", "keyboards", "characters", "robust")]


@pytest.mark.parametrize("entry", TEXT, ids=lambda e: e.name)
def test_rows_of_text_are_configurations_that_resolve(entry, tmp_path, monkeypatch):
    monkeypatch.setattr("tacit.experiments.kinds.text.locate", lambda name, data: catalogue.find(name))
    own = ("ngram", "least")
    for row in (*entry.rows, *entry.quickly().rows):
        settings = {"preset": "fedavg", **{k: v for k, v in row.settings.items() if k not in own}}
        config = config_of(settings, 3, Place(None, tmp_path))
        assert config.seed == 3


def test_labels_are_made_from_the_grid_and_choices_stand_for_settings():
    entry = parse(
        "made",
        MINIMAL
        + """
[settings]
rounds = 5
[choices.method.A]
preset = "x"
rounds = 7
[[grid]]
label = "{method}, C {c.d}"
method = ["A", "B"]
"c.d" = [0.0, 0.5]
[published.w]
"A, C 0.5" = 3.5
""",
    )
    assert [row.label for row in entry.rows] == ["A, C 0", "A, C 0.5", "B, C 0", "B, C 0.5"]
    assert entry.row("A, C 0.5").settings == {"rounds": 7, "preset": "x", "c.d": 0.5}
    assert entry.row("B, C 0").settings == {"rounds": 5, "method": "B", "c.d": 0.0}
    assert entry.row("A, C 0.5").published == {"w": 3.5} and entry.row("B, C 0").published == {}


def test_a_hash_names_settings_and_nothing_else():
    row = '[[rows]]\nlabel = "a"\nsteps = 1\nlr = 0.5\n'
    other = '[[rows]]\nlabel = "b"\nlr = 0.5\nsteps = 1\n'
    a, b = (parse("made", MINIMAL + text).rows[0] for text in (row, other))
    assert a.hash("quadratic") == b.hash("quadratic") != a.hash("convex")
    changed = parse("made", MINIMAL + row.replace("0.5", "0.25")).rows[0]
    assert changed.hash("quadratic") != a.hash("quadratic")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("colour = 1\n" + MINIMAL + '[[rows]]\nlabel = "a"\n', "'colour'"),
        (MINIMAL, "row labels"),
        (MINIMAL + '[[rows]]\nlabel = "a"\n[[rows]]\nlabel = "a"\n', "row labels"),
        (MINIMAL + '[[rows]]\nlabel = "abc"\n[published.w]\n"abd" = 1\n', "did you mean 'abc'"),
        (MINIMAL + '[[rows]]\nlabel = "a"\n[published.v]\n"a" = 1\n', "no metric 'v'"),
        (MINIMAL.replace('title = "t"', "") + '[[rows]]\nlabel = "a"\n', "'title'"),
        ("title =", "not valid TOML"),
    ],
)
def test_a_bad_file_is_one_line_that_names_it(text, named):
    with pytest.raises(TacitError, match="made") as error:
        parse("made", text)
    assert named in str(error.value)


def test_an_unknown_name_hints_at_the_nearest():
    with pytest.raises(TacitError, match="did you mean 'quadratic'"):
        find("quadrtic")


def test_files_are_inside_the_package():
    import tacit.experiments

    folder = Path(tacit.experiments.__file__).parent / "entries"
    assert {f.stem for f in folder.glob("*.toml")} == set(names())
