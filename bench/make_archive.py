"""Write synthetic GH Archive hours: all of GitHub in one file, a share of it about one repository.

Usage: ``python bench/make_archive.py OUT [--hours 2] [--events 100000] [--share 0.05] [--repo pytorch/pytorch]``.
The same options give the same bytes. Sizes follow what a public event weighs: a comment with its issue about
4 kB, a push about 1 kB. A share of 0.05 is far above a real hour (about 0.002), so that few files hold many items.
"""

from __future__ import annotations

import argparse
import gzip
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterator

FIRST_HOUR = datetime(2024, 1, 1, tzinfo=UTC)
THIN_SINCE = datetime(2025, 10, 7, tzinfo=UTC)
ITEMS = 50_000
"""Numbers are drawn from this many items, so that an item comes up several times."""


class Writer:
    """Makes events of one hour after another from one random generator."""

    def __init__(self, repo: str, seed: int) -> None:
        """Start a series about ``repo``."""
        self.repo = repo
        self.random = random.Random(seed)
        self.words = ["".join(self.random.choices("abcdefghijklmnopqrstuvwxyz_.", k=7)) for _ in range(2_000)]
        self.serial = 30_000_000_000

    def text(self, words: int) -> str:
        """Prose of so many words."""
        return " ".join(self.random.choices(self.words, k=words))

    def issue(self, number: int, moment: str, *, pull: bool) -> dict[str, Any]:
        """Make an issue as events carry it, or a pull request seen as one."""
        url = f"https://api.github.com/repos/{self.repo}/issues/{number}"
        issue: dict[str, Any] = {
            "url": url,
            "number": number,
            "title": self.text(8),
            "user": {"login": f"user{number % 4999}", "id": number},
            "labels": [{"name": "module: mps"}, {"name": "triaged"}],
            "state": "open",
            "state_reason": None,
            "comments": number % 17,
            "created_at": "2023-01-01T00:00:00Z",
            "updated_at": moment,
            "closed_at": None,
            "author_association": "CONTRIBUTOR",
            "body": self.text(250),
            "reactions": {"url": f"{url}/reactions", "total_count": 0},
        }
        if pull:
            issue["pull_request"] = {"url": url, "merged_at": None}
        return issue

    def payload(self, kind: str, number: int, moment: datetime) -> dict[str, Any]:
        """Make what an event of this kind carries; a pull request is thin since October 2025."""
        stamp = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
        if kind == "IssuesEvent":
            issue = self.issue(number, stamp, pull=False)
            return {"action": self.random.choice(["opened", "closed", "reopened"]), "issue": issue}
        if kind == "IssueCommentEvent":
            issue = self.issue(number, stamp, pull=number % 2 == 0)
            comment = {"id": self.serial, "user": {"login": "someone"}, "created_at": stamp, "updated_at": stamp}
            return {"action": "created", "issue": issue, "comment": comment | {"body": self.text(80)}}
        if kind == "PullRequestEvent":
            pull = {"number": number, "head": {"ref": "topic"}, "base": {"ref": "main"}}
            if moment < THIN_SINCE:
                pull |= self.issue(number, stamp, pull=False) | {"merged": False, "merged_at": None}
            return {"action": "closed", "number": number, "pull_request": pull}
        return {"ref": "refs/heads/main", "head": f"{number:040x}", "commits": [{"message": self.text(60)}]}

    def hour(self, start: datetime, events: int, share: float) -> Iterator[bytes]:
        """Lines of one hour, in order of time."""
        for place in range(events):
            ours = self.random.random() < share
            kinds = ("IssueCommentEvent", "IssuesEvent", "PullRequestEvent")
            kind = self.random.choice(kinds if ours else (*kinds, *("PushEvent",) * 7))
            self.serial += 1
            moment = start + timedelta(seconds=3600 * place // events)
            number = self.random.randrange(1, ITEMS)
            event = {
                "id": str(self.serial),
                "type": kind,
                "actor": {"id": 1, "login": f"user{number % 4999}", "avatar_url": "https://avatars.example/u/1"},
                "repo": {"id": number, "name": self.repo if ours else f"user{number}/project{place % 97}"},
                "payload": self.payload(kind, number, moment),
                "public": True,
                "created_at": moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
            }
            yield orjson.dumps(event) + b"\n"


def write_hours(out: Path, *, hours: int, events: int, share: float, repo: str, seed: int = 1) -> list[Path]:
    """Write the files into ``out`` and return their paths in order."""
    out.mkdir(parents=True, exist_ok=True)
    writer = Writer(repo, seed)
    paths = []
    for place in range(hours):
        start = FIRST_HOUR + timedelta(hours=place)
        path = out / f"{start:%Y-%m-%d}-{start.hour}.json.gz"
        with (
            path.open("wb") as raw,
            gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0, compresslevel=4) as file,
        ):
            file.writelines(writer.hour(start, events, share))
        paths.append(path)
    return paths


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--hours", type=int, default=2)
    parser.add_argument("--events", type=int, default=100_000, help="events of all repositories per hour")
    parser.add_argument("--share", type=float, default=0.05, help="part of them that is about --repo")
    parser.add_argument("--repo", default="pytorch/pytorch")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chosen = vars(options)
    for path in write_hours(chosen.pop("out"), **chosen):
        print(path)


if __name__ == "__main__":
    main()
