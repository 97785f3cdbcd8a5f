"""What belongs to an item beside its comments, events and files, from GraphQL. Pure.

Reviews and commits of a pull request are nodes of its timeline; comments of reviews come in pages of their own
(``review_comments``), up to 100 reviews in one query.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from torch_embers.mine.records import graphql_answers
from torch_embers.mine.records.accounts import account
from torch_embers.mine.records.rest_records import text, whole, word
from torch_embers.normalize import clean_text, iso_utc
from torch_embers.store.records import (
    Check,
    Person,
    PullCommit,
    Reactions,
    Review,
    ReviewComment,
    StatedLink,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch_embers.store.records import Batch, Page, Reading

NO_EVENTS = frozenset({"PullRequestReview", "PullRequestCommit"})
"""Nodes of a timeline that are rows of other tables than ``events``."""
REVIEW_COMMENTS = "review_comments for "
"""How the request of a page of review comments begins; it ends with the page that began the reading."""
MOST_REVIEWS = 100
"""Reviews whose comments one query asks for: GitHub takes no more ids, and they cost one point together."""


def nodes_of(connection: object) -> list[Any]:
    """Nodes of a connection that are there."""
    return [n for n in connection.get("nodes") or [] if isinstance(n, dict)] if isinstance(connection, dict) else []


def identity(node: dict[str, Any]) -> str:
    """The number that REST calls ``id``, else the id of the node."""
    return str(node.get("fullDatabaseId") or node["id"])


def add(node: dict[str, Any], repo: str, number: int, page: Page, batch: Batch) -> None:
    """Add what an item, or a further page of one of its connections, holds of these tables."""
    for entry in nodes_of(node.get("timelineItems")):
        if entry.get("__typename") == "PullRequestReview":
            batch.reviews.append(_review(entry, repo, number, page))
            batch.reactions += reactions(entry, repo, number, "review", identity(entry), page)
        elif entry.get("__typename") == "PullRequestCommit":
            batch.pull_commits += _commit(entry.get("pushed"), repo, number, page)
    for comment in nodes_of(node.get("comments")):
        batch.reactions += reactions(comment, repo, number, "comment", identity(comment), page)
    batch.reactions += reactions(node, repo, number, "item", "", page)
    batch.checks += _checks(node, repo, number, page)
    batch.item_people += _people(node, repo, number, page)
    batch.stated_links += _family(node, repo, number, page)


def add_review_comments(data: dict[str, Any], page: Page, batch: Batch) -> None:
    """Add the comments of the reviews that a query ``review_comments`` asked for."""
    for review in (data.get("data") or {}).get("nodes") or []:
        pull = review.get("pullRequest") if isinstance(review, dict) else None
        number = whole(pull.get("number")) if isinstance(pull, dict) else None
        if number is None:
            continue
        repo = _name(pull) or page.repo
        for comment in nodes_of(review.get("comments")):
            batch.review_comments.append(_review_comment(comment, identity(review), repo, number, page))
            batch.reactions += reactions(comment, repo, number, "review_comment", identity(comment), page)


def readings(node: dict[str, Any], timeline: Reading) -> Iterator[Reading]:
    """How completely a page holds reviews, commits and review comments of a pull request.

    Reviews and commits are as whole as the timeline in which they stand. The comments are whole when every review that
    has some was answered: each counts as owed (-1) here, and as answered (+1) in ``review_comment_readings``.
    """
    if node.get("__typename") != "PullRequest":
        return
    yield replace(timeline, part="reviews")
    owed = len(list(commented(node)))
    yield replace(timeline, part="review_comments", ends=True, nodes=-owed, total=0, excused=False)


def commented(node: dict[str, Any]) -> Iterator[str]:
    """Ids of the reviews in a timeline that have comments on lines."""
    for review in nodes_of(node.get("timelineItems")):
        if review.get("__typename") == "PullRequestReview" and (review.get("comments") or {}).get("totalCount") != 0:
            yield str(review["id"])


def commented_reviews(data: dict[str, Any]) -> list[str]:
    """Ids of all reviews in an answer that have comments on lines."""
    root = data.get("data") or {}
    repository = root.get("repository") or {}
    items = [*nodes_of(repository.get("pullRequests")), repository.get("issueOrPullRequest"), root.get("node")]
    return [one for item in items if isinstance(item, dict) for one in commented(item)]


def review_comment_readings(data: dict[str, Any], page: Page) -> Iterator[Reading]:
    """How completely a page of review comments holds those of each pull request."""
    begun, found = page.request.rsplit(" ", 1)[-1], graphql_answers.problems(data)
    for place, review in enumerate((data.get("data") or {}).get("nodes") or []):
        pull = review.get("pullRequest") if isinstance(review, dict) else None
        number = whole(pull.get("number")) if isinstance(pull, dict) else None
        if number is None:
            continue  # still owed
        part = graphql_answers.part_reading(
            review.get("comments"),
            "comments",
            "review_comments",
            ("nodes", place, "comments"),
            found,
            page,
            _name(pull) or page.repo,
            number,
            begun,
            None,
        )
        yield replace(part, nodes=int(part.ends and part.sound), total=0)


def answered(count: int, *, partial: bool) -> Callable[[object], str | None]:
    """A check whether an answer speaks of so many nodes, for each of which null may stand.

    Args:
        count: how many were asked for.
        partial: accept that a limit of resources left some out, because no fewer can be asked for.
    """

    def check(data: object) -> str | None:
        for problem in graphql_answers.problems(data):
            if problem.kind == graphql_answers.LIMITED and not partial:
                return problem.message
        nodes = data["data"].get("nodes") if isinstance(data, dict) and isinstance(data.get("data"), dict) else None
        return None if isinstance(nodes, list) and len(nodes) == count else "nodes are missing in the answer"

    return check


def unfinished(data: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Reviews whose comments go on behind a page: id and end cursor."""
    for review in (data.get("data") or {}).get("nodes") or []:
        info = ((review or {}).get("comments") or {}).get("pageInfo") or {}
        if info.get("hasNextPage") and info.get("endCursor"):
            yield str(review["id"]), str(info["endCursor"])


def _name(item: object) -> str | None:
    repository = item.get("repository") if isinstance(item, dict) else None
    return text(repository.get("nameWithOwner")) if isinstance(repository, dict) else None


def _review(node: dict[str, Any], repo: str, number: int, page: Page) -> Review:
    return Review(
        repo,
        number,
        identity(node),
        author=account(node.get("author")),
        author_association=text(node.get("authorAssociation")),
        state=word(node.get("state")),
        body=text(node.get("body")) or "",
        commit_sha=text((node.get("reviewed") or {}).get("oid")),
        submitted_at=iso_utc(node.get("submittedAt")),
        updated_at=iso_utc(node.get("updatedAt")),
        comment_count=whole((node.get("comments") or {}).get("totalCount")),
        **page.stamp,
    )


def _review_comment(node: dict[str, Any], review_id: str, repo: str, number: int, page: Page) -> ReviewComment:
    answered = node.get("replyTo")
    return ReviewComment(
        repo,
        number,
        identity(node),
        review_id=review_id,
        reply_to=identity(answered) if isinstance(answered, dict) else None,
        author=account(node.get("author")),
        author_association=text(node.get("authorAssociation")),
        path=text(node.get("path")),
        line=whole(node.get("line")),
        original_line=whole(node.get("originalLine")),
        commit_sha=text((node.get("originalCommit") or {}).get("oid")),
        created_at=iso_utc(node.get("createdAt")),
        updated_at=iso_utc(node.get("updatedAt")),
        body=text(node.get("body")) or "",
        **page.stamp,
    )


def _commit(commit: object, repo: str, number: int, page: Page) -> Iterator[PullCommit]:
    if not isinstance(commit, dict) or not isinstance(commit.get("oid"), str):
        return
    author = commit.get("author") or {}
    yield PullCommit(
        repo,
        number,
        clean_text(commit["oid"]),
        author=text(author.get("name")),
        author_login=account(author.get("user")),
        authored_at=iso_utc(commit.get("authoredDate")),
        committed_at=iso_utc(commit.get("committedDate")),
        message=text(commit.get("message")),
        **page.stamp,
    )


def reactions(
    node: dict[str, Any], repo: str, number: int, subject: str, subject_id: str, page: Page
) -> Iterator[Reactions]:
    """The reactions to something, where there are any."""
    known: dict[str, Any] = {}
    for group in node.get("reactionGroups") or ():
        count = whole((group.get("reactors") or {}).get("totalCount")) if isinstance(group, dict) else None
        if count and (kind := word(group.get("content"))) in REACTIONS:  # most are 0
            known[kind] = count
    if known:
        yield Reactions(repo, number, subject, subject_id, **(known | page.stamp))


REACTIONS = ("thumbs_up", "thumbs_down", "laugh", "hooray", "confused", "heart", "rocket", "eyes")
"""All kinds of reactions, as the table names them."""


def _checks(node: dict[str, Any], repo: str, number: int, page: Page) -> Iterator[Check]:
    contexts = (node.get("statusCheckRollup") or {}).get("contexts") or {}
    for kind, counted in (
        ("check_run", contexts.get("checkRunCountsByState")),
        ("status_context", contexts.get("statusContextCountsByState")),
    ):
        for entry in counted or []:
            state, count = word(entry.get("state")), whole(entry.get("count"))
            if state and count:
                yield Check(repo, number, kind, state, count, sha=text(node.get("headRefOid")), **page.stamp)


def _people(node: dict[str, Any], repo: str, number: int, page: Page) -> Iterator[Person]:
    for actor in nodes_of(node.get("assignees")):
        if name := account(actor):
            yield Person(repo, number, "assignee", name, **page.stamp)
    for request in nodes_of(node.get("reviewRequests")):
        reviewer = request.get("requestedReviewer") or {}
        if name := account(reviewer) or text(reviewer.get("combinedSlug")):
            yield Person(repo, number, "reviewer", name, **page.stamp)


def _family(node: dict[str, Any], repo: str, number: int, page: Page) -> Iterator[StatedLink]:
    """The parent of an issue and its sub-issues; the link always starts at the sub-issue."""
    if isinstance(parent := node.get("parent"), dict):
        yield from _sub_issue((repo, number), (_name(parent) or repo, whole(parent.get("number"))), page)
    for child in nodes_of(node.get("subIssues")):
        yield from _sub_issue((_name(child) or repo, whole(child.get("number"))), (repo, number), page)


def _sub_issue(child: tuple[str, int | None], parent: tuple[str, int | None], page: Page) -> Iterator[StatedLink]:
    if child[1] and parent[1]:
        yield StatedLink(child[0], child[1], "sub_issue_of", parent[0], parent[1], "sub_issue", **page.stamp)
