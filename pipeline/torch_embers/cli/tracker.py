"""Commands that mine the tracker, and that tell what the database holds of it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from torch_embers.cli.fix_tests import link_fix_tests
from torch_embers.cli.options import DatabaseOption, ItemArgument, JsonOption, RepoOption, settings_at, store_at
from torch_embers.errors import InputError, NotReachableError
from torch_embers.json_output import print_json

if TYPE_CHECKING:
    from torch_embers.store.status import Status


def mine(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ITEM|PATH]...",
            help="Items (7, #7, an address) to fetch; or files (jsonl, archive; globs and URLs too) or a clone (git).",
        ),
    ] = None,
    repo: RepoOption = None,
    since: Annotated[str | None, typer.Option(help="Only items changed at or after this date (UTC).")] = None,
    until: Annotated[str | None, typer.Option(help="Only items changed until this date (UTC).")] = None,
    state: Annotated[str, typer.Option(help="all, open or closed.")] = "all",
    label: Annotated[list[str] | None, typer.Option(help="Only items with this label; repeat for more.")] = None,
    numbers: Annotated[Path | None, typer.Option(help="File with item numbers: mine these, completely.")] = None,
    refresh: Annotated[
        str | None,
        typer.Option(metavar="NUMBERS|all", help="Read again: these numbers (5,7 or a file), or all in these bounds."),
    ] = None,
    check_numbers: Annotated[
        bool, typer.Option("--check-numbers", help="Ask of every number whether it is still there, not only of some.")
    ] = False,
    source: Annotated[str, typer.Option(help="auto, graphql, rest, archive, jsonl, git or catalog.")] = "auto",
    budget: Annotated[int | None, typer.Option(min=1, help="At most this many requests.")] = None,
    api_url: Annotated[str | None, typer.Option(help="Address of the GitHub API.")] = None,
    max_wait: Annotated[
        float | None, typer.Option(help="Longest wait in seconds.", show_default="for the next hour")
    ] = None,
    replay: Annotated[bool, typer.Option("--replay", help="Derive all tables anew from what is stored.")] = False,
    take_over: Annotated[
        Path | None,
        typer.Option("--take-over", help="First bring runs, verdicts, labels of a file of an older embers."),
    ] = None,
    fix_tests: Annotated[
        bool, typer.Option("--fix-tests", help="With --source git: then make scripts of the tests of merged fixes.")
    ] = False,
    database: DatabaseOption = None,
) -> None:
    """Mine issues, pull requests and their links into the database.

    Without options: GitHub by GraphQL where a token is set (GITHUB_TOKEN), by REST within the anonymous limit
    where none is, and the embedded catalog where GitHub cannot be reached.
    """
    from torch_embers import console, settings
    from torch_embers.mine import plan
    from torch_embers.mine import show as mine_show
    from torch_embers.mine.options import Request
    from torch_embers.normalize import item_of
    from torch_embers.store.store import Store
    from torch_embers.verdicts import shipped_mark

    if fix_tests and (source != "git" or len(paths or ()) != 1):
        raise InputError("--fix-tests reads a clone: give it as `embers mine --source git CLONE --fix-tests`")
    wanted = settings.load(database=database, repo=repo, api_url=api_url, max_wait=max_wait)
    items = [item_of(path, wanted.repo) for path in paths or ()]
    if named := [item for item in items if item is not None]:
        if len(named) < len(items) or refresh is not None or len({home for home, _ in named}) > 1:
            raise InputError("items are fetched by themselves: of one repository, without files and without --refresh")
        repo = named[0][0]
        wanted = settings.load(database=database, repo=repo, api_url=api_url, max_wait=max_wait)
        paths, refresh = None, ",".join(str(number) for _, number in named)
    request = Request(
        source=source,
        paths=tuple(paths or ()),
        since=None if fix_tests else since,  # of a clone, it bounds the fixes
        until=until,
        state=state,
        labels=tuple(label or ()),
        numbers=numbers,
        refresh=refresh,
        check_numbers=check_numbers,
        budget=budget,
        replay=replay,
    )
    if take_over is not None:
        from torch_embers.mine import options
        from torch_embers.store.take_over import take_over as bring

        options.checked(request)
        taken = bring(Store(wanted.database), take_over)
        rows = ", ".join(f"{count:,} {name}" for name, count in taken.items())
        console.stdout().print(f"taken over from {console.plain(take_over)}: {rows or 'nothing new'}")
    found_in = wanted.repo
    for report in plan.run(wanted, request, mine_show.MineProgress):
        found_in = report.repo
        mine_show.print_report(report)
        if not shipped_mark.is_current(Store(wanted.database)):
            from torch_embers.verdicts import shipped

            if written := shipped.refresh(Store(wanted.database)):
                console.stdout().print(f"{written:,} shipped verdicts, see `embers list --matrix`")
    if missing := plan.not_stored(Store(wanted.database), found_in, [number for _, number in named]):
        raise NotReachableError(f"{found_in}#{missing[0]} was not fetched: the lines above say why")
    if fix_tests and paths:
        link_fix_tests(wanted, Path(paths[0]), since=since)
    console.print_next("`embers classify` labels the items, `embers list` shows them")


def status(
    json: JsonOption = False,
    database: DatabaseOption = None,
) -> None:
    """Show what the database holds and how fresh it is."""
    from torch_embers.store.status import status as read_status

    read = read_status(store_at(database))
    if json:
        print_json(read)
    else:
        _print_status(read)


HEADINGS = {
    "items": "Items",
    "labels": "Labels (items with a class)",
    "cases": "Cases",
    "verdicts": "Verdicts (cases by newest verdict on each release)",
    "statuses": "Statuses (items)",
    "sources": "Sources",
    "listings": "Items of the tracker",
}
"""Headings of the tables that `embers status` prints, in order."""


def _print_status(found: "Status") -> None:
    from torch_embers.console import age, plain, print_rows, size_text, stdout

    out = stdout()
    out.print(f"{plain(found.path)}: {size_text(found.size)}, schema version {found.version}")
    newest = f"{found.newest_change:%Y-%m-%d %H:%M}" if found.newest_change else "unknown"
    out.print(f"newest change: {newest} ({age(found.newest_change)})\n")
    print_rows("Rows", [{"table": table, "rows": rows} for table, rows in found.rows.items()])
    sources = [
        row
        | {
            "bytes": size_text(row["bytes"]),
            "last_fetched": f"{(at := row['last_fetched']):%Y-%m-%d %H:%M} ({age(at)})",
        }
        for row in found.sources
    ]
    for name, heading in HEADINGS.items():
        print_rows(f"\n{heading}", sources if name == "sources" else getattr(found, name))


def export(
    to: Annotated[Path | None, typer.Option("--to", help="Folder to write to.")] = None,
    form: Annotated[str | None, typer.Option("--format", help="parquet, csv or jsonl.", show_default="parquet")] = None,
    tables: Annotated[list[str] | None, typer.Option("--table", help="Only this table; repeat for more.")] = None,
    dataset: Annotated[
        Path | None,
        typer.Option(help="Instead: write the citable dataset, with datasheet and checksums, as this folder."),
    ] = None,
    database: DatabaseOption = None,
) -> None:
    """Write the tables as files, or a dataset that can be cited."""
    if dataset is not None:
        from torch_embers.dataset import publish

        if to is not None or form is not None or tables:
            raise InputError("--dataset writes its own set of files: leave out --to, --format and --table")
        publish.print_published(publish.publish(store_at(database), dataset))
        return
    from torch_embers.console import print_rows
    from torch_embers.store import export as exporting

    if to is None:
        raise typer.BadParameter("name the folder to write to, or --dataset with a folder", param_hint="--to")
    chosen = tuple(tables) if tables else exporting.TABLES
    done = exporting.export(store_at(database), to, form or "parquet", chosen)
    print_rows("", [{"table": one.table, "rows": one.rows, "file": str(one.path)} for one in done])


def chain(
    item: ItemArgument,
    repo: RepoOption = None,
    json: JsonOption = False,
    database: DatabaseOption = None,
) -> None:
    """Print what reverts, relands, fixes or supersedes an item."""
    from torch_embers import console
    from torch_embers.link.chain import as_mapping, render
    from torch_embers.link.graph import chain_of
    from torch_embers.normalize import item_named

    wanted = settings_at(database, repo)
    tree = chain_of(store_at(wanted.database), *item_named(item, wanted.repo))
    if json:
        print_json(as_mapping(tree))
        return
    out = console.stdout()
    console.print_lines(render(tree, out.width if out.is_terminal else None))


def link(database: DatabaseOption = None) -> None:
    """Find links and components in texts that changed, as `mine` does."""
    from torch_embers import console
    from torch_embers.link.update_links import link_changed

    done = link_changed(store_at(database))
    console.stdout().print(f"links: {done.links:,} and {done.components:,} components in the database")


def funnel(json: JsonOption = False, database: DatabaseOption = None) -> None:
    """Count the stages of the study beside the study's own counts."""
    from torch_embers import console
    from torch_embers.store.rows import mappings

    with store_at(database).read() as connection:
        stages = mappings(connection, "SELECT name AS stage, items, study, definition FROM funnel")
        [(candidates,)] = connection.execute("SELECT count(*) FROM candidates").fetchall()
    if json:
        print_json({"stages": stages, "candidates": candidates})
        return
    console.print_table(["stage", "here", "study", "what is counted"], [row.values() for row in stages])
    console.stdout().print(f"\ncandidates (open or closed, data path, wrong behaviour): {candidates:,}")
