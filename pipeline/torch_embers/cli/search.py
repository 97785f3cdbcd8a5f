"""Commands that find items by meaning and words."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from torch_embers.cli.listing import ClassOption
from torch_embers.cli.options import DatabaseOption, ItemArgument, JsonOption, RepoOption, store_at

if TYPE_CHECKING:
    from torch_embers.store.listing import ItemFilter

StateOption = Annotated[str | None, typer.Option(help="Only items in this state: open or closed.")]
LabelOption = Annotated[list[str] | None, typer.Option(help="Only items with this label; repeat to ask for several.")]
OperatorOption = Annotated[
    str | None, typer.Option(help="Only items that name it in title, summary or cases, e.g. addmm or torch.addmm.")
]
CountOption = Annotated[int, typer.Option("-k", help="How many.")]


def similar(
    item: ItemArgument,
    k: CountOption = 10,
    state: StateOption = None,
    label: LabelOption = None,
    classes: ClassOption = None,
    operator: OperatorOption = None,
    repo: RepoOption = None,
    json: JsonOption = False,
    database: DatabaseOption = None,
) -> None:
    """List the items that are nearest to this item."""
    from torch_embers import settings
    from torch_embers.normalize import item_named
    from torch_embers.search import command, show

    where = settings.load(database=database, repo=repo)
    store = store_at(where.database)
    home, number = item_named(item, where.repo)
    wanted = _filter(home, state, label, classes, operator)
    show.print_found(store, command.similar(store, home, number, k, wanted), as_json=json)


def search(
    text: Annotated[str, typer.Argument(help="Words that describe what is looked for.")],
    k: CountOption = 10,
    state: StateOption = None,
    label: LabelOption = None,
    classes: ClassOption = None,
    operator: OperatorOption = None,
    repo: Annotated[str | None, typer.Option(help="Only this repository, as owner/name.", show_default="all")] = None,
    json: JsonOption = False,
    database: DatabaseOption = None,
) -> None:
    """List the items that are nearest to some words.

    Nearest in meaning and words; each has its state and newest verdict.
    """
    from torch_embers.search import command, show

    store = store_at(database)
    wanted = _filter(repo, state, label, classes, operator)
    show.print_found(store, command.search(store, text, k, wanted), as_json=json)


def _filter(repo: str | None, state: str | None, labels: Any, classes: Any, operator: str | None) -> "ItemFilter":
    from torch_embers.store.listing import ItemFilter

    return ItemFilter(
        repo=repo, state=state, labels=tuple(labels or ()), classes=tuple(classes or ()), operator=operator
    )
