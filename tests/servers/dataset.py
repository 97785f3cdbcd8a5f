"""Data for the GraphQL stand-in: real text from the shared data, or generated text, with a derived history.

The shape is the one of ``Dataset`` below, in GitHub's GraphQL words. Texts, numbers, labels, fixing pull requests
and files of the shared data are real. **Everything else is invented, deterministically from the item's number**:
authors, most dates, close reasons, renames, re-labelling, transfers, duplicates, merge commits. Tests may compare
what a miner finds with this data; nothing may be concluded from it about PyTorch.
"""

from __future__ import annotations

import ast
import csv
import gzip
import hashlib
import io
import json
import random
import re
from bisect import bisect_right
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypedDict

from servers.wiremock import SHARED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

Json = dict[str, Any]

DATA = SHARED / "data"
REPO = "pytorch/pytorch"
OTHER_REPO = "pytorch/vision"
"""Where transferred items come from and cross-repository references point to."""
REPO_IDS = {REPO: 65600975, OTHER_REPO: 73328905}
TOKENS = ("token-one", "token-two", "token-three")
BIG_IDS_FROM = 150_000
"""Numbers from about 2025 on have database ids beyond 32 bits."""
BIG_ID = 3_000_000_000
CSV_FIELD_LIMIT = 10_000_000

# Number and date of a few items of the real tracker; dates between them are interpolated.
CALENDAR = (
    (1, "2016-08-13"),
    (33_000, "2020-02-05"),
    (80_000, "2022-06-22"),
    (140_000, "2024-11-07"),
    (190_000, "2026-07-01"),
)
MENTION = re.compile(r"(?<![\w/])#(\d{1,6})\b")
RESOLVED = re.compile(r"Pull Request resolved: \S*?/pull/(\d+)|\(#(\d+)\)$", re.MULTILINE)
CLOSES = re.compile(r"\b(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?):?\s+#(\d{1,6})\b", re.IGNORECASE)
HINT = re.compile(r"^\[(\S+) · (\d{4}-\d\d-\d\d)\]\n", re.MULTILINE)


class CommentJson(TypedDict):
    """A comment as the stand-in wants it."""

    databaseId: int
    author: str | None
    authorAssociation: str
    createdAt: str
    updatedAt: str
    body: str
    reactionCounts: dict[str, int]


class FileJson(TypedDict):
    """A file of a pull request."""

    path: str
    additions: int
    deletions: int
    changeType: str


class ItemJson(TypedDict):
    """An issue or pull request; the fields from ``isDraft`` on matter for pull requests only."""

    kind: str
    number: int
    databaseId: int
    title: str
    body: str
    state: str
    stateReason: str | None
    createdAt: str
    updatedAt: str
    closedAt: str | None
    author: str | None
    authorAssociation: str
    labels: list[str]
    milestone: str | None
    milestoneFacts: Json
    """Number and due date of the milestone; matters only where there is one."""
    locked: bool
    lockReason: str | None
    reactions: int
    reactionCounts: dict[str, int]
    assignees: list[str]
    parent: int | None
    subIssues: list[int]
    comments: list[CommentJson]
    events: list[Json]
    closedBy: list[int]
    closes: list[int]
    isDraft: bool
    mergedAt: str | None
    mergeSha: str | None
    mergedBy: str | None
    baseRefName: str
    headRefName: str
    headSha: str
    checks: Json | None
    """``state`` of all checks of the head commit together, counts of ``runs`` and ``contexts`` by state; or ``None``."""
    reviews: list[Json]
    commits: list[Json]
    reviewers: list[str]
    """Logins, and teams as ``organisation/team``."""
    files: list[FileJson]


class RepoJson(TypedDict):
    """A repository with its items."""

    nameWithOwner: str
    databaseId: int
    items: list[ItemJson]


class Dataset(TypedDict):
    """What the stand-in is started with."""

    tokens: list[str]
    renamed: dict[str, str]
    repos: list[RepoJson]


@dataclass(frozen=True, slots=True)
class Text:
    """What is known of an item before a history is made up for it."""

    kind: str
    number: int
    title: str
    body: str
    closed: bool
    labels: tuple[str, ...] = ()
    comments: tuple[str, ...] = ()
    created: datetime | None = None
    ended: datetime | None = None
    merged: bool = False
    files: tuple[str, ...] = ()
    commit: str | None = None
    reactions: int = 0


@dataclass(slots=True)
class _History:
    """Events of one item in the order they are invented; ``at`` is the clock."""

    at: datetime
    events: list[Json] = field(default_factory=list)

    def tick(self, minutes: int = 7) -> str:
        self.at += timedelta(minutes=minutes)
        return _iso(self.at)

    def add(self, kind: str, minutes: int = 7, actor: str | None = "octocat", **parts: object) -> None:
        self.events.append({"type": kind, "createdAt": self.tick(minutes), "actor": actor, **parts})


def dataset_from_shared(data: Path = DATA) -> Dataset:
    """Build the dataset from the shared real texts: about 1,400 issues and pull requests of pytorch/pytorch.

    752 issues with comments (no dates in the file: interpolated from the number), 99 recent issues with their
    fixing pull requests, 400 items of February 2020 (a pull request where the body carries a mark of PyTorch's
    own landing tools, else an issue), and the pull requests of 221 fix commits. Some items are made large, so
    that every nested list needs a second page.
    Raises FileNotFoundError when the data is not there, see ``shared_reason``.
    """
    texts: dict[int, Text] = {}
    for source in (_recent(data), _february(data), _commented(data), _landed(data)):
        for text in source:
            texts.setdefault(text.number, text)
    return _dataset(texts)


def shared_reason(data: Path = DATA) -> str | None:
    """Return why ``dataset_from_shared`` cannot be used, or ``None``."""
    return None if (data / "mhnurf_pytorch.csv.gz").is_file() else "the shared data is not beside this checkout"


def synthetic_dataset(n: int = 300, seed: int = 11) -> Dataset:
    """Build a dataset of ``n`` generated items, every fourth a pull request; needs no file."""
    rng = random.Random(seed)
    texts: dict[int, Text] = {}
    labels = ("bug", "triaged", "module: mps", "module: correctness (silent)", "high priority", "oncall: pt2")
    for number in range(1, n + 1):
        pull = number % 4 == 0
        fixes = f"Fixes #{rng.randrange(1, number)}\n" if pull else ""
        texts[number] = Text(
            kind="pull" if pull else "issue",
            number=number,
            title=f"{'Fix' if pull else 'Wrong result in'} op {number}",
            body=f"{fixes}Strided input \u00e9\U0001f525 {number}, see #{rng.randrange(1, n)}.\n",
            closed=rng.random() < 0.7,
            labels=tuple(rng.sample(labels, rng.randint(0, 4))),
            comments=tuple(f"comment {k} on {number}" for k in range(rng.randint(0, 6))),
            merged=pull and rng.random() < 0.5,
            files=tuple(f"torch/op{k}.py" for k in range(rng.randint(1, 5))) if pull else (),
            reactions=rng.randint(0, 3),
        )
    return _dataset(texts)


# ---- readers of the shared files


def _commented(data: Path) -> Iterator[Text]:
    csv.field_size_limit(CSV_FIELD_LIMIT)
    with gzip.open(data / "mhnurf_pytorch.csv.gz") as raw:
        for row in csv.DictReader(io.TextIOWrapper(raw, "utf-8")):
            yield Text(
                kind="issue",
                number=int(row["Number"]),
                title=row["Title"],
                body=row["Body"],
                closed=row["State"] == "closed",
                labels=_split_labels(row["Labels"]),
                comments=tuple(ast.literal_eval(row["Comments"])),
            )


def _split_labels(text: str) -> tuple[str, ...]:
    # The file joins labels by blanks and labels hold blanks; a cut before "module:" and known words is enough
    # for a stand-in.
    cut = re.sub(r" (?=module: |triaged$|triage review|high priority|needs reproduction|feature$)", "|", text.strip())
    return tuple(dict.fromkeys(label for label in cut.split("|") if label))


def _recent(data: Path) -> Iterator[Text]:
    with gzip.open(data / "recent_issues_text.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            number = int(row["issue_numbers"][0])
            title, _, body = row["problem_statement"].partition("\n")
            end = datetime.fromisoformat(row["fix_commit_at"])
            hints = HINT.split(row["hints_text"] or "")
            yield Text(
                kind="issue",
                number=number,
                title=title,
                body=body.strip(),
                closed=True,
                labels=tuple(row["issue_labels"] or ()),
                comments=tuple(text.strip() for text in hints[3::3]),
                created=datetime.fromisoformat(row["issue_created_at"]),
                ended=end,
            )
            yield Text(
                kind="pull",
                number=int(row["pull_number"]),
                title=f"Fix: {title}"[:200],
                body=f"Fixes #{number}",
                closed=True,
                created=end - timedelta(days=3),
                ended=end,
                merged=True,
                files=tuple(row["fix_files"] or ()),
            )


def _february(data: Path) -> Iterator[Text]:
    with gzip.open(data / "issues_and_prs_2020_02.json.gz") as raw:
        rows = json.load(raw)
    for row in rows:
        body = row["body"] or ""
        number = int(row["issue_number"])
        pull = "ghstack" in body or "Differential Revision" in body
        yield Text(
            kind="pull" if pull else "issue",
            number=number,
            title=row["title"],
            body=body,
            closed=number % 4 != 0,
            labels=tuple(row["labels"]),
            comments=tuple(f"comment {k} on {number}" for k in range(row["number_of_comments"])),
            created=datetime.fromisoformat(row["created_at"]).replace(tzinfo=UTC),
            files=(f"torch/csrc/file{number % 97}.cpp",) if pull else (),
            reactions=row["reactions"]["total_count"],
        )


def _landed(data: Path) -> Iterator[Text]:
    with gzip.open(data / "checkerbugs_pytorch.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            match = RESOLVED.search(row["message"])
            if match is None:
                continue
            title, _, body = row["message"].partition("\n")
            landed = datetime.fromisoformat(row["date"]).astimezone(UTC)
            # PyTorch lands through its own tools: such a pull request ends closed, not merged.
            yield Text(
                kind="pull",
                number=int(match[1] or match[2]),
                title=title,
                body=body.strip(),
                closed=True,
                labels=("Merged", "open source"),
                created=landed - timedelta(days=5),
                ended=landed,
                files=("aten/src/ATen/native/Indexing.cpp",),
                commit=row["commit"].rsplit("/", 1)[-1],
            )


# ---- from texts to items with a history


def _dataset(texts: Mapping[int, Text]) -> Dataset:
    grown = {text.number: text for text in _enlarged(texts.values())}
    items = {number: _item(text, grown) for number, text in sorted(grown.items())}
    _refer(items)
    _relate(items)
    for number, item in items.items():
        item["events"].sort(key=lambda event: str(event["createdAt"]))
        last = [item["createdAt"], item["closedAt"] or "", *(event["createdAt"] for event in item["events"])]
        item["updatedAt"] = max([*last, *(comment["updatedAt"] for comment in item["comments"])])
        if number % 40 < 2:
            # A bulk edit: many items share one second, which a cursor by time alone cannot split.
            item["updatedAt"] = max(item["updatedAt"], "2026-08-01T12:00:00Z")
    main: RepoJson = {"nameWithOwner": REPO, "databaseId": REPO_IDS[REPO], "items": list(items.values())}
    other: RepoJson = {"nameWithOwner": OTHER_REPO, "databaseId": REPO_IDS[OTHER_REPO], "items": []}
    return {"tokens": list(TOKENS), "renamed": {"pytorch/old-name": REPO}, "repos": [main, other]}


def _enlarged(texts: Iterable[Text]) -> Iterator[Text]:
    """Let some items overflow the first page of their comments, labels or files."""
    issues = pulls = 0
    for text in sorted(texts, key=lambda one: one.number):
        changes: Json = {}
        if text.kind == "issue":
            issues += 1
            if issues in {20, 40}:
                changes["comments"] = (*text.comments, *(f"me too, {k}" for k in range(230)))
            if issues == 30:
                changes["labels"] = tuple(f"label {k}" for k in range(100))
        else:
            pulls += 1
            if pulls in {5, 15}:
                changes["files"] = tuple(f"torch/generated/part{k}.py" for k in range(230))
        yield _replace(text, changes)


def _replace(text: Text, changes: Json) -> Text:
    values = {name: getattr(text, name) for name in Text.__slots__}
    return Text(**{**values, **changes})


def _item(text: Text, texts: Mapping[int, Text]) -> ItemJson:
    number = text.number
    created = text.created or _day_of(number)
    history = _History(created)
    comments = _comments(text, created)
    _label(text, history)
    if number % 11 == 0:
        history.add("RenamedTitleEvent", previousTitle=f"[draft] {text.title}", currentTitle=text.title)
    _oddities(text, history)
    if comments:
        history.at = max(history.at, datetime.fromisoformat(comments[-1]["createdAt"]))
    if text.ended is not None:
        history.at = max(history.at, text.ended)
    closes = sorted({n for n in map(int, CLOSES.findall(text.body)) if n in texts and n != number})
    closes = [target for target in closes if texts[target].kind == "issue"] if text.kind == "pull" else []
    merge_sha = text.commit or hashlib.sha1(f"merge {number}".encode(), usedforsecurity=False).hexdigest()
    reason = _end(text, history, texts, merge_sha)
    closed_at = history.events[-1]["createdAt"] if text.closed else None
    if closed_at and comments and number % 6 == 1:
        # "Close with comment": GitHub's page writes both at once.
        octocat = {"author": "octocat", "authorAssociation": _association("octocat")}
        comments[-1].update({**octocat, "createdAt": closed_at, "updatedAt": closed_at})
    return {
        "kind": text.kind,
        "number": number,
        "databaseId": _big(number) + number * 10,
        "title": text.title,
        "body": text.body,
        "state": _state(text),
        "stateReason": reason,
        "createdAt": _iso(created),
        "updatedAt": _iso(history.at),
        "closedAt": closed_at,
        # A deleted account leaves no author.
        "author": None if number % 53 == 0 else f"user-{number % 89}",
        "authorAssociation": _association(None if number % 53 == 0 else f"user-{number % 89}"),
        "labels": list(text.labels),
        "milestone": f"2.{number % 9}.0" if number % 10 == 0 else None,
        "milestoneFacts": {"number": number % 9 + 1, "dueOn": _iso(created) if number % 20 == 0 else None},
        "locked": number % 23 == 0,
        "lockReason": "TOO_HEATED" if number % 46 == 0 else None,
        "reactions": text.reactions,
        "reactionCounts": _reactions(number, text.reactions),
        "assignees": [f"user-{(number + k) % 89}" for k in range(number % 3)],
        "parent": None,
        "subIssues": [],
        "comments": comments,
        "events": history.events,
        "closedBy": [],
        "closes": closes,
        "isDraft": not text.closed and number % 6 == 0,
        "mergedAt": closed_at if text.merged and text.closed else None,
        "mergeSha": merge_sha if text.merged and text.closed else None,
        "mergedBy": "pytorchmergebot" if text.merged and text.closed else None,
        "baseRefName": "main" if number > 66_000 else "master",
        "headRefName": f"gh/user-{number % 89}/{number}/head" if text.kind == "pull" else "",
        "headSha": hashlib.sha1(f"head {number}".encode(), usedforsecurity=False).hexdigest(),
        "checks": _checks(number),
        "reviews": _reviews(text, created) if text.kind == "pull" else [],
        "commits": _commits(text, created) if text.kind == "pull" else [],
        "reviewers": [f"user-{number % 87}", "pytorch/reviewers"][: number % 3] if text.kind == "pull" else [],
        "files": [_file(path, k) for k, path in enumerate(text.files)],
    }


KINDS = ("THUMBS_UP", "THUMBS_DOWN", "LAUGH", "HOORAY", "CONFUSED", "HEART", "ROCKET", "EYES")


def _reactions(number: int, count: int) -> dict[str, int]:
    """So many reactions, spread over kinds."""
    found = dict.fromkeys(KINDS, 0)
    for k in range(count):
        found[KINDS[(number + k // 2) % len(KINDS)]] += 1
    return {kind: n for kind, n in found.items() if n}


def _checks(number: int) -> Json | None:
    if number % 16 == 0:
        return None
    runs = {"SUCCESS": number % 150, "FAILURE": number % 3, "SKIPPED": number % 5}
    contexts = {"SUCCESS": number % 2, "PENDING": number % 4}
    return {"state": ("SUCCESS", "FAILURE", "PENDING")[number % 3], "runs": runs, "contexts": contexts}


def _reviews(text: Text, created: datetime) -> list[Json]:
    """Reviews with comments on lines; one in a while is long."""
    made = []
    for k in range(text.number // 4 % 4):
        moment = _iso(created + timedelta(minutes=17 * (k + 1)))
        first = text.number * 10_000 + k * 1_000
        written = (0, 2, 5)[k] if text.number % 60 else 120
        comments = [
            {
                "databaseId": _big(text.number) + first + place,
                "author": f"user-{(text.number + place) % 89}" if place % 7 != 6 else None,
                "authorAssociation": _association(f"user-{(text.number + place) % 89}" if place % 7 != 6 else None),
                "createdAt": moment,
                "updatedAt": moment,
                "body": f"remark {place} of review {k}",
                "path": f"torch/op{place % 5}.py",
                "line": place + 1 if place % 4 else None,
                "originalLine": place + 1,
                "originalCommit": _hash(f"pushed {text.number} 0"),
                "replyTo": _big(text.number) + first if place else None,
                "reactionCounts": _reactions(text.number, place % 3),
            }
            for place in range(written)
        ]
        made.append(
            {
                "databaseId": _big(text.number) + text.number * 100 + k,
                "author": f"user-{(text.number + k + 3) % 89}" if k != 2 else None,
                "authorAssociation": _association(f"user-{(text.number + k + 3) % 89}" if k != 2 else None),
                "state": ("COMMENTED", "CHANGES_REQUESTED", "APPROVED")[k],
                "body": "" if k == 0 else f"review {k}",
                "submittedAt": moment,
                "updatedAt": moment,
                "commit": _hash(f"pushed {text.number} 0"),
                "reactionCounts": _reactions(text.number, k),
                "comments": comments,
            }
        )
    return made


def _commits(text: Text, created: datetime) -> list[Json]:
    """Commits of the branch; some branches are longer than a page."""
    return [
        {
            "oid": _hash(f"pushed {text.number} {k}"),
            "message": f"step {k}\n\nof {text.title}",
            "date": _iso(created + timedelta(minutes=k)),
            "name": f"User {text.number % 89}",
            "login": f"user-{text.number % 89}" if k % 5 else None,
        }
        for k in range(130 if text.number % 100 == 52 else 1 + text.number % 3)
    ]


def _hash(text: str) -> str:
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


def _association(login: str | None) -> str:
    """The same for every text of an author, as on GitHub at any one time."""
    return ("NONE", "CONTRIBUTOR", "MEMBER", "COLLABORATOR")[len(login or "") % 2 + 2 * ("user-1" in (login or ""))]


def _state(text: Text) -> str:
    if not text.closed:
        return "OPEN"
    return "MERGED" if text.kind == "pull" and text.merged else "CLOSED"


def _comments(text: Text, created: datetime) -> list[CommentJson]:
    moments = [_iso(created + timedelta(minutes=11 * (k + 1))) for k in range(len(text.comments))]
    return [
        {
            "databaseId": _big(text.number) + text.number * 1_000 + k,
            "author": "pytorch-bot[bot]" if k % 13 == 5 else f"user-{(text.number + k) % 89}",
            "authorAssociation": _association("pytorch-bot[bot]" if k % 13 == 5 else f"user-{(text.number + k) % 89}"),
            "createdAt": moment,
            "updatedAt": moment,
            "body": body,
            "reactionCounts": _reactions(text.number, (text.number + k) % 4),
        }
        for k, (moment, body) in enumerate(zip(moments, text.comments, strict=True))
    ]


def _label(text: Text, history: _History) -> None:
    for label in text.labels:
        history.add("LabeledEvent", label=label)
    if text.number % 7 == 0:
        history.add("LabeledEvent", label="needs reproduction")
        history.add("UnlabeledEvent", label="needs reproduction")
    if text.number % 100 == 3:
        # Longer than one page of a timeline.
        for _ in range(60):
            history.add("LabeledEvent", label="flapping", actor="pytorch-bot[bot]")
            history.add("UnlabeledEvent", label="flapping", actor="pytorch-bot[bot]")


def _oddities(text: Text, history: _History) -> None:
    number = text.number
    elsewhere = {"repo": OTHER_REPO, "number": number % 1000 + 1, "kind": "issue"}
    if number % 43 == 0:
        history.add("CrossReferencedEvent", source=elsewhere, willCloseTarget=False)
    if number % 31 == 0:
        commit = hashlib.sha1(f"commit {number}".encode(), usedforsecurity=False).hexdigest()
        history.add("ReferencedEvent", commit=commit)
    if number % 47 == 0:
        history.add("ReferencedEvent", actor=None, commit=None)
    if number % 29 == 0:
        history.add("ConnectedEvent", subject=elsewhere)
    if number % 37 == 0 and text.kind == "issue":
        history.add("TransferredEvent", fromRepository=OTHER_REPO if number % 2 else None)


def _end(text: Text, history: _History, texts: Mapping[int, Text], sha: str) -> str | None:
    """Close the item if it is closed; return its ``stateReason``."""
    number = text.number
    reopened = number % 19 == 0
    if reopened:
        history.add("ClosedEvent", stateReason=_reason(text, "COMPLETED"), closer=None)
        history.add("ReopenedEvent", stateReason=_reason(text, "REOPENED"))
    if not text.closed:
        return _reason(text, "REOPENED") if reopened else None
    if text.kind == "pull":
        if text.merged:
            history.add("MergedEvent", commit=sha)
        history.add("ClosedEvent", 0, stateReason=None, closer={"commit": text.commit} if text.commit else None)
        return None
    if number % 13 == 0:
        canonical = number + 1 if number + 1 in texts else min((n for n in texts if n > number), default=min(texts))
        place = {"repo": REPO, "number": canonical, "kind": texts[canonical].kind}
        itself = {"repo": REPO, "number": number, "kind": text.kind}
        history.add("MarkedAsDuplicateEvent", canonical=place, duplicate=itself)
        if number % 2 == 0:
            history.add("UnmarkedAsDuplicateEvent", canonical=None, duplicate=itself)
            history.add("MarkedAsDuplicateEvent", canonical=place, duplicate=itself)
        reason: str | None = "DUPLICATE"
    elif number % 17 == 0:
        reason = None  # closed before GitHub kept reasons
    else:
        reason = "NOT_PLANNED" if number % 5 == 0 else "COMPLETED"
    history.add("ClosedEvent", stateReason=reason, closer=None)
    return reason


def _reason(text: Text, reason: str) -> str | None:
    return reason if text.kind == "issue" else None


def _refer(items: Mapping[int, ItemJson]) -> None:
    """Add what bodies say about other items: cross-references, and which pull request closed an issue."""
    for item in items.values():
        source = {"repo": REPO, "number": item["number"], "kind": item["kind"]}
        mentioned = {n for n in map(int, MENTION.findall(item["body"])) if n in items}
        for number in sorted((mentioned | set(item["closes"])) - {item["number"]}):
            moment = max(item["createdAt"], items[number]["createdAt"])
            event = {"type": "CrossReferencedEvent", "createdAt": moment, "actor": item["author"]}
            closing = number in item["closes"]
            items[number]["events"].append({**event, "source": source, "willCloseTarget": closing})
        for number in item["closes"]:
            items[number]["closedBy"].append(item["number"])
            ends = [event for event in items[number]["events"] if event["type"] == "ClosedEvent"]
            if ends and item["state"] != "OPEN":
                ends[-1]["closer"] = source


def _relate(items: Mapping[int, ItemJson]) -> None:
    """Make every issue whose number ends in 5 the parent of the next issues."""
    issues = sorted(number for number, item in items.items() if item["kind"] == "issue")
    for place, number in enumerate(issues):
        if number % 10 == 5:
            for child in issues[place + 1 : place + 1 + number % 4]:
                items[child]["parent"] = number
                items[number]["subIssues"].append(child)


def _file(path: str, k: int) -> FileJson:
    change = ("MODIFIED", "ADDED", "MODIFIED", "RENAMED", "DELETED", "CHANGED", "COPIED")[k % 7]
    return {"path": path, "additions": k % 50, "deletions": k % 9, "changeType": change}


def _big(number: int) -> int:
    return BIG_ID if number >= BIG_IDS_FROM else 0


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _day_of(number: int) -> datetime:
    """Interpolate the day on which an item of this number was probably opened."""
    numbers = [known for known, _day in CALENDAR]
    place = min(max(bisect_right(numbers, number), 1), len(CALENDAR) - 1)
    (low, first), (high, last) = CALENDAR[place - 1], CALENDAR[place]
    start = datetime.fromisoformat(first).replace(tzinfo=UTC)
    span = datetime.fromisoformat(last).replace(tzinfo=UTC) - start
    return start + span * ((number - low) / (high - low))
