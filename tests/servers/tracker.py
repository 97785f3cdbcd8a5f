"""A small GitHub REST tracker in this process, for the listings and faults that no server written by others has.

Repository-wide comments and events, pull requests inside the issue list and in their own, search counts, Link headers
by page number, renamed repositories and transferred items; and GitHub's silent failures: a page without its Link, an
empty page, a limit of pages. It answers what docs.github.com describes, and no more than the miner asks for.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable

Json = dict[str, Any]
START = datetime(2024, 1, 1, tzinfo=UTC)
PAGE_LIMIT = "In order to keep the API fast for everyone, pagination is limited for this resource."


def account(name: str) -> Json:
    """A user as every answer shows one."""
    return {"login": name, "id": sum(name.encode()), "type": "User"}


def moment(minute: float) -> str:
    """The time so many minutes after the start of 2024."""
    return (START + timedelta(minutes=minute)).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass
class Repository:
    """One repository with its items, comments and events in the shape of GitHub's answers."""

    repo_id: int
    name: str
    items: dict[int, Json] = field(default_factory=dict)
    comments: list[Json] = field(default_factory=list)
    events: list[Json] = field(default_factory=list)
    remarks: list[Json] = field(default_factory=list)
    """Comments on lines of pull requests."""
    gone: dict[int, str | None] = field(default_factory=dict)
    """Numbers of deleted items (``None``) and of transferred ones (path of the new place)."""
    reviewers: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """Who is asked to review a pull request."""
    pushes: dict[int, int] = field(default_factory=dict)
    """How often the branch of a pull request was pushed to after it was opened."""
    clock: float = 0.0

    def add(self, number: int, *, kind: str = "issue", minute: float | None = None, **fields: Any) -> Json:
        """Add an item; it is created and changed at ``minute`` (else one minute after the last)."""
        self.clock = self.clock + 1 if minute is None else minute
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
        item |= fields
        self.items[number] = item
        return item

    def touch(self, number: int, **fields: Any) -> Json:
        """Change an item one minute after the last change."""
        self.clock += 1
        self.items[number] |= {"updated_at": moment(self.clock), **fields}
        return self.items[number]

    def label(self, number: int, *names: str) -> Json:
        """Set the labels of an item."""
        return self.touch(number, labels=[{"name": name} for name in names])

    def comment(self, number: int, body: str = "A comment") -> Json:
        """Add a comment to an item, which changes the item too."""
        self.items[number]["comments"] += 1
        self.touch(number)
        at = moment(self.clock)
        comment = {
            "id": len(self.comments) + 1,
            "user": account("bob"),
            "body": body,
            "created_at": at,
            "updated_at": at,
            "number": number,
        }
        self.comments.append(comment)
        return comment

    def remark(self, number: int, body: str = "A remark") -> Json:
        """Add a comment on a line of a pull request."""
        self.clock += 1
        at = moment(self.clock)
        made = {"id": len(self.remarks) + 1, "user": account("cid"), "body": body, "path": "a.py", "line": 3}
        made |= {"created_at": at, "updated_at": at, "number": number}
        self.remarks.append(made)
        return made

    def request_review(self, number: int, *names: str) -> None:
        """Set who is asked to review a pull request."""
        self.reviewers[number] = names
        self.touch(number)

    def push(self, number: int) -> None:
        """Give a pull request another head commit."""
        self.pushes[number] = self.pushes.get(number, 0) + 1
        self.touch(number)

    def event(self, number: int, name: str = "labeled", **fields: Any) -> Json:
        """Add an event to an item; the item is not changed by it."""
        self.clock += 1
        event = {"id": len(self.events) + 1, "event": name, "created_at": moment(self.clock), "number": number}
        event |= {"actor": account("ann"), "label": {"name": "x"}} | fields
        self.events.append(event)
        return event

    def delete(self, number: int, moved_to: str | None = None) -> None:
        """Delete an item with its comments and events, or transfer it to the path ``moved_to``."""
        del self.items[number]
        self.comments = [c for c in self.comments if c["number"] != number]
        self.events = [e for e in self.events if e["number"] != number]
        self.gone[number] = moved_to


@dataclass
class Asked:
    """One request."""

    path: str
    query: dict[str, str]

    @property
    def page(self) -> int:
        """Page number, 1 where none is given."""
        return int(self.query.get("page", 1))


@dataclass
class Answered:
    """One answer, before it is sent."""

    body: Any
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class _Fault:
    """A change of the next answers to some requests."""

    path: str
    matches: Callable[[Asked], bool]
    change: Callable[[Answered], Answered]
    times: int


def without_link(answered: Answered) -> Answered:
    """The answer as GitHub sometimes gives it: whole, but without its Link header."""
    return Answered(answered.body, answered.status, {k: v for k, v in answered.headers.items() if k != "Link"})


def empty(_answered: Answered) -> Answered:
    """An empty list without a Link header."""
    return Answered([])


def refused(_answered: Answered) -> Answered:
    """What GitHub says of a page that lies too deep."""
    return Answered({"message": PAGE_LIMIT, "status": "422"}, 422)


class _QuietServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_arguments: object) -> None:
        """Say nothing of clients that were killed."""


class Tracker:
    """The server; ``with Tracker() as tracker`` starts and stops it."""

    def __init__(self) -> None:
        self.repositories: dict[int, Repository] = {}
        self.renamed: dict[str, int] = {}
        self.asked: list[Asked] = []
        self.met: Counter[str] = Counter()
        """How many answers were changed by faults, by the end of the path that they were put on."""
        self.deepest_page: dict[str, int] = {}
        """By end of the path: pages behind this one are refused with 422."""
        self._faults: list[_Fault] = []
        self._before: list[tuple[Callable[[Asked], bool], Callable[[], object]]] = []
        self._guard = threading.Lock()

    # -- orders of the tests

    def repository(self, name: str = "alice/bugs", repo_id: int = 1) -> Repository:
        """Add an empty repository."""
        self.repositories[repo_id] = Repository(repo_id, name)
        return self.repositories[repo_id]

    def rename(self, repo_id: int, name: str) -> None:
        """Give a repository another name; the old one redirects until somebody takes it."""
        repository = self.repositories[repo_id]
        self.renamed[repository.name] = repo_id
        repository.name = name

    def fault(self, change: Callable[[Answered], Answered], path: str, times: int = 1, **query: str | None) -> None:
        """Change the next answers to requests whose path ends so and whose query has these values (None: absent)."""
        self._faults.append(_Fault(path, _matches(path, query), change, times))

    def heal(self) -> None:
        """Remove all faults."""
        self._faults.clear()

    def before(self, act: Callable[[], object], path: str, **query: str | None) -> None:
        """Do something once, before the next such request is answered."""
        self._before.append((_matches(path, query), act))

    def requests(self, path: str) -> list[Asked]:
        """The requests whose path ends so."""
        return [asked for asked in self.asked if asked.path.endswith(path)]

    # -- answers

    def answer(self, target: str) -> Answered:
        """Answer one GET request."""
        parts = urlsplit(target)
        asked = Asked(parts.path, dict(parse_qsl(parts.query)))
        with self._guard:
            self.asked.append(asked)
            for place, (matches, act) in enumerate(self._before):
                if matches(asked):
                    del self._before[place]
                    act()
                    break
            return self._damaged(asked, self._routed(asked))

    def _damaged(self, asked: Asked, answered: Answered) -> Answered:
        for fault in self._faults:
            if fault.matches(asked):
                self.met[fault.path] += 1
                fault.times -= 1
                if fault.times <= 0:
                    self._faults.remove(fault)
                return fault.change(answered)
        return answered

    def _routed(self, asked: Asked) -> Answered:
        if asked.path == "/search/issues":
            return self._search(asked)
        match = re.fullmatch(r"/(?:repos/([^/]+/[^/]+)|repositories/(\d+))(/.*)?", asked.path)
        if match is None:
            return Answered({"message": "Not Found"}, 404)
        by_name = {one.name: one for one in self.repositories.values()}
        repository = by_name.get(unquote(match[1])) if match[1] else self.repositories.get(int(match[2]))
        rest = match[3] or ""
        if repository is None and match[1] in self.renamed:
            query = f"?{urlencode(asked.query)}" if asked.query else ""
            return self._redirect(f"/repositories/{self.renamed[match[1]]}{rest}{query}")
        if repository is None:
            return Answered({"message": "Not Found"}, 404)
        return self._of_repository(repository, rest, asked)

    def _redirect(self, place: str) -> Answered:
        location = f"{self.url}{place}"
        return Answered({"message": "Moved Permanently", "url": location}, 301, {"Location": location})

    def _of_repository(self, repository: Repository, rest: str, asked: Asked) -> Answered:
        if not rest:
            return Answered({"id": repository.repo_id, "full_name": repository.name})
        if rest == "/issues":
            return self._page(asked, _filtered(repository, asked.query))
        if rest == "/pulls":
            return self._page(
                asked, [_as_pull(repository, o) for o in _filtered(repository, asked.query) if _is_pull(o)]
            )
        if rest == "/issues/comments":
            return self._page(asked, _ordered(self._comments(repository, repository.comments), asked.query))
        if rest == "/pulls/comments":
            return self._page(asked, _ordered(self._remarks(repository), asked.query))
        if rest == "/issues/events":
            events = [e | {"issue": {"number": e["number"]}} for e in reversed(repository.events)]
            return self._page(asked, events)
        if (match := re.fullmatch(r"/pulls/(\d+)", rest)) is not None:
            return self._pull(repository, int(match[1]))
        match = re.fullmatch(r"/issues/(\d+)(/timeline|/comments|/events)?", rest)
        return self._single(repository, int(match[1]), match[2], asked) if match else Answered({}, 404)

    def _single(self, repository: Repository, number: int, part: str | None, asked: Asked) -> Answered:
        if number in repository.gone:
            place = repository.gone[number]
            return self._redirect(place) if place else Answered({"message": "This issue was deleted"}, 410)
        if number not in repository.items:
            return Answered({"message": "Not Found"}, 404)
        comments = self._comments(repository, [c for c in repository.comments if c["number"] == number])
        if part == "/comments":
            return self._page(asked, comments)
        events = [e for e in repository.events if e["number"] == number]
        if part == "/events":
            return self._page(asked, events)
        if part == "/timeline":
            both = [c | {"event": "commented", "actor": c["user"]} for c in comments] + events
            return self._page(asked, sorted(both, key=lambda e: str(e["created_at"])))
        return Answered(repository.items[number])

    def _pull(self, repository: Repository, number: int) -> Answered:
        item = repository.items.get(number)
        if item is None or not _is_pull(item):
            return Answered({"message": "Not Found"}, 404)
        remarks = sum(remark["number"] == number for remark in repository.remarks)
        return Answered(_as_pull(repository, item) | {"comments": item["comments"], "review_comments": remarks})

    def _comments(self, repository: Repository, comments: list[Json]) -> list[Json]:
        base = f"{self.url}/repos/{repository.name}/issues"
        return [c | {"issue_url": f"{base}/{c['number']}"} for c in comments]

    def _remarks(self, repository: Repository) -> list[Json]:
        base = f"{self.url}/repos/{repository.name}/pulls"
        return [c | {"pull_request_url": f"{base}/{c['number']}"} for c in repository.remarks]

    def _page(self, asked: Asked, entries: list[Json]) -> Answered:
        size, page = int(asked.query.get("per_page", 30)), asked.page
        deepest = next((n for end, n in self.deepest_page.items() if asked.path.endswith(end)), None)
        if deepest is not None and page > deepest:
            return refused(Answered([]))
        links = []
        if page > 1:
            links.append((page - 1, "prev"))
        if page * size < len(entries):
            links.append((page + 1, "next"))
        text = ", ".join(
            f'<{self.url}{asked.path}?{urlencode(asked.query | {"page": n})}>; rel="{r}"' for n, r in links
        )
        return Answered(entries[(page - 1) * size : page * size], 200, {"Link": text} if text else {})

    def _search(self, asked: Asked) -> Answered:
        query = asked.query["q"]
        words = dict(part.split(":", 1) for part in re.findall(r'\S+:"[^"]*"|\S+:\S+', query) if ":" in part)
        repository = next((r for r in self.repositories.values() if r.name == words.get("repo")), None)
        if repository is None:
            return Answered({"message": "Validation Failed"}, 422)
        found = [item for item in repository.items.values() if _found(item, re.findall(r'\S+:"[^"]*"|\S+:\S+', query))]
        page = self._page(asked, found)
        page.body = {"total_count": len(found), "incomplete_results": False, "items": page.body}
        return page

    # -- process

    @property
    def url(self) -> str:
        """Base address."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        tracker = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                answered = tracker.answer(self.path)
                text = json.dumps(answered.body).encode()
                # one write: separate small ones wait for acknowledgements
                lines = {"Content-Type": "application/json", "Content-Length": str(len(text))}
                lines |= {"Date": formatdate(usegmt=True), **answered.headers}
                head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
                self.wfile.write(f"HTTP/1.1 {answered.status} X\r\n{head}\r\n".encode() + text)

            def log_message(self, *_arguments: object) -> None:
                """Say nothing."""

        self._server = _QuietServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=5)


def _matches(path: str, query: dict[str, str | None]) -> Callable[[Asked], bool]:
    def matches(asked: Asked) -> bool:
        return asked.path.endswith(path) and all(
            (asked.query.get(k) is None) if v is None else (k in asked.query if v == "*" else asked.query.get(k) == v)
            for k, v in query.items()
        )

    return matches


def _is_pull(item: Json) -> bool:
    return "pull_request" in item


def _as_pull(repository: Repository, item: Json) -> Json:
    """A pull request as its own list has it: without counts, with its branches and requested reviewers."""
    number = item["number"]
    kept = {k: v for k, v in item.items() if k not in ("pull_request", "comments", "reactions", "state_reason")}
    head = f"{number + 1_000 * repository.pushes.get(number, 0):040x}"
    branches = {"head": {"ref": "topic", "sha": head}, "base": {"ref": "main"}}
    asked = [account(name) for name in repository.reviewers.get(number, ())]
    return branches | {"requested_reviewers": asked, "requested_teams": [], "merged_at": None} | kept


def _filtered(repository: Repository, query: dict[str, str]) -> list[Json]:
    wanted = {name.lower() for name in query.get("labels", "").split(",") if name}
    kept = [
        item
        for item in repository.items.values()
        if query.get("state", "open") in ("all", item["state"])
        and wanted <= {label["name"].lower() for label in item["labels"]}
    ]
    return _ordered(kept, query)


def _ordered(entries: list[Json], query: dict[str, str]) -> list[Json]:
    key = "updated_at" if query.get("sort") == "updated" else "created_at"
    kept = [entry for entry in entries if str(entry["updated_at"]) >= query.get("since", "")]
    descending = query.get("direction", "desc") == "desc"
    if query.get("sort") == "comments":
        return sorted(kept, key=lambda e: int(e["comments"]), reverse=descending)
    return sorted(kept, key=lambda e: (str(e[key]), int(e["id"])), reverse=descending)


def _found(item: Json, words: list[str]) -> bool:
    return all(_meets(item, *word.split(":", 1)) for word in words)


def _meets(item: Json, name: str, value: str) -> bool:
    value = value.strip('"')
    if name == "is":
        return _is_pull(item) == (value == "pr")
    if name == "state":
        return bool(item["state"] == value)
    if name == "label":
        return value.lower() in {label["name"].lower() for label in item["labels"]}
    if name in ("updated", "created"):
        return _in_range(str(item[f"{name}_at"]), value)
    return name == "repo"


def _in_range(at: str, bounds: str) -> bool:
    if bounds.startswith(">="):
        return at >= bounds[2:]
    first, _, last = bounds.partition("..")
    return first <= at <= last


def filled(tracker: Tracker, issues: int, pulls: int = 0, name: str = "alice/bugs", repo_id: int = 1) -> Repository:
    """A repository with so many items, one a minute.

    Every third has a comment, every second an event, every fifth pull request a comment on a line.
    """
    repository = tracker.repository(name, repo_id)
    for number in range(1, issues + pulls + 1):
        repository.add(number, kind="issue" if number <= issues else "pull")
    for number in range(1, issues + pulls + 1):
        if number % 3 == 0:
            repository.comment(number)
        if number % 2 == 0:
            repository.event(number)
        if number > issues and (number - issues) % 5 == 0:
            repository.remark(number)
    return repository
