"""The entries' files: all of them can be read, name what exists, and describe runs that Tacit would carry out."""

from __future__ import annotations

import re
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


def _items(where: str) -> set[str]:
    """Reads "Tables 7 and 8, Figures 13 and 14" or "Table 4" as a set of items: {"Table 7", …}."""
    found = set()
    for kind, numbers in re.findall(r"(Table|Figure)s? ((?:\d+(?: to | and )?)+)", where):
        ends = [int(n) for n in re.findall(r"\d+", numbers)]
        found |= {f"{kind} {n}" for n in (range(ends[0], ends[-1] + 1) if " to " in numbers else ends)}
    return found


ILLUSTRATIONS = {3: {"Figure 1"}, 4: {"Figure 1", "Figure 2", "Figure 4"},
                 5: {"Table 1", "Table 2", "Figure 10", "Figure 11", "Figure 12"}}  # fmt: skip


@pytest.mark.parametrize(("paper", "tables", "figures"), [(3, 1, 3), (4, 4, 5), (5, 10, 14)])
def test_every_table_and_figure_of_the_papers_has_an_entry(paper, tables, figures):
    """Or is an illustration, a definition or a summary, which the page of results lists."""
    every = {f"Table {n + 1}" for n in range(tables)} | {f"Figure {n + 1}" for n in range(figures)}
    measured = set().union(*(_items(entry.where) for entry in entries() if entry.paper == paper))
    assert measured | ILLUSTRATIONS[paper] == every and not measured & ILLUSTRATIONS[paper]


def test_every_table_and_figure_of_papers_1_and_2_has_an_entry():
    """Entries name both: paper 1's number, a stroke, paper 2's."""
    first, second = zip(*(e.where.split(",")[0].split(" / ") for e in entries() if e.paper == 1), strict=True)
    assert {w.split()[-1] for w in first if w.startswith("Table")} == {"I", "II", "III", "IV"}
    assert {part for w in first for part in re.findall(r"\d(?:\([abc]\))?", w)} == {
        "2",
        "3(a)",
        "3(b)",
        "3(c)",
    }
    assert {n for w in second for n in re.findall(r"\d", w)} == {"1", "2", "3", "4", "5"}
