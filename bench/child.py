"""What bench/measures.py starts in a process of its own: `python bench/child.py NAME ARGUMENT ...`.

``perceval`` runs in the interpreter of Perceval's own environment: nothing but the standard library is imported before
a function needs it.
"""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path

REPO = "alice/bugs"
COMMENTS = 4
"""An item has as many comments as its number leaves, divided by this: 0 to 3."""


def tracker(items: str, answer_after: str) -> None:
    """Serve a tracker until the standard input ends; the address is the first line of the output."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
    from servers.github import CONTRACT, ORDER, Answered, Asked, GitHub

    class Slow(GitHub):
        """Answers after some time, and what Perceval asks beside the items."""

        contract = CONTRACT | {
            "/issues": CONTRACT["/issues"] | {"since": ".+"},
            r"/issues/\d+/(comments|events|timeline)": ORDER,
        }

        def answer(self, asked: Asked) -> Answered:
            time.sleep(float(answer_after))
            return super().answer(asked)

        def _routed(self, asked: Asked) -> Answered:
            if asked.path == "/rate_limit":
                return Answered({"resources": {}, "rate": {"remaining": 5000}})
            if asked.path.startswith("/users/"):
                return Answered([] if asked.path.endswith("/orgs") else {"login": "ann", "id": 1})
            if match := re.fullmatch(r"/repos/[^/]+/[^/]+/issues/(\d+)/(comments|events)", asked.path):
                kept = repository.comments if match[2] == "comments" else repository.events
                return self._page(asked, [one for one in kept if one["number"] == int(match[1])])
            return super()._routed(asked)

    with Slow() as server:
        repository = server.repository(REPO)
        nobody = {"assignee": None, "assignees": [], "reactions": {"total_count": 0}}
        for number in range(1, int(items) + 1):
            address = f"{server.url}/repos/{REPO}/issues/{number}"
            repository.add(number, body="text " * 200, url=address, **nobody)
            for _ in range(number % COMMENTS):
                repository.comment(number, "A comment. " * 20)["reactions"] = {"total_count": 0}
            repository.event(number)
        print(server.url, flush=True)
        sys.stdin.read()


def naive(url: str) -> None:
    """The loop that everybody writes first: PyGithub objects, comments per item, one insert per item."""
    import duckdb
    from github import Auth, Github

    connection = duckdb.connect()
    connection.execute("CREATE TABLE items (number INTEGER, title VARCHAR, body VARCHAR, comments VARCHAR)")
    github = Github(base_url=url, auth=Auth.Token("naive"), per_page=100, seconds_between_requests=None)
    items = comments = 0
    for issue in github.get_repo(REPO).get_issues(state="all"):
        texts = [comment.body for comment in issue.get_comments()]
        connection.execute(
            "INSERT INTO items VALUES (?, ?, ?, ?)", [issue.number, issue.title, issue.body, json.dumps(texts)]
        )
        items, comments = items + 1, comments + len(texts)
    print(json.dumps([items, comments]))


def perceval(url: str) -> None:
    """Perceval's fetch of all issues."""
    from perceval.backends.core import github

    github.GITHUB_API_URL = url
    owner, repository = REPO.split("/")
    found = [
        item["data"]
        for item in github.GitHub(owner=owner, repository=repository, api_token=["t"]).fetch(category="issue")
    ]
    print(json.dumps([len(found), sum(len(item.get("comments_data", [])) for item in found)]))


def sql(database: str, query: str) -> None:
    """One query, its rows printed."""
    import duckdb

    with duckdb.connect(database, read_only=True) as connection:
        for row in connection.execute(query).fetchall():
            print(*row)


if __name__ == "__main__":
    {"tracker": tracker, "naive": naive, "perceval": perceval, "sql": sql}[sys.argv[1]](*sys.argv[2:])
