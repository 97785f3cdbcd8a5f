"""GitHub in this process: REST over repositories in its words, GraphQL over a dataset, limits, and faults.

`with GitHub() as server` starts a server on 127.0.0.1; `repository` adds a tracker for REST, a dataset is served by
GraphQL. A request that GitHub's description does not allow (an unknown path, parameter or value, a query that the
schema forbids) is refused as GitHub does, and kept in `refused`. Faults are those of `faults.toml`, or functions.
"""

from __future__ import annotations

import json
import os
import re
import select
import socket
import struct
import threading
import time
import tomllib
from collections import Counter
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from servers.graph import Graph
from servers.tracker import Repository, fill, search_words

if TYPE_CHECKING:
    from collections.abc import Callable

Json = dict[str, Any]
FAULTS: dict[str, Json] = tomllib.loads(Path(__file__).with_name("faults.toml").read_text("utf-8"))
HOUR = 3600
PAGE = {"per_page": r"[1-9]\d?|100", "page": r"[1-9]\d*"}
ORDER = PAGE | {"direction": "asc|desc", "sort": "created|updated", "since": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"}
STATE = {"state": "open|closed|all"}
CONTRACT = {
    "": {},
    "/issues": ORDER | STATE | {"sort": "created|updated|comments", "labels": ".+"},
    r"/issues/\d+": {},
    r"/issues/\d+/timeline": PAGE,
}
"""Below a repository: each path, and its parameters with what their values look like. Of all that docs.github.com
describes, what a mine asks for."""


@dataclass
class Asked:
    """One request."""

    path: str
    query: dict[str, str] = field(default_factory=dict)
    text: str = ""
    """Body of a POST."""
    token: str = ""


@dataclass
class Answered:
    """One answer, before it is sent; `wire` says what goes wrong on the way."""

    body: Any
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    wire: str = ""


@dataclass
class Fault:
    """A change of the answers to some requests, from the one numbered `at` on, so many `times`."""

    name: str
    matches: Callable[[Asked], bool]
    change: Callable[[Asked, Answered], Answered | None]
    """Gives None where there was nothing to change."""
    at: int
    times: int
    seen: int = 0

    def strikes(self, asked: Asked) -> bool:
        """Whether this request is met; counts those that could be."""
        if not self.matches(asked):
            return False
        self.seen += 1
        return self.at <= self.seen < self.at + self.times


class _QuietServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_arguments: object) -> None:
        """Say nothing of clients that were killed."""


class GitHub:
    """The server, and the orders that tests give it."""

    contract = CONTRACT

    def __init__(self, dataset: Json | None = None) -> None:
        self.dataset: Json = dataset or {"tokens": [], "renamed": {}, "repos": []}
        self.restore()

    def restore(self) -> None:
        """Go back to the start: the dataset as it was, no REST repository, no fault, full quotas."""
        self.repositories: dict[int, Repository] = {}
        self.graph = Graph(self.dataset)
        self.tokens: set[str] | None = set(self.dataset["tokens"]) or None
        """Those that are accepted; None for any."""
        self._faults: list[Fault] = []
        self._guard = threading.Lock()
        self.limit()
        self.forget()

    def forget(self) -> None:
        """Forget what was asked and met so far."""
        self.asked: list[Asked] = []
        self.queries: list[Json] = []
        """Name, variables, `cost` and `nodes` of each GraphQL query that was not refused."""
        self.refused: list[str] = []
        self.met: Counter[str] = Counter()
        """How many answers were changed by faults, by the text or end of the path that they were put on."""

    @property
    def cost(self) -> int:
        """Points of all queries."""
        return sum(query["cost"] for query in self.queries)

    # -- orders

    def repository(self, name: str = "alice/bugs", repo_id: int = 1) -> Repository:
        """Add an empty repository for REST."""
        self.repositories[repo_id] = Repository(repo_id, name)
        return self.repositories[repo_id]

    def update(self, repo: str, number: int, **fields: object) -> None:
        """Overwrite fields of an item of the dataset."""
        items = self.graph.repositories[repo].items
        items[number] = items[number] | fields

    def delete(self, repo: str, number: int) -> None:
        """Delete an item of the dataset: GraphQL says NOT_FOUND, REST 410."""
        del self.graph.repositories[repo].items[number]
        self.graph.repositories[repo].gone[number] = None

    def transfer(self, repo: str, number: int, to: str, new_number: int, at: str) -> None:
        """Move an item of the dataset: GraphQL says NOT_FOUND, REST 301 to the new place."""
        moved = self.graph.repositories[repo].items[number] | {"number": new_number, "updatedAt": at}
        self.graph.repositories[to].items[new_number] = moved
        self.delete(repo, number)
        self.graph.repositories[repo].gone[number] = to, new_number

    def rename_repo(self, repo: str, to: str) -> None:
        """Rename a repository of the dataset: REST answers 301 under the old name, GraphQL follows."""
        renamed = self.graph.repositories.pop(repo)
        renamed.name = to
        self.graph.repositories[to], self.graph.renamed[repo] = renamed, to

    def limit(self, limit: int = 5_000, reset_in: int = HOUR) -> None:
        """Give every token a fresh quota, of REST and of GraphQL, that refills after so many seconds."""
        self._limit, self._reset_in = limit, reset_in
        self._spent: dict[tuple[str, str], tuple[int, int]] = {}

    def fault(
        self,
        what: str | Json | Callable[[Answered], Answered],
        path: str = "",
        times: int = 1,
        *,
        at: int = 1,
        contains: str = "",
    ) -> None:
        """Change answers by a name of `faults.toml`, an entry like those, or a function.

        Requests are chosen by the end of their path, or by a text that a GraphQL query contains.
        """
        entry = FAULTS[what] if isinstance(what, str) else what
        if isinstance(entry, dict):
            contains = contains or entry.get("contains", "")

        def matches(asked: Asked) -> bool:
            return contains in asked.text and asked.path.endswith(path)

        def change(asked: Asked, answered: Answered) -> Answered | None:
            return self._changed(entry, asked, answered) if isinstance(entry, dict) else entry(answered)

        self._faults.append(Fault(contains or path or "any", matches, change, at, times))

    def heal(self) -> None:
        """Remove all faults."""
        self._faults.clear()

    # -- faults

    def _changed(self, entry: Json, asked: Asked, answered: Answered) -> Answered | None:
        if "path" in entry:
            return answered if damage(answered.body, entry) else None
        kept = {} if "body" in entry else answered.headers  # who answers in its place does not know them
        headers = {name: value for name, value in kept.items() if name not in entry.get("without", ())}
        headers |= entry.get("headers", {})
        if "reset_in" in entry:
            headers["X-RateLimit-Reset"] = str(int(time.time()) + entry["reset_in"])
        body = answered.body[: entry["keep"]] if "keep" in entry else answered.body
        if entry.get("move"):
            query, rest = urlencode(asked.query), re.sub(r"^/(repos/[^/]+/[^/]+|repositories/\d+)/", "", asked.path)
            headers["Location"] = f"{self.url}/repositories/1/{rest}?{query}"
        if "body" in entry:
            body = entry["body"].encode() if isinstance(entry["body"], str) else entry["body"]
        return Answered(body, entry.get("status", answered.status), headers, entry.get("wire", ""))

    # -- answers

    def answer(self, asked: Asked) -> Answered:
        """Answer one request, with the fault that it meets."""
        with self._guard:
            self.asked.append(asked)
            answered = self._routed(asked)
            fault = next((fault for fault in self._faults if fault.strikes(asked)), None)
            changed = fault and fault.change(asked, answered)
            if fault and changed:
                self.met[fault.name] += 1
            return changed or answered

    def _routed(self, asked: Asked) -> Answered:
        resource = "graphql" if asked.path == "/graphql" else "core"
        if (asked.token or resource == "graphql") and asked.token not in (self.tokens or {asked.token or None}):
            return Answered({"message": "Bad credentials", "status": "401"}, 401)
        spent, reset = self._quota(asked.token, resource)
        if spent >= self._limit:
            message = "API rate limit exceeded for user ID 1."
            errors = {"errors": [{"type": "RATE_LIMITED", "message": message}]}
            refused = Answered(errors) if resource == "graphql" else Answered({"message": message}, 403)
        else:
            refused = None
        answered = refused or (self._graphql(asked) if resource == "graphql" else self._rest(asked))
        if not refused and resource == "core":
            self._spent[asked.token, resource] = spent + 1, reset
        spent, reset = self._quota(asked.token, resource)
        quota = {"Limit": self._limit, "Remaining": max(0, self._limit - spent), "Used": spent, "Reset": reset}
        return replace(answered, headers={f"X-RateLimit-{k}": str(v) for k, v in quota.items()} | answered.headers)

    def _quota(self, token: str, resource: str) -> tuple[int, int]:
        """What a token has spent, and when it is given back."""
        spent, reset = self._spent.get((token, resource), (0, 0))
        return (spent, reset) if reset > time.time() else (0, int(time.time()) + self._reset_in)

    def _graphql(self, asked: Asked) -> Answered:
        payload = json.loads(asked.text)

        def quota(points: int) -> Json:
            spent, reset = self._quota(asked.token, "graphql")
            self._spent[asked.token, "graphql"] = spent + points, reset
            left = max(0, self._limit - spent - points)
            at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(reset))
            return {"limit": self._limit, "remaining": left, "resetAt": at}

        answer, price = self.graph.answer(payload, quota)
        if price is None:
            self.refused.append(str(answer["errors"]))
        else:
            name = re.match(r"\s*(?:#.*\n)*\s*query (\w+)", payload["query"])
            about = {"name": name and name[1], "variables": payload.get("variables") or {}}
            self.queries.append(about | {"cost": price.points, "nodes": price.nodes})
        return Answered(answer)

    def _rest(self, asked: Asked) -> Answered:
        if asked.path == "/search/issues":
            return self._search(asked)
        match = re.fullmatch(r"/(?:repos/([^/]+/[^/]+)|repositories/(\d+))(/.*)?", asked.path)
        rest = (match[3] or "") if match else ""
        allowed = next((self.contract[path] for path in self.contract if re.fullmatch(path, rest)), None)
        if match is None or allowed is None or (wrong := _wrong(allowed, asked.query)):
            self.refused.append(f"{asked.path} {asked.query}")
            return Answered({"message": f"Validation Failed: {wrong if match and allowed else asked.path}"}, 422)
        name, repo_id = unquote(match[1] or ""), int(match[2] or 0)
        for one in self.repositories.values():
            if one.name == name or one.repo_id == repo_id:
                return self._of_repository(one, rest, asked)
        for graph in self.graph.repositories.values():
            if name == graph.name or repo_id == graph.repo_id:
                return self._of_dataset(graph, rest)
        former = self.graph.find(name)
        if former is None:
            return Answered({"message": "Not Found", "status": "404"}, 404)
        query = f"?{urlencode(asked.query)}" if asked.query else ""
        return self._redirect(f"/repositories/{former.repo_id}{rest}{query}")

    def _redirect(self, place: str) -> Answered:
        location = f"{self.url}{place}"
        return Answered({"message": "Moved Permanently", "url": location}, 301, {"Location": location})

    def _of_dataset(self, repository: Any, rest: str) -> Answered:
        """The little that a mine by GraphQL asks REST for: the repository, and where an item went."""
        if not rest:
            return Answered({"id": repository.repo_id, "full_name": repository.name})
        number = int(rest.rsplit("/", 1)[1])
        if number in repository.items:
            return Answered({"number": number, "html_url": f"{self.url}/{repository.name}/issues/{number}"})
        if number not in repository.gone:
            return Answered({"message": "Not Found", "status": "404"}, 404)
        if (place := repository.gone[number]) is None:
            return Answered({"message": "This issue was deleted"}, 410)
        return self._redirect(f"/repositories/{self.graph.repositories[place[0]].repo_id}/issues/{place[1]}")

    def _of_repository(self, repository: Repository, rest: str, asked: Asked) -> Answered:
        if not rest:
            return Answered({"id": repository.repo_id, "full_name": repository.name})
        if (match := re.fullmatch(r"/issues/(\d+)(/timeline)?", rest)) is None:
            return self._page(asked, repository.listed(asked.query))
        number = int(match[1])
        if number not in repository.items:
            return Answered({"message": "Not Found", "status": "404"}, 404)
        if not match[2]:
            return Answered(repository.items[number])
        base = f"{self.url}/repos/{repository.name}/issues/{number}"
        return self._page(asked, [one | {"issue_url": base} for one in repository.timeline(number)])

    def _page(self, asked: Asked, entries: list[Json]) -> Answered:
        size, page = int(asked.query.get("per_page", 30)), int(asked.query.get("page", 1))
        start = (page - 1) * size
        links = [({"page": page - 1}, "prev")] if page > 1 else []
        if start + size < len(entries):
            links.append(({"page": page + 1}, "next"))
        text = ", ".join(f'<{self.url}{asked.path}?{urlencode(asked.query | to)}>; rel="{r}"' for to, r in links)
        return Answered(entries[start : start + size], 200, {"Link": text} if text else {})

    def _search(self, asked: Asked) -> Answered:
        words = search_words(asked.query.get("q", ""))
        named = dict(words).get("repo")
        repository = next((one for one in self.repositories.values() if one.name == named), None)
        found = repository and repository.found(words)
        if found is None or _wrong(PAGE | {"q": ".+"}, asked.query):
            self.refused += [] if repository is None else [f"{asked.path} {asked.query}"]
            return Answered({"message": "Validation Failed", "status": "422"}, 422)
        page = self._page(asked, found)
        return replace(page, body={"total_count": len(found), "incomplete_results": False, "items": page.body})

    # -- process

    @property
    def url(self) -> str:
        """Base address."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        handler = type("Handler", (_Handler,), {"github": self})
        self._server = _QuietServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=5)


class _Handler(BaseHTTPRequestHandler):
    """Reads requests, sends answers, and breaks them on the way where a fault says so."""

    protocol_version = "HTTP/1.1"
    github: GitHub

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        text = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        token = (self.headers.get("Authorization") or "").rpartition(" ")[2]
        self._send(self.github.answer(Asked(parts.path, dict(parse_qsl(parts.query)), text, token)))

    do_POST = do_GET  # noqa: N815 - a name of the standard library

    def _send(self, answered: Answered) -> None:
        text = answered.body if isinstance(answered.body, bytes) else json.dumps(answered.body).encode()
        if answered.wire == "truncated":
            text = text[: len(text) // 2]
        length = len(text) + 1_000 * (answered.wire == "short")
        lines = {"Content-Type": "application/json; charset=utf-8", "Content-Length": str(length)}
        lines["Date"] = formatdate(usegmt=True)
        self.close_connection = answered.wire not in ("", "truncated")
        if answered.wire == "slow":  # until the client has had enough
            select.select([self.connection], [], [], 10)
        elif answered.wire == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            os.close(self.connection.detach())
        elif answered.wire == "random":
            self.wfile.write(bytes(range(256)))
        elif answered.wire in ("bad_chunk", "dribble"):
            del lines["Content-Length"]
            self._head(answered, lines | {"Transfer-Encoding": "chunked"})
            for place in range(len(text)) if answered.wire == "dribble" else ():
                self.wfile.write(b"1\r\n" + text[place : place + 1] + b"\r\n")
            self.wfile.write(b"0\r\n\r\n" if answered.wire == "dribble" else b"no length\r\n")
        elif answered.wire != "empty":
            self._head(answered, lines, text)

    def _head(self, answered: Answered, lines: dict[str, str], text: bytes = b"") -> None:
        # one write: separate small ones wait for acknowledgements
        head = "".join(f"{name}: {value}\r\n" for name, value in (lines | answered.headers).items())
        self.wfile.write(f"HTTP/1.1 {answered.status} X\r\n{head}\r\n".encode() + text)

    def log_message(self, *_arguments: object) -> None:
        """Say nothing."""


def _wrong(allowed: dict[str, str], query: dict[str, str]) -> str:
    """The first parameter of a query that GitHub's description does not allow."""
    return next((f"{k}={v}" for k, v in query.items() if not re.fullmatch(allowed.get(k, ""), v)), "")


def damage(body: Json, fault: Json) -> bool:
    """Let a part of a GraphQL answer lack; whether there was something to damage.

    What stands at `path` below `data` becomes null (or `value`), or goes altogether (`drop`), with an error beside it
    unless `silent`. `bubble` says how many levels above become null with it.
    """
    path = fault["path"]
    place = path[: len(path) - fault.get("bubble", 0)]
    holder: Any = body.get("data")
    for step in place[:-1]:
        try:
            holder = holder[step]
        except (KeyError, IndexError, TypeError):
            return False
    last = place[-1]
    if not isinstance(holder, (dict, list)) or not (last in holder if isinstance(holder, dict) else last < len(holder)):
        return False
    if fault.get("drop"):
        del holder[last]
    else:
        holder[last] = fault.get("value")
    if not fault.get("silent"):
        error = {"path": path, "message": fault.get("message", "Something went wrong while executing your query.")}
        body.setdefault("errors", []).append(error | ({"type": fault["type"]} if "type" in fault else {}))
    return True


def filled(server: GitHub, issues: int, pulls: int = 0) -> Repository:
    """A repository of the server with so many items, one a minute; see `fill`."""
    repository = server.repository()
    fill(repository, issues, pulls)
    return repository
