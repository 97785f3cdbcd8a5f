"""Who works on an item, and what came of it: assignees, reviews, checks of the head commit. For `embers show`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

Row = dict[str, Any]
SHOWN_SHA = 10
"""Characters of a commit's hash that are printed."""

_PEOPLE = """
SELECT p.role, p.login, u.association FROM item_people p LEFT JOIN users u USING (repo, login)
WHERE p.repo = $repo AND p.number = $number ORDER BY p.role, p.login
"""
# a comment takes back no approval: of each reviewer the last review that decides something counts
_REVIEWS = """
SELECT r.author AS login, any_value(u.association) AS association, count(*) AS reviews,
       coalesce(arg_max(r.state, r.submitted_at) FILTER (r.state <> 'commented'), any_value(r.state)) AS state,
       max(r.submitted_at) AS submitted_at
FROM reviews r LEFT JOIN users u ON u.repo = r.repo AND u.login = r.author
WHERE r.repo = $repo AND r.number = $number GROUP BY r.author ORDER BY submitted_at, login
"""
_CHECKS = "SELECT kind, state, checks FROM checks WHERE repo = $repo AND number = $number ORDER BY kind, state"
_COUNTS = """
SELECT (SELECT count(*) FROM pull_commits WHERE repo = $repo AND number = $number) AS commits,
       (SELECT count(*) FROM review_comments WHERE repo = $repo AND number = $number) AS comments_on_lines,
       any_value(head_sha) AS head_sha, any_value(check_state) AS check_state
FROM items WHERE repo = $repo AND number = $number
"""


def review_of(ask: Callable[[str], list[Row]]) -> Row:
    """Read assignees, who is asked for a review, reviews, commits and checks of an item.

    Args:
        ask: gives the rows of a query about the item.
    """
    people = ask(_PEOPLE)
    by_role = {role: [_person(row) for row in people if row["role"] == role] for role in ("assignee", "reviewer")}
    listed = {"assignees": by_role["assignee"], "asked": by_role["reviewer"], "reviews": ask(_REVIEWS)}
    return listed | ask(_COUNTS)[0] | {"checks": ask(_CHECKS)}


def review_lines(review: Mapping[str, Any]) -> Iterator[str]:
    """The same in words, nothing where there is nothing."""
    for key, words in (("assignees", "assigned to"), ("asked", "asked to review")):
        if review.get(key):
            yield f"{words}: {', '.join(map(_named, review[key]))}"
    for row in review.get("reviews") or ():
        day = f" on {row['submitted_at']:%Y-%m-%d}" if row["submitted_at"] else ""
        several = f", {row['reviews']} reviews" if row["reviews"] > 1 else ""
        yield f"{(row['state'] or 'reviewed').replace('_', ' ')} by {_named(row)}{day}{several}"
    counted = {"commits": review.get("commits"), "comments on lines": review.get("comments_on_lines")}
    if parts := [f"{name}: {count:,}" for name, count in counted.items() if count]:
        yield ", ".join(parts)
    if review.get("checks") or review.get("check_state"):
        yield f"checks of {(review['head_sha'] or 'the head commit')[:SHOWN_SHA]}: {_checks(review)}"


def _person(row: Row) -> Row:
    return {"login": row["login"], "association": row["association"]}


def _named(row: Mapping[str, Any]) -> str:
    role = (row["association"] or "").lower()
    return f"{row['login'] or 'a deleted account'}{f' ({role})' if role not in ('', 'none') else ''}"


def _checks(review: Mapping[str, Any]) -> str:
    counts: Counter[str] = Counter()
    rows: Sequence[Row] = review["checks"]
    for row in rows:
        counts[row["state"]] += row["checks"]
    listed = ", ".join(f"{count:,} {state}" for state, count in counts.most_common())
    return f"{review['check_state'] or 'no common state'}{f' ({listed})' if listed else ''}"
