"""From a raw page to records: the same code for a live run and for a replay, so that both give equal tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from torch_embers.errors import InputError
from torch_embers.mine import graphql_records, rest_records
from torch_embers.mine.graphql_records import reject
from torch_embers.mine.rest_records import BadRecordError
from torch_embers.store.records import Batch, Item, Page

if TYPE_CHECKING:
    from collections.abc import Callable


def rest_items(page: Page) -> Batch:
    """Read a page of ``/repos/{repo}/issues`` (issues and pull requests together) or ``/pulls``."""
    batch = Batch()
    for place, obj in enumerate(_array(page), start=1):
        try:
            batch.items.append(rest_records.item(obj, page, repo=page.repo))
        except BadRecordError as error:
            batch.rejects.append(reject(page, place, str(error), json.dumps(obj)))
    return batch


def rest_item(page: Page) -> Batch:
    """Read one object of ``/repos/{repo}/issues/{number}``."""
    obj = json.loads(page.body)
    try:
        return Batch(items=[rest_records.item(obj, page, repo=page.repo)])
    except BadRecordError as error:
        return Batch(rejects=[reject(page, None, str(error), json.dumps(obj))])


def rest_comments(page: Page) -> Batch:
    """Read a page of ``/repos/{repo}/issues/comments``."""
    batch = Batch()
    for place, obj in enumerate(_array(page), start=1):
        try:
            if not isinstance(obj, dict):
                raise BadRecordError("not an object")
            batch.comments.append(rest_records.comment(obj, rest_records.comment_number(obj), page))
        except BadRecordError as error:
            batch.rejects.append(reject(page, place, str(error), json.dumps(obj)))
    return batch


def rest_events(page: Page) -> Batch:
    """Read a page of ``/repos/{repo}/issues/events``; each event names its item."""
    batch = Batch()
    for place, obj in enumerate(_array(page), start=1):
        issue = obj.get("issue") if isinstance(obj, dict) else None
        try:
            if not isinstance(issue, dict):
                raise BadRecordError("an event without its item")
            found = rest_records.event(obj, rest_records.number_of(issue), page)
        except BadRecordError as error:
            batch.rejects.append(reject(page, place, str(error), json.dumps(obj)))
            continue
        if found:
            batch.events.append(found)
    return batch


def rest_timeline(page: Page) -> Batch:
    """Read a page of ``/repos/{repo}/issues/{number}/timeline``: comments and events of one item."""
    batch = Batch()
    number = int(page.request.split("/issues/", 1)[1].split("/", 1)[0])
    for place, obj in enumerate(_array(page), start=1):
        try:
            if not isinstance(obj, dict):
                raise BadRecordError("not an object")
            if obj.get("event") == "commented":
                batch.comments.append(rest_records.comment(obj, number, page))
            elif found := rest_records.event(obj, number, page):
                batch.events.append(found)
        except BadRecordError as error:
            batch.rejects.append(reject(page, place, str(error), json.dumps(obj)))
    return batch


def tombstone(page: Page) -> Batch:
    """Read the client's note about an item that is gone: {"number", "known", "transferred_to"}.

    An item that the database never had has not gone; its number was wrong.
    """
    note = json.loads(page.body)
    if not note.get("known"):
        return Batch(rejects=[reject(page, None, f"no item #{note['number']} in {page.repo}", "")])
    return Batch(
        items=[
            Item(
                repo=page.repo,
                number=int(note["number"]),
                deleted_at=page.fetched_at,
                transferred_to=_moved_to(note.get("transferred_to")),
                source=page.source,
                fetched_at=page.fetched_at,
                page_id=page.page_id,
            )
        ]
    )


def _moved_to(address: object) -> str | None:
    """``owner/name#number`` of an item's address, or the address itself."""
    if not isinstance(address, str):
        return None
    parts = address.rstrip("/").split("/")
    if "/repos/" in address and len(parts) >= 4 and parts[-2] == "issues":
        return f"{parts[-4]}/{parts[-3]}#{parts[-1]}"
    return address


def graphql(page: Page) -> Batch:
    """Read any GraphQL answer."""
    return graphql_records.read(json.loads(page.body), page)


def _array(page: Page) -> list[Any]:
    data = json.loads(page.body)
    return data if isinstance(data, list) else [data]


def registry() -> dict[str, Callable[[Page], Batch]]:
    """Reader of each kind of page."""
    from torch_embers.mine import archive, catalog, dispositions, gitlog, jsonl

    return {
        "rest.items": rest_items,
        "rest.item": rest_item,
        "rest.comments": rest_comments,
        "rest.events": rest_events,
        "rest.timeline": rest_timeline,
        "github.tombstone": tombstone,
        "graphql": graphql,
        "archive.events": archive.read_archive,
        "catalog.entries": catalog.read_catalog,
        dispositions.KIND: dispositions.read_dispositions,
        "git.log": gitlog.read_git_log,
        "git.sizes": gitlog.read_code_size,
        "jsonl.records": jsonl.read_jsonl,
    }


def read(page: Page, readers: dict[str, Callable[[Page], Batch]] | None = None) -> Batch:
    """Turn a page into its records.

    Raises:
        InputError: a page of a kind that this release does not know.
    """
    reader = (readers or registry()).get(page.kind)
    if reader is None:
        raise InputError(f"page {page.page_id} is of the unknown kind {page.kind!r}: upgrade torch-embers")
    return reader(page)
