"""Commands that list items and cases by what is known of them."""

from typing import Annotated, Any, Literal

import typer

from torch_embers.cli.options import DatabaseOption, JsonOption, store_at
from torch_embers.json_output import print_entries, print_json

ClassOption = Annotated[
    list[str] | None,
    typer.Option(
        "--class",
        help="With this class, as SCHEME=VALUE, VALUE or a name such as non-contiguity, segfault, indexing or "
        "silent correctness; repeat to ask for several.",
    ),
]
OccursOption = Annotated[str | None, typer.Option(help="A case occurs on this build, e.g. 2.9.1.")]
UrlsOption = Annotated[bool, typer.Option("--urls", help="Print the address of each item, in a narrow window too.")]
_LINE = (
    *("repo", "number", "title", "state", "disposition", "closable", "address"),
    *("verdict", "release", "verdict_speaks_of", "another_occurs"),
)
"""Columns that a line of the list is made of."""
LimitOption = Annotated[int | None, typer.Option(min=1, help="At most this many.")]


def list_items(
    state: Annotated[str | None, typer.Option(help="open or closed.")] = None,
    disposition: Annotated[str | None, typer.Option(help="Why it was closed: fixed, declined, duplicate ...")] = None,
    status: Annotated[str | None, typer.Option(help="Status after a re-check, e.g. closed_but_occurs.")] = None,
    occurs_on: OccursOption = None,
    absent_on: Annotated[
        str | None, typer.Option(help="All its testable cases are absent on this build, shown with a control.")
    ] = None,
    label: Annotated[list[str] | None, typer.Option(help="With this label; repeat to ask for several.")] = None,
    classes: ClassOption = None,
    min_confidence: Annotated[
        Literal["low", "medium", "high"],
        typer.Option(help="Least confidence of the classifier in a class that counts for --class."),
    ] = "low",
    operator: Annotated[
        str | None, typer.Option(help="Named in its title, summary or cases, e.g. addmm or torch.addmm.")
    ] = None,
    backend: Annotated[str | None, typer.Option(help="cpu, cuda, mps ...")] = None,
    has_case: Annotated[bool | None, typer.Option("--has-case/--no-case", help="With or without a case.")] = None,
    origin: Annotated[str | None, typer.Option(help="With a case of this origin: curated, fix_test ...")] = None,
    flips: Annotated[bool, typer.Option("--flips", help="Its script behaves otherwise from some release on.")] = False,
    as_reported_on: Annotated[
        str | None, typer.Option(help="Its script shows what was reported on this release.")
    ] = None,
    crash_gone: Annotated[
        bool, typer.Option("--crash-gone", help="Its script crashed on some release, and not on the newest.")
    ] = False,
    closable: Annotated[
        str | None, typer.Option(help="Whether it may be closed, by what is known of it: yes, no or unknown.")
    ] = None,
    sort: Annotated[
        str | None,
        typer.Option(
            help="number, updated, created, closed, comments, reactions or flip.",
            show_default="number; with --flips the newest flip first",
        ),
    ] = None,
    desc: Annotated[bool, typer.Option("--desc", help="Largest or newest first.")] = False,
    limit: LimitOption = None,
    repo: Annotated[str | None, typer.Option(help="Only this repository, as owner/name.", show_default="all")] = None,
    urls: UrlsOption = False,
    json: JsonOption = False,
    database: DatabaseOption = None,
) -> None:
    """List the items that pass all given filters."""
    from torch_embers.store import listing
    from torch_embers.views import answers

    wanted = listing.ItemFilter(
        repo=repo,
        state=state,
        disposition=disposition,
        status=status,
        occurs_on=occurs_on,
        absent_on=absent_on,
        labels=tuple(label or ()),
        classes=tuple(classes or ()),
        min_confidence=min_confidence,
        operator=operator,
        backend=backend,
        has_case=has_case,
        origin=origin,
        flips=flips,
        as_reported_on=as_reported_on,
        crash_gone=crash_gone,
        closable=closable,
        sort=sort or ("flip" if flips else "number"),
        descending=desc or (flips and sort is None),
        limit=limit,
    )
    store = store_at(database)
    known = answers.rows(store)
    if json:
        print_entries(listing.list_items_as_json(store, wanted, known))
        return
    has_scripts = flips or as_reported_on or crash_gone
    found = listing.list_items(store, wanted, known, () if has_scripts else _LINE)
    if has_scripts:
        _print_behaviours(found, crash_gone=crash_gone, urls=urls)
    else:
        _print_items(found, urls=urls)


def _print_items(found: list[dict[str, Any]], *, urls: bool) -> None:
    from torch_embers import console
    from torch_embers.store.item_lists import item_verdict_text, print_items

    reasons = [(row["state"], row["disposition"]) for row in found]
    columns = {
        "closable": [row["closable"] or "" for row in found],
        "verdict": [item_verdict_text(row) for row in found],
        "state": [" ".join(word for word in words if word and word != "unknown") for words in reasons],
        "title": [row["title"] or "" for row in found],
    }
    print_items(found, columns, urls=urls)
    console.stdout().print(f"{len(found):,} item{'s' * (len(found) != 1)}")


def _print_behaviours(found: list[dict[str, Any]], *, crash_gone: bool, urls: bool) -> None:
    """Print what the script of each item did and does now, and since when; where a crash ended, or the newest flip."""
    from torch_embers import console
    from torch_embers.store.item_lists import print_items
    from torch_embers.timeline.model import Segment
    from torch_embers.views.script_text import UNCONFIRMED, last_change

    out = console.stdout()
    last = [last_change([Segment(**one) for one in row["segments"]], crash_gone=crash_gone) for row in found]
    columns = {
        "title": [row["title"] or "" for row in found],
        "behaviour": [behaviour for behaviour, _ in last],
        "since": [since for _, since in last],
    }
    if found:
        print_items(found, columns, urls=urls)
    if any(since.endswith(UNCONFIRMED) for _, since in last):
        out.print(f"{UNCONFIRMED} not seen again, in too few runs to say that it is gone")
    out.print(f"{len(found):,} item{'s' * (len(found) != 1)}")


def list_cases(
    name: Annotated[str | None, typer.Argument(help="Only cases with this text in their name.")] = None,
    classes: ClassOption = None,
    requires: Annotated[
        list[str] | None, typer.Option(help="That need this, e.g. cuda or threads>=2; repeat to ask for several.")
    ] = None,
    occurs_on: OccursOption = None,
    limit: LimitOption = None,
    json: JsonOption = False,
    database: DatabaseOption = None,
) -> None:
    """List the cases with their items, needs and newest verdict."""
    from torch_embers import console
    from torch_embers.store import listing
    from torch_embers.store.item_lists import verdict_text

    wanted = listing.CaseFilter(name, tuple(classes or ()), tuple(requires or ()), occurs_on, limit)
    found = listing.list_cases(store_at(database), wanted)
    if json:
        print_json(found)
        return
    out = console.stdout()
    columns = {
        "case": [row["name"] for row in found],
        "verdict": [verdict_text(row) for row in found],
        "items": [" ".join(item.removeprefix("pytorch/pytorch") for item in row["items"]) for row in found],
    }
    if out.width >= console.WIDE:
        columns["needs"] = [" ".join(row["requires"]) for row in found]
        columns["classes"] = [" ".join(text.partition("=")[2] for text in row["classes"]) for row in found]
    console.print_table([*columns], zip(*columns.values(), strict=True), rest="items")
    out.print(f"{len(found):,} cases")
