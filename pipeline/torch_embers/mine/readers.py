"""From a raw page to records: the same code for a live run and for a replay, so that both give equal tables."""

from __future__ import annotations

import json
from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from torch_embers.errors import InputError
from torch_embers.mine.files import archive_events, catalog, jsonl
from torch_embers.mine.git import git_records, gitsizes
from torch_embers.mine.pages import reject
from torch_embers.mine.records import graphql_answers, graphql_records, rest_fields, rest_records
from torch_embers.mine.records.accounts import users
from torch_embers.mine.records.answers import parsed, printed, shaped
from torch_embers.mine.records.rest_records import BadRecordError
from torch_embers.normalize import clean_text
from torch_embers.store.readings import ITEM
from torch_embers.store.records import Batch, Item, Page, Reading, Repository

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def _each(page: Page, read_object: Callable[[dict[str, Any], Batch], None]) -> Batch:
    """Read the objects of a JSON page one by one; an object that cannot be used is set aside."""
    batch = Batch()
    data = parsed(page.body)
    for place, obj in enumerate(data if isinstance(data, list) else [data], start=1):
        try:
            if not isinstance(obj, dict):
                raise BadRecordError(f"not an object but {type(obj).__name__}")
            read_object(obj, batch)
        except BadRecordError as error:
            batch.rejects.append(reject(page, place, str(error), printed(obj)))
    batch.users += users(data, page.repo, page)
    return batch


def rest_items(page: Page) -> Batch:
    """Read ``/repos/{repo}/issues`` (issues and pull requests together), ``/pulls`` or ``/issues/{number}``."""

    def add(obj: dict[str, Any], batch: Batch) -> None:
        item = rest_records.item(obj, page, repo=page.repo)
        batch.items.append(item)
        rest_fields.add(obj, page.repo, item.number, page, batch)

    return _each(page, add)


def rest_comments(page: Page) -> Batch:
    """Read a page of ``/repos/{repo}/issues/comments``."""

    def add(obj: dict[str, Any], batch: Batch) -> None:
        _add_comment(obj, rest_records.comment_number(obj), page, batch)

    return _each(page, add)


def _add_comment(obj: dict[str, Any], number: int, page: Page, batch: Batch) -> None:
    comment = rest_records.comment(obj, number, page)
    batch.comments.append(comment)
    batch.reactions += rest_fields.reactions(obj, page.repo, number, "comment", comment.comment_id, page)


def rest_review_comments(page: Page) -> Batch:
    """Read a page of ``/repos/{repo}/pulls/comments``."""

    def add(obj: dict[str, Any], batch: Batch) -> None:
        comment = rest_fields.review_comment(obj, page.repo, rest_fields.pull_number(obj), page)
        batch.review_comments.append(comment)
        subject = ("review_comment", comment.comment_id)
        batch.reactions += rest_fields.reactions(obj, page.repo, comment.number, *subject, page)

    return _each(page, add)


def rest_events(page: Page) -> Batch:
    """Read a page of ``/repos/{repo}/issues/events``; each event names its item.

    The events come in the order of their numbers: those of one second have no other order, and the listing has the
    newest first.
    """
    numbers: list[int] = []

    def add(obj: dict[str, Any], batch: Batch) -> None:
        if not isinstance(issue := obj.get("issue"), dict):
            raise BadRecordError("an event without its item")
        if event := rest_records.event(obj, rest_records.number_of(issue), page):
            place = obj.get("id")
            place = place if isinstance(place, int) else 0
            at = bisect_right(numbers, place)
            numbers.insert(at, place)
            batch.events.insert(at, event)

    return _each(page, add)


def rest_timeline(page: Page) -> Batch:
    """Read a page of ``/repos/{repo}/issues/{number}/timeline``: comments, events, reviews and commits of one item."""
    path, _, note = page.request.partition(" ")
    number = int(path.split("/issues/", 1)[1].split("/", 1)[0])

    def add(obj: dict[str, Any], batch: Batch) -> None:
        if obj.get("event") == "commented":
            _add_comment(obj, number, page, batch)
        elif obj.get("event") == "reviewed":
            batch.reviews.append(rest_fields.review(obj, page.repo, number, page))
        elif obj.get("event") == "committed":
            batch.pull_commits.append(rest_fields.commit(obj, page.repo, number, page))
        elif event := rest_records.event(obj, number, page):
            batch.events.append(event)

    batch = _each(page, add)
    if note:
        batch.readings += rest_fields.timeline_readings(parsed(page.body), json.loads(note), number, page)
    return batch


def tombstone(page: Page) -> Batch:
    """Read the client's note about an item that is gone: {"number", "known", "transferred_to"}.

    An item that the database never had has not gone; its number was wrong.
    """
    note = _note(page)
    number = rest_records.number_of(note)
    answered = [Reading(page.repo, number, ITEM, page.page_id, **page.stamp)]  # nothing is left to wait for
    if not note.get("known"):
        return Batch(rejects=[reject(page, None, f"no item #{number} in {page.repo}", "")], readings=answered)
    moved_to = _moved_to(note.get("transferred_to"))
    item = Item(page.repo, number, deleted_at=page.fetched_at, transferred_to=moved_to, **page.stamp)
    return Batch(items=[item], readings=answered)


def repository(page: Page) -> Batch:
    """Read the client's note about a repository: {"id", "full_name", "asked_as"}."""
    note = _note(page)
    found = Repository(int(note["id"]), clean_text(note["full_name"]), clean_text(note["asked_as"]), **page.stamp)
    return Batch(repositories=[found])


def _note(page: Page) -> dict[str, Any]:
    note = parsed(page.body)
    if not isinstance(note, dict):
        raise BadRecordError(f"not an object but {type(note).__name__}")
    return note


def _moved_to(address: object) -> str | None:
    """``owner/name#number`` of an item's address, or the address itself."""
    if (address := rest_records.text(address)) is None:
        return None
    parts = address.rstrip("/").split("/")
    if "/repos/" in address and len(parts) >= 4 and parts[-2] == "issues":
        return f"{parts[-4]}/{parts[-3]}#{parts[-1]}"
    return address


READERS: Mapping[str, Callable[[Page], Batch]] = {
    "rest.items": rest_items,
    "rest.item": rest_items,
    "rest.comments": rest_comments,
    "rest.pulls": rest_items,
    "rest.review_comments": rest_review_comments,
    "rest.events": rest_events,
    "rest.timeline": rest_timeline,
    "github.tombstone": tombstone,
    "github.repository": repository,
    "graphql": lambda page: graphql_records.read(shaped(parsed(page.body)), page),
    graphql_answers.KIND: lambda page: graphql_records.read(shaped(parsed(page.body)), page, checked=True),
    graphql_answers.NUMBERS_KIND: lambda page: graphql_answers.unanswered(shaped(parsed(page.body)), page),
    graphql_answers.FAILURE_KIND: lambda page: graphql_answers.failure(_note(page), page),
    archive_events.PAGE_KIND: archive_events.read_archive,
    catalog.KIND: catalog.read_catalog,
    catalog.JUDGED_KIND: catalog.read_judgements,
    catalog.DISPOSITIONS_KIND: catalog.read_dispositions,
    git_records.LOG_KIND: git_records.read_git_log,
    git_records.HISTORY_KIND: git_records.read_git_log,
    gitsizes.SIZES_KIND: gitsizes.read_code_size,
    jsonl.KIND: jsonl.read_jsonl,
}
"""Reader of each kind of page."""


def read(page: Page) -> Batch:
    """Turn a page into its records; a page that is no JSON, or no object where one belongs, becomes a reject.

    Raises:
        InputError: a page of a kind that this release does not know.
    """
    if page.kind not in READERS:
        raise InputError(f"page {page.page_id} is of the unknown kind {page.kind!r}: upgrade torch-embers")
    try:
        return READERS[page.kind](page)
    except BadRecordError as error:
        return Batch(rejects=[reject(page, None, str(error), page.body)])
