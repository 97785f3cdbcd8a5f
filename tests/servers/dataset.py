"""A generated tracker in GitHub's GraphQL words, with long lists of everything; the same every time.

A dataset has `tokens`, `renamed` (former names of repositories) and `repos`; a repository has `nameWithOwner`,
`databaseId` and `items`. An item has the fields of GitHub's schema, and: `kind` (issue, pull), `lockReason`,
`milestoneFacts`, `labels` and `assignees` by name, `closes`, `closedBy`, `parent` and `subIssues` by number, `checks`
(their state), and `comments`, `events` and `files` with what belongs to them. All of it is invented.
"""

from __future__ import annotations

import functools
import hashlib
import random
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

Json = dict[str, Any]
REPO, OTHER_REPO = "pytorch/pytorch", "pytorch/vision"
"""The tracker, and where transferred items come from and references across repositories point to."""
REPO_IDS = {REPO: 65600975, OTHER_REPO: 73328905}
TOKENS = ("token-one", "token-two", "token-three")
START = datetime(2024, 1, 1, tzinfo=UTC)
BIG_ID = 3_000_000_000
"""Ids of newer records do not fit 32 bits."""
LABELS = ("bug", "triaged", "module: mps", "module: correctness (silent)", "high priority", "oncall: pt2")
BULK_EDIT = "2026-08-01T12:00:00Z"
"""Many items share this second, which a cursor by time alone cannot split."""
ODD_TEXT = "Strided input \u00e9\U0001f525 \x00 \u202eleft\u202c\r\n\ttab \ud7ff \u2028 <script> `code` {number}"
"""Text that must arrive as it is: beyond ASCII, of control characters, with what other languages would run."""


@dataclass
class History:
    """Events of one item in the order they are invented; `at` is the clock."""

    at: datetime
    events: list[Json] = field(default_factory=list)

    def add(self, kind: str, minutes: int = 7, actor: str | None = "octocat", **parts: object) -> None:
        """Add an event some minutes after the last one."""
        self.at += timedelta(minutes=minutes)
        self.events.append({"type": kind, "createdAt": iso(self.at), "actor": actor, **parts})


@functools.cache
def generated_dataset(n: int = 300, seed: int = 11) -> Json:
    """A dataset of `n` items, every fourth a pull request. Never changed: who asks twice gets the same one."""
    chance = random.Random(seed)
    items = {number: _item(number, n, chance) for number in range(1, n + 1)}
    _refer(items)
    _relate(items)
    for number, item in items.items():
        item["events"].sort(key=lambda event: str(event["createdAt"]))
        said = [one["createdAt"] for name in ("events", "comments") for one in item[name]]
        bulk = BULK_EDIT if number % 40 < 2 else ""
        item["updatedAt"] = max([item["createdAt"], item["closedAt"] or "", bulk, *said])
    repos = [
        {"nameWithOwner": name, "databaseId": REPO_IDS[name], "items": list(items.values()) if name == REPO else []}
        for name in REPO_IDS
    ]
    return {"tokens": list(TOKENS), "renamed": {"pytorch/old-name": REPO}, "repos": repos}


def _item(number: int, n: int, chance: random.Random) -> Json:
    pull = number % 4 == 0
    created = START + timedelta(hours=6 * number)
    history = History(created)
    fixes = f"Fixes #{chance.randrange(1, number)}\n" if pull else ""
    title = f"{'Fix' if pull else 'Wrong result in'} op {number}"
    closed = chance.random() < 0.7
    merged = pull and closed and chance.random() < 0.5
    labels = [f"label {k}" for k in range(100)] if number == 39 else chance.sample(LABELS, chance.randint(0, 4))
    comments = _comments(number, chance.randint(0, 6) + 230 * (number in (26, 53)), created)
    _happens(number, title, labels, history)
    if comments:
        history.at = max(history.at, datetime.fromisoformat(comments[-1]["createdAt"]))
    sha = made_sha("merge", number)
    reason = _end(number, n, history, sha if merged else None) if closed else "REOPENED" if number % 19 == 0 else None
    closed_at = history.events[-1]["createdAt"] if closed else None
    if closed_at and comments and number % 6 == 1:  # "close with comment" writes both at once
        octocat = {"author": "octocat", "authorAssociation": association("octocat")}
        comments[-1].update({**octocat, "createdAt": closed_at, "updatedAt": closed_at})
    author = None if number % 53 == 0 else f"user-{number % 89}"  # a deleted account leaves no author
    reactions = chance.randint(0, 3)
    return {
        "kind": "pull" if pull else "issue",
        "number": number,
        "databaseId": number * 10,
        "title": title,
        "body": f"{fixes}{ODD_TEXT.format(number=number)}, see #{chance.randrange(1, n)}.\n",
        "state": ("MERGED" if merged else "CLOSED") if closed else "OPEN",
        "stateReason": None if pull else reason,
        "createdAt": iso(created),
        "updatedAt": "",
        "closedAt": closed_at,
        "author": author,
        "authorAssociation": association(author),
        "labels": labels,
        "milestone": f"2.{number % 9}.0" if number % 10 == 0 else None,
        "milestoneFacts": {"number": number % 9 + 1, "dueOn": iso(created) if number % 20 == 0 else None},
        "locked": number % 23 == 0,
        "lockReason": "TOO_HEATED" if number % 46 == 0 else None,
        "reactions": reactions,
        "assignees": [f"user-{(number + k) % 89}" for k in range(number % 3)],
        "parent": None,
        "subIssues": [],
        "comments": comments,
        "events": history.events,
        "closedBy": [],
        "closes": [int(target) for target in re.findall(r"Fixes #(\d+)", fixes) if int(target) % 4],
        "isDraft": not closed and number % 6 == 0,
        "mergedAt": closed_at if merged else None,
        "mergeSha": sha if merged else None,
        "mergedBy": "pytorchmergebot" if merged else None,
        "baseRefName": "main" if number % 5 else "master",
        "headRefName": f"gh/user-{number % 89}/{number}/head" if pull else "",
        "headSha": made_sha("head", number),
        "checks": ("SUCCESS", "FAILURE", "PENDING")[number % 3] if number % 16 else None,
        "files": _files(230 if number in (20, 60) else chance.randint(1, 5)) if pull else [],
    }


def _happens(number: int, title: str, labels: list[str], history: History) -> None:
    """What happens to an item before it ends."""
    for label in labels:
        history.add("LabeledEvent", label=label)
    if number % 7 == 0:
        history.add("LabeledEvent", label="needs reproduction")
        history.add("UnlabeledEvent", label="needs reproduction")
    for _ in range(60 if number % 100 == 3 else 0):  # longer than one page of a timeline
        history.add("LabeledEvent", label="flapping", actor="pytorch-bot[bot]")
        history.add("UnlabeledEvent", label="flapping", actor="pytorch-bot[bot]")
    if number % 11 == 0:
        history.add("RenamedTitleEvent", previousTitle=f"[draft] {title}", currentTitle=title)
    elsewhere = {"repo": OTHER_REPO, "number": number % 1000 + 1, "kind": "issue"}
    if number % 43 == 0:
        history.add("CrossReferencedEvent", source=elsewhere, willCloseTarget=False)
    if number % 31 == 0:
        history.add("ReferencedEvent", commit=made_sha("commit", number))
    if number % 47 == 0:
        history.add("ReferencedEvent", actor=None, commit=None)
    if number % 29 == 0:
        history.add("ConnectedEvent", subject=elsewhere)
    if number % 37 == 0 and number % 4:
        history.add("TransferredEvent", fromRepository=OTHER_REPO if number % 2 else None)
    if number % 19 == 0:
        history.add("ClosedEvent", stateReason="COMPLETED" if number % 4 else None, closer=None)
        history.add("ReopenedEvent")


def _end(number: int, n: int, history: History, merge_sha: str | None) -> str | None:
    """Close the item; returns why."""
    if number % 4 == 0:
        if merge_sha:
            history.add("MergedEvent", commit=merge_sha)
        history.add(
            "ClosedEvent", 0, stateReason=None, closer={"commit": merge_sha} if merge_sha and number % 8 else None
        )
        return None
    reason: str | None = "NOT_PLANNED" if number % 5 == 0 else "COMPLETED"
    if number % 13 == 0:
        canonical = number % n + 1
        place = {"repo": REPO, "number": canonical, "kind": "issue" if canonical % 4 else "pull"}
        history.add("MarkedAsDuplicateEvent", canonical=place)
        reason = "DUPLICATE"
    elif number % 17 == 0:
        reason = None  # closed before GitHub kept reasons
    history.add("ClosedEvent", stateReason=reason, closer=None)
    return reason


def _said(number: int, place: int, author: str | None, at: datetime, body: str) -> Json:
    """What every text of somebody has, with an id that no other text has."""
    return {
        "databaseId": BIG_ID * (number % 5 == 0) + number * 10_000 + place,
        "author": author,
        "authorAssociation": association(author),
        "createdAt": iso(at),
        "updatedAt": iso(at),
        "body": body,
    }


def _comments(number: int, count: int, created: datetime) -> list[Json]:
    made = []
    for k in range(count):
        author = "pytorch-bot[bot]" if k % 13 == 5 else f"user-{(number + k) % 89}"
        made.append(_said(number, k, author, created + timedelta(minutes=11 * (k + 1)), f"comment {k} on {number}"))
    return made


def _files(count: int) -> list[Json]:
    changes = ("MODIFIED", "ADDED", "MODIFIED", "RENAMED", "DELETED", "CHANGED", "COPIED")
    return [
        {"path": f"torch/op{k}.py", "additions": k % 50, "deletions": k % 9, "changeType": changes[k % 7]}
        for k in range(count)
    ]


def _refer(items: dict[int, Json]) -> None:
    """Add what bodies say about other items: cross-references, and which pull request closed an issue."""
    for number, item in items.items():
        source = {"repo": REPO, "number": number, "kind": item["kind"]}
        mentioned = {int(target) for target in re.findall(r"#(\d+)", item["body"])} & items.keys()
        for target in sorted(mentioned - {number}):
            moment = max(item["createdAt"], items[target]["createdAt"])
            event = {"type": "CrossReferencedEvent", "createdAt": moment, "actor": item["author"], "source": source}
            items[target]["events"].append(event | {"willCloseTarget": target in item["closes"]})
        for target in item["closes"]:
            items[target]["closedBy"].append(number)
            ends = [event for event in items[target]["events"] if event["type"] == "ClosedEvent"]
            if ends and items[target]["state"] != "OPEN":
                ends[-1]["closer"] = source


def _relate(items: dict[int, Json]) -> None:
    """Make every issue whose number ends in 5 the parent of the next issues."""
    issues = [number for number, item in items.items() if item["kind"] == "issue"]
    for place, number in enumerate(issues):
        for child in issues[place + 1 : place + 1 + number % 4] if number % 10 == 5 else ():
            items[child]["parent"] = number
            items[number]["subIssues"].append(child)


def association(login: str | None) -> str:
    """The same for every text of an author, as on GitHub at any one time."""
    return ("NONE", "CONTRIBUTOR", "MEMBER", "COLLABORATOR")[len(login or "") % 2 + 2 * ("user-1" in (login or ""))]


def made_sha(*words: object) -> str:
    """A hash that is the same every time."""
    return hashlib.sha1(repr(words).encode(), usedforsecurity=False).hexdigest()


def iso(moment: datetime) -> str:
    """A time as GitHub writes it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
