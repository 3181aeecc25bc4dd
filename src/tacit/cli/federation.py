"""The commands `tacit federation …`: rounds between real devices, over Flower."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.base.cores import check_devices
from tacit.base.errors import TacitError
from tacit.cli import federation_client, federation_work
from tacit.cli.options import (
    JsonOption,
    SetOption,
    assignments,
    path_option,
    print_json,
    print_table,
    say,
    start_jax,
)

federation = typer.Typer(help="Train, count and score on real devices, over Flower.", no_args_is_help=True)
Place = Annotated[Path, typer.Argument(metavar="DIR", help="The directory of the federation.")]


@federation.command("init")
def init(
    place: Place,
    host: Annotated[
        str, typer.Option(help="Name or address by which clients reach the server.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="Port by which clients reach the server.", metavar="N", min=1, max=65535)
    ] = 9092,
) -> None:
    """Make a new federation: a directory with certificates, keys and settings.

    Example:

      tacit federation init home --host keyboards.example.org
    """
    from tacit.network import federation as directory
    from tacit.network import flower

    flower.require()
    made = directory.init(place, host, port)
    say(f"{place}: clients will connect to {made.address}")
    say(f"next: tacit federation invite {place} NAME --out FILE, then tacit federation server {place}")


@federation.command("invite")
def invite(
    place: Place,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name for the client.")],
    out: Annotated[
        Path | None, path_option("--out", "File of the invitation; it holds a private key.", "FILE")
    ] = None,
    browser: Annotated[
        str,
        typer.Option(
            help="Invite a browser: print a link to the pages at this address, which works once.",
            metavar="URL",
        ),
    ] = "",
    qr: Annotated[
        bool, typer.Option("--qr", help="With --browser: also draw the link as a QR code.")
    ] = False,
) -> None:
    """Invite a client by a file, or a browser by a link.

    The file has all that the client needs, with a private key. Give it away like a password.

    Examples:

      tacit federation invite home ana --out ana.invitation

      tacit federation invite home zoe --browser http://127.0.0.1:8095

      tacit federation invite home max --browser https://keyboard.example.org --qr
    """
    from tacit.network import federation as directory
    from tacit.network import flower

    flower.require()
    if bool(browser) == (out is not None):
        raise TacitError("give either --out FILE for a client, or --browser URL for a browser")
    if qr and not browser:
        raise TacitError("--qr draws the link of a browser; give its --browser URL")
    if browser:
        from tacit.network.links import link, picture

        address = link(browser, "")  # refuses a wrong address before anybody is invited
        if qr:
            picture(address)  # refuses a missing library before anybody is invited
        address += directory.invite_browser(place, name)
        say(address)
        if qr:
            typer.secho(picture(address), fg="bright_white", bg="black")
        return
    assert out is not None
    directory.invite(place, name, out)
    say(f"{out}: send it to {name} like a password")


@federation.command("remove")
def remove(
    place: Place, name: Annotated[str, typer.Argument(metavar="NAME", help="The client's name.")]
) -> None:
    """Lock a client out for good, for example after its device was lost.

    Example:

      tacit federation remove home ana
    """
    from tacit.network import federation as directory

    directory.remove(place, name)
    say(f"{name} cannot take part in {place} any more; a running server locks the key out within seconds")


@federation.command("server")
def server(
    place: Place,
    listen: Annotated[str, typer.Option(help="Address to listen on (default: as --host of init asks).")] = "",
    publish: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Offer its files to anybody who reaches the server."),
    ] = None,
    browsers: Annotated[
        int,
        typer.Option(
            metavar="PORT",
            help="Also serve the pages for browsers, on this port of 127.0.0.1.",
            min=0,
            max=65535,
        ),
    ] = 0,
    keyboard: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --browsers: a model for the keyboard page."),
    ] = None,
) -> None:
    """Serve a federation in the foreground, until Ctrl-C.

    Examples:

      tacit federation server home

      tacit federation server home --publish models

      tacit federation server home --browsers 8095
    """
    from tacit.network import flower

    flower.require()
    if keyboard and not browsers:
        raise TacitError("--keyboard is for the pages of browsers; give their port with --browsers")
    from tacit.network.server import Pages, serve

    def ready(address: str) -> None:
        say(f"serving {place} on {address}; Ctrl-C ends it")
        if browsers:
            say(f"for browsers on this machine: http://127.0.0.1:{browsers}/part/")

    serve(place, listen, ready, publish, Pages(browsers, keyboard))


@federation.command("run")
def run(
    place: Place,
    preset: Annotated[
        str,
        typer.Argument(
            metavar="PRESET|FILE.toml", help="A preset (see `tacit presets`), or a configuration file."
        ),
    ],
    rounds: Annotated[int | None, typer.Option(help="Number of rounds.", metavar="N", min=1)] = None,
    set_: SetOption = None,
    out: Annotated[Path | None, path_option("--out", "Run directory (default: runs/PRESET).")] = None,
    deadline: Annotated[float, typer.Option(help="Seconds that a round waits for its clients.", min=1)] = 600,
    over: Annotated[
        float, typer.Option(help="How many clients to ask for each one needed.", min=1, max=10)
    ] = 1.3,
    least: Annotated[
        int, typer.Option(help="Fewest answers with which a round changes the model.", metavar="N", min=1)
    ] = 1,
    resume: Annotated[bool, typer.Option("--resume", help="Resume an interrupted run.")] = False,
) -> None:
    """Train with the clients of a federation, and write a run directory.

    The server must be running. Without text.words, the clients first count which words of newly generated typists
    they use.

    Examples:

      tacit federation run home fedavg --rounds 20 --out runs/real

      tacit federation run home fedavg --rounds 20 --set text.words=words.txt --out runs/real

      tacit federation run home fedavg --rounds 20 --set text.words=words.txt --out runs/real --resume
    """
    from tacit.network import flower

    flower.require()
    from tacit.network.office import Terms
    from tacit.network.orders import run as make_run
    from tacit.network.training import networked
    from tacit.runs.callbacks import describe
    from tacit.runs.config import from_anywhere, resolve

    start_jax()
    config = networked(from_anywhere(resolve(preset, assignments({"training.rounds": rounds}, set_))))
    out = out or Path("runs") / Path(preset).stem

    def told(record: dict[str, Any]) -> None:
        parts = [f"round {record['round']}/{config.training.rounds}"]
        if "clients" in record:  # a private run does not say how many
            parts.append(f"{record['clients']:.0f} clients")
        if "abandoned" in record:
            parts.append("abandoned: the server's log says why")
        say("  ".join([*parts, describe(record)]).rstrip())

    make_run(place, config, out, Terms(deadline, over, least), resume, told)
    say(str(out))


@federation.command("demo")
def demo(
    out: Annotated[Path, path_option("--out", "Directory of the federation and the run.")] = Path(
        "runs/federation-demo"
    ),
    rounds: Annotated[int, typer.Option(help="Number of rounds.", metavar="N", min=1)] = 10,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open a browser.")] = False,
) -> None:
    """Train in your browser with four built-in typists, all on this machine.

    Example:

      tacit federation demo
    """
    import webbrowser

    from tacit.network import flower

    flower.require()
    start_jax()
    check_devices()
    from tacit.network.demo import demo as show
    from tacit.runs.callbacks import describe

    def invited(address: str) -> None:
        say(
            f"{address}\nopen it, keep a few sentences, join and take part; no round is made before (Ctrl-C ends it)"
        )
        if not no_open:
            webbrowser.open(address)

    run = show(out, rounds, invited, lambda r: say(f"round {r['round']}/{rounds}  {describe(r)}".rstrip()))
    say(f"{run}: you have trained it together with four typists")


@federation.command("status")
def status(place: Place, as_json: JsonOption = False) -> None:
    """Show a federation: its server, its clients and its runs.

    Example:

      tacit federation status home --json
    """
    from tacit.network.status import status as read_status

    said = read_status(place)
    if as_json:
        print_json(said)
        return
    say(f"{place}: {'served on' if said['served'] else 'not served; clients connect to'} {said['address']}")
    say(f"{len(said['clients'])} clients invited: {', '.join(said['clients']) or 'nobody'}")
    if said["runs"]:
        names = ("run", "work", "state", "rounds", "directory")
        rows = (["" if r[name] is None else str(r[name]) for name in names] for r in said["runs"])
        print_table([list(names), *rows])


@federation.command("watch")
def watch(
    place: Place,
    port: Annotated[int, typer.Option(help="Port of the page; 0 takes any free one.")] = 8093,
    terminal: Annotated[
        bool, typer.Option("--terminal", help="Show it in the terminal, not in a browser.")
    ] = False,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open a browser.")] = False,
) -> None:
    """Watch the present round of a federation, in a browser or in the terminal, until Ctrl-C.

    Examples:

      tacit federation watch home

      tacit federation watch home --terminal
    """
    if terminal:
        from rich.console import Console

        from tacit.network.watch.terminal import show

        show(place, Console(highlight=False, emoji=False))
        return
    import webbrowser

    from tacit.network.watch.page import serve as serve_page

    def ready(address: str) -> None:
        say(f"{address} (for this machine only; Ctrl-C ends it)")
        if not no_open:
            webbrowser.open(address)

    serve_page(place, port, ready)


@federation.command("stop")
def stop(place: Place) -> None:
    """Stop the server of a federation, from another terminal.

    Example:

      tacit federation stop home
    """
    from tacit.network.status import stop as stop_server

    if not stop_server(place):
        raise TacitError(f"the server of {place} is not running; there is nothing to stop")
    say(f"the server of {place} has stopped")


federation_client.register(federation)
federation_work.register(federation)
