"""GitHub's REST objects as records. Pure; shared by live REST and by files of records."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import orjson

from torch_embers.normalize import clean_text, iso_utc
from torch_embers.store.records import Comment, Event, Item

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch_embers.store.records import Page

MAX_NUMBER = 2**31 - 1
EVENT_TYPES = {
    "labeled": "labeled",
    "unlabeled": "unlabeled",
    "closed": "closed",
    "reopened": "reopened",
    "renamed": "renamed",
    "transferred": "transferred",
    "marked_as_duplicate": "marked_as_duplicate",
    "unmarked_as_duplicate": "unmarked_as_duplicate",
    "cross-referenced": "cross_referenced",
    "referenced": "referenced",
    "connected": "connected",
    "merged": "merged",
}
"""REST event name to ours; other events (subscriptions, assignments ...) do not matter to a bug's history."""


class BadRecordError(ValueError):
    """A record that cannot be used; the message gives the reason."""


def parse_line(line: bytes) -> Any:
    """Parse one line; also what strict JSON refuses but Python reads: lone surrogates, bad UTF-8, NaN.

    Raises:
        BadRecordError: no JSON.
    """
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError as strict:
        try:
            return json.loads(line.decode("utf-8-sig", "replace"), parse_constant=lambda _: None)
        except (ValueError, RecursionError):
            raise BadRecordError(f"malformed JSON: {strict}") from strict


def text(value: object) -> str | None:
    """A storable text, or ``None`` for anything that is none."""
    return clean_text(value) if isinstance(value, str) else None


def login(user: object) -> str | None:
    """Login of a user object (``None`` for a deleted account)."""
    return text(user.get("login")) if isinstance(user, dict) else None


def whole(value: object) -> int | None:
    """A whole number that fits a column, or ``None``."""
    if isinstance(value, int) and not isinstance(value, bool) and -MAX_NUMBER <= value <= MAX_NUMBER:
        return value
    return None


def stated(obj: Mapping[str, Any], name: str, value: str | None) -> str | None:
    """``value``; an empty text where the source has the field and it is null: there is none now."""
    return "" if value is None and name in obj and obj[name] is None else value


def flag(value: object) -> bool | None:
    """A truth value, or ``None``."""
    return value if isinstance(value, bool) else None


def word(value: object) -> str | None:
    """A constant of the API as all sources share it: ``too heated`` and ``TOO_HEATED`` are ``too_heated``."""
    name = text(value)
    return name.lower().replace(" ", "_").replace("-", "_") if name else None


def shown(value: object) -> str:
    """A short form for a message; a list or object only by its kind, because printing a deep one can fail."""
    return repr(value)[:40] if isinstance(value, str | int | float | None) else type(value).__name__


def number_of(obj: dict[str, Any]) -> int:
    """The item's number.

    Raises:
        BadRecordError: none, or not a positive whole number.
    """
    number = whole(obj.get("number"))
    if number is None or number < 1:
        raise BadRecordError(f"no usable item number: {shown(obj.get('number'))}")
    return number


def repo_of(obj: dict[str, Any], default: str) -> str:
    """``owner/name`` from the object's own addresses, else ``default``."""
    for key in ("repository_url", "url"):
        url = obj.get(key)
        if isinstance(url, str) and "/repos/" in url:
            parts = url.split("/repos/", 1)[1].split("/")
            if len(parts) >= 2 and parts[0] and parts[1]:
                return f"{clean_text(parts[0])}/{clean_text(parts[1])}"
    return default


def labels_of(value: object) -> tuple[str, ...] | None:
    """Label names, sorted and without repeats; accepts objects and plain texts."""
    if not isinstance(value, list):
        return None
    names = (entry.get("name") if isinstance(entry, dict) else entry for entry in value)
    return tuple(sorted({clean_text(n) for n in names if isinstance(n, str)}))


def _pull_facts(obj: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
    """The part of an object that only a pull request has, and whether it is one."""
    if "base" in obj and "head" in obj:
        return obj, True
    inner = obj.get("pull_request")
    return (inner, True) if isinstance(inner, dict) else ({}, inner is not None)


def _ref(value: object) -> str | None:
    return text(value.get("ref")) if isinstance(value, dict) else None


def item(obj: object, page: Page, *, repo: str | None = None) -> Item:
    """Turn an issue or pull request object into a record.

    Every field may be missing. A field that is there and null is taken at its word: an issue whose body is
    null has an empty body.

    Raises:
        BadRecordError: no object, or no usable number.
    """
    if not isinstance(obj, dict):
        raise BadRecordError(f"not an object but {type(obj).__name__}")
    number = number_of(obj)
    pull, is_pull = _pull_facts(obj)
    state = obj.get("state")
    state = state if state in ("open", "closed") else None
    merged_at = iso_utc(pull.get("merged_at"))
    reason = text(obj.get("state_reason"))
    if merged_at or pull.get("merged") is True:
        reason = "merged"
    elif reason is None and state == "closed" and "state_reason" in obj:
        reason = ""
    body = text(obj.get("body"))
    user = obj.get("user")
    milestone = obj.get("milestone")
    reactions = obj.get("reactions")
    return Item(
        repo=repo or repo_of(obj, page.repo),
        number=number,
        kind="pull" if is_pull else "issue",
        title=text(obj.get("title")),
        body="" if body is None and "body" in obj else body,
        author=stated(obj, "user", login(user)),
        author_association=text(obj.get("author_association")),
        state=state,
        state_reason=reason,
        is_draft=flag(obj.get("draft")),
        merged_at=merged_at,
        merge_sha=text(obj.get("merge_commit_sha")) if reason == "merged" else None,
        base_ref=_ref(obj.get("base")),
        head_ref=_ref(obj.get("head")),
        milestone=stated(obj, "milestone", text(milestone.get("title")) if isinstance(milestone, dict) else None),
        created_at=iso_utc(obj.get("created_at")),
        updated_at=iso_utc(obj.get("updated_at")),
        closed_at=iso_utc(obj.get("closed_at")),
        comment_count=whole(obj.get("comments")),
        reaction_count=whole(reactions.get("total_count")) if isinstance(reactions, dict) else None,
        labels=labels_of(obj.get("labels")),
        **standing(obj),
        **page.stamp,
    )


def standing(obj: Mapping[str, Any]) -> dict[str, Any]:
    """Columns of an item that issues, pull requests and the payloads of GH Archive write alike."""
    milestone, kind, head = obj.get("milestone"), obj.get("type"), obj.get("head")
    closed_by = login(obj.get("closed_by"))
    return {
        "milestone_number": whole(milestone.get("number")) if isinstance(milestone, dict) else None,
        "milestone_due_at": iso_utc(milestone.get("due_on")) if isinstance(milestone, dict) else None,
        "locked": flag(obj.get("locked")),
        "lock_reason": word(obj.get("active_lock_reason")),
        "issue_type": stated(obj, "type", text(kind.get("name")) if isinstance(kind, dict) else None),
        # of a pull request null says nothing: who merged it closed it
        "closed_by": closed_by if _pull_facts(obj)[1] else stated(obj, "closed_by", closed_by),
        "merged_by": login(obj.get("merged_by")),
        "head_sha": text(head.get("sha")) if isinstance(head, dict) else None,
    }


def identity(obj: dict[str, Any]) -> str | None:
    """The object's own id as text (REST: a number; GraphQL calls the same number ``fullDatabaseId``)."""
    value = obj.get("id")
    return clean_text(str(value)) if isinstance(value, int | str) and value != "" else None


def comment(obj: dict[str, Any], number: int, page: Page, *, repo: str | None = None) -> Comment:
    """Turn an issue comment object into a record.

    Raises:
        BadRecordError: it has no id.
    """
    comment_id = identity(obj)
    if comment_id is None:
        raise BadRecordError("a comment without an id")
    return Comment(
        repo=repo or page.repo,
        number=number,
        comment_id=comment_id,
        author=login(obj.get("user") or obj.get("actor")),
        author_association=text(obj.get("author_association")),
        created_at=iso_utc(obj.get("created_at")),
        updated_at=iso_utc(obj.get("updated_at")),
        body=text(obj.get("body")) or "",
        **page.stamp,
    )


def comment_number(obj: dict[str, Any]) -> int:
    """Number of the item that a comment of a repository-wide listing belongs to (from ``issue_url``).

    Raises:
        BadRecordError: the address is missing or odd.
    """
    address = obj.get("issue_url")
    tail = address.rsplit("/", 1)[-1] if isinstance(address, str) else ""
    if not tail.isascii() or not tail.isdigit() or not 0 < int(tail) <= MAX_NUMBER:
        raise BadRecordError(f"a comment without a usable issue address: {tail[:40]!r}")
    return int(tail)


def _other(obj: dict[str, Any], page: Page) -> tuple[str | None, int | None]:
    """The other item of a cross reference."""
    source = obj.get("source")
    issue = source.get("issue") if isinstance(source, dict) else None
    if not isinstance(issue, dict):
        return None, None
    return repo_of(issue, page.repo), whole(issue.get("number"))


def event(obj: dict[str, Any], number: int, page: Page, *, repo: str | None = None) -> Event | None:
    """Turn an issue event or timeline object into a record; ``None`` for kinds that are not kept.

    Its key is the node id, which GraphQL gives the same event; without one the number, and where that lacks, too
    (REST's cross references), what it says.
    """
    name = obj.get("event")
    kind = EVENT_TYPES.get(name) if isinstance(name, str) else None
    if kind is None:
        return None
    rename = obj.get("rename")
    rename = rename if isinstance(rename, dict) else {}
    label = obj.get("label")
    other_repo, other_number = _other(obj, page)
    created = iso_utc(obj.get("created_at"))
    return Event(
        repo=repo or page.repo,
        number=number,
        event_id=text(obj.get("node_id")) or identity(obj) or f"{kind}:{number}:{created}:{other_repo}#{other_number}",
        type=kind,
        created_at=created,
        actor=login(obj.get("actor")),
        label=text(label.get("name")) if isinstance(label, dict) else None,
        state_reason=text(obj.get("state_reason")),
        title_from=text(rename.get("from")),
        title_to=text(rename.get("to")),
        other_repo=other_repo,
        other_number=other_number,
        commit_sha=text(obj.get("commit_id")),
        **page.stamp,
    )
