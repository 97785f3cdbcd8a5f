"""The command advisories."""

from pathlib import Path
from typing import Annotated

import typer

from torch_embers.errors import InputError
from torch_embers.json_output import as_json, print_json


def advisories(
    osv: Annotated[Path | None, typer.Option(help="Also write an OSV document per advisory into this folder.")] = None,
    as_documents: Annotated[
        bool, typer.Option("--json", help="Print the OSV documents as a JSON list instead.")
    ] = False,
) -> None:
    """Print on which releases torch's security advisories hold.

    Beside the releases that they name stand those on which what they tell occurs.
    """
    from torch_embers import console
    from torch_embers.audit import advisories as shipped
    from torch_embers.audit.osv import document
    from torch_embers.audit.ranges import lines

    about, done = shipped.load(), shipped.executed()
    documents = [document(one, about) for one in done]
    if osv:
        try:
            osv.mkdir(parents=True, exist_ok=True)
            for made in documents:
                (osv / f"{made['id']}.json").write_text(as_json(made) + "\n", encoding="utf-8")
        except OSError as error:
            raise InputError(f"--osv {osv} cannot be written: {error.strerror}: name a folder") from error
    if as_documents:
        print_json(documents)
        return
    out = console.stdout()
    for line in lines(done, about):
        out.print(console.plain(line))
