"""Commands around the static site: `embers report` writes it, `embers serve` shows it."""

from pathlib import Path
from typing import Annotated

import typer

from torch_embers import packages
from torch_embers.cli.options import DatabaseOption, JsonOption, store_at
from torch_embers.json_output import print_json

SITE = Path("site")


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
    json: JsonOption = False,
    database: DatabaseOption = None,
) -> None:
    """Write a static site of what the database holds: open its index.html, no server is needed."""
    store = store_at(database)
    packages.require("report", "the report needs")
    from torch_embers.report import command, show

    request = command.Request(out, bodies=bodies, address=url, sqlite=sqlite, study=study, docs=docs)
    done = command.report(store, request)
    if json:
        print_json(done)
    else:
        show.print_reported(done)


def serve(
    folder: Annotated[Path, typer.Argument(help="Folder of a report.")] = SITE,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8765,
) -> None:
    """Show a report over HTTP on this machine until Ctrl-C; to look at it, opening its index.html is enough."""
    packages.require("report", "the report needs")
    from torch_embers.report import show
    from torch_embers.report.serve import server

    with server(folder, port) as running:
        show.print_served(running.server_port)
        running.serve_forever()
