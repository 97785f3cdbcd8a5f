"""The steps of the scheduled re-check, run with stand-ins for embers and gh; the workflow only calls them."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

yaml: Any = pytest.importorskip("yaml")
ROOT = Path(__file__).resolve().parent.parent
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
  "issue list") echo "$FOUND" ;;
  "issue create" | "issue edit") while [ $# -gt 0 ]; do if [ "$1" = --body-file ]; then cp "$2" "$OUT/body.md"; fi; shift; done ;;
  "run list") [ -n "$RUNS" ] || exit 1; echo "$RUNS" ;;
  "run download") [ "$3" = 11 ] || exit 1; mkdir -p "$STATE" ;;
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
    files = {"EMBERS": "embers", "LOG": "log", "OUT": "recheck", "STATE": "state"}
    files |= {"GITHUB_STEP_SUMMARY": "summary.md", "GITHUB_OUTPUT": "output"}
    paths = {key: str(at / value) for key, value in files.items()}
    environment = {"PATH": f"{at}:{os.environ['PATH']}", "CODE": "0", "FOUND": "", "RUNS": "12\n11", **paths, **more}
    return subprocess.run([SCRIPT, name], env=environment, capture_output=True, text=True, check=False, cwd=at)


def log(at: Path) -> list[str]:
    return (at / "log").read_text().splitlines()


@pytest.mark.parametrize(("code", "ended", "news"), [("0", 0, "news=false"), ("10", 0, "news=true"), ("6", 6, "")])
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
    assert "--app github-actions" in log(at)[0], "issues of other people are not looked at"
    text = (at / "recheck" / "body.md").read_text()
    assert len(text) < 65_536
    assert text.endswith("The rest is in the artifact of the run.\n\nWritten by the re-check: https://ci.example/1\n")


def test_the_state_of_the_newest_run_that_has_one_is_fetched(at: Path) -> None:
    done = step(at, "restore")
    assert done.stdout.splitlines()[-1] == "state of run 11"
    assert (at / "state").is_dir()
    assert step(at, "restore", RUNS="10").stdout.splitlines()[-1].startswith("no earlier state")
    assert step(at, "restore", RUNS="").returncode == 1, "no answer is not taken for a first run"


def test_the_workflow_calls_the_script_and_writes_nothing_unless_it_is_asked_to() -> None:
    workflow: Any = yaml.safe_load(WORKFLOW.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    jobs = workflow["jobs"]
    assert jobs["recheck"]["permissions"] == {"contents": "read", "actions": "read"}
    assert jobs["tracking-issue"]["permissions"] == {"contents": "read", "issues": "write"}
    assert "vars.RECHECK_TRACKING_ISSUE == 'true'" in jobs["tracking-issue"]["if"]
    assert workflow[True]["workflow_dispatch"]["inputs"]["tracking_issue"]["default"] is False
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    called = {found for command in commands for found in re.findall(r"tools/recheck-service\.sh (\w+)", command)}
    assert called == {"restore", "run", "issue"}
    assert not [command for command in commands if "${{" in command], "an expression in a command is an injection"
    assert not [command for command in commands if "embers " in command], "steps of embers belong into the script"
