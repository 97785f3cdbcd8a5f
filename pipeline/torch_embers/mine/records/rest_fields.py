"""What belongs to an item beside its comments and events, from GitHub's REST objects. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_embers.mine.records.rest_records import (
    MAX_NUMBER,
    BadRecordError,
    identity,
    login,
    repo_of,
    text,
    whole,
    word,
)
from torch_embers.normalize import iso_utc
from torch_embers.store.readings import TIMELINE, TIMELINE_REACTIONS
from torch_embers.store.records import (
    Person,
    PullCommit,
    Reactions,
    Reading,
    Review,
    ReviewComment,
    StatedLink,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from torch_embers.store.records import Batch, Page

REACTIONS = {
    "+1": "thumbs_up",
    "-1": "thumbs_down",
    "laugh": "laugh",
    "hooray": "hooray",
    "confused": "confused",
    "heart": "heart",
    "rocket": "rocket",
    "eyes": "eyes",
}
"""Name of a reaction in REST, and ours."""


def add(obj: dict[str, Any], repo: str, number: int, page: Page, batch: Batch) -> None:
    """Add what an issue or pull request object holds of these tables, and which of it is complete."""
    batch.item_people += _people(obj, repo, number, page)
    batch.reactions += reactions(obj, repo, number, "item", "", page)
    parent = obj.get("parent_issue_url")
    if isinstance(parent, str) and (target := tail_number(parent)):
        there = repo_of({"url": parent}, repo)
        batch.stated_links.append(StatedLink(repo, number, "sub_issue_of", there, target, "sub_issue", **page.stamp))
    stated = {
        "assignees": isinstance(obj.get("assignees"), list),
        "reviewers": isinstance(obj.get("requested_reviewers"), list),
        "reactions": isinstance(obj.get("reactions"), dict),
        "parent": "parent_issue_url" in obj,
    }
    batch.readings += [Reading(repo, number, part, page.page_id, **page.stamp) for part, has in stated.items() if has]


def timeline_readings(records: object, note: Mapping[str, Any], number: int, page: Page) -> Iterator[Reading]:
    """How completely a page of a timeline holds the comments of its item, and their reactions.

    A timeline that has as many comments as the item counts was read whole: comments that it lacks are deleted. Another
    one may hide some, and is not waited for.

    Args:
        records: the page.
        note: which part of the timeline the page is (``mine.github.rest.timeline``).
        number: the item.
        page: its page.
    """
    listed = records if isinstance(records, list) else []
    comments = [r for r in listed if isinstance(r, dict) and r.get("event") == "commented"]
    fresh = [r for r in listed[note["again"] :] if isinstance(r, dict) and r.get("event") == "commented"]
    uncounted = note["comments"] is None
    silent = not all(isinstance(comment.get("reactions"), dict) for comment in comments)
    for part, hidden in ((TIMELINE, uncounted), (TIMELINE_REACTIONS, uncounted or silent)):
        yield Reading(
            page.repo,
            number,
            part,
            note["begun"] or page.page_id,
            ends=note["ends"],
            nodes=len(fresh),
            total=note["comments"],
            excused=True,
            hidden=hidden,
            **page.stamp,
        )


def _people(obj: Mapping[str, Any], repo: str, number: int, page: Page) -> Iterator[Person]:
    for key, role in (("assignees", "assignee"), ("requested_reviewers", "reviewer")):
        listed = obj.get(key)
        names = {name for user in (listed if isinstance(listed, list) else []) if (name := login(user))}
        yield from (Person(repo, number, role, name, **page.stamp) for name in sorted(names))
    teams = obj.get("requested_teams")
    for team in teams if isinstance(teams, list) else []:
        if isinstance(team, dict) and (slug := text(team.get("slug"))):
            yield Person(repo, number, "reviewer", f"{repo.split('/', 1)[0]}/{slug}", **page.stamp)


def reactions(
    obj: Mapping[str, Any], repo: str, number: int, subject: str, subject_id: str, page: Page
) -> Iterator[Reactions]:
    """The reactions to something, where there are any."""
    counts = obj.get("reactions")
    if isinstance(counts, dict):
        known: dict[str, Any] = {
            ours: count for name, ours in REACTIONS.items() if (count := whole(counts.get(name))) and count > 0
        }
        if known:
            yield Reactions(repo, number, subject, subject_id, **(known | page.stamp))


def tail_number(address: object) -> int | None:
    """The number at the end of an address; ``None`` where there is none."""
    tail = address.rsplit("/", 1)[-1] if isinstance(address, str) else ""
    usable = tail.isascii() and tail.isdigit() and len(tail) < 11 and 0 < int(tail) <= MAX_NUMBER
    return int(tail) if usable else None


def review(obj: Mapping[str, Any], repo: str, number: int, page: Page) -> Review:
    """Turn a review (of a timeline or of an event) into a record.

    Raises:
        BadRecordError: it has no id.
    """
    review_id = identity(dict(obj))
    if review_id is None:
        raise BadRecordError("a review without an id")
    submitted = iso_utc(obj.get("submitted_at"))
    return Review(
        repo,
        number,
        review_id,
        author=login(obj.get("user")),
        author_association=text(obj.get("author_association")),
        state=word(obj.get("state")),
        body=text(obj.get("body")) or "",
        commit_sha=text(obj.get("commit_id")),
        submitted_at=submitted,
        updated_at=iso_utc(obj.get("updated_at")) or submitted,
        **page.stamp,
    )


def review_comment(obj: Mapping[str, Any], repo: str, number: int, page: Page) -> ReviewComment:
    """Turn a comment on a line into a record.

    Raises:
        BadRecordError: it has no id.
    """
    comment_id = identity(dict(obj))
    if comment_id is None:
        raise BadRecordError("a review comment without an id")
    created = iso_utc(obj.get("created_at"))
    return ReviewComment(
        repo,
        number,
        comment_id,
        review_id=_id(obj.get("pull_request_review_id")),
        reply_to=_id(obj.get("in_reply_to_id")),
        author=login(obj.get("user")),
        author_association=text(obj.get("author_association")),
        path=text(obj.get("path")),
        line=whole(obj.get("line")),
        original_line=whole(obj.get("original_line")),
        commit_sha=text(obj.get("original_commit_id")),
        created_at=created,
        updated_at=iso_utc(obj.get("updated_at")) or created,
        body=text(obj.get("body")) or "",
        **page.stamp,
    )


def _id(value: object) -> str | None:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def pull_number(obj: Mapping[str, Any]) -> int:
    """Number of the pull request that a review comment of a repository-wide listing belongs to.

    Raises:
        BadRecordError: the address is missing or odd.
    """
    number = tail_number(obj.get("pull_request_url"))
    if number is None:
        raise BadRecordError(f"a review comment without a usable pull request: {obj.get('pull_request_url')!r:.60}")
    return number


def commit(obj: Mapping[str, Any], repo: str, number: int, page: Page) -> PullCommit:
    """Turn a commit of a timeline into a record.

    Raises:
        BadRecordError: it has no hash.
    """
    sha, author, committer = text(obj.get("sha")), obj.get("author"), obj.get("committer")
    if not sha:
        raise BadRecordError("a commit without a hash")
    author = author if isinstance(author, dict) else {}
    return PullCommit(
        repo,
        number,
        sha,
        author=text(author.get("name")),
        authored_at=iso_utc(author.get("date")),
        committed_at=iso_utc(committer.get("date")) if isinstance(committer, dict) else None,
        message=text(obj.get("message")),
        **page.stamp,
    )
