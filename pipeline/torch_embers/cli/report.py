"""The static site: `embers report` writes it, and shows it over HTTP."""

from pathlib import Path
from typing import Annotated

import typer

from torch_embers.cli.options import DatabaseOption, JsonOption, store_at
from torch_embers.json_output import print_json

SITE = Path("site")
PortOption = Annotated[int, typer.Option(min=0, max=65535, help="Port of the server; 0 takes a free one.")]


def report(
    out: Annotated[Path, typer.Option(help="Folder to write to; an earlier report there is replaced.")] = SITE,
    bodies: Annotated[
        bool, typer.Option("--bodies", help="Show texts of issues and the scripts from them as a whole.")
    ] = False,
    url: Annotated[str, typer.Option(help="Where the site will be on the web; the feed links there.")] = "",
    sqlite: Annotated[
        Path | None, typer.Option(help="Also write the tables to this SQLite file, with metadata for Datasette.")
    ] = None,
    study: Annotated[Path, typer.Option(help="Folder that `embers study` wrote to.")] = Path("analysis/results"),
    docs: Annotated[
        Path | None,
        typer.Option(help="Folder of the documentation as pages (`make site`): it becomes a part of the site."),
    ] = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Then show it over HTTP on this machine until Ctrl-C.")
    ] = False,
    port: PortOption = 8765,
    json: JsonOption = False,
    database: DatabaseOption = None,
) -> None:
    """Write a static site of what the database holds."""
    from torch_embers import console
    from torch_embers.report import write_report

    request = write_report.Request(out, bodies=bodies, address=url, sqlite=sqlite, study=study, docs=docs)
    done = write_report.report(store_at(database), request)
    if json:
        print_json(done)
    else:
        console.print_lines(write_report.lines(done), whole=True)
    if serve:
        _serve(out, port)


def serve_existing(
    folder: Annotated[Path, typer.Argument(help="Folder of a report.")] = SITE,
    port: PortOption = 8765,
) -> None:
    """Show a report that exists over HTTP, and write nothing."""
    _serve(folder, port)


def _serve(folder: Path, port: int) -> None:
    """Answer on this machine until Ctrl-C."""
    from torch_embers.report.serve import server

    with server(folder, port) as running:
        typer.echo(f"http://127.0.0.1:{running.server_port}/ (Ctrl-C ends it)")
        running.serve_forever()
