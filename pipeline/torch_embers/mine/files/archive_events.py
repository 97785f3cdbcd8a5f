"""From GH Archive's events to records: what one public event tells about an issue or a pull request.

Every payload field is optional and may be of the wrong type: hours differ by year, and pull requests have come
without title, body and state since 7 October 2025. A field that cannot be used is unknown (``None``); only an
event without an item number is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from torch_embers.mine.pages import reject
from torch_embers.mine.records import rest_fields
from torch_embers.mine.records.rest_records import BadRecordError, login, parse_line, standing, text
from torch_embers.normalize import iso_utc
from torch_embers.store.records import Batch, Comment, Event, Item, Page
from torch_embers.store.tables import FOLLOWS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

PAGE_KIND = "archive.events"
LARGEST = 2**31 - 1

_ITEM_EVENTS: Mapping[str, str] = {
    # payload action -> type of the row in `events` (GitHub's own name of the issue event)
    "closed": "closed",
    "reopened": "reopened",
    "labeled": "labeled",
    "unlabeled": "unlabeled",
    "transferred": "transferred",
    "deleted": "deleted",
    "merged": "merged",
    "edited": "renamed",  # kept only where the payload says that the title changed
}
_STATE_OF_ACTION: Mapping[str, str] = {
    # since October 2025 a pull request's payload has no state: it follows from the action
    "opened": "open",
    "reopened": "open",
    "closed": "closed",
    "merged": "closed",
}

Fields = dict[str, Any]
"""Columns of an item by name."""


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: object) -> int | None:
    return value if type(value) is int and 0 <= value <= LARGEST else None


def _number(value: object) -> int | None:
    return value if type(value) is int and 0 < value <= LARGEST else None


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


@lru_cache(maxsize=1 << 16)
def _time_of_text(text: str) -> str | None:
    return iso_utc(text)


def time_of(value: object) -> str | None:
    """Normalise a time; the events of an hour share most of theirs, hence the cache."""
    return _time_of_text(value) if isinstance(value, str) else None


def _identity(value: object) -> str | None:
    if type(value) is int:
        return str(value)
    return (text(value) or None) if isinstance(value, str) else None


def _label_names(value: object) -> tuple[str, ...] | None:
    if not isinstance(value, list):
        return None
    names = [text(label.get("name") if isinstance(label, dict) else label) for label in value]
    return tuple(dict.fromkeys(filter(None, names)))


def _empty_or_none(thing: Mapping[str, Any], key: str, value: str | None) -> str | None:
    """``None`` where the payload lacks the key, an empty text where it says null."""
    if value is None and key in thing and thing[key] is None:
        return ""
    return value


def _common_fields(thing: Mapping[str, Any]) -> Fields:
    """Fields that issues and full pull requests share."""
    milestone = text(_mapping(thing.get("milestone")).get("title"))
    return {
        "title": text(thing.get("title")),
        "body": _empty_or_none(thing, "body", text(thing.get("body"))),
        "author": login(thing.get("user")),
        "author_association": text(thing.get("author_association")),
        "state": _state(thing.get("state")),
        "is_draft": _flag(thing.get("draft")),
        "milestone": _empty_or_none(thing, "milestone", milestone),
        "created_at": time_of(thing.get("created_at")),
        "updated_at": time_of(thing.get("updated_at")),
        "closed_at": time_of(thing.get("closed_at")),
        "comment_count": _count(thing.get("comments")),
        "reaction_count": _count(_mapping(thing.get("reactions")).get("total_count")),
        "labels": _label_names(thing.get("labels")),
        **standing(thing),
    }


def _state(value: object) -> str | None:
    return value if isinstance(value, str) and value in ("open", "closed") else None


def _issue_fields(issue: Mapping[str, Any]) -> Fields:
    fields = _common_fields(issue)
    if "pull_request" not in issue:
        reason = text(issue.get("state_reason"))
        return fields | {"kind": "issue", "state_reason": _empty_or_none(issue, "state_reason", reason)}
    link = _mapping(issue["pull_request"])
    merged_at = time_of(link.get("merged_at"))
    fields |= {"kind": "pull", "merged_at": merged_at}
    if merged_at:
        fields["state_reason"] = "merged"
    elif "merged_at" in link:
        fields["state_reason"] = ""
    return fields


def _pull_fields(pull: Mapping[str, Any], action: str, happened_at: str | None) -> Fields:
    """Fields of a pull request, full (before 7 October 2025) or thin (references only, afterwards)."""
    fields = _common_fields(pull)
    merged_at = time_of(pull.get("merged_at"))
    merged = merged_at is not None or pull.get("merged") is True or action == "merged"
    fields |= {
        "kind": "pull",
        "base_ref": text(_mapping(pull.get("base")).get("ref")),
        "head_ref": text(_mapping(pull.get("head")).get("ref")),
    }
    if merged:
        # before the merge this field names GitHub's test merge, which is no commit of the history
        fields["merge_sha"] = text(pull.get("merge_commit_sha"))
        fields["merged_at"] = merged_at or fields["closed_at"] or (happened_at if action == "merged" else None)
        fields["state_reason"] = "merged"
    elif pull.get("merged") is False:
        fields["state_reason"] = ""
    state = fields["state"] or _STATE_OF_ACTION.get(action)
    if state == "closed" and action in _STATE_OF_ACTION:
        fields["closed_at"] = fields["closed_at"] or happened_at
    return fields | {"state": state}


@dataclass(slots=True)
class _Reading:
    """The records of one page; of the events that touch an item only those that tell something become rows.

    Comments on one item come in dozens, so leaving out here what newer events say as well spares the store most of
    the rows. Each row keeps its own time: an old text beside a late event is not newer for it.
    """

    page: Page
    batch: Batch = field(default_factory=Batch)
    stated: dict[int, list[Fields]] = field(default_factory=dict)

    def fold(self, number: int, fields: Fields) -> None:
        known = {name: value for name, value in fields.items() if value is not None}
        known |= {name: fields.get(name) for name, leader in FOLLOWS.items() if leader in known}
        self.stated.setdefault(number, []).append(known)

    def finish(self) -> Batch:
        repo, stamp = self.page.repo, self.page.stamp
        self.batch.items = [
            Item(repo, number, **fields, **stamp)
            for number, stated in self.stated.items()
            for fields in _telling(stated)
        ]
        return self.batch


def _telling(stated: Iterable[Fields]) -> list[Fields]:
    """Statements about an item, oldest first, without those of which newer ones state every column."""
    kept: list[Fields] = []
    covered: set[str] = set()
    for fields in sorted(stated, key=lambda one: one.get("updated_at", ""))[::-1]:
        if not kept or not covered.issuperset(fields):
            kept.append(fields)
            covered.update(fields, ("closed_at",) if fields.get("state") == "open" else ())
    return kept[::-1]


@dataclass(frozen=True, slots=True)
class EventLine:
    """A line of a page with what it says: the event, or why there is none."""

    number: int | None
    raw: bytes
    event: Any
    error: str = ""

    @classmethod
    def of(cls, number: int | None, raw: bytes) -> EventLine:
        """Parse a line."""
        try:
            return cls(number, raw, parse_line(raw))
        except BadRecordError as error:
            return cls(number, raw, None, str(error))

    def numbered(self) -> bytes:
        """The line as a page holds it."""
        return b"%d\t%b\n" % (self.number or 0, self.raw)


def _lines(page: Page) -> Iterator[EventLine]:
    for numbered in page.body.split(b"\n"):
        if numbered:
            place, _, raw = numbered.partition(b"\t")
            yield EventLine.of(int(place) if place.isdigit() and len(place) < 10 else None, raw)


def read_archive(page: Page, lines: Iterable[EventLine] | None = None) -> Batch:
    """Turn a page of numbered event lines into items, events, comments and rejects (no page, no cursor).

    An item is as the event saw it, ``updated_at`` being the item's own or the event's time. Issues that were
    transferred or deleted become tombstones.

    Args:
        page: the page.
        lines: its lines, where they were parsed already.
    """
    reading = _Reading(page)
    for line in _lines(page) if lines is None else lines:
        try:
            if line.error:
                raise BadRecordError(line.error)
            _read_event(reading, line.event)
        except BadRecordError as error:
            reading.batch.rejects.append(reject(page, line.number, str(error), line.raw))
    return reading.finish()


@dataclass(frozen=True, slots=True)
class _Happening:
    """The envelope of an event, checked."""

    event_id: str
    action: str
    actor: str | None
    created_at: str | None
    payload: Mapping[str, Any]


def _read_event(reading: _Reading, event: Any) -> None:
    """Add one event's records, or raise BadRecordError."""
    if not isinstance(event, dict):
        raise BadRecordError("not a JSON object")
    handler = _HANDLERS.get(text(event.get("type")) or "")
    if handler is None:
        raise BadRecordError("not an issue or pull request event")
    payload = event.get("payload")
    if not isinstance(payload, dict):
        raise BadRecordError("event without a payload")
    event_id = _identity(event.get("id"))
    created_at = time_of(event.get("created_at"))
    action = text(payload.get("action")) or ""
    actor = login(event.get("actor"))
    handler(reading, _Happening(event_id or f"at:{created_at}:{action}", action, actor, created_at, payload))


def repo_name(event: Mapping[str, Any]) -> str | None:
    """Return ``owner/name`` of an event, as GitHub spells it."""
    return text(_mapping(event.get("repo")).get("name"))


def _read_issue(reading: _Reading, happening: _Happening) -> None:
    issue = _mapping(happening.payload.get("issue"))
    number = _number(issue.get("number"))
    if number is None:
        raise BadRecordError("issue without a number")
    fields = _issue_fields(issue)
    fields["updated_at"] = fields["updated_at"] or happening.created_at
    if happening.action in ("deleted", "transferred"):
        fields["deleted_at"] = happening.created_at
        fields["updated_at"] = max(filter(None, (fields["updated_at"], happening.created_at)), default=None)
        fields["transferred_to"] = _new_home(happening.payload)
    reading.fold(number, fields)
    _add_events(reading, number, happening, fields.get("state_reason"))


def _read_comment(reading: _Reading, happening: _Happening) -> None:
    issue = _mapping(happening.payload.get("issue"))
    number = _number(issue.get("number"))
    if number is None:
        raise BadRecordError("comment on an item without a number")
    fields = _issue_fields(issue)
    fields["updated_at"] = fields["updated_at"] or happening.created_at
    reading.fold(number, fields)
    comment = _mapping(happening.payload.get("comment"))
    comment_id = _identity(comment.get("id"))
    if happening.action == "deleted":
        return  # its text is not ours to add any more
    if comment_id is None:
        raise BadRecordError("comment without an id")
    created_at = time_of(comment.get("created_at")) or happening.created_at
    reading.batch.comments.append(
        Comment(
            reading.page.repo,
            number,
            comment_id,
            author=login(comment.get("user")),
            author_association=text(comment.get("author_association")),
            created_at=created_at,
            updated_at=time_of(comment.get("updated_at")) or created_at,
            body=text(comment.get("body")),
            **reading.page.stamp,
        )
    )


def _read_pull(reading: _Reading, happening: _Happening) -> None:
    pull = _mapping(happening.payload.get("pull_request"))
    number = _number(pull.get("number")) or _number(happening.payload.get("number"))
    if number is None:
        raise BadRecordError("pull request without a number")
    fields = _pull_fields(pull, happening.action, happening.created_at)
    fields["updated_at"] = fields["updated_at"] or happening.created_at
    reading.fold(number, fields)
    _add_events(reading, number, happening, fields.get("state_reason"))


def _fold_pull(reading: _Reading, happening: _Happening) -> int:
    """Add what an event about a review says of its pull request; return the number."""
    pull = _mapping(happening.payload.get("pull_request"))
    number = _number(pull.get("number"))
    if number is None:
        raise BadRecordError("review of a pull request without a number")
    fields = _pull_fields(pull, "", None)
    fields["updated_at"] = fields["updated_at"] or happening.created_at
    reading.fold(number, fields)
    return number


def _read_review(reading: _Reading, happening: _Happening) -> None:
    number = _fold_pull(reading, happening)
    review = _mapping(happening.payload.get("review"))
    reading.batch.reviews.append(rest_fields.review(review, reading.page.repo, number, reading.page))


def _read_review_comment(reading: _Reading, happening: _Happening) -> None:
    number = _fold_pull(reading, happening)
    if happening.action == "deleted":
        return  # its text is not ours to add any more
    comment = _mapping(happening.payload.get("comment"))
    reading.batch.review_comments.append(rest_fields.review_comment(comment, reading.page.repo, number, reading.page))


_HANDLERS: Mapping[str, Callable[[_Reading, _Happening], None]] = {
    "IssuesEvent": _read_issue,
    "IssueCommentEvent": _read_comment,
    "PullRequestEvent": _read_pull,
    "PullRequestReviewEvent": _read_review,
    "PullRequestReviewCommentEvent": _read_review_comment,
}
READ_TYPES = frozenset(_HANDLERS)
"""Types of events that become records; all others are passed over."""


def _new_home(payload: Mapping[str, Any]) -> str | None:
    repo, number = _new_place(payload)
    return f"{repo}#{number}" if repo and number else None


def _new_place(payload: Mapping[str, Any]) -> tuple[str | None, int | None]:
    changes = _mapping(payload.get("changes"))
    repo = text(_mapping(changes.get("new_repository")).get("full_name"))
    return repo, _number(_mapping(changes.get("new_issue")).get("number"))


def _add_events(reading: _Reading, number: int, happening: _Happening, reason: str | None) -> None:
    kind = _ITEM_EVENTS.get(happening.action)
    if kind is None:
        return
    # issue events of the API have numbers of their own: the prefix keeps the two series apart
    event_id = f"archive:{happening.event_id}"
    for place, details in enumerate(_event_details(kind, happening, reason)):
        unique = event_id if place == 0 else f"{event_id}:{place}"
        reading.batch.events.append(
            Event(
                reading.page.repo,
                number,
                unique,
                kind,
                created_at=happening.created_at,
                actor=happening.actor,
                **details,
                **reading.page.stamp,
            )
        )


def _event_details(kind: str, happening: _Happening, reason: str | None) -> list[Fields]:
    """Columns of the event beyond its actor and time: one entry per row, none where the payload lacks them."""
    payload = happening.payload
    if kind in ("labeled", "unlabeled"):
        names = _label_names([payload.get("label")]) or _label_names(payload.get("labels")) or ()
        return [{"label": name} for name in names]
    if kind == "renamed":
        old = text(_mapping(_mapping(payload.get("changes")).get("title")).get("from"))
        new = text(_mapping(payload.get("issue") or payload.get("pull_request")).get("title"))
        return [] if old is None else [{"title_from": old, "title_to": new}]
    if kind == "transferred":
        repo, number = _new_place(payload)
        return [{"other_repo": repo, "other_number": number}]
    return [{"state_reason": reason}] if kind == "closed" else [{}]
