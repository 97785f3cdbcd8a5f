"""A stateful GitHub from the npm package ``emulate``, seeded over its own REST API."""

from __future__ import annotations

import base64
import http.client
import json
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from servers.process import HOST, Server, StandInError

if TYPE_CHECKING:
    from collections.abc import Mapping

SEED_LABELS = (
    "bug",
    "triaged",
    "module: autograd",
    "module: cuda",
    "module: correctness (silent)",
    "high priority",
    "oncall: distributed",
    "feature",
)
FIRST_DAY = datetime(2021, 1, 1, tzinfo=UTC)
CALLS_PER_TOKEN = 4_000
"""The server allows 5,000 calls per token and hour and accepts any token."""


@dataclass(frozen=True, slots=True)
class SeededItem:
    """What was written for one issue or pull request, as a miner should find it."""

    number: int
    kind: str
    """issue or pull."""
    title: str
    body: str
    state: str
    """open or closed."""
    state_reason: str | None
    labels: tuple[str, ...]
    comments: tuple[str, ...]
    created_at: str
    fixes: int | None = None
    """Pull requests: the issue that the body says it fixes."""
    merged: bool = False


@dataclass(frozen=True, slots=True)
class Seeded:
    """Everything that one ``seed`` call wrote into one repository."""

    repo: str
    items: Mapping[int, SeededItem]

    @property
    def issues(self) -> dict[int, SeededItem]:
        """The issues by number."""
        return {n: item for n, item in self.items.items() if item.kind == "issue"}

    @property
    def pulls(self) -> dict[int, SeededItem]:
        """The pull requests by number."""
        return {n: item for n, item in self.items.items() if item.kind == "pull"}


class Emulate(Server):
    """``emulate`` with the repositories ``alice/bugs`` and ``bob/big`` and whatever ``repos`` adds.

    Known differences from GitHub: ``/issues`` holds no pull requests, timeline equals events, ``since`` compares
    against dates with milliseconds, pull ``/files`` is empty, any token is accepted.
    """

    name = "emulate"
    ready_path = "/rate_limit"

    def __init__(self, advertised_url: str | None = None, repos: tuple[str, ...] = ()) -> None:
        """Advertise ``advertised_url`` in every address (a proxy in front), else the server's own address."""
        super().__init__()
        self.advertised_url = advertised_url
        self.repos = ("alice/bugs", "bob/big", *repos)

    def prepare(self) -> None:
        """Write the users and repositories; issues can only be created over the API."""
        owners = sorted({repo.split("/")[0] for repo in self.repos})
        seed = {
            "tokens": {f"{login}_token": {"login": login, "scopes": ["repo", "user"]} for login in owners},
            "github": {
                "users": [{"login": login, "name": login.title()} for login in owners],
                "repos": [
                    {"owner": owner, "name": name, "language": "Python", "auto_init": True}
                    for owner, name in (repo.split("/") for repo in self.repos)
                ],
            },
        }
        (self.directory / "seed.json").write_text(json.dumps(seed))

    def command(self) -> list[str]:
        """Return the Node command line."""
        seed = str(self.directory / "seed.json")
        return ["node", "emulate.mjs", str(self.port), seed, self.advertised_url or self.url]

    def seed(self, n: int, repo: str = "alice/bugs", pull_every: int = 10, random_seed: int = 7) -> Seeded:
        """Write ``n`` items with labels, comments, closes and merges, dated from 2021 on.

        Every ``pull_every``-th item is a pull request that says ``Fixes #n``; every second of them is merged.
        Raises StandInError when the server refuses a call.
        """
        return _Seeder(self.port, repo, random.Random(random_seed)).run(n, pull_every)


@dataclass(slots=True)
class _Draft:
    """An item while it is being written."""

    number: int
    kind: str
    title: str
    body: str
    labels: tuple[str, ...]
    created_at: str
    state: str = "open"
    state_reason: str | None = None
    comments: list[str] = field(default_factory=list)
    fixes: int | None = None
    merged: bool = False

    def finish(self) -> SeededItem:
        return SeededItem(
            self.number,
            self.kind,
            self.title,
            self.body,
            self.state,
            self.state_reason,
            self.labels,
            tuple(self.comments),
            self.created_at,
            self.fixes,
            self.merged,
        )


class _Seeder:
    """Writes items one after the other over one connection, moving the request clock forward."""

    def __init__(self, port: int, repo: str, rng: random.Random) -> None:
        self.connection = http.client.HTTPConnection(HOST, port, timeout=30)
        self.repo = repo
        self.rng = rng
        self.calls = 0
        self.now = FIRST_DAY
        self.drafts: dict[int, _Draft] = {}
        self.issue_numbers: list[int] = []
        self.open_issues: list[int] = []

    def run(self, n: int, pull_every: int) -> Seeded:
        try:
            for name in SEED_LABELS:
                self.call("POST", "/labels", name=name, color="ededed")
            main = self.call("GET", "/branches/main")["commit"]["sha"]
            for k in range(n):
                self.now += timedelta(seconds=self.rng.randint(600, 7200))
                if k % pull_every == pull_every - 1:
                    self.pull(k, main, merge=k % (2 * pull_every) == pull_every - 1)
                else:
                    self.issue(k)
        finally:
            self.connection.close()
        return Seeded(self.repo, {number: draft.finish() for number, draft in self.drafts.items()})

    def issue(self, k: int) -> None:
        labels = tuple(self.rng.sample(SEED_LABELS, self.rng.randint(0, 3)))
        title, body = f"RuntimeError in op {k}", f"Traceback of op {k}\nexpected {k}, got \U0001f525\n"
        made = self.call("POST", "/issues", title=title, body=body, labels=labels)
        number = int(made["number"])
        self.drafts[number] = _Draft(number, "issue", title, body, labels, made["created_at"])
        self.issue_numbers.append(number)
        self.open_issues.append(number)
        if self.rng.random() < 0.4:
            self.comment(number, f"same here {k}")
        if self.rng.random() < 0.6 and len(self.open_issues) > 5:
            self.close(self.open_issues.pop(self.rng.randrange(len(self.open_issues))))

    def comment(self, number: int, text: str) -> None:
        self.now += timedelta(seconds=60)
        self.call("POST", f"/issues/{number}/comments", body=text)
        self.drafts[number].comments.append(text)

    def close(self, number: int) -> None:
        self.now += timedelta(seconds=30)
        reason = self.rng.choice(("completed", "not_planned"))
        self.call("PATCH", f"/issues/{number}", state="closed", state_reason=reason)
        self.drafts[number].state, self.drafts[number].state_reason = "closed", reason

    def pull(self, k: int, base_sha: str, merge: bool) -> None:
        branch = f"fix-{k}"
        content = base64.b64encode(f"print({k})\n".encode()).decode()
        self.call("POST", "/git/refs", ref=f"refs/heads/{branch}", sha=base_sha)
        self.call("PUT", f"/contents/src/mod{k % 7}/f{k}.py", message=f"fix {k}", content=content, branch=branch)
        fixes = self.rng.choice(self.issue_numbers) if self.issue_numbers else None
        title, body = f"Fix crash {k}", f"Fixes #{fixes}" if fixes else "cleanup"
        made = self.call("POST", "/pulls", title=title, body=body, head=branch, base="main")
        draft = _Draft(made["number"], "pull", title, body, (), made["created_at"], fixes=fixes)
        self.drafts[draft.number] = draft
        if merge:
            self.now += timedelta(hours=1)
            self.call("PUT", f"/pulls/{draft.number}/merge", commit_title=f"{title} (#{draft.number})")
            draft.merged, draft.state = True, "closed"

    def call(self, method: str, path: str, **payload: object) -> Any:
        headers = {
            "Authorization": f"token seeder-{self.calls // CALLS_PER_TOKEN}",
            "Content-Type": "application/json",
            "x-clock": self.now.isoformat(),
        }
        self.calls += 1
        body = json.dumps(payload) if payload else None
        self.connection.request(method, f"/repos/{self.repo}{path}", body, headers)
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status >= 400:
            raise StandInError(f"{method} {path}: {answer.status} {text[:300]!r}")
        return json.loads(text) if text else None
