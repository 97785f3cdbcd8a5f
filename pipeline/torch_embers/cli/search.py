"""The command search."""

from dataclasses import replace
from typing import Annotated

import typer

from torch_embers.cli.listing import ClassOption, UrlsOption
from torch_embers.cli.options import DatabaseOption, JsonOption, settings_at, store_at


def search(
    text: Annotated[str, typer.Argument(help="Words that describe what is looked for.")],
    like: Annotated[
        bool, typer.Option("--like", help="The text is an item (7, #7, an address): list what is near to it.")
    ] = False,
    k: Annotated[int, typer.Option("-k", help="How many.")] = 10,
    state: Annotated[str | None, typer.Option(help="Only items in this state: open or closed.")] = None,
    label: Annotated[
        list[str] | None, typer.Option(help="Only items with this label; repeat to ask for several.")
    ] = None,
    classes: ClassOption = None,
    operator: Annotated[
        str | None, typer.Option(help="Only items that name it in title, summary or cases, e.g. addmm or torch.addmm.")
    ] = None,
    repo: Annotated[
        str | None, typer.Option(help="Only this repository, as owner/name.", show_default="all; with --like its own")
    ] = None,
    urls: UrlsOption = False,
    json: JsonOption = False,
    database: DatabaseOption = None,
) -> None:
    """List the items that are nearest to some words, or to an item."""
    from torch_embers import console
    from torch_embers.normalize import item_named, item_of
    from torch_embers.search import command, show
    from torch_embers.store.listing import ItemFilter

    wanted = ItemFilter(
        repo=repo, state=state, labels=tuple(label or ()), classes=tuple(classes or ()), operator=operator
    )
    store = store_at(database)
    if not like and (item := item_of(text, settings_at(database, repo).repo)):
        console.stderr().print(f"note: `embers show {item[1]}` prints this item; --like lists what is near to it")
    if like:
        where, number = item_named(text, settings_at(database, repo).repo)
        found = command.similar(store, where, number, k, replace(wanted, repo=where))
    else:
        found = command.search(store, text, k, wanted)
    show.print_found(store, found, as_json=json, urls=urls)
