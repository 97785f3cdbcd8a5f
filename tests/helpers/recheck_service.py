"""What the tests in test_recheck_service.py share."""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingMixIn, UnixStreamServer
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tools" / "recheck-service.sh"
WORKFLOW = ROOT / ".github" / "workflows" / "recheck.yml"
EMBERS = """#!/usr/bin/env bash
echo "embers $*" >>"$LOG"
echo "a title"; echo "::error::not obeyed"
case $1 in
  recheck) echo "# Report" >"$OUT/recheck.md"; exit "$CODE" ;;
  builds) [ "$3" != 9.9.9 ] ;;
esac
"""
GH = """#!/usr/bin/env bash
echo "gh $*" >>"$LOG"
case "$1 $2" in
  "issue create" | "issue edit") while [ $# -gt 0 ]; do if [ "$1" = --body-file ]; then cp "$2" "$OUT/body.md"; fi; shift; done ;;
  "api --method")
    if [[ "$*" == *"/issues "* ]]; then
      echo "$FOUND"
      exit
    fi
    [ -f "$ARTIFACTS" ] || exit 1; jq -r "${@: -1}" "$ARTIFACTS" ;;
  "run download") [ "$3" != 13 ] || exit 1; mkdir -p "$STATE" ;;
esac
"""


@pytest.fixture
def at(tmp_path: Path) -> Path:
    for name, text in (("embers", EMBERS), ("gh", GH)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "recheck").mkdir()
    return tmp_path


def step(at: Path, name: str, **more: str) -> subprocess.CompletedProcess[str]:
    files = {"EMBERS": "embers", "LOG": "log", "OUT": "recheck", "STATE": "state", "ARTIFACTS": "artifacts.json"}
    files |= {"GITHUB_STEP_SUMMARY": "summary.md", "GITHUB_OUTPUT": "output"}
    paths = {key: str(at / value) for key, value in files.items()}
    environment = {"PATH": f"{at}:{os.environ['PATH']}", "CODE": "0", "FOUND": "", **paths, **more}
    return subprocess.run([SCRIPT, name], env=environment, capture_output=True, text=True, check=False, cwd=at)


def log(at: Path) -> list[str]:
    return (at / "log").read_text().splitlines()


TRACKER = """#!/usr/bin/env python3
import json, os, sys
from pathlib import Path

words, file = sys.argv[1:], Path(os.environ["OUT"]) / "issues.json"
issues = json.loads(file.read_text()) if file.exists() else []
given = {word: words[place + 1] for place, word in enumerate(words[:-1]) if word.startswith("--")}
text = Path(given["--body-file"]).read_text() if "--body-file" in given else given.get("--body", "")
if len(text) > 65_536:
    sys.exit("GraphQL: Body is too long (maximum is 65536 characters)")
if words[:2] == ["api", "--method"]:
    assert words[4:9:2] == ["repos/{owner}/{repo}/issues", "state=open", "creator=github-actions[bot]"], words
    own = [i for i in issues if i["state"] == "open" and i["app"] == "github-actions"]
    print("".join(str(i["number"]) for i in own[:1] if i["title"] == os.environ["TITLE"]))
elif words[:2] == ["issue", "create"]:
    new = {"number": len(issues) + 1, "title": given["--title"], "body": text, "state": "open", "comments": 0}
    issues.append(new | {"app": "github-actions"})
else:
    issue = next(i for i in issues if i["number"] == int(words[2]))
    if words[1] == "edit":
        issue["body"] = text
    else:
        issue["comments"] += 1
file.write_text(json.dumps(issues))
"""
"""A stand-in of gh that keeps issues, and refuses what GitHub refuses."""


def tracked(at: Path, report: str) -> list[dict[str, Any]]:
    """The issues after the step `issue` with this report."""
    (at / "recheck" / "recheck.md").write_text(report)
    done = step(at, "issue", RUN_URL="https://ci.example/1")
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads((at / "recheck" / "issues.json").read_text())
    return found


# ---- the real gh -------------------------------------------------------------------------------------------------


class GitHub(BaseHTTPRequestHandler):
    """What `gh` asks of GitHub for the tracking issue, by REST and GraphQL, on a socket of this machine."""

    protocol_version = "HTTP/1.1"
    issues: list[dict[str, Any]]
    refuses: str

    def address_string(self) -> str:
        return "here"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        place = urlsplit(self.path)
        asked = parse_qs(place.query)
        if place.path != "/repos/a/b/issues":
            self._answer(404, {"message": "Not Found"})
            return
        page, creator = int(asked.get("page", ["1"])[0]), asked["creator"][0]
        found = [issue for issue in self.issues if (issue["state"], issue["user"]["login"]) == ("open", creator)]
        more = (
            {} if len(found) <= page else {"Link": f'<http://{self.headers["Host"]}{self._page(page + 1)}>; rel="next"'}
        )
        self._answer(200, found[page - 1 : page], more)  # one issue a page: gh must follow the links

    def _page(self, number: int) -> str:
        return re.sub(r"&page=\d+", "", self.path) + f"&page={number}"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        query, given = asked["query"], asked["variables"]
        sent = given.get("input", {})
        if self.refuses and self.refuses in query:
            self._answer(200, {"data": None, "errors": [{"message": "Resource not accessible by integration"}]})
        elif "createIssue" in query:
            new = {"number": len(self.issues) + 1, "state": "open", "comments": [], "user": {"login": ACTIONS}}
            self.issues.append(new | {"title": sent["title"], "body": sent["body"]})
            self._answer(200, {"data": {"createIssue": {"issue": {"id": "x", "url": f"http://x/{new['number']}"}}}})
        elif "updateIssue" in query:
            self._own(sent["id"])["body"] = sent["body"]
            self._answer(200, {"data": {"updateIssue": {"__typename": ""}}})
        elif "addComment" in query:
            self._own(sent["subjectId"])["comments"].append(sent["body"])
            edge = {"node": {"url": "http://x/c"}}
            self._answer(200, {"data": {"addComment": {"commentEdge": edge}}})
        elif "IssueByNumber" in query:
            own = self._own(f"id{given['number']}")
            found = {
                "__typename": "Issue",
                "id": f"id{given['number']}",
                "url": f"http://github.localhost/a/b/issues/{given['number']}",
            }
            found |= {"number": own["number"], "title": own["title"], "body": own["body"]}
            self._answer(200, {"data": {"repository": {"hasIssuesEnabled": True, "issue": found}}})
        else:
            about = {
                "id": "r",
                "name": "b",
                "owner": {"login": "a"},
                "hasIssuesEnabled": True,
                "viewerPermission": "WRITE",
            }
            self._answer(200, {"data": {"repository": about}})

    def _own(self, identity: str) -> dict[str, Any]:
        return next(issue for issue in self.issues if f"id{issue['number']}" == identity)

    def _answer(self, status: int, body: object, more: dict[str, str] | None = None) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {
            "Content-Type": "application/json",
            "Content-Length": str(len(text)),
            **(more or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)


class Socket(ThreadingMixIn, UnixStreamServer):
    daemon_threads = True


ACTIONS = "github-actions[bot]"


@contextmanager
def github(
    at: Path, *issues: dict[str, Any], refuses: str = ""
) -> Iterator[tuple[list[dict[str, Any]], dict[str, str]]]:
    """The issues of a stand-in of GitHub, and the environment in which the installed gh asks it."""
    (at / "gh").unlink()  # the stand-in of gh
    (at / "gh-config").mkdir()
    with TemporaryDirectory() as folder:  # the path of a socket is short
        (at / "gh-config" / "config.yml").write_text(f"http_unix_socket: {folder}/s\n")
        kept = list(issues)
        with Socket(f"{folder}/s", type("Asked", (GitHub,), {"issues": kept, "refuses": refuses})) as server:
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
            host = {"GH_HOST": "github.localhost", "GH_REPO": "github.localhost/a/b", "GH_TOKEN": "t"}
            yield kept, {**host, "GH_ENTERPRISE_TOKEN": "t", "GH_CONFIG_DIR": str(at / "gh-config"), "HOME": str(at)}
            server.shutdown()
