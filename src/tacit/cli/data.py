"""The commands `tacit data list`, `describe`, `get` and `import`: public corpora, statistics of any text, chats."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli.options import DataOption, JsonOption, LocaleOption, path_option, print_json, print_table, say

data = typer.Typer(help="List and get public corpora, describe any text, import chats.", no_args_is_help=True)


@data.command("list")
def data_list(as_json: JsonOption = False) -> None:
    """List public corpora with their licences and sources.

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
        ["typists", "the built-in typists: generated, not collected", "Apache-2.0, with Tacit", "built in"]
    )
    rows += [[e.name, e.what, e.licence, e.source] for e in entries()]
    print_table(rows)


@data.command("describe")
def data_describe(
    corpus: Annotated[str, typer.Argument(help="'typists', a known corpus, or a path.")] = "typists",
    locale: LocaleOption = None,
    data: DataOption = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="typists.key=value", help="Set a key of the typists; can be repeated."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Describe a corpus in numbers: people, words, and how far it is from IID.

    Examples:

      tacit data describe typists --set typists.label_skew=0

      tacit data describe ~/texts.jsonl.gz --json

      tacit data describe mesajlar.jsonl --locale tr
    """
    import dataclasses

    from tacit.base.terminal import progress_bar, spinner
    from tacit.runs.config import from_tables, set_key
    from tacit.runs.data import read_population
    from tacit.text import copies, overview, statistics

    tables: dict[str, Any] = {"text": {"corpus": corpus} | ({"locale": locale} if locale else {})}
    for assignment in set_ or []:
        set_key(tables, assignment)
    config = from_tables(tables)
    with progress_bar() as progress:
        source = read_population(config, data, progress)
    with spinner("measuring"):
        parts = overview.describe(corpus, overview.parts_of(corpus, source), config.text.locale)
    if as_json:
        values = {
            name: dataclasses.asdict(part.statistics)
            | {"copies": None if part.copies is None else [copy._asdict() for copy in part.copies]}
            | {"left_out": part.left_out}
            for name, part in parts.items()
        }
        print_json(values if len(values) > 1 else next(iter(values.values())))
        return
    for name, part in parts.items():
        print_table([[name, ""], *map(list, statistics.rows(part.statistics))])
        if part.too_large:
            say(f"more than {copies.MOST:,} messages: no search for duplicated people")
        for note in part.notes():
            say(note)


@data.command("get")
def data_get(
    name: Annotated[str, typer.Argument(help="A name of `tacit data list`.")],
    data: DataOption = None,
) -> None:
    """Download a public corpus and check it.

    Example:

      tacit data get ptb --data corpora
    """
    from tacit.base.terminal import spinner
    from tacit.text.catalogue import data_directory, get

    with spinner(f"fetching {name}"):
        path = get(name, data_directory(data))
    say(str(path))


@data.command("import")
def data_import(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="An export of WhatsApp (text), Telegram (JSON) or SMS Backup & Restore (XML).",
        ),
    ],
    out: Annotated[Path, path_option("--out", "The file of JSON lines to write.")],
    me: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Keep only this person's messages (in an SMS backup you are 'me')."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Turn a chat export into JSON lines, without system lines and placeholders.

    Examples:

      tacit data import chat.txt --me Ana --out messages.jsonl

      tacit data import result.json --out messages.jsonl
    """
    from tacit.text.chats.imports import import_chat, sentence

    imported = import_chat(file, out, me)
    if as_json:
        print_json(imported._asdict())
        return
    say(sentence(imported))
    if imported.dates:
        say(f"dates were read as {imported.dates}")
    if imported.left_out:
        say("left out: " + ", ".join(f"{count:,} {what}" for what, count in imported.left_out.items()))
    say(str(out))
