"""What a user may rely on when embers runs scripts: verdicts rest on controls, and scripts reach nothing outside."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from promises.driver import BOTH, as_json, embers, rows

if TYPE_CHECKING:
    from pathlib import Path

VERDICTS = """
SELECT c.name, b.version, v.verdict, v.k, v.n, v.control, v.control_k
FROM latest_verdicts v JOIN cases c USING (case_hash) JOIN builds b USING (build)
"""


def verdicts(database: Path) -> dict[tuple[str, str], tuple[object, ...]]:
    """The verdict that counts, by case and version."""
    return {row[:2]: row[2:] for row in rows(database, VERDICTS)}


def test_a_control_decides_an_absence(ran: Path) -> None:
    """A bug is called absent only where the same case, run here, shows it on another build; else the verdict says why."""
    found = verdicts(ran)
    assert found["pt1_wrong_sum", "2.0.1"] == ("occurs", 10, 10, "build", 10)
    verdict, k, n, control, control_k = found["pt1_wrong_sum", "2.1.2"]
    assert (verdict, k, control, control_k) == ("absent", 0, "build", 10)
    assert n >= 4
    for version in ("2.0.1", "2.1.2"):
        assert found["pt4_control_is_clean", version][0] == "control_failed"
        assert found["pt2_seen_nowhere", version][0] == "not_seen"


def test_not_seen_is_not_clean(ran: Path, small: dict[str, str], tmp_path: Path) -> None:
    """A bug that no build here shows is `not_seen`: it is never printed, listed or exported as absent."""
    absent = as_json("list", "--absent-on", "2.1.2", "--database", ran, **small)
    assert [item["number"] for item in absent] == [1]
    shown = embers("show", 2, "--database", ran, **small)
    assert "not_seen" in shown
    assert "absent" not in shown.partition("Script")[0]
    embers("matrix", "--csv", tmp_path / "m.csv", "--junit", tmp_path / "m.xml", "--database", ran, **small)
    lines = [line for line in (tmp_path / "m.csv").read_text().splitlines() if line.startswith("pt2_")]
    assert [",not_seen," in line for line in lines] == [True, True]
    embers("export", "--dataset", tmp_path / "d", "--database", ran, **small)
    lines = [line for line in (tmp_path / "d" / "data" / "verdicts.csv").read_text().splitlines() if "pt2_" in line]
    assert [",not_seen," in line for line in lines] == [True, True]
    [(status,)] = rows(ran, "SELECT DISTINCT status FROM statuses WHERE number = 2") or [("none",)]
    assert status not in ("fixed", "open_but_absent")


def test_untestable_is_no_verdict(ran: Path, small: dict[str, str]) -> None:
    """A case that cannot be tested on a build says nothing of the bug there, and is in no list of what occurs or is absent."""
    assert {verdicts(ran)["pt3_lacks_operator", version][:3] for version in ("2.0.1", "2.1.2")} == {("untestable", 0, 0)}
    for option in ("--occurs-on", "--absent-on"):
        assert 3 not in [i["number"] for i in as_json("list", option, "2.1.2", "--database", ran, **small)]


def test_a_known_verdict_is_not_run_again(ran: Path, small: dict[str, str], database: Path) -> None:
    """A verdict that is known is looked up and not run again; `--force` runs again and keeps the earlier runs."""
    shutil.copy(ran, database)
    everything = "SELECT * FROM runs ORDER BY ALL"
    again = as_json("run", *BOTH, "--database", database, **small)
    assert len(again) == 8
    assert not any(row["fresh"] for row in again)
    assert rows(database, everything) == rows(ran, everything)
    embers("run", "pt3_lacks_operator", "--force", *BOTH, "--database", database, **small)
    assert {*map(repr, rows(database, everything))} > {*map(repr, rows(ran, everything))}


def test_a_change_is_announced_once(ran: Path, small: dict[str, str], database: Path, tmp_path: Path) -> None:
    """What changed of a closed bug is announced once, with exit code 10; the next re-check has nothing to tell, exit code 0."""
    shutil.copy(ran, database)
    words = ("recheck", *BOTH, "--database", database)
    first = as_json(*words, code=10, **small)
    told = [(change["issue"], change["kind"]) for change in first["changes"] if change["told"]]
    assert told == [("pytorch/pytorch#1", "fixed")]
    second = as_json(*words, code=0, **small)
    assert [change for change in second["changes"] if change["told"]] == []
    assert rows(database, "SELECT number, kind, is_told FROM announcements") == [(1, "fixed", True)]
