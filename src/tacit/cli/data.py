"""The commands `tacit data …`: known public corpora, and numbers about any text."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tacit.cli.options import DataOption, JsonOption, print_json, print_table

data = typer.Typer(help="Known public corpora, and numbers about any text.", no_args_is_help=True)


@data.command("list")
def data_list(as_json: JsonOption = False) -> None:
    """Known public corpora: what they are, where they come from, their licences.

    Example:

      tacit data list
    """
    import dataclasses

    from tacit.text.catalogue import entries

    if as_json:
        print_json([dataclasses.asdict(e) for e in entries()])
        return
    rows = [["name", "what", "licence as stated", "source"]]
    rows.append(
        ["typists", "the built-in typists: made, not collected", "Apache-2.0, with Tacit", "built in"]
    )
    rows += [[e.name, e.what, e.licence, e.source] for e in entries()]
    print_table(rows)


@data.command("describe")
def data_describe(
    corpus: Annotated[str, typer.Argument(help="'typists', a known corpus, or a path.")] = "typists",
    data: DataOption = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="typists.key=value", help="Settings of the typists.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Numbers about a text: people, words, and how far from IID it is.

    Examples:

      tacit data describe typists --set typists.label_skew=0

      tacit data describe ~/texts.jsonl.gz --json
    """
    import dataclasses

    from tacit.base.progress import busy, reading
    from tacit.runs.config import from_tables, set_key
    from tacit.runs.data import read_population
    from tacit.text import copies, overview, statistics
    from tacit.text.corpus import Corpus

    tables: dict[str, Any] = {"text": {"corpus": corpus}}
    for assignment in set_ or []:
        set_key(tables, assignment)
    config = from_tables(tables)
    with reading() as watch:
        source = read_population(config, data, watch)
    parts = overview.parts_of(corpus, source)
    with busy("measuring"):
        found = overview.describe(corpus, parts)
    if as_json:
        values = {
            name: dataclasses.asdict(part.statistics)
            | {"copies": None if part.copies is None else [c._asdict() for c in part.copies]}
            | {"left_out": part.left_out}
            for name, part in found.items()
        }
        print_json(values if len(values) > 1 else next(iter(values.values())))
        return
    for name, part in found.items():
        print_table([[name, ""], *map(list, statistics.rows(part.statistics))])
        if part.copies is None and isinstance(parts[name], Corpus):
            typer.echo(
                f"copies of people are looked for in at most {copies.MOST:,} messages, and were not here"
            )
        for note in part.notes():
            typer.echo(note)


@data.command("get")
def data_get(
    name: Annotated[str, typer.Argument(help="A name of `tacit data list`.")],
    data: DataOption = None,
) -> None:
    """Download a known corpus and check it.

    Example:

      tacit data get ptb --data corpora
    """
    from tacit.base.progress import busy
    from tacit.text.catalogue import data_directory, get

    with busy(f"fetching {name}"):
        path = get(name, data_directory(data))
    typer.echo(str(path))
