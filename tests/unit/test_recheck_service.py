"""The steps of the scheduled re-check, run with stand-ins for embers and gh; the workflow only calls them."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from helpers.recheck_service import (
    ACTIONS,
    TRACKER,
    WORKFLOW,
    at,  # noqa: F401 - fixtures
    github,
    log,
    step,
    tracked,
)

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

yaml: Any = pytest.importorskip("yaml")


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


@pytest.mark.parametrize(("found", "asked"), [("", "gh issue create"), ("7", "gh issue edit 7")])
def test_there_is_one_tracking_issue_which_is_opened_or_updated(at: Path, found: str, asked: str) -> None:
    (at / "recheck" / "recheck.md").write_text("# Report\n" + "long line\n" * 10_000)
    assert step(at, "issue", FOUND=found, RUN_URL="https://ci.example/1").returncode == 0
    assert [line.startswith(asked) for line in log(at)].count(True) == 1
    assert "creator=github-actions[bot]" in log(at)[0], "issues of other people are not looked at"
    text = (at / "recheck" / "body.md").read_text()
    assert len(text) < 65_536
    assert text.endswith("The rest is in the artifact of the run.\n\nWritten by the re-check: https://ci.example/1\n")


def test_a_cut_inside_a_code_fence_closes_it(at: Path) -> None:
    report = "# Report\n\n```python\nx = 1\n```\n\n  ````text\n```\n" + "long line\n" * 10_000
    (at / "recheck" / "recheck.md").write_text(report)
    assert step(at, "issue").returncode == 0
    text = (at / "recheck" / "body.md").read_text()
    assert "long line\n  ````\n\nThe rest is in the artifact" in text
    assert text.count("```python") == text.count("\n```\n\n") == 1


@pytest.mark.parametrize("letter", ["x", "\u00e9", "\u706b", "\U0001f525"])
def test_a_report_of_any_length_and_alphabet_is_short_enough_for_github(at: Path, letter: str) -> None:
    (at / "gh").write_text(TRACKER)
    [issue] = tracked(at, "# Report\n" + f"{letter * 500}\n" * 400 + letter * 70_000 + "\n")
    assert issue["body"].endswith("https://ci.example/1\n")
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


def test_the_workflow_calls_the_script_and_writes_nothing_unless_it_is_asked_to() -> None:
    workflow: Any = yaml.safe_load(WORKFLOW.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    jobs = workflow["jobs"]
    assert jobs["recheck"]["permissions"] == {"contents": "read", "actions": "read"}
    assert jobs["tracking-issue"]["permissions"] == {"contents": "read", "actions": "read", "issues": "write"}
    assert "vars.RECHECK_TRACKING_ISSUE == 'true'" in jobs["tracking-issue"]["if"]
    assert workflow[True]["workflow_dispatch"]["inputs"]["tracking_issue"]["default"] is False
    uploads = {
        step["with"]["name"]: step["if"] for step in jobs["recheck"]["steps"] if "upload" in step.get("uses", "")
    }
    assert uploads == {"recheck": "always()", "${{ env.ARTIFACT }}": "steps.run.outcome == 'success'"}
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    called = {found for command in commands for found in re.findall(r"tools/recheck-service\.sh (\w+)", command)}
    assert called == {"restore", "run", "issue"}
    assert not [command for command in commands if "${{" in command], "an expression in a command is an injection"
    assert not [command for command in commands if "embers " in command], "steps of embers belong into the script"


@pytest.mark.parametrize("refused", ["api --method", "issue create", "issue edit", "issue comment"])
@pytest.mark.parametrize(
    "answer",
    [
        "HTTP 403: Resource not accessible by integration",
        "HTTP 410: Issues are disabled for this repo",
        "HTTP 422: Validation Failed",
        "HTTP 429: API rate limit exceeded",
    ],
)
def test_a_tracker_that_refuses_fails_the_step_with_its_answer_and_opens_no_second_issue(
    at: Path, refused: str, answer: str
) -> None:
    (at / "recheck" / "recheck.md").write_text("# Report\n")
    gh = (
        (at / "gh")
        .read_text()
        .replace("case", f'[ "$1 $2" != "{refused}" ] || {{ echo "{answer}" >&2; exit 1; }}\ncase', 1)
    )
    (at / "gh").write_text(gh)
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
    assert (
        done.stderr.strip()
        == "the list of issues answered with something that is no number of an issue: run the step again"
    )
    assert len(log(at)) == 1


REAL_GH = shutil.which("gh")


@pytest.mark.skipif(REAL_GH is None, reason="gh is not installed")
def test_the_real_gh_opens_one_issue_and_updates_it_and_leaves_those_of_others(at: Path) -> None:
    title = "embers: what re-checks announced"
    of_somebody = {"number": 1, "title": title, "state": "open", "user": {"login": "somebody"}, "body": "mine"}
    other = {"number": 2, "title": "other", "state": "open", "user": {"login": ACTIONS}, "body": "other"}
    pull = {**other, "number": 3, "title": title, "body": "pull", "pull_request": {}}
    closed = {**other, "number": 4, "title": title, "body": "closed", "state": "closed"}
    with github(at, of_somebody, other, pull, closed) as (issues, where):
        for text in ("# First", "# Second"):
            (at / "recheck" / "recheck.md").write_text(f"{text}\n\n@somebody fixes #1\n")
            done = step(at, "issue", RUN_URL="https://ci.example/1", **where)
            assert done.returncode == 0, done.stderr
    assert [issue["number"] for issue in issues] == [1, 2, 3, 4, 5]
    assert [issue["body"] for issue in issues[:4]] == ["mine", "other", "pull", "closed"]
    assert issues[4]["title"] == title
    assert issues[4]["body"].startswith("# Second\n")
    assert issues[4]["comments"] == ["Something changed: the report above is new. https://ci.example/1"]


@pytest.mark.skipif(REAL_GH is None, reason="gh is not installed")
@pytest.mark.parametrize("refuses", ["createIssue", "updateIssue", "addComment"])
def test_what_github_refuses_to_the_real_gh_fails_the_step(at: Path, refuses: str) -> None:
    own = {"number": 1, "title": "embers: what re-checks announced", "state": "open", "body": "old", "comments": []}
    given = [] if refuses == "createIssue" else [{**own, "user": {"login": ACTIONS}}]
    (at / "recheck" / "recheck.md").write_text("# Report\n")
    with github(at, *given, refuses=refuses) as (issues, where):
        done = step(at, "issue", **where)
    assert done.returncode == 1
    assert "Resource not accessible by integration" in done.stderr
    assert len(issues) == len(given)
