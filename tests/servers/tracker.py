"""One repository in the words of GitHub's REST API: its items, comments and events, and what listings show of them."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

Json = dict[str, Any]
START = datetime(2024, 1, 1, tzinfo=UTC)
LABELS = ("bug", "triaged", "module: autograd", "module: cuda", "module: correctness (silent)", "high priority")


def account(name: str) -> Json:
    """A user as every answer shows one."""
    return {"login": name, "id": sum(name.encode()), "type": "User"}


def moment(minute: int) -> str:
    """The time so many minutes after the start of 2024."""
    return (START + timedelta(minutes=minute)).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass
class Repository:
    """One repository; every record is in the shape of GitHub's answers, with the `number` of its item."""

    repo_id: int
    name: str
    items: dict[int, Json] = field(default_factory=dict)
    comments: list[Json] = field(default_factory=list)
    events: list[Json] = field(default_factory=list)
    clock: int = 0

    def add(self, number: int, *, kind: str = "issue", **fields: Any) -> Json:
        """Add an item; it is created and changed one minute after the last."""
        self.clock += 1
        at = moment(self.clock)
        item: Json = {
            "id": self.repo_id * 1_000_000 + number,
            "number": number,
            "title": f"Item {number}",
            "body": f"Text of {number}",
            "user": account("ann"),
            "state": "open",
            "labels": [],
            "milestone": None,
            "comments": 0,
            "created_at": at,
            "updated_at": at,
            "closed_at": None,
        }
        if kind == "pull":
            item["pull_request"] = {"merged_at": None}
        self.items[number] = item | fields
        return self.items[number]

    def touch(self, number: int, **fields: Any) -> Json:
        """Change an item one minute after the last change."""
        self.clock += 1
        self.items[number] |= {"updated_at": moment(self.clock), **fields}
        return self.items[number]

    def _record(self, kept: list[Json], number: int, author: str, **fields: Any) -> Json:
        at = moment(self.clock)
        made = {"id": len(kept) + 1, "user": account(author), "created_at": at, "updated_at": at, "number": number}
        kept.append(made | fields)
        return kept[-1]

    def comment(self, number: int, body: str = "A comment") -> Json:
        """Add a comment to an item, which changes the item too."""
        self.items[number]["comments"] += 1
        self.touch(number)
        return self._record(self.comments, number, "bob", body=body)

    def event(self, number: int, name: str = "labeled", **fields: Any) -> Json:
        """Add an event to an item; the item is not changed by it."""
        self.clock += 1
        event = {"id": len(self.events) + 1, "event": name, "created_at": moment(self.clock), "number": number}
        self.events.append(event | {"actor": account("ann"), "label": {"name": "x"}} | fields)
        return self.events[-1]

    # -- what listings show

    def listed(self, query: dict[str, str]) -> list[Json]:
        """The items that a listing has, in its order."""
        wanted = {name.lower() for name in query.get("labels", "").split(",") if name}
        kept = [
            item
            for item in self.items.values()
            if query.get("state", "open") in ("all", item["state"])
            and wanted <= {label["name"].lower() for label in item["labels"]}
        ]
        return ordered(kept, query)

    def timeline(self, number: int) -> list[Json]:
        """Comments and events of an item in the order of their times."""
        said = [c | {"event": "commented", "actor": c["user"]} for c in self.comments if c["number"] == number]
        happened = [event for event in self.events if event["number"] == number]
        return sorted([*said, *happened], key=lambda one: str(one["created_at"]))

    def found(self, words: list[tuple[str, str]]) -> list[Json] | None:
        """The items that a search finds; None where it has a word that GitHub has not."""
        if {name for name, _ in words} - SEARCHED.keys():
            return None
        return [item for item in self.items.values() if all(SEARCHED[name](item, value) for name, value in words)]


def ordered(entries: list[Json], query: dict[str, str]) -> list[Json]:
    """Records since a time, in the order that a query asks for."""
    key = {"updated": "updated_at", "comments": "comments"}.get(query.get("sort", ""), "created_at")
    kept = [entry for entry in entries if str(entry["updated_at"]) >= query.get("since", "")]
    return sorted(kept, key=lambda e: (e[key], int(e["id"])), reverse=query.get("direction", "desc") == "desc")


SEARCHED = {
    "repo": lambda _item, _value: True,
    "is": lambda item, value: ("pull_request" in item) == (value == "pr"),
}
"""Words of a search, of all that GitHub has those that a mine asks by."""


def search_words(query: str) -> list[tuple[str, str]]:
    """The words `name:value` of a search."""
    return re.findall(r"([^\s:]+):(\S+)", query)


def fill(repository: Repository, issues: int, pulls: int = 0) -> None:
    """Give a repository so many items, one a minute: every third has a comment, every second an event."""
    for number in range(1, issues + pulls + 1):
        repository.add(number, kind="issue" if number <= issues else "pull")
    for number in range(1, issues + pulls + 1):
        if number % 3 == 0:
            repository.comment(number)
        if number % 2 == 0:
            repository.event(number)


def write_history(repository: Repository, count: int, seed: int = 7) -> None:
    """Give a repository items as people write them: labels, comments, closes for a reason, pull requests that fix.

    Every tenth is a pull request whose text says `Fixes #n`.
    """
    chance = random.Random(seed)
    for number in range(1, count + 1):
        pull = number % 10 == 0
        body = f"Fixes #{chance.randrange(1, number)}" if pull else f"Traceback of op {number}\ngot \U0001f525\n"
        labels = [{"name": name} for name in chance.sample(LABELS, chance.randint(0, 3))]
        repository.add(number, kind="pull" if pull else "issue", title=f"op {number}", body=body, labels=labels)
        if chance.random() < 0.4:
            repository.comment(number, f"same here {number}")
        if chance.random() < 0.6:
            reason = None if pull else chance.choice(("completed", "not_planned"))
            item = repository.touch(number, state="closed", state_reason=reason)
            item["closed_at"] = item["updated_at"]
            repository.event(number, "closed", state_reason=reason)
